//! Edits whose write another edit's caller makes.

use super::*;

/// Lets the other tasks go on until each of them waits.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_commit_that_another_caller_wrote_is_done_whatever_becomes_of_later_edits() {
    block_on(async {
        let inner = memory();
        let first = create(&inner, None).await;
        for branch in ["held", "writer", "written", "passing", "later"] {
            let edit = Edit::CreateBranch {
                name: name(branch),
                target: SnapshotId::INITIAL,
            };
            assert!(is_done(&first.apply(edit).await.expect("answered")));
        }
        let put = || Matcher::verb(Verb::Put).below(layout::REPO);
        let plan = Plan::none()
            .on(put(), 0, Decision::Cancel(When::Before))
            .on(put(), 1, Decision::Cancel(When::After))
            .on(put(), 2, Decision::FailBefore);
        let faulty = FaultyStorage::new(Arc::clone(&inner), plan);
        let storage: Arc<dyn Storage> = Arc::new(faulty);
        let ledger = ledger(&storage, 2);
        let root = tip(&ledger, "later").await;
        let begin = |branch: &str, number| {
            let edit = Edit::Commit {
                name: name(branch),
                snapshot: info(number, root.snapshot),
                moves_nodes: false,
                expected: root.clone(),
            };
            let ledger = ledger.clone();
            tokio::spawn(async move { ledger.apply(edit).await })
        };
        // The first caller holds the turn, so that the next two go into one write, of which the reply never comes.
        let held = begin("held", 1);
        settle().await;
        let writer = begin("writer", 2);
        settle().await;
        let written = begin("written", 3);
        settle().await;
        held.abort();
        settle().await;
        // A caller that comes and goes takes the place in the line that the writer left, so that the later one is behind.
        let passing = begin("passing", 4);
        settle().await;
        let later = begin("later", 5);
        settle().await;
        passing.abort();
        settle().await;
        writer.abort();
        let written = written.await.expect("no panic").expect("answered");
        assert!(is_done(&written), "{written:?}");
        let later = later.await.expect("no panic");
        assert!(later.is_err(), "{later:?}");

        let fresh = self::ledger(&inner, 3);
        assert_eq!(
            history(&fresh, "written").await,
            [id(3), SnapshotId::INITIAL]
        );
        assert_eq!(history(&fresh, "later").await, [SnapshotId::INITIAL]);
    });
}
