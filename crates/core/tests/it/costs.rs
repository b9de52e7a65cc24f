//! The cost of opening, reading and committing, in requests and in rounds of dependent requests.

use std::sync::Arc;

use icefield_core::test_suite::Trial;
use icefield_core::test_suite::words::*;
use icefield_core::{BranchName, ByteRange, CommitOutcome, Repository};
use icefield_format::SpecVersion;
use icefield_storage::Storage;
use icefield_storage::wrap::{Cost, CountingStorage, Meter};
use icefield_storage_memory::MemoryStorage;

use crate::support::{memory, trial};

/// A repository with an array of native chunks, and a meter on its store.
async fn metered(name: &'static str) -> (Trial, Arc<dyn Storage>, Meter) {
    metered_in(trial(name)).await
}

/// As [`metered`], in spec version 2.
async fn second(name: &'static str) -> (Trial, Arc<dyn Storage>, Meter) {
    metered_in(Trial::new(name, SpecVersion::V2, |_| async { memory() })).await
}

async fn metered_in(trial: Trial) -> (Trial, Arc<dyn Storage>, Meter) {
    let (storage, repository) = trial.create().await;
    let native = pattern(1, 1000);
    let nodes = [("/a", array(&[4], &[1])), ("/b", array(&[4], &[1]))];
    let chunks: &[Chunk<'_>] = &[("/a", &[0], &native), ("/b", &[0], &native)];
    commit_edits(&repository, "one", &nodes, chunks).await;
    commit_edits(&repository, "two", &[], &[("/a", &[1], &native)]).await;
    let meter = Meter::new(Arc::clone(&storage));
    (trial, storage, meter)
}

fn show(what: &str, cost: &Cost) {
    println!("{what}: {} rounds, {:?}", cost.rounds, cost.counts);
}

#[tokio::test(start_paused = true)]
async fn a_cold_open_to_the_first_chunk_takes_four_rounds_and_six_requests() {
    let (trial, _, meter) = metered("cold open").await;
    let open = async {
        let builder = trial.builder(&meter.storage());
        let (_, session) = builder
            .open_session(BranchName::main())
            .await
            .expect("opened");
        session.chunk(&path("/a"), &[0], ByteRange::All).await
    };
    let (chunk, cost) = meter.measure(open).await;
    is!(chunk, Ok(Some(_)));
    show("cold open to the first chunk", &cost);
    assert_eq!(cost.rounds, 4, "ref, snapshot, manifest, chunk");
    assert!(cost.counts.total.requests() <= 6, "{cost:?}");
    assert_eq!(cost.counts.total.writes(), 0);
    assert_eq!(cost.counts.total.list, 0);
}

#[tokio::test(start_paused = true)]
async fn a_cold_open_of_version_2_takes_as_many() {
    let (trial, _, meter) = second("cold open in version 2").await;
    let open = async {
        let builder = trial.builder(&meter.storage());
        let (_, session) = builder
            .open_session(BranchName::main())
            .await
            .expect("opened");
        session.chunk(&path("/a"), &[0], ByteRange::All).await
    };
    let (chunk, cost) = meter.measure(open).await;
    is!(chunk, Ok(Some(_)));
    show("cold open to the first chunk", &cost);
    assert!(cost.rounds <= 4, "repo, snapshot, manifest, chunk");
    assert!(cost.counts.total.requests() <= 6, "{cost:?}");
    assert_eq!(cost.counts.total.writes(), 0);
    assert_eq!(cost.counts.total.list, 0);
}

#[tokio::test(start_paused = true)]
async fn a_commit_of_version_2_takes_three_rounds() {
    let (trial, _, meter) = second("commit in version 2").await;
    let repository = trial.open(&meter.storage()).await;
    for amends in [false, true] {
        let session = writer(&repository).await;
        holds(&session, "/a", &[0], Some(&pattern(1, 1000))).await;
        let write = write(&session, "/a", &[2], pattern(2, 1000));
        let (_, chunk) = meter.measure(write).await;
        assert_eq!((chunk.rounds, chunk.counts.total.requests()), (1, 1));
        let publish = async {
            match amends {
                true => session.amend("amended").await,
                false => session.commit("three").await,
            }
        };
        let (outcome, cost) = meter.measure(publish).await;
        is!(outcome, Ok(CommitOutcome::Committed(_)));
        show("the commit", &cost);
        // The parts of the old commit that an amended one keeps are in memory, since this process wrote them.
        assert_eq!(cost.rounds, 2, "objects and a copy of `repo`, then `repo`");
        assert_eq!(cost.counts.of("overwritten").writes(), 1);
        assert_eq!(
            (cost.counts.of("repo").put, cost.counts.of("repo").get),
            (1, 1)
        );
        assert_eq!(cost.counts.total.requests(), 6);
        trial.tick();
    }
}

/// In memory no request makes a writer wait, so that writers meet only where commits let each other come.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_to_branches_of_their_own_share_writes_of_version_2() {
    const WRITERS: u32 = 32;
    const COMMITS: u32 = 25;
    let trial = Trial::new("group commit", SpecVersion::V2, |_| async { memory() });
    let (storage, repository) = trial.create().await;
    let base = commit_edits(&repository, "base", &[("/a", array(&[100], &[1]))], &[]).await;
    let counting = CountingStorage::new(storage);
    let storage: Arc<dyn Storage> = Arc::new(counting.clone());
    let repository = trial.open(&storage).await;
    for number in 0..WRITERS {
        let created = repository.create_branch(&format!("w{number}"), base).await;
        is!(created, Ok(_));
    }
    let before = counting.snapshot().of("repo").put;
    let writers = (0..WRITERS).map(|number| {
        let repository = repository.clone();
        tokio::spawn(async move {
            for at in 0..COMMITS {
                let session = writer_on(&repository, &format!("w{number}")).await;
                write(&session, "/a", &[at], pattern(1, 1000)).await;
                commit(&session, "a chunk").await;
            }
        })
    });
    for writer in futures::future::join_all(writers).await {
        writer.expect("no panic");
    }
    let writes = counting.snapshot().of("repo").put - before;
    let commits = WRITERS * COMMITS;
    println!("{writes} writes of `repo` for {commits} commits");
    assert!(writes <= u64::from(commits / 4), "{writes} writes");
    for number in 0..WRITERS {
        let tip = tip(&repository, &format!("w{number}")).await;
        let commits = history(&repository, tip).await.len();
        // With the base and the first snapshot.
        assert_eq!(commits, 25 + 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_warm_read_of_a_chunk_is_one_request() {
    let (trial, _, meter) = metered("warm read").await;
    let repository = trial.open(&meter.storage()).await;
    let session = read_main(&repository).await;
    holds(&session, "/a", &[0], Some(&pattern(1, 1000))).await;
    let (_, cost) = meter.measure(read(&session, "/a", &[1])).await;
    show("warm read", &cost);
    assert_eq!((cost.rounds, cost.counts.total.requests()), (1, 1));
    let range = ByteRange::Range { start: 10, end: 20 };
    let (_, cost) = meter.measure(session.chunk(&path("/a"), &[1], range)).await;
    assert_eq!((cost.rounds, cost.counts.total.bytes_read), (1, 10));
    let (_, cost) = meter.measure(read(&session, "/a", &[3])).await;
    assert_eq!(
        cost.counts.total.requests(),
        0,
        "an absent chunk is known to be absent"
    );
    let (_, cost) = meter
        .measure(session.chunk_location(&path("/a"), &[0]))
        .await;
    assert_eq!(cost.counts.total.requests(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_commit_of_one_changed_chunk_takes_three_rounds() {
    let (trial, _, meter) = metered("commit").await;
    let repository = trial.open(&meter.storage()).await;
    let session = writer(&repository).await;
    holds(&session, "/a", &[0], Some(&pattern(1, 1000))).await;

    let (_, chunk) = meter
        .measure(write(&session, "/a", &[2], pattern(2, 1000)))
        .await;
    show("the chunk", &chunk);
    assert_eq!((chunk.rounds, chunk.counts.total.requests()), (1, 1));
    assert_eq!(chunk.counts.of("chunks").put, 1);

    let (_, cost) = meter.measure(commit(&session, "three")).await;
    show("the commit", &cost);
    assert_eq!(cost.rounds, 2, "objects, then the ref");
    for folder in ["manifests", "snapshots", "transactions"] {
        assert_eq!(cost.counts.of(folder).put, 1, "{folder}");
        assert_eq!(cost.counts.of(folder).requests(), 1, "{folder}");
    }
    assert_eq!(
        (cost.counts.of("refs").put, cost.counts.of("refs").get),
        (1, 1)
    );
    assert_eq!(cost.counts.of("repo").head, 1);
    assert_eq!(cost.counts.total.requests(), 6);

    // The next session begins where this one ended.
    let (session, cost) = meter.measure(writer(&repository)).await;
    show("the next session", &cost);
    assert_eq!((cost.rounds, cost.counts.total.requests()), (1, 1));
    is!(session.has_changes(), Ok(false));
}

#[tokio::test(start_paused = true)]
async fn where_this_machine_dates_the_objects_a_commit_of_stored_chunks_reads_one_object_more() {
    let trial = trial("host dates");
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::builder().host_dates().build());
    let created = trial.builder(&storage).create().await;
    let repository = created.expect("an empty store takes a repository");
    let nodes = [("/a", array(&[4], &[1])), ("/b", array(&[4], &[1]))];
    commit_edits(&repository, "one", &nodes, &[]).await;
    let meter = Meter::new(Arc::clone(&storage));
    let repository = trial.open(&meter.storage()).await;
    for (at, length, reads) in [("/a", 1000, 1), ("/b", 10, 0)] {
        let session = writer(&repository).await;
        write(&session, at, &[0], pattern(1, length)).await;
        let (_, cost) = meter.measure(commit(&session, "two")).await;
        show("the commit", &cost);
        assert_eq!(cost.rounds, 2, "objects, then the ref");
        let own = cost.counts.of("icefield");
        assert_eq!((own.get, own.requests()), (reads, reads), "{at}");
    }
}

#[tokio::test(start_paused = true)]
async fn rounds_of_a_commit_do_not_grow_with_its_size() {
    let (trial, _, meter) = metered("large commit").await;
    let repository = trial.open(&meter.storage()).await;
    let session = writer(&repository).await;
    for i in 0..20 {
        let at = format!("/new/{i}");
        set(&session, &at, array(&[4], &[1])).await;
        write(&session, &at, &[0], "inline").await;
    }
    let (_, cost) = meter.measure(commit(&session, "large")).await;
    show("a commit of 20 arrays", &cost);
    assert_eq!(cost.rounds, 2);
    assert_eq!(cost.counts.of("manifests").put, 20);
}

#[tokio::test(start_paused = true)]
async fn once_a_race_was_lost_the_tip_is_read_before_anything_is_written() {
    let (trial, storage, meter) = metered("lost race").await;
    let repository = trial.open(&meter.storage()).await;
    let (first, second) = (writer(&repository).await, writer(&repository).await);
    let other = trial.open(&storage).await;
    commit_edits(&other, "other", &[("/other", group())], &[]).await;
    for (session, requests) in [(&first, 5), (&second, 1)] {
        set(session, "/mine", group()).await;
        let (outcome, cost) = meter.measure(async { session.commit("mine").await }).await;
        show("a lost race", &cost);
        is!(
            outcome,
            Ok(icefield_core::CommitOutcome::BranchMoved { .. })
        );
        assert_eq!(cost.rounds, 1);
        assert!(cost.counts.total.requests() <= requests, "{cost:?}");
    }
    let session = writer(&repository).await;
    set(&session, "/mine", group()).await;
    let (_, cost) = meter.measure(commit(&session, "mine")).await;
    assert_eq!(cost.rounds, 3, "tip, objects, ref");
}

#[tokio::test(start_paused = true)]
async fn read_sessions_write_nothing_and_list_nothing() {
    let (trial, _, meter) = metered("reading").await;
    let reading = async {
        let repository: Repository = trial.open(&meter.storage()).await;
        let session = read_main(&repository).await;
        icefield_core::test_suite::view::tree(&session).await;
        let older = icefield_core::Revision::from(BranchName::main()).back(1);
        icefield_core::test_suite::view::tree(&reader(&repository, older).await).await;
        history(&repository, tip(&repository, "main").await).await;
    };
    let ((), cost) = meter.measure(reading).await;
    show("reading everything", &cost);
    assert_eq!((cost.counts.total.writes(), cost.counts.total.list), (0, 0));
    assert_eq!(cost.counts.total.sync, 0);
}

#[tokio::test(start_paused = true)]
async fn costs_of_the_rest() {
    let (trial, _, meter) = metered("the rest").await;
    let repository = trial.open(&meter.storage()).await;
    let main = tip(&repository, "main").await;
    let (_, cost) = meter.measure(history(&repository, main)).await;
    show("a history of three", &cost);
    assert_eq!((cost.rounds, cost.counts.total.requests()), (3, 3));
    let (_, cost) = meter.measure(history(&repository, main)).await;
    assert_eq!(cost.counts.total.requests(), 0, "snapshots are kept");
    let (_, cost) = meter.measure(repository.refs()).await;
    show("listing the refs", &cost);
    assert_eq!((cost.rounds, cost.counts.total.requests()), (2, 2));
    let (_, cost) = meter.measure(repository.create_branch("dev", main)).await;
    show("creating a branch", &cost);
    // A lease; whether something is being collected, and the snapshot; the branch; whether the repository was upgraded; the end
    // of the lease.
    assert_eq!((cost.rounds, cost.counts.total.requests()), (5, 6));
    let (_, cost) = meter.measure(repository.create_tag("v1", main)).await;
    show("creating a tag", &cost);
    assert_eq!((cost.rounds, cost.counts.total.requests()), (5, 6));
    let (_, cost) = meter
        .measure(repository.delete_branch(&branch("dev")))
        .await;
    show("deleting a branch", &cost);
    assert_eq!((cost.rounds, cost.counts.total.requests()), (2, 2));
    let fresh = Meter::new(crate::support::memory());
    let storage = fresh.storage();
    let (_, cost) = fresh
        .measure(async { is!(trial.builder(&storage).create().await, Ok(_)) })
        .await;
    show("creating a repository", &cost);
    assert_eq!((cost.rounds, cost.counts.total.requests()), (3, 4));
    assert_eq!(cost.counts.total.writes(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_creation_in_version_2_takes_three_rounds() {
    let fresh = Meter::new(memory());
    let trial = Trial::new("creation", SpecVersion::V2, |_| async { memory() });
    let create = async { is!(trial.builder(&fresh.storage()).create().await, Ok(_)) };
    let (_, cost) = fresh.measure(create).await;
    show("creating a repository", &cost);
    assert_eq!(cost.rounds, 3, "a list; snapshot and log; `repo`");
    assert_eq!(cost.counts.total.requests(), 4);
    assert_eq!(cost.counts.total.writes(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_cold_session_takes_two_rounds() {
    for (_, _, meter) in [metered("cold").await, second("cold in version 2").await] {
        let open = async {
            let builder = Repository::builder(meter.storage());
            builder.open_session(BranchName::main()).await
        };
        let (opened, cost) = meter.measure(open).await;
        is!(opened, Ok(_));
        show("a cold session", &cost);
        assert_eq!(cost.rounds, 2, "ref or `repo`, snapshot");
        assert!(cost.counts.total.requests() <= 6, "{cost:?}");
        assert_eq!(cost.counts.total.writes(), 0);
    }
}

/// Where a request is dear, a small chunk goes to the store together with the other objects of its commit.
#[tokio::test(start_paused = true)]
async fn a_set_and_a_commit_of_a_small_chunk_in_a_remote_store_take_two_rounds() {
    for spec in [SpecVersion::V1, SpecVersion::V2] {
        let far = |_| async {
            let storage = MemoryStorage::builder().remote().build();
            Arc::new(storage) as Arc<dyn Storage>
        };
        let (trial, _, meter) = metered_in(Trial::new("remote commit", spec, far)).await;
        let repository = trial.open(&meter.storage()).await;
        let session = writer(&repository).await;
        holds(&session, "/a", &[0], Some(&pattern(1, 1000))).await;
        let (_, chunk) = meter
            .measure(write(&session, "/a", &[2], pattern(2, 1000)))
            .await;
        assert_eq!(chunk.counts.total.requests(), 0);
        let (_, cost) = meter.measure(commit(&session, "three")).await;
        show("the commit", &cost);
        assert_eq!(
            cost.rounds, 2,
            "objects and the pack, then the ref or `repo`"
        );
        assert_eq!(cost.counts.of("chunks").put, 1);
        assert_eq!(cost.counts.total.requests(), 7);
        let repository = trial.open(&meter.storage()).await;
        let session = read_main(&repository).await;
        holds(&session, "/a", &[2], Some(&pattern(2, 1000))).await;
    }
}

#[tokio::test(start_paused = true)]
async fn leases_are_read_several_at_a_time_and_told_in_the_order_of_their_keys() {
    use icefield_core::collection::Lease;

    let (_, storage, meter) = metered("leases").await;
    let repository = trial("leases, held").open(&storage).await;
    for _ in 0..40 {
        let hold = repository.hold_collections().await.expect("nothing runs");
        // It is left there.
        drop(hold);
    }
    // One that cannot be read holds back everything.
    put(&storage, "icefield/leases/ZZZZZZZZZZZZZZZZZZZG", "no lease").await;
    let through = meter.storage();
    let (leases, cost) = meter.measure(Lease::list(&*through)).await;
    let leases = leases.expect("listed");
    let found: Vec<_> = leases.iter().map(|it| it.object.key.to_string()).collect();
    let mut expected = keys(&storage).await;
    expected.retain(|key| key.starts_with("icefield/leases/"));
    assert_eq!(found, expected);
    assert_eq!((found.len(), leases[40].started), (41, 0));
    assert_eq!(cost.counts.total.requests(), 1 + 41);
    assert!(cost.rounds <= 1 + 3, "{cost:?}");
}
