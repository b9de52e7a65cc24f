//! Bytes, held against counts by hand.

use std::sync::Arc;

use icefield_core::Repository;
use icefield_format::{ChunkRef, Extents};
use icefield_maintenance::{Amount, Usage, UsageError, UsageRow, UsageTable};
use icefield_storage::Storage;
use icefield_storage::wrap::CountingStorage;
use icefield_storage::wrap::fault::{Decision, FaultyStorage, Plan, Verb};
use icefield_testkit::forge::{
    Forge, ForgedArray, ForgedSnapshot, chunk_id, manifest_id, node_id, snapshot_id,
};
use icefield_testkit::{fixtures, stores};

use crate::copies::empty;
use crate::source::{CHUNK, Source};

fn amount(count: u64, bytes: u64) -> Amount {
    let mut amount = Amount::default();
    (amount.count, amount.bytes) = (count, bytes);
    amount
}

async fn size(storage: &Arc<dyn Storage>, key: &str) -> u64 {
    stores::read(storage, key).await.len() as u64
}

fn row<'a>(table: &'a UsageTable, name: &str) -> &'a UsageRow {
    let found = table.rows.iter().find(|row| row.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {table:?}"))
}

fn native(chunk: u8, offset: u64, length: u64) -> ChunkRef<'static> {
    ChunkRef::Native {
        id: chunk_id(chunk),
        offset,
        length,
    }
}

fn far(location: &'static str, offset: u64) -> ChunkRef<'static> {
    ChunkRef::Virtual {
        location,
        offset,
        length: 1000,
        checksum: None,
    }
}

/// Two arrays in two snapshots, one above the other, tagged `old` and `new`, and main at the older one:
///
/// | chunk object | bytes | older | newer |
/// |---|---|---|---|
/// | 1, packed | 100 | `/a`: 0..40, 30..50; `/b`: 60..70 | the same |
/// | 2 | 500 | `/a` | |
/// | 3 | 900 | | `/b` |
/// | 9 | 7 | garbage | garbage |
///
/// Besides, three virtual chunks of two ranges, and an inline one in either manifest of `/b`.
async fn forged() -> (Arc<dyn Storage>, Repository) {
    let storage = empty();
    let forge = Forge::new(&storage);
    forge.create().await;
    for (id, length) in [(1, 100), (2, 500), (3, 900), (9, 7)] {
        forge.chunk(chunk_id(id), vec![id; length]).await;
    }
    let (a, b) = (node_id(1), node_id(2));
    let (packed, more) = (native(1, 0, 40), native(1, 30, 20));
    let of_a = forge
        .manifest(
            manifest_id(1),
            &[(
                a,
                &[
                    (&[0], packed),
                    (&[1], more),
                    (&[2], native(2, 0, 500)),
                    (&[3], far("s3://sea/x", 0)),
                ],
            )],
        )
        .await;
    let of_both = forge
        .manifest(
            manifest_id(2),
            &[
                (
                    a,
                    &[(&[0], packed), (&[1], more), (&[3], far("s3://sea/x", 0))],
                ),
                (
                    b,
                    &[
                        (&[0], native(1, 60, 10)),
                        (&[1], native(3, 0, 900)),
                        (&[2], ChunkRef::Inline(b"seven b")),
                        (&[3], far("s3://sea/y", 8)),
                    ],
                ),
            ],
        )
        .await;
    let of_b = forge
        .manifest(
            manifest_id(3),
            &[(
                b,
                &[
                    (&[0], native(1, 60, 10)),
                    (&[2], ChunkRef::Inline(b"seven b")),
                    (&[3], far("s3://sea/x", 0)),
                ],
            )],
        )
        .await;
    let array = |path, id, manifest| {
        ForgedArray::new(
            path,
            id,
            &[4],
            manifest,
            [0..4].into_iter().collect::<Extents>(),
        )
    };
    let old = ForgedSnapshot::new(snapshot_id(1), Some(icefield_core::SnapshotId::INITIAL), 1)
        .with(array("/a", a, manifest_id(1)), of_a)
        .with(array("/b", b, manifest_id(3)), of_b);
    let mut new = ForgedSnapshot::new(snapshot_id(2), Some(snapshot_id(1)), 2)
        .with(array("/a", a, manifest_id(2)), of_both);
    new.arrays.push(array("/b", b, manifest_id(2)));
    let lost = ForgedSnapshot::new(snapshot_id(8), Some(snapshot_id(1)), 3);
    for snapshot in [&old, &new, &lost] {
        forge.snapshot(snapshot).await;
    }
    forge.branch("main", snapshot_id(1)).await;
    forge.tag("old", snapshot_id(1)).await;
    forge.tag("new", snapshot_id(2)).await;
    let repository = Repository::open(Arc::clone(&storage)).await.unwrap();
    (storage, repository)
}

async fn manifest(storage: &Arc<dyn Storage>, byte: u8) -> u64 {
    size(storage, &format!("manifests/{}", manifest_id(byte))).await
}

/// Bytes of a snapshot and its log.
async fn commit(storage: &Arc<dyn Storage>, byte: u8) -> u64 {
    let id = snapshot_id(byte);
    size(storage, &format!("snapshots/{id}")).await
        + size(storage, &format!("transactions/{id}")).await
}

#[tokio::test]
async fn the_summary_is_that_of_a_count_by_hand() {
    let (storage, repository) = forged().await;
    for memory in [1 << 20, 0] {
        let summary = Usage::new()
            .memory(memory)
            .summary(&repository, &())
            .await
            .unwrap();
        assert_eq!(summary.chunk_objects, amount(3, 100 + 500 + 900));
        // 0..50 and 60..70 of the packed one.
        assert_eq!(summary.live_bytes, 60 + 500 + 900);
        assert_eq!(summary.native, amount(5, 40 + 20 + 10 + 500 + 900));
        assert_eq!(summary.inline, amount(2, 14));
        assert_eq!(summary.external, amount(2, 2000));
        assert_eq!(summary.snapshots.count, 3);
        assert_eq!(summary.transaction_logs.count, 2);
        let mut manifests = 0;
        for byte in 1..=3 {
            manifests += manifest(&storage, byte).await;
        }
        assert_eq!(summary.manifests, amount(3, manifests));
        let garbage = summary.garbage;
        assert_eq!(garbage.chunk_objects, amount(1, 7));
        assert_eq!(garbage.manifests, amount(0, 0));
        assert_eq!(
            (garbage.snapshots.count, garbage.transaction_logs.count),
            (1, 1)
        );
        assert_eq!(garbage.total, amount(3, 7 + commit(&storage, 8).await));
        let mut stored = Amount::default();
        for (key, bytes) in stores::dump(&storage).await {
            if !key.starts_with("refs/") {
                stored.count += 1;
                stored.bytes += bytes.len() as u64;
            }
        }
        assert_eq!(summary.stored, stored);
        assert_eq!(summary.missing_chunks, 0);
    }
}

#[tokio::test]
async fn arrays_share_what_they_share() {
    let (storage, repository) = forged().await;
    let table = Usage::new()
        .by_array(&repository, snapshot_id(1), &())
        .await
        .unwrap();
    let (one, three) = (manifest(&storage, 1).await, manifest(&storage, 3).await);
    let (a, b) = (row(&table, "/a"), row(&table, "/b"));
    assert_eq!(a.objects, amount(3, one + 100 + 500));
    assert_eq!(a.unique, Some(amount(2, one + 500)));
    assert_eq!(
        (a.native, a.inline, a.external),
        (amount(3, 560), amount(0, 0), amount(1, 1000))
    );
    assert_eq!(b.objects, amount(2, three + 100));
    assert_eq!(b.unique, Some(amount(1, three)));
    assert_eq!(
        (b.native, b.inline, b.external),
        (amount(1, 10), amount(1, 7), amount(1, 1000))
    );
    assert_eq!(table.total.objects, amount(4, one + three + 100 + 500));
    // One range of one file, although both refer to it.
    assert_eq!(table.total.external, amount(1, 1000));
    assert_eq!(table.total.native, amount(4, 570));

    let table = Usage::new()
        .memory(0)
        .by_array(&repository, snapshot_id(2), &())
        .await
        .unwrap();
    let two = manifest(&storage, 2).await;
    let (a, b) = (row(&table, "/a"), row(&table, "/b"));
    assert_eq!(
        (a.objects, a.unique),
        (amount(2, two + 100), Some(amount(0, 0)))
    );
    assert_eq!(
        (b.objects, b.unique),
        (amount(3, two + 1000), Some(amount(1, 900)))
    );
    assert_eq!(table.total.objects, amount(3, two + 1000));
}

#[tokio::test]
async fn commits_added_what_no_earlier_one_had() {
    let (storage, repository) = forged().await;
    let table = Usage::new()
        .by_commit(&repository, snapshot_id(2), &())
        .await
        .unwrap();
    let names: Vec<_> = table
        .rows
        .iter()
        .map(|row| row.snapshot_id.unwrap())
        .collect();
    assert_eq!(
        names,
        [
            snapshot_id(2),
            snapshot_id(1),
            icefield_core::SnapshotId::INITIAL
        ]
    );
    let (new, old) = (&table.rows[0], &table.rows[1]);
    let manifests = manifest(&storage, 1).await + manifest(&storage, 3).await;
    assert_eq!(
        old.objects,
        amount(6, commit(&storage, 1).await + manifests + 600)
    );
    assert_eq!(
        (old.native, old.external),
        (amount(4, 570), amount(1, 1000))
    );
    let two = manifest(&storage, 2).await;
    assert_eq!(
        new.objects,
        amount(4, commit(&storage, 2).await + two + 900)
    );
    assert_eq!(
        (new.native, new.inline, new.external),
        (amount(1, 900), amount(1, 7), amount(1, 1000))
    );
    assert_eq!(table.rows[2].objects.count, 1);
    let sum = table.rows.iter().map(|row| row.objects.bytes).sum();
    assert_eq!(table.total.objects, amount(11, sum));
}

#[tokio::test]
async fn what_only_a_tag_reaches_is_what_deleting_it_frees() {
    let (storage, repository) = forged().await;
    let table = Usage::new().by_ref(&repository, &()).await.unwrap();
    let manifests = manifest(&storage, 1).await + manifest(&storage, 3).await;
    let initial = size(&storage, "snapshots/1CECHNKREP0F1RSTCMT0").await;
    let below = amount(7, initial + commit(&storage, 1).await + manifests + 600);
    for name in ["branch main", "tag old"] {
        assert_eq!(row(&table, name).objects, below, "{name}");
        assert_eq!(row(&table, name).unique, Some(amount(0, 0)), "{name}");
    }
    let own = commit(&storage, 2).await + manifest(&storage, 2).await + 900;
    let new = row(&table, "tag new");
    assert_eq!(new.unique, Some(amount(4, own)));
    assert_eq!(new.objects, amount(11, below.bytes + own));
    assert_eq!(table.total.objects, new.objects);

    // Freed, and nothing else: the summary says the same of the repository without it.
    let before = Usage::new().summary(&repository, &()).await.unwrap();
    let _ = repository
        .delete_tag(&"new".parse().unwrap())
        .await
        .unwrap();
    let after = Usage::new().summary(&repository, &()).await.unwrap();
    assert_eq!(after.garbage.total.bytes - before.garbage.total.bytes, own);
    assert_eq!(after.garbage.total.count - before.garbage.total.count, 4);
}

#[tokio::test]
async fn two_tags_of_different_commits_have_costs_of_their_own() {
    let source = Source::new().await;
    for (name, chunks) in [("one", 1), ("two", 3)] {
        source.branch(name, "main").await;
        let chunks: Vec<_> = (0..chunks).map(|index| ("/a", index)).collect();
        source.commit(name, &chunks).await;
        source.tag(name, name).await;
        let _ = source
            .repository
            .delete_branch(&name.parse().unwrap())
            .await
            .unwrap();
    }
    let table = Usage::new().by_ref(&source.repository, &()).await.unwrap();
    for (name, chunks) in [("tag one", 1), ("tag two", 3)] {
        let row = row(&table, name);
        assert_eq!(row.native, amount(chunks, chunks * CHUNK as u64));
        // With its snapshot, log and manifest; the initial snapshot is everybody's.
        assert_eq!(row.unique.unwrap().count, chunks + 3);
        assert_eq!(row.objects.count, chunks + 4);
    }
}

#[tokio::test]
async fn containers_have_the_ranges_of_their_files_once() {
    let (_, repository) = forged().await;
    let table = Usage::new().by_container(&repository, &()).await.unwrap();
    assert_eq!(table.rows.len(), 1);
    assert_eq!(
        (table.rows[0].name.as_str(), table.rows[0].external),
        ("", amount(2, 2000))
    );
    let storage = empty();
    fixtures::load("v1-virtual", &storage).await;
    let repository = Repository::open(storage).await.unwrap();
    let table = Usage::new().by_container(&repository, &()).await.unwrap();
    assert!(
        table.rows.iter().any(|row| !row.name.is_empty()),
        "{table:?}"
    );
    let summary = Usage::new().summary(&repository, &()).await.unwrap();
    assert_eq!(table.total.external, summary.external);
}

#[tokio::test]
async fn the_handmade_fixture_is_counted_as_its_description_says() {
    let storage = empty();
    fixtures::load("v1-handmade", &storage).await;
    let repository = Repository::open(storage).await.unwrap();
    let summary = Usage::new().summary(&repository, &()).await.unwrap();
    assert_eq!(summary.chunk_objects, amount(1, 2000));
    assert_eq!(summary.manifests, amount(2, 233 + 287));
    assert_eq!(summary.snapshots, amount(2, 177 + 909));
    assert_eq!(summary.transaction_logs, amount(1, 280));
    assert_eq!(summary.garbage.total, amount(0, 0));
    assert!(summary.live_bytes < 2000 && summary.live_bytes > 20);
    assert_eq!(
        summary.stored,
        amount(6, 2000 + 233 + 287 + 177 + 909 + 280)
    );
}

#[tokio::test]
async fn the_repositories_of_the_reference_implementation_are_counted_whole() {
    for start in ["v1-", "v2-"] {
        for name in fixtures::names(start) {
            let storage = empty();
            fixtures::load(&name, &storage).await;
            let repository = Repository::open(Arc::clone(&storage)).await.unwrap();
            let summary = Usage::new().summary(&repository, &()).await.unwrap();
            let (mut stored, mut backups) = (Amount::default(), Amount::default());
            for (key, bytes) in stores::dump(&storage).await {
                let to = match key.split('/').next() {
                    Some("snapshots" | "manifests" | "transactions" | "chunks") => &mut stored,
                    Some("overwritten") if key.starts_with("overwritten/repo.") => &mut backups,
                    _ => continue,
                };
                to.count += 1;
                to.bytes += bytes.len() as u64;
            }
            assert_eq!(summary.stored, stored, "{name}");
            let counted = summary.backups.map(|it| it.total);
            let expected = (start == "v2-").then_some(backups);
            assert_eq!(counted, expected, "{name}");
            let unneeded = summary.backups.map_or(0, |it| it.unneeded.count);
            assert!(unneeded <= backups.count, "{name}");
            let by_ref = Usage::new().by_ref(&repository, &()).await.unwrap();
            assert_eq!(by_ref.total.native, summary.native, "{name}");
        }
    }
}

#[tokio::test]
async fn every_manifest_is_read_once_and_no_object_is_asked_for_by_itself() {
    let source = Source::with_history().await;
    let counting = CountingStorage::new(source.storage());
    let repository = Repository::open(Arc::new(counting.clone())).await.unwrap();
    counting.reset();
    let summary = Usage::new().summary(&repository, &()).await.unwrap();
    let counts = counting.snapshot();
    assert_eq!(counts.of("manifests").get, summary.manifests.count);
    assert_eq!(counts.of("chunks").requests(), 1);
    assert_eq!(counts.of("chunks").list, 1);
    assert_eq!(counts.total.head + counts.total.writes(), 0);
}

#[tokio::test]
async fn missing_chunks_are_counted_and_missing_manifests_are_errors() {
    let (storage, repository) = forged().await;
    stores::delete(&storage, &format!("chunks/{}", chunk_id(1))).await;
    let summary = Usage::new().summary(&repository, &()).await.unwrap();
    assert_eq!(
        (summary.missing_chunks, summary.chunk_objects),
        (1, amount(2, 1400))
    );
    stores::delete(&storage, &format!("manifests/{}", manifest_id(2))).await;
    let repository = Repository::open(storage).await.unwrap();
    for counted in [
        Usage::new().summary(&repository, &()).await.map(drop),
        Usage::new().by_ref(&repository, &()).await.map(drop),
        Usage::new()
            .by_array(&repository, snapshot_id(2), &())
            .await
            .map(drop),
    ] {
        let error = counted.unwrap_err();
        let said = crate::copies::chain(&error);
        assert!(said.contains(&manifest_id(2).to_string()), "{said}");
    }
}

#[tokio::test]
async fn a_list_that_fails_is_an_error() {
    let (storage, _) = forged().await;
    for objects in [0, 1] {
        let plan = Plan::none().always(Verb::List, Decision::ListError(objects));
        let faulty: Arc<dyn Storage> = Arc::new(FaultyStorage::new(Arc::clone(&storage), plan));
        let repository = Repository::open(faulty).await.unwrap();
        let counted = Usage::new()
            .by_array(&repository, snapshot_id(1), &())
            .await;
        assert!(
            matches!(counted, Err(UsageError::Storage(_))),
            "{counted:?}"
        );
        assert!(Usage::new().summary(&repository, &()).await.is_err());
    }
}
