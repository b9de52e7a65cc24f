//! The contents of a report beside the findings, and the requests of a check.

use std::sync::Arc;

use icefield_maintenance::{Check, FindingKind, Severity};
use icefield_storage::Storage;
use icefield_storage::wrap::fault::{Decision, Matcher, Plan, Verb};
use icefield_storage::wrap::{CountingStorage, FaultyStorage};
use icefield_storage_memory::MemoryStorage;
use icefield_testkit::forge::{
    Forge, ForgedArray, ForgedSnapshot, manifest_id, node_id, snapshot_id,
};
use icefield_testkit::stores;

use icefield_format::{ChunkId, ChunkRef, Extents};

use super::world::{NATIVE, World};

icefield_testkit::both_versions!(a_finding_says_who_leads_to_it_and_who_shows_it_now);
async fn a_finding_says_who_leads_to_it_and_who_shows_it_now() {
    let world = World::new().await;
    let key = world.chunk_key(3, "/g/a", &[2]).await;
    world.delete(&key).await;
    let report = world.report().await;
    let finding = report
        .findings
        .iter()
        .find(|it| it.key == key)
        .expect("found");
    assert_eq!(finding.kind, FindingKind::ChunkMissing);
    assert_eq!(finding.snapshot, Some(world.commits[1]));
    assert_eq!(
        (finding.path.as_deref(), finding.index.as_deref()),
        (Some("/g/a"), Some(&[2][..]))
    );
    assert_eq!(finding.count, 1);
    assert_eq!(finding.refs, ["branch:dev", "branch:main"]);
    assert_eq!(finding.tips, ["branch:dev", "branch:main"]);
}

icefield_testkit::both_versions!(damage_of_the_past_is_told_from_damage_of_today);
async fn damage_of_the_past_is_told_from_damage_of_today() {
    let world = World::new().await;
    let key = world.chunk_key(3, "/g/a", &[4]).await;
    let main = icefield_core::BranchName::main();
    let repository = world.open().await;
    let session = repository.write_session(main).await.expect("opens");
    session
        .delete_chunk(&super::world::path("/g/a"), &[4])
        .await
        .expect("deleted");
    let _ = session.commit("without").await.expect("committed");
    world.delete(&key).await;
    let report = world.report().await;
    let finding = report
        .findings
        .iter()
        .find(|it| it.key == key)
        .expect("found");
    assert_eq!(finding.refs, ["branch:main"]);
    assert_eq!(finding.tips, [""; 0]);
    let tips = world.check().tips_only().run(&()).await.expect("checked");
    assert!(tips.is_sound(), "{tips:#?}");
    assert_eq!(tips.garbage, None);
}

#[tokio::test]
async fn only_what_one_ref_reaches() {
    let world = World::new().await;
    world.delete(&world.chunk_key(4, "/g/a", &[5]).await).await;
    world.put("stray", "x").await;
    world.put("refs/branch.broken/ref.json", "").await;
    let main = world
        .check()
        .only("main", world.commits[2])
        .run(&())
        .await
        .expect("checked");
    assert!(main.is_sound(), "{main:#?}");
    assert_eq!((main.garbage, main.refs), (None, 1));
    assert!(
        main.kinds
            .keys()
            .all(|it| *it == FindingKind::VirtualCounted),
        "{:?}",
        main.kinds
    );
    let dev = world
        .check()
        .only("dev", world.commits[3])
        .run(&())
        .await
        .expect("checked");
    assert_eq!(dev.kinds.get(&FindingKind::ChunkMissing), Some(&1));
}

icefield_testkit::both_versions!(foreign_objects_are_looked_at_through_grants);
async fn foreign_objects_are_looked_at_through_grants() {
    for (spoil, kind) in [
        ("nothing", None),
        ("missing", Some(FindingKind::VirtualMissing)),
        ("short", Some(FindingKind::VirtualShort)),
        ("not granted", Some(FindingKind::VirtualUnchecked)),
    ] {
        let world = World::new().await;
        match spoil {
            "missing" => stores::delete(&world.archive, "two").await,
            "short" => stores::put(&world.archive, "two", vec![2; 20]).await,
            _ => {}
        }
        let repository = match spoil {
            "not granted" => {
                let storage = Arc::clone(&world.storage);
                icefield_core::Repository::open(storage)
                    .await
                    .expect("it opens")
            }
            _ => world.open().await,
        };
        let report = world
            .check()
            .virtual_chunks(repository)
            .run(&())
            .await
            .expect("checked");
        assert_eq!(
            (report.virtual_chunks, report.foreign_objects),
            (3, 2),
            "{spoil}"
        );
        let found: Vec<_> = report
            .findings
            .iter()
            .map(|it| (it.kind, &*it.key))
            .collect();
        match kind {
            None => assert_eq!(found, []),
            Some(FindingKind::VirtualUnchecked) => assert_eq!(found.len(), 2, "{found:?}"),
            Some(kind) => assert_eq!(found, [(kind, "s3://archive/two")], "{spoil}"),
        }
    }
}

icefield_testkit::both_versions!(a_foreign_object_that_was_written_since_is_damage);
async fn a_foreign_object_that_was_written_since_is_damage() {
    let world = World::new().await;
    let repository = world.open().await;
    let main = icefield_core::BranchName::main();
    let session = repository.write_session(main).await.expect("opens");
    // A time before 1971 cannot be true.
    let source = icefield_core::VirtualSource::new("s3://archive/one").expect("a location");
    let source = source.with_checksum(icefield_core::VirtualChecksum::LastModified(1));
    let refs = icefield_core::VirtualRefs {
        coordinates: &[3],
        sources: &[source],
        source: &[0],
        offsets: &[0],
        lengths: &[10],
    };
    let at = super::world::path("/g/v");
    session.set_virtual_refs(&at, refs).await.expect("set");
    let _ = session.commit("changed").await.expect("committed");
    let report = world
        .check()
        .virtual_chunks(repository)
        .run(&())
        .await
        .expect("checked");
    let found: Vec<_> = report
        .findings
        .iter()
        .map(|it| (it.kind, &it.index))
        .collect();
    assert_eq!(found, [(FindingKind::VirtualChanged, &Some(vec![3]))]);
}

icefield_testkit::both_versions!(reading_finds_what_the_store_cannot_deliver);
async fn reading_finds_what_the_store_cannot_deliver() {
    let world = World::new().await;
    let key = world.chunk_key(3, "/g/a", &[2]).await;
    let plan = Plan::none().always(Matcher::verb(Verb::Get).below(&key), Decision::Short(1));
    let storage: Arc<dyn Storage> = Arc::new(FaultyStorage::new(Arc::clone(&world.storage), plan));
    let report = Check::new(Arc::clone(&storage))
        .run(&())
        .await
        .expect("checked");
    assert!(report.is_sound() && !report.chunks_read);
    let report = Check::new(storage)
        .read_chunks()
        .run(&())
        .await
        .expect("checked");
    let found = report
        .findings
        .iter()
        .find(|it| it.kind == FindingKind::ChunkUnreadable);
    let found = found.expect("found");
    assert_eq!((&found.key, found.tips.len()), (&key, 2));
    let counting = CountingStorage::new(Arc::clone(&world.storage));
    let storage: Arc<dyn Storage> = Arc::new(counting.clone());
    let report = Check::new(storage)
        .read_chunks()
        .run(&())
        .await
        .expect("checked");
    assert!(report.is_sound() && report.chunks_read);
    assert_eq!(
        counting.snapshot().of("chunks").bytes_read,
        5 * NATIVE as u64
    );
}

#[tokio::test]
async fn garbage_and_our_own_objects_are_no_damage() {
    let world = World::new().await;
    let branch = icefield_core::BranchName::parse("dev").expect("a name");
    let _ = world
        .open()
        .await
        .delete_branch(&branch)
        .await
        .expect("deleted");
    for ours in [
        "icefield/config.yaml",
        "icefield/leases/x",
        "overwritten/config.yaml.1",
    ] {
        world.put(ours, "x").await;
    }
    let report = world.report().await;
    assert!(
        report
            .findings
            .iter()
            .all(|it| it.severity == Severity::Note),
        "{report:#?}"
    );
    assert_eq!(report.kinds.get(&FindingKind::Stray), None);
    let garbage = report.garbage.expect("all was looked at");
    assert_eq!((garbage.objects, garbage.certain), (4, true));
    let of = |prefix: &str| garbage.by_prefix[prefix].objects;
    let each = ["chunks", "manifests", "snapshots", "transactions"].map(of);
    assert_eq!(each, [1; 4]);
}

icefield_testkit::both_versions!(of_each_kind_only_so_many_findings_are_told_and_all_are_counted);
async fn of_each_kind_only_so_many_findings_are_told_and_all_are_counted() {
    let world = World::new().await;
    for name in ["a", "b", "c", "d"] {
        world.put(&format!("stray-{name}"), "x").await;
    }
    let report = world
        .check()
        .with_most_findings(2)
        .run(&())
        .await
        .expect("checked");
    let strays = report
        .findings
        .iter()
        .filter(|it| it.kind == FindingKind::Stray)
        .count();
    assert_eq!((strays, report.left_out), (2, 2));
    assert_eq!(report.kinds[&FindingKind::Stray], 4);
}

#[tokio::test]
async fn what_is_no_repository_is_no_damaged_one() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let error = Check::new(Arc::clone(&storage))
        .run(&())
        .await
        .expect_err("nothing is there");
    assert!(
        matches!(error, icefield_maintenance::CheckError::NoRepository { .. }),
        "{error}"
    );
    stores::put(&storage, "repo", "x").await;
    let report = Check::new(storage).run(&()).await.expect("checked");
    assert_eq!(report.kinds.get(&FindingKind::RepoDamaged), Some(&1));
}

icefield_testkit::both_versions!(a_store_that_fails_is_no_damage);
async fn a_store_that_fails_is_no_damage() {
    let world = World::new().await;
    for below in [
        "refs/",
        "snapshots/",
        "manifests/",
        "transactions/",
        "chunks/",
    ] {
        for verb in [Verb::Get, Verb::List] {
            let plan = Plan::none().always(Matcher::verb(verb).below(below), Decision::FailBefore);
            let faulty = FaultyStorage::new(Arc::clone(&world.storage), plan);
            let result = Check::new(Arc::new(faulty)).run(&()).await;
            assert!(
                result.as_ref().map_or(true, |it| it.is_sound()),
                "{below} {verb:?}: {result:?}"
            );
        }
    }
}

icefield_testkit::both_versions!(a_chunk_that_a_list_leaves_out_and_that_is_there_is_not_missing);
async fn a_chunk_that_a_list_leaves_out_and_that_is_there_is_not_missing() {
    let world = World::new().await;
    let plan = Plan::none().always(
        Matcher::verb(Verb::List).below("chunks"),
        Decision::ListCut(2),
    );
    let faulty = FaultyStorage::new(Arc::clone(&world.storage), plan);
    let report = Check::new(Arc::new(faulty))
        .run(&())
        .await
        .expect("checked");
    assert!(report.is_sound(), "{report:#?}");
    assert_eq!(report.chunks, 5);
}

/// A history of `commits` snapshots, each with a manifest of one more chunk, `objects` chunk objects in all.
async fn long_history(commits: u8, objects: u32) -> Arc<dyn Storage> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let forge = Forge::new(&storage);
    forge.create().await;
    let each = objects / u32::from(commits);
    let mut parent = icefield_format::SnapshotId::INITIAL;
    for commit in 1..=commits {
        let count = each * u32::from(commit);
        let chunk = |at: u32| {
            let mut id = [0; 12];
            // Ids in no order of the indices.
            id[..4].copy_from_slice(&at.wrapping_mul(2_654_435_761).to_be_bytes());
            ChunkId::from_bytes(id)
        };
        let indices: Vec<[u32; 1]> = (0..count).map(|at| [at]).collect();
        let chunks: Vec<(&[u32], ChunkRef<'_>)> = (indices.iter())
            .map(|index| {
                let native = ChunkRef::Native {
                    id: chunk(index[0]),
                    offset: 0,
                    length: 3,
                };
                (&index[..], native)
            })
            .collect();
        for at in count - each..count {
            forge.chunk(chunk(at), vec![1, 2, 3]).await;
        }
        let node = node_id(1);
        let info = forge
            .manifest(manifest_id(commit), &[(node, &chunks)])
            .await;
        let array = ForgedArray::new(
            "/a",
            node,
            &[u64::from(objects)],
            manifest_id(commit),
            Extents::new(vec![0..count]),
        );
        let id = snapshot_id(commit);
        let snapshot = ForgedSnapshot::new(id, Some(parent), u64::from(commit)).with(array, info);
        forge.snapshot(&snapshot).await;
        let mut log = icefield_format::TransactionLogEncoder::new(id);
        if commit == 1 {
            log.new_arrays([node]);
        }
        log.begin_chunks(node).expect("first");
        for at in count - each..count {
            log.push_chunk(&[at]).expect("sorted");
        }
        let log = log
            .finish(&icefield_format::Writer::default())
            .expect("a log");
        stores::put(
            &storage,
            &icefield_format::layout::transaction_log_key(id),
            log,
        )
        .await;
        parent = id;
    }
    forge.branch("main", parent).await;
    storage
}

#[tokio::test]
async fn a_check_reads_each_metadata_object_once_and_lists_chunks_instead_of_asking_for_each() {
    let (commits, objects) = (20, 5000);
    let storage = long_history(commits, objects).await;
    let counting = CountingStorage::new(storage);
    let watched: Arc<dyn Storage> = Arc::new(counting.clone());
    let report = Check::new(watched).run(&()).await.expect("checked");
    // The forge makes no root group; that it is missing is told once, and that it still is.
    assert_eq!(report.kinds.get(&FindingKind::NodeWithoutParent), Some(&1));
    assert!(report.is_sound() && report.kinds.len() == 1, "{report:#?}");
    assert_eq!((report.chunks, report.chunk_bytes), (5000, 15_000));
    let counts = counting.snapshot();
    assert_eq!(counts.of("snapshots").get, u64::from(commits) + 1);
    assert_eq!(counts.of("manifests").get, u64::from(commits));
    assert_eq!(counts.of("transactions").get, u64::from(commits));
    let chunks = counts.of("chunks");
    // Five thousand objects are five pages, and whether there are more, the sixth.
    assert!(
        (chunks.get, chunks.head) == (0, 0) && chunks.list_pages <= 6,
        "{chunks:?}"
    );
    assert!(counts.total.list_pages <= 12, "{:?}", counts.total);
    assert_eq!(counts.total.writes(), 0);
}

#[tokio::test]
async fn little_memory_makes_more_passes_and_finds_the_same() {
    let storage = long_history(10, 3000).await;
    let keys = stores::keys_below(&storage, "chunks/").await;
    let lost: Vec<&String> = keys.iter().step_by(keys.len() / 5).collect();
    for key in &lost {
        stores::delete(&storage, key).await;
    }
    let mut reports = Vec::new();
    for bytes in [64 << 20, 24 << 10] {
        let check = Check::new(Arc::clone(&storage)).with_memory_bytes(bytes);
        let report = check.run(&()).await.expect("checked");
        assert_eq!(report.kinds[&FindingKind::ChunkMissing], lost.len() as u64);
        assert_eq!(report.chunks, 3000 - lost.len() as u64);
        assert_eq!(report.garbage.as_ref().map(|it| it.objects), Some(0));
        reports.push(report.findings);
    }
    assert_eq!(reports[0], reports[1]);
}
