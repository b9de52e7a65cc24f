//! Case 69 in the hidden directory: what is there and is none of ours is named, and no operation waits for it.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use icefield_storage::{Deletion, ObjectClass, PutMode, Storage, StorageError, StorageExt};
use rustix::fs::{CWD, mkfifoat};
use tempfile::TempDir;

use super::kit::{REF, Speak, both_ways, key, run, temporary};

/// The kind of file that stands in the place of one of our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Odd {
    Fifo,
    Socket,
    Directory,
    Link,
    Dangling,
}

impl Odd {
    fn put(self, place: &Path, outside: &Path) {
        match std::fs::symlink_metadata(place) {
            Ok(there) if there.is_dir() => std::fs::remove_dir_all(place).expect("removed"),
            _ => std::fs::remove_file(place).expect("removed"),
        }
        match self {
            Self::Fifo => mkfifoat(CWD, place, 0o600.into()).expect("made"),
            Self::Socket => drop(UnixListener::bind(place).expect("bound")),
            Self::Directory => std::fs::create_dir(place).expect("made"),
            Self::Link => symlink(outside, place).expect("linked"),
            Self::Dangling => symlink("nowhere", place).expect("linked"),
        }
    }
}

/// Every write that takes a lock, on a store that has nothing open yet and on one that has.
async fn all_fail(root: &Path, place: &str) {
    for store in both_ways(root) {
        let version = store
            .head(&key(REF))
            .await
            .expect("reading asks for none of it")
            .version;
        let deletion = Deletion {
            key: key(REF),
            version: Some(version.clone()),
        };
        let update = PutMode::Update(version);
        let errors = [
            store
                .try_put(REF, "2", update, ObjectClass::Metadata)
                .await
                .map(drop)
                .expect_err("refused"),
            store
                .try_put(REF, "2", PutMode::Overwrite, ObjectClass::Metadata)
                .await
                .map(drop)
                .expect_err("refused"),
            store
                .delete_one(deletion)
                .await
                .map(drop)
                .expect_err("refused"),
        ];
        for error in errors {
            let text = error.to_string();
            assert!(text.contains(place), "{place} is not in: {text}");
            assert!(!matches!(error, StorageError::NotFound { .. }), "{error:?}");
        }
        assert_eq!(store.text(REF).await.as_deref(), Some("1"));
    }
}

#[test]
fn e69_what_stands_in_the_place_of_a_lock_file_is_named_and_nobody_waits() {
    for odd in [
        Odd::Fifo,
        Odd::Socket,
        Odd::Directory,
        Odd::Link,
        Odd::Dangling,
    ] {
        run(async {
            let dir = TempDir::new().expect("a temporary directory");
            let root = dir.path().join("root");
            let outside = dir.path().join("outside");
            std::fs::write(&outside, "theirs").expect("written");
            for store in both_ways(&root) {
                store.write(REF, "1", PutMode::Overwrite).await;
            }
            for share in 0..16 {
                let place = root.join(format!(".icefield-local/locks/{share:x}"));
                odd.put(&place, &outside);
            }
            all_fail(&root, ".icefield-local/locks/").await;
            assert_eq!(std::fs::read(&outside).expect("there"), b"theirs");
            assert!(!root.join("nowhere").exists());
        });
    }
}

#[test]
fn e69_what_stands_in_the_place_of_the_hidden_directory_is_named_and_nobody_waits() {
    for place in [
        ".icefield-local",
        ".icefield-local/locks",
        ".icefield-local/tmp",
    ] {
        for odd in [Odd::Fifo, Odd::Socket, Odd::Link, Odd::Dangling] {
            run(async {
                let dir = TempDir::new().expect("a temporary directory");
                let root = dir.path().join("root");
                let outside = dir.path().join("outside");
                std::fs::create_dir(&outside).expect("made");
                for store in both_ways(&root) {
                    store.write(REF, "1", PutMode::Overwrite).await;
                }
                odd.put(&root.join(place), &outside);
                all_fail(&root, ".icefield-local").await;
                let created = std::fs::read_dir(&outside).expect("read").count();
                assert_eq!(created, 0, "nothing is made behind a link");
            });
        }
    }
}

#[test]
fn e69_odd_things_among_temporary_files_are_left_alone() {
    for odd in [
        Odd::Fifo,
        Odd::Socket,
        Odd::Directory,
        Odd::Link,
        Odd::Dangling,
    ] {
        run(async {
            let dir = TempDir::new().expect("a temporary directory");
            let root = dir.path().join("root");
            let outside = dir.path().join("outside");
            std::fs::write(&outside, "theirs").expect("written");
            for store in both_ways(&root) {
                store.write(REF, "1", PutMode::Overwrite).await;
            }
            let place = root.join(".icefield-local/tmp/odd");
            std::fs::write(&place, "").expect("written");
            odd.put(&place, &outside);
            for store in both_ways(&root) {
                store.write(REF, "2", PutMode::Overwrite).await;
                store
                    .delete_one(key(REF).into())
                    .await
                    .map(drop)
                    .expect("deleted");
            }
            assert_eq!(temporary(&root), ["odd"]);
        });
    }
}
