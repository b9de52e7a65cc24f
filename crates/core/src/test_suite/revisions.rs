//! Travelling in time: the ways to say which snapshot is meant.

use std::time::Duration;

use super::Trial;
use super::words::*;
use crate::{
    BranchName, RefsError, Repository, RepositoryError, Revision, SnapshotId, Start, TagName,
};

/// Three commits, a minute apart from the first snapshot and from each other.
async fn three(trial: &Trial, repository: &Repository) -> [SnapshotId; 4] {
    let mut ids = [SnapshotId::INITIAL; 4];
    for (i, id) in ids.iter_mut().enumerate().skip(1) {
        trial.clock().advance(Duration::from_secs(60));
        let at = format!("/g{i}");
        *id = commit_edits(repository, &at, &[(&at, group())], &[]).await;
    }
    ids
}

async fn resolves(repository: &Repository, revision: impl Into<Revision>, id: SnapshotId) {
    let revision = revision.into();
    let found = repository.resolve(&revision).await;
    is!(found, Ok(found) if found == id);
    let session = reader(repository, revision).await;
    is!(session.snapshot_id(), Ok(found) if found == id);
}

pub(super) async fn a_revision_is_a_branch_a_tag_or_an_id(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let ids = three(&trial, &repository).await;
    done(repository.create_branch("dev", ids[1]).await);
    done(repository.create_tag("v1", ids[2]).await);
    let repository = trial.open(&storage).await;
    resolves(&repository, BranchName::main(), ids[3]).await;
    resolves(&repository, branch("dev"), ids[1]).await;
    let tag: TagName = "v1".parse().expect("valid");
    resolves(&repository, tag, ids[2]).await;
    for (i, id) in ids.into_iter().enumerate() {
        resolves(&repository, id, id).await;
        resolves(
            &repository,
            Revision::from(BranchName::main()).back(3 - i),
            id,
        )
        .await;
    }
}

pub(super) async fn a_revision_can_be_as_of_a_time(trial: Trial) {
    let (_, repository) = trial.create().await;
    let ids = three(&trial, &repository).await;
    let main = || Revision::from(BranchName::main());
    let minute = |n: u64| Trial::start() + Duration::from_secs(60 * n);
    for (n, id) in (0..).zip(ids) {
        resolves(&repository, main().at(minute(n)), id).await;
        resolves(
            &repository,
            main().at(minute(n) + Duration::from_secs(59)),
            id,
        )
        .await;
    }
    resolves(&repository, main().at(minute(1_000_000)), ids[3]).await;
    resolves(&repository, main().at(minute(2)).back(1), ids[1]).await;
    resolves(&repository, Revision::from(ids[2]).at(minute(9)), ids[2]).await;
    is!(
        repository.resolve(&main().at(minute(0) - Duration::from_micros(1))).await,
        Err(RepositoryError::NoSnapshotAtTime { start }) if start == ids[3],
    );
    is!(
        repository.resolve(&main().at(minute(1)).back(2)).await,
        Err(RepositoryError::HistoryTooShort { .. }),
    );
}

pub(super) async fn a_history_has_an_end(trial: Trial) {
    let (_, repository) = trial.create().await;
    let ids = three(&trial, &repository).await;
    resolves(
        &repository,
        Revision::from(ids[3]).back(3),
        SnapshotId::INITIAL,
    )
    .await;
    for back in [4, usize::MAX] {
        is!(
            repository.resolve(&Revision::from(ids[3]).back(back)).await,
            Err(RepositoryError::HistoryTooShort { start, length: 3 }) if start == ids[3],
        );
    }
}

pub(super) async fn a_revision_that_is_not_there_is_named(trial: Trial) {
    let (_, repository) = trial.create().await;
    let ids = three(&trial, &repository).await;
    let tag: TagName = "v1".parse().expect("valid");
    is!(
        repository.read_session(branch("none")).await,
        Err(RepositoryError::Refs(RefsError::BranchNotFound(name))) if name.as_str() == "none",
    );
    is!(
        repository.read_session(tag.clone()).await,
        Err(RepositoryError::Refs(RefsError::TagNotFound(name))) if name == tag,
    );
    done(repository.create_tag("v1", ids[1]).await);
    done(repository.delete_tag(&tag).await);
    is!(
        repository.read_session(tag.clone()).await,
        Err(RepositoryError::Refs(RefsError::TagDeleted(name))) if name == tag,
    );
    let none = SnapshotId::from_bytes([7; 12]);
    is!(
        repository.read_session(none).await,
        Err(RepositoryError::Refs(RefsError::SnapshotNotFound(id))) if id == none,
    );
}

pub(super) async fn a_word_is_a_branch_else_a_tag_else_an_id(trial: Trial) {
    let (_, repository) = trial.create().await;
    let ids = three(&trial, &repository).await;
    let text = ids[1].to_string();
    let start = async |word: &str| repository.start_of_word(word).await;
    is!(start("main").await, Ok(Start::Branch(name)) if name.is_main());
    is!(start(&text).await, Ok(Start::Snapshot(id)) if id == ids[1]);
    done(repository.create_tag("v1", ids[2]).await);
    is!(start("v1").await, Ok(Start::Tag(name)) if name.as_str() == "v1");
    done(repository.create_tag(&text, ids[2]).await);
    is!(start(&text).await, Ok(Start::Tag(_)));
    done(repository.create_branch("v1", ids[2]).await);
    is!(start("v1").await, Ok(Start::Branch(_)));
    is!(
        start("none").await,
        Err(RepositoryError::Refs(RefsError::BranchNotFound(_))),
    );
}

pub(super) async fn ancestry_goes_from_the_newest_to_the_first(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let ids = three(&trial, &repository).await;
    let repository = trial.open(&storage).await;
    let full = history(&repository, ids[3]).await;
    let found: Vec<_> = full.iter().map(|info| info.id).collect();
    assert_eq!(found, [ids[3], ids[2], ids[1], ids[0]]);
    for (i, info) in full.iter().enumerate() {
        assert_eq!(info.parent_id, found.get(i + 1).copied());
        let minutes = 60 * (3 - i as u64);
        assert_eq!(
            info.written_at,
            Trial::start() + Duration::from_secs(minutes)
        );
    }
    assert_eq!(history(&repository, ids[1]).await, full[2..]);
}
