//! The effect of a repair on each of the planted damages, and the findings of a check afterwards.

use icefield_format::SpecVersion;
use icefield_maintenance::{FindingKind, LogOutcome, Repair, RepairOutcome, RepairReport};
use icefield_testkit::stores;

use super::damages::{ALL, Planted, of_version, plant};
use super::world::World;

/// The effect of a repair on a damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Nothing of it is left anywhere: a check finds nothing.
    Mended,
    /// A commit corrects it, and nothing is lost; only the past still shows it.
    Corrected,
    /// A commit leaves out what cannot be had; only the past, and tags, still show it.
    Dropped,
    /// Nothing is written, and the check names it.
    Left,
}

use Fate::*;

const FATES: &[(&str, Fate)] = &[
    ("a branch's file is empty", Mended),
    ("a branch's file is no JSON", Mended),
    ("a tag's file names no id", Left),
    ("a branch points to a missing snapshot", Mended),
    ("a tag points to a missing snapshot", Left),
    ("main is missing", Left),
    ("a tombstone has bytes", Left),
    ("a tombstone has no tag", Left),
    ("the configuration is no YAML", Left),
    ("the configuration is empty", Left),
    ("there is an object repo", Left),
    ("the tip of a branch is missing", Left),
    ("a snapshot in between is missing", Left),
    ("a snapshot is empty", Left),
    ("a snapshot is truncated", Left),
    ("a snapshot has another magic", Left),
    ("a snapshot is of a newer version", Left),
    ("a snapshot is a manifest", Left),
    ("a snapshot is another snapshot", Left),
    ("a snapshot is its own parent", Left),
    ("two snapshots are each other's parent", Left),
    ("a snapshot is as old as its parent", Left),
    ("a history begins elsewhere", Left),
    ("nodes are out of order", Left),
    ("a node id is there twice", Left),
    ("a path is there twice", Left),
    ("a path is none", Left),
    ("a manifest is used and not listed", Left),
    ("commit metadata is no MessagePack", Left),
    ("zarr.json is no JSON", Left),
    ("zarr.json is of a group", Left),
    ("zarr.json is of an array", Left),
    ("the recorded shape is another", Left),
    ("the recorded rank is another", Left),
    ("the recorded names are others", Left),
    ("a group is missing", Corrected),
    ("a node is below an array", Dropped),
    ("a manifest is missing", Dropped),
    ("a manifest is truncated", Dropped),
    ("a manifest is another manifest", Dropped),
    ("a manifest's size is another", Left),
    ("a manifest's count is another", Left),
    ("a manifest's refs are out of order", Dropped),
    ("a manifest's ranges overflow", Dropped),
    ("a manifest is listed and not used", Left),
    ("a manifest has refs of no array", Left),
    ("extents are too small", Corrected),
    ("extents are too large", Corrected),
    ("extents overlap", Corrected),
    ("a chunk is in two manifests", Left),
    ("a chunk is outside the grid", Left),
    ("a chunk has another rank", Left),
    ("a chunk object is missing", Dropped),
    ("a chunk object is too short", Dropped),
    ("a part of a packed object is behind its end", Dropped),
    ("a virtual location is none", Left),
    ("no container covers a virtual chunk", Left),
    ("a log is missing", Mended),
    ("a log is truncated", Mended),
    ("a log is of another snapshot", Mended),
    ("a log keeps a chunk quiet", Mended),
    ("a log keeps a new node quiet", Mended),
    ("a log keeps an update quiet", Mended),
    ("a log tells of a node that never was", Left),
    ("a log tells of chunks of no array", Left),
    ("a stray lies at the root", Left),
    ("a stray lies among the refs", Left),
    ("a stray lies among the chunks", Left),
    ("an id is spelt in lower case", Left),
];

fn fate(before: &RepairReport, changed: bool, kinds: &[FindingKind], shown: bool) -> Fate {
    let done = |it: &RepairOutcome| matches!(it, RepairOutcome::Done { .. });
    let restored = before.restored.iter().any(|it| done(&it.outcome));
    let logs = before.logs.iter().any(|it| it.outcome == LogOutcome::Done);
    let drops = before.branches.iter().filter(|it| done(&it.outcome));
    let (mut dropped, mut corrected) = (false, false);
    for branch in drops {
        corrected = true;
        dropped |= !branch.dropped_nodes.is_empty();
        dropped |= branch.arrays.iter().any(|it| {
            !(it.chunks.is_empty() && it.virtual_chunks.is_empty() && it.manifests.is_empty())
        });
    }
    assert_eq!(changed, restored || logs || corrected);
    match (kinds.is_empty(), changed) {
        (true, true) => Mended,
        (_, false) => Left,
        // Something beside it was mended, a log for instance.
        (false, true) if shown || !corrected => Left,
        (false, true) if dropped => Dropped,
        (false, true) => Corrected,
    }
}

#[tokio::test]
async fn each_planted_damage_is_mended_dropped_or_left_and_named() {
    let mut wrong = Vec::new();
    let versions = [SpecVersion::V1, SpecVersion::V2];
    let all = versions.into_iter();
    for (spec, what) in all.flat_map(|spec| of_version(spec).map(move |what| (spec, what))) {
        let world = World::of(spec).await;
        let Planted(kind, key, _) = plant(what, &world).await;
        let before = stores::dump(&world.storage).await;
        let repair = Repair::new(world.check(), world.builder());
        let planned = repair.clone().dry_run().run(&()).await;
        planned.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(stores::dump(&world.storage).await, before, "{what}");
        let report = repair.run(&()).await.expect("the store does not fail");
        let changed = stores::dump(&world.storage).await != before;
        let after = world.report().await;
        let notes = [FindingKind::VirtualCounted, FindingKind::Garbage];
        let kinds = after.kinds.keys().filter(|kind| !notes.contains(kind));
        let kinds: Vec<FindingKind> = kinds.copied().collect();
        let named = after.findings.iter();
        let named: Vec<_> = named
            .filter(|it| it.kind == kind && it.key == key)
            .collect();
        let mut shown = named.iter().flat_map(|it| &it.tips);
        let shown = shown.any(|tip| tip.starts_with("branch:"));
        let found = fate(&report, changed, &kinds, shown);
        assert!(found != Left || !named.is_empty(), "{what}: {after:#?}");
        // Whatever it was, the next repair finds nothing to do.
        let now = stores::dump(&world.storage).await;
        let again = Repair::new(world.check(), world.builder()).run(&()).await;
        again.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(stores::dump(&world.storage).await, now, "{what}");
        let expected = FATES.iter().find(|it| it.0 == what).map(|it| it.1);
        if expected != Some(found) {
            wrong.push(format!(
                "({what:?}, {found:?}), // {spec:?}, not {expected:?} {kinds:?} {:?}",
                report.logs
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert_eq!(FATES.len(), ALL.len());
}

#[tokio::test]
async fn a_log_that_tells_more_than_happened_goes_on_telling_it_when_it_is_mended() {
    let world = World::new().await;
    let (a, v) = (
        world.node_of(3, "/g/a").await,
        world.node_of(3, "/g/v").await,
    );
    // As a thinning leaves it, but for the chunk 4 of /g/a, which it keeps quiet.
    let write = |log: &mut icefield_format::TransactionLogEncoder| {
        let mut told = [(a, 2), (v, 1)];
        told.sort_unstable();
        for (node, index) in told {
            log.begin_chunks(node).expect("sorted");
            log.push_chunk(&[index]).expect("sorted");
        }
    };
    world.write_log(3, write).await;
    let report = Repair::new(world.check(), world.builder()).run(&()).await;
    let report = report.expect("the store does not fail");
    assert_eq!(report.logs[0].outcome, LogOutcome::Done, "{report:#?}");
    let mut told: Vec<(_, Vec<u32>)> = Vec::new();
    for array in world.log(3).await.updated_chunks() {
        told.extend(
            array
                .chunks()
                .map(|index| (array.node_id(), index.to_vec())),
        );
    }
    told.sort();
    let mut expected = vec![(a, vec![2]), (a, vec![4]), (v, vec![1])];
    expected.sort();
    assert_eq!(told, expected);
    assert!(world.report().await.is_sound());
}

#[tokio::test]
async fn an_intact_log_is_not_written_and_one_of_a_newer_version_is_left() {
    let world = World::new().await;
    let before = stores::dump(&world.storage).await;
    let repository = world.open().await;
    for id in &world.commits {
        let done = repository.mend_log(*id).await.expect("readable");
        assert!(matches!(done, icefield_core::EditOutcome::Done(None)));
    }
    assert_eq!(stores::dump(&world.storage).await, before);
    let key = world.log_key(2);
    let mut file = stores::read(&world.storage, &key).await.to_vec();
    file[36] = 9;
    world.put(&key, file.clone()).await;
    let report = Repair::new(world.check(), world.builder()).run(&()).await;
    let report = report.expect("the store does not fail");
    assert!(
        matches!(report.logs[0].outcome, LogOutcome::Failed { .. }),
        "{report:#?}"
    );
    assert_eq!(report.left.len(), 1);
    assert_eq!(stores::read(&world.storage, &key).await, file);
}

#[tokio::test]
async fn a_log_that_is_put_back_while_it_is_mended_stays() {
    use icefield_storage::wrap::FaultyStorage;
    use icefield_storage::wrap::fault::{Decision, Delivery, Matcher, Plan, Verb};
    let world = World::new().await;
    let key = world.log_key(2);
    let good = stores::read(&world.storage, &key).await;
    world.delete(&key).await;
    // The write is held back until another writer has written.
    let plan = Plan::none().always(
        Matcher::verb(Verb::Put).below("transactions"),
        Decision::Late(Delivery::OnDemand),
    );
    let faulty = FaultyStorage::new(std::sync::Arc::clone(&world.storage), plan);
    let storage: std::sync::Arc<dyn icefield_storage::Storage> =
        std::sync::Arc::new(faulty.clone());
    let builder = icefield_core::Repository::builder(std::sync::Arc::clone(&storage));
    let check = icefield_maintenance::Check::new(storage);
    let report = Repair::new(check, builder).run(&()).await;
    let report = report.expect("the store does not fail");
    assert!(
        matches!(report.logs[0].outcome, LogOutcome::Unknown { .. }),
        "{report:#?}"
    );
    world.put(&key, good.clone()).await;
    faulty.deliver_pending().await;
    assert_eq!(stores::read(&world.storage, &key).await, good);
}
