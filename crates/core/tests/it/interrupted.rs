//! Commits that are interrupted: nothing is published, and the session goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use icefield_core::test_suite::words::*;
use icefield_core::{
    BasicSolver, Clock, CommitError, CommitOutcome, Interrupt, Repository, SystemClock,
};
use icefield_storage::Storage;
use icefield_storage::wrap::LatencyStorage;
use icefield_storage_memory::MemoryStorage;

/// Raises an interrupt when the store is waited for the so-manieth time.
#[derive(Debug)]
struct Raising {
    interrupt: Interrupt,
    left: AtomicUsize,
}

impl Clock for Raising {
    fn now(&self) -> SystemTime {
        SystemClock.now()
    }

    fn monotonic(&self) -> Duration {
        SystemClock.monotonic()
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 0 {
            self.interrupt.raise();
        }
        Box::pin(tokio::task::yield_now())
    }
}

#[tokio::test]
async fn interrupted_anywhere_a_commit_lands_or_the_session_goes_on() {
    let mut interrupted = 0;
    for calls in 0.. {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let repository = Repository::create(Arc::clone(&storage)).await;
        let before = tip(&repository.expect("created"), "main").await;
        let interrupt = Interrupt::new();
        let clock = Raising {
            interrupt: interrupt.clone(),
            left: AtomicUsize::new(usize::MAX),
        };
        let clock = Arc::new(clock);
        let slow = LatencyStorage::new(Arc::clone(&storage), Duration::from_millis(1));
        let slow = slow.with_clock(Arc::<Raising>::clone(&clock));
        let repository = Repository::open(Arc::new(slow)).await.expect("opened");
        let session = writer(&repository).await;
        set(&session, "/a", array(&[4], &[1])).await;
        write(&session, "/a", &[1], pattern(1, 600)).await;
        clock.left.store(calls, Ordering::SeqCst);
        let committing = session.commit("interrupted").interruptible(&interrupt);
        let ended = match calls % 2 {
            0 => committing.await,
            _ => committing.rebase_with(BasicSolver::default()).await,
        };
        match ended {
            Ok(CommitOutcome::Committed(id)) => {
                assert_eq!(tip(&repository, "main").await, id, "{calls}");
                break;
            }
            Err(CommitError::Interrupted(_)) => interrupted += 1,
            other => panic!("{calls}: {other:?}"),
        }
        assert_eq!(tip(&repository, "main").await, before, "{calls}");
        assert!(session.has_changes().expect("sound"), "{calls}");
        write(&session, "/a", &[2], pattern(2, 600)).await;
        let id = commit(&session, "again").await;
        assert_eq!(tip(&repository, "main").await, id, "{calls}");
        let session = read_main(&repository).await;
        for index in [1, 2] {
            let chunk = pattern(u64::from(index), 600);
            holds(&session, "/a", &[index], Some(&chunk)).await;
        }
    }
    assert!(interrupted > 0);
}

#[tokio::test]
async fn a_commit_that_was_interrupted_before_it_began_writes_nothing() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let repository = Repository::create(Arc::clone(&storage)).await;
    let session = writer(&repository.expect("created")).await;
    set(&session, "/g", group()).await;
    let before = keys(&storage).await;
    let interrupt = Interrupt::new();
    interrupt.raise();
    let ended = session.commit("never").interruptible(&interrupt).await;
    assert!(matches!(ended, Err(CommitError::Interrupted(_))));
    assert_eq!(keys(&storage).await, before);
}
