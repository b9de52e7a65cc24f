//! Creating and opening.

use std::sync::Arc;

use futures::future::join_all;
use icefield_format::layout;

use super::Trial;
use super::words::*;
use crate::{CommitError, Repository, RepositoryError, SnapshotId};

pub(super) async fn an_empty_store_holds_no_repository(trial: Trial) {
    let storage = trial.store().await;
    is!(Repository::exists(Arc::clone(&storage)).await, Ok(false));
    is!(
        trial.builder(&storage).open().await,
        Err(RepositoryError::NotFound { location }) if location == storage.to_string(),
    );
    is!(
        trial.builder(&storage).open_session(branch("main")).await,
        Err(RepositoryError::NotFound { .. }),
    );
    assert!(keys(&storage).await.is_empty(), "opening writes nothing");
}

pub(super) async fn what_is_created_is_there(trial: Trial) {
    let (storage, repository) = trial.create().await;
    is!(Repository::exists(Arc::clone(&storage)).await, Ok(true));
    let history = history(&repository, tip(&repository, "main").await).await;
    let [first] = &history[..] else {
        panic!("a new repository has one snapshot, not {history:?}")
    };
    assert_eq!(first.id, SnapshotId::INITIAL);
    assert_eq!(first.parent_id, None);
    assert_eq!(first.message, "Repository initialized");
    assert_eq!(first.written_at, Trial::start());
    let session = read_main(&repository).await;
    assert!(paths(&session, "/").is_empty(), "not even a root group");
    if trial.is_v1() {
        let initial = layout::snapshot_key(SnapshotId::INITIAL);
        assert_eq!(
            keys(&storage).await,
            ["refs/branch.main/ref.json", &initial],
            "the minimal repository of the format"
        );
    }
}

pub(super) async fn create_over_a_repository_is_refused(trial: Trial) {
    let (storage, repository) = trial.create().await;
    commit_edits(&repository, "one", &[("/a", group())], &[]).await;
    let before = objects(&storage).await;
    is!(
        trial.builder(&storage).create().await,
        Err(RepositoryError::AlreadyExists { location }) if location == storage.to_string(),
    );
    assert!(objects(&storage).await == before, "nothing was touched");
}

pub(super) async fn open_or_create_does_what_is_needed(trial: Trial) {
    let storage = trial.store().await;
    let created = trial.builder(&storage).open_or_create().await;
    let created = created.expect("it creates");
    commit_edits(&created, "one", &[("/a", group())], &[]).await;
    let opened = trial.builder(&storage).open_or_create().await;
    let opened = opened.expect("it opens");
    assert_eq!(
        messages(&opened, "main").await,
        ["one", "Repository initialized"]
    );
}

pub(super) async fn create_refuses_a_store_in_use(trial: Trial) {
    let storage = trial.store().await;
    put(&storage, "photos/1.jpg", "x").await;
    is!(
        trial.builder(&storage).create().await,
        Err(RepositoryError::NotEmpty { key, .. }) if key.as_str() == "photos/1.jpg",
    );
    assert_eq!(keys(&storage).await, ["photos/1.jpg"]);
}

pub(super) async fn create_among_other_objects_only_if_asked(trial: Trial) {
    let storage = trial.store().await;
    put(&storage, "photos/1.jpg", "x").await;
    let create = async || {
        let builder = trial.builder(&storage).among_other_objects();
        builder.create().await
    };
    for key in [layout::CHUNKS, layout::REFS] {
        let storage = trial.store().await;
        let key = format!("{key}/another's");
        put(&storage, &key, "x").await;
        is!(
            trial.builder(&storage).among_other_objects().create().await,
            Err(RepositoryError::NotEmpty { key: found, .. }) if found.as_str() == key,
        );
    }
    let repository = create().await.expect("nothing of a repository is there");
    commit_edits(&repository, "one", &[("/a", group())], &[]).await;
    is!(create().await, Err(RepositoryError::AlreadyExists { .. }));
    assert!(keys(&storage).await.contains(&"photos/1.jpg".to_owned()));
    let opened = trial.open(&storage).await;
    assert_eq!(
        messages(&opened, "main").await,
        ["one", "Repository initialized"]
    );
}

pub(super) async fn create_finishes_a_creation_that_was_stopped(trial: Trial) {
    let (made, _) = trial.create().await;
    let storage = trial.store().await;
    let initial = layout::snapshot_key(SnapshotId::INITIAL);
    let file = objects(&made).await[&initial].clone();
    put(&storage, &initial, file.clone()).await;
    put(&storage, "icefield/lease", "ours").await;
    trial.tick();
    is!(Repository::exists(Arc::clone(&storage)).await, Ok(false));
    let repository = trial.builder(&storage).create().await.expect("adopted");
    let first = &history(&repository, SnapshotId::INITIAL).await[0];
    assert_eq!(first.written_at, Trial::start(), "the first one stays");
    assert!(objects(&storage).await[&initial] == file);
}

pub(super) async fn racing_creates_have_one_winner(trial: Trial) {
    let storage = trial.store().await;
    let creates = (0..16).map(|_| trial.builder(&storage).create());
    let mut winners = 0;
    for result in join_all(creates).await {
        match result {
            Ok(_) => winners += 1,
            Err(RepositoryError::AlreadyExists { .. }) => {}
            Err(other) => panic!("must be created or exist: {other:?}"),
        }
    }
    assert_eq!(winners, 1);
    let storage = trial.store().await;
    let opens = (0..16).map(|_| trial.builder(&storage).open_or_create());
    for repository in join_all(opens).await {
        let repository = repository.expect("each opens or creates");
        assert_eq!(tip(&repository, "main").await, SnapshotId::INITIAL);
    }
}

pub(super) async fn a_newer_repository_is_refused_by_name(trial: Trial) {
    if !trial.is_v1() {
        return;
    }
    let (storage, _) = trial.create().await;
    put(&storage, layout::REPO, of_version(3)).await;
    is!(
        trial.builder(&storage).open().await,
        Err(error @ RepositoryError::NewerSpecVersion { .. })
            if error.to_string().contains("newer"),
    );
    is!(
        trial.builder(&storage).open_or_create().await,
        Err(RepositoryError::NewerSpecVersion { .. }),
    );
    is!(
        trial.builder(&storage).create().await,
        Err(RepositoryError::AlreadyExists { .. }),
    );
    is!(Repository::exists(storage).await, Ok(true));
}

/// The header of a file of a version of the format.
fn of_version(version: u8) -> Vec<u8> {
    let mut file = b"ICE\xf0\x9f\xa7\x8aCHUNK".to_vec();
    file.extend(b"a later program         ");
    file.extend([version, 6, 1]);
    file
}

pub(super) async fn an_upgrade_meanwhile_stops_a_commit(trial: Trial) {
    if !trial.is_v1() {
        return;
    }
    let (storage, repository) = trial.create().await;
    let session = writer(&repository).await;
    set(&session, "/a", group()).await;
    put(&storage, layout::REPO, "of a newer version").await;
    is!(session.commit("one").await, Err(CommitError::Upgraded));
    assert_eq!(tip(&repository, "main").await, SnapshotId::INITIAL);
    is!(session.has_changes(), Ok(true));
}

pub(super) async fn a_handle_of_a_repository_is_cheap_to_share(trial: Trial) {
    let (_, repository) = trial.create().await;
    let other = repository.clone();
    commit_edits(&repository, "one", &[("/a", group())], &[]).await;
    assert_eq!(messages(&other, "main").await.len(), 2);
    fn shared<T: Clone + Send + Sync + 'static>(_: &T) {}
    shared(&repository);
    shared(&read_main(&repository).await);
}
