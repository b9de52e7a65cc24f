//! Waiting for each other and being dropped while waiting: case B 29 of `docs/faults.md`.
//!
//! Every wait in core is one of an async lock, of the cache's single flight, or of the store; no blocking lock is
//! held across one. So steps between waits, in thousands of seeded orders, with futures dropped at any of
//! them, are what can go wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::TryStreamExt;
use icefield_core::{
    BranchName, ByteRange, CommitOutcome, Detector, Repository, SeededEntropy, Session, Settings,
    VersionSelection, WriteMode,
};
use icefield_storage::wrap::fault::{Plan, Rates};
use icefield_storage::wrap::{FaultyStorage, LatencyStorage};
use icefield_storage::{Clock, Storage};
use icefield_storage_memory::MemoryStorage;
use icefield_testkit::interleave::{Interleaving, StepClock};

use crate::edits::*;
use crate::support::without_runtime;

/// Orders tried of each kind.
const ORDERS: u64 = 1500;
/// More steps than any task here takes before it ends, about.
const STEPS: u64 = 150;
const FAIL: VersionSelection = VersionSelection::Fail;

/// A store each of whose requests is a place to be interrupted at.
struct Stage {
    seed: u64,
    random: SeededEntropy,
    clock: Arc<StepClock>,
    store: Arc<dyn Storage>,
}

impl Stage {
    fn new(seed: u64) -> Self {
        let clock = Arc::new(StepClock::new(seed));
        let inner: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let store = LatencyStorage::new(inner, Duration::from_millis(1));
        Self {
            seed,
            random: SeededEntropy::new(seed),
            store: Arc::new(store.with_clock(Arc::clone(&clock) as Arc<dyn Clock>)),
            clock,
        }
    }

    /// A repository with the array `/x` of 64 chunks.
    fn prepare(&self) {
        without_runtime(async {
            let repository = Repository::create(Arc::clone(&self.store)).await;
            let session = writer(&repository.expect("new")).await;
            apply(&session, &[Meta("/x", array(64, ""))]).await;
            commit(&session).await;
        });
    }

    /// Opens a handle of its own.
    fn handle(&self, number: u64, settings: Settings) -> impl Future<Output = Repository> + use<> {
        let builder = Repository::builder(Arc::clone(&self.store))
            .clock(Arc::clone(&self.clock) as Arc<dyn Clock>)
            .entropy(Arc::new(SeededEntropy::new(self.seed ^ (number << 40))))
            .settings(settings);
        async { builder.open().await.expect("it is there") }
    }

    /// Adds a task, one of three times one that is dropped on its way. Says whether it stays.
    fn spawn(
        &self,
        tasks: &mut Interleaving,
        name: String,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> bool {
        let stays = self.random.below(3) > 0;
        let steps = match stays {
            true => u64::MAX,
            false => self.random.below(STEPS),
        };
        tasks.spawn_dropped_after(steps, name, work);
        stays
    }

    fn run(&self, tasks: Interleaving) {
        let seed = self.seed;
        if let Err(stuck) = tasks.run() {
            panic!("seed {seed}: {stuck}");
        }
    }
}

async fn set(session: &Session, index: u32) -> bool {
    let bytes = vec![index as u8; 600].into();
    session
        .set_chunk(&path("/x"), &[index], bytes, WriteMode::Overwrite)
        .await
        .is_ok()
}

/// Writers through handles of their own stand in one line for the branch. Some go away: before their turn, in
/// it, while the branch moves.
#[test]
fn b29_writers_in_line_all_get_their_turn_though_some_leave_it() {
    const WRITERS: u64 = 5;
    let mut landed = 0;
    for seed in 0..ORDERS {
        let stage = Stage::new(seed);
        stage.prepare();
        let mut tasks = Interleaving::new(seed);
        let done = Arc::new(AtomicUsize::new(0));
        let mut staying = 0;
        for number in 0..WRITERS {
            let (open, done) = (stage.handle(number, Settings::default()), Arc::clone(&done));
            let work = async move {
                let repository = open.await;
                for index in 0..2 {
                    let session = writer(&repository).await;
                    assert!(set(&session, (2 * number + index) as u32).await);
                    let commit = session.commit("mine").rebase_with(Detector::Strict);
                    let outcome = commit.await.expect("nothing fails");
                    assert!(
                        matches!(outcome, CommitOutcome::Committed(_)),
                        "{outcome:?}"
                    );
                }
                done.fetch_add(1, Ordering::Relaxed);
            };
            staying += usize::from(stage.spawn(&mut tasks, format!("writer {number}"), work));
        }
        stage.run(tasks);
        let done = done.load(Ordering::Relaxed);
        assert!(done >= staying, "seed {seed}");
        without_runtime(async {
            let repository = open(&stage.store).await;
            let tip = repository.resolve(&BranchName::main().into()).await;
            let history = repository.ancestry(tip.expect("main is there"));
            let history: Vec<_> = history.try_collect().await.expect("whole");
            assert!(history.len() >= 2 + 2 * done, "seed {seed}");
        });
        landed += done;
    }
    println!("{ORDERS} orders of {WRITERS} writers, {landed} stayed to the end");
}

/// Everything that a session can do, from several tasks at once: each ends, whatever the others do and
/// wherever they are dropped, and the session takes edits again or says what it waits for.
#[test]
fn b29_one_session_used_by_several_tasks_never_hangs() {
    let mut usable = 0;
    for seed in 0..ORDERS {
        let stage = Stage::new(seed);
        stage.prepare();
        let mut tasks = Interleaving::new(seed);
        let session = without_runtime(async {
            let repository = stage.handle(9, Settings::default()).await;
            let other = writer(&repository).await;
            let session = writer(&repository).await;
            assert!(set(&other, 63).await);
            commit(&other).await;
            session
        });
        let forks = [(); 2].map(|()| session.fork().expect("nothing is under way"));
        for number in 0..6_u32 {
            let session = session.clone();
            let kind = stage.random.below(8);
            let (one, two) = (forks[0].clone(), forks[1].clone());
            let work = async move {
                assert!(session.branch().is_some());
                set(&session, number).await;
                match kind {
                    0 => drop(session.commit("a").rebase_with(Detector::Strict).await),
                    1 => drop(session.rebase(&Detector::Strict).await),
                    2 => drop(session.flush("b").await),
                    3 => {
                        if let Ok(fork) = session.fork() {
                            set(&fork, 32 + number).await;
                            drop(session.merge_forks([&fork, &session], FAIL).await);
                        }
                    }
                    5 => drop(one.merge_forks([&two], FAIL).await),
                    6 => drop(two.merge_forks([&one, &two], FAIL).await),
                    4 => drop(session.commit("c").await),
                    _ => {
                        let chunk = session.chunk(&path("/x"), &[63], ByteRange::All).await;
                        chunk.expect("sessions can always be read");
                    }
                }
                set(&session, number).await;
            };
            stage.spawn(&mut tasks, format!("{kind} of task {number}"), work);
        }
        stage.run(tasks);
        without_runtime(async {
            // A commit dropped while the branch moved is settled by asking; one that landed ends the session.
            match session.resolve().await {
                Ok(_) => {}
                Err(error) => assert!(
                    error.to_string().contains("unknown"),
                    "seed {seed}: {error}"
                ),
            }
            let last = if session.is_read_only() {
                writer(&open(&stage.store).await).await
            } else {
                usable += 1;
                session
            };
            assert!(set(&last, 62).await, "seed {seed}");
            let outcome = last.commit("last").rebase_with(Detector::Strict).await;
            assert!(
                matches!(outcome, Ok(CommitOutcome::Committed(_))),
                "seed {seed}: {outcome:?}"
            );
        });
    }
    println!("{ORDERS} orders of 6 tasks, {usable} sessions still took edits");
}

/// One load of an object serves all who ask; a caller that is dropped, or whose load fails, leaves no other caller
/// waiting.
#[test]
fn b29_readers_of_one_object_all_end_though_the_one_that_loads_it_goes_away() {
    const READERS: u32 = 6;
    let mut read = 0;
    for seed in 0..ORDERS {
        let stage = Stage::new(seed);
        stage.prepare();
        without_runtime(async {
            let session = writer(&open(&stage.store).await).await;
            for index in 0..4 {
                assert!(set(&session, index).await);
            }
            commit(&session).await;
        });
        // Room for one manifest or none.
        let settings = Settings::default().with_cache_bytes(stage.random.below(2) * 900);
        let faulty = FaultyStorage::new(Arc::clone(&stage.store), Plan::none());
        let store: Arc<dyn Storage> = Arc::new(faulty.clone());
        let session = without_runtime(async {
            let repository = Repository::builder(store).settings(settings).open().await;
            let repository = repository.expect("it is there");
            repository
                .read_session(BranchName::main())
                .await
                .expect("it is there")
        });
        let rates = Rates {
            fail_before: 100,
            ..Rates::default()
        };
        faulty.set_plan(Plan::seeded(seed, rates));
        let mut tasks = Interleaving::new(seed);
        let ended = Arc::new(AtomicUsize::new(0));
        let mut staying = 0;
        for number in 0..READERS {
            let (session, ended) = (session.clone(), Arc::clone(&ended));
            let work = async move {
                for index in 0..4_u32 {
                    let chunk = session.chunk(&path("/x"), &[index], ByteRange::All).await;
                    if let Ok(chunk) = chunk {
                        assert_eq!(chunk, Some(vec![index as u8; 600].into()));
                    }
                }
                ended.fetch_add(1, Ordering::Relaxed);
            };
            staying += usize::from(stage.spawn(&mut tasks, format!("reader {number}"), work));
        }
        stage.run(tasks);
        let ended = ended.load(Ordering::Relaxed);
        assert!(ended >= staying, "seed {seed}");
        read += ended;
    }
    println!("{ORDERS} orders of {READERS} readers, {read} ended");
}
