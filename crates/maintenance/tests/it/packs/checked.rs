//! Checks of repositories with moved chunks: what a repacking moves is no change, and what changed unsaid is found all the same.

use icefield_format::{DecodeLimits, TransactionLog, TransactionLogEncoder, Writer, layout};
use icefield_maintenance::{CheckReport, Finding, Repair};
use icefield_storage::wrap::fault::{Decision, FaultyStorage, Matcher, Plan, Verb};

use super::*;

/// A repository of twenty chunks, of which a repacking has moved the last five, and the key of their new pack.
async fn repacked(spec: SpecVersion) -> (Packed, String) {
    let packed = Packed::new(spec, &[20]).await;
    packed.write(row(0..20, 0)).await;
    packed.write(row(0..15, 100)).await;
    let before = packed.packs().await;
    packed.repack(Repack::new(main_branch())).await;
    let after = packed.packs().await.into_iter();
    let new: Vec<String> = after.filter(|key| !before.contains(key)).collect();
    assert_eq!(new.len(), 1, "{new:?}");
    (packed, new[0].clone())
}

/// A check through a store, and how many requests for chunks it sent.
async fn checked(packed: &Packed, check: impl FnOnce(Check) -> Check) -> (CheckReport, u64) {
    let counting = CountingStorage::new(Arc::clone(&packed.storage));
    let report = check(Check::new(Arc::new(counting.clone()))).run(&()).await;
    (report.unwrap(), counting.snapshot().of("chunks").get)
}

fn of(report: &CheckReport, kind: FindingKind) -> Vec<&Finding> {
    let findings = report.findings.iter();
    findings.filter(|it| it.kind == kind).collect()
}

/// Writes the log of the newest commit again, as that of a commit that names no chunk.
async fn silence(packed: &Packed, spec: SpecVersion) -> String {
    let id = tip(&packed.repository, "main").await;
    let log = TransactionLogEncoder::for_version(spec, id);
    let key = layout::transaction_log_key(id);
    let file = log.finish(&Writer::default()).unwrap();
    stores::put(&packed.storage, &key, file).await;
    key
}

async fn moved_chunks_are_no_damage_and_read_together(spec: SpecVersion) {
    let packed = Packed::new(spec, &[20]).await;
    packed.write(row(0..20, 0)).await;
    packed.write(row(0..15, 100)).await;
    let (report, gets) = checked(&packed, |check| check).await;
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!(gets, 0, "the log names what lies elsewhere");
    packed.repack(Repack::new(main_branch())).await;
    let (report, gets) = checked(&packed, |check| check).await;
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!(gets, 2, "each pack once");
    // Chunks written after it are named again.
    packed.write(row(18..20, 200)).await;
    let (report, gets) = checked(&packed, |check| check).await;
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!(gets, 2);
}

/// Later passes over the histories read nothing again, and a check of the tips alone reads no chunk.
async fn moved_chunks_are_read_once(spec: SpecVersion) {
    let (packed, _) = repacked(spec).await;
    let (report, gets) = checked(&packed, |check| check.with_memory_bytes(96)).await;
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!(gets, 2);
    let (_, gets) = checked(&packed, Check::tips_only).await;
    assert_eq!(gets, 0);
}

async fn a_moved_chunk_with_other_bytes_is_a_change(spec: SpecVersion) {
    let (packed, pack) = repacked(spec).await;
    let (_, offset) = packed.place(&[17]).await;
    let mut bytes = stores::read(&packed.storage, &pack).await.to_vec();
    bytes[offset as usize + 599] ^= 1;
    stores::put(&packed.storage, &pack, bytes).await;
    let (report, _) = checked(&packed, |check| check).await;
    let [found] = of(&report, FindingKind::LogIncomplete)[..] else {
        panic!("{:?}", report.findings)
    };
    assert_eq!((report.damage, found.count), (1, 1));
    assert_eq!(found.index.as_deref(), Some(&[17][..]));
    assert_eq!(found.path.as_deref(), Some("/a"));
}

/// A log that names nothing of chunks of one length in other places: what it keeps quiet, it does not testify to.
async fn a_change_of_equal_length_that_a_log_keeps_quiet_is_found_and_mended(spec: SpecVersion) {
    let (packed, _) = repacked(spec).await;
    packed.write([(vec![3], 7), (vec![16], 8)]).await;
    let id = tip(&packed.repository, "main").await;
    let key = silence(&packed, spec).await;
    let (report, _) = checked(&packed, |check| check).await;
    let [found] = of(&report, FindingKind::LogIncomplete)[..] else {
        panic!("{:?}", report.findings)
    };
    assert_eq!((&found.key, found.count), (&key, 2));
    assert_eq!(found.index.as_deref(), Some(&[3][..]));
    let builder = Repository::builder(Arc::clone(&packed.storage))
        .clock(Arc::new(packed.clock.clone()))
        .entropy(Arc::new(SeededEntropy::new(5)));
    let repair = Repair::new(Check::new(Arc::clone(&packed.storage)), builder);
    assert_eq!(repair.run(&()).await.unwrap().logs.len(), 1);
    let (report, _) = checked(&packed, |check| check).await;
    assert!(report.is_sound(), "{:?}", report.findings);
    let file = stores::read(&packed.storage, &key).await;
    let log = TransactionLog::decode(&file, id, &DecodeLimits::up_to(spec)).unwrap();
    let named: Vec<u32> = (log.updated_chunks())
        .flat_map(|array| array.chunks().map(|index| index[0]).collect::<Vec<_>>())
        .collect();
    assert_eq!(named, [3, 16]);
}

/// A chunk that is lost at its old place cannot be compared: that is damage of the older snapshots, and of no log.
async fn a_lost_old_pack_is_damage_of_its_own(spec: SpecVersion) {
    let (packed, pack) = repacked(spec).await;
    let session = packed
        .repository
        .read_session(tip_before(&packed).await)
        .await;
    let session = session.unwrap();
    let place = session.chunk_location(&path("/a"), &[17]).await.unwrap();
    let Some(ChunkLocation::Native { id, .. }) = place else {
        panic!("{place:?}")
    };
    let old = layout::chunk_key(id);
    assert_ne!(old, pack);
    let whole = stores::read(&packed.storage, &old).await;
    stores::delete(&packed.storage, &old).await;
    let (report, _) = checked(&packed, |check| check).await;
    assert_eq!(of(&report, FindingKind::ChunkMissing)[0].key, old);
    assert_eq!(report.damage, 1, "{:?}", report.findings);
    // Of one that is cut off, the chunks before its end are compared.
    stores::put(&packed.storage, &old, whole.slice(..10_200)).await;
    let (_, offset) = packed.place(&[15]).await;
    let mut bytes = stores::read(&packed.storage, &pack).await.to_vec();
    bytes[offset as usize] ^= 1;
    stores::put(&packed.storage, &pack, bytes).await;
    let (report, _) = checked(&packed, |check| check).await;
    assert_eq!(of(&report, FindingKind::ChunkShort)[0].key, old);
    let silent = of(&report, FindingKind::LogIncomplete);
    assert_eq!(
        (report.damage, silent[0].count),
        (2, 1),
        "{:?}",
        report.findings
    );
}

/// A store that does not deliver a chunk that it lists: the check says so, or fails, and does not call the repository sound.
async fn a_moved_chunk_that_cannot_be_read_is_told(spec: SpecVersion) {
    let (packed, pack) = repacked(spec).await;
    let gets = || Matcher::verb(Verb::Get).below(&pack);
    let check = |decision| {
        let plan = Plan::none().always(gets(), decision);
        let faulty = FaultyStorage::new(Arc::clone(&packed.storage), plan);
        Check::new(Arc::new(faulty))
    };
    for reads_all in [false, true] {
        let short = check(Decision::Short(1));
        let short = if reads_all {
            short.read_chunks()
        } else {
            short
        };
        let report = short.run(&()).await.unwrap();
        let [found] = of(&report, FindingKind::ChunkUnreadable)[..] else {
            panic!("{:?}", report.findings)
        };
        assert_eq!((&found.key, report.damage), (&pack, 1));
    }
    // An error that says nothing of the object is no finding.
    let failed = check(Decision::FailBefore).run(&()).await;
    assert!(failed.is_err(), "{failed:?}");
}

/// The parent of the newest commit.
async fn tip_before(packed: &Packed) -> icefield_core::SnapshotId {
    let id = tip(&packed.repository, "main").await;
    let info = packed.repository.snapshot_info(id).await.unwrap();
    info.parent_id.unwrap()
}

/// Expiration lets a snapshot follow one that is several commits older; a repacking in between is no change then, either.
async fn moved_chunks_are_no_damage_where_commits_expired(spec: SpecVersion) {
    let (packed, _) = repacked(spec).await;
    packed.write(row(18..20, 200)).await;
    let keep = packed
        .repository
        .create_tag("first", first_commit(&packed).await)
        .await;
    assert!(keep.is_ok(), "{keep:?}");
    packed.collect().await;
    let (report, _) = checked(&packed, |check| check).await;
    assert!(report.is_sound(), "{:?}", report.findings);
    let expected = row(0..15, 100)
        .chain(row(15..18, 0))
        .chain(row(18..20, 200));
    packed.holds(expected).await;
}

/// The commit that wrote all chunks first.
async fn first_commit(packed: &Packed) -> icefield_core::SnapshotId {
    let id = tip(&packed.repository, "main").await;
    let history = futures::TryStreamExt::try_collect::<Vec<_>>(packed.repository.ancestry(id));
    let history = history.await.unwrap();
    history[history.len() - 3].id
}

versions! {
    moved_chunks_are_no_damage_and_read_together,
    moved_chunks_are_read_once,
    a_moved_chunk_with_other_bytes_is_a_change,
    a_change_of_equal_length_that_a_log_keeps_quiet_is_found_and_mended,
    a_lost_old_pack_is_damage_of_its_own,
    a_moved_chunk_that_cannot_be_read_is_told,
    moved_chunks_are_no_damage_where_commits_expired,
}
