//! Cases 70 and 76: file systems with other rules, and what is refused on them.

use icefield_storage::{
    CopyOptions, Deletion, GetOptions, ObjectClass, PutMode, Storage, StorageError, StorageExt,
};

use super::kit::{REF, Rig, Speak, key, refused, run, skipped, written};
use crate::probe::{Facts, Place};
use crate::sys::Errno;
use crate::sys::habits::Habits;
use crate::sys::twin::Call;

fn facts(habits: Habits) -> Facts {
    let rig = Rig::new(habits);
    let facts = rig.store.0.facts().expect("probed");
    assert!(rig.temporary().is_empty(), "the probe cleans up");
    facts
}

#[track_caller]
fn unsupported<T: std::fmt::Debug>(result: Result<T, StorageError>) -> String {
    match result {
        Err(error @ StorageError::Unsupported { .. }) => error.to_string(),
        other => panic!("must be unsupported, is {other:?}"),
    }
}

#[test]
fn e76_the_probe_tells_good_from_bad() {
    let good = facts(Habits::default());
    assert_eq!(
        good,
        Facts {
            exclusive_create: true,
            place: Place::Rename,
            locks: true,
            ignores_case: false,
            changes_names: false,
            syncfs: good.syncfs,
        },
        "the file system of the tests"
    );
    let h = Habits::default;
    let only_link = Habits {
        no_rename_new: true,
        ..h()
    };
    assert_eq!(facts(only_link.clone()).place, Place::Link);
    assert_eq!(
        facts(Habits {
            no_link: true,
            ..only_link
        })
        .place,
        Place::Nothing
    );
    assert_eq!(
        facts(Habits {
            weak_rename_new: true,
            ..h()
        })
        .place,
        Place::Nothing
    );
    assert!(
        !facts(Habits {
            weak_create: true,
            ..h()
        })
        .exclusive_create
    );
    assert!(
        !facts(Habits {
            no_lock: true,
            ..h()
        })
        .locks
    );
    assert!(
        !facts(Habits {
            weak_lock: true,
            ..h()
        })
        .locks
    );
    assert!(
        facts(Habits {
            ignores_case: true,
            ..h()
        })
        .ignores_case
    );
    assert!(
        facts(Habits {
            normalises: true,
            ..h()
        })
        .changes_names
    );
    assert!(
        !facts(Habits {
            no_syncfs: true,
            ..h()
        })
        .syncfs
    );
}

#[test]
fn e76_without_an_exclusive_name_create_is_refused_and_overwrite_works() {
    for habits in [
        Habits {
            no_rename_new: true,
            no_link: true,
            ..Habits::default()
        },
        Habits {
            weak_rename_new: true,
            ..Habits::default()
        },
    ] {
        run(async {
            let rig = Rig::new(habits);
            let put = rig
                .store
                .try_put("a", "1", PutMode::Create, ObjectClass::Metadata)
                .await;
            let message = unsupported(put);
            assert!(message.contains("conditional create"), "{message}");
            let version = rig.store.write("a", "2", PutMode::Overwrite).await;
            rig.store.write("a", "3", PutMode::Update(version)).await;
            assert_eq!(rig.store.text("a").await.as_deref(), Some("3"));
        });
    }
}

#[test]
fn e76_without_exclusive_create_chunks_are_refused() {
    run(async {
        let rig = Rig::new(Habits {
            weak_create: true,
            ..Habits::default()
        });
        let put = rig
            .store
            .try_put("chunks/1", "1", PutMode::Create, ObjectClass::Chunk)
            .await;
        assert!(unsupported(put).contains("exclusive create"));
        assert!(rig.store.keys().await.is_empty());
    });
}

#[test]
fn e76_without_locks_conditions_on_a_state_are_refused() {
    for habits in [
        Habits {
            no_lock: true,
            ..Habits::default()
        },
        Habits {
            weak_lock: true,
            ..Habits::default()
        },
    ] {
        run(async {
            let rig = Rig::new(habits);
            let version = rig.store.write("a", "1", PutMode::Create).await;
            let update = PutMode::Update(version.clone());
            let put = rig
                .store
                .try_put("a", "2", update, ObjectClass::Metadata)
                .await;
            assert!(unsupported(put).contains("conditional update"));
            let deletion = Deletion {
                key: key("a"),
                version: Some(version),
            };
            let deleted = rig.store.delete_one(deletion).await;
            assert!(unsupported(deleted).contains("conditional delete"));
            assert_eq!(rig.store.text("a").await.as_deref(), Some("1"));
            rig.store.write("a", "2", PutMode::Overwrite).await;
            let _ = rig
                .store
                .delete_one(key("a").into())
                .await
                .expect("deleted");
        });
    }
}

#[test]
fn e76_link_stands_in_for_the_rename_that_refuses() {
    run(async {
        let rig = Rig::new(Habits {
            no_rename_new: true,
            ..Habits::default()
        });
        rig.store.write("a", "1", PutMode::Create).await;
        let again = rig
            .store
            .try_put("a", "2", PutMode::Create, ObjectClass::Metadata)
            .await;
        refused(&again.expect("answered"));
        assert_eq!(rig.store.text("a").await.as_deref(), Some("1"));
        assert!(rig.temporary().is_empty());
        let calls = rig.twin.reset();
        assert!(calls.contains(&Call::Link) && !calls.contains(&Call::RenameNew));
    });
}

#[test]
fn e76_a_link_or_rename_that_failed_after_success_is_a_success() {
    for (habits, call, errno) in [
        (Habits::default(), Call::RenameNew, Errno::EXIST),
        (Habits::default(), Call::RenameNew, Errno::NOENT),
        (Habits::default(), Call::RenameNew, Errno::IO),
        (
            Habits {
                no_rename_new: true,
                ..Habits::default()
            },
            Call::Link,
            Errno::EXIST,
        ),
        (
            Habits {
                no_rename_new: true,
                ..Habits::default()
            },
            Call::Link,
            Errno::IO,
        ),
    ] {
        run(async {
            let rig = Rig::new(habits);
            rig.store.write("warm", "x", PutMode::Overwrite).await;
            rig.twin.fail_late(call, 0, errno);
            rig.store.write("a/b", "1", PutMode::Create).await;
            assert_eq!(
                rig.store.text("a/b").await.as_deref(),
                Some("1"),
                "{call:?} {errno}"
            );
            assert!(rig.temporary().is_empty());
        });
    }
}

#[test]
fn e76_coarse_time_stamps_still_tell_states_apart() {
    for grain in [1_000_000, 1_000_000_000, 2_000_000_000] {
        run(async {
            let rig = Rig::new(Habits {
                grain: Some(grain),
                ..Habits::default()
            });
            let mut seen = std::collections::HashSet::new();
            let mut version = rig.store.write(REF, "35 bytes", PutMode::Create).await;
            for _ in 0..10 {
                assert!(seen.insert(version.clone()), "a version came back");
                assert_eq!(
                    rig.store.head(&key(REF)).await.expect("there").version,
                    version
                );
                version = rig
                    .store
                    .write(REF, "35 bytes", PutMode::Update(version))
                    .await;
            }
            for _ in 0..10 {
                assert!(seen.insert(version), "a version came back");
                let _ = rig
                    .store
                    .delete_one(key(REF).into())
                    .await
                    .expect("deleted");
                version = rig.store.write(REF, "35 bytes", PutMode::Create).await;
            }
        });
    }
}

#[test]
fn e76_a_file_system_without_copy_or_entry_types_works() {
    run(async {
        let habits = Habits {
            no_copy_range: true,
            untyped_entries: true,
            short_writes: Some(1000),
            ..Habits::default()
        };
        let rig = Rig::new(habits);
        let text = "0123456789".repeat(7_000);
        rig.store.write("a/big", &text, PutMode::Create).await;
        let copied = rig
            .store
            .copy(&key("a/big"), &key("b"), CopyOptions::default())
            .await;
        written(copied.expect("copied"));
        assert_eq!(rig.store.text("b").await, Some(text));
        assert_eq!(rig.store.keys().await, ["a/big", "b"]);
    });
}

#[test]
fn e70_a_key_that_differs_in_case_only_is_refused_where_case_is_ignored() {
    run(async {
        let rig = Rig::new(Habits {
            ignores_case: true,
            ..Habits::default()
        });
        let main = "refs/branch.main/ref.json";
        let shouted = "refs/branch.Main/ref.json";
        rig.store.write(main, "1", PutMode::Create).await;
        for (at, mode, class) in [
            (shouted, PutMode::Create, ObjectClass::Metadata),
            (shouted, PutMode::Overwrite, ObjectClass::Metadata),
            (shouted, PutMode::Create, ObjectClass::Chunk),
            (
                "refs/branch.main/REF.json",
                PutMode::Overwrite,
                ObjectClass::Metadata,
            ),
            ("Refs/other", PutMode::Create, ObjectClass::Metadata),
        ] {
            let message = unsupported(rig.store.try_put(at, "2", mode, class).await);
            assert!(message.contains("ignores case"), "{message}");
        }
        let copy = rig
            .store
            .copy(&key(main), &key(shouted), CopyOptions::default())
            .await;
        unsupported(copy);
        // Neither read nor deleted by the other name, also by a handle that has never written.
        for store in [rig.store.clone(), rig.again()] {
            assert_eq!(store.text(shouted).await, None);
            assert_eq!(store.text("refs/branch.main/REF.json").await, None);
            assert_eq!(store.text(main).await.as_deref(), Some("1"));
        }
        let _ = rig
            .store
            .delete_one(key(shouted).into())
            .await
            .expect("nothing to delete");
        assert_eq!(rig.store.text(main).await.as_deref(), Some("1"));
        // Another name in a directory of many is no collision.
        for i in 0..20 {
            rig.store.chunk(&format!("chunks/C{i}"), "x").await;
        }
        rig.store.write(main, "2", PutMode::Overwrite).await;
        assert_eq!(rig.store.keys().await.len(), 21);
    });
}

#[test]
fn e70_letters_outside_ascii_are_refused_where_names_are_normalised() {
    run(async {
        let rig = Rig::new(Habits {
            normalises: true,
            ..Habits::default()
        });
        for at in ["\u{e9}", "e\u{301}", "a/\u{e9}/b"] {
            let put = rig
                .store
                .try_put(at, "1", PutMode::Overwrite, ObjectClass::Metadata)
                .await;
            unsupported(put);
        }
        // As the format encodes such a name in a directory.
        rig.store
            .write("refs/branch.%C3%A9/ref.json", "1", PutMode::Create)
            .await;
    });
}

#[test]
fn e70_both_are_keys_where_names_are_kept_apart() {
    run(async {
        let rig = Rig::new(Habits::default());
        for at in ["main", "Main", "\u{e9}", "e\u{301}"] {
            rig.store.write(at, at, PutMode::Create).await;
        }
        for at in ["main", "Main", "\u{e9}", "e\u{301}"] {
            assert_eq!(rig.store.text(at).await.as_deref(), Some(at));
        }
    });
}

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
