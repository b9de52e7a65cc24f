//! Commits that leave out lost manifests, that store manifests early, and edits of the configuration by several.

use std::collections::BTreeSet;
use std::sync::Arc;

use icefield_core::repair::{ManifestRepair, with_manifest_repair};
use icefield_core::test_suite::walk::assert_sound;
use icefield_core::test_suite::words::*;
use icefield_core::{
    CommitError, CommitOutcome, EditOutcome, ManifestId, Repository, RepositoryConfig, Settings,
    SnapshotId,
};
use icefield_format::layout;
use icefield_storage::Storage;
use icefield_storage::wrap::fault::{Decision, Delivery, Matcher, Plan, Verb};
use icefield_storage::wrap::{FaultyStorage, Meter};
use icefield_testkit::stores;

use crate::support::*;

/// The manifests of an array, by their first chunk.
async fn manifests(repository: &Repository, at: &str) -> Vec<(u32, ManifestId)> {
    let snapshot = repository.snapshot(tip(repository, "main").await).await;
    let snapshot = snapshot.expect("a snapshot");
    let node = snapshot.node(&path(at)).expect("an array");
    let manifests = node.array().expect("an array").manifests();
    let mut found: Vec<_> = manifests
        .map(|it| (it.extents().ranges()[0].start, it.id()))
        .collect();
    found.sort_unstable();
    found
}

async fn leave_out(
    repository: &Repository,
    lost: impl IntoIterator<Item = ManifestId>,
    chunks: &[u32],
) -> Result<CommitOutcome, CommitError> {
    let session = writer(repository).await;
    for index in chunks {
        write(&session, "/a", &[*index], pattern(9, 1000)).await;
    }
    let lost: BTreeSet<_> = lost.into_iter().collect();
    let repair = ManifestRepair {
        lost,
        ..ManifestRepair::default()
    };
    with_manifest_repair(session.commit("repair"), repair).await
}

fn committed(outcome: Result<CommitOutcome, CommitError>) -> SnapshotId {
    match outcome {
        Ok(CommitOutcome::Committed(id)) => id,
        other => panic!("{other:?}"),
    }
}

/// `/a` with four chunks in two manifests, and `/b` with one; the first manifest of `/a` is lost.
async fn damaged(name: &'static str) -> (Arc<dyn Storage>, Repository, ManifestId) {
    let trial = trial(name);
    let rules = "manifest:\n  splitting:\n    split_sizes:\n    - [any_array, [{condition: !Axis 0, num_chunks: 2}]]\n";
    let config = RepositoryConfig::decode(rules.as_bytes()).expect("a configuration");
    let storage = memory();
    let builder = trial.builder(&storage).config(config);
    let repository = builder.create().await.expect("created");
    let chunk = pattern(1, 1000);
    let nodes = [("/a", array(&[4], &[1])), ("/b", array(&[4], &[1]))];
    let chunks: &[Chunk<'_>] = &[
        ("/a", &[0], &chunk),
        ("/a", &[1], &chunk),
        ("/a", &[2], &chunk),
        ("/a", &[3], &chunk),
        ("/b", &[0], &chunk),
    ];
    commit_edits(&repository, "chunks", &nodes, chunks).await;
    let found = manifests(&repository, "/a").await;
    assert_eq!(found.len(), 2);
    let lost = found[0].1;
    stores::delete(&storage, &layout::manifest_key(lost)).await;
    let repository = trial.open(&storage).await;
    (storage, repository, lost)
}

#[tokio::test]
async fn a_lost_manifest_is_left_out_and_the_rest_stays() {
    let (storage, repository, lost) = damaged("left out").await;
    let others = [
        manifests(&repository, "/a").await[1],
        manifests(&repository, "/b").await[0],
    ];
    let id = committed(leave_out(&repository, [lost], &[]).await);
    assert_eq!(manifests(&repository, "/a").await, others[..1]);
    assert_eq!(manifests(&repository, "/b").await, others[1..]);
    let snapshot = repository.snapshot(id).await.expect("a snapshot");
    assert!(snapshot.manifest_files().all(|it| it.id != lost));
    let session = read_main(&repository).await;
    for (index, there) in [(0, false), (1, false), (2, true), (3, true)] {
        let chunk = there.then(|| pattern(1, 1000));
        holds(&session, "/a", &[index], chunk.as_deref()).await;
    }
    holds(&session, "/b", &[0], Some(&pattern(1, 1000))).await;
    // A rebase sees that the array changed; the log cannot name its chunks.
    let log = repository.transaction_log(id).await.expect("a log");
    let node = snapshot.node(&path("/a")).expect("an array").id();
    assert_eq!(log.updated_arrays().collect::<Vec<_>>(), [node]);
    assert_eq!(log.updated_chunks().count(), 0);
    // The old snapshot is as it was: its manifest is still missing.
    assert!(!keys(&storage).await.contains(&layout::manifest_key(lost)));
}

#[tokio::test]
async fn edits_go_into_the_place_of_the_lost_manifest() {
    let (_, repository, lost) = damaged("left out with edits").await;
    // Without leaving it out, nothing can be written beside what it held.
    is!(leave_out(&repository, [], &[1]).await, Err(_));
    committed(leave_out(&repository, [lost], &[1, 2]).await);
    let session = read_main(&repository).await;
    let (old, new) = (pattern(1, 1000), pattern(9, 1000));
    for (index, chunk) in [(0, None), (1, Some(&new)), (2, Some(&new)), (3, Some(&old))] {
        holds(&session, "/a", &[index], chunk.map(|it| &it[..])).await;
    }
}

#[tokio::test]
async fn an_array_without_any_other_manifest_is_empty_and_can_be_written() {
    let (_, repository, lost) = damaged("all left out").await;
    let all = manifests(&repository, "/a").await;
    let more = manifests(&repository, "/b").await;
    let lost = all.into_iter().chain(more).map(|it| it.1).chain([lost]);
    committed(leave_out(&repository, lost, &[]).await);
    assert_eq!(manifests(&repository, "/a").await, []);
    let session = read_main(&repository).await;
    assert_eq!(indices(&session, "/a").await.len(), 0);
    assert_eq!(indices(&session, "/b").await.len(), 0);
    committed(leave_out(&repository, [], &[0]).await);
    let session = read_main(&repository).await;
    holds(&session, "/a", &[0], Some(&pattern(9, 1000))).await;
}

#[tokio::test]
async fn leaving_out_nothing_is_no_commit() {
    let (_, repository, _) = damaged("nothing left out").await;
    is!(
        leave_out(&repository, [], &[]).await,
        Err(CommitError::NothingToCommit)
    );
}

/// Eight arrays with a chunk each, written by a handle with such a bound; returns the cost of the commit.
async fn wide(bound: usize) -> (Arc<dyn Storage>, icefield_storage::wrap::Cost) {
    let trial = trial("waiting");
    let (storage, _) = trial.create().await;
    let meter = Meter::new(Arc::clone(&storage));
    let settings = Settings::default().with_held_manifest_bytes(bound);
    let builder = trial.builder(&meter.storage()).settings(settings);
    let session = writer(&builder.open().await.expect("opened")).await;
    for number in 0..8 {
        let at = format!("/n{number}");
        set(&session, &at, array(&[4], &[1])).await;
        write(&session, &at, &[0], pattern(number, 300)).await;
    }
    let (_, cost) = meter.measure(commit(&session, "wide")).await;
    (storage, cost)
}

#[tokio::test(start_paused = true)]
async fn manifests_beyond_the_bound_are_stored_early_and_the_commit_is_the_same() {
    let (usual, cost) = wide(64 << 20).await;
    assert_eq!((cost.rounds, cost.counts.of("manifests").put), (2, 8));
    let (early, cost) = wide(0).await;
    // The first may wait; the others go ahead, four at a time.
    assert!((3..=5).contains(&cost.rounds), "{cost:?}");
    assert_eq!(cost.counts.of("manifests").put, 8, "none is sent twice");
    assert_eq!(objects(&early).await, objects(&usual).await);
    assert_sound(&early).await;
}

#[tokio::test]
async fn a_commit_stopped_with_early_manifests_changes_nothing() {
    let trial = trial("waiting and stopped");
    let (inner, _) = trial.create().await;
    let before = tip(&trial.open(&inner).await, "main").await;
    // The third early manifest fails, then the snapshot.
    for (matcher, n) in [("manifests/", 2), ("snapshots/", 0)] {
        let puts = Matcher::verb(Verb::Put).below(matcher);
        let (handle, storage) = faulty(&inner, Plan::none());
        let settings = Settings::default().with_held_manifest_bytes(0);
        let builder = trial.builder(&storage).settings(settings);
        let session = writer(&builder.open().await.expect("opened")).await;
        for number in 0..8 {
            let at = format!("/n{number}");
            set(&session, &at, array(&[4], &[1])).await;
            write(&session, &at, &[0], pattern(number, 300)).await;
        }
        handle.set_plan(Plan::none().on(puts, n, Decision::FailBefore));
        is!(session.commit("wide").await, Err(_));
        assert_eq!(tip(&trial.open(&inner).await, "main").await, before);
        assert_sound(&inner).await;
        handle.set_plan(Plan::none());
        if matcher == "snapshots/" {
            commit(&session, "wide").await;
            for number in 0..8 {
                let at = format!("/n{number}");
                let read = read_main(&trial.open(&inner).await).await;
                holds(&read, &at, &[0], Some(&pattern(number, 300))).await;
            }
            assert_sound(&inner).await;
        }
    }
}

fn config_puts() -> Matcher {
    Matcher::verb(Verb::Put).below("config.yaml")
}

fn threshold(bytes: u16) -> impl Fn(&mut RepositoryConfig) {
    move |config| config.inline_chunk_threshold_bytes = Some(bytes)
}

/// Sets a value as a program does: others' edits are kept.
async fn edit(
    repository: &Repository,
    edit: impl Fn(&mut RepositoryConfig),
) -> (EditOutcome, usize) {
    for lost in 0.. {
        let mut config = repository.stored_config();
        edit(&mut config);
        match repository.save_config(config).await.expect("an answer") {
            EditOutcome::Refused(_) => drop(repository.reload_config().await.expect("read")),
            outcome => return (outcome, lost),
        }
    }
    unreachable!("it ends")
}

#[tokio::test]
async fn b28_who_loses_a_race_for_the_configuration_reads_it_again_and_keeps_the_other_edit() {
    for stored in [false, true] {
        let trial = trial("config race");
        let (storage, one) = trial.create().await;
        if stored {
            done(one.save_config(one.config()).await);
            is!(edit(&one, threshold(3)).await, (EditOutcome::Done(_), 0));
        }
        let two = trial.open(&storage).await;
        is!(edit(&one, threshold(7)).await, (EditOutcome::Done(_), 0));
        let requests = |config: &mut RepositoryConfig| config.max_concurrent_requests = Some(5);
        is!(edit(&two, requests).await, (EditOutcome::Done(_), 1));
        let fresh = trial.open(&storage).await.config();
        assert_eq!(fresh.inline_chunk_threshold_bytes, Some(7));
        assert_eq!(fresh.max_concurrent_requests, Some(5));
    }
}

#[tokio::test]
async fn a9_an_edit_of_the_configuration_that_cannot_be_looked_at_is_unknown_and_can_be_repeated() {
    for (effect, landed) in [
        (Decision::FailAfter, true),
        (Decision::Late(Delivery::OnDemand), false),
    ] {
        let trial = trial("config unknown");
        let (inner, repository) = trial.create().await;
        is!(
            edit(&repository, threshold(3)).await,
            (EditOutcome::Done(_), 0)
        );
        let (handle, storage): (FaultyStorage, _) = faulty(&inner, Plan::none());
        let repository = trial.open(&storage).await;
        let looks = Matcher::verb(Verb::Get).below("config.yaml");
        let plan = Plan::none().on(config_puts(), 0, effect);
        handle.set_plan(plan.on(looks, 0, Decision::FailBefore));
        is!(
            edit(&repository, threshold(7)).await,
            (EditOutcome::Unknown(_), 0)
        );
        assert_eq!(
            repository.config().inline_chunk_threshold_bytes,
            Some(3),
            "no state is believed that no read has shown"
        );
        handle.set_plan(Plan::none());
        // Whether it landed or not, doing it again ends it: refused once, if it was there.
        let (outcome, lost) = edit(&repository, threshold(7)).await;
        is!(outcome, EditOutcome::Done(_));
        assert_eq!(lost, usize::from(landed));
        // A late write finds another state.
        let late = handle.deliver_pending().await;
        assert!(late.iter().all(|it| !it.took_effect), "{late:?}");
        let fresh = trial.open(&inner).await.config();
        assert_eq!(fresh.inline_chunk_threshold_bytes, Some(7));
    }
}
