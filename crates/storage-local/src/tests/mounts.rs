//! Cases 70 and 72 on real file systems, where this machine can mount them.

use icefield_storage::{
    Deletion, GetOptions, ObjectClass, PutMode, Storage, StorageError, StorageExt,
};

use super::kit::{REF, Speak, key, run, skipped, unsupported, written};

/// Mounts a file system in a file, if this machine can.
fn mounted(make: &[&str], options: &str) -> Option<(tempfile::TempDir, Mount)> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let image = dir.path().join("image");
    let file = std::fs::File::create(&image).expect("made");
    file.set_len(16 << 20).expect("sized");
    let ok = |program: &str, arguments: &[&str]| {
        std::process::Command::new(program)
            .args(arguments)
            .output()
            .is_ok_and(|output| output.status.success())
    };
    let at = dir.path().join("mounted");
    std::fs::create_dir(&at).expect("made");
    let (image, text) = (image.to_string_lossy(), at.to_string_lossy());
    let mut arguments: Vec<&str> = make[1..].to_vec();
    arguments.push(&image);
    if !ok(make[0], &arguments) || !ok("mount", &["-o", options, &image, &text]) {
        return None;
    }
    Some((dir, Mount(at)))
}

/// A mounted directory.
struct Mount(std::path::PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).output();
    }
}

#[test]
fn e70_on_a_real_vfat_or_skipped_loudly() {
    let Some((_dir, mount)) = mounted(&["mkfs.vfat"], "loop,utf8") else {
        skipped(
            "e70_on_a_real_vfat",
            "this machine cannot make or mount a vfat image",
        );
        return;
    };
    run(async {
        let store = crate::LocalStorage::open(&mount.0).expect("opened");
        store.write("main", "1", PutMode::Create).await;
        let put = store
            .try_put("Main", "2", PutMode::Overwrite, ObjectClass::Metadata)
            .await;
        unsupported(put);
        let error = store.get(&key("MAIN"), GetOptions::default()).await;
        assert!(error.expect_err("another key").is_not_found());
        let version = store.write("main", "2", PutMode::Overwrite).await;
        store.write("main", "3", PutMode::Update(version)).await;
        assert_eq!(store.keys().await, ["main"]);
    });
}

#[test]
fn e72_on_a_real_full_disk_or_skipped_loudly() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path().join("mounted");
    std::fs::create_dir(&at).expect("made");
    let mount = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m,nr_inodes=64", "none"])
        .arg(&at)
        .output();
    if !mount.is_ok_and(|output| output.status.success()) {
        skipped(
            "e72_on_a_real_full_disk",
            "this machine cannot mount a tmpfs",
        );
        return;
    }
    let mount = Mount(at);
    run(async {
        let store = crate::LocalStorage::open(&mount.0).expect("opened");
        store.write(REF, "old", PutMode::Create).await;
        let big = "x".repeat(2 << 20);
        for (mode, class, at) in [
            (PutMode::Overwrite, ObjectClass::Metadata, REF),
            (PutMode::Create, ObjectClass::Metadata, "other"),
            (PutMode::Create, ObjectClass::Chunk, "chunks/1"),
        ] {
            let put = store.try_put(at, big.clone(), mode, class).await;
            let error = put.expect_err("2 MiB do not fit in 1");
            assert!(matches!(error, StorageError::NoSpace { .. }), "{error:?}");
        }
        assert_eq!(store.keys().await, [REF]);
        assert_eq!(store.text(REF).await.as_deref(), Some("old"));
        // Filled to the last inode, deletes and reads still work, also in a fresh process.
        let mut count = 0;
        while let Ok(put) = store
            .try_put(
                &format!("chunks/{count}"),
                "x",
                PutMode::Create,
                ObjectClass::Chunk,
            )
            .await
        {
            written(put);
            count += 1;
        }
        assert!(count > 0);
        let fresh = crate::LocalStorage::open(&mount.0).expect("opened");
        let version = fresh.head(&key("chunks/0")).await.expect("there").version;
        let deletion = Deletion {
            key: key("chunks/0"),
            version: Some(version),
        };
        let outcome = fresh
            .delete_one(deletion)
            .await
            .expect("deleted on a full disk");
        assert!(matches!(outcome, icefield_storage::DeleteOutcome::Deleted));
    });
}
