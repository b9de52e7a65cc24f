//! Cases C 35 and C 36 of `docs/faults.md`, and being stopped: every history is complete at every moment.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use icefield_core::test_suite::words::*;
use icefield_core::{BasicSolver, CommitOutcome, Interrupt, Repository, SnapshotId};
use icefield_maintenance::{Expire, ExpireError, Policy};
use icefield_storage::wrap::fault::{Plan, When};
use icefield_storage::wrap::{FaultyStorage, LatencyStorage};
use icefield_storage::{Clock, Storage};
use icefield_storage_memory::MemoryStorage;
use icefield_testkit::interleave::{Interleaving, StepClock};
use icefield_testkit::stores::copy_all;

use super::{DAY, Lab, MONDAY, at};
use crate::interrupted::After;

/// Keeps one a day and goes behind a bound, so that it thins and cuts; deletes old refs.
fn expiration() -> Expire {
    let mut policy = Policy::default();
    (policy.older_than, policy.daily) = (Some(at(MONDAY + 4 * DAY)), 3);
    Expire::new(policy)
        .delete_expired_branches(true)
        .delete_expired_tags(true)
}

async fn prepared() -> Lab {
    let lab = Lab::new().await;
    for day in 0..5 {
        for hour in 0..2 {
            let id = lab
                .commit("main", MONDAY + day * DAY + hour * 3600 + 1)
                .await;
            if (day, hour) == (1, 0) {
                done(lab.repository.create_branch("old", id).await);
                done(lab.repository.create_tag("v1", id).await);
            }
            if (day, hour) == (3, 0) {
                done(lab.repository.create_branch("dev", id).await);
                lab.commit("dev", MONDAY + day * DAY + 1800).await;
            }
        }
    }
    lab
}

/// All refs and their histories. Panics if one is not complete.
async fn histories(repository: &Repository) -> Vec<(String, Vec<SnapshotId>)> {
    let refs = repository.refs().await.expect("listed");
    let branches = refs
        .branches
        .iter()
        .map(|(name, id)| (format!("branch {name}"), id));
    let tags = refs
        .tags
        .iter()
        .map(|(name, id)| (format!("tag {name}"), id));
    let mut all = Vec::new();
    for (name, id) in branches.chain(tags) {
        let infos = history(repository, *id.as_ref().expect("it points somewhere")).await;
        let ids: Vec<_> = infos.iter().map(|info| info.id).collect();
        assert_eq!(ids.last(), Some(&SnapshotId::INITIAL), "{name}");
        all.push((name, ids));
    }
    all
}

#[tokio::test]
async fn stopped_anywhere_every_history_is_complete_and_running_again_ends_it() {
    let lab = prepared().await;
    let whole = {
        let storage = lab.empty();
        copy_all(&lab.storage, &storage).await;
        let counted = FaultyStorage::new(Arc::clone(&storage), Plan::none());
        let through: Arc<dyn Storage> = Arc::new(counted.clone());
        let repository = lab.open(&through).await;
        let before = counted.operations();
        expiration()
            .run(&repository, &())
            .await
            .expect("nothing disturbs it");
        (
            counted.operations() - before,
            histories(&lab.open(&storage).await).await,
        )
    };
    let (operations, expected) = whole;
    let before = histories(&lab.repository).await;
    assert!(expected.len() < before.len() && operations > 20);
    for k in 0..operations {
        for when in When::ALL {
            let storage = lab.empty();
            copy_all(&lab.storage, &storage).await;
            let faulty = FaultyStorage::new(Arc::clone(&storage), Plan::none());
            let through: Arc<dyn Storage> = Arc::new(faulty.clone());
            let repository = lab.open(&through).await;
            faulty.set_plan(Plan::stop_at(k, when));
            let stopped = expiration().run(&repository, &()).await;
            assert!(stopped.is_err(), "{k} {when:?}");
            faulty.deliver_pending().await;
            let reopened = lab.open(&storage).await;
            let between = histories(&reopened).await;
            for (name, ids) in &between {
                let old = before
                    .iter()
                    .find(|(it, _)| it == name)
                    .expect("no ref comes");
                let all: BTreeSet<_> = old.1.iter().collect();
                assert!(
                    ids.iter().all(|id| all.contains(id)),
                    "{k} {when:?}: {name}"
                );
                // Nothing that stays is ever missing.
                let stays = expected.iter().find(|(it, _)| it == name);
                for id in stays.iter().flat_map(|(_, ids)| ids) {
                    assert!(ids.contains(id), "{k} {when:?}: {name} lacks {id}");
                }
            }
            expiration()
                .run(&reopened, &())
                .await
                .expect("nothing disturbs it");
            assert_eq!(
                histories(&lab.open(&storage).await).await,
                expected,
                "{k} {when:?}"
            );
        }
    }
}

#[tokio::test]
async fn interrupted_anywhere_every_history_is_complete_and_running_again_ends_it() {
    let lab = prepared().await;
    let before = histories(&lab.repository).await;
    let (mut ends, mut between) = (BTreeSet::new(), BTreeSet::new());
    for calls in 0.. {
        let storage = lab.empty();
        copy_all(&lab.storage, &storage).await;
        let repository = lab.open(&storage).await;
        let interrupt = Interrupt::new();
        let progress = After::calls(calls, &interrupt);
        let expire = expiration().interruptible(&interrupt);
        let has_ended = match expire.run(&repository, &progress).await {
            Ok(_) => true,
            Err(ExpireError::Interrupted(_)) => false,
            Err(error) => panic!("{calls}: {error:?}"),
        };
        let reopened = lab.open(&storage).await;
        between.insert(histories(&reopened).await);
        expiration()
            .run(&reopened, &())
            .await
            .expect("nothing disturbs it");
        ends.insert(histories(&lab.open(&storage).await).await);
        assert_eq!(ends.len(), 1, "{calls}");
        if has_ended {
            break;
        }
    }
    // Before anything was done, and after some of its steps.
    assert!(between.contains(&before) && between.len() > 3);
}

/// The operations of three others: 0 commit, 1 tag, 2 reset, 3 commit to a branch that is deleted, 4 let more expire.
const TROUBLES: [[u64; 3]; 5] = [[0, 0, 1], [0, 1, 2], [0, 3, 4], [0, 3, 1], [2, 3, 4]];

/// Runs one concurrent operation. Returns a commit that was acknowledged.
async fn disturb(repository: Repository, what: u64, number: u64) -> Option<SnapshotId> {
    let main = branch("main");
    match what {
        0 => {
            let session = writer(&repository).await;
            set(&session, &format!("/n{number}"), group()).await;
            match session.commit_with_rebase(number).await {
                CommitOutcome::Committed(id) => return Some(id),
                other => panic!("{other:?}"),
            }
        }
        1 => {
            let infos = history(&repository, tip(&repository, "main").await).await;
            let target = infos[infos.len() / 2].id;
            done(repository.create_tag(&format!("new{number}"), target).await);
        }
        2 => {
            let infos = history(&repository, tip(&repository, "main").await).await;
            let target = infos[infos.len() / 2].id;
            // A concurrent commit may be first.
            let _ = repository
                .reset_branch(&main, target, None)
                .await
                .expect("answered");
        }
        3 => {
            let session = writer_on(&repository, "old").await;
            set(&session, &format!("/o{number}"), group()).await;
            // The branch may be gone.
            let _ = session.commit("late").await;
        }
        _ => {
            let mut policy = Policy::default();
            policy.last = 2;
            match Expire::new(policy).run(&repository, &()).await {
                Ok(_) | Err(icefield_maintenance::ExpireError::Busy { .. }) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
    }
    None
}

trait Commits {
    async fn commit_with_rebase(&self, number: u64) -> CommitOutcome;
}

impl Commits for icefield_core::Session {
    /// Commits onto whatever the branch has become, as often as it takes.
    async fn commit_with_rebase(&self, number: u64) -> CommitOutcome {
        for _ in 0..20 {
            match self.commit(number.to_string()).await.expect("answered") {
                CommitOutcome::BranchMoved { .. } => {
                    match self.rebase(&BasicSolver::default()).await {
                        Ok(_) => {}
                        // The branch was reset, or the base has expired: the work has to be done again.
                        Err(icefield_core::RebaseError::BaseNotInHistory { .. }) => {
                            return CommitOutcome::Committed(SnapshotId::INITIAL);
                        }
                        Err(error) => panic!("{error:?}"),
                    }
                }
                outcome => return outcome,
            }
        }
        panic!("it never lands")
    }
}

#[test]
fn c35_c36_whatever_else_happens_meanwhile_every_history_is_complete() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let lab = runtime.block_on(prepared());
    let mut restarts = 0;
    for seed in 0..300 {
        let clock = Arc::new(StepClock::new(seed));
        let now = icefield_storage::ManualClock::new(at(MONDAY + 9 * DAY));
        let plain = MemoryStorage::builder().clock(Arc::new(now)).build();
        let plain: Arc<dyn Storage> = Arc::new(plain);
        runtime.block_on(copy_all(&lab.storage, &plain));
        let slow = LatencyStorage::new(Arc::clone(&plain), Duration::from_millis(1));
        let slow: Arc<dyn Storage> =
            Arc::new(slow.with_clock(Arc::clone(&clock) as Arc<dyn Clock>));
        let mut tasks = Interleaving::new(seed);
        let seen = Arc::new(Mutex::new(0));
        let acknowledged = Arc::new(Mutex::new(Vec::new()));
        {
            let (slow, seen) = (Arc::clone(&slow), Arc::clone(&seen));
            tasks.spawn("expire", async move {
                let repository = opened(&slow, seed).await;
                match expiration().run(&repository, &()).await {
                    Ok(expired) => *seen.lock().expect("unpoisoned") += expired.restarts,
                    Err(icefield_maintenance::ExpireError::Busy { .. }) => {}
                    Err(error) => panic!("seed {seed}: {error:?}"),
                }
            });
        }
        for number in 0..3 {
            let (slow, acknowledged) = (Arc::clone(&slow), Arc::clone(&acknowledged));
            tasks.spawn(format!("other {number}"), async move {
                let repository = opened(&slow, seed + 1000 * (number + 1)).await;
                let what = TROUBLES[(seed % 5) as usize][number as usize];
                if let Some(id) = disturb(repository, what, number).await {
                    acknowledged.lock().expect("unpoisoned").push(id);
                }
            });
        }
        tasks
            .run()
            .unwrap_or_else(|stuck| panic!("seed {seed}: {stuck}"));
        restarts += *seen.lock().expect("unpoisoned");
        runtime.block_on(async {
            let fresh = opened(&plain, seed).await;
            let found = histories(&fresh).await;
            for id in found.iter().flat_map(|(_, ids)| ids) {
                reader(&fresh, *id).await;
            }
            // Who neither resets a branch nor keeps less than these commits loses none.
            let troubles = TROUBLES[(seed % 5) as usize];
            if !troubles.contains(&2) && !troubles.contains(&4) {
                let main = found.iter().find(|(name, _)| name == "branch main");
                let (_, main) = main.expect("it is permanent");
                let acknowledged = acknowledged.lock().expect("unpoisoned").clone();
                assert!(!acknowledged.is_empty(), "seed {seed}");
                for id in acknowledged {
                    let times = main.iter().filter(|it| **it == id).count();
                    assert_eq!(times, 1, "seed {seed}: {id}");
                }
            }
            // And what is left expires once it is quiet.
            expiration().run(&fresh, &()).await.expect("quiet");
            histories(&opened(&plain, seed).await).await;
        });
    }
    assert!(restarts > 10, "{restarts} restarts: no two writers met");
}

async fn opened(storage: &Arc<dyn Storage>, seed: u64) -> Repository {
    let clock = Later(at(MONDAY + 9 * DAY), StepClock::new(seed));
    let builder = Repository::builder(Arc::clone(storage))
        .clock(Arc::new(clock))
        .entropy(Arc::new(icefield_storage::SeededEntropy::new(seed)));
    builder.open().await.expect("opened")
}

/// A clock of steps that begins at a time.
#[derive(Debug)]
struct Later(SystemTime, StepClock);

impl Clock for Later {
    fn now(&self) -> SystemTime {
        self.0 + self.1.monotonic()
    }

    fn monotonic(&self) -> Duration {
        self.1.monotonic()
    }

    fn sleep(&self, duration: Duration) -> futures::future::BoxFuture<'static, ()> {
        self.1.sleep(duration)
    }
}
