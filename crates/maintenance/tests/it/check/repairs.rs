//! Repairs: after one, the branch is clean, what was dropped is told exactly, and all else reads as before.

use std::collections::BTreeMap;
use std::sync::Arc;

use icefield_core::{
    BranchName, ByteRange, Interrupt, NodeKind, Repository, SeededEntropy, SessionError, SnapshotId,
};
use icefield_format::{ChunkRef, Extents, SpecVersion, layout};
use icefield_maintenance::{
    BranchRepair, Check, CheckError, FindingKind, REPAIR_METADATA, Repair, RepairError,
    RepairOutcome, RepairReport,
};
use icefield_storage::Storage;
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::{Decision, Matcher, Plan, Verb};
use icefield_testkit::forge::{chunk_id, manifest_id};
use icefield_testkit::stores;

use super::damages::{self, plant};
use super::world::{Node, World, array, path};
use crate::interrupted::After;

/// The chunks of all arrays at a snapshot, as bytes or as an error; and the documents of all nodes.
async fn content(
    repository: &Repository,
    id: SnapshotId,
) -> (
    BTreeMap<String, String>,
    BTreeMap<String, Result<Option<Vec<u8>>, String>>,
) {
    let session = repository.read_session(id).await.expect("opens");
    let snapshot = repository.snapshot(id).await.expect("readable");
    let (mut nodes, mut chunks) = (BTreeMap::new(), BTreeMap::new());
    for record in snapshot.nodes() {
        let document = String::from_utf8_lossy(record.user_data()).into_owned();
        nodes.insert(record.path().to_owned(), document);
        if record.kind() != NodeKind::Array {
            continue;
        }
        let shape: Vec<u64> = record
            .array()
            .expect("an array")
            .shape()
            .map(|it| it.array_length)
            .collect();
        let indices: Vec<Vec<u32>> = match shape[..] {
            [length] => (0..length as u32).map(|at| vec![at]).collect(),
            _ => vec![Vec::new()],
        };
        for index in indices {
            let read = session
                .chunk(&record.node_path(), &index, ByteRange::All)
                .await;
            let read = read.map(|it| it.map(|bytes| bytes.to_vec()));
            let read = read.map_err(|error: SessionError| error.to_string());
            chunks.insert(format!("{} {index:?}", record.path()), read);
        }
    }
    (nodes, chunks)
}

/// Where the store has what main points to.
fn ref_of_main() -> &'static str {
    match icefield_testkit::versions::spec() {
        SpecVersion::V1 => "refs/branch.main",
        _ => "repo",
    }
}

fn repair(world: &World) -> Repair {
    Repair::new(world.check(), world.builder())
}

async fn run(repair: Repair) -> RepairReport {
    repair.run(&()).await.expect("the store does not fail")
}

async fn tip(world: &World, branch: &str) -> SnapshotId {
    let name = BranchName::parse(branch).expect("a name");
    let refs = world.open().await.refs().await.expect("listed");
    *refs.branches[&name].as_ref().expect("it points somewhere")
}

/// Whether what a branch points to now is clean.
async fn assert_clean(world: &World, branch: &str) {
    let id = tip(world, branch).await;
    let check = world.check().only(branch, id).tips_only();
    let check = check.virtual_chunks(world.open().await);
    let report = check.run(&()).await.expect("checked");
    assert!(
        report.is_sound() && report.warnings == 0,
        "{branch}: {report:#?}"
    );
}

fn of<'a>(report: &'a RepairReport, branch: &str) -> &'a BranchRepair {
    let found = report.branches.iter().find(|it| it.branch == branch);
    found.unwrap_or_else(|| panic!("no repair of {branch}: {report:#?}"))
}

/// The losses of main by each damage: chunks by array, manifests by array, nodes, and groups that are made.
type Lost = (
    &'static [(&'static str, &'static [u32])],
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
);

const REPAIRABLE: &[(&str, Lost)] = &[
    (
        "a chunk object is missing",
        (&[("/g/a", &[2])], &[], &[], &[]),
    ),
    (
        "a chunk object is too short",
        (&[("/g/a", &[4])], &[], &[], &[]),
    ),
    (
        "a part of a packed object is behind its end",
        (&[("/g/a", &[7])], &[], &[], &[]),
    ),
    ("a manifest is missing", (&[], &["/g/a"], &[], &[])),
    ("a manifest is truncated", (&[], &["/g/a"], &[], &[])),
    ("a manifest is another manifest", (&[], &["/g/a"], &[], &[])),
    ("a manifest's ranges overflow", (&[], &["/g/a"], &[], &[])),
    ("a group is missing", (&[], &[], &[], &["/g"])),
    ("a node is below an array", (&[], &[], &["/g/a/below"], &[])),
];

icefield_testkit::both_versions!(
    interrupted_anywhere_each_branch_is_as_it_was_or_repaired_and_running_again_ends_it
);
async fn interrupted_anywhere_each_branch_is_as_it_was_or_repaired_and_running_again_ends_it() {
    let mut repaired = [0; 3];
    for calls in 0.. {
        let world = World::new().await;
        plant("a chunk object is missing", &world).await;
        let before = [tip(&world, "main").await, tip(&world, "dev").await];
        let interrupt = Interrupt::new();
        let progress = After::calls(calls, &interrupt);
        let interruptible = Repair::new(world.check().interruptible(&interrupt), world.builder());
        let ended = interruptible.run(&progress).await;
        let mut done = 0;
        for (branch, before) in ["main", "dev"].into_iter().zip(before) {
            if tip(&world, branch).await != before {
                done += 1;
                assert_clean(&world, branch).await;
            }
        }
        repaired[done] += 1;
        match &ended {
            Ok(_) => assert_eq!(done, 2, "{calls}"),
            Err(RepairError::Check(CheckError::Interrupted(_))) => assert_eq!(done, 0, "{calls}"),
            Err(RepairError::Interrupted(_)) => {}
            Err(error) => panic!("{calls}: {error:?}"),
        }
        // Another process, with ids of its own.
        let builder = world.builder().entropy(Arc::new(SeededEntropy::new(77)));
        run(Repair::new(world.check(), builder)).await;
        assert_clean(&world, "main").await;
        assert_clean(&world, "dev").await;
        if ended.is_ok() {
            break;
        }
    }
    assert!(repaired.iter().all(|times| *times > 0), "{repaired:?}");
}

icefield_testkit::both_versions!(a_repaired_branch_is_clean_and_what_was_dropped_is_told_exactly);
async fn a_repaired_branch_is_clean_and_what_was_dropped_is_told_exactly() {
    for (what, (chunks, manifests, nodes, groups)) in REPAIRABLE {
        let world = World::new().await;
        plant(what, &world).await;
        let before_tip = tip(&world, "main").await;
        let before = content(&world.open().await, before_tip).await;
        let objects_before = stores::dump(&world.storage).await;

        let planned = run(repair(&world).dry_run()).await;
        assert_eq!(
            of(&planned, "main").outcome,
            RepairOutcome::Planned,
            "{what}"
        );
        assert_eq!(
            stores::dump(&world.storage).await,
            objects_before,
            "{what}: a dry run wrote"
        );

        let report = run(repair(&world)).await;
        let done = of(&report, "main");
        let RepairOutcome::Done { snapshot } = done.outcome else {
            panic!("{what}: {done:#?}");
        };
        assert_eq!(
            (snapshot, done.from),
            (tip(&world, "main").await, before_tip),
            "{what}"
        );
        assert_clean(&world, "main").await;
        let told: Vec<(&str, &[u32])> = (done.arrays.iter())
            .flat_map(|it| it.chunks.iter().map(|index| (&*it.path, &index[..])))
            .collect();
        assert_eq!(told, *chunks, "{what}");
        let robbed = done.arrays.iter().filter(|it| !it.manifests.is_empty());
        assert_eq!(
            robbed.map(|it| &*it.path).collect::<Vec<_>>(),
            *manifests,
            "{what}"
        );
        assert_eq!(
            (&done.dropped_nodes[..], &done.created_groups[..]),
            (
                &nodes.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()[..],
                &groups.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()[..],
            ),
            "{what}"
        );

        // Nothing is gone or changed but the branch's ref, and a log that did not tell what was planted.
        let after = stores::dump(&world.storage).await;
        for (key, bytes) in &objects_before {
            let is_ref = key.starts_with(ref_of_main()) || key.starts_with("refs/branch.");
            let is_ref = is_ref || key.starts_with("transactions/");
            assert!(
                is_ref || after.get(key) == Some(bytes),
                "{what}: {key} changed"
            );
        }

        // Readable chunks read the same; unreadable ones are absent now.
        let (nodes_now, chunks_now) = content(&world.open().await, snapshot).await;
        for (at, document) in &before.0 {
            match nodes.contains(&&**at) {
                true => assert!(!nodes_now.contains_key(at), "{what}: {at}"),
                false => assert_eq!(nodes_now.get(at), Some(document), "{what}: {at}"),
            }
        }
        for (at, read) in &before.1 {
            let now = chunks_now.get(at);
            match read {
                _ if nodes.iter().any(|node| at.starts_with(node)) => assert_eq!(now, None),
                Ok(bytes) => assert_eq!(now, Some(&Ok(bytes.clone())), "{what}: {at}"),
                Err(_) => assert_eq!(now, Some(&Ok(None)), "{what}: {at}"),
            }
        }

        // The commit says it, too; and its log agrees with what changed.
        let history = world.open().await;
        let stored = history.snapshot(snapshot).await.expect("readable");
        assert!(stored.message().starts_with("Repair: "), "{what}");
        let metadata = stored.metadata().expect("readable");
        let said = &metadata[REPAIR_METADATA];
        assert_eq!(
            said["arrays"].as_array().map(Vec::len),
            Some(done.arrays.len()),
            "{what}"
        );
        assert_eq!(said["dropped_nodes"], serde_json::json!(nodes), "{what}");
        let all = world.report().await;
        let about_it = all
            .findings
            .iter()
            .filter(|it| it.snapshot == Some(snapshot));
        assert_eq!(about_it.count(), 0, "{what}: {all:#?}");
        assert!(
            report
                .left
                .iter()
                .all(|it| !it.tips.contains(&"branch:main".to_owned())),
            "{what}: {:#?}",
            report.left
        );
    }
}

icefield_testkit::both_versions!(each_branch_that_shows_a_damage_is_repaired_and_a_tag_is_left);
async fn each_branch_that_shows_a_damage_is_repaired_and_a_tag_is_left() {
    let world = World::new().await;
    world.delete(&world.chunk_key(3, "/w", &[]).await).await;
    let report = run(repair(&world)).await;
    let names: Vec<&str> = report.branches.iter().map(|it| &*it.branch).collect();
    assert_eq!(names, ["dev", "main"]);
    for branch in names {
        assert_clean(&world, branch).await;
    }
    let [left] = &report.left[..] else {
        panic!("{:#?}", report.left);
    };
    assert_eq!(
        (left.kind, &left.tips[..]),
        (
            FindingKind::ChunkMissing,
            &["branch:dev", "branch:main", "tag:v1"].map(str::to_owned)[..]
        )
    );
    // Another one has nothing to do.
    let again = run(repair(&world)).await;
    assert!(again.branches.is_empty());
    assert_eq!(again.left[0].tips, ["tag:v1"]);
}

icefield_testkit::both_versions!(an_undamaged_repository_is_left_alone);
async fn an_undamaged_repository_is_left_alone() {
    let world = World::new().await;
    let before = stores::dump(&world.storage).await;
    let report = run(repair(&world)).await;
    assert!(report.branches.is_empty() && report.restored.is_empty() && report.left.is_empty());
    assert_eq!(stores::dump(&world.storage).await, before);
}

icefield_testkit::both_versions!(virtual_chunks_are_dropped_only_when_that_is_asked_for);
async fn virtual_chunks_are_dropped_only_when_that_is_asked_for() {
    let world = World::new().await;
    stores::delete(&world.archive, "two").await;
    let check = async || world.check().virtual_chunks(world.open().await);
    let kept = run(Repair::new(check().await, world.builder())).await;
    assert!(kept.branches.is_empty(), "{kept:#?}");
    assert_eq!(kept.left.len(), 1);
    let dropped = run(Repair::new(check().await, world.builder()).drop_virtual_chunks()).await;
    let main = of(&dropped, "main");
    assert_eq!(main.arrays.len(), 1);
    assert_eq!(
        (&*main.arrays[0].path, &main.arrays[0].virtual_chunks[..]),
        ("/g/v", &[vec![2]][..])
    );
    assert!(dropped.left.is_empty(), "{:#?}", dropped.left);
    assert_clean(&world, "main").await;
}

icefield_testkit::both_versions!(an_array_with_a_lost_manifest_keeps_the_refs_of_its_others);
async fn an_array_with_a_lost_manifest_keeps_the_refs_of_its_others() {
    let world = World::new().await;
    let node = world.node_of(3, "/g/a").await;
    let chunks: &[(&[u32], ChunkRef<'_>)] = &[(&[6], ChunkRef::Inline(b"kept"))];
    let info = world
        .write_manifest(manifest_id(9), &[(node, chunks)])
        .await;
    let edit = |parts: &mut super::world::Parts| {
        parts.list(info);
        let extents = Extents::new(vec![6..7]);
        parts.manifests("/g/a").push(icefield_format::ManifestRef {
            id: info.id,
            extents,
        });
    };
    let lost = world.manifest_of(3, "/g/a").await;
    world.edit_snapshot(3, edit).await;
    world.delete(&layout::manifest_key(lost)).await;
    let report = run(repair(&world)).await;
    let main = of(&report, "main");
    assert_eq!(
        (
            &main.arrays[0].manifests[..],
            main.arrays[0].refs_of_manifests
        ),
        (&[lost][..], 5)
    );
    assert_clean(&world, "main").await;
    let (_, chunks) = content(&world.open().await, tip(&world, "main").await).await;
    assert_eq!(chunks["/g/a [6]"], Ok(Some(b"kept".to_vec())));
    assert_eq!(chunks["/g/a [0]"], Ok(None));
    // A concurrent writer of the array learns from the log that it was updated.
    let id = tip(&world, "main").await;
    let log = world
        .open()
        .await
        .transaction_log(id)
        .await
        .expect("readable");
    assert_eq!(log.updated_arrays().collect::<Vec<_>>(), [node]);
}

icefield_testkit::both_versions!(
    a_branch_that_points_nowhere_is_moved_to_the_newest_whole_snapshot_of_its_own
);
async fn a_branch_that_points_nowhere_is_moved_to_the_newest_whole_snapshot_of_its_own() {
    for what in [
        "a branch's file is empty",
        "a branch's file is no JSON",
        "a branch points to a missing snapshot",
        "a snapshot is empty",
        "the tip of a branch is missing",
    ] {
        let world = World::new().await;
        // In version 2, a branch has no file, and points to what is listed.
        if !damages::of_version(world.spec).any(|it| it == what) {
            continue;
        }
        // A second commit on dev, so that one of its own is left if the last is lost.
        let dev = BranchName::parse("dev").expect("a name");
        if what.contains("snapshot is empty") || what.contains("tip") {
            let session = world
                .open()
                .await
                .write_session(dev.clone())
                .await
                .expect("opens");
            super::world::set(&session, "/g/a", &[6], vec![6; 9]).await;
            let last = session.commit("last").await.expect("committed");
            let icefield_core::CommitOutcome::Committed(last) = last else {
                panic!("{last:?}")
            };
            match what {
                "a snapshot is empty" => world.put(&layout::snapshot_key(last), "").await,
                _ => world.delete(&layout::snapshot_key(last)).await,
            }
        } else {
            plant(what, &world).await;
        }
        let planned = run(repair(&world).dry_run()).await;
        assert_eq!(
            planned.restored[0].outcome,
            RepairOutcome::Planned,
            "{what}"
        );
        let report = run(repair(&world)).await;
        let [restored] = &report.restored[..] else {
            panic!("{what}: {report:#?}")
        };
        let snapshot = world.commits[3];
        assert_eq!(
            (&*restored.branch, restored.snapshot),
            ("dev", Some(snapshot)),
            "{what}"
        );
        assert_eq!(restored.outcome, RepairOutcome::Done { snapshot }, "{what}");
        assert_eq!(tip(&world, "dev").await, snapshot, "{what}");
        assert!(report.left.is_empty(), "{what}: {:#?}", report.left);
        assert!(world.report().await.is_sound(), "{what}");
    }
}

icefield_testkit::both_versions!(a_branch_without_a_snapshot_of_its_own_is_not_guessed);
async fn a_branch_without_a_snapshot_of_its_own_is_not_guessed() {
    let world = World::new().await;
    // dev has one commit of its own, and that is lost: main and dev have the rest in common.
    plant("the tip of a branch is missing", &world).await;
    let report = run(repair(&world)).await;
    // `repo` tells what came before, and that is main's, too.
    let proposed = match world.spec {
        SpecVersion::V1 => None,
        _ => Some(world.commits[1]),
    };
    assert_eq!(report.restored[0].snapshot, proposed);
    assert!(matches!(
        report.restored[0].outcome,
        RepairOutcome::Failed { .. }
    ));
    assert_eq!(report.left.len(), 1);
}

icefield_testkit::both_versions!(a_lost_branch_is_made_again_only_if_it_is_named);
async fn a_lost_branch_is_made_again_only_if_it_is_named() {
    let world = World::new().await;
    // No `repo` is without its main.
    if world.spec == SpecVersion::V1 {
        main_is_made_again_only_if_it_is_named(&world).await;
    }

    // No object shows that any other branch ever existed.
    let dev = BranchName::parse("dev").expect("a name");
    let _ = world
        .open()
        .await
        .delete_branch(&dev)
        .await
        .expect("deleted");
    let report = run(repair(&world).restore_branch(dev.clone())).await;
    assert_eq!(
        report.restored[0].outcome,
        RepairOutcome::Done {
            snapshot: world.commits[3]
        }
    );
    let again = repair(&world)
        .restore_branch(dev)
        .run(&())
        .await
        .expect_err("it is there");
    assert!(matches!(again, RepairError::NotLost { .. }), "{again}");
    let other = BranchName::parse("other").expect("a name");
    let error = repair(&world)
        .restore_branch(other)
        .run(&())
        .await
        .expect_err("nothing is left");
    assert!(
        matches!(error, RepairError::NothingToRestore { .. }),
        "{error}"
    );
}

async fn main_is_made_again_only_if_it_is_named(world: &World) {
    plant("main is missing", world).await;
    let check = world.report().await;
    assert_eq!(check.proposals.len(), 1);
    assert_eq!(
        (
            &*check.proposals[0].branch,
            check.proposals[0].snapshot,
            check.proposals[0].lost
        ),
        ("main", Some(world.commits[2]), true)
    );
    assert!(!check.garbage.expect("looked at").certain);
    let report = run(repair(world)).await;
    assert!(matches!(
        report.restored[0].outcome,
        RepairOutcome::Failed { .. }
    ));
    assert_eq!(report.left[0].kind, FindingKind::MainMissing);
    let report = run(repair(world).restore_branch(BranchName::main())).await;
    assert_eq!(
        report.restored[0].outcome,
        RepairOutcome::Done {
            snapshot: world.commits[2]
        }
    );
    assert!(report.left.is_empty());
    assert!(world.report().await.is_sound());
}

#[tokio::test]
async fn a_damaged_snapshot_is_no_place_for_a_lost_branch() {
    let world = World::of(SpecVersion::V1).await;
    plant("main is missing", &world).await;
    world
        .delete(&layout::manifest_key(world.manifest_of(3, "/g/a").await))
        .await;
    let report = world.report().await;
    // Commit 3 lacks a manifest, and commit 2 is dev's, too.
    assert_eq!(report.proposals[0].snapshot, None, "{report:#?}");
}

icefield_testkit::both_versions!(a_lost_answer_is_unknown_and_a_second_repair_finds_out);
async fn a_lost_answer_is_unknown_and_a_second_repair_finds_out() {
    let world = World::new().await;
    plant("a chunk object is too short", &world).await;
    let plan = Plan::none()
        .on(
            Matcher::verb(Verb::Put).below(ref_of_main()),
            0,
            Decision::FailAfter,
        )
        .always(
            Matcher::verb(Verb::Get).below(ref_of_main()),
            Decision::Pass,
        );
    let faulty: Arc<dyn Storage> = Arc::new(FaultyStorage::new(Arc::clone(&world.storage), plan));
    let builder = Repository::builder(Arc::clone(&faulty));
    let report = run(Repair::new(Check::new(faulty), builder)).await;
    // Reading the ref back has settled it.
    assert!(
        matches!(of(&report, "main").outcome, RepairOutcome::Done { .. }),
        "{report:#?}"
    );
    assert_clean(&world, "main").await;
}

icefield_testkit::both_versions!(a_branch_whose_outcome_nobody_tells_is_unknown);
async fn a_branch_whose_outcome_nobody_tells_is_unknown() {
    let world = World::new().await;
    plant("a chunk object is too short", &world).await;
    let plan = Plan::none().always(
        Matcher::verb(Verb::Put).below(ref_of_main()),
        Decision::Late(icefield_storage::wrap::fault::Delivery::OnDemand),
    );
    let faulty: Arc<dyn Storage> = Arc::new(FaultyStorage::new(Arc::clone(&world.storage), plan));
    let builder = Repository::builder(Arc::clone(&faulty));
    let before = tip(&world, "main").await;
    let report = run(Repair::new(Check::new(faulty), builder)).await;
    assert!(
        matches!(of(&report, "main").outcome, RepairOutcome::Unknown { .. }),
        "{report:#?}"
    );
    assert_eq!(tip(&world, "main").await, before);
}

icefield_testkit::both_versions!(a_node_that_is_an_orphan_and_damaged_is_dropped_whole);
async fn a_node_that_is_an_orphan_and_damaged_is_dropped_whole() {
    let world = World::new().await;
    let below = Node {
        id: icefield_testkit::forge::node_id(5),
        path: "/g/a/below".into(),
        document: array(&[1]),
        array: Some((vec![1], None, Vec::new())),
    };
    let node = below.id;
    let chunks: &[(&[u32], ChunkRef<'_>)] = &[(
        &[0],
        ChunkRef::Native {
            id: chunk_id(3),
            offset: 0,
            length: 5,
        },
    )];
    let info = world
        .write_manifest(manifest_id(9), &[(node, chunks)])
        .await;
    let edit = |parts: &mut super::world::Parts| {
        parts.nodes.push(below);
        parts.list(info);
        let extents = Extents::new(vec![0..1]);
        parts
            .manifests("/g/a/below")
            .push(icefield_format::ManifestRef {
                id: info.id,
                extents,
            });
    };
    world.edit_snapshot(3, edit).await;
    let report = run(repair(&world)).await;
    let main = of(&report, "main");
    assert_eq!(
        (main.dropped_nodes.len(), main.arrays.len()),
        (1, 0),
        "{main:#?}"
    );
    assert_clean(&world, "main").await;
    let session = world
        .open()
        .await
        .read_session(BranchName::main())
        .await
        .expect("opens");
    assert!(
        session
            .nodes(&path("/g/a/below"))
            .expect("listed")
            .is_empty()
    );
}

icefield_testkit::both_versions!(what_no_commit_mends_is_left_and_told);
async fn what_no_commit_mends_is_left_and_told() {
    let world = World::new().await;
    let all = match world.spec {
        SpecVersion::V1 => &["the configuration is empty", "there is an object repo"][..],
        _ => &["the configuration cannot be decoded"],
    };
    for what in all {
        let world = World::new().await;
        let damages::Planted(kind, ..) = match world.spec {
            SpecVersion::V1 => plant(what, &world).await,
            _ => super::damages_v2::plant(what, &world).await,
        };
        let report = run(repair(&world)).await;
        assert_eq!(
            report.left.iter().map(|it| it.kind).collect::<Vec<_>>(),
            [kind],
            "{what}"
        );
        world.delete(&world.chunk_key(3, "/g/a", &[4]).await).await;
        // The repository does not open, so that nothing can be committed.
        assert!(repair(&world).run(&()).await.is_err(), "{what}");
    }
}
