//! Crashes at every point.

use std::sync::Arc;

use icefield_storage::wrap::fault::{FaultyStorage, Plan, When, crash_points};
use icefield_storage::{
    DeleteOutcome, Prefix, PutMode, PutOutcome, Storage, StorageError, StorageExt,
};
use icefield_storage_memory::MemoryStorage;

use super::{key, peek, put, two_states};

/// Writes two objects, reads, moves a pointer: a small commit. Gives up at the first failure, as a
/// process would that has died.
async fn scenario(storage: &dyn Storage) -> Result<(), StorageError> {
    let unknown = |outcome| match outcome {
        PutOutcome::Unknown(error) => Err(error),
        _ => Ok(()),
    };
    unknown(put(storage, "chunks/1", "c", PutMode::Create).await?)?;
    unknown(put(storage, "snapshots/1", "s", PutMode::Create).await?)?;
    let (_, meta) = storage.read(&key("refs/main")).await?;
    unknown(put(storage, "refs/main", "1", PutMode::Update(meta.version)).await?)?;
    match storage.delete_one(key("chunks/0").into()).await? {
        DeleteOutcome::Unknown(error) => Err(error),
        _ => Ok(()),
    }
}

async fn prepared() -> MemoryStorage {
    let memory = MemoryStorage::new();
    for at in ["refs/main", "chunks/0"] {
        let _ = put(&memory, at, "0", PutMode::Create)
            .await
            .expect("written");
    }
    memory
}

#[tokio::test]
async fn every_stop_leaves_the_effects_of_a_prefix() {
    let start = prepared().await;
    let dry = FaultyStorage::new(Arc::new(start.duplicate()), Plan::none());
    scenario(&dry).await.expect("without faults");
    assert_eq!((dry.operations(), dry.writes()), (5, 4));
    // How many of the four writes have happened once each operation is done.
    let writes_by = [0, 1, 2, 2, 3, 4];

    for (k, when) in crash_points(dry.operations()) {
        let inner: Arc<dyn Storage> = Arc::new(start.duplicate());
        let dying = FaultyStorage::new(Arc::clone(&inner), Plan::stop_at(k, when));
        scenario(&dying).await.expect_err("the process dies");
        assert!(dying.is_stopped());
        assert_eq!(dying.operations(), k + 1);
        assert_eq!(dying.trace().events()[..], {
            let mut events = dry.trace().events()[..=k as usize].to_vec();
            events[k as usize].decision = dying.trace().events()[k as usize].decision;
            events
        });
        let done = async || {
            usize::from(peek(&inner, "chunks/1").await.is_some())
                + usize::from(peek(&inner, "snapshots/1").await.is_some())
                + usize::from(peek(&inner, "refs/main").await.as_deref() == Some("1"))
                + usize::from(peek(&inner, "chunks/0").await.is_none())
        };
        let (before, after) = (writes_by[k as usize], writes_by[k as usize + 1]);
        let at_death = if when == When::After { after } else { before };
        assert_eq!(done().await, at_death, "stopped at {k}, {when:?}");
        dying.deliver_pending().await;
        let in_the_end = if when == When::Before { before } else { after };
        assert_eq!(
            done().await,
            in_the_end,
            "stopped at {k}, {when:?}, delivered"
        );
    }
}

#[tokio::test]
async fn stops_can_count_writes_alone() {
    for k in 0..4 {
        let inner: Arc<dyn Storage> = Arc::new(prepared().await);
        let dying = FaultyStorage::new(inner, Plan::stop_at_write(k, When::Before));
        scenario(&dying).await.expect_err("the process dies");
        assert_eq!(dying.writes(), k + 1);
        assert_eq!(dying.operations(), k + 1 + u64::from(k >= 2));
    }
}

#[tokio::test]
async fn dead_store_answers_nothing_and_reaches_nothing() {
    let (inner, faulty) = two_states(Plan::stop_at(0, When::After)).await;
    let outcome = put(&faulty, "a", "three", PutMode::Overwrite).await;
    let Ok(PutOutcome::Unknown(error)) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(
        FaultyStorage::is_injected(&error) && !error.is_retryable(),
        "{error:?}"
    );

    assert!(faulty.read(&key("a")).await.is_err());
    assert!(faulty.head(&key("a")).await.is_err());
    assert!(faulty.list_all(&Prefix::all()).await.is_err());
    assert!(faulty.sync().await.is_err());
    assert!(put(&faulty, "b", "x", PutMode::Create).await.is_err());
    assert!(faulty.delete_one(key("a").into()).await.is_err());
    assert!(
        faulty
            .copy(&key("a"), &key("b"), Default::default())
            .await
            .is_err()
    );
    assert!(matches!(
        faulty.try_get_blocking(&key("a"), &Default::default()),
        Some(Err(_))
    ));
    assert_eq!(faulty.operations(), 1, "a dead process begins nothing");
    assert_eq!(
        inner.list_all(&Prefix::all()).await.expect("listed").len(),
        1
    );
    assert_eq!(peek(&inner, "a").await.as_deref(), Some("three"));

    faulty.set_plan(Plan::none());
    assert_eq!(
        faulty.read(&key("a")).await.expect("alive again").0,
        "three"
    );
}

#[tokio::test]
async fn every_cancellation_leaves_the_effects_of_a_prefix() {
    let start = prepared().await;
    for (k, when) in crash_points(5) {
        let inner: Arc<dyn Storage> = Arc::new(start.duplicate());
        let faulty = FaultyStorage::new(Arc::clone(&inner), Plan::cancel_at(k, when));
        let outcome = faulty.run_until_hung(scenario(&faulty)).await;
        assert!(outcome.is_none(), "operation {k} hangs");
        let moved = peek(&inner, "refs/main").await.as_deref() == Some("1");
        assert_eq!(moved, k > 3 || (k == 3 && when == When::After));
        // No process has died: the next attempt uses the same store.
        if !moved {
            let _ = put(&faulty, "refs/main", "2", PutMode::Overwrite)
                .await
                .expect("written");
        }
    }
}
