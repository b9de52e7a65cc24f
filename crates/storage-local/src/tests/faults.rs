//! Cases 72, 74 and 1: what the operating system refuses, at every call of every operation.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use icefield_storage::{
    CopyOptions, DeleteOutcome, Deletion, GetOptions, ManualClock, ObjectClass, Payload, PutMode,
    PutOutcome, Storage, StorageError, StorageExt, Version,
};

use super::kit::{Rig, Speak, key, open};
use crate::sys::Errno;
use crate::sys::habits::Habits;
use crate::sys::twin::Call;
use crate::{Fsync, LocalStorage};

const OLD: &str = "the old bytes";
const NEW: &str = "new";

/// The outcome of an operation, whichever it was.
#[derive(Debug)]
enum End {
    Done,
    Refused,
    Unknown(StorageError),
    Failed(StorageError),
}

impl From<Result<PutOutcome, StorageError>> for End {
    fn from(result: Result<PutOutcome, StorageError>) -> Self {
        match result {
            Ok(PutOutcome::Written(_)) => Self::Done,
            Ok(PutOutcome::Refused) => Self::Refused,
            Ok(PutOutcome::Unknown(error)) => Self::Unknown(error),
            Err(error) => Self::Failed(error),
        }
    }
}

impl From<Result<DeleteOutcome, StorageError>> for End {
    fn from(result: Result<DeleteOutcome, StorageError>) -> Self {
        match result {
            Ok(DeleteOutcome::Deleted) => Self::Done,
            Ok(DeleteOutcome::Refused) => Self::Refused,
            Ok(DeleteOutcome::Unknown(error)) => Self::Unknown(error),
            Err(error) => Self::Failed(error),
        }
    }
}

/// The operations. Each works on `a/b`, of which `old` is the version, if it exists.
const OPERATIONS: [&str; 8] = [
    "create",
    "overwrite",
    "update",
    "chunk",
    "stream",
    "copy",
    "delete",
    "delete one state",
];

fn needs_old(operation: &str) -> bool {
    !matches!(operation, "create" | "chunk")
}

async fn perform(store: &LocalStorage, operation: &str, old: &Version) -> End {
    let bytes = Bytes::from_static(NEW.as_bytes());
    let (metadata, chunk) = (ObjectClass::Metadata, ObjectClass::Chunk);
    match operation {
        "create" => store
            .try_put("a/b", bytes, PutMode::Create, metadata)
            .await
            .into(),
        "overwrite" => store
            .try_put("a/b", bytes, PutMode::Overwrite, metadata)
            .await
            .into(),
        "update" => {
            let mode = PutMode::Update(old.clone());
            store.try_put("a/b", bytes, mode, metadata).await.into()
        }
        "chunk" => store
            .try_put("a/b", bytes, PutMode::Create, chunk)
            .await
            .into(),
        "stream" => {
            let parts = stream::iter([Ok(bytes.slice(..1)), Ok(bytes.slice(1..))]).boxed();
            let payload = Payload::Stream {
                size: None,
                stream: parts,
            };
            store
                .try_put("a/b", payload, PutMode::Overwrite, metadata)
                .await
                .into()
        }
        "copy" => {
            let options = CopyOptions::default();
            store
                .copy(&key("source"), &key("a/b"), options)
                .await
                .into()
        }
        "delete" => store.delete_one(key("a/b").into()).await.into(),
        "delete one state" => {
            let deletion = Deletion {
                key: key("a/b"),
                version: Some(old.clone()),
            };
            store.delete_one(deletion).await.into()
        }
        other => panic!("{other}"),
    }
}

/// A fresh directory, in which an operation is about to run. `warm`: the handle has written before.
async fn stage(operation: &str, fsync: Fsync, warm: bool) -> (Rig, Version) {
    let clock = Arc::new(ManualClock::new(std::time::SystemTime::UNIX_EPOCH));
    let rig = Rig::with(Habits::default(), |builder| {
        builder.fsync(fsync).clock(clock)
    });
    let other = open(rig.dir.path());
    let mut old = Version::new("none");
    if operation == "copy" {
        other.write("source", NEW, PutMode::Create).await;
    }
    if needs_old(operation) {
        old = other.write("a/b", OLD, PutMode::Create).await;
    }
    if warm {
        rig.store.write("warm", "x", PutMode::Create).await;
    }
    rig.twin.reset();
    (rig, old)
}

/// Checks what an operation left behind against what it said, and that work goes on.
async fn check(rig: &Rig, operation: &str, end: &End, what: &str) {
    rig.twin.reset();
    let other = open(rig.dir.path());
    let there = other.text("a/b").await;
    let old = needs_old(operation).then_some(OLD);
    let new = (!operation.starts_with("delete")).then_some(NEW);
    let there = there.as_deref();
    match end {
        End::Done => assert_eq!(there, new, "{what}"),
        End::Failed(_) => assert_eq!(there, old, "{what}: {end:?}"),
        // A file that was made and never filled counts as the write that it began.
        End::Unknown(_) if operation == "chunk" => {}
        End::Unknown(why) => assert!(there == new || there == old, "{what}: {why} {there:?}"),
        End::Refused => panic!("{what}: there is no other writer"),
    }
    let expected = ["a/b", "source", "warm"];
    for listed in other.keys().await {
        assert!(expected.contains(&listed.as_str()), "{what}: {listed}");
    }
    other.write("a/b", "after", PutMode::Overwrite).await;
    assert_eq!(other.text("a/b").await.as_deref(), Some("after"));
}

async fn calls_of(operation: &str, fsync: Fsync, warm: bool) -> Vec<Call> {
    let (rig, old) = stage(operation, fsync, warm).await;
    let end = perform(&rig.store, operation, &old).await;
    assert!(matches!(end, End::Done), "{operation}: {end:?}");
    rig.twin.reset()
}

/// Fails each call of each operation in turn.
async fn at_every_call(
    errno: Errno,
    late: bool,
    concerns: impl Fn(Call) -> bool,
    judge: impl Fn(&str, Call, &End),
) {
    let settings = [
        (Fsync::None, true),
        (Fsync::Commit, false),
        (Fsync::Commit, true),
        (Fsync::Each, true),
    ];
    for (fsync, warm) in settings {
        for operation in OPERATIONS {
            let calls = calls_of(operation, fsync, warm).await;
            for (number, call) in calls.iter().enumerate() {
                if !concerns(*call) {
                    continue;
                }
                let what =
                    format!("{operation}, {fsync:?}, warm {warm}, {call:?} ({number}) {errno}");
                let (rig, old) = stage(operation, fsync, warm).await;
                match late {
                    true => rig.twin.fail_late(None, number, errno),
                    false => rig.twin.fail(None, number, 1, errno),
                }
                let end = perform(&rig.store, operation, &old).await;
                judge(&what, *call, &end);
                check(&rig, operation, &end, &what).await;
                let left = rig.temporary();
                let excused = *call == Call::Unlink || late || matches!(end, End::Unknown(_));
                assert!(excused || left.is_empty(), "{what}: {left:?}");
            }
        }
    }
}

#[test]
fn e72_a_full_disk_at_any_call_leaves_the_old_state_and_says_so() {
    super::kit::run(async {
        let judge = |what: &str, call, end: &End| match end {
            End::Failed(StorageError::NoSpace { .. }) | End::Done => {}
            // A directory that was not flushed is final, whatever the reason.
            End::Failed(StorageError::Failed { .. }) | End::Unknown(_) if call == Call::Fsync => {}
            other => panic!("{what}: {other:?}"),
        };
        at_every_call(Errno::NOSPC, false, Call::mutates, judge).await;
        let grows = |call| matches!(call, Call::Write | Call::Create | Call::RenameNew);
        at_every_call(Errno::DQUOT, false, grows, judge).await;
    });
}

#[test]
fn e74_an_io_error_at_any_call_is_an_error_or_unknown_never_a_lie() {
    super::kit::run(async {
        at_every_call(Errno::IO, false, |_| true, |_, _, _| {}).await;
        at_every_call(Errno::IO, true, Call::mutates, |_, _, _| {}).await;
    });
}

#[test]
fn e73_one_moment_without_descriptors_is_waited_out() {
    let opens = |call| {
        matches!(
            call,
            Call::OpenRoot | Call::OpenRead | Call::OpenDirectory | Call::Create | Call::OpenLock
        )
    };
    super::kit::run(async {
        at_every_call(Errno::MFILE, false, opens, |what, _, end| {
            assert!(matches!(end, End::Done), "{what}: {end:?}");
        })
        .await;
    });
}

#[test]
fn e73_descriptors_that_never_come_back_are_a_typed_error() {
    super::kit::run(async {
        let (rig, _) = stage("overwrite", Fsync::Commit, true).await;
        for call in [
            Call::OpenRead,
            Call::OpenDirectory,
            Call::Create,
            Call::OpenLock,
        ] {
            rig.twin.fail(call, 0, usize::MAX, Errno::MFILE);
        }
        let get = rig.store.get(&key("a/b"), GetOptions::default()).await;
        let error = get.expect_err("no descriptor");
        assert!(error.is_retryable(), "{error:?}");
        assert!(
            rig.store
                .try_get_blocking(&key("a/b"), &GetOptions::default())
                .is_none()
        );
        let put = rig
            .store
            .try_put("a/b", "x", PutMode::Overwrite, ObjectClass::Metadata)
            .await;
        assert!(put.expect_err("no descriptor").is_retryable());
        let deleted = rig.store.delete_one(key("a/b").into()).await;
        assert!(deleted.expect_err("no descriptor").is_retryable());
        assert!(
            rig.store.list_all(&Default::default()).await.is_err(),
            "never an empty list"
        );
        rig.twin.reset();
        assert_eq!(rig.store.text("a/b").await.as_deref(), Some(OLD));
    });
}

#[test]
fn e74_a_failed_flush_is_final() {
    super::kit::run(async {
        let rig = Rig::new(Habits::default());
        rig.store.chunk("chunks/1", "one").await;
        rig.twin.fail(Call::Fsync, 0, 1, Errno::IO);
        let first = rig.store.sync().await.expect_err("not flushed");
        assert!(!first.is_retryable(), "{first:?}");
        // The kernel would say "done" now. It has dropped the page.
        for _ in 0..3 {
            rig.store
                .sync()
                .await
                .expect_err("an fsync that failed cannot succeed later");
        }
        for (at, mode) in [("chunks/2", PutMode::Create), ("ref", PutMode::Overwrite)] {
            let put = rig
                .store
                .try_put(at, "x", mode, ObjectClass::Metadata)
                .await;
            put.expect_err("this handle takes no more writes");
        }
        assert_eq!(
            rig.store.text("chunks/1").await.as_deref(),
            Some("one"),
            "reads go on"
        );
        // Opened anew and written under another name.
        let again = rig.again();
        again.chunk("chunks/3", "one").await;
        again.sync().await.expect("flushed");
        again.write("ref", "3", PutMode::Create).await;
    });
}

#[test]
fn e74_a_failure_on_the_way_to_a_flush_is_not_final() {
    super::kit::run(async {
        for call in [Call::OpenDirectory, Call::Stat] {
            let rig = Rig::new(Habits::default());
            rig.store.chunk("chunks/1", "one").await;
            rig.twin.fail(call, 0, usize::MAX, Errno::IO);
            rig.store.sync().await.expect_err("not flushed");
            rig.twin.reset();
            rig.store.chunk("chunks/2", "two").await;
            rig.store.sync().await.expect("flushed");
            let calls = rig.twin.reset();
            let flushes = calls.iter().filter(|call| **call == Call::Fsync).count();
            assert!(flushes >= 3, "both files and the directory: {calls:?}");
        }
    });
}

#[test]
fn e74_directories_that_cannot_be_flushed_are_a_fact_not_a_failure() {
    super::kit::run(async {
        for fsync in [Fsync::Commit, Fsync::Each] {
            let habits = Habits {
                no_folder_flush: true,
                ..Habits::default()
            };
            let rig = Rig::with(habits, |builder| builder.fsync(fsync));
            rig.store.chunk("chunks/1", "one").await;
            rig.store.sync().await.expect("flushed as far as can be");
            let version = rig.store.write("ref", "1", PutMode::Create).await;
            rig.store.write("ref", "2", PutMode::Update(version)).await;
            let _ = rig
                .store
                .delete_one(key("ref").into())
                .await
                .expect("deleted");
            rig.store.sync().await.expect("flushed as far as can be");
        }
    });
}

#[test]
fn e74_a_failed_flush_fails_the_sync_of_everybody_who_waits() {
    super::kit::run(async {
        let rig = Rig::new(Habits::default());
        for i in 0..4 {
            rig.store.chunk(&format!("chunks/{i}"), "x").await;
        }
        rig.twin.fail(Call::Fsync, 2, 1, Errno::IO);
        let syncs = futures::future::join_all((0..4).map(|_| rig.store.sync())).await;
        assert!(syncs.iter().all(Result::is_err), "{syncs:?}");
    });
}

#[test]
fn e74_a_flush_of_the_whole_file_system_that_fails_is_final() {
    super::kit::run(async {
        let rig = Rig::new(Habits {
            open_files: Some(4),
            ..Habits::default()
        });
        for i in 0..8 {
            rig.store.chunk(&format!("chunks/{i}"), "x").await;
        }
        rig.twin.fail(Call::Syncfs, 0, 1, Errno::IO);
        rig.store.sync().await.expect_err("not flushed");
        rig.store.sync().await.expect_err("final");
    });
}

#[test]
fn e74_a_chunk_whose_flush_fails_is_written_again_under_a_new_name() {
    super::kit::run(async {
        let rig = Rig::with(Habits::default(), |builder| builder.fsync(Fsync::Each));
        rig.store.chunk("chunks/0", "x").await;
        rig.twin.fail(Call::Fsync, 0, 1, Errno::IO);
        let put = rig
            .store
            .try_put("chunks/1", "x", PutMode::Create, ObjectClass::Chunk)
            .await;
        put.expect_err("not durable, so not written");
        assert_eq!(
            rig.store.keys().await,
            ["chunks/0"],
            "nothing is left of it"
        );
        rig.store.chunk("chunks/2", "x").await;
    });
}

#[test]
fn e74_an_unreadable_object_is_an_error_not_missing() {
    super::kit::run(async {
        let (rig, _) = stage("overwrite", Fsync::Commit, true).await;
        for call in [Call::OpenRead, Call::Stat, Call::Read] {
            rig.twin.fail(call, 0, 1, Errno::IO);
            let get = rig.store.get(&key("a/b"), GetOptions::default()).await;
            let error = get.expect_err("unreadable");
            assert!(
                matches!(error, StorageError::Failed { .. }),
                "{call:?}: {error:?}"
            );
            rig.twin.reset();
        }
        for call in [Call::OpenDirectory, Call::ReadDir, Call::StatAt, Call::Read] {
            rig.twin.fail(call, 0, 1, Errno::IO);
            let list = rig.store.list_all(&Default::default()).await;
            assert!(
                list.is_err(),
                "{call:?}: a list that failed is not a short list"
            );
            rig.twin.reset();
        }
    });
}

#[test]
fn e106_a_panic_in_a_write_is_unknown_and_the_store_goes_on() {
    super::kit::run(async {
        let (rig, old) = stage("update", Fsync::Commit, true).await;
        rig.twin
            .hook(|_, call| assert_ne!(call, Call::Rename, "planted"));
        let end = perform(&rig.store, "update", &old).await;
        assert!(matches!(end, End::Unknown(_)), "{end:?}");
        rig.twin.hook(|_, _| ());
        assert_eq!(rig.store.text("a/b").await.as_deref(), Some(OLD));
        assert!(rig.temporary().is_empty());
        // The lock went with the thread that panicked.
        let end = perform(&rig.store, "update", &old).await;
        assert!(matches!(end, End::Done), "{end:?}");
    });
}

/// The calls that write a chunk of so many bytes, where setting space aside is worth it and comes to `reserved`.
async fn chunk_of(length: usize, reserved: Option<Errno>) -> Vec<Call> {
    let rig = Rig::new(Habits {
        reserves: true,
        ..Habits::default()
    });
    rig.store.chunk("warm", "up").await;
    rig.twin.reset();
    if let Some(errno) = reserved {
        rig.twin.fail(Call::Reserve, 0, 1, errno);
    }
    let bytes: Bytes = (0..length)
        .map(|at| (at % 251) as u8)
        .collect::<Vec<_>>()
        .into();
    rig.store.chunk("a/b", bytes.clone()).await;
    let calls = rig.twin.reset();
    let read = rig.store.read(&key("a/b")).await.expect("there").0;
    assert_eq!(read, bytes, "{reserved:?}");
    calls
}

#[tokio::test]
async fn space_is_set_aside_for_long_chunks_and_need_not_be_there() {
    let reserves = |calls: Vec<Call>| {
        let writes = calls.iter().filter(|call| **call == Call::Write).count();
        assert_eq!(writes, 1);
        calls.iter().filter(|call| **call == Call::Reserve).count()
    };
    assert_eq!(reserves(chunk_of((1 << 20) - 1, None).await), 0);
    assert_eq!(reserves(chunk_of(1 << 20, None).await), 1);
    for errno in [Errno::OPNOTSUPP, Errno::NOSYS, Errno::NOSPC, Errno::INTR] {
        assert_eq!(reserves(chunk_of(1 << 20, Some(errno)).await), 1);
    }
}

#[tokio::test]
async fn of_a_long_chunk_that_does_not_fit_nothing_stays() {
    let rig = Rig::new(Habits {
        reserves: true,
        ..Habits::default()
    });
    rig.twin.fail(Call::Write, 0, 1, Errno::NOSPC);
    let bytes = Bytes::from(vec![1; 1 << 20]);
    let put = rig
        .store
        .try_put("a/b", bytes, PutMode::Create, ObjectClass::Chunk);
    let put = put.await;
    assert!(put.is_err(), "{put:?}");
    assert_eq!(rig.store.text("a/b").await, None);
    assert!(!rig.dir.path().join("a/b").exists());
}
