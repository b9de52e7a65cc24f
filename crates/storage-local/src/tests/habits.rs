//! Case 76: file systems that lack something, and what is refused on them.

use icefield_storage::{CopyOptions, Deletion, ObjectClass, PutMode, Storage, StorageExt, Version};

use super::kit::{REF, Rig, Speak, key, refused, run, unsupported, written};
use crate::abilities::{Abilities, Exclusion, Placement};
use crate::sys::Errno;
use crate::sys::habits::{Ground, Habits};
use crate::sys::twin::Call;

fn abilities(habits: Habits) -> Abilities {
    let rig = Rig::new(habits);
    let abilities = rig.store.0.abilities().expect("probed");
    assert!(rig.temporary().is_empty(), "the probe cleans up");
    abilities
}

#[test]
fn e76_the_probe_tells_good_from_bad() {
    let good = abilities(Habits::default());
    assert_eq!(
        good,
        Abilities {
            exclusive_create: true,
            place: Placement::Rename,
            locks: Exclusion::Everywhere,
            ignores_case: false,
            changes_names: false,
            syncfs: good.syncfs,
            reserve: good.reserve,
        },
        "the file system of the tests"
    );
    let h = Habits::default;
    let reserves = Habits {
        reserves: true,
        ..h()
    };
    assert!(abilities(reserves).reserve);
    let only_link = Habits {
        no_rename_new: true,
        ..h()
    };
    assert_eq!(abilities(only_link.clone()).place, Placement::Link);
    assert_eq!(
        abilities(Habits {
            no_link: true,
            ..only_link
        })
        .place,
        Placement::Nothing
    );
    assert_eq!(
        abilities(Habits {
            weak_rename_new: true,
            ..h()
        })
        .place,
        Placement::Nothing
    );
    assert!(
        !abilities(Habits {
            weak_create: true,
            ..h()
        })
        .exclusive_create
    );
    for no_locks in [
        Habits {
            no_lock: true,
            ..h()
        },
        Habits {
            weak_lock: true,
            ..h()
        },
    ] {
        assert_eq!(abilities(no_locks).locks, Exclusion::Nothing);
    }
    let elsewhere = Habits {
        ground: Ground::mounted(0x6573_5546, "fuse.sshfs", "rw"),
        ..h()
    };
    assert_eq!(abilities(elsewhere).locks, Exclusion::Here);
    assert!(
        abilities(Habits {
            ignores_case: true,
            ..h()
        })
        .ignores_case
    );
    assert!(
        abilities(Habits {
            normalises: true,
            ..h()
        })
        .changes_names
    );
    assert!(
        !abilities(Habits {
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
            // Also a create, of metadata and of chunks: no commit could follow.
            for (at, class) in [
                ("snapshots/1", ObjectClass::Metadata),
                ("chunks/1", ObjectClass::Chunk),
            ] {
                let put = rig.store.try_put(at, "1", PutMode::Create, class).await;
                let message = unsupported(put);
                assert!(message.contains("file locks"), "{message}");
            }
            assert!(rig.store.keys().await.is_empty());
            let version = rig.store.write("a", "1", PutMode::Overwrite).await;
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
fn a_create_does_not_replace_what_another_program_made_a_moment_ago() {
    for (habits, call) in [
        (Habits::default(), Call::RenameNew),
        (
            Habits {
                no_rename_new: true,
                ..Habits::default()
            },
            Call::Link,
        ),
    ] {
        run(async {
            let rig = Rig::new(habits);
            rig.store.write("warm", "x", PutMode::Overwrite).await;
            let place = rig.dir.path().join("a");
            // It takes no lock, and comes after our last look.
            rig.twin.hook(move |_, now| {
                if now == call {
                    std::fs::write(&place, "theirs").expect("written");
                }
            });
            let put = rig
                .store
                .try_put("a", "ours", PutMode::Create, ObjectClass::Metadata)
                .await;
            refused(&put.expect("answered"));
            assert_eq!(rig.store.text("a").await.as_deref(), Some("theirs"));
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
            let mut latest = None;
            // Inodes are used again where and when the file system likes, so the time stamp alone must do.
            let mut check = async |version: Version| {
                let meta = rig.store.head(&key(REF)).await.expect("there");
                assert_eq!(meta.version, version);
                assert!(seen.insert(version), "a version came back");
                assert!(latest < meta.last_modified, "a time stamp came back");
                latest = meta.last_modified;
            };
            let mut version = rig.store.write(REF, "35 bytes", PutMode::Create).await;
            for round in 0..20 {
                check(version.clone()).await;
                if round % 3 == 2 {
                    let _ = rig
                        .store
                        .delete_one(key(REF).into())
                        .await
                        .expect("deleted");
                    version = rig.store.write(REF, "35 bytes", PutMode::Create).await;
                } else if round % 3 == 1 {
                    version = rig.store.write(REF, "35 bytes", PutMode::Overwrite).await;
                } else {
                    version = rig
                        .store
                        .write(REF, "35 bytes", PutMode::Update(version))
                        .await;
                }
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
