//! Edits whose write another edit's caller makes.

use icefield_format::{FormatError, RepoEditError};

use super::*;
use crate::ledger::Layout;

/// Lets the other tasks go on until each of them waits.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

type Answered = tokio::task::JoinHandle<Result<EditOutcome, RefsError>>;

/// Asks for an edit, and lets it go as far as it comes.
async fn begin(ledger: &Ledger, edit: Edit) -> Answered {
    let ledger = ledger.clone();
    let begun = tokio::spawn(async move { ledger.apply(edit).await });
    settle().await;
    begun
}

async fn end(begun: Answered) -> Result<EditOutcome, RefsError> {
    begun.await.expect("no panic")
}

fn new_branch(branch: &str) -> Edit {
    Edit::CreateBranch {
        name: name(branch),
        target: SnapshotId::INITIAL,
    }
}

async fn new_commit(ledger: &Ledger, branch: &str, number: u16) -> Edit {
    let expected = tip(ledger, branch).await;
    Edit::Commit {
        name: name(branch),
        snapshot: info(number, expected.snapshot),
        moves_nodes: false,
        expected,
    }
}

fn put() -> Matcher {
    Matcher::verb(Verb::Put).below(layout::REPO)
}

/// A handle through which requests go as planned, and the store behind it.
async fn planned(plan: Plan) -> (Ledger, Arc<dyn Storage>) {
    let inner = memory();
    create(&inner, None).await;
    let storage: Arc<dyn Storage> = Arc::new(FaultyStorage::new(Arc::clone(&inner), plan));
    (ledger(&storage, 2), inner)
}

/// The ledger, which writes no larger object than this.
fn limited(ledger: Ledger, most_bytes: u64) -> Ledger {
    let Layout::V2(object) = ledger.layout else {
        unreachable!("the tests are of version 2");
    };
    let layout = Layout::V2(object.with_most_bytes(most_bytes));
    Ledger { layout, ..ledger }
}

#[test]
fn an_edit_that_makes_the_object_too_large_alone_is_told_so() {
    block_on(async {
        for at in 0..4 {
            let plan = Plan::none().on(put(), 0, Decision::Cancel(When::Before));
            let (ledger, inner) = planned(plan).await;
            let ledger = limited(ledger, 16 << 10);
            let mut random = vec![0; 32 << 10];
            icefield_storage::Entropy::fill(&SeededEntropy::new(5), &mut random);
            let text: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
            let large = Edit::UpdateMetadata {
                entries: BTreeMap::from([("large".to_owned(), text.into())]),
            };
            let mut edits: Vec<_> = ["a", "b", "c"].map(new_branch).into();
            edits.insert(at, large);
            // They wait for this one, and go into one batch.
            let held = begin(&ledger, new_branch("held")).await;
            let mut begun = Vec::new();
            for edit in edits {
                begun.push(begin(&ledger, edit).await);
            }
            held.abort();
            for (number, begun) in begun.into_iter().enumerate() {
                match (number == at, end(begun).await) {
                    (false, Ok(outcome)) => assert!(is_done(&outcome), "{outcome:?}"),
                    (
                        true,
                        Err(RefsError::RepoEdit {
                            source: RepoEditError::Format(FormatError::TooLarge { limit, .. }),
                        }),
                    ) => assert_eq!(limit, 16 << 10),
                    (_, other) => panic!("edit {number}, the large one is {at}: {other:?}"),
                }
            }
            let fresh = self::ledger(&inner, 3);
            for branch in ["a", "b", "c"] {
                tip(&fresh, branch).await;
            }
        }
    });
}

#[test]
fn an_edit_that_cannot_be_looked_for_is_no_failure_of_another_one() {
    block_on(async {
        let plan = Plan::none()
            .on(put(), 0, Decision::Cancel(When::Before))
            .on(put(), 1, Decision::Cancel(When::After))
            // One before each of the two puts; the next one is to make durable what was found.
            .on(Matcher::verb(Verb::Sync), 2, Decision::FailBefore);
        let (ledger, _) = planned(plan).await;
        let held = begin(&ledger, new_branch("held")).await;
        let writer = begin(&ledger, new_branch("writer")).await;
        let written = begin(&ledger, new_branch("written")).await;
        held.abort();
        settle().await;
        // Its place in the line is the one that the writer has left, so that it comes before the written one.
        let leader = begin(&ledger, new_branch("leader")).await;
        writer.abort();
        let leader = end(leader).await.expect("nothing of it failed");
        assert!(is_done(&leader), "{leader:?}");
        let written = end(written).await.expect("it has landed");
        assert!(is_done(&written), "{written:?}");
    });
}

#[test]
fn a_leader_that_was_refused_is_told_so_whatever_becomes_of_the_write() {
    block_on(async {
        let plan = Plan::none()
            .on(put(), 0, Decision::Cancel(When::Before))
            // One before each of the two puts; the next one is to make the write durable.
            .on(Matcher::verb(Verb::Sync), 2, Decision::FailBefore);
        let (ledger, _) = planned(plan).await;
        let held = begin(&ledger, new_branch("held")).await;
        let passing = begin(&ledger, new_branch("passing")).await;
        let maker = begin(&ledger, new_branch("a")).await;
        passing.abort();
        settle().await;
        // It takes the place in the line that the passing one has left, and is behind the maker in the batch.
        let leader = begin(&ledger, new_branch("a")).await;
        held.abort();
        let leader = end(leader).await;
        assert!(
            matches!(&leader, Ok(EditOutcome::Refused(Refusal::AlreadyExists))),
            "{leader:?}"
        );
        let maker = end(maker).await.expect("it has landed");
        assert!(is_done(&maker), "{maker:?}");
    });
}

/// Each of the writers asks for its next commit once the last one is answered, and nothing in the store makes it wait.
#[test]
fn writers_that_never_wait_for_the_store_share_writes() {
    const WRITERS: u16 = 32;
    const COMMITS: u16 = 25;
    block_on(async {
        let counting = CountingStorage::new(memory());
        let storage: Arc<dyn Storage> = Arc::new(counting.clone());
        let ledger = create(&storage, None).await;
        for writer in 0..WRITERS {
            let done = ledger.apply(new_branch(&format!("w{writer}"))).await;
            assert!(is_done(&done.expect("answered")));
        }
        let before = counting.snapshot().of(layout::REPO).put;
        let writers = (0..WRITERS).map(|writer| {
            let ledger = ledger.clone();
            tokio::spawn(async move {
                let branch = format!("w{writer}");
                for number in 1..=COMMITS {
                    let done = commit(&ledger, &branch, writer * COMMITS + number).await;
                    assert!(is_done(&done), "{done:?}");
                }
            })
        });
        for writer in join_all(writers).await {
            writer.expect("no panic");
        }
        let writes = counting.snapshot().of(layout::REPO).put - before;
        println!(
            "{writes} writes of `repo` for {} commits",
            WRITERS * COMMITS
        );
        assert!(writes <= 2 * u64::from(COMMITS), "{writes} writes");
        for writer in 0..WRITERS {
            let history = history(&ledger, &format!("w{writer}")).await;
            assert_eq!(history.len(), usize::from(COMMITS) + 1);
        }
    });
}

#[test]
fn a_commit_that_another_caller_wrote_is_done_whatever_becomes_of_later_edits() {
    block_on(async {
        let plan = Plan::none()
            .on(put(), 0, Decision::Cancel(When::Before))
            .on(put(), 1, Decision::Cancel(When::After))
            .on(put(), 2, Decision::FailBefore);
        let (ledger, inner) = planned(plan).await;
        let first = self::ledger(&inner, 4);
        for branch in ["held", "writer", "written", "passing", "later"] {
            let done = first.apply(new_branch(branch)).await;
            assert!(is_done(&done.expect("answered")));
        }
        // The first caller holds the turn, so that the next two go into one write, of which the reply never comes.
        let held = begin(&ledger, new_commit(&ledger, "held", 1).await).await;
        let writer = begin(&ledger, new_commit(&ledger, "writer", 2).await).await;
        let written = begin(&ledger, new_commit(&ledger, "written", 3).await).await;
        held.abort();
        settle().await;
        // A caller that comes and goes takes the place in the line that the writer left, so that the later one is behind.
        let passing = begin(&ledger, new_commit(&ledger, "passing", 4).await).await;
        let later = begin(&ledger, new_commit(&ledger, "later", 5).await).await;
        passing.abort();
        settle().await;
        writer.abort();
        let written = end(written).await.expect("answered");
        assert!(is_done(&written), "{written:?}");
        let later = end(later).await;
        assert!(later.is_err(), "{later:?}");

        let fresh = self::ledger(&inner, 3);
        assert_eq!(
            history(&fresh, "written").await,
            [id(3), SnapshotId::INITIAL]
        );
        assert_eq!(history(&fresh, "later").await, [SnapshotId::INITIAL]);
    });
}
