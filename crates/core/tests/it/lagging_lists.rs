//! Part F of the fault catalogue: lists that lag behind, or show nothing at all. Whatever is decided is decided by
//! reading the one object that it hangs on, never by a list.

use std::sync::Arc;

use futures::StreamExt;
use icefield_core::test_suite::walk::assert_sound;
use icefield_core::test_suite::words::*;
use icefield_core::{EditOutcome, Refusal, RepositoryError, SnapshotId};
use icefield_storage::wrap::fault::{Decision, Matcher, Plan, Verb};
use icefield_storage::{Storage, StorageError, StorageExt};
use icefield_storage_memory::MemoryStorage;

use crate::support::*;

/// Lists that show nothing, and lists that show the time before the last writes.
const LAGS: [Decision; 4] = [
    Decision::ListCut(0),
    Decision::Stale(1),
    Decision::Stale(5),
    Decision::Stale(u64::MAX),
];

#[tokio::test]
async fn f86_what_is_written_is_right_whatever_lists_show() {
    for lag in LAGS {
        let trial = trial("f86");
        let inner = memory();
        let (handle, storage) = faulty(&inner, Plan::none().always(Verb::List, lag));
        let repository = trial.builder(&storage).create().await.expect("created");
        // A second creation looks at the ref itself.
        let again = trial.builder(&storage).create().await;
        assert!(
            matches!(again, Err(RepositoryError::AlreadyExists { .. })),
            "{lag}: {again:?}"
        );
        let arrays = [("/a", array(&[4], &[1]))];
        let first = commit_edits(&repository, "base", &arrays, &[]).await;

        // Written here, read there, at once; and a second writer on top of it.
        let session = writer(&repository).await;
        write(&session, "/a", &[0], pattern(1, 1000)).await;
        commit(&session, "one").await;
        let elsewhere = trial.open(&storage).await;
        holds(
            &read_main(&elsewhere).await,
            "/a",
            &[0],
            Some(&pattern(1, 1000)),
        )
        .await;
        let session = writer(&elsewhere).await;
        write(&session, "/a", &[1], pattern(2, 1000)).await;
        let tip_now = commit(&session, "two").await;
        assert_eq!(tip(&repository, "main").await, tip_now, "{lag}");
        assert_eq!(
            messages(&repository, "main").await[..3],
            ["two", "one", "base"]
        );

        // Names: taken is taken, and a deleted tag stays so.
        done(repository.create_branch("dev", first).await);
        let twice = repository.create_branch("dev", tip_now).await;
        refused(twice, &Refusal::AlreadyExists);
        assert_eq!(tip(&elsewhere, "dev").await, first);
        let v1 = "v1".parse().expect("a name");
        done(repository.create_tag("v1", first).await);
        done(repository.delete_tag(&v1).await);
        let back = elsewhere.create_tag("v1", first).await;
        refused(back, &Refusal::NameTaken);
        assert!(handle.operations() > 0);
        handle.set_plan(Plan::none());
        assert_sound(&inner).await;
    }
}

/// The names of a list are as old as the list: it may lack the newest names, and has none that never were.
#[tokio::test]
async fn f86_a_list_of_names_that_lags_lacks_names_and_invents_none() {
    for lag in LAGS {
        let trial = trial("f86");
        let (inner, repository) = trial.create().await;
        let first = tip(&repository, "main").await;
        for name in ["b1", "b2", "b3"] {
            done(repository.create_branch(name, first).await);
        }
        let (_, storage) = faulty(&inner, Plan::none().always(Verb::List, lag));
        let lagging = trial.open(&storage).await;
        done(lagging.create_branch("b4", first).await);
        let refs = lagging.refs().await.expect("a list");
        for name in refs.branches.keys() {
            let name = name.to_string();
            assert!(
                ["b1", "b2", "b3", "b4", "main"].contains(&name.as_str()),
                "{name}"
            );
        }
        // Each of them is found by its name all the same.
        for name in ["b1", "b4", "main"] {
            assert_eq!(tip(&lagging, name).await, first, "{lag}");
        }
    }
}

/// Consoles leave an empty object `folder/` where a folder was made for the repository.
#[tokio::test]
async fn a_repository_is_created_in_a_folder_of_a_console_and_not_beside_what_cannot_be_read() {
    let memory = MemoryStorage::new();
    let inner: Arc<dyn Storage> = Arc::new(memory.clone());
    for marker in [&b""[..], b"refs/", b"chunks/"] {
        assert!(memory.plant_unreadable(marker, 0));
    }
    let create = async || trial("f86").builder(&inner).create().await;
    let repository = create().await.expect("nothing is in the way");
    drop(repository);
    assert!(memory.plant_unreadable(b"data//1", 1));
    let again = create().await;
    assert!(
        matches!(again, Err(RepositoryError::AlreadyExists { .. })),
        "{again:?}"
    );

    let memory = MemoryStorage::new();
    let inner: Arc<dyn Storage> = Arc::new(memory.clone());
    assert!(memory.plant_unreadable(b"data//1", 1));
    let refused = trial("f86").builder(&inner).create().await;
    assert!(
        matches!(
            &refused,
            Err(RepositoryError::Storage(StorageError::UnreadableKey { raw, .. })) if raw == "data//1"
        ),
        "{refused:?}"
    );
    assert!(
        memory
            .list_objects(Default::default())
            .next()
            .await
            .is_none()
    );
}

#[tokio::test]
async fn a_ref_that_is_respelled_between_a_list_and_its_read_is_listed() {
    let trial = trial("respelled");
    let (inner, repository) = trial.create().await;
    done(repository.create_tag("v1", SnapshotId::INITIAL).await);
    let file = objects(&inner).await["refs/tag.v1/ref.json"].clone();
    let found = ["refs/branch.a#b/ref.json", "refs/tag.a#b/ref.json"];
    for at in found {
        put(&inner, at, file.clone()).await;
    }
    for at in found {
        let gate = Gate::new();
        let delay = Decision::Delay(std::time::Duration::from_secs(1));
        let plan = Plan::none().on(Matcher::verb(Verb::Get).below(at), 0, delay);
        let (handle, _) = faulty(&inner, plan);
        let slow: Arc<dyn Storage> = Arc::new(handle.with_clock(Arc::new(gate.clone())));
        let lister = trial.open(&slow).await;
        let listing = tokio::spawn(async move { lister.refs().await });
        gate.reached().await;
        let store = repository.ledger();
        let misspelled = store.list().await.expect("listed").misspelled;
        let one = misspelled.iter().find(|it| it.found.as_str() == at);
        let respelled = store.respell(one.expect("misspelled")).await;
        is!(respelled, Ok(EditOutcome::Done(_)));
        gate.pass();
        let list = listing.await.expect("no panic").expect("listed");
        let list = list.require_understood().expect("all of them");
        assert!(list.branches.contains_key(&branch("a#b")), "{at}");
        assert_eq!(list.tags.len(), 2, "{at}");
    }
}
