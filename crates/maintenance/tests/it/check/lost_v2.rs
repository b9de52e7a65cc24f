//! Spec version 2 when snapshots, backups or all of `repo` are lost: nothing moves to what was never a branch's, and nothing passes
//! for sound that is not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use icefield_core::{BranchName, SnapshotId};
use icefield_format::{
    NewRepoInfo, NewSnapshotInfo, OpsLog, RepoInfo, RepoStatus, SpecVersion, UpdateKind, Writer,
    layout,
};
use icefield_maintenance::{
    CheckError, FindingKind, Repair, RepairOutcome, RepairReport, Severity,
};
use icefield_testkit::stores;

use super::world::{NATIVE, World, set};

async fn world() -> World {
    World::of(SpecVersion::V2).await
}

async fn repaired(world: &World) -> RepairReport {
    let repair = Repair::new(world.check(), world.builder());
    repair.run(&()).await.expect("the store does not fail")
}

/// Two snapshots, one on top of the other and of commit 2, that no ref reaches.
async fn detached(world: &World) -> [SnapshotId; 2] {
    let repository = world.open().await;
    let side = BranchName::parse("side").expect("a name");
    let made = repository.create_branch("side", world.commits[1]).await;
    drop(made.expect("made"));
    let mut flushed = Vec::new();
    for index in [6, 7] {
        if let Some(last) = flushed.last() {
            let moved = repository.reset_branch(&side, *last, None).await;
            drop(moved.expect("moved"));
        }
        let session = repository.write_session(side.clone()).await;
        let session = session.expect("opens");
        world.clock.advance(Duration::from_secs(60));
        set(&session, "/g/a", &[index], vec![8; NATIVE]).await;
        flushed.push(session.flush("aside").await.expect("flushed"));
    }
    drop(repository.delete_branch(&side).await.expect("deleted"));
    let info = world.repo().await;
    let parents = flushed
        .iter()
        .map(|id| info.snapshots().get(id).expect("listed").parent_id());
    assert_eq!(
        parents.collect::<Vec<_>>(),
        [Some(world.commits[1]), Some(flushed[0])]
    );
    [flushed[0], flushed[1]]
}

#[tokio::test]
async fn a_branch_whose_tip_is_lost_moves_back_in_its_own_history_alone() {
    let world = world().await;
    detached(&world).await;
    let dev = BranchName::parse("dev").expect("a name");
    let deleted = world.open().await.delete_branch(&dev).await;
    drop(deleted.expect("deleted"));
    world.delete(&world.snapshot_key(3)).await;
    let report = repaired(&world).await;
    let two = world.commits[1];
    let proposal = &report.check.proposals[0];
    assert_eq!((&*proposal.branch, proposal.snapshot), ("main", Some(two)));
    let restored = &report.restored[0];
    assert_eq!(restored.outcome, RepairOutcome::Done { snapshot: two });
    assert_eq!(world.repo().await.branch("main"), Some(two));
    assert!(world.report().await.is_sound());
}

#[tokio::test]
async fn a_branch_of_which_nothing_of_its_own_is_left_moves_only_when_it_is_named() {
    let world = world().await;
    detached(&world).await;
    world.delete(&world.snapshot_key(3)).await;
    let (three, two) = (world.commits[2], world.commits[1]);
    let report = repaired(&world).await;
    assert_eq!(report.check.proposals[0].snapshot, Some(two));
    let outcome = &report.restored[0].outcome;
    assert!(
        matches!(outcome, RepairOutcome::Failed { .. }),
        "{outcome:?}"
    );
    assert_eq!(world.repo().await.branch("main"), Some(three));
    let named = Repair::new(world.check(), world.builder()).restore_branch(BranchName::main());
    let report = named.run(&()).await.expect("the store does not fail");
    assert_eq!(
        report.restored[0].outcome,
        RepairOutcome::Done { snapshot: two }
    );
    assert_eq!(world.repo().await.branch("main"), Some(two));
    assert!(world.report().await.is_sound());
}

#[tokio::test]
async fn a_repo_of_a_newer_version_does_not_give_way_to_an_old_backup() {
    let world = world().await;
    let newest = stores::keys_below(&world.storage, "overwritten/")
        .await
        .remove(0);
    let mut file = stores::read(&world.storage, &newest).await.to_vec();
    file[36] = 9;
    world.put(&newest, file).await;
    world.delete("repo").await;
    let before = stores::dump(&world.storage).await;
    let checked = world.check().run(&()).await;
    assert!(
        matches!(checked, Err(CheckError::NewerSpecVersion { .. })),
        "{checked:?}"
    );
    let repair = Repair::new(world.check(), world.builder()).run(&()).await;
    drop(repair.expect_err("it is refused"));
    assert_eq!(stores::dump(&world.storage).await, before);
}

#[tokio::test]
async fn damage_of_detached_snapshots_is_a_warning_and_all_of_them_are_counted() {
    // Whichever of the two the list names first.
    let sound = world().await;
    detached(&sound).await;
    let report = sound.report().await;
    assert_eq!(
        (report.damage, report.warnings, report.detached),
        (0, 0, 2),
        "{report:#?}"
    );
    for what in ["parent", "manifest", "chunk"] {
        let world = world().await;
        let before = stores::keys(&world.storage).await;
        let [lower, _] = detached(&world).await;
        let mut came = stores::keys(&world.storage).await;
        came.retain(|key| !before.contains(key));
        let below = |prefix: &str| {
            came.iter()
                .find(|key| key.starts_with(prefix))
                .expect("one")
                .clone()
        };
        let key = match what {
            "parent" => layout::snapshot_key(lower),
            "manifest" => below("manifests/"),
            _ => below("chunks/"),
        };
        world.delete(&key).await;
        let report = world.report().await;
        assert_eq!(report.damage, 0, "{what}: {report:#?}");
        let named = report.findings.iter().find(|it| it.key == key);
        let named = named.unwrap_or_else(|| panic!("{what} is not named: {report:#?}"));
        assert_eq!(named.severity, Severity::Warning, "{what}");
        assert_eq!(named.kind, FindingKind::DetachedBroken, "{what}");
    }
    // Missing objects that a ref needs are damage, too.
    let world = world().await;
    detached(&world).await;
    world.delete(&world.chunk_key(2, "/g/a", &[2]).await).await;
    assert_eq!(world.report().await.kinds[&FindingKind::ChunkMissing], 1);
}

#[tokio::test]
async fn a_repo_that_was_made_anew_beside_what_was_there_is_no_sound_one() {
    let world = world().await;
    assert!(world.report().await.is_sound());
    // Another program made one of what it found there.
    let before = world.repo().await;
    let nothing = BTreeMap::new();
    let ids = [SnapshotId::INITIAL, world.commits[0]];
    let listed = ids.map(|id| before.snapshots().get(&id).expect("listed"));
    let snapshots = listed.iter().map(|it| NewSnapshotInfo {
        id: it.id(),
        parent: it.parent_id(),
        flushed_at: it.flushed_at(),
        message: it.message(),
        metadata: &nothing,
        pruned_ancestor_tx_logs: &[],
    });
    let at = before.log().newest_at() + 1_000_000;
    let info = RepoInfo::new(NewRepoInfo {
        snapshots: snapshots.collect(),
        branches: BTreeMap::from([("main".to_owned(), ids[1])]),
        tags: BTreeMap::new(),
        deleted_tags: BTreeSet::new(),
        status: RepoStatus::online(0),
        metadata: BTreeMap::new(),
        config: None,
        log: OpsLog::new([(UpdateKind::RepoInitialized, at)]).expect("one entry"),
    });
    let bytes = info.expect("fits").encode(&Writer::default());
    world.put("repo", bytes.expect("encoded")).await;
    let report = world.report().await;
    assert_eq!(
        report.kinds.get(&FindingKind::RepoAnew),
        Some(&1),
        "{report:#?}"
    );
    assert!(!report.is_sound());
    let oldest = stores::keys_below(&world.storage, "overwritten/")
        .await
        .pop();
    let named = report
        .findings
        .iter()
        .find(|it| it.kind == FindingKind::RepoAnew);
    assert_eq!(named.map(|it| it.key.clone()), oldest);
}
