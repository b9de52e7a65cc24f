use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::join_all;
use futures::{StreamExt, TryStreamExt};
use icefield_format::{
    Availability, FeatureFlag, RepositoryConfig, Snapshot, SnapshotId, SpecVersion, Update,
    UpdateKind, Writer, layout,
};
use icefield_storage::wrap::fault::{Decision, Delivery, Matcher, Plan, Verb, When, crash_points};
use icefield_storage::wrap::{CountingStorage, FaultyStorage, LatencyStorage};
use icefield_storage::{Key, ListOptions, ManualClock, Prefix, SeededEntropy, Storage, StorageExt};
use icefield_storage_memory::MemoryStorage;

use crate::{
    BranchName, Creation, Edit, EditOutcome, Existing, FetchError, Ledger, LedgerParts,
    NewRepository, RefsError, Refusal, SnapshotInfo, SnapshotSource, TagName, TagState, Tip,
    ancestors,
};

mod oversized;
mod shared_writes;
mod turns;

/// Decodes the first snapshot; edits here add others of which there is no file.
#[derive(Debug)]
struct Files(Arc<dyn Storage>);

#[async_trait::async_trait]
impl SnapshotSource for Files {
    async fn snapshot(&self, id: SnapshotId) -> Result<Arc<Snapshot>, FetchError> {
        let key = Key::parse(&layout::snapshot_key(id)).expect("a key");
        let (bytes, _) = self.0.read(&key).await.expect("it is there");
        let limits = icefield_format::DecodeLimits::up_to(SpecVersion::V2);
        Ok(Arc::new(Snapshot::decode(&bytes, id, &limits)?))
    }

    fn forget(&self, _: SnapshotId) {}
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(future)
}

fn start() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600)
}

fn parts(storage: &Arc<dyn Storage>, seed: u64, clock: &ManualClock) -> LedgerParts {
    LedgerParts {
        storage: Arc::clone(storage),
        snapshots: Arc::new(Files(Arc::clone(storage))),
        clock: Arc::new(clock.clone()),
        entropy: Arc::new(SeededEntropy::new(seed)),
        writer: Writer::default(),
    }
}

fn ledger(storage: &Arc<dyn Storage>, seed: u64) -> Ledger {
    let parts = parts(storage, seed, &ManualClock::new(start()));
    parts.ledger(SpecVersion::V2).expect("a ledger")
}

fn memory() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::new())
}

/// A store that lets other tasks run while it works.
fn slow(inner: Arc<dyn Storage>) -> Arc<dyn Storage> {
    let slow = LatencyStorage::new(inner, Duration::from_millis(1));
    Arc::new(slow.with_clock(Arc::new(ManualClock::new(start()))))
}

/// A repository whose log has pages of so many entries.
async fn create(storage: &Arc<dyn Storage>, page: Option<u16>) -> Ledger {
    let ledger = ledger(storage, 1);
    let config = page.map(|entries| {
        let text = format!("num_updates_per_repo_info_file: {entries}\n");
        RepositoryConfig::decode(text.as_bytes()).expect("a configuration")
    });
    let new = NewRepository {
        created_at: crate::micros_of_time(start()),
        writer: Writer::default(),
        config,
        initial: None,
        among_others: false,
    };
    let created = ledger.create(new).await.expect("nothing fails");
    assert!(matches!(created, Creation::Created(_)), "{created:?}");
    ledger
}

fn id(number: u16) -> SnapshotId {
    let mut bytes = [7; 12];
    bytes[..2].copy_from_slice(&number.to_be_bytes());
    SnapshotId::from_bytes(bytes)
}

fn info(number: u16, parent: SnapshotId) -> Box<SnapshotInfo> {
    Box::new(SnapshotInfo {
        id: id(number),
        parent_id: Some(parent),
        written_at: start() + Duration::from_secs(number.into()),
        message: format!("commit {number}"),
        metadata: BTreeMap::new(),
        pruned_logs: Vec::new(),
    })
}

fn name(text: &str) -> BranchName {
    BranchName::parse(text).expect("a name")
}

async fn tip(ledger: &Ledger, branch: &str) -> Tip {
    let tip = ledger.resolve_branch(&name(branch)).await;
    tip.expect("it is there")
}

async fn commit(ledger: &Ledger, branch: &str, number: u16) -> EditOutcome {
    let expected = tip(ledger, branch).await;
    let edit = Edit::Commit {
        name: name(branch),
        snapshot: info(number, expected.snapshot),
        moves_nodes: false,
        expected,
    };
    ledger.apply(edit).await.expect("it is answered")
}

fn is_done(outcome: &EditOutcome) -> bool {
    matches!(outcome, EditOutcome::Done(_))
}

async fn log(ledger: &Ledger) -> Vec<Update> {
    let log = ledger.operations().await.expect("it has a log");
    log.try_collect().await.expect("it is whole")
}

async fn commits_in_log(ledger: &Ledger) -> BTreeSet<SnapshotId> {
    let log = log(ledger).await.into_iter();
    log.filter_map(|update| match update.kind {
        UpdateKind::NewCommit { snapshot, .. } => Some(snapshot),
        _ => None,
    })
    .collect()
}

async fn history(ledger: &Ledger, branch: &str) -> Vec<SnapshotId> {
    let tip = tip(ledger, branch).await;
    let walk = ancestors(ledger.graph(), tip.snapshot, crate::Pace::together(1));
    walk.map_ok(|node| node.id)
        .try_collect()
        .await
        .expect("it is whole")
}

async fn backups(storage: &Arc<dyn Storage>) -> usize {
    let prefix = Prefix::parse(layout::OVERWRITTEN).expect("a prefix");
    storage.list(ListOptions::prefix(prefix)).count().await
}

#[test]
fn edits_that_wait_for_each_other_share_a_write() {
    block_on(async {
        let counting = CountingStorage::new(memory());
        let storage = slow(Arc::new(counting.clone()));
        let ledger = create(&storage, None).await;
        for at in 0..32 {
            let edit = Edit::CreateBranch {
                name: name(&format!("b/{at}")),
                target: SnapshotId::INITIAL,
            };
            assert!(is_done(&ledger.apply(edit).await.expect("answered")));
        }
        let before = counting.reset();
        drop(before);
        let commits = (0..32).map(|at| {
            let ledger = ledger.clone();
            async move { commit(&ledger, &format!("b/{at}"), at).await }
        });
        assert!(join_all(commits).await.iter().all(is_done));
        let writes = counting.snapshot().of(layout::REPO).writes();
        assert!(writes < 8, "{writes} writes of 32 commits");
        let all: BTreeSet<SnapshotId> = (0..32).map(id).collect();
        assert_eq!(commits_in_log(&ledger).await, all);
        for at in 0..32 {
            let expected = [id(at), SnapshotId::INITIAL];
            assert_eq!(history(&ledger, &format!("b/{at}")).await, expected);
        }
    });
}

#[test]
fn of_two_commits_on_one_branch_one_wins_also_in_one_write() {
    block_on(async {
        let storage = slow(memory());
        let ledger = create(&storage, None).await;
        let expected = tip(&ledger, "main").await;
        let edit = |number| Edit::Commit {
            name: BranchName::main(),
            snapshot: info(number, expected.snapshot),
            moves_nodes: false,
            expected: expected.clone(),
        };
        let outcomes = join_all([1, 2].map(|number| ledger.apply(edit(number)))).await;
        let outcomes: Vec<EditOutcome> = outcomes.into_iter().map(|it| it.expect("told")).collect();
        assert!(is_done(&outcomes[0]), "{outcomes:?}");
        let moved = Refusal::BranchMoved { found: id(1) };
        assert!(
            matches!(&outcomes[1], EditOutcome::Refused(refusal) if *refusal == moved),
            "{outcomes:?}"
        );
        assert_eq!(commits_in_log(&ledger).await, BTreeSet::from([id(1)]));
    });
}

#[test]
fn handles_that_race_lose_nothing_and_the_log_stays_whole() {
    block_on(async {
        let storage = slow(memory());
        let first = create(&storage, Some(3)).await;
        for at in 0..6 {
            let edit = Edit::CreateBranch {
                name: name(&format!("b{at}")),
                target: SnapshotId::INITIAL,
            };
            assert!(is_done(&first.apply(edit).await.expect("answered")));
        }
        let writers = (0..6_u16).map(|at| {
            let ledger = ledger(&storage, 100 + u64::from(at));
            async move {
                for step in 0..10 {
                    let outcome = commit(&ledger, &format!("b{at}"), at * 100 + step).await;
                    assert!(is_done(&outcome), "{outcome:?}");
                    tokio::task::yield_now().await;
                }
            }
        });
        join_all(writers).await;
        let fresh = ledger(&storage, 9);
        assert_eq!(commits_in_log(&fresh).await.len(), 60);
        assert_eq!(log(&fresh).await.len(), 1 + 6 + 60);
        assert_eq!(history(&fresh, "b5").await.len(), 11);
    });
}

#[test]
fn a_write_whose_reply_is_lost_is_found_or_done_again() {
    let put = || Matcher::verb(Verb::Put).below(layout::REPO);
    for decision in [
        Decision::FailAfter,
        Decision::Twice,
        Decision::Late(Delivery::After(0)),
        Decision::Late(Delivery::After(1)),
        Decision::Late(Delivery::After(3)),
    ] {
        block_on(async {
            let inner = memory();
            create(&inner, Some(2)).await;
            let faulty = FaultyStorage::new(
                Arc::clone(&inner),
                Plan::none().on(put(), 0, decision).on(put(), 2, decision),
            );
            let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
            let ledger = ledger(&storage, 2);
            for number in 1..=3 {
                let outcome = commit(&ledger, "main", number).await;
                assert!(is_done(&outcome), "{decision:?}: {outcome:?}");
            }
            faulty.deliver_pending().await;
            let fresh = self::ledger(&inner, 3);
            let expected = [id(3), id(2), id(1), SnapshotId::INITIAL];
            assert_eq!(history(&fresh, "main").await, expected, "{decision:?}");
            assert_eq!(log(&fresh).await.len(), 4, "{decision:?}");
        });
    }
}

#[test]
fn a_backup_made_ahead_serves_one_write() {
    block_on(async {
        let counting = CountingStorage::new(memory());
        let storage: Arc<dyn Storage> = Arc::new(counting.clone());
        let ledger = create(&storage, None).await;
        let main = BranchName::main();
        let first = tip(&ledger, "main").await;
        for _ in 0..3 {
            ledger.prepare(&main, &first).await;
        }
        assert_eq!(backups(&storage).await, 1, "one is enough");
        drop(counting.reset());
        assert!(is_done(&commit(&ledger, "main", 1).await));
        assert_eq!(counting.snapshot().of(layout::OVERWRITTEN).writes(), 0);
        assert_eq!(backups(&storage).await, 1);
        // Nothing is prepared for an edit that would be refused.
        ledger.prepare(&main, &first).await;
        assert_eq!(backups(&storage).await, 1);
        // Another handle comes in between: the copy is none of what is replaced then.
        let second = tip(&ledger, "main").await;
        ledger.prepare(&main, &second).await;
        let other = self::ledger(&storage, 7);
        assert!(is_done(&commit(&other, "main", 2).await));
        assert_eq!(backups(&storage).await, 3);
        for number in 3..=4 {
            assert!(is_done(&commit(&ledger, "main", number).await));
        }
        assert_eq!(backups(&storage).await, 5);
        assert_eq!(log(&ledger).await.len(), 5, "the log is whole");
        let expected = [4, 3, 2, 1].map(id);
        assert_eq!(history(&ledger, "main").await[..4], expected);
    });
}

#[test]
fn a_write_with_a_backup_made_ahead_is_found_if_its_reply_is_lost() {
    let put = || Matcher::verb(Verb::Put).below(layout::REPO);
    for decision in [
        Decision::FailAfter,
        Decision::Twice,
        Decision::Late(Delivery::After(0)),
        Decision::Late(Delivery::After(1)),
        Decision::Late(Delivery::After(3)),
    ] {
        block_on(async {
            let inner = memory();
            create(&inner, Some(2)).await;
            let plan = Plan::none().on(put(), 0, decision).on(put(), 2, decision);
            let faulty = FaultyStorage::new(Arc::clone(&inner), plan);
            let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
            let ledger = ledger(&storage, 2);
            for number in 1..=3 {
                let expected = tip(&ledger, "main").await;
                ledger.prepare(&BranchName::main(), &expected).await;
                let outcome = commit(&ledger, "main", number).await;
                assert!(is_done(&outcome), "{decision:?}: {outcome:?}");
            }
            faulty.deliver_pending().await;
            let fresh = self::ledger(&inner, 3);
            let expected = [id(3), id(2), id(1), SnapshotId::INITIAL];
            assert_eq!(history(&fresh, "main").await, expected, "{decision:?}");
            assert_eq!(log(&fresh).await.len(), 4, "{decision:?}");
        });
    }
}

#[test]
fn a_commit_that_is_stopped_anywhere_is_whole_or_not_there() {
    let run = async |storage: &Arc<dyn Storage>| {
        let ledger = ledger(storage, 2);
        let main = BranchName::main();
        let Ok(Some(expected)) = ledger.branch(&main).await else {
            return None;
        };
        let edit = Edit::Commit {
            name: main,
            snapshot: info(5, expected.snapshot),
            moves_nodes: false,
            expected,
        };
        Some(ledger.apply(edit).await)
    };
    block_on(async {
        let inner = memory();
        create(&inner, None).await;
        let dry = FaultyStorage::new(Arc::clone(&inner), Plan::none());
        let storage: Arc<dyn Storage> = Arc::new(dry.clone());
        assert!(run(&storage).await.is_some());
        for (stop, when) in crash_points(dry.operations()) {
            let inner = memory();
            create(&inner, None).await;
            let dying = FaultyStorage::new(Arc::clone(&inner), Plan::stop_at(stop, when));
            let storage: Arc<dyn Storage> = Arc::new(dying.clone());
            let outcome = run(&storage).await;
            for _ in 0..2 {
                let fresh = ledger(&inner, 3);
                let landed = tip(&fresh, "main").await.snapshot == id(5);
                match &outcome {
                    Some(Ok(EditOutcome::Done(_))) => assert!(landed, "{stop} {when:?}"),
                    Some(Ok(EditOutcome::Refused(refusal))) => panic!("{refusal:?}"),
                    Some(Err(error)) => assert!(!landed, "{stop} {when:?}: {error}"),
                    Some(Ok(EditOutcome::Unknown(_))) | None => {}
                }
                assert_eq!(log(&fresh).await.len(), 1 + usize::from(landed));
                dying.deliver_pending().await;
            }
            let fresh = ledger(&inner, 4);
            assert!(is_done(&commit(&fresh, "main", 6).await));
        }
    });
}

#[test]
fn an_edit_that_is_dropped_leaves_the_next_one_its_turn() {
    block_on(async {
        let inner = memory();
        create(&inner, None).await;
        let faulty = FaultyStorage::new(Arc::clone(&inner), Plan::none());
        let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
        let ledger = ledger(&storage, 2);
        tip(&ledger, "main").await;
        let operations = {
            faulty.set_plan(Plan::none());
            assert!(is_done(&commit(&ledger, "main", 1).await));
            faulty.operations()
        };
        for (number, stop) in (10_u16..).zip(0..operations) {
            for when in icefield_storage::wrap::fault::When::ALL {
                let number = number * 10 + when as u16;
                faulty.set_plan(Plan::cancel_at(stop, when));
                let (cancelled, next) = (ledger.clone(), ledger.clone());
                let cancelled =
                    tokio::spawn(async move { commit(&cancelled, "main", number).await });
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                cancelled.abort();
                let _ = cancelled.await;
                faulty.set_plan(Plan::none());
                let outcome = commit(&next, "main", number + 1000).await;
                assert!(is_done(&outcome), "{outcome:?}");
                faulty.deliver_pending().await;
                let tip = tip(&self::ledger(&inner, 3), "main").await;
                assert_eq!(tip.snapshot, id(number + 1000), "{stop} {when:?}");
            }
        }
    });
}

#[test]
fn a_repository_that_is_not_online_takes_no_edit_but_of_its_status() {
    block_on(async {
        let storage = memory();
        let ledger = create(&storage, None).await;
        let set = |availability| Edit::SetStatus {
            availability,
            reason: Some("moving house".to_owned()),
            set_at: Some(start()),
        };
        assert!(is_done(
            &ledger
                .apply(set(Availability::ReadOnly))
                .await
                .expect("told")
        ));
        let status = ledger.status().await.expect("it has one");
        assert_eq!(status.availability, Availability::ReadOnly);
        assert_eq!(status.set_at, crate::micros_of_time(start()));
        let session = ledger.branch_to_write(&BranchName::main()).await;
        let refused = session.expect_err("refused");
        assert!(matches!(refused, RefsError::NotOnline { .. }), "{refused}");
        let expected = tip(&ledger, "main").await;
        let edits = [
            Edit::CreateBranch {
                name: name("b"),
                target: SnapshotId::INITIAL,
            },
            Edit::Commit {
                name: BranchName::main(),
                snapshot: info(1, expected.snapshot),
                moves_nodes: false,
                expected,
            },
            Edit::Collect {
                drop: BTreeSet::new(),
            },
        ];
        for edit in edits {
            let refused = ledger.apply(edit).await.expect_err("refused");
            assert!(matches!(refused, RefsError::NotOnline { .. }), "{refused}");
            assert!(refused.to_string().contains("moving house"), "{refused}");
        }
        assert!(is_done(
            &ledger.apply(set(Availability::Online)).await.expect("told")
        ));
        assert!(is_done(&commit(&ledger, "main", 1).await));
    });
}

#[test]
fn updates_of_metadata_by_two_handles_do_not_undo_each_other() {
    block_on(async {
        let storage = memory();
        let first = create(&storage, None).await;
        let second = self::ledger(&storage, 2);
        let entries = |key: &str, value: u64| {
            let entries = BTreeMap::from([(key.to_owned(), value.into())]);
            Edit::UpdateMetadata { entries }
        };
        second.metadata().await.expect("it is empty");
        for (ledger, key, value) in [(&first, "a", 1), (&second, "b", 2), (&first, "a", 3)] {
            let outcome = ledger.apply(entries(key, value)).await.expect("told");
            assert!(is_done(&outcome), "{outcome:?}");
        }
        let metadata = second.metadata().await.expect("it is there");
        let wanted = [("a".to_owned(), 3.into()), ("b".to_owned(), 2.into())];
        assert_eq!(metadata, BTreeMap::from(wanted));
    });
}

#[test]
fn features_that_are_switched_off_are_refused() {
    block_on(async {
        let storage = memory();
        let ledger = create(&storage, None).await;
        let tag = TagName::parse("v1").expect("a name");
        let create = || Edit::CreateTag {
            name: tag.clone(),
            target: SnapshotId::INITIAL,
        };
        let set = |flag, value| Edit::SetFlag { flag, value };
        for (flag, edit) in [
            (FeatureFlag::CREATE_TAG, create()),
            (
                FeatureFlag::DELETE_TAG,
                Edit::DeleteTag { name: tag.clone() },
            ),
        ] {
            assert!(is_done(
                &ledger.apply(set(flag, Some(false))).await.expect("told")
            ));
            let refused = ledger.apply(edit).await.expect_err("switched off");
            assert!(
                matches!(refused, RefsError::FeatureDisabled { .. }),
                "{refused}"
            );
            assert!(is_done(&ledger.apply(set(flag, None)).await.expect("told")));
        }
        assert!(is_done(&ledger.apply(create()).await.expect("told")));
        let delete = Edit::DeleteTag { name: tag.clone() };
        assert!(is_done(&ledger.apply(delete).await.expect("told")));
        assert_eq!(ledger.tag(&tag).await.expect("told"), TagState::Deleted);
        let outcome = ledger.apply(create()).await.expect("told");
        assert!(matches!(outcome, EditOutcome::Refused(Refusal::NameTaken)));
    });
}

#[test]
fn an_amended_snapshot_takes_the_place_of_the_tip() {
    block_on(async {
        let storage = memory();
        let ledger = create(&storage, None).await;
        let amend = |number, expected: Tip| Edit::Amend {
            name: BranchName::main(),
            snapshot: info(number, expected.snapshot),
            moves_nodes: false,
            expected,
        };
        let first = tip(&ledger, "main").await;
        let refused = ledger.apply(amend(1, first.clone())).await;
        assert!(
            matches!(refused, Err(RefsError::NoAmendOfFirst(_))),
            "{refused:?}"
        );
        assert!(is_done(&commit(&ledger, "main", 1).await));
        let one = tip(&ledger, "main").await;
        assert!(is_done(
            &ledger.apply(amend(2, one.clone())).await.expect("told")
        ));
        assert_eq!(history(&ledger, "main").await, [id(2), SnapshotId::INITIAL]);
        let late = ledger.apply(amend(3, one)).await.expect("told");
        assert!(matches!(
            late,
            EditOutcome::Refused(Refusal::BranchMoved { .. })
        ));
        assert!(ledger.snapshot(id(1)).await.is_ok(), "it stays listed");
    });
}

#[test]
fn what_expires_leaves_its_logs_and_what_is_collected_too() {
    block_on(async {
        let storage = memory();
        let ledger = create(&storage, None).await;
        for number in 1..=5 {
            assert!(is_done(&commit(&ledger, "main", number).await));
        }
        let release = |numbers: &[u16]| numbers.iter().map(|it| id(*it)).collect();
        let expire = Edit::Expire {
            release: release(&[2, 3]),
            branches: Vec::new(),
            tags: Vec::new(),
        };
        assert!(is_done(&ledger.apply(expire).await.expect("told")));
        let four = ledger.snapshot(id(4)).await.expect("kept");
        assert_eq!(
            (four.parent_id, four.pruned_logs),
            (Some(id(1)), vec![id(2), id(3)])
        );
        let collect = Edit::Collect {
            // The tip stays whatever is asked.
            drop: release(&[1, 4, 5]),
        };
        assert!(is_done(&ledger.apply(collect).await.expect("told")));
        let five = ledger.snapshot(id(5)).await.expect("kept");
        let pruned = vec![id(1), id(2), id(3), id(4)];
        assert_eq!(
            (five.parent_id, five.pruned_logs),
            (Some(SnapshotId::INITIAL), pruned)
        );
        let gone = ledger.snapshot(id(4)).await.expect_err("taken out");
        assert!(matches!(gone, FetchError::NotListed { .. }));
    });
}

#[test]
fn backups_that_the_log_does_not_need_go_and_the_log_stays_whole() {
    block_on(async {
        let storage = memory();
        let ledger = create(&storage, Some(4)).await;
        let collect = || Edit::Collect {
            drop: BTreeSet::new(),
        };
        let mut number = 0;
        for round in 1..=4_usize {
            for _ in 0..15 {
                number += 1;
                assert!(is_done(&commit(&ledger, "main", number).await));
            }
            assert!(is_done(&ledger.apply(collect()).await.expect("told")));
            let before = backups(&storage).await;
            // The store dates by whole moments: what is as old as `repo` stays.
            let unneeded = loop {
                let unneeded = ledger.unneeded_backups().await.expect("the log is whole");
                if unneeded.len() >= 10 {
                    break unneeded;
                }
                std::thread::sleep(Duration::from_millis(2));
                assert!(is_done(&ledger.apply(collect()).await.expect("told")));
            };
            for object in &unneeded {
                let deleted = storage.delete_one(object.key.clone().into()).await;
                assert!(deleted.is_ok());
            }
            assert!(backups(&storage).await < before, "round {round}");
            let commits = commits_in_log(&ledger).await.len();
            assert_eq!(commits, 15 * round, "the log is whole");
        }
    });
}

#[test]
fn every_entry_but_the_newest_names_the_state_right_after_it() {
    block_on(async {
        let storage = memory();
        let ledger = create(&storage, None).await;
        for number in 1..=3 {
            assert!(is_done(&commit(&ledger, "main", number).await));
        }
        // It leaves the newest entry alone in `repo`, and the others in the state before.
        let drop = BTreeSet::new();
        let collected = ledger.apply(Edit::Collect { drop }).await;
        assert!(is_done(&collected.expect("told")));
        let log = log(&ledger).await;
        let [newest, others @ ..] = &*log else {
            panic!("the log is empty");
        };
        assert_eq!((newest.backup.as_ref(), others.len()), (None, 4));
        for update in others {
            let name = update.backup.as_deref().expect("a name");
            let key = Key::parse(&layout::overwritten_key(name)).expect("a key");
            let (bytes, _) = storage.read(&key).await.expect("it is there");
            let state = super::object::decode(&bytes).expect("a state");
            let shown = state.log().updates().next().expect("an entry");
            assert_eq!(shown.kind, update.kind);
        }
    });
}

#[test]
fn a_log_whose_page_is_missing_says_where_it_ends() {
    block_on(async {
        let storage = memory();
        let ledger = create(&storage, Some(2)).await;
        for number in 1..=6 {
            assert!(is_done(&commit(&ledger, "main", number).await));
        }
        let prefix = Prefix::parse(layout::OVERWRITTEN).expect("a prefix");
        let all: Vec<_> = storage.list(ListOptions::prefix(prefix)).collect().await;
        for object in all {
            let deleted = storage.delete_one(object.expect("listed").key.into()).await;
            assert!(deleted.is_ok());
        }
        let mut log = ledger.operations().await.expect("it has a log");
        assert!(log.next().await.is_some_and(|it| it.is_ok()));
        assert!(log.next().await.is_some_and(|it| it.is_ok()));
        let end = log.next().await;
        assert!(
            matches!(end, Some(Err(RefsError::LogPageMissing { .. }))),
            "{end:?}"
        );
        assert!(log.next().await.is_none());
        let kept = ledger.unneeded_backups().await;
        assert!(matches!(kept, Err(RefsError::LogPageMissing { .. })));
        assert!(is_done(&commit(&ledger, "main", 7).await));
    });
}

/// Returns the name of the page that a stored state continues in, and its bytes.
async fn continues_in(storage: &Arc<dyn Storage>, key: &str) -> (String, bytes::Bytes) {
    let key = Key::parse(key).expect("a key");
    let (bytes, _) = storage.read(&key).await.expect("it is there");
    let state = super::object::decode(&bytes).expect("a state");
    let page = state.log().continues_in().expect("it goes on");
    (page.to_owned(), bytes)
}

#[test]
fn a_log_that_goes_round_in_a_circle_says_where_it_ends() {
    for pages in 1..=3 {
        block_on(async {
            let storage = memory();
            let ledger = create(&storage, Some(2)).await;
            for number in 1..=12 {
                assert!(is_done(&commit(&ledger, "main", number).await));
            }
            // The last of the pages goes on in the first one.
            let (first, repo) = continues_in(&storage, layout::REPO).await;
            let mut last = first.clone();
            for _ in 1..pages {
                (last, _) = continues_in(&storage, &layout::overwritten_key(&last)).await;
            }
            let key = Key::parse(&layout::overwritten_key(&last)).expect("a key");
            let options = icefield_storage::PutMode::Overwrite.into();
            let put = storage.put(&key, repo.into(), options).await;
            assert!(put.is_ok());

            let log = ledger.operations().await.expect("it has a log");
            let told: Vec<_> = log.take(100).collect().await;
            let (end, told) = told.split_last().expect("entries");
            assert!(
                matches!(end, Err(RefsError::LogRepeats { page }) if *page == first),
                "{pages}: {end:?}"
            );
            assert!(told.iter().all(Result::is_ok));
            assert_eq!(told.len(), 2 + 2 * pages);
            let kept = ledger.unneeded_backups().await;
            assert!(matches!(kept, Err(RefsError::LogRepeats { .. })));
            assert!(is_done(&commit(&ledger, "main", 13).await));
        });
    }
}

#[test]
fn a_write_that_is_looked_for_in_a_circle_is_an_error() {
    block_on(async {
        let inner = memory();
        let first = create(&inner, Some(2)).await;
        for number in 1..=6 {
            assert!(is_done(&commit(&first, "main", number).await));
        }
        let crate::ledger::Layout::V2(object) = ledger(&inner, 2).layout else {
            unreachable!("the tests are of version 2");
        };
        let state = object.read().await.expect("readable");
        // A backup that no entry names, of a time before all of them.
        let attempt = super::queue::Attempt {
            backup: "nowhere".to_owned(),
            newest_before: 0,
            replaced: state.version.clone(),
        };
        let found = object.has_landed(&state, std::slice::from_ref(&attempt));
        assert!(matches!(found.await, Ok(false)));
        let (page, repo) = continues_in(&inner, layout::REPO).await;
        let key = Key::parse(&layout::overwritten_key(&page)).expect("a key");
        let options = icefield_storage::PutMode::Overwrite.into();
        assert!(inner.put(&key, repo.into(), options).await.is_ok());
        let found = object.has_landed(&state, &[attempt]).await;
        assert!(
            matches!(&found, Err(RefsError::LogRepeats { page: found }) if *found == page),
            "{found:?}"
        );
    });
}

#[test]
fn a_clock_far_behind_the_log_edits_nothing() {
    block_on(async {
        let storage = memory();
        create(&storage, None).await;
        let clock = ManualClock::new(start() - Duration::from_secs(3600));
        let behind = parts(&storage, 5, &clock).ledger(SpecVersion::V2);
        let behind = behind.expect("a ledger");
        let edit = || Edit::CreateBranch {
            name: name("b"),
            target: SnapshotId::INITIAL,
        };
        let refused = behind.apply(edit()).await;
        assert!(
            matches!(refused, Err(RefsError::LogAhead { .. })),
            "{refused:?}"
        );
        clock.set(start() - Duration::from_secs(500));
        assert!(is_done(&behind.apply(edit()).await.expect("told")));
        let times: Vec<u64> = (log(&behind).await.iter())
            .map(|it| it.updated_at)
            .collect();
        assert_eq!(times[0], times[1] + 1);
    });
}

#[test]
fn a_root_is_opened_as_what_it_holds() {
    block_on(async {
        let storage = memory();
        let clock = ManualClock::new(start());
        let main = BranchName::main();
        let open = || Ledger::open(parts(&storage, 1, &clock), &main);
        assert!(matches!(open().await, Ok(Existing::Nothing)));
        create(&storage, None).await;
        let opened = open().await.expect("told");
        let Existing::Repository { ledger, branch, .. } = opened else {
            panic!("{opened:?}");
        };
        assert_eq!(ledger.spec_version(), SpecVersion::V2);
        let tip = branch.expect("read").expect("main");
        assert_eq!(tip.snapshot, SnapshotId::INITIAL);
        for damage in [&b""[..], b"not a repo", &[0; 100]] {
            let key = Key::parse(layout::REPO).expect("a key");
            let put = storage.put(&key, damage.to_vec().into(), Default::default());
            assert!(put.await.is_ok());
            let error = open().await.expect_err("damaged");
            assert!(matches!(error, RefsError::InvalidRepo { .. }), "{error}");
        }
    });
}
