//! Upgrades from spec version 1 to 2 with version-1 programs beside them: what those were told they had written is there
//! afterwards, or opening says what is missing and what to do.

mod stopped_twice;

use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use futures::future::{Either, select};
use icefield_core::{
    BranchName, CommitError, CommitOutcome, Detector, EditOutcome, RefsError, Repository,
    RepositoryConfig, RepositoryError, Session, SnapshotId, TagName, UpgradeOptions, UpgradeReport,
};
use icefield_format::{Availability, SpecVersion, UpdateKind};
use icefield_storage::Storage;
use icefield_storage::wrap::fault::{Decision, Matcher, Plan, Verb};
use icefield_storage::wrap::{FaultyStorage, ReadOnlyStorage};
use icefield_testkit::stores::{delete, dump, keys_below, put, read};

use crate::edits::*;
use crate::support::{Gate, memory};

fn branch(name: &str) -> BranchName {
    name.parse().expect("valid")
}

fn tag(name: &str) -> TagName {
    name.parse().expect("valid")
}

fn config(threshold: u16) -> RepositoryConfig {
    RepositoryConfig {
        inline_chunk_threshold_bytes: Some(threshold),
        ..RepositoryConfig::default()
    }
}

fn done(outcome: Result<EditOutcome, RepositoryError>) {
    assert!(matches!(outcome, Ok(EditOutcome::Done(_))), "{outcome:?}");
}

async fn tip(repository: &Repository, name: &str) -> SnapshotId {
    let tip = repository.resolve(&branch(name).into()).await;
    tip.expect("the branch exists")
}

/// A repository of version 1: `main` with two commits, `dev` and tag `kept` at the first of them, a deleted tag `gone`.
async fn old() -> Arc<dyn Storage> {
    let storage = memory();
    let new = Repository::builder(Arc::clone(&storage)).config(config(64));
    let repository = new.create().await.expect("new");
    let session = writer(&repository).await;
    apply(&session, &[Meta("/x", array(8, "")), Chunk("/x", 0, 1)]).await;
    commit(&session).await;
    let first = tip(&repository, "main").await;
    done(repository.create_branch("dev", first).await);
    done(repository.create_tag("kept", first).await);
    done(repository.create_tag("gone", first).await);
    done(repository.delete_tag(&tag("gone")).await);
    let session = writer(&repository).await;
    apply(&session, &[Chunk("/x", 1, 2)]).await;
    commit(&session).await;
    storage
}

async fn try_upgrade(storage: &Arc<dyn Storage>) -> Result<UpgradeReport, RepositoryError> {
    let builder = Repository::builder(Arc::clone(storage));
    builder.upgrade(&UpgradeOptions::default()).await
}

async fn upgrade(storage: &Arc<dyn Storage>) -> UpgradeReport {
    try_upgrade(storage).await.expect("nothing disturbs it")
}

async fn history(repository: &Repository, name: &str) -> Vec<SnapshotId> {
    let history = repository.ancestry(tip(repository, name).await);
    let history = history.map_ok(|info| info.id).try_collect();
    history.await.expect("sound")
}

async fn kinds(repository: &Repository) -> Vec<UpdateKind> {
    let log = repository.operations().await.expect("of version 2");
    let log = log.map_ok(|update| update.kind).try_collect();
    log.await.expect("sound")
}

#[tokio::test]
async fn an_upgrade_keeps_refs_histories_and_configuration_and_takes_writes() {
    let storage = old().await;
    let before = open(&storage).await;
    let (main, dev) = (
        history(&before, "main").await,
        history(&before, "dev").await,
    );
    let chunks = keys_below(&storage, "chunks/").await;

    let planned = Repository::builder(Arc::clone(&storage));
    let unchanged = dump(&storage).await;
    let planned = planned.plan_upgrade(&UpgradeOptions::default()).await;
    let planned = planned.expect("it can be upgraded");
    assert_eq!(dump(&storage).await, unchanged, "a plan writes nothing");

    let report = upgrade(&storage).await;
    assert_eq!(report, planned);
    assert_eq!((report.snapshots, report.branches), (3, 2));
    assert_eq!((report.tags, report.deleted_tags, report.files), (1, 1, 6));
    assert!(report.has_config && !report.resumed && report.carried_over.is_empty());
    assert_eq!(keys_below(&storage, "refs/").await, [""; 0]);
    assert_eq!(keys_below(&storage, "config.yaml").await, [""; 0]);
    assert_eq!(keys_below(&storage, "icefield/").await, [""; 0]);
    assert_eq!(keys_below(&storage, "chunks/").await, chunks);

    let after = open(&storage).await;
    assert_eq!(after.spec_version(), SpecVersion::V2);
    assert_eq!(history(&after, "main").await, main);
    assert_eq!(history(&after, "dev").await, dev);
    assert_eq!(after.config(), config(64));
    let status = after.status().await.expect("of version 2");
    assert_eq!(
        (status.availability, status.reason),
        (Availability::Online, None)
    );
    let taken = after.create_tag("gone", main[0]).await;
    assert!(matches!(taken, Ok(EditOutcome::Refused(_))), "{taken:?}");
    let migrated = UpdateKind::RepoMigrated {
        from_version: 1,
        to_version: 2,
    };
    let kinds = kinds(&after).await;
    assert_eq!(kinds[0], migrated);
    assert_eq!(kinds.last(), Some(&UpdateKind::RepoInitialized));
    let commits = kinds.iter();
    let commits = commits.filter(|kind| matches!(kind, UpdateKind::NewCommit { .. }));
    assert_eq!(commits.count(), 2);

    let session = writer(&after).await;
    apply(&session, &[Chunk("/x", 2, 3)]).await;
    let read = committed(&after, &session).await;
    for (index, value) in [(0, 1), (1, 2), (2, 3)] {
        assert_eq!(byte(&read, "/x", index).await, Some(value));
    }
}

#[tokio::test]
async fn an_upgraded_repository_is_refused_by_name() {
    let storage = old().await;
    upgrade(&storage).await;
    let unchanged = dump(&storage).await;
    let again = try_upgrade(&storage).await;
    assert!(
        matches!(
            again,
            Err(RepositoryError::Refs(RefsError::AlreadyUpgraded { .. }))
        ),
        "{again:?}"
    );
    assert_eq!(dump(&storage).await, unchanged);
    let nothing = try_upgrade(&memory()).await;
    assert!(
        matches!(nothing, Err(RepositoryError::NotFound { .. })),
        "{nothing:?}"
    );
}

#[tokio::test]
async fn what_is_not_understood_and_what_may_not_be_written_refuse_an_upgrade_that_writes_nothing()
{
    let storage = old().await;
    put(&storage, "refs/branch.dev/other.json", "what is this").await;
    let unchanged = dump(&storage).await;
    let refused = try_upgrade(&storage).await;
    assert!(
        matches!(
            refused,
            Err(RepositoryError::Refs(RefsError::NotUnderstood { .. }))
        ),
        "{refused:?}"
    );
    assert_eq!(dump(&storage).await, unchanged);

    let storage = old().await;
    let unchanged = dump(&storage).await;
    let read_only: Arc<dyn Storage> = Arc::new(ReadOnlyStorage::new(Arc::clone(&storage)));
    let refused = try_upgrade(&read_only).await;
    assert!(
        matches!(refused, Err(RepositoryError::Storage(_))),
        "{refused:?}"
    );
    assert_eq!(dump(&storage).await, unchanged);

    // A branch whose snapshot is gone: nothing says what it is to become.
    put(
        &storage,
        "refs/branch.dev/ref.json",
        r#"{"snapshot":"7K1X8RZGFJ7126D1NRFG"}"#,
    )
    .await;
    let unchanged = dump(&storage).await;
    let refused = try_upgrade(&storage).await.expect_err("it points nowhere");
    assert!(
        refused.to_string().contains("7K1X8RZGFJ7126D1NRFG"),
        "{refused}"
    );
    assert_eq!(dump(&storage).await, unchanged);
}

/// A version-1 program that works while an upgrade stands before one of its operations. It has opened the repository before,
/// and tells whether it was told that it succeeded.
#[derive(Clone, Copy, Debug)]
enum Meanwhile {
    Commit,
    CommitElsewhere,
    Reset,
    CreateBranch,
    CreateTag,
    DeleteTag,
    SaveConfig,
}

struct OldHandle {
    repository: Repository,
    session: Session,
    elsewhere: Session,
    /// The commit before the tip of `main`.
    first: SnapshotId,
}

impl OldHandle {
    async fn new(storage: &Arc<dyn Storage>) -> Self {
        let repository = open(storage).await;
        let session = writer(&repository).await;
        apply(&session, &[Chunk("/x", 5, 50)]).await;
        let elsewhere = repository.write_session(branch("dev")).await;
        let elsewhere = elsewhere.expect("there");
        apply(&elsewhere, &[Chunk("/x", 6, 60)]).await;
        Self {
            first: tip(&repository, "dev").await,
            repository,
            session,
            elsewhere,
        }
    }

    async fn act(&self, what: Meanwhile) -> bool {
        let commits = |outcome: Result<CommitOutcome, CommitError>| match outcome {
            Ok(CommitOutcome::Committed(_)) => true,
            Err(CommitError::Upgraded) => false,
            other => panic!("neither done nor refused by name: {other:?}"),
        };
        let edits = |outcome: Result<EditOutcome, RepositoryError>| match outcome {
            Ok(EditOutcome::Done(_)) => true,
            Ok(EditOutcome::Refused(_)) | Err(RepositoryError::Refs(RefsError::Upgraded)) => false,
            other => panic!("neither done nor refused: {other:?}"),
        };
        let repository = &self.repository;
        match what {
            Meanwhile::Commit => {
                let commit = self.session.commit("meanwhile");
                commits(commit.rebase_with(Detector::Strict).await)
            }
            Meanwhile::CommitElsewhere => commits(self.elsewhere.commit("meanwhile").await),
            Meanwhile::Reset => edits(
                repository
                    .reset_branch(&branch("main"), self.first, None)
                    .await,
            ),
            Meanwhile::CreateBranch => edits(repository.create_branch("new", self.first).await),
            Meanwhile::CreateTag => edits(repository.create_tag("new", self.first).await),
            Meanwhile::DeleteTag => edits(repository.delete_tag(&tag("kept")).await),
            Meanwhile::SaveConfig => edits(repository.save_config(config(200)).await),
        }
    }

    /// Whether a repository of version 2 shows what was done.
    async fn shows(&self, repository: &Repository, what: Meanwhile) -> bool {
        let main = history(repository, "main").await;
        let refs = repository.refs().await.expect("sound");
        match what {
            Meanwhile::Commit => main.len() == 4,
            Meanwhile::CommitElsewhere => history(repository, "dev").await.len() == 3,
            Meanwhile::Reset => main.len() == 2,
            Meanwhile::CreateBranch => refs.branches.contains_key(&branch("new")),
            Meanwhile::CreateTag => refs.tags.contains_key(&tag("new")),
            Meanwhile::DeleteTag => refs.deleted_tags.contains(&tag("kept")),
            Meanwhile::SaveConfig => repository.config() == config(200),
        }
    }
}

impl OldHandle {
    /// Checks that a reader which comes in the middle of the upgrade sees what was acknowledged on a branch, or is told that it is
    /// not there yet.
    async fn assert_seen_or_refused(&self, storage: &Arc<dyn Storage>, what: Meanwhile) {
        let name = match what {
            Meanwhile::Commit | Meanwhile::Reset => "main",
            Meanwhile::CommitElsewhere => "dev",
            _ => return,
        };
        let is_refused = |error: &RepositoryError| {
            matches!(
                error,
                RepositoryError::Refs(RefsError::NotCarriedOver { .. })
            )
        };
        let repository = match Repository::open(Arc::clone(storage)).await {
            Err(error) if is_refused(&error) => return,
            opened => opened.expect("sound"),
        };
        match repository.read_session(branch(name)).await {
            Err(error) => assert!(is_refused(&error), "{error}"),
            Ok(_) => assert!(self.shows(&repository, what).await, "{what:?} is not seen"),
        }
    }
}

/// Lets a version-1 program act while an upgrade stands before each of its operations. Returns how often it succeeded and how
/// often it did not.
async fn meet_everywhere(what: Meanwhile) -> (usize, usize) {
    let (mut acknowledged, mut refused) = (0, 0);
    // These write a file and look for `repo` then: one that is there may still take it over.
    let may_show = matches!(
        what,
        Meanwhile::CreateBranch
            | Meanwhile::CreateTag
            | Meanwhile::DeleteTag
            | Meanwhile::SaveConfig
    );
    for k in 0.. {
        let storage = old().await;
        let handle = OldHandle::new(&storage).await;
        let plan = Plan::none().on(Matcher::any(), k, Decision::Delay(Duration::from_secs(1)));
        let gate = Gate::new();
        let slow =
            FaultyStorage::new(Arc::clone(&storage), plan).with_clock(Arc::new(gate.clone()));
        let slow: Arc<dyn Storage> = Arc::new(slow);
        let upgrading = Box::pin(try_upgrade(&slow));
        let upgrading = match select(upgrading, Box::pin(gate.reached())).await {
            Either::Left((upgraded, _)) => {
                upgraded.expect("nothing disturbs it");
                break;
            }
            Either::Right(((), upgrading)) => upgrading,
        };
        let is_acknowledged = handle.act(what).await;
        if is_acknowledged {
            handle.assert_seen_or_refused(&storage, what).await;
        }
        gate.pass();
        let report = upgrading.await.expect("nothing disturbs it for good");
        let opened = match Repository::open(Arc::clone(&storage)).await {
            // The last look was before it.
            Err(RepositoryError::Refs(RefsError::NotCarriedOver { .. })) => {
                let again = upgrade(&storage).await;
                assert_eq!(again.carried_over.len(), 1, "{again:?}");
                open(&storage).await
            }
            opened => opened.expect("sound"),
        };
        let mut shows = handle.shows(&opened, what).await;
        if !shows
            && (is_acknowledged || may_show)
            && !keys_below(&storage, "refs/").await.is_empty()
        {
            // Neither `main` nor the configuration: a look for it tells.
            upgrade(&storage).await;
            shows = handle.shows(&open(&storage).await, what).await;
        }
        assert!(
            shows == is_acknowledged || shows && may_show,
            "{what:?} before operation {k}: {report:?}"
        );
        match is_acknowledged {
            true => acknowledged += 1,
            false => refused += 1,
        }
        let fresh = open(&storage).await;
        assert_eq!(keys_below(&storage, "refs/").await, [""; 0]);
        let session = writer(&fresh).await;
        apply(&session, &[Chunk("/x", 7, 7)]).await;
        commit(&session).await;
        icefield_core::test_suite::walk::assert_sound(&storage).await;
    }
    (acknowledged, refused)
}

macro_rules! meetings {
    ($($test:ident: $what:ident,)*) => {
        $(
            #[tokio::test]
            async fn $test() {
                let (acknowledged, refused) = meet_everywhere(Meanwhile::$what).await;
                println!("{acknowledged} acknowledged, {refused} refused");
                assert!(acknowledged > 0);
            }
        )*
    };
}

meetings! {
    a_commit_during_an_upgrade_is_refused_or_carried_over: Commit,
    a_commit_to_another_branch_during_an_upgrade_is_refused_or_carried_over: CommitElsewhere,
    a_reset_during_an_upgrade_is_refused_or_carried_over: Reset,
    a_branch_created_during_an_upgrade_is_refused_or_carried_over: CreateBranch,
    a_tag_created_during_an_upgrade_is_refused_or_carried_over: CreateTag,
    a_tag_deleted_during_an_upgrade_is_refused_or_carried_over: DeleteTag,
    a_configuration_saved_during_an_upgrade_is_refused_or_carried_over: SaveConfig,
}

/// A commit that has passed the look for `repo` and stands before its put while the whole upgrade runs, or a part of it.
#[tokio::test]
async fn a_commit_that_stands_before_its_write_while_the_repository_is_upgraded_is_refused() {
    let mut seen = (0, 0);
    for k in 0.. {
        let storage = old().await;
        let plan = Plan::none().on(Matcher::any(), k, Decision::Delay(Duration::from_secs(1)));
        let gate = Gate::new();
        let slow = FaultyStorage::new(Arc::clone(&storage), Plan::none());
        let slow = slow.with_clock(Arc::new(gate.clone()));
        let through: Arc<dyn Storage> = Arc::new(slow.clone());
        let session = writer(&open(&through).await).await;
        apply(&session, &[Chunk("/x", 5, 50)]).await;
        slow.set_plan(plan);
        let committing = Box::pin(std::future::IntoFuture::into_future(session.commit("slow")));
        let committing = match select(committing, Box::pin(gate.reached())).await {
            Either::Left((committed, _)) => {
                assert!(matches!(committed, Ok(CommitOutcome::Committed(_))));
                break;
            }
            Either::Right(((), committing)) => committing,
        };
        upgrade(&storage).await;
        gate.pass();
        let committed = committing.await;
        let repository = open(&storage).await;
        let length = history(&repository, "main").await.len();
        match committed {
            Ok(CommitOutcome::Committed(_)) => {
                assert_eq!(length, 4, "before operation {k}");
                seen.0 += 1;
            }
            Err(CommitError::Upgraded) => {
                assert_eq!(length, 3, "before operation {k}");
                seen.1 += 1;
            }
            other => panic!("before operation {k}: {other:?}"),
        }
    }
    assert!(seen.0 > 0 && seen.1 > 0, "{seen:?}");
}

#[tokio::test]
async fn a_session_of_version_1_that_commits_after_the_upgrade_is_told_so() {
    let storage = old().await;
    let handle = OldHandle::new(&storage).await;
    upgrade(&storage).await;
    for what in [
        Meanwhile::Commit,
        Meanwhile::CommitElsewhere,
        Meanwhile::Reset,
    ] {
        assert!(!handle.act(what).await, "{what:?}");
    }
    let session = handle.repository.write_session(branch("main")).await;
    assert!(
        matches!(session, Err(RepositoryError::Refs(RefsError::Upgraded))),
        "{session:?}"
    );
    let refs = handle.repository.refs().await;
    assert!(
        matches!(refs, Err(RepositoryError::Refs(RefsError::Upgraded))),
        "{refs:?}"
    );
    assert!(handle.session.has_changes().expect("intact"));
}

#[tokio::test]
async fn of_upgrades_that_race_each_ends_well_and_nothing_is_lost() {
    for k in 0.. {
        let storage = old().await;
        let before = history(&open(&storage).await, "main").await;
        let plan = Plan::none().on(Matcher::any(), k, Decision::Delay(Duration::from_secs(1)));
        let gate = Gate::new();
        let slow =
            FaultyStorage::new(Arc::clone(&storage), plan).with_clock(Arc::new(gate.clone()));
        let slow: Arc<dyn Storage> = Arc::new(slow);
        let first = Box::pin(try_upgrade(&slow));
        let first = match select(first, Box::pin(gate.reached())).await {
            Either::Left((upgraded, _)) => {
                upgraded.expect("nothing disturbs it");
                break;
            }
            Either::Right(((), first)) => first,
        };
        match try_upgrade(&storage).await {
            Ok(_) | Err(RepositoryError::Refs(RefsError::AlreadyUpgraded { .. })) => {}
            other => panic!("before operation {k}: {other:?}"),
        }
        gate.pass();
        match first.await {
            Ok(_) | Err(RepositoryError::Refs(RefsError::AlreadyUpgraded { .. })) => {}
            other => panic!("before operation {k}: {other:?}"),
        }
        let after = open(&storage).await;
        assert_eq!(history(&after, "main").await, before);
        assert_eq!(after.config(), config(64));
        let migrations = kinds(&after).await;
        let migrations = migrations.iter();
        let migrations = migrations.filter(|kind| matches!(kind, UpdateKind::RepoMigrated { .. }));
        assert_eq!(migrations.count(), 1, "before operation {k}");
    }
}

/// An upgrade of a store that stands before its k-th operation; none if it has ended before.
async fn stand_before<F: Future<Output = Result<UpgradeReport, RepositoryError>>>(
    storage: &Arc<dyn Storage>,
    k: u64,
    run: impl FnOnce(Arc<dyn Storage>) -> F,
) -> Option<(Gate, std::pin::Pin<Box<F>>)> {
    let plan = Plan::none().on(Matcher::any(), k, Decision::Delay(Duration::from_secs(1)));
    let gate = Gate::new();
    let slow = FaultyStorage::new(Arc::clone(storage), plan).with_clock(Arc::new(gate.clone()));
    let running = Box::pin(run(Arc::new(slow)));
    let running = match select(running, Box::pin(gate.reached())).await {
        Either::Left((upgraded, _)) => {
            ended(upgraded);
            return None;
        }
        Either::Right(((), running)) => running,
    };
    Some((gate, running))
}

fn ended(upgraded: Result<UpgradeReport, RepositoryError>) {
    assert!(
        matches!(
            upgraded,
            Ok(_) | Err(RepositoryError::Refs(RefsError::AlreadyUpgraded { .. }))
        ),
        "{upgraded:?}"
    );
}

/// A version-1 program acts while one upgrade stands before each of its operations. Then a second one begins, and stands before
/// each of its own while the first one ends.
async fn race_everywhere(what: Meanwhile) -> usize {
    let mut acknowledged = 0;
    for k in 0.. {
        for j in 0.. {
            let storage = old().await;
            let handle = OldHandle::new(&storage).await;
            let run = |storage: Arc<dyn Storage>| async move { try_upgrade(&storage).await };
            let Some((first_gate, first)) = stand_before(&storage, k, run).await else {
                return acknowledged;
            };
            let is_acknowledged = handle.act(what).await;
            if !is_acknowledged {
                break;
            }
            acknowledged += 1;
            let second = stand_before(&storage, j, run).await;
            let is_last = second.is_none();
            first_gate.pass();
            ended(first.await);
            if let Some((second_gate, second)) = second {
                second_gate.pass();
                ended(second.await);
            }
            // Refs that were created after the last look are still there to be carried over.
            ended(try_upgrade(&storage).await);
            let after = open(&storage).await;
            assert!(
                handle.shows(&after, what).await,
                "{what:?} before operation {k} of one and {j} of the other: {:?}",
                kinds(&after).await
            );
            assert_eq!(keys_below(&storage, "refs/").await, [""; 0]);
            let refs = after.refs().await.expect("sound");
            assert!(
                !refs.tags.keys().any(|it| it.as_str().contains("-v1-"))
                    && !refs.branches.keys().any(|it| it.as_str().contains("-v1-")),
                "{what:?} before operation {k} of one and {j} of the other: {refs:?}"
            );
            if is_last {
                break;
            }
        }
    }
    unreachable!("an upgrade ends")
}

macro_rules! races {
    ($($test:ident: $what:ident,)*) => {
        $(
            #[tokio::test]
            async fn $test() {
                assert!(race_everywhere(Meanwhile::$what).await > 0);
            }
        )*
    };
}

races! {
    of_upgrades_that_race_none_takes_back_a_commit: Commit,
    of_upgrades_that_race_none_takes_back_a_commit_to_another_branch: CommitElsewhere,
    of_upgrades_that_race_none_takes_back_a_reset: Reset,
    of_upgrades_that_race_none_takes_back_a_new_branch: CreateBranch,
    of_upgrades_that_race_none_takes_back_a_new_tag: CreateTag,
    of_upgrades_that_race_none_takes_back_a_deleted_tag: DeleteTag,
    of_upgrades_that_race_none_takes_back_a_configuration: SaveConfig,
}

/// A repository that was upgraded with its files left, and a commit that the file of `main` alone has. Returns the snapshot
/// before it.
async fn kept_with_a_commit() -> (Arc<dyn Storage>, SnapshotId) {
    let storage = old().await;
    let handle = OldHandle::new(&storage).await;
    let before = tip(&handle.repository, "main").await;
    keep_files(&storage).await;
    // The reference implementation commits there without a look.
    let repo = read(&storage, "repo").await;
    delete(&storage, "repo").await;
    assert!(handle.act(Meanwhile::Commit).await);
    put(&storage, "repo", repo).await;
    (storage, before)
}

async fn keep_files(storage: &Arc<dyn Storage>) {
    let keep = UpgradeOptions {
        keep_files: true,
        ..UpgradeOptions::default()
    };
    let builder = Repository::builder(Arc::clone(storage));
    builder.upgrade(&keep).await.expect("nothing disturbs it");
}

#[tokio::test]
async fn what_version_2_has_given_up_since_it_was_carried_over_stays_given_up() {
    for k in 0.. {
        let (storage, before) = kept_with_a_commit().await;
        let run = |storage: Arc<dyn Storage>| async move { try_upgrade(&storage).await };
        let Some((gate, first)) = stand_before(&storage, k, run).await else {
            assert!(k > 10);
            break;
        };
        ended(try_upgrade(&storage).await);
        let repository = open(&storage).await;
        assert_eq!(history(&repository, "main").await.len(), 4);
        done(repository.reset_branch(&branch("main"), before, None).await);
        gate.pass();
        ended(first.await);
        assert_eq!(
            tip(&open(&storage).await, "main").await,
            before,
            "before operation {k}"
        );
    }
}

/// An expiration deletes branches with one entry in the operations log for all that it does.
#[tokio::test]
async fn a_branch_that_has_expired_is_not_taken_for_a_new_one() {
    let storage = old().await;
    keep_files(&storage).await;
    let repository = open(&storage).await;
    let expire = icefield_refs::Edit::Expire {
        release: [].into(),
        branches: vec![(branch("dev"), tip(&repository, "dev").await)],
        tags: Vec::new(),
    };
    let expired = repository.ledger().apply(expire).await;
    assert!(matches!(expired, Ok(EditOutcome::Done(_))), "{expired:?}");
    upgrade(&storage).await;
    let refs = open(&storage).await.refs().await.expect("sound");
    assert!(!refs.branches.contains_key(&branch("dev")));
}

/// The file of a ref that a version-1 program writes after the upgrade.
async fn file_of(snapshot: SnapshotId) -> String {
    format!(r#"{{"snapshot":"{snapshot}"}}"#)
}

#[tokio::test]
async fn a_tag_of_version_2_stays_where_a_version_1_program_has_deleted_another_of_that_name() {
    let storage = old().await;
    let old = open(&storage).await;
    let (main, dev) = (tip(&old, "main").await, tip(&old, "dev").await);
    upgrade(&storage).await;
    done(open(&storage).await.create_tag("late", main).await);
    put(&storage, "refs/tag.late/ref.json", file_of(dev).await).await;
    put(&storage, "refs/tag.late/ref.json.deleted", "").await;
    upgrade(&storage).await;
    let repository = open(&storage).await;
    assert_eq!(
        repository.resolve(&tag("late").into()).await.expect("ours"),
        main
    );
    // Also where the tombstone is all that is left.
    put(&storage, "refs/tag.late/ref.json.deleted", "").await;
    upgrade(&storage).await;
    let repository = open(&storage).await;
    assert_eq!(
        repository.resolve(&tag("late").into()).await.expect("ours"),
        main
    );
    // The deletion of the same tag holds.
    put(&storage, "refs/tag.kept/ref.json", file_of(dev).await).await;
    put(&storage, "refs/tag.kept/ref.json.deleted", "").await;
    upgrade(&storage).await;
    let refs = open(&storage).await.refs().await.expect("sound");
    assert!(refs.deleted_tags.contains(&tag("kept")));
}

/// An object that is not understood, or cannot be read, may be a ref that `repo` does not have.
#[tokio::test]
async fn a_look_beside_repo_that_fails_is_an_error_unless_listing_is_forbidden() {
    let storage = old().await;
    keep_files(&storage).await;
    open(&storage).await;
    let failing = Plan::none().on(Verb::List, 0, Decision::FailBefore);
    let failing: Arc<dyn Storage> = Arc::new(FaultyStorage::new(Arc::clone(&storage), failing));
    let opened = Repository::open(failing).await;
    assert!(
        matches!(
            opened,
            Err(RepositoryError::Storage(_)) | Err(RepositoryError::Refs(RefsError::Storage(_)))
        ),
        "{opened:?}"
    );
    put(&storage, "refs/branch.dev/other.json", "what is this").await;
    let opened = Repository::open(Arc::clone(&storage)).await;
    assert!(
        matches!(
            opened,
            Err(RepositoryError::Refs(RefsError::NotUnderstood { .. }))
        ),
        "{opened:?}"
    );
}

/// Whatever stops an upgrade once `repo` is there, the error says how to go on.
#[tokio::test]
async fn an_upgrade_that_fails_halfway_says_so() {
    let mut stopped = 0;
    for k in 0.. {
        let storage = old().await;
        let plan = Plan::none().on(Matcher::any(), k, Decision::FailBefore);
        let failing: Arc<dyn Storage> = Arc::new(FaultyStorage::new(Arc::clone(&storage), plan));
        let begun_before = keys_below(&storage, "repo").await;
        assert_eq!(begun_before, [""; 0]);
        match try_upgrade(&failing).await {
            Ok(_) if k > 20 => break,
            Ok(_) => {}
            Err(error) if keys_below(&storage, "repo").await == [""; 0] => {
                assert!(
                    !matches!(
                        error,
                        RepositoryError::Refs(RefsError::UpgradeStopped { .. })
                    ),
                    "before operation {k}: {error:?}"
                );
            }
            Err(RepositoryError::Refs(RefsError::UpgradeStopped { .. })) => stopped += 1,
            Err(error) => panic!("before operation {k}: {error:?}"),
        }
        ended(try_upgrade(&storage).await);
    }
    assert!(stopped > 5, "{stopped}");
}

/// Edits that create a file find none whose state tells that the repository was upgraded.
#[tokio::test]
async fn an_edit_of_version_1_after_the_upgrade_is_told_so_and_carried_over_later() {
    for what in [
        Meanwhile::CreateBranch,
        Meanwhile::CreateTag,
        Meanwhile::SaveConfig,
    ] {
        let storage = old().await;
        if let Meanwhile::SaveConfig = what {
            delete(&storage, "config.yaml").await;
        }
        let handle = OldHandle::new(&storage).await;
        upgrade(&storage).await;
        let repository = &handle.repository;
        let outcome = match what {
            Meanwhile::CreateBranch => repository.create_branch("new", handle.first).await,
            Meanwhile::CreateTag => repository.create_tag("new", handle.first).await,
            _ => repository.save_config(config(200)).await,
        };
        let Err(RepositoryError::Refs(error @ RefsError::Upgraded)) = outcome else {
            panic!("{what:?}: {outcome:?}");
        };
        assert!(error.to_string().contains("`icefield upgrade LOCATION`"));
        upgrade(&storage).await;
        assert!(
            handle.shows(&open(&storage).await, what).await,
            "{what:?} is carried over"
        );
    }
    // A tag whose file is still there.
    let storage = old().await;
    let handle = OldHandle::new(&storage).await;
    keep_files(&storage).await;
    let deleted = handle.repository.delete_tag(&tag("kept")).await;
    assert!(
        matches!(deleted, Err(RepositoryError::Refs(RefsError::Upgraded))),
        "{deleted:?}"
    );
}

/// A hold that is not renewed for an hour holds nothing back, and reading long histories takes longer.
#[tokio::test]
async fn an_upgrade_that_takes_hours_goes_on_holding_collections_back() {
    let storage = old().await;
    let faulty = FaultyStorage::new(Arc::clone(&storage), Plan::none());
    let (on, clock) = (
        Arc::new(faulty.clone()),
        icefield_core::ManualClock::new(std::time::UNIX_EPOCH),
    );
    let hold = "icefield/leases/";
    // The first write of a lease is its creation.
    faulty.set_plan(Plan::none().on(Matcher::writes().below(hold), 1, Decision::FailBefore));
    let slow = {
        let clock = clock.clone();
        move |_| clock.advance(Duration::from_secs(20 * 60))
    };
    let options = UpgradeOptions {
        on_step: &slow,
        ..UpgradeOptions::default()
    };
    let builder = Repository::builder(on).clock(Arc::new(clock.clone()));
    let upgraded = builder.upgrade(&options).await;
    assert!(
        matches!(upgraded, Err(RepositoryError::Refs(_))),
        "it was renewed, and that failed: {upgraded:?}"
    );
}

#[tokio::test]
async fn until_an_upgrade_has_ended_the_repository_is_read_and_not_written() {
    let storage = old().await;
    // Stopped at the first seal: `repo` is there, and so are all files.
    let plan = Plan::none().on(Matcher::writes().below("refs/"), 0, Decision::FailBefore);
    let failing: Arc<dyn Storage> = Arc::new(FaultyStorage::new(Arc::clone(&storage), plan));
    try_upgrade(&failing).await.expect_err("it was stopped");
    let repository = open(&storage).await;
    assert_eq!(repository.spec_version(), SpecVersion::V2);
    assert_eq!(history(&repository, "main").await.len(), 3);
    let refused = repository.write_session(branch("main")).await;
    assert!(
        matches!(
            refused,
            Err(RepositoryError::Refs(RefsError::UpgradeNotEnded))
        ),
        "{refused:?}"
    );
    // To say that it is online would let version 2 go on beside files that are not carried over.
    let set = repository
        .set_status(Availability::Online, None, None)
        .await;
    assert!(
        matches!(set, Err(RepositoryError::Refs(RefsError::UpgradeNotEnded))),
        "{set:?}"
    );
    let report = upgrade(&storage).await;
    assert!(
        report.resumed && report.carried_over.is_empty(),
        "{report:?}"
    );
    writer(&open(&storage).await).await;
}

/// A root that holds both generations is opened as version 2, with an error just where files of version 1 say what `repo` does
/// not.
#[tokio::test]
async fn files_beside_repo_are_an_error_just_where_they_say_more() {
    let storage = old().await;
    let handle = OldHandle::new(&storage).await;
    let keep = UpgradeOptions {
        keep_files: true,
        ..UpgradeOptions::default()
    };
    let builder = || Repository::builder(Arc::clone(&storage));
    let report = builder().upgrade(&keep).await.expect("nothing disturbs it");
    assert_eq!(report.files, 0);
    assert!(!keys_below(&storage, "refs/").await.is_empty());
    // The same in both.
    let repository = open(&storage).await;
    let session = writer(&repository).await;
    apply(&session, &[Chunk("/x", 3, 3)]).await;
    commit(&session).await;
    done(repository.save_config(config(128)).await);
    done(repository.delete_branch(&branch("dev")).await);
    // Version 2 has gone on, and the files say what was.
    let repository = open(&storage).await;
    assert_eq!(repository.config(), config(128));
    assert_eq!(history(&repository, "main").await.len(), 4);

    // The reference implementation commits there without a look.
    let elsewhere = read(&storage, "refs/branch.dev/ref.json").await;
    let repo = read(&storage, "repo").await;
    delete(&storage, "repo").await;
    assert!(handle.act(Meanwhile::Commit).await);
    put(&storage, "repo", repo).await;
    let opened = Repository::open(Arc::clone(&storage)).await;
    let Err(RepositoryError::Refs(error @ RefsError::NotCarriedOver { .. })) = opened else {
        panic!("{opened:?}");
    };
    let text = error.to_string();
    assert!(text.contains("branch main at"), "{text}");
    assert!(text.contains("icefield upgrade"), "{text}");

    let report = upgrade(&storage).await;
    assert_eq!(report.carried_over.len(), 1, "{report:?}");
    let repository = open(&storage).await;
    assert_eq!(history(&repository, "main").await.len(), 4);
    let refs = repository.refs().await.expect("sound");
    let other = refs
        .branches
        .keys()
        .find(|it| it.as_str().starts_with("main-v1-"));
    let other = other.expect("both went on from the same commit: both stay");
    let theirs = repository.read_session(other.clone()).await.expect("sound");
    assert_eq!(byte(&theirs, "/x", 5).await, Some(50));
    assert!(!refs.branches.contains_key(&branch("dev")));

    // A lookup does not find a tag and a branch that a version-1 program creates.
    put(&storage, "refs/branch.late/ref.json", elsewhere.clone()).await;
    put(&storage, "refs/tag.late/ref.json", elsewhere).await;
    let repository = open(&storage).await;
    let missing = repository.resolve(&branch("late").into()).await;
    assert!(
        matches!(
            missing,
            Err(RepositoryError::Refs(RefsError::NotCarriedOver { .. }))
        ),
        "{missing:?}"
    );
    let missing = repository.resolve(&tag("late").into()).await;
    assert!(
        matches!(
            missing,
            Err(RepositoryError::Refs(RefsError::NotCarriedOver { .. }))
        ),
        "{missing:?}"
    );
    let report = upgrade(&storage).await;
    assert_eq!(report.carried_over.len(), 2, "{report:?}");
    let repository = open(&storage).await;
    repository
        .resolve(&branch("late").into())
        .await
        .expect("carried over");
    repository
        .resolve(&tag("late").into())
        .await
        .expect("carried over");
    icefield_core::test_suite::walk::assert_sound(&storage).await;
}

/// The contents of a repository: refs, and the histories of all of them with times and metadata.
async fn shown(repository: &Repository) -> String {
    let refs = repository.refs().await.expect("sound");
    let mut text = format!("{:?}\n", refs.deleted_tags);
    let tips = refs
        .branches
        .iter()
        .map(|(name, tip)| (name.to_string(), tip));
    let tags = refs.tags.iter().map(|(name, tip)| (name.to_string(), tip));
    for (name, tip) in tips.chain(tags) {
        let tip = *tip.as_ref().expect("sound");
        let history: Vec<_> = repository.ancestry(tip).try_collect().await.expect("sound");
        text.push_str(&format!("{name}: {history:?}\n"));
    }
    text
}

#[tokio::test]
async fn histories_of_all_vectors_are_the_same_before_and_after() {
    let names = icefield_testkit::fixtures::names("v1-");
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        let storage = memory();
        icefield_testkit::fixtures::load(&name, &storage).await;
        let old = open(&storage).await;
        let (before, config) = (shown(&old).await, old.config());
        let objects = dump(&storage).await;
        let report = upgrade(&storage).await;
        assert_eq!(report.carried_over, [""; 0], "{name}");
        let repository = open(&storage).await;
        let stored =
            |config: RepositoryConfig| config.encode_flexbuffers().expect("it was decoded");
        assert!(stored(repository.config()) == stored(config), "{name}");
        assert_eq!(repository.spec_version(), SpecVersion::V2, "{name}");
        assert_eq!(shown(&repository).await, before, "{name}");
        let mut kept = dump(&storage).await;
        kept.retain(|key, _| key != "repo" && !key.starts_with("overwritten/"));
        let mut immutable = objects;
        immutable.retain(|key, _| !key.starts_with("refs/") && key != "config.yaml");
        assert!(kept == immutable, "{name}: no other object changes");
    }
}

/// The reference implementation has upgraded this one, and then committed.
#[tokio::test]
async fn the_operations_log_is_the_one_that_the_reference_makes() {
    let vector = icefield_testkit::fixtures::vectors().join("v2-upgraded/before");
    let storage = memory();
    for key in [
        "config.yaml",
        "refs/branch.b/ref.json",
        "refs/branch.main/ref.json",
        "refs/tag.dead/ref.json",
        "refs/tag.dead/ref.json.deleted",
        "refs/tag.t/ref.json",
        "snapshots/1CECHNKREP0F1RSTCMT0",
        "snapshots/4JYH9B82PA7ZFJ2GJ180",
    ] {
        let bytes = std::fs::read(vector.join(key)).expect("part of the vector");
        put(&storage, key, bytes).await;
    }
    let clock =
        icefield_core::ManualClock::new(icefield_core::time_of_micros(1_795_231_680_655_240));
    let builder = Repository::builder(Arc::clone(&storage)).clock(Arc::new(clock));
    let report = builder.upgrade(&UpgradeOptions::default()).await;
    assert_eq!(report.expect("it can be upgraded").snapshots, 2);

    let theirs = memory();
    icefield_testkit::fixtures::load("v2-upgraded", &theirs).await;
    let log = |repository: Repository| async move {
        let log = repository.operations().await.expect("of version 2");
        let log = log.map_ok(|update| (update.kind, update.updated_at));
        log.try_collect::<Vec<_>>().await.expect("sound")
    };
    let (ours, theirs) = (
        log(open(&storage).await).await,
        log(open(&theirs).await).await,
    );
    assert_eq!(ours, theirs[1..]);
}
