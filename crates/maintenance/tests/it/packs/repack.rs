//! Repacking.

use icefield_core::{
    BasicSolver, CommitError, CommitOutcome, RebaseOutcome, SessionError, VersionSelection,
};
use icefield_maintenance::{ChunkOrder, RepackError};
use icefield_storage::wrap::fault::{FaultyStorage, Plan, crash_points};

use super::*;

fn square() -> Vec<Vec<u32>> {
    (0..4)
        .flat_map(|a| (0..4).map(move |b| vec![a, b]))
        .collect()
}

fn seed(index: &[u32]) -> u64 {
    u64::from(index[0] * 10 + index[1])
}

/// The indices of all chunks of the square, in the order in which they lie in one pack.
async fn order(packed: &Packed) -> Vec<Vec<u32>> {
    let mut places = Vec::new();
    for index in square() {
        places.push((packed.place(&index).await, index));
    }
    places.sort();
    assert!(places.iter().all(|it| it.0.0 == places[0].0.0), "one pack");
    places.into_iter().map(|(_, index)| index).collect()
}

async fn what_lies_in_sparse_packs_is_written_anew(spec: SpecVersion) {
    let packed = Packed::new(spec, &[20]).await;
    packed.write(row(0..20, 0)).await;
    packed.write(row(0..15, 100)).await;
    let planned = packed
        .repack(Repack::new(main_branch()).dry_run(true))
        .await;
    assert_eq!((planned.chunks.count, planned.chunks.bytes), (5, 3000));
    assert_eq!((planned.before.count, planned.before.bytes), (1, 12_000));
    assert_eq!((planned.live_before, planned.after.count), (3000, 1));
    assert!(planned.outcome.is_none());
    assert_eq!(packed.packs().await.len(), 2, "nothing was written");
    let done = packed
        .repack(Repack::new(main_branch()).message("again"))
        .await;
    let Some(CommitOutcome::Committed(id)) = done.outcome else {
        panic!("{done:?}")
    };
    assert_eq!(done.chunks, planned.chunks);
    assert_eq!((done.after.count, done.arrays.len()), (1, 1));
    let expected = || row(0..15, 100).chain(row(15..20, 0));
    packed.holds(expected()).await;
    // No log names a chunk.
    let log = packed.repository.transaction_log(id).await.unwrap();
    assert_eq!(log.updated_chunks().len(), 0);
    assert_eq!(
        packed.repository.snapshot_info(id).await.unwrap().message,
        "again"
    );
    walk::assert_sound(&packed.storage).await;
    packed.is_sound().await;
    let again = packed.repack(Repack::new(main_branch())).await;
    assert!(again.outcome.is_none() && again.chunks.count == 0);
    assert_eq!(packed.collect().await, 1, "the old pack");
    packed.holds(expected()).await;
    assert_eq!(packed.used().await.packs.dead_bytes, 0);
    packed.is_sound().await;
}

async fn chunks_lie_in_the_order_that_was_asked_for(spec: SpecVersion) {
    let packed = Packed::new(spec, &[4, 4]).await;
    let mut scattered = square();
    scattered.reverse();
    scattered.swap(3, 9);
    packed
        .write(scattered.iter().map(|it| (it.clone(), seed(it))))
        .await;
    assert_eq!(order(&packed).await, scattered);
    let columns = ChunkOrder::Dimensions(vec!["1".to_owned()]);
    for (asked, first) in [
        (columns, [[0, 0], [1, 0], [2, 0], [3, 0], [0, 1]]),
        (ChunkOrder::ZOrder, [[0, 0], [0, 1], [1, 0], [1, 1], [0, 2]]),
    ] {
        let repack = Repack::new(main_branch()).order(asked);
        let done = packed.repack(repack.clone()).await;
        assert_eq!(done.chunks.count, 16);
        assert_eq!(order(&packed).await[..5], first);
        let again = packed.repack(repack).await;
        assert_eq!(again.chunks.count, 0, "they are in it");
        packed
            .holds(square().into_iter().map(|it| (it.clone(), seed(&it))))
            .await;
    }
    walk::assert_sound(&packed.storage).await;
    packed.is_sound().await;
}

async fn coordinates_that_share_a_range_are_in_order_together(spec: SpecVersion) {
    let packed = Packed::new(spec, &[4]).await;
    packed
        .write([3, 2, 1, 0].map(|i| (vec![i], u64::from(i))))
        .await;
    let session = packed.session().await;
    let doubled = |index: &[u32]| (index[0] == 0).then(|| vec![3].into());
    let moved = session.reindex(&path("/a"), doubled, None).await;
    assert_eq!(moved.unwrap(), 1);
    packed.commit(&session).await;
    let repack = Repack::new(main_branch()).order(ChunkOrder::Dimensions(vec!["0".to_owned()]));
    let done = packed.repack(repack.clone()).await;
    assert_eq!((done.chunks.count, done.after.count), (3, 1));
    let again = packed.repack(repack).await;
    assert_eq!(again.chunks.count, 0, "they are in it");
    packed
        .holds([0, 1, 2].map(|i| (vec![i], u64::from(i))))
        .await;
    packed.holds([(vec![3], 0)]).await;
}

/// Packs of this process are smaller than the configuration says, and there are many.
async fn an_order_is_reached_whatever_the_size_of_packs(spec: SpecVersion) {
    let settings = PackSettings::default().with_threshold(1 << 20);
    let packed = Packed::with(spec, &[20], settings.with_buffered_bytes(4800)).await;
    let reversed: Vec<_> = row(0..20, 0).collect();
    packed.write(reversed.into_iter().rev()).await;
    let repack = Repack::new(main_branch()).order(ChunkOrder::Dimensions(vec!["0".to_owned()]));
    let done = packed.repack(repack.clone()).await;
    assert_eq!((done.chunks.count, done.after.count), (20, 5));
    let again = packed.repack(repack.small(true)).await;
    assert_eq!(again.chunks.count, 0, "they are in it");
    packed.holds(row(0..20, 0)).await;
}

/// Ranges of one object that overlap take more room apart, and a long chunk gets an object of its own.
async fn copies_take_less_room_than_what_they_replace(spec: SpecVersion) {
    let settings = PackSettings::off().with_buffered_bytes(8000);
    let packed = Packed::with(spec, &[8], settings).await;
    let session = packed.session().await;
    write(&session, "/a", &[0], pattern(0, 30_000)).await;
    write(&session, "/a", &[1], pattern(1, 30_000)).await;
    for (index, within) in [
        (2, (0, 10_000)),
        (3, (1000, 10_000)),
        (4, (2000, 10_000)),
        (5, (0, 2100)),
    ] {
        let of = u32::from(index == 5);
        let place = session.chunk_location(&path("/a"), &[of]).await.unwrap();
        let Some(ChunkLocation::Native { id, .. }) = place else {
            panic!("{place:?}")
        };
        session
            .set_stored_chunk(&path("/a"), &[index], id, within)
            .await
            .unwrap();
    }
    for index in [0, 1] {
        let erased = session.delete_chunk(&path("/a"), &[index]).await;
        erased.unwrap();
    }
    packed.commit(&session).await;
    let done = packed.repack(Repack::new(main_branch())).await;
    assert_eq!((done.chunks.count, done.chunks.bytes), (1, 2100));
    assert_eq!(done.after.count, 1);
    let session = read_main(&packed.repository).await;
    for (index, seed, range) in [(2, 0, 0..10_000), (4, 0, 2000..12_000), (5, 1, 0..2100)] {
        let bytes = &pattern(seed, 30_000)[range];
        holds(&session, "/a", &[index], Some(bytes)).await;
    }
}

async fn objects_of_their_own_are_packed_where_that_is_asked_for(spec: SpecVersion) {
    let packed = Packed::with(spec, &[20], PackSettings::off()).await;
    packed.write(row(0..20, 0)).await;
    let nothing = packed.repack(Repack::new(main_branch())).await;
    assert_eq!((nothing.chunks.count, packed.packs().await.len()), (0, 20));
    let short = packed
        .repack(Repack::new(main_branch()).small(true).below(600))
        .await;
    assert_eq!(short.chunks.count, 0);
    let done = packed.repack(Repack::new(main_branch()).small(true)).await;
    assert_eq!((done.before.count, done.after.count), (20, 1));
    packed.holds(row(0..20, 0)).await;
    assert_eq!(packed.collect().await, 20);
    packed.holds(row(0..20, 0)).await;
}

async fn other_arrays_stay_where_they_are(spec: SpecVersion) {
    let packed = Packed::new(spec, &[4]).await;
    let session = packed.session().await;
    set(&session, "/b", array(&[4], &[1])).await;
    for i in 0..4 {
        write(&session, "/b", &[i], pattern(50 + u64::from(i), 600)).await;
        write(&session, "/a", &[i], pattern(i.into(), 600)).await;
    }
    packed.commit(&session).await;
    let whole = packed.packs().await;
    let done = packed
        .repack(
            Repack::new(main_branch())
                .arrays([path("/a")])
                .least_fill(1.0),
        )
        .await;
    assert_eq!(done.chunks.count, 0, "the pack is full");
    packed.write(row(0..2, 100)).await;
    let repack = Repack::new(main_branch())
        .arrays([path("/a")])
        .least_fill(1.0);
    let done = packed.repack(repack).await;
    assert_eq!((done.chunks.count, done.live_before), (2, 3600));
    let session = read_main(&packed.repository).await;
    for i in 0..4 {
        let place = session.chunk_location(&path("/b"), &[i]).await.unwrap();
        let Some(ChunkLocation::Native { id, .. }) = place else {
            panic!("{place:?}")
        };
        assert_eq!(format!("chunks/{id}"), whole[0]);
        holds(&session, "/b", &[i], Some(&pattern(50 + u64::from(i), 600))).await;
    }
    packed.holds(row(0..2, 100).chain(row(2..4, 0))).await;
}

/// A writer that began before is not held up, and what it wrote is not undone.
async fn writers_do_not_collide_with_a_repacking(spec: SpecVersion) {
    let packed = Packed::new(spec, &[20]).await;
    packed.write(row(0..20, 0)).await;
    packed.write(row(0..15, 100)).await;
    let early = packed.session().await;
    write(&early, "/a", &[19], pattern(7, 600)).await;
    packed.repack(Repack::new(main_branch())).await;
    let strict = BasicSolver::default();
    packed.clock.advance(Duration::from_secs(1));
    let committed = early.commit("early").rebase_with(strict).await;
    assert!(
        matches!(committed, Ok(CommitOutcome::Committed(_))),
        "{committed:?}"
    );
    packed.holds(row(0..15, 100).chain(row(15..19, 0))).await;
    packed.holds([(vec![19], 7)]).await;
    walk::assert_sound(&packed.storage).await;
    packed.is_sound().await;
}

/// References that a session moved by hand lead to objects that its base alone refers to once the branch was repacked.
async fn what_a_session_moved_by_hand_is_not_committed_once_it_was_collected(spec: SpecVersion) {
    let packed = Packed::new(spec, &[4]).await;
    packed.write(row(0..4, 0)).await;
    let first = packed.packs().await;
    packed.clock.advance(3 * DAY);
    let session = packed.session().await;
    let swapped = |index: &[u32]| Some(vec![3 - index[0]].into());
    let moved = session.reindex(&path("/a"), swapped, None).await;
    assert_eq!(moved.unwrap(), 4);
    let repack = Repack::new(main_branch()).order(ChunkOrder::Dimensions(vec!["0".to_owned()]));
    packed.write([(vec![0], 7)]).await;
    packed.repack(repack.least_fill(1.0)).await;
    let theirs = BasicSolver::of(VersionSelection::UseOurs);
    let rebased = session.rebase(&theirs).await.unwrap();
    assert!(
        matches!(rebased, RebaseOutcome::Rebased { .. }),
        "{rebased:?}"
    );
    let mut policy = Policy::default();
    policy.last = 1;
    let repository = packed.on(&packed.storage).await;
    Expire::new(policy).run(&repository, &()).await.unwrap();
    // Snapshots that no ref reaches are spared while they are young, and so is what they refer to.
    packed.clock.advance(3 * DAY);
    Collect::default().run(&repository).await.unwrap();
    assert!(!packed.packs().await.contains(&first[0]));
    packed.clock.advance(Duration::from_secs(1));
    let committed = session.commit("swapped").await;
    assert!(
        matches!(
            &committed,
            Err(CommitError::Session(SessionError::Collected { .. }))
        ),
        "{committed:?}"
    );
}

/// Stopped at any request, a repacking has happened or has not, and can be done again.
async fn a_repacking_can_be_stopped_anywhere(spec: SpecVersion) {
    let begin = async || {
        let packed = Packed::new(spec, &[20]).await;
        packed.write(row(0..20, 0)).await;
        packed.write(row(0..15, 100)).await;
        packed
    };
    let through = async |packed: &Packed, plan: Plan| {
        let faulty = FaultyStorage::new(Arc::clone(&packed.storage), plan);
        let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
        let opened = Repository::builder(storage)
            .clock(Arc::new(packed.clock.clone()))
            .entropy(Arc::new(SeededEntropy::new(3)));
        if let Ok(repository) = opened.open().await {
            let _ = Repack::new(main_branch()).run(&repository, &()).await;
        }
        faulty
    };
    let operations = through(&begin().await, Plan::none()).await.operations();
    assert!(operations > 8, "{operations}");
    for (k, when) in crash_points(operations) {
        let packed = begin().await;
        let faulty = through(&packed, Plan::stop_at(k, when)).await;
        let expected = || row(0..15, 100).chain(row(15..20, 0));
        packed.holds(expected()).await;
        faulty.deliver_pending().await;
        packed.holds(expected()).await;
        walk::assert_sound(&packed.storage).await;
        packed.is_sound().await;
        let again = packed.on(&packed.storage).await;
        packed.clock.advance(Duration::from_secs(1));
        Repack::new(main_branch()).run(&again, &()).await.unwrap();
        packed.holds(expected()).await;
        let left = packed
            .repack(Repack::new(main_branch()).dry_run(true))
            .await;
        assert_eq!(left.chunks.count, 0, "{k} {when:?}");
    }
}

async fn what_cannot_be_meant_is_refused(spec: SpecVersion) {
    let packed = Packed::new(spec, &[4]).await;
    packed.write(row(0..4, 0)).await;
    for part in [-0.1, 1.1, f64::NAN] {
        let refused = Repack::new(main_branch()).least_fill(part);
        let refused = refused.run(&packed.repository, &()).await;
        assert!(
            matches!(refused, Err(RepackError::Fill { .. })),
            "{refused:?}"
        );
    }
    let names = vec!["0".to_owned(), "height".to_owned()];
    let refused = Repack::new(main_branch()).order(ChunkOrder::Dimensions(names));
    let refused = refused.run(&packed.repository, &()).await;
    assert!(
        matches!(&refused, Err(RepackError::NoDimension { name }) if name == "height"),
        "{refused:?}"
    );
    let refused = Repack::new(main_branch()).arrays([path("/none")]);
    let refused = refused.run(&packed.repository, &()).await;
    assert!(
        matches!(refused, Err(RepackError::Session(_))),
        "{refused:?}"
    );
}

versions! {
    what_lies_in_sparse_packs_is_written_anew,
    chunks_lie_in_the_order_that_was_asked_for,
    coordinates_that_share_a_range_are_in_order_together,
    an_order_is_reached_whatever_the_size_of_packs,
    copies_take_less_room_than_what_they_replace,
    objects_of_their_own_are_packed_where_that_is_asked_for,
    other_arrays_stay_where_they_are,
    writers_do_not_collide_with_a_repacking,
    what_a_session_moved_by_hand_is_not_committed_once_it_was_collected,
    a_repacking_can_be_stopped_anywhere,
    what_cannot_be_meant_is_refused,
}
