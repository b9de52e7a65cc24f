//! Copies and bundles of what spec version 2 alone has.

use std::io::{self, Cursor};
use std::sync::Arc;

use futures::TryStreamExt;
use icefield_core::{BranchName, Repository, SnapshotId};
use icefield_format::{Availability, FeatureFlag, SpecVersion, UpdateKind, layout};
use icefield_maintenance::{
    BundleRepository, Check, ConfigAction, CopyError, CopyRepository, Expire, Policy, RefChoice,
    Unbundle,
};
use icefield_refs::{Edit, EditOutcome, Received, ReceivedBranch, RefsError};
use icefield_storage::Storage;
use icefield_testkit::{fixtures, stores};
use serde_json::json;

use super::{assert_same, copy, create, empty, is_copied, state};
use crate::source::Source;

const SPEC: SpecVersion = SpecVersion::V2;

async fn bundled(of: &Repository) -> Arc<dyn Storage> {
    let bundle = BundleRepository::new();
    let (_, file) = bundle.run(of, Vec::new(), &()).await.unwrap();
    let open = || Ok::<_, io::Error>(Cursor::new(file.clone()));
    let to = empty();
    let unbundle = Unbundle::new();
    unbundle.run(open, Arc::clone(&to), &()).await.unwrap();
    to
}

async fn operations(there: &Repository) -> Vec<UpdateKind> {
    let log = there.operations().await.unwrap();
    log.map_ok(|update| update.kind)
        .try_collect()
        .await
        .unwrap()
}

#[tokio::test]
async fn every_fixture_of_the_reference_is_copied_and_bundled_with_all_that_refs_reach() {
    for name in fixtures::names("v2-") {
        let from = empty();
        fixtures::load(&name, &from).await;
        let source = Repository::open(Arc::clone(&from)).await.unwrap();
        let copied = empty();
        let copy = CopyRepository::new();
        let report = copy.run(&source, Arc::clone(&copied), &()).await;
        let report = report.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(report.missing_logs, [], "{name}");
        let unbundled = bundled(&source).await;
        assert_same(&copied, &unbundled).await;
        let (ours, theirs) = (stores::dump(&from).await, stores::dump(&copied).await);
        assert_eq!(state(&ours), state(&theirs), "{name}");
        let own_log = layout::transaction_log_key(SnapshotId::INITIAL);
        for (key, bytes) in theirs {
            if is_copied(&key) && key != own_log {
                assert_eq!(ours.get(&key), Some(&bytes), "{name}: {key}");
            }
        }
        // All is there that a copy of the copy needs.
        let there = Repository::open(copied).await.unwrap();
        let again = CopyRepository::new().run(&there, empty(), &()).await;
        again.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    }
}

#[tokio::test]
async fn what_a_repository_says_of_itself_is_carried_where_there_is_none() {
    let source = Source::with_history_in(SPEC).await;
    let of = &source.repository;
    let metadata = [("title".to_owned(), json!("ocean"))];
    let set = of.set_metadata(metadata.into_iter().collect()).await;
    drop(set.unwrap());
    let off = FeatureFlag::CREATE_TAG;
    drop(of.set_feature_flag(off, Some(false)).await.unwrap());
    let _ = of
        .create_branch("a/b", source.tip("main").await)
        .await
        .unwrap();
    let to = empty();
    let report = copy(&source, &to).await.unwrap();
    assert_eq!(
        [report.config, report.metadata, report.flags],
        [ConfigAction::Copied; 3]
    );
    assert_same(&source.storage(), &to).await;
    assert_same(&source.storage(), &bundled(of).await).await;

    let there = source.elsewhere(&to).await.repository;
    let own = [("title".to_owned(), json!("mine"))];
    let set = there.set_metadata(own.into_iter().collect()).await;
    drop(set.unwrap());
    let report = copy(&source, &to).await.unwrap();
    assert_eq!(
        [report.config, report.metadata, report.flags],
        [
            ConfigAction::Unchanged,
            ConfigAction::Kept,
            ConfigAction::Unchanged
        ]
    );
    let forced = CopyRepository::new().force(true);
    let report = forced.run(of, Arc::clone(&to), &()).await.unwrap();
    assert_eq!(report.metadata, ConfigAction::Replaced);
    assert_same(&source.storage(), &to).await;
    // A name with a slash can be chosen.
    let some = CopyRepository::new().refs([RefChoice::parse("branch:a/b").unwrap()]);
    let report = some.run(of, empty(), &()).await.unwrap();
    assert_eq!(report.refs[0].name, "a/b");
}

#[tokio::test]
async fn the_log_of_a_copy_tells_what_was_done_there_in_one_write() {
    let source = Source::with_history_in(SPEC).await;
    let to = empty();
    copy(&source, &to).await.unwrap();
    assert_eq!(stores::keys_below(&to, "overwritten/").await.len(), 1);
    let there = Repository::open(Arc::clone(&to)).await.unwrap();
    let done = operations(&there).await;
    let name = |name: &str| name.to_owned();
    let (first, gone) = (name("first"), name("gone"));
    assert_eq!(
        done,
        [
            UpdateKind::ConfigChanged,
            UpdateKind::TagDeleted {
                name: gone,
                previous: SnapshotId::INITIAL
            },
            UpdateKind::TagCreated { name: first },
            UpdateKind::BranchReset {
                name: name("main"),
                previous: SnapshotId::INITIAL
            },
            UpdateKind::BranchCreated {
                name: name("odd {x} é")
            },
            UpdateKind::RepoInitialized,
        ]
    );
    // Later commits there have their place behind it.
    let mut own = Source::seeded_in(SPEC, 2).await;
    own.repository = there;
    own.commit("main", &[("/c", 1)]).await;
    assert_eq!(operations(&own.repository).await.len(), done.len() + 1);
}

#[tokio::test]
async fn a_status_belongs_to_a_place() {
    let source = Source::with_history_in(SPEC).await;
    let read_only = Availability::ReadOnly;
    let set = source.repository.set_status(read_only, None, None).await;
    drop(set.unwrap());
    let to = empty();
    copy(&source, &to).await.unwrap();
    let there = Repository::open(Arc::clone(&to)).await.unwrap();
    assert_eq!(
        there.status().await.unwrap().availability,
        Availability::Online
    );
    drop(there.set_status(read_only, None, None).await.unwrap());
    let before = stores::dump(&to).await;
    let error = copy(&source, &to).await.unwrap_err();
    assert!(
        matches!(
            error,
            CopyError::DestinationRefs(RefsError::NotOnline { .. })
        ),
        "{error:?}"
    );
    assert_eq!(stores::dump(&to).await, before);
}

#[tokio::test]
async fn logs_of_what_expired_come_with_what_names_them() {
    let source = Source::with_history_in(SPEC).await;
    let mut policy = Policy::default();
    policy.last = 1;
    let expired = Expire::new(policy).run(&source.repository, &()).await;
    assert!(expired.unwrap().plan.released() > 0);
    let tip = source.tip("main").await;
    let info = source.repository.snapshot_info(tip).await.unwrap();
    assert!(!info.pruned_logs.is_empty());
    let to = empty();
    copy(&source, &to).await.unwrap();
    for to in [to, bundled(&source.repository).await] {
        let there = Repository::open(Arc::clone(&to)).await.unwrap();
        assert_eq!(there.snapshot_info(tip).await.unwrap(), info);
        for id in &info.pruned_logs {
            there.transaction_log(*id).await.unwrap();
            let key = layout::snapshot_key(*id);
            assert!(!stores::keys(&to).await.contains(&key));
        }
    }
}

#[tokio::test]
async fn a_copy_has_the_version_of_its_source_or_a_later_one() {
    let old = Source::with_history().await;
    let to = empty();
    let newer = CopyRepository::new().spec_version(SPEC);
    let report = newer.run(&old.repository, Arc::clone(&to), &()).await;
    assert_eq!(report.unwrap().spec_version, 2);
    let there = Repository::open(Arc::clone(&to)).await.unwrap();
    let (ours, theirs) = (stores::dump(&old.storage()).await, stores::dump(&to).await);
    for (key, bytes) in ours {
        if key.contains('/') && !key.starts_with("refs/") && !key.starts_with("icefield/") {
            assert_eq!(theirs.get(&key), Some(&bytes), "{key}");
        }
    }
    let refs = there.refs().await.unwrap().require_understood().unwrap();
    let before = old.repository.refs().await.unwrap();
    assert_eq!(refs, before.require_understood().unwrap());
    assert_eq!(there.config().max_concurrent_requests, Some(7));
    // It goes on with files of both versions, and that is copied, too.
    old.commit("main", &[("/a", 9)]).await;
    newer
        .run(&old.repository, Arc::clone(&to), &())
        .await
        .unwrap();
    let mut mixed = Source::seeded_in(SPEC, 3).await;
    mixed.repository = there;
    mixed.commit("main", &[("/c", 1)]).await;
    let again = empty();
    copy(&mixed, &again).await.unwrap();
    assert_same(&to, &again).await;
    assert_same(&to, &bundled(&mixed.repository).await).await;

    let error = copy(&old, &to).await.unwrap_err();
    assert!(
        matches!(
            error,
            CopyError::OtherVersion {
                found: 2,
                wanted: 1,
                ..
            }
        ),
        "{error:?}"
    );
    let earlier = CopyRepository::new().spec_version(SpecVersion::V1);
    let error = earlier.run(&mixed.repository, empty(), &()).await;
    assert!(matches!(error, Err(CopyError::EarlierVersion)), "{error:?}");
    let first = empty();
    create(&first, SpecVersion::V1).await;
    let error = copy(&mixed, &first).await.unwrap_err();
    assert!(matches!(error, CopyError::OtherVersion { .. }), "{error:?}");
}

#[tokio::test]
async fn a_whole_copy_that_lands_after_a_short_one_brings_the_history_back() {
    let source = Source::with_history_in(SPEC).await;
    let (tip, main) = (source.tip("main").await, BranchName::main());
    let infos: Vec<_> = source.repository.ancestry(tip).try_collect().await.unwrap();
    let mut received = Received::default();
    received.branches.push(ReceivedBranch {
        name: main.clone(),
        target: tip,
        expected: Some(SnapshotId::INITIAL),
    });
    received.snapshots = infos.iter().rev().cloned().collect();
    // Both copies looked at the destination when it was new, and this one was the first.
    let to = empty();
    let short = CopyRepository::new().depth(1);
    let short = short.refs([RefChoice::parse("main").unwrap()]);
    let report = short.run(&source.repository, Arc::clone(&to), &()).await;
    assert_eq!(report.unwrap().shortened, [tip]);
    for (key, bytes) in stores::dump(&source.storage()).await {
        if ["snapshots/", "transactions/", "manifests/", "chunks/"]
            .iter()
            .any(|it| key.starts_with(it))
        {
            stores::put(&to, &key, bytes).await;
        }
    }
    let there = Repository::open(Arc::clone(&to)).await.unwrap();
    let apply = async || {
        let edit = Edit::Receive(Box::new(received.clone()));
        let outcome = there.ledger().apply(edit).await.unwrap();
        assert!(matches!(outcome, EditOutcome::Done(_)), "{outcome:?}");
        operations(&there).await
    };
    let done = apply().await;
    let told: Vec<_> = there.ancestry(tip).try_collect().await.unwrap();
    assert_eq!(told, infos);
    assert_eq!(done[0], UpdateKind::NewDetachedSnapshot { snapshot: tip });
    // A state that is as it should be needs no edit.
    assert_eq!(apply().await, done);
    let report = Check::new(to).run(&()).await.unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
}

#[tokio::test]
async fn refs_of_the_source_are_those_of_one_moment() {
    let source = Source::with_history_in(SPEC).await;
    let pinned = source.repository.pinned().await.unwrap();
    let before = source.tip("main").await;
    let after = source.commit("main", &[("/a", 9)]).await;
    let main = BranchName::main();
    let tip = pinned.ledger().resolve_branch(&main).await.unwrap();
    assert_eq!(tip.snapshot, before);
    assert!(pinned.ledger().snapshot(after).await.is_err());
    // The condition of its edit is the state that no longer holds.
    let refused = pinned.create_branch("same", before).await;
    assert!(refused.unwrap_err().to_string().contains("past state"));
    let refs = source.repository.refs().await.unwrap();
    assert!(!refs.branches.contains_key(&"same".parse().unwrap()));
    assert_eq!(source.tip("main").await, after);
}

#[tokio::test]
async fn a_snapshot_whose_ancestors_are_left_behind_names_no_logs_of_theirs() {
    let source = Source::with_history_in(SPEC).await;
    let mut policy = Policy::default();
    policy.last = 1;
    let expired = Expire::new(policy).run(&source.repository, &()).await;
    assert!(expired.unwrap().plan.released() > 0);
    let tip = source.tip("main").await;
    let info = source.repository.snapshot_info(tip).await.unwrap();
    assert!(!info.pruned_logs.is_empty());
    assert!(info.parent_id.is_some_and(|id| id != SnapshotId::INITIAL));
    let main = RefChoice::parse("branch:main").unwrap();
    let to = empty();
    let copy = CopyRepository::new().refs([main]).depth(1);
    let report = copy.run(&source.repository, Arc::clone(&to), &()).await;
    assert_eq!(report.unwrap().missing_logs, []);
    let there = Repository::open(Arc::clone(&to)).await.unwrap();
    let copied = there.snapshot_info(tip).await.unwrap();
    assert_eq!(copied.parent_id, Some(SnapshotId::INITIAL));
    assert_eq!(copied.pruned_logs, []);
    for id in &info.pruned_logs {
        let key = layout::transaction_log_key(*id);
        assert!(!stores::keys(&to).await.contains(&key));
    }
    let report = Check::new(to).run(&()).await.unwrap();
    assert!(report.is_sound(), "{report:#?}");
}

#[tokio::test]
async fn a_snapshot_that_is_listed_with_its_history_keeps_it() {
    let source = Source::with_history_in(SPEC).await;
    let to = empty();
    copy(&source, &to).await.unwrap();
    let there = source.elsewhere(&to).await.repository;
    let tip = source.tip("main").await;
    let before = there.snapshot_info(tip).await.unwrap();
    assert!(before.parent_id.is_some_and(|id| id != SnapshotId::INITIAL));
    let main = BranchName::main();
    let first = SnapshotId::INITIAL;
    drop(there.reset_branch(&main, first, None).await.unwrap());
    // Another branch has its parent, too.
    let odd: BranchName = "odd {x} é".parse().unwrap();
    drop(there.delete_branch(&odd).await.unwrap());
    let choice = RefChoice::parse("branch:main").unwrap();
    let shallow = CopyRepository::new().refs([choice]).depth(1).force(true);
    let done = shallow.run(&source.repository, Arc::clone(&to), &()).await;
    assert_eq!(done.unwrap().shortened, [tip]);
    let there = Repository::open(to).await.unwrap();
    let refs = there.refs().await.unwrap();
    assert_eq!(refs.branches[&main].as_ref().ok(), Some(&tip));
    assert_eq!(there.snapshot_info(tip).await.unwrap(), before);
}
