//! Copies that stop, stores that fail, and repositories that change meanwhile.

use std::sync::Arc;

use futures::FutureExt;
use icefield_core::{Repository, SnapshotId};
use icefield_format::SpecVersion;
use icefield_maintenance::{CopyError, CopyRepository};
use icefield_storage::Storage;
use icefield_storage::wrap::fault::{
    Decision, FaultyStorage, Matcher, Plan, Verb, When, crash_points,
};
use icefield_storage_memory::MemoryStorage;
use icefield_testkit::stores;

use super::{assert_same, copy, create, empty, same};
use crate::source::{Source, store};

/// Asserts that what the refs of a destination reach is there.
async fn assert_sound(source: &Source, to: &Arc<dyn Storage>) {
    let Ok(there) = Repository::open(Arc::clone(to)).await else {
        return;
    };
    // A copy of it would miss what is missing.
    let again = CopyRepository::new().run(&there, empty(), &()).await;
    again.unwrap_or_else(|error| panic!("{error:?}, of {:?}", source.store));
}

versions!(
    a_copy_stopped_at_any_operation_is_sound_and_the_next_one_completes_it,
    a_second_copy_stopped_at_any_operation_is_completed_too,
    lost_answers_are_settled_or_told,
    a_list_that_fails_is_no_empty_list,
    what_lands_in_the_source_meanwhile_is_left_for_the_next_run,
    a_branch_that_moves_at_the_destination_meanwhile_is_not_overwritten,
    copies_at_the_same_time_to_one_destination_agree,
    an_unknown_edit_of_a_ref_is_told_as_such,
    what_differs_in_more_than_an_expiration_changes_is_not_overwritten,
);

async fn a_copy_stopped_at_any_operation_is_sound_and_the_next_one_completes_it(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let dry = FaultyStorage::new(empty(), Plan::none());
    let into: Arc<dyn Storage> = Arc::new(dry.clone());
    copy(&source, &into).await.unwrap();
    assert!(dry.operations() > 30);
    // The last operation ends the lease, which would end by itself.
    for (at, when) in crash_points(dry.operations() - 1) {
        let inner = empty();
        let dying = FaultyStorage::new(Arc::clone(&inner), Plan::stop_at(at, when));
        let into: Arc<dyn Storage> = Arc::new(dying.clone());
        let stopped = copy(&source, &into).await;
        assert!(stopped.is_err(), "{at} {when:?}");
        assert_sound(&source, &inner).await;
        dying.deliver_pending().await;
        assert_sound(&source, &inner).await;
        let again = copy(&source, &inner).await;
        again.unwrap_or_else(|error| panic!("{at} {when:?}: {error:?}"));
        assert_same(&source.storage(), &inner).await;
    }
}

async fn a_second_copy_stopped_at_any_operation_is_completed_too(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let base = MemoryStorage::new();
    copy(&source, &store(&base)).await.unwrap();
    source.commit("main", &[("/a", 9), ("/c", 1)]).await;
    source.tag("second", "main").await;
    let _ = source
        .repository
        .delete_tag(&"first".parse().unwrap())
        .await
        .unwrap();
    let dry = FaultyStorage::new(store(&base.duplicate()), Plan::none());
    let into: Arc<dyn Storage> = Arc::new(dry.clone());
    copy(&source, &into).await.unwrap();
    // The last operation ends the lease, which would end by itself.
    for (at, when) in crash_points(dry.operations() - 1) {
        let inner = store(&base.duplicate());
        let dying = FaultyStorage::new(Arc::clone(&inner), Plan::stop_at(at, when));
        let into: Arc<dyn Storage> = Arc::new(dying.clone());
        assert!(copy(&source, &into).await.is_err());
        dying.deliver_pending().await;
        assert_sound(&source, &inner).await;
        copy(&source, &inner).await.unwrap();
        // Nothing is taken away at the destination.
        let there = Repository::open(Arc::clone(&inner)).await.unwrap();
        let first = "first".parse().unwrap();
        there.ledger().resolve_tag(&first).await.unwrap();
        let _ = there.delete_tag(&first).await.unwrap();
        assert_same(&source.storage(), &inner).await;
    }
}

async fn lost_answers_are_settled_or_told(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let dry = FaultyStorage::new(empty(), Plan::none());
    let into: Arc<dyn Storage> = Arc::new(dry.clone());
    copy(&source, &into).await.unwrap();
    for at in 0..dry.operations() {
        for decision in [Decision::FailAfter, Decision::FailBefore, Decision::Twice] {
            let inner = empty();
            let faulty = FaultyStorage::new(
                Arc::clone(&inner),
                Plan::none().on(Matcher::any(), at, decision),
            );
            let into: Arc<dyn Storage> = Arc::new(faulty.clone());
            if copy(&source, &into).await.is_err() {
                assert_sound(&source, &inner).await;
                copy(&source, &inner).await.unwrap();
            }
            assert_same(&source.storage(), &inner).await;
        }
    }
}

async fn a_list_that_fails_is_no_empty_list(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    for objects in [0, 1, 2] {
        let plan = Plan::none().always(Verb::List, Decision::ListError(objects));
        let from: Arc<dyn Storage> = Arc::new(FaultyStorage::new(source.storage(), plan.clone()));
        let open = Repository::open(from).await.unwrap();
        let to = empty();
        assert!(
            CopyRepository::new()
                .run(&open, Arc::clone(&to), &())
                .await
                .is_err()
        );
        // In spec version 2, refs need no list.
        match spec {
            SpecVersion::V1 => assert_eq!(stores::keys(&to).await, [""; 0]),
            _ => assert_eq!(
                source.elsewhere(&to).await.tip("main").await,
                SnapshotId::INITIAL
            ),
        }
        let into: Arc<dyn Storage> = Arc::new(FaultyStorage::new(Arc::clone(&to), plan));
        assert!(copy(&source, &into).await.is_err());
    }
}

/// Does something once, when chunks begin to be copied.
struct Meanwhile<F>(std::sync::Mutex<Option<F>>);

impl<F> Meanwhile<F> {
    fn new(change: F) -> Self {
        Self(std::sync::Mutex::new(Some(change)))
    }
}

impl<F: Future<Output = ()> + Send> icefield_maintenance::Progress for Meanwhile<F> {
    fn stage(&self, name: &'static str, _: Option<u64>) {
        if name == "copying chunks" {
            let change = self.0.lock().unwrap().take();
            // Nothing waits in memory: a task gives way to others at most.
            if let Some(change) = change {
                let mut change = std::pin::pin!(change);
                let is_done = (0..100).any(|_| change.as_mut().now_or_never().is_some());
                assert!(is_done, "it waits for something");
            }
        }
    }
}

async fn what_lands_in_the_source_meanwhile_is_left_for_the_next_run(spec: SpecVersion) {
    for branch_goes in [false, true] {
        let source = Source::with_history_in(spec).await;
        let before = stores::dump(&source.storage()).await;
        let to = empty();
        let meanwhile = Meanwhile::new(async {
            if branch_goes {
                let name = "odd {x} é".parse().unwrap();
                let _ = source.repository.delete_branch(&name).await.unwrap();
            } else {
                source.commit("main", &[("/a", 9)]).await;
            }
        });
        let copied = CopyRepository::new()
            .run(&source.repository, Arc::clone(&to), &meanwhile)
            .await;
        copied.unwrap();
        assert_ne!(stores::dump(&source.storage()).await, before);
        same(&stores::dump(&to).await, &before);
        copy(&source, &to).await.unwrap();
        if !branch_goes {
            assert_same(&source.storage(), &to).await;
        }
    }
}

async fn a_branch_that_moves_at_the_destination_meanwhile_is_not_overwritten(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let to = empty();
    create(&to, spec).await;
    let other = source.elsewhere(&to).await;
    let meanwhile = Meanwhile::new(async {
        other.commit("main", &[("/c", 0)]).await;
    });
    let copied = CopyRepository::new()
        .run(&source.repository, Arc::clone(&to), &meanwhile)
        .await;
    let error = copied.unwrap_err();
    assert!(
        matches!(&error, CopyError::RefChanged { name } if name == "branch main"),
        "{error:?}"
    );
    let there = Repository::open(to).await.unwrap();
    let session = there
        .read_session(icefield_core::BranchName::main())
        .await
        .unwrap();
    assert!(session.array(&"/c".parse().unwrap()).is_ok());
}

async fn copies_at_the_same_time_to_one_destination_agree(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let to = empty();
    let run = || copy(&source, &to);
    let (one, two, three) = futures::join!(run(), run(), run());
    for copied in [one, two, three] {
        match copied {
            Ok(_) | Err(CopyError::RefChanged { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    copy(&source, &to).await.unwrap();
    assert_same(&source.storage(), &to).await;
}

async fn an_unknown_edit_of_a_ref_is_told_as_such(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let inner = empty();
    let dry = FaultyStorage::new(Arc::clone(&inner), Plan::none());
    let into: Arc<dyn Storage> = Arc::new(dry.clone());
    copy(&source, &into).await.unwrap();
    let last = dry
        .trace()
        .events()
        .iter()
        .rev()
        .find(|event| event.verb == Verb::Put)
        .unwrap()
        .operation;
    let to = empty();
    let dying = FaultyStorage::new(Arc::clone(&to), Plan::stop_at(last, When::After));
    let into: Arc<dyn Storage> = Arc::new(dying);
    let error = copy(&source, &into).await.unwrap_err();
    assert!(matches!(error, CopyError::RefUnknown { .. }), "{error:?}");
}

/// A source before and after an expiration that thins its main branch, so that a log tells more and a snapshot has another
/// parent, and cuts another, so that a snapshot comes after the first one.
async fn expiring() -> (Source, Source) {
    let source = Source::new().await;
    source.branch("cut", "main").await;
    for chunk in 0..3 {
        source.commit("cut", &[("/c", chunk)]).await;
    }
    source.commit("main", &[("/a", 0)]).await;
    source.tag("first", "main").await;
    for chunk in 1..5 {
        source.commit("main", &[("/a", chunk)]).await;
    }
    let mut after = Source::new().await;
    after.store = source.store.duplicate();
    after.repository = Repository::open(after.storage()).await.unwrap();
    let mut policy = icefield_maintenance::Policy::default();
    policy.last = 1;
    let expire = icefield_maintenance::Expire::new(policy);
    let expired = expire.run(&after.repository, &()).await.unwrap();
    assert_eq!(expired.plan.new_parents.len(), 2);
    let (one, other) = (
        stores::dump(&source.storage()).await,
        stores::dump(&after.storage()).await,
    );
    let changed = |folder: &str| {
        let other = other.iter().filter(|(key, _)| key.starts_with(folder));
        other.filter(|(key, bytes)| one[*key] != *bytes).count()
    };
    assert_eq!((changed("snapshots/"), changed("transactions/")), (2, 1));
    (source, after)
}

/// Asserts that what one store holds is at another, as it is there.
async fn assert_holds(to: &Arc<dyn Storage>, from: &Source, when: &str) {
    let there = stores::dump(to).await;
    let history = |repository: Repository, branch: &'static str| async move {
        let name = icefield_core::BranchName::parse(branch).unwrap();
        let tip = repository.ledger().resolve_branch(&name).await.unwrap();
        let infos = repository.ancestry(tip.snapshot);
        let infos: Vec<_> = futures::TryStreamExt::try_collect(infos).await.unwrap();
        infos
            .into_iter()
            .map(|info: icefield_core::SnapshotInfo| info.id)
            .collect::<Vec<_>>()
    };
    let ours = stores::dump(&from.storage()).await;
    for branch in ["main", "cut"] {
        let fresh = Repository::open(Arc::clone(to)).await.unwrap();
        let found = history(fresh, branch).await;
        assert_eq!(
            found,
            history(from.repository.clone(), branch).await,
            "{when}"
        );
        for id in found {
            for key in [
                icefield_format::layout::snapshot_key(id),
                icefield_format::layout::transaction_log_key(id),
            ] {
                assert_eq!(there.get(&key), ours.get(&key), "{when}: {key}");
            }
        }
    }
}

#[tokio::test]
async fn a_copy_that_was_stopped_goes_on_after_an_expiration_at_the_source() {
    let (before, after) = expiring().await;
    let dry = FaultyStorage::new(empty(), Plan::none());
    let into: Arc<dyn Storage> = Arc::new(dry.clone());
    copy(&before, &into).await.unwrap();
    let refs = dry.trace();
    let refs = refs
        .events()
        .iter()
        .find(|event| event.verb == Verb::Put && event.key.contains("branch.cut"));
    // Once a ref has landed, what it reaches is as it was, and stays so.
    let whole = refs.unwrap().operation;
    for (at, when) in crash_points(whole) {
        let inner = empty();
        let dying = FaultyStorage::new(Arc::clone(&inner), Plan::stop_at(at, when));
        let into: Arc<dyn Storage> = Arc::new(dying.clone());
        assert!(copy(&before, &into).await.is_err());
        dying.deliver_pending().await;
        let dry_run = CopyRepository::new().dry_run(true);
        let planned = dry_run
            .run(&after.repository, Arc::clone(&inner), &())
            .await;
        planned.unwrap_or_else(|error| panic!("{at} {when:?}: {error:?}"));
        let copied = copy(&after, &inner).await;
        copied.unwrap_or_else(|error| panic!("{at} {when:?}: {error:?}"));
        assert_holds(&inner, &after, &format!("{at} {when:?}")).await;
        assert_sound(&after, &inner).await;
    }
}

#[tokio::test]
async fn a_copy_made_of_the_source_before_an_expiration_does_not_make_a_log_tell_less() {
    let (before, after) = expiring().await;
    // One of the later state was stopped before its refs; then one of the earlier state goes to its end.
    let inner = empty();
    let dry = FaultyStorage::new(empty(), Plan::none());
    let into: Arc<dyn Storage> = Arc::new(dry.clone());
    copy(&after, &into).await.unwrap();
    let trace = dry.trace();
    let first_ref = (trace.events().iter())
        .find(|event| event.verb == Verb::Put && event.key.contains("branch.cut"));
    let stop = Plan::stop_at(first_ref.unwrap().operation, When::Before);
    let into: Arc<dyn Storage> = Arc::new(FaultyStorage::new(Arc::clone(&inner), stop));
    assert!(copy(&after, &into).await.is_err());
    copy(&before, &inner).await.unwrap();
    let (ours, there) = (
        stores::dump(&after.storage()).await,
        stores::dump(&inner).await,
    );
    let logs = ours
        .iter()
        .filter(|(key, _)| key.starts_with("transactions/"));
    for (key, log) in logs {
        let copied = after.tip("main").await;
        if *key == icefield_format::layout::transaction_log_key(copied) {
            assert_eq!(there[key], *log, "it goes on telling all");
        }
    }
    assert_sound(&before, &inner).await;
}

async fn what_differs_in_more_than_an_expiration_changes_is_not_overwritten(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let other = Source::seeded_in(spec, 9).await;
    let id = source.commit("main", &[("/a", 7)]).await;
    let foreign = other.commit("main", &[("/a", 7)]).await;
    for folder in ["transactions", "snapshots"] {
        let whole = empty();
        copy(&source, &whole).await.unwrap();
        let key = format!("{folder}/{id}");
        let strange = stores::read(&other.storage(), &format!("{folder}/{foreign}")).await;
        for bytes in [strange, "no file of the format".into()] {
            let to = empty();
            create(&to, spec).await;
            stores::put(&to, &key, bytes.clone()).await;
            let error = copy(&source, &to).await.unwrap_err();
            assert!(
                matches!(
                    &error,
                    CopyError::OtherBytes { key: found } | CopyError::OtherSize { key: found, .. }
                        if found.as_str() == key
                ),
                "{folder}: {error:?}"
            );
            assert_eq!(stores::read(&to, &key).await, bytes);
        }
    }
}
