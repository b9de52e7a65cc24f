//! Part A of the fault catalogue: the reply to a write is lost, late or doubled, or the caller goes away.

use std::sync::Arc;

use icefield_core::test_suite::walk::assert_sound;
use icefield_core::test_suite::words::*;
use icefield_core::{BranchName, CommitError, CommitOutcome, EditOutcome, Session, SessionError};
use icefield_core::{Refusal, Settings, SnapshotId};
use icefield_refs::Edit;
use icefield_storage::Storage;
use icefield_storage::wrap::fault::{Decision, Delivery, Matcher, Plan, Verb, When};
use icefield_testkit::forge::{Forge, ForgedSnapshot};

use crate::support::*;

/// Writes of refs.
fn ref_puts() -> Matcher {
    Matcher::verb(Verb::Put).below("refs/")
}

/// A repository with an array, and a session on it with one new chunk that reaches the store in a way of
/// its own.
async fn pending(
    name: &'static str,
    plan: Plan,
) -> (
    Arc<dyn Storage>,
    icefield_storage::wrap::FaultyStorage,
    Session,
) {
    let trial = trial(name);
    let (inner, repository) = trial.create().await;
    commit_edits(&repository, "base", &[("/a", array(&[4], &[1]))], &[]).await;
    let (handle, storage) = faulty(&inner, plan);
    let session = writer(&trial.open(&storage).await).await;
    write(&session, "/a", &[0], pattern(1, 1000)).await;
    (inner, handle, session)
}

async fn assert_landed_once(inner: &Arc<dyn Storage>, id: SnapshotId) {
    let repository = trial("look").open(inner).await;
    assert_eq!(
        messages(&repository, "main")
            .await
            .iter()
            .filter(|it| *it == "chunk")
            .count(),
        1
    );
    let history = history(&repository, tip(&repository, "main").await).await;
    assert_eq!(history.iter().filter(|info| info.id == id).count(), 1);
    holds(
        &read_main(&repository).await,
        "/a",
        &[0],
        Some(&pattern(1, 1000)),
    )
    .await;
    assert_sound(inner).await;
}

#[tokio::test]
async fn a2_a_lost_reply_of_the_publishing_write_is_success() {
    let plan = Plan::none().on(ref_puts(), 0, Decision::FailAfter);
    let (inner, _, session) = pending("a2", plan).await;
    let id = commit(&session, "chunk").await;
    assert_landed_once(&inner, id).await;
    assert!(session.is_read_only());
}

#[tokio::test]
async fn a4_a_failed_read_back_is_an_unknown_outcome_that_can_be_resolved() {
    for effect in [Decision::FailAfter, Decision::Late(Delivery::OnDemand)] {
        let plan = Plan::none().on(ref_puts(), 0, effect);
        let (inner, handle, session) = pending("a4", Plan::none()).await;
        // Every look at the branch fails, once the write is on its way.
        let looks = Matcher::verb(Verb::Get).below("refs/");
        let blind = (1..20).fold(plan, |plan, n| {
            plan.on(looks.clone(), n, Decision::FailBefore)
        });
        handle.set_plan(blind);
        let unknown = match session.commit("chunk").await {
            Ok(CommitOutcome::Unknown { snapshot, .. }) => snapshot,
            other => panic!("{other:?}"),
        };
        is!(
            try_write(&session, "/a", &[1], "x").await,
            Err(SessionError::Unresolved(id)) if id == unknown,
        );
        is!(
            session.commit("again").await,
            Err(CommitError::Session(SessionError::Unresolved(id))) if id == unknown,
        );
        is!(session.discard_changes(), Err(SessionError::Unresolved(_)));
        is!(session.resolve().await, Err(_));
        is!(
            session.commit("again").await,
            Err(CommitError::Session(SessionError::Unresolved(_)))
        );
        holds(&session, "/a", &[0], Some(&pattern(1, 1000))).await;
        handle.set_plan(Plan::none());
        is!(session.resolve().await, Ok(CommitOutcome::Committed(id)) if id == unknown);
        is!(session.resolve().await, Ok(CommitOutcome::Committed(id)) if id == unknown);
        handle.deliver_pending().await;
        assert_landed_once(&inner, unknown).await;
    }
}

#[tokio::test]
async fn a5_a_late_publishing_write_makes_no_second_commit() {
    let plan = Plan::none().on(ref_puts(), 0, Decision::Late(Delivery::OnDemand));
    let (inner, handle, session) = pending("a5", plan).await;
    let unknown = match session.commit("chunk").await {
        Ok(CommitOutcome::Unknown { snapshot, .. }) => snapshot,
        other => panic!("{other:?}"),
    };
    is!(session.resolve().await, Ok(CommitOutcome::Committed(id)) if id == unknown);
    let late = handle.deliver_pending().await;
    assert!(late.len() == 1 && !late[0].took_effect, "{late:?}");
    assert_landed_once(&inner, unknown).await;
}

#[tokio::test]
async fn a5_a_late_write_that_lands_before_it_is_asked_about_is_found() {
    let plan = Plan::none().on(ref_puts(), 0, Decision::Late(Delivery::After(0)));
    let (inner, _, session) = pending("a5", plan).await;
    let id = commit(&session, "chunk").await;
    assert_landed_once(&inner, id).await;
}

#[tokio::test]
async fn a6_a_doubled_publishing_write_is_one_commit() {
    let plan = Plan::none().on(ref_puts(), 0, Decision::Twice);
    let (inner, _, session) = pending("a6", plan).await;
    let id = commit(&session, "chunk").await;
    assert_landed_once(&inner, id).await;
}

#[tokio::test]
async fn a7_a_commit_under_another_is_found_in_the_history() {
    let gate = Gate::new();
    let looks = Matcher::verb(Verb::Get).below("refs/");
    let (inner, handle, _) = pending("a7", Plan::none()).await;
    let storage: Arc<dyn Storage> = Arc::new(handle.clone().with_clock(Arc::new(gate.clone())));
    let repository = trial("a7, again").open(&storage).await;
    let session = writer(&repository).await;
    write(&session, "/a", &[0], pattern(1, 1000)).await;
    // The reply is lost, and the read-back comes late.
    handle.set_plan(Plan::none().on(ref_puts(), 0, Decision::FailAfter).on(
        looks,
        1,
        Decision::Delay(std::time::Duration::from_secs(1)),
    ));
    let committing = tokio::spawn(async move { session.commit("chunk").await });
    gate.reached().await;
    let other = trial("a7, other").again();
    other.ids();
    let other = other.open(&inner).await;
    commit_edits(&other, "on top", &[("/other", group())], &[]).await;
    gate.pass();
    let id = match committing.await.expect("no panic") {
        Ok(CommitOutcome::Committed(id)) => id,
        other => panic!("it landed: {other:?}"),
    };
    assert_landed_once(&inner, id).await;
    assert_eq!(messages(&other, "main").await[..2], ["on top", "chunk"]);
}

/// Reads of snapshots that all fail.
fn without_snapshots(plan: Plan) -> Plan {
    let reads = Matcher::verb(Verb::Get).below("snapshots/");
    (0..40).fold(plan, |plan, n| {
        plan.on(reads.clone(), n, Decision::FailBefore)
    })
}

#[tokio::test]
async fn a7_a_commit_under_another_in_a_history_that_cannot_be_read_is_unknown() {
    // Its reply is lost, or it is the repetition of a client below that is refused.
    for effect in [Decision::FailAfter, Decision::Retried] {
        let gate = Gate::new();
        let looks = Matcher::verb(Verb::Get).below("refs/");
        let (inner, handle, _) = pending("a7", Plan::none()).await;
        let storage: Arc<dyn Storage> = Arc::new(handle.clone().with_clock(Arc::new(gate.clone())));
        // Not even its own snapshot is in memory.
        let forgetful = Settings::default().with_cache_bytes(0);
        let builder = trial("a7, again").builder(&storage).settings(forgetful);
        let session = writer(&builder.open().await.expect("opened")).await;
        write(&session, "/a", &[0], pattern(1, 1000)).await;
        let delay = Decision::Delay(std::time::Duration::from_secs(1));
        let plan = Plan::none().on(ref_puts(), 0, effect).on(looks, 1, delay);
        handle.set_plan(without_snapshots(plan));
        let committing = tokio::spawn(async move {
            let outcome = session.commit("chunk").await;
            (session, outcome)
        });
        gate.reached().await;
        let other = trial("a7, other").again();
        other.ids();
        let other = other.open(&inner).await;
        commit_edits(&other, "on top", &[("/other", group())], &[]).await;
        gate.pass();
        let (session, outcome) = committing.await.expect("no panic");
        let unknown = match outcome {
            Ok(CommitOutcome::Unknown { snapshot, .. }) => snapshot,
            other => panic!("{effect:?}: it landed, and nothing told so: {other:?}"),
        };
        handle.set_plan(Plan::none());
        is!(session.resolve().await, Ok(CommitOutcome::Committed(id)) if id == unknown);
        assert_landed_once(&inner, unknown).await;
        assert_eq!(messages(&other, "main").await[..2], ["on top", "chunk"]);
    }
}

#[tokio::test]
async fn a7_a_reset_that_was_built_on_is_not_called_refused() {
    let gate = Gate::new();
    let (inner, handle, _) = pending("a7", Plan::none()).await;
    let storage: Arc<dyn Storage> = Arc::new(handle.clone().with_clock(Arc::new(gate.clone())));
    let repository = trial("a7, again").open(&storage).await;
    let looks = Matcher::verb(Verb::Get).below("refs/");
    let delay = Decision::Delay(std::time::Duration::from_secs(1));
    let lost = Plan::none().on(ref_puts(), 0, Decision::FailAfter);
    handle.set_plan(lost.on(looks, 1, delay));
    let resetting = tokio::spawn(async move {
        let first = SnapshotId::INITIAL;
        repository.reset_branch(&branch("main"), first, None).await
    });
    gate.reached().await;
    let other = trial("a7, other").again();
    other.ids();
    let other = other.open(&inner).await;
    commit_edits(&other, "on top", &[("/other", group())], &[]).await;
    gate.pass();
    is!(
        resetting.await.expect("no panic"),
        Ok(EditOutcome::Unknown(_))
    );
}

#[tokio::test]
async fn a7_a_commit_under_very_many_others_is_found_in_the_history() {
    let looks = Matcher::verb(Verb::Get).below("refs/");
    let (inner, handle, session) = pending("a7", Plan::none()).await;
    let blind = (1..20).fold(Plan::none(), |plan, n| {
        plan.on(looks.clone(), n, Decision::FailBefore)
    });
    handle.set_plan(blind.on(ref_puts(), 0, Decision::FailAfter));
    let unknown = match session.commit("chunk").await {
        Ok(CommitOutcome::Unknown { snapshot, .. }) => snapshot,
        other => panic!("{other:?}"),
    };
    let forge = Forge::new(&inner);
    let mut parent = unknown;
    for i in 0..1500_u32 {
        let mut id = [0x55; 12];
        id[..4].copy_from_slice(&i.to_be_bytes());
        let id = SnapshotId::from_bytes(id);
        let seconds = 1_000_000_000 + u64::from(i);
        forge
            .snapshot(&ForgedSnapshot::new(id, Some(parent), seconds))
            .await;
        parent = id;
    }
    forge.branch("main", parent).await;
    handle.set_plan(Plan::none());
    is!(session.resolve().await, Ok(CommitOutcome::Committed(id)) if id == unknown);
}

#[tokio::test]
async fn a8_a_lost_reply_of_the_creation_of_a_ref_is_success() {
    let trial = trial("a8");
    let (inner, _) = trial.create().await;
    let (handle, storage) = faulty(&inner, Plan::none());
    let repository = trial.open(&storage).await;
    let lost = || Plan::none().on(ref_puts(), 0, Decision::FailAfter);
    handle.set_plan(lost());
    done(repository.create_tag("v1", SnapshotId::INITIAL).await);
    handle.set_plan(lost());
    done(repository.create_branch("dev", SnapshotId::INITIAL).await);
    let one = commit_edits(&repository, "one", &[("/a", group())], &[]).await;
    handle.set_plan(lost());
    done(repository.reset_branch(&branch("dev"), one, None).await);
    handle.set_plan(lost());
    refused(
        repository.create_tag("v1", one).await,
        &Refusal::AlreadyExists,
    );
    handle.set_plan(lost());
    done(repository.delete_tag(&"v1".parse().expect("valid")).await);
    let deletes = Matcher::verb(Verb::Delete);
    handle.set_plan(Plan::none().on(deletes, 0, Decision::FailAfter));
    done(repository.delete_branch(&branch("dev")).await);
    handle.set_plan(Plan::none().on(ref_puts(), 0, Decision::FailBefore).on(
        Verb::Get,
        99,
        Decision::Pass,
    ));
    is!(repository.create_branch("new", one).await, Err(_));
    is!(
        repository.create_branch("new", one).await,
        Ok(EditOutcome::Done(_))
    );
    assert_sound(&inner).await;
}

#[tokio::test]
async fn a9_a_lost_reply_of_a_save_of_the_configuration_is_success() {
    let trial = trial("a9");
    let (inner, _) = trial.create().await;
    let (handle, storage) = faulty(&inner, Plan::none());
    let repository = trial.open(&storage).await;
    let mut config = repository.config();
    for bytes in [1, 2, 3] {
        config.inline_chunk_threshold_bytes = Some(bytes);
        let puts = Matcher::verb(Verb::Put).below("config.yaml");
        handle.set_plan(Plan::none().on(puts, 0, Decision::FailAfter));
        done(repository.save_config(config.clone()).await);
    }
    assert_eq!(trial.open(&inner).await.config(), config);
}

#[tokio::test]
async fn a17_a_cancelled_commit_can_be_done_again_wherever_it_was() {
    let (_, handle, session) = pending("a17", Plan::none()).await;
    handle.set_plan(Plan::none());
    commit(&session, "chunk").await;
    for k in 0..handle.operations() {
        for when in When::ALL {
            let (inner, handle, session) = pending("a17", Plan::none()).await;
            handle.set_plan(Plan::cancel_at(k, when));
            let gave_up = handle
                .run_until_hung(async { session.commit("chunk").await })
                .await;
            assert!(gave_up.is_none(), "operation {k} hangs");
            handle.set_plan(Plan::none());
            assert_sound(&inner).await;
            // The edits are still there to be read, whatever became of the commit.
            holds(&session, "/a", &[0], Some(&pattern(1, 1000))).await;
            let id = match session.commit("chunk").await {
                Ok(CommitOutcome::Committed(id)) => id,
                Err(CommitError::Session(SessionError::Unresolved(id))) => {
                    is!(session.resolve().await, Ok(CommitOutcome::Committed(found)) if found == id);
                    id
                }
                other => panic!("{when:?} {k}: {other:?}"),
            };
            assert_landed_once(&inner, id).await;
            handle.deliver_pending().await;
            assert_landed_once(&inner, id).await;
        }
    }
}

#[tokio::test]
async fn a17_a_cancelled_write_of_a_chunk_leaves_the_session_usable() {
    for when in When::ALL {
        let (inner, handle, session) = pending("a17", Plan::none()).await;
        handle.set_plan(Plan::cancel_at(0, when));
        let write = try_write(&session, "/a", &[1], pattern(2, 1000));
        assert!(handle.run_until_hung(write).await.is_none());
        holds(&session, "/a", &[1], None).await;
        handle.set_plan(Plan::none());
        let id = commit(&session, "chunk").await;
        handle.deliver_pending().await;
        assert_landed_once(&inner, id).await;
        let repository = trial("look").open(&inner).await;
        let session = repository
            .read_session(BranchName::main())
            .await
            .expect("main");
        holds(&session, "/a", &[1], None).await;
    }
}

#[tokio::test]
async fn a15_a_commit_that_failed_can_be_done_again() {
    let (_, handle, session) = pending("a15", Plan::none()).await;
    handle.set_plan(Plan::none());
    commit(&session, "chunk").await;
    for k in 0..handle.operations() {
        let (inner, handle, session) = pending("a15", Plan::none()).await;
        handle.set_plan(Plan::none().on(Matcher::any(), k, Decision::FailBefore));
        let id = match session.commit("chunk").await {
            // The failure told nothing that mattered.
            Ok(CommitOutcome::Committed(id)) => id,
            Ok(CommitOutcome::Unknown { snapshot, .. }) => {
                is!(session.resolve().await, Ok(CommitOutcome::Committed(id)) if id == snapshot);
                snapshot
            }
            Err(_) => {
                let repository = trial("look").open(&inner).await;
                assert_eq!(
                    messages(&repository, "main").await[0],
                    "base",
                    "nothing happened"
                );
                commit(&session, "chunk").await
            }
            other => panic!("{k}: {other:?}"),
        };
        assert_landed_once(&inner, id).await;
    }
}

#[tokio::test]
async fn a5_a_late_write_that_refuses_its_own_repetition_is_recognised() {
    for on_top in [false, true] {
        let (inner, handle, session) = pending("a5", Plan::none()).await;
        // The write is on its way. It arrives when the second attempt has looked and not yet written.
        let gate = Gate::new();
        let slow: Arc<dyn Storage> = Arc::new(handle.clone().with_clock(Arc::new(gate.clone())));
        drop(session);
        let session = writer(&trial("a5, again").open(&slow).await).await;
        write(&session, "/a", &[0], pattern(1, 1000)).await;
        handle.set_plan(
            Plan::none()
                .on(ref_puts(), 0, Decision::Late(Delivery::OnDemand))
                .on(
                    ref_puts(),
                    1,
                    Decision::Delay(std::time::Duration::from_secs(1)),
                ),
        );
        let unknown = match session.commit("chunk").await {
            Ok(CommitOutcome::Unknown { snapshot, .. }) => snapshot,
            other => panic!("{other:?}"),
        };
        let resolving = tokio::spawn(async move { session.resolve().await });
        gate.reached().await;
        let late = handle.deliver_pending().await;
        assert!(late[0].took_effect);
        if on_top {
            let other = trial("a5, other");
            other.ids();
            let other = other.open(&inner).await;
            commit_edits(&other, "on top", &[("/other", group())], &[]).await;
        }
        gate.pass();
        let outcome = resolving.await.expect("no panic");
        is!(outcome, Ok(CommitOutcome::Committed(id)) if id == unknown);
        assert_landed_once(&inner, unknown).await;
    }
}

/// The reply to the first attempt is lost. The second one is refused, and the branch seems to be where it was.
#[tokio::test]
async fn a5_a_refusal_that_the_branch_does_not_explain_settles_nothing() {
    let gate = Gate::new();
    let (inner, handle, _) = pending("a5", Plan::none()).await;
    let slow: Arc<dyn Storage> = Arc::new(handle.clone().with_clock(Arc::new(gate.clone())));
    let session = writer(&trial("a5, again").open(&slow).await).await;
    write(&session, "/a", &[0], pattern(1, 1000)).await;
    let late = Decision::Late(Delivery::OnDemand);
    handle.set_plan(Plan::none().on(ref_puts(), 0, late));
    let unknown = match session.commit("chunk").await {
        Ok(CommitOutcome::Unknown { snapshot, .. }) => snapshot,
        other => panic!("{other:?}"),
    };
    let delay = Decision::Delay(std::time::Duration::from_secs(1));
    handle.set_plan(Plan::none().on(ref_puts(), 0, delay));
    let resolving = tokio::spawn(async move {
        let outcome = session.resolve().await;
        (session, outcome)
    });
    gate.reached().await;
    let seen: Arc<dyn Storage> = Arc::new(handle.clone());
    let other = trial("a5, other");
    other.ids();
    commit_edits(
        &other.open(&seen).await,
        "other",
        &[("/other", group())],
        &[],
    )
    .await;
    let looks = Matcher::verb(Verb::Get).below("refs/");
    let stale = (0..8).fold(Plan::none(), |plan, n| {
        plan.on(looks.clone(), n, Decision::Stale(1))
    });
    handle.set_plan(stale);
    gate.pass();
    let (session, outcome) = resolving.await.expect("no panic");
    is!(outcome, Ok(CommitOutcome::Unknown { snapshot, .. }) if snapshot == unknown);
    handle.set_plan(Plan::none());
    assert!(
        handle
            .deliver_pending()
            .await
            .iter()
            .all(|it| !it.took_effect)
    );
    is!(
        session.resolve().await,
        Ok(CommitOutcome::BranchMoved { .. })
    );
    assert_sound(&inner).await;
}

fn failing_syncs(which: std::ops::Range<u64>) -> Plan {
    which.fold(Plan::none(), |plan, n| {
        plan.on(Verb::Sync, n, Decision::FailBefore)
    })
}

#[tokio::test]
async fn a_commit_is_acknowledged_when_it_is_durable_and_not_before() {
    let (inner, handle, session) = pending("sync", Plan::none()).await;
    // The objects cannot be made durable: nothing is published.
    handle.set_plan(failing_syncs(0..1));
    is!(
        session.commit("chunk").await,
        Err(CommitError::Session(SessionError::Storage(_)))
    );
    let repository = trial("look").open(&inner).await;
    assert_eq!(messages(&repository, "main").await[0], "base");
    // The ref cannot: it is published, and no caller may rely on it yet.
    // 1: after the put; 2: after it was found in the history; 3: at the first `resolve`.
    handle.set_plan(failing_syncs(1..4));
    let unknown = match session.commit("chunk").await {
        Ok(CommitOutcome::Unknown { snapshot, .. }) => snapshot,
        other => panic!("{other:?}"),
    };
    is!(session.resolve().await, Err(_));
    is!(session.resolve().await, Ok(CommitOutcome::Committed(id)) if id == unknown);
    assert_landed_once(&inner, unknown).await;
}

#[tokio::test]
async fn an_edit_of_a_ref_is_acknowledged_when_it_is_durable_and_not_before() {
    let trial = trial("sync");
    let (inner, _) = trial.create().await;
    let (handle, storage) = faulty(&inner, Plan::none());
    let repository = trial.open(&storage).await;
    let id = SnapshotId::INITIAL;
    let fail = || handle.set_plan(failing_syncs(0..1));
    let unknown = |outcome| is!(outcome, Ok(EditOutcome::Unknown(_)));
    fail();
    unknown(repository.create_branch("dev", id).await);
    fail();
    unknown(repository.create_tag("v1", id).await);
    fail();
    unknown(repository.delete_tag(&"v1".parse().expect("valid")).await);
    fail();
    unknown(repository.delete_branch(&branch("dev")).await);
    fail();
    unknown(
        repository
            .save_config(icefield_core::RepositoryConfig::default())
            .await,
    );
    let one = commit_edits(&trial.open(&inner).await, "one", &[("/a", group())], &[]).await;
    // Found in the history, and not durable for all that.
    handle.set_plan(failing_syncs(0..2));
    unknown(
        repository
            .reset_branch(&branch("main"), id, Some(one))
            .await,
    );
}

/// A refusal may be of the repetition of a request that landed, and an error would say that nothing was changed.
#[tokio::test]
async fn a7_a_refused_edit_of_a_ref_that_cannot_be_read_is_unknown() {
    let trial = trial("a7, unread");
    let (inner, repository) = trial.create().await;
    done(repository.create_branch("dev", SnapshotId::INITIAL).await);
    let id = commit_edits(&repository, "base", &[("/a", group())], &[]).await;
    let (handle, storage) = faulty(&inner, Plan::none());
    let faulty = trial.open(&storage).await;
    let refs = faulty.ledger();
    let blind = |plan: Plan| {
        [Verb::Get, Verb::Head]
            .into_iter()
            .fold(plan, |plan, verb| {
                plan.always(Matcher::verb(verb).below("refs/"), Decision::FailBefore)
            })
    };

    handle.set_plan(blind(Plan::none().on(ref_puts(), 0, Decision::Retried)));
    let edit = Edit::CreateTag {
        name: "v1".parse().expect("a name"),
        target: id,
    };
    is!(refs.apply(edit).await, Ok(EditOutcome::Unknown(_)));

    handle.set_plan(Plan::none());
    let name = BranchName::parse("dev").expect("a name");
    let expected = refs.resolve_branch(&name).await.expect("there");
    done(repository.reset_branch(&name, id, None).await);
    handle.set_plan(blind(Plan::none()));
    let edit = Edit::DeleteBranch { name, expected };
    is!(refs.apply(edit).await, Ok(EditOutcome::Unknown(_)));
}
