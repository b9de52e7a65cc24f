//! Which refs move, and which do not.

use std::sync::Arc;

use icefield_core::{Repository, RepositoryConfig, SnapshotId};
use icefield_format::SpecVersion;
use icefield_maintenance::{
    ConfigAction, CopyError, CopyReport, CopyRepository, RefAction, RefChoice,
};
use icefield_testkit::stores;

use super::{assert_same, builder, copy, empty};
use crate::source::Source;

fn action(report: &CopyReport, kind: &str, name: &str) -> RefAction {
    let mut refs = report.refs.iter();
    refs.find(|it| it.kind == kind && it.name == name)
        .unwrap()
        .action
}

/// A copy that had a commit of its own since.
async fn diverged(source: &Source) -> (Source, SnapshotId) {
    let to = empty();
    copy(source, &to).await.unwrap();
    let other = source.elsewhere(&to).await;
    let own = other.commit("main", &[("/c", 0)]).await;
    (other, own)
}

versions!(
    a_branch_with_commits_of_its_own_is_refused_by_name_before_anything_is_copied,
    a_destination_that_is_ahead_is_refused,
    tags_never_move_and_what_was_deleted_stays_deleted,
    only_named_refs_are_copied_and_what_they_need,
    another_configuration_stays_unless_it_is_forced,
);

async fn a_branch_with_commits_of_its_own_is_refused_by_name_before_anything_is_copied(
    spec: SpecVersion,
) {
    let source = Source::with_history_in(spec).await;
    let (other, own) = diverged(&source).await;
    let to = Arc::clone(other.repository.storage());
    let before = stores::dump(&to).await;
    source.commit("main", &[("/a", 6)]).await;
    let error = copy(&source, &to).await.unwrap_err();
    assert!(matches!(error, CopyError::Diverged { .. }), "{error:?}");
    let said = error.to_string();
    assert!(
        said.contains("branch main") && said.contains(&own.to_string()),
        "{said}"
    );
    assert!(!said.contains("odd"), "{said}");
    assert_eq!(stores::dump(&to).await, before);

    // The others can be copied, and main can be moved by force.
    let some = CopyRepository::new().refs([RefChoice::parse("odd {x} é").unwrap()]);
    let report = some
        .run(&source.repository, Arc::clone(&to), &())
        .await
        .unwrap();
    assert_eq!(action(&report, "branch", "odd {x} é"), RefAction::Unchanged);
    let forced = CopyRepository::new().force(true);
    let report = forced
        .run(&source.repository, Arc::clone(&to), &())
        .await
        .unwrap();
    assert_eq!(action(&report, "branch", "main"), RefAction::Forced);
    let there = Repository::open(to).await.unwrap();
    assert_eq!(
        there
            .ledger()
            .branch(&"main".parse().unwrap())
            .await
            .unwrap()
            .unwrap()
            .snapshot,
        source.tip("main").await
    );
}

async fn a_destination_that_is_ahead_is_refused(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let (other, own) = diverged(&source).await;
    let error = copy(&source, other.repository.storage()).await.unwrap_err();
    assert!(error.to_string().contains(&own.to_string()), "{error}");
}

async fn tags_never_move_and_what_was_deleted_stays_deleted(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let to = empty();
    copy(&source, &to).await.unwrap();
    let there = Repository::open(Arc::clone(&to)).await.unwrap();
    let _ = there.delete_tag(&"first".parse().unwrap()).await.unwrap();
    source.tag("second", "main").await;
    let _ = there
        .create_tag("second", SnapshotId::INITIAL)
        .await
        .unwrap();
    for force in [false, true] {
        let copy = CopyRepository::new().force(force);
        let error = copy
            .run(&source.repository, Arc::clone(&to), &())
            .await
            .unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains("tag second") && !said.contains("first"),
            "{said}"
        );
    }
    let _ = source
        .repository
        .delete_tag(&"second".parse().unwrap())
        .await
        .unwrap();
    let report = copy(&source, &to).await.unwrap();
    assert_eq!(action(&report, "tag", "first"), RefAction::StaysDeleted);
    assert_eq!(action(&report, "tag", "second"), RefAction::StaysPresent);
    assert_eq!(action(&report, "tag", "gone"), RefAction::Unchanged);
}

async fn only_named_refs_are_copied_and_what_they_need(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let to = empty();
    let copy = CopyRepository::new().refs([RefChoice::parse("tag:first").unwrap()]);
    let report = copy
        .run(&source.repository, Arc::clone(&to), &())
        .await
        .unwrap();
    assert_eq!((report.refs.len(), report.chunks.objects), (1, 2));
    let there = Repository::open(Arc::clone(&to)).await.unwrap();
    let refs = there.refs().await.unwrap();
    let tags: Vec<_> = refs.tags.keys().map(|name| name.as_str()).collect();
    assert_eq!((refs.branches.len(), tags), (1, vec!["first"]));
    let main = there
        .ledger()
        .branch(&"main".parse().unwrap())
        .await
        .unwrap();
    assert_eq!(main.unwrap().snapshot, SnapshotId::INITIAL);
    // A bare name is a branch, then a tag.
    for name in ["first", "tag:first"] {
        let copy = CopyRepository::new().refs([RefChoice::parse(name).unwrap()]);
        let report = copy
            .run(&source.repository, Arc::clone(&to), &())
            .await
            .unwrap();
        assert_eq!(action(&report, "tag", "first"), RefAction::Unchanged);
    }
    for name in ["none", "tag:main", "branch:first", "tag:gone"] {
        let copy = CopyRepository::new().refs([RefChoice::parse(name).unwrap()]);
        let error = copy
            .run(&source.repository, Arc::clone(&to), &())
            .await
            .unwrap_err();
        assert!(
            matches!(error, CopyError::NoSuchRef { .. }),
            "{name}: {error:?}"
        );
    }
    // The rest comes with a copy of everything.
    super::copy(&source, &to).await.unwrap();
    assert_same(&source.storage(), &to).await;
}

async fn another_configuration_stays_unless_it_is_forced(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let to = empty();
    let config = RepositoryConfig {
        max_concurrent_requests: Some(3),
        ..RepositoryConfig::default()
    };
    let builder = builder(&to, spec).config(config);
    builder.create().await.unwrap();
    let report = copy(&source, &to).await.unwrap();
    assert!(!report.created);
    assert_eq!(report.config, ConfigAction::Kept);
    let stored = || async {
        let there = Repository::open(Arc::clone(&to)).await.unwrap();
        there.stored_config().max_concurrent_requests
    };
    assert_eq!(stored().await, Some(3));
    let forced = CopyRepository::new().force(true);
    let report = forced
        .run(&source.repository, Arc::clone(&to), &())
        .await
        .unwrap();
    assert_eq!(report.config, ConfigAction::Replaced);
    assert_eq!(stored().await, Some(7));
}

#[tokio::test]
async fn a_damaged_ref_of_the_destination_is_replaced_only_by_force() {
    let source = Source::with_history().await;
    let to = empty();
    copy(&source, &to).await.unwrap();
    stores::put(&to, "refs/branch.main/ref.json", "{").await;
    let error = copy(&source, &to).await.unwrap_err();
    assert!(error.to_string().contains("branch main"), "{error}");
    let forced = CopyRepository::new().force(true);
    forced
        .run(&source.repository, Arc::clone(&to), &())
        .await
        .unwrap();
    assert_same(&source.storage(), &to).await;
}
