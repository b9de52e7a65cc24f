//! Case C 37 of `docs/faults.md`: rebases, picks and comparisons over what has expired are right, or a typed error.

use std::sync::Arc;

use icefield_core::test_suite::walk::problems;
use icefield_core::test_suite::words::*;
use icefield_core::{
    BasicSolver, CommitOutcome, Conflict, RebaseError, RebaseOutcome, RepositoryError, Session,
    SnapshotId, VersionSelection,
};
use icefield_core::{Repository, UpgradeOptions};
use icefield_maintenance::{Check, Policy};

use super::{DAY, Lab, MONDAY, at};

/// Three commits that write one chunk of `/a` each, on days of their own, after one that creates it; the second
/// afterwards deletes a group and makes another.
struct Story {
    lab: Lab,
    ids: Vec<SnapshotId>,
    /// Sessions on the first snapshot of the repository, and on each of these but the tip.
    sessions: Vec<Session>,
}

impl Story {
    async fn new() -> Self {
        let lab = Lab::new().await;
        let mut ids = Vec::new();
        let mut sessions = vec![writer(&lab.repository).await];
        for number in 0..4_u32 {
            lab.clock.set(at(MONDAY + u64::from(number) * DAY + 1));
            let session = writer(&lab.repository).await;
            if number == 0 {
                set(&session, "/a", array(&[4], &[1])).await;
                set(&session, "/gone", group()).await;
            }
            if number == 2 {
                session.delete_node(&path("/gone")).await.expect("deleted");
                set(&session, "/came", group()).await;
            }
            write(&session, "/a", &[number], vec![number as u8; 600]).await;
            ids.push(commit(&session, &number.to_string()).await);
            if number < 3 {
                sessions.push(writer(&lab.repository).await);
            }
        }
        Self { lab, ids, sessions }
    }

    /// Releases all but the tip and those.
    async fn keep(&self, numbers: &[usize]) {
        for number in numbers {
            done(
                self.lab
                    .repository
                    .create_tag(&format!("t{number}"), self.ids[*number])
                    .await,
            );
        }
        let mut policy = Policy::default();
        policy.last = 1;
        self.lab.run(policy).await;
    }
}

/// Rebases a session that writes chunk 1 of `/a`, which the second commit wrote.
async fn rebased(session: &Session) -> Result<RebaseOutcome, RebaseError> {
    write(session, "/a", &[1], vec![9; 600]).await;
    session
        .rebase(&BasicSolver::of(VersionSelection::Fail))
        .await
}

#[tokio::test]
async fn c37_a_session_on_a_released_snapshot_gets_a_typed_error() {
    let story = Story::new().await;
    story.keep(&[0]).await;
    for number in [1, 2] {
        let session = &story.sessions[number + 1];
        is!(
            rebased(session).await,
            Err(RebaseError::BaseNotInHistory { base, .. }) if base == story.ids[number],
        );
        is!(
            session.commit("late").await,
            Ok(CommitOutcome::BranchMoved { .. }),
        );
    }
}

#[tokio::test]
async fn c37_a_rebase_from_a_snapshot_that_stays_sees_what_the_released_ones_did() {
    let story = Story::new().await;
    story.keep(&[0]).await;
    // Commit 1 is released; its chunk is in the log of the tip, which follows commit 0 now.
    is!(
        rebased(&story.sessions[1]).await,
        Ok(RebaseOutcome::Conflicts { snapshot, conflicts })
            if snapshot == story.ids[3]
                && conflicts.iter().any(|it| matches!(it, Conflict::ChunkDoubleUpdate { .. })),
    );
    // A fresh process, with nothing in memory, sees the same.
    let fresh = story.lab.open(&story.lab.storage).await;
    let log = fresh.transaction_log(story.ids[3]).await.expect("a log");
    assert_eq!(log.new_groups().count(), 1);
    assert_eq!(log.deleted_groups().count(), 1);
    let chunks: usize = log.updated_chunks().map(|it| it.len()).sum();
    assert_eq!(chunks, 3);
    // Where nothing was between, and nothing is hidden, the walk finds nothing.
    let found = problems(&story.lab.storage).await;
    assert_eq!(found, Vec::<String>::new());
}

#[tokio::test]
async fn c37_a_rebase_from_the_first_snapshot_sees_what_the_released_ones_did() {
    for keep in [&[][..], &[2]] {
        let story = Story::new().await;
        let log = story.lab.repository.transaction_log(story.ids[3]).await;
        let before = format!("{:?}", log.expect("a log"));
        story.keep(keep).await;
        let session = &story.sessions[0];
        set(session, "/a", array(&[4], &[1])).await;
        is!(
            session
                .rebase(&BasicSolver::of(VersionSelection::Fail))
                .await,
            Ok(RebaseOutcome::Conflicts { .. }),
        );
        if keep.is_empty() {
            // Behind the first snapshot the log is not rewritten: it would name everything that there is.
            let log = story.lab.repository.transaction_log(story.ids[3]).await;
            assert_eq!(format!("{:?}", log.expect("a log")), before);
        }
    }
}

#[tokio::test]
async fn c37_a_node_that_both_sides_took_over_is_one_node_also_when_its_commit_has_expired() {
    let story = Story::new().await;
    let session = &story.sessions[0];
    let solver = BasicSolver::of(VersionSelection::Fail);
    let first = SnapshotId::INITIAL;
    is!(session.apply(first, story.ids[0], &solver).await, Ok(_));
    write(session, "/a", &[1], vec![9; 600]).await;
    story.keep(&[]).await;
    // Chunk 1 was written by a commit that has expired, which the log of the tip does not name.
    is!(
        session.rebase(&solver).await,
        Ok(RebaseOutcome::Conflicts { conflicts, .. })
            if conflicts.iter().any(|it| matches!(it, Conflict::ChunkDoubleUpdate { .. })),
    );
}

#[tokio::test]
async fn c37_what_a_commit_changed_is_not_guessed_when_its_parent_has_expired() {
    let story = Story::new().await;
    story.keep(&[]).await;
    let session = writer(&story.lab.repository).await;
    let tip = story.ids[3];
    for outcome in [
        session
            .revert(tip, &BasicSolver::of(VersionSelection::Fail))
            .await,
        session
            .cherry_pick(tip, &BasicSolver::of(VersionSelection::Fail))
            .await,
    ] {
        is!(
            outcome,
            Err(RebaseError::Repository(RepositoryError::ParentExpired { snapshot }))
                if snapshot == tip,
        );
    }
    // A caller that names both snapshots gets the difference between them.
    let diff = story
        .lab
        .repository
        .diff(story.ids[0], tip)
        .await
        .expect("compared");
    assert_eq!(diff.updated_chunks[&path("/a")].len(), 3);
}

#[tokio::test]
async fn c37_a_session_on_the_tip_commits_as_if_nothing_had_happened() {
    let story = Story::new().await;
    let session = writer(&story.lab.repository).await;
    story.keep(&[]).await;
    write(&session, "/a", &[0], vec![7; 600]).await;
    story.lab.clock.set(at(MONDAY + 9 * DAY));
    let id = commit(&session, "after").await;
    assert_eq!(story.lab.history("main").await, [id, story.ids[3]]);
}

#[tokio::test]
async fn c37_a_log_that_tells_more_still_tells_of_what_came_and_went() {
    let lab = Lab::new().await;
    let step = async |number: u64| {
        lab.clock.set(at(MONDAY + number * DAY + 1));
        let session = writer(&lab.repository).await;
        match number {
            0 => set(&session, "/a", array(&[4], &[1])).await,
            1 => set(&session, "/n", array(&[4], &[1])).await,
            _ => drop(session.delete_node(&path("/n")).await.expect("deleted")),
        }
        commit(&session, "a step").await
    };
    let first = step(0).await;
    step(1).await;
    // It stands where `/n` is there, and writes to it.
    let late = writer(&lab.repository).await;
    write(&late, "/n", &[0], vec![1; 600]).await;
    let last = step(2).await;
    // An expiration that was stopped after it completed the log: `/n` is on neither side of the gap.
    done(lab.repository.absorb_into_log(last, first).await);
    let fresh = lab.repository.transaction_log(last).await.expect("a log");
    assert!(fresh.deleted_arrays().len() > 0, "{fresh:?}");
    let solver = BasicSolver::of(VersionSelection::Fail);
    let outcome = late.rebase(&solver).await.expect("an answer");
    assert!(
        matches!(outcome, RebaseOutcome::Conflicts { .. }),
        "a chunk of a deleted array: {outcome:?}"
    );
}

/// Keeps the last snapshot of each branch, and what tags point to, as a process that has nothing in memory.
async fn run_fresh(lab: &Lab) -> icefield_maintenance::Expired {
    let fresh = lab.open(&lab.storage).await;
    let mut policy = Policy::default();
    policy.last = 1;
    let expire = icefield_maintenance::Expire::new(policy);
    let done = expire.run(&fresh, &());
    done.await.expect("what is lost is not in the way")
}

/// Deletes the manifest that a snapshot of the story has.
async fn lose_manifest(story: &Story, number: usize) {
    let snapshot = story.lab.repository.snapshot(story.ids[number]).await;
    let snapshot = snapshot.expect("a snapshot");
    for file in snapshot.manifest_files() {
        let key = icefield_format::layout::manifest_key(file.id);
        icefield_testkit::stores::delete(&story.lab.storage, &key).await;
    }
}

#[tokio::test]
async fn c37_where_a_manifest_is_lost_the_log_tells_what_the_logs_in_between_told() {
    for lost in [0, 1, 3] {
        let story = Story::new().await;
        lose_manifest(&story, lost).await;
        done(story.lab.repository.create_tag("t0", story.ids[0]).await);
        let expired = run_fresh(&story.lab).await;
        assert_eq!(expired.stuck, [], "{lost}");
        assert_eq!(
            story.lab.history("main").await,
            [story.ids[3], story.ids[0]]
        );
        let fresh = story.lab.open(&story.lab.storage).await;
        let log = fresh.transaction_log(story.ids[3]).await.expect("a log");
        assert_eq!(log.new_groups().count(), 1, "{lost}");
        assert_eq!(log.deleted_groups().count(), 1, "{lost}");
        let chunks: Vec<_> = (log.updated_chunks())
            .flat_map(|it| it.chunks().collect::<Vec<_>>())
            .collect();
        let named: Vec<u32> = chunks.iter().map(|index| index[0]).collect();
        assert_eq!(named, [1, 2, 3], "{lost}");
    }
}

#[tokio::test]
async fn c37_where_a_log_in_between_is_lost_too_the_snapshot_keeps_its_parent_and_the_others_go_on()
{
    let story = Story::new().await;
    let lab = &story.lab;
    done(lab.repository.create_tag("t0", story.ids[0]).await);
    done(lab.repository.create_branch("dev", story.ids[0]).await);
    let between = lab.commit("dev", MONDAY + 5 * DAY).await;
    let dev = lab.commit("dev", MONDAY + 6 * DAY).await;
    lose_manifest(&story, 0).await;
    let log = icefield_format::layout::transaction_log_key(story.ids[1]);
    icefield_testkit::stores::delete(&lab.storage, &log).await;
    for again in [false, true] {
        let expired = run_fresh(lab).await;
        let stuck: Vec<_> = expired.stuck.iter().map(|it| (it.id, it.parent)).collect();
        assert_eq!(stuck, [(story.ids[3], story.ids[2])]);
        assert!(
            expired.stuck[0].reason.contains("manifest"),
            "{:?}",
            expired.stuck
        );
        let rewritten: Vec<_> = expired.plan.new_parents.iter().map(|it| it.id).collect();
        let expected: &[SnapshotId] = if again { &[] } else { &[dev] };
        assert_eq!(rewritten, expected);
        assert_eq!(
            expired.plan.released(),
            u64::from(!again),
            "{between} alone"
        );
    }
    let mut all = story.ids.clone();
    all.reverse();
    assert_eq!(lab.history("main").await, all);
    assert_eq!(lab.history("dev").await, [dev, story.ids[0]]);
}

/// The simulated fleet with seed 301830: in version 1 nothing names the logs of what expired, and the upgrade cannot know them.
#[tokio::test]
async fn logs_that_expired_before_an_upgrade_are_not_missed_after_it() {
    let mut lab = Lab::new().await;
    let mut policy = Policy::default();
    policy.last = 1;
    let session = writer(&lab.repository).await;
    set(&session, "/", group()).await;
    commit(&session, "root").await;
    lab.commit("main", MONDAY + 1).await;
    lab.run(policy.clone()).await;
    let builder = Repository::builder(Arc::clone(&lab.storage)).clock(Arc::new(lab.clock.clone()));
    let upgraded = builder.upgrade(&UpgradeOptions::default()).await;
    upgraded.expect("nothing disturbs it");
    lab.repository = lab.open(&lab.storage).await;
    lab.commit("main", MONDAY + 4).await;
    lab.run(policy).await;
    let info = lab
        .repository
        .snapshot_info(tip(&lab.repository, "main").await);
    let info = info.await.expect("it is there");
    assert_eq!(
        (info.parent_id, info.pruned_logs.len()),
        (Some(SnapshotId::INITIAL), 1)
    );
    let check = Check::new(Arc::clone(&lab.storage)).run(&()).await;
    let check = check.expect("it can be read");
    assert!(check.is_sound(), "{:?}", check.findings);
}
