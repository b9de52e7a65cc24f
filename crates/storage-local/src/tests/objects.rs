//! Cases 69, 71 and 76: what is no object, names of every length, other programs and other file systems.

use std::time::{Duration, SystemTime};

use icefield_storage::{
    GetOptions, Key, KeyError, ObjectClass, PutMode, Storage, StorageError, StorageExt,
};
use rustix::fs::{CWD, FileType, mkfifoat, mknodat};
use tempfile::TempDir;

use super::kit::{Speak, both_ways, is_not_an_object, key, open, run, skipped};

#[test]
fn e69_what_is_no_object_is_a_typed_error_at_once() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        let root = dir.path();
        for store in both_ways(root) {
            store.write("a/b", "x", PutMode::Overwrite).await;
            let _ = std::fs::remove_file(root.join("fifo"));
            let _ = std::fs::remove_file(root.join("device"));
            mkfifoat(CWD, root.join("fifo"), 0o600.into()).expect("made");
            let mut places = vec![("fifo", "a FIFO")];
            // /dev/null; needs rights that not every user has.
            let null = rustix::fs::makedev(1, 3);
            let mode = 0o600.into();
            match mknodat(
                CWD,
                root.join("device"),
                FileType::CharacterDevice,
                mode,
                null,
            ) {
                Ok(()) => places.push(("device", "a device")),
                Err(errno) => skipped("the device of e69", &errno.to_string()),
            }
            let _ = std::fs::remove_file(root.join("socket"));
            let _socket =
                std::os::unix::net::UnixListener::bind(root.join("socket")).expect("bound");
            places.push(("socket", "a socket"));
            for (at, what) in places {
                is_not_an_object(store.get(&key(at), GetOptions::default()).await, what);
                is_not_an_object(store.head(&key(at)).await, what);
                for (mode, class) in [
                    (PutMode::Overwrite, ObjectClass::Metadata),
                    (PutMode::Create, ObjectClass::Metadata),
                    (PutMode::Create, ObjectClass::Chunk),
                ] {
                    is_not_an_object(store.try_put(at, "x", mode, class).await, what);
                }
                is_not_an_object(store.delete_one(key(at).into()).await, what);
                assert!(store.text(&format!("{at}/below")).await.is_none());
            }
            // A directory: nothing is under its name, and nothing can be.
            assert!(
                store
                    .head(&key("a"))
                    .await
                    .expect_err("no object")
                    .is_not_found()
            );
            let put = store
                .try_put("a", "x", PutMode::Overwrite, ObjectClass::Metadata)
                .await;
            is_not_an_object(put, "a directory");
            let put = store
                .try_put("a/b/c", "x", PutMode::Create, ObjectClass::Chunk)
                .await;
            let message = put.expect_err("below an object").to_string();
            assert!(message.contains("a/b is an object"), "{message}");
        }
    });
}

#[test]
fn e69_a_hard_link_is_an_object_and_a_write_leaves_the_other_name_alone() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        let store = open(dir.path());
        std::fs::write(dir.path().join("one"), "old").expect("written");
        std::fs::hard_link(dir.path().join("one"), dir.path().join("two")).expect("linked");
        assert_eq!(store.text("two").await.as_deref(), Some("old"));
        store.write("one", "new", PutMode::Overwrite).await;
        assert_eq!(store.text("two").await.as_deref(), Some("old"));
        let _ = store.delete_one(key("one").into()).await.expect("deleted");
        assert_eq!(store.text("two").await.as_deref(), Some("old"));
    });
}

#[test]
fn e71_the_longest_names_work_and_longer_ones_are_refused() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        // A long root as well: paths are never longer than the kernel takes, being relative.
        let mut root = dir.path().to_owned();
        for _ in 0..14 {
            root = root.join("r".repeat(200));
        }
        for store in both_ways(&root) {
            let longest = [
                &*"k".repeat(255),
                &"l".repeat(255),
                &"m".repeat(255),
                &"n".repeat(256)[..255],
            ]
            .join("/");
            store.write(&longest, "x", PutMode::Overwrite).await;
            assert_eq!(store.keys().await, [longest]);
        }
        assert!(matches!(
            Key::parse(&"x".repeat(256)),
            Err(KeyError::SegmentTooLong { .. })
        ));
        assert!(matches!(
            Key::parse(&"x/".repeat(600)),
            Err(KeyError::TooLong { .. })
        ));
    });
}

#[test]
fn e76_another_file_system_mounted_inside_is_read_and_not_written_to() {
    let dir = TempDir::new().expect("a temporary directory");
    let inside = dir.path().join("chunks");
    std::fs::create_dir(&inside).expect("made");
    let mount = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "none"])
        .arg(&inside)
        .output();
    if !mount.is_ok_and(|output| output.status.success()) {
        skipped(
            "e76_another_file_system_mounted_inside",
            "this machine cannot mount",
        );
        return;
    }
    std::fs::write(inside.join("there"), "x").expect("written");
    let result = std::panic::catch_unwind(|| {
        run(async {
            for store in both_ways(dir.path()) {
                assert_eq!(store.text("chunks/there").await.as_deref(), Some("x"));
                assert_eq!(store.keys().await, ["chunks/there"]);
                for (mode, class) in [
                    (PutMode::Overwrite, ObjectClass::Metadata),
                    (PutMode::Create, ObjectClass::Metadata),
                    (PutMode::Create, ObjectClass::Chunk),
                ] {
                    let put = store.try_put("chunks/new", "x", mode, class).await;
                    let error = put.expect_err("neither moved there nor flushed with the rest");
                    assert!(matches!(error, StorageError::Failed { .. }), "{error:?}");
                }
                assert_eq!(store.keys().await, ["chunks/there"]);
            }
        });
    });
    let _ = std::process::Command::new("umount").arg(&inside).output();
    result.expect("the laws hold");
}

#[test]
fn the_version_sees_a_change_by_another_program() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        let store = open(dir.path());
        let version = store.write("ref", "AAAA", PutMode::Create).await;
        // In place, the same size, the same time stamp: only the bytes tell.
        let path = dir.path().join("ref");
        let before = std::fs::metadata(&path)
            .expect("there")
            .modified()
            .expect("a time");
        std::fs::write(&path, "BBBB").expect("written");
        let file = std::fs::File::options()
            .write(true)
            .open(&path)
            .expect("opened");
        file.set_modified(before).expect("set");
        let meta = store.head(&key("ref")).await.expect("there");
        assert_eq!(meta.last_modified, Some(before));
        assert_ne!(meta.version, version);
        let update = PutMode::Update(version);
        let put = store
            .try_put("ref", "CCCC", update, ObjectClass::Metadata)
            .await;
        super::kit::refused(&put.expect("answered"));
        let far = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 33);
        file.set_modified(far).expect("set");
        let version = store.head(&key("ref")).await.expect("there").version;
        store.write("ref", "CCCC", PutMode::Update(version)).await;
        let now = store.head(&key("ref")).await.expect("there").last_modified;
        assert!(now > Some(far), "past the state that it replaces");
        // But a deleted object of the future does not date all later ones.
        let _ = store.delete_one(key("ref").into()).await.expect("deleted");
        store.write("ref", "DDDD", PutMode::Create).await;
        let now = store.head(&key("ref")).await.expect("there").last_modified;
        assert!(now < Some(far));
        // And where time stamps of deleted objects are kept, none lies in the future.
        let locks = dir.path().join(".icefield-local/locks");
        let soon = icefield_storage::Clock::now(&icefield_storage::SystemClock)
            + Duration::from_secs(3600);
        for lock in std::fs::read_dir(locks).expect("read") {
            let meta = lock.expect("read").metadata().expect("there");
            assert!(meta.modified().expect("a time") < soon);
        }
    });
}
