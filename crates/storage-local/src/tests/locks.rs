//! Locks that may end at this machine: what is refused, and what follows for files that another machine may be using.

use std::sync::Arc;
use std::time::Duration;

use icefield_storage::{
    Clock, Deletion, ManualClock, ObjectClass, PutMode, Storage, StorageExt, SystemClock, Topic,
    Weight,
};

use super::kit::{REF, Rig, Speak, key, open_twin, refused, run, unsupported, written};
use crate::Locks;
use crate::sys::Errno;
use crate::sys::habits::{Ground, Habits};
use crate::sys::twin::{Call, Twin};

fn on(ground: Ground) -> Habits {
    Habits {
        ground,
        ..Habits::default()
    }
}

fn sshfs() -> Ground {
    Ground::mounted(0x6573_5546, "fuse.sshfs", "rw,user_id=0,allow_other")
}

fn nfs() -> Ground {
    Ground::mounted(0x6969, "nfs4", "rw,vers=4.2,hard,local_lock=none")
}

fn trusting(ground: Ground) -> Rig {
    Rig::with(on(ground), |builder| builder.locks(Locks::Trusted))
}

#[test]
fn conditional_writes_are_refused_where_locks_may_end_at_this_machine() {
    let nolock = Ground::mounted(0x6969, "nfs", "rw,vers=3,nolock,local_lock=all");
    let nobrl = Ground::mounted(0xFE53_4D42, "cifs", "rw,nobrl");
    let localflock = Ground::mounted(0x0BD0_0BD0, "lustre", "rw,localflock");
    let unknown = Ground::mounted(0x1234, "novelfs", "rw");
    for ground in [sshfs(), nolock, nobrl, localflock, unknown] {
        run(async {
            let rig = Rig::new(on(ground.clone()));
            let capabilities = rig.store.capabilities();
            assert!(capabilities.writable && !capabilities.safe_commits());
            assert!(!capabilities.conditional_delete);
            let says_how = |message: String| {
                for word in ["not known to keep out", "locks=trusted"] {
                    assert!(message.contains(word), "{word:?} is not in: {message}");
                }
            };
            for (at, class) in [
                (REF, ObjectClass::Metadata),
                ("chunks/1", ObjectClass::Chunk),
            ] {
                let put = rig.store.try_put(at, "1", PutMode::Create, class).await;
                says_how(unsupported(put));
            }
            assert!(rig.store.keys().await.is_empty());
            // Reading, and what replaces without a condition, needs no lock.
            let version = rig.store.write(REF, "1", PutMode::Overwrite).await;
            let update = PutMode::Update(version.clone());
            let put = rig
                .store
                .try_put(REF, "2", update, ObjectClass::Metadata)
                .await;
            says_how(unsupported(put));
            let deletion = Deletion {
                key: key(REF),
                version: Some(version),
            };
            says_how(unsupported(rig.store.delete_one(deletion).await));
            assert_eq!(rig.store.text(REF).await.as_deref(), Some("1"));
            let deleted = rig.store.delete_one(key(REF).into()).await;
            assert!(deleted.is_ok(), "{deleted:?}");
        });
    }
}

#[test]
fn a_caller_that_vouches_for_locks_may_write() {
    run(async {
        let rig = trusting(sshfs());
        assert!(rig.store.capabilities().safe_commits());
        let version = rig.store.write(REF, "1", PutMode::Create).await;
        rig.store.chunk("chunks/1", "x").await;
        rig.store
            .write(REF, "2", PutMode::Update(version.clone()))
            .await;
        let stale = rig
            .store
            .try_put(REF, "3", PutMode::Update(version), ObjectClass::Metadata)
            .await;
        refused(&stale.expect("answered"));
    });
}

#[test]
fn a_caller_cannot_vouch_for_locks_that_do_not_work_here_either() {
    for (no_lock, weak_lock) in [(true, false), (false, true)] {
        run(async {
            let habits = Habits {
                no_lock,
                weak_lock,
                ..on(sshfs())
            };
            let rig = Rig::with(habits, |builder| builder.locks(Locks::Trusted));
            let put = rig
                .store
                .try_put(REF, "1", PutMode::Create, ObjectClass::Metadata)
                .await;
            assert!(unsupported(put).contains("exclude no other writer"));
        });
    }
}

#[test]
fn advice_names_the_file_system_its_options_and_what_follows() {
    run(async {
        for (rig, weight, words) in [
            (
                Rig::new(on(sshfs())),
                Weight::Hint,
                &[
                    "fuse.sshfs, mounted at /mnt with rw,relatime,rw,user_id=0",
                    "not known",
                    "locks=trusted",
                ][..],
            ),
            (
                trusting(sshfs()),
                Weight::Hint,
                &["not known", "`locks=trusted` says that they do"],
            ),
            (
                Rig::new(on(nfs())),
                Weight::Good,
                &["nfs4", "local_lock=none", "on any machine"],
            ),
            (
                Rig::new(Habits::default()),
                Weight::Good,
                &["ext4", "on this machine"],
            ),
        ] {
            for root_exists in [true, false] {
                if !root_exists {
                    std::fs::remove_dir_all(rig.dir.path()).expect("removed");
                }
                let store = open_twin(rig.dir.path(), &rig.twin, |builder| {
                    builder.locks(rig.store.0.locks)
                });
                let advice = store.advice().await.expect("told");
                assert_eq!(advice.len(), 1);
                assert_eq!((advice[0].topic, advice[0].weight), (Topic::Locks, weight));
                let text = &advice[0].text;
                assert!(words.iter().all(|word| text.contains(word)), "{text}");
                let why = store.why_unsafe().await;
                assert_eq!(why.is_some(), weight == Weight::Hint, "{why:?}");
            }
        }
    });
}

#[test]
fn a_root_that_lies_elsewhere_than_it_seemed_at_first_is_judged_anew() {
    run(async {
        let dir = super::kit::quick_dir();
        let twin = Twin::new(Habits::default());
        let store = open_twin(&dir.path().join("a/b"), &twin, |builder| builder);
        assert!(
            store.capabilities().safe_commits(),
            "above lies a local disk"
        );
        twin.mount(sshfs());
        let put = store
            .try_put(REF, "1", PutMode::Create, ObjectClass::Metadata)
            .await;
        assert!(unsupported(put).contains("fuse.sshfs"));
        // And the other way round: what was said at first holds for the life of the handle.
        let store = open_twin(&dir.path().join("c"), &twin, |builder| builder);
        assert!(!store.capabilities().safe_commits());
        twin.mount(Ground::default());
        store.write(REF, "1", PutMode::Create).await;
        assert!(!store.capabilities().safe_commits());
    });
}

#[test]
fn a_temporary_file_of_another_machine_is_not_taken_for_abandoned() {
    run(async {
        let rig = Rig::new(Habits::default());
        rig.store.write("a", "x", PutMode::Overwrite).await;
        let tmp = rig.dir.path().join(".icefield-local/tmp");
        std::fs::write(tmp.join("theirs"), "half").expect("written");
        let clock = Arc::new(ManualClock::new(SystemClock.now()));
        clock.advance(Duration::from_secs(25 * 3600));
        let write = async |ground: Ground, locks| {
            rig.twin.mount(ground);
            let store = open_twin(rig.dir.path(), &rig.twin, |builder| {
                let clock: Arc<ManualClock> = Arc::clone(&clock);
                builder.clock(clock).locks(locks)
            });
            store.write("a", "y", PutMode::Overwrite).await;
            rig.temporary()
        };
        // Here its lock is free, whichever client holds it there.
        assert_eq!(write(sshfs(), Locks::Detect).await, ["theirs"]);
        assert!(write(nfs(), Locks::Detect).await.is_empty());
        std::fs::write(tmp.join("theirs"), "half").expect("written");
        assert!(write(sshfs(), Locks::Trusted).await.is_empty());
    });
}

#[test]
fn what_another_machine_wrote_is_seen_before_the_comparison() {
    for delete in [false, true] {
        run(async {
            let rig = Rig::new(on(nfs()));
            let version = rig.store.write(REF, "1", PutMode::Create).await;
            let place = rig.dir.path().join(REF);
            // It landed while we waited for the lock, and this machine still remembers the file that was there.
            let (real, new) = (place.clone(), rig.dir.path().join("theirs"));
            rig.twin.hook(move |_, call| {
                if call == Call::Refresh {
                    std::fs::write(&new, "2").expect("written");
                    std::fs::rename(&new, &real).expect("renamed");
                }
            });
            if delete {
                let deletion = Deletion {
                    key: key(REF),
                    version: Some(version),
                };
                let deleted = rig.store.delete_one(deletion).await.expect("answered");
                assert_eq!(format!("{deleted:?}"), "Refused");
            } else {
                let update = PutMode::Update(version);
                let put = rig
                    .store
                    .try_put(REF, "3", update, ObjectClass::Metadata)
                    .await;
                refused(&put.expect("answered"));
            }
            assert_eq!(std::fs::read(&place).expect("there"), b"2");
        });
    }
}

#[test]
fn a_directory_that_cannot_be_asked_anew_is_not_compared() {
    run(async {
        let rig = Rig::new(on(nfs()));
        let version = rig.store.write(REF, "1", PutMode::Create).await;
        rig.twin.fail(Call::Refresh, 0, 1, Errno::IO);
        let update = PutMode::Update(version.clone());
        let put = rig
            .store
            .try_put(REF, "2", update.clone(), ObjectClass::Metadata)
            .await;
        assert!(put.is_err(), "{put:?}");
        assert_eq!(rig.store.text(REF).await.as_deref(), Some("1"));
        let again = rig
            .store
            .try_put(REF, "2", update, ObjectClass::Metadata)
            .await;
        written(again.expect("the lock was given back"));
        // A disk of this machine is not asked.
        let local = Rig::new(Habits::default());
        local.store.write(REF, "1", PutMode::Create).await;
        assert!(!local.twin.reset().contains(&Call::Refresh));
    });
}

#[test]
fn a_full_disk_does_not_make_locks_reach_further() {
    run(async {
        let rig = Rig::new(on(sshfs()));
        let version = rig.store.write("a", "1", PutMode::Overwrite).await;
        let fresh = rig.again();
        rig.twin.fail(Call::Create, 0, 2, Errno::NOSPC);
        let deletion = Deletion {
            key: key("a"),
            version: Some(version),
        };
        let deleted = fresh.delete_one(deletion).await;
        assert!(unsupported(deleted).contains("conditional delete"));
        let deleted = fresh.delete_one(key("a").into()).await;
        assert!(deleted.is_ok(), "{deleted:?}");
        assert!(rig.store.keys().await.is_empty());
    });
}
