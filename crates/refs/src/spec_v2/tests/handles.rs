//! Several handles of one process on one repository, and which of their edits share a write.

use super::placed::Placed;
use super::*;

/// A repository with branches `b0`, `b1`, …
async fn create_with_branches(storage: &Arc<dyn Storage>, count: u16) {
    let ledger = create(storage, None).await;
    for at in 0..count {
        let edit = Edit::CreateBranch {
            name: name(&format!("b{at}")),
            target: SnapshotId::INITIAL,
        };
        assert!(is_done(&ledger.apply(edit).await.expect("answered")));
    }
}

/// Returns a commit for each handle, to a branch of its own.
async fn commits(ledgers: &[Ledger]) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (ledger, at) in ledgers.iter().zip(0_u16..) {
        let branch = format!("b{at}");
        let expected = tip(ledger, &branch).await;
        edits.push(Edit::Commit {
            name: name(&branch),
            snapshot: info(at, expected.snapshot),
            moves_nodes: false,
            expected,
        });
    }
    edits
}

/// Applies edits at once, each by its handle.
async fn apply_all(ledgers: &[Ledger], edits: Vec<Edit>) -> Vec<Result<EditOutcome, RefsError>> {
    join_all(
        ledgers
            .iter()
            .zip(edits)
            .map(|(ledger, edit)| ledger.apply(edit)),
    )
    .await
}

async fn commit_all(ledgers: &[Ledger]) -> Vec<Result<EditOutcome, RefsError>> {
    apply_all(ledgers, commits(ledgers).await).await
}

fn all_done(outcomes: &[Result<EditOutcome, RefsError>]) -> bool {
    outcomes.iter().flatten().filter(|it| is_done(it)).count() == outcomes.len()
}

fn writes_of_repo(counting: &CountingStorage) -> u64 {
    counting.snapshot().of(layout::REPO).writes()
}

#[test]
fn commits_of_several_handles_share_a_write() {
    block_on(async {
        let counting = CountingStorage::new(memory());
        let storage = slow(Arc::new(counting.clone()));
        create_with_branches(&storage, 32).await;
        let ledgers: Vec<_> = (0..32).map(|at| ledger(&storage, 100 + at)).collect();
        for ledger in &ledgers {
            tip(ledger, "main").await;
        }
        drop(counting.reset());
        assert!(all_done(&commit_all(&ledgers).await));
        // The first one is on its way alone; all others wait for it.
        assert_eq!(writes_of_repo(&counting), 2);
        assert_eq!(counting.snapshot().of(layout::OVERWRITTEN).writes(), 2);
        let all: BTreeSet<SnapshotId> = (0..32).map(id).collect();
        assert_eq!(commits_in_log(&ledger(&storage, 9)).await, all);
        // Each handle knows the state in which its edit is: it has nothing to read.
        drop(counting.reset());
        for (at, ledger) in ledgers.iter().enumerate() {
            let expected = tip(ledger, &format!("b{at}")).await;
            assert_eq!(expected.snapshot, id(at as u16));
        }
        assert_eq!(counting.snapshot().of(layout::REPO).bytes_read, 0);
    });
}

#[test]
fn handles_share_one_backup_made_ahead() {
    block_on(async {
        let storage = memory();
        create_with_branches(&storage, 4).await;
        let ledgers: Vec<_> = (0..4).map(|at| ledger(&storage, 100 + at)).collect();
        let before = backups(&storage).await;
        for (at, ledger) in ledgers.iter().enumerate() {
            let branch = format!("b{at}");
            let expected = tip(ledger, &branch).await;
            ledger.prepare(&name(&branch), &expected).await;
        }
        assert_eq!(backups(&storage).await, before + 1);
        assert!(is_done(&commit(&ledgers[3], "b3", 3).await));
        assert_eq!(backups(&storage).await, before + 1);
    });
}

/// Two stores that say to be at one place, as buckets of two tenants of one server may.
#[test]
fn handles_of_other_repositories_stay_apart_whatever_their_place_is_called() {
    block_on(async {
        let stores = [memory(), memory()].map(|it| Placed::at("one place", &slow(it)));
        for (store, branches) in stores.iter().zip([2, 3]) {
            create_with_branches(store, branches).await;
        }
        let ledgers = [0, 1].map(|at| ledger(&stores[at as usize], 100 + at));
        assert!(all_done(&commit_all(&ledgers).await));
        for (at, store) in stores.iter().enumerate() {
            let found = commits_in_log(&ledger(store, 9)).await;
            assert_eq!(found, BTreeSet::from([id(at as u16)]));
        }
    });
}

#[test]
fn handles_that_guarantee_less_do_not_write_for_others() {
    block_on(async {
        let inner = slow(memory());
        let counting = [0; 2].map(|_| CountingStorage::new(Arc::clone(&inner)));
        let stores = [false, true].map(|durable| -> Arc<dyn Storage> {
            Arc::new(Placed {
                inner: Arc::new(counting[usize::from(durable)].clone()),
                place: Some("here"),
                durable,
            })
        });
        create_with_branches(&stores[0], 2).await;
        let ledgers = [0, 1].map(|at| ledger(&stores[at as usize], 100 + at));
        for ledger in &ledgers {
            tip(ledger, "main").await;
        }
        counting.iter().for_each(|it| drop(it.reset()));
        assert!(all_done(&commit_all(&ledgers).await));
        assert!(counting.iter().all(|it| writes_of_repo(it) > 0));
    });
}

#[test]
fn an_edit_that_stored_nothing_is_written_by_its_own_handle() {
    block_on(async {
        let inner = slow(memory());
        create_with_branches(&inner, 2).await;
        let counting = [0; 3].map(|_| CountingStorage::new(Arc::clone(&inner)));
        let ledgers = [0, 1, 2].map(|at| {
            let storage: Arc<dyn Storage> = Arc::new(counting[at as usize].clone());
            ledger(&storage, 100 + at)
        });
        tip(&ledgers[2], "main").await;
        let mut edits = commits(&ledgers[..2]).await;
        edits.push(Edit::CreateTag {
            name: TagName::parse("t").expect("a name"),
            target: SnapshotId::INITIAL,
        });
        assert!(all_done(&apply_all(&ledgers, edits).await));
        // The second one could have written the tag along.
        let writes = counting.each_ref().map(writes_of_repo);
        assert_eq!(writes, [1, 1, 1]);
        assert_eq!(log(&ledgers[0]).await.len(), 1 + 2 + 3);
    });
}

/// What the first handle stores alone, and the two others in one write whose reply is lost.
async fn with_a_lost_reply(
    after: impl Fn(Plan) -> Plan,
) -> (
    Vec<Result<EditOutcome, RefsError>>,
    CountingStorage,
    Arc<dyn Storage>,
) {
    let inner = memory();
    create_with_branches(&inner, 3).await;
    let counting = CountingStorage::new(Arc::clone(&inner));
    let put = || Matcher::verb(Verb::Put).below(layout::REPO);
    let plan = after(Plan::none().on(put(), 1, Decision::FailAfter));
    let faulty: Arc<dyn Storage> = Arc::new(FaultyStorage::new(Arc::new(counting.clone()), plan));
    let storage = Placed::at("lossy", &slow(faulty));
    let ledgers: Vec<_> = (0..3).map(|at| ledger(&storage, 100 + at)).collect();
    let outcomes = commit_all(&ledgers).await;
    (outcomes, counting, inner)
}

#[test]
fn a_shared_write_whose_reply_is_lost_is_found_for_each_handle() {
    block_on(async {
        let (outcomes, counting, inner) = with_a_lost_reply(|plan| plan).await;
        assert!(all_done(&outcomes), "{outcomes:?}");
        assert_eq!(writes_of_repo(&counting), 2);
        assert_eq!(commits_in_log(&ledger(&inner, 9)).await.len(), 3);
    });
}

#[test]
fn a_shared_write_that_cannot_be_looked_for_is_unknown_to_each_handle() {
    block_on(async {
        // Each handle has read once before it commits.
        let gets = || Matcher::verb(Verb::Get).below(layout::REPO);
        let silent = |plan| {
            (3..50).fold(plan, |plan: Plan, nth| {
                plan.on(gets(), nth, Decision::FailAfter)
            })
        };
        let (outcomes, counting, inner) = with_a_lost_reply(silent).await;
        let [first, rest @ ..] = outcomes.as_slice() else {
            panic!("{outcomes:?}");
        };
        assert!(first.as_ref().is_ok_and(is_done), "{first:?}");
        for outcome in rest {
            assert!(
                matches!(outcome, Ok(EditOutcome::Unknown(_))),
                "{outcome:?}"
            );
        }
        drop(counting);
        assert_eq!(
            commits_in_log(&ledger(&inner, 9)).await.len(),
            3,
            "it had landed"
        );
    });
}

#[test]
fn a_handle_that_is_dropped_while_it_writes_for_others_leaves_them_whole() {
    block_on(async {
        // Far enough through one write, and through two.
        for steps in 0..40 {
            let storage = slow(memory());
            create_with_branches(&storage, 4).await;
            let ledgers: Vec<_> = (0..4).map(|at| ledger(&storage, 100 + at)).collect();
            let mut tasks = Vec::new();
            for (ledger, at) in ledgers.iter().cloned().zip(0_u16..) {
                tip(&ledger, "main").await;
                tasks.push(async move { commit(&ledger, &format!("b{at}"), at).await });
            }
            let mut tasks = tasks.into_iter().map(tokio::spawn);
            let dropped: Vec<_> = tasks.by_ref().take(2).collect();
            let kept: Vec<_> = tasks.collect();
            for _ in 0..steps {
                tokio::task::yield_now().await;
            }
            dropped.iter().for_each(|it| it.abort());
            for task in kept {
                let outcome = task.await.expect("not dropped");
                assert!(is_done(&outcome), "{steps}: {outcome:?}");
            }
            let fresh = ledger(&storage, 9);
            for at in 2..4 {
                let expected = [id(at), SnapshotId::INITIAL];
                assert_eq!(history(&fresh, &format!("b{at}")).await, expected);
            }
            let landed = commits_in_log(&fresh).await.len();
            assert_eq!(log(&fresh).await.len(), 1 + 4 + landed);
            for (task, at) in dropped.into_iter().zip(0..) {
                let is_there = tip(&fresh, &format!("b{at}")).await.snapshot == id(at);
                if let Ok(outcome) = task.await {
                    assert!(is_done(&outcome) && is_there, "{steps}: {outcome:?}");
                }
            }
        }
    });
}
