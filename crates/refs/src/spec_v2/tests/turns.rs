//! Handles of one process that meet at one place.

use icefield_storage::SystemClock;

use super::*;

const HANDLES: u16 = 8;
const COMMITS: u16 = 20;

/// A handle whose waiting takes real time.
fn waiting(storage: &Arc<dyn Storage>, seed: u64) -> Ledger {
    let mut parts = parts(storage, seed, &ManualClock::new(start()));
    parts.clock = Arc::new(SystemClock);
    parts.ledger(SpecVersion::V2).expect("a ledger")
}

fn timed<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().build();
    runtime.expect("a runtime").block_on(future)
}

async fn new_branch(ledger: &Ledger, branch: &str) {
    let edit = Edit::CreateBranch {
        name: name(branch),
        target: SnapshotId::INITIAL,
    };
    assert!(is_done(&ledger.apply(edit).await.expect("answered")));
}

#[test]
fn handles_that_lose_races_write_in_turn() {
    timed(async {
        let counting = CountingStorage::new(slow(memory()));
        let storage: Arc<dyn Storage> = Arc::new(counting.clone());
        let first = create(&storage, None).await;
        for at in 0..HANDLES {
            new_branch(&first, &format!("b{at}")).await;
        }
        let before = counting.snapshot().of("repo").put;
        let writers = (0..HANDLES).map(|at| {
            let ledger = waiting(&storage, 100 + u64::from(at));
            async move {
                for step in 0..COMMITS {
                    let outcome = commit(&ledger, &format!("b{at}"), at * 100 + step).await;
                    assert!(is_done(&outcome), "{outcome:?}");
                    tokio::task::yield_now().await;
                }
            }
        });
        join_all(writers).await;
        let commits = u64::from(HANDLES * COMMITS);
        let writes = counting.snapshot().of("repo").put - before;
        assert_eq!(commits_in_log(&first).await.len() as u64, commits);
        assert!(
            writes <= commits + commits / 5,
            "{writes} writes for {commits} commits"
        );
    });
}

#[test]
fn a_handle_that_hangs_in_its_turn_keeps_no_other_from_writing() {
    timed(async {
        let inner = memory();
        let first = create(&inner, None).await;
        new_branch(&first, "one").await;
        let (one, other) = (waiting(&inner, 2), waiting(&inner, 3));
        let (of_one, of_other) = (turns(&one), turns(&other));
        of_one.note_lost_race();
        of_other.note_lost_race();
        let held = of_one.next(&*inner, &SystemClock).await;
        assert!(held.is_some(), "it lost a race");
        assert!(is_done(&commit(&other, "one", 1).await));
        drop(held);
        let free = of_other.next(&*inner, &SystemClock).await;
        assert!(free.is_some(), "both are of one place");
    });
}

fn turns(ledger: &Ledger) -> &crate::spec_v2::turns::Turns {
    let crate::ledger::Layout::V2(object) = &ledger.layout else {
        panic!("of version 2");
    };
    &object.shared().turns
}
