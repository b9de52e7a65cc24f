//! Merge, cherry-pick, revert, squash, and snapshots without a branch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use icefield_core::{
    ApplyOutcome, BasicSolver, BranchName, CommitError, CommitOutcome, Detector, EditOutcome,
    MERGED_SNAPSHOT, NodePath, RebaseError, Repository, RepositoryError, SeededEntropy, Session,
    SessionError, SnapshotId, TagName, VersionSelection,
};
use icefield_storage::ManualClock;

use crate::edits::*;

async fn tip(repository: &Repository, branch: &str) -> SnapshotId {
    let branch: BranchName = branch.parse().expect("valid");
    let session = repository.read_session(branch).await.expect("exists");
    session.snapshot_id().expect("sound")
}

async fn branch(repository: &Repository, name: &str) -> SnapshotId {
    let at = tip(repository, "main").await;
    let created = repository.create_branch(name, at).await.expect("valid");
    assert!(matches!(created, EditOutcome::Done(_)));
    at
}

async fn on(repository: &Repository, branch: &str) -> Session {
    let branch: BranchName = branch.parse().expect("valid");
    repository.write_session(branch).await.expect("exists")
}

async fn edit(repository: &Repository, branch: &str, edits: &[Edit]) -> SnapshotId {
    let session = on(repository, branch).await;
    apply(&session, edits).await;
    commit(&session).await;
    session.snapshot_id().expect("sound")
}

async fn at(repository: &Repository, id: SnapshotId) -> Session {
    repository.read_session(id).await.expect("exists")
}

fn paths(session: &Session) -> Vec<String> {
    let nodes = session.nodes(&NodePath::root()).expect("sound");
    nodes
        .into_iter()
        .map(|node| node.path.to_string())
        .collect()
}

fn applied(outcome: Result<ApplyOutcome, RebaseError>) {
    match outcome {
        Ok(ApplyOutcome::Applied(_)) => {}
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_merge_joins_two_branches_and_later_merges_go_on_from_it() {
    let repository = start().await;
    branch(&repository, "dev").await;
    let resized = array(12, r#","attributes":{"x":1,"y":1}"#);
    let dev = [
        Chunk("/g/a", 1, 1),
        NoChunk("/g/a", 2),
        Meta("/n", array(3, "")),
        Chunk("/n", 0, 7),
        Meta("/g/a", resized),
        Chunk("/g/a", 11, 11),
    ];
    let theirs = edit(&repository, "dev", &dev).await;
    edit(&repository, "main", &[Chunk("/g/a", 3, 3), Delete("/b")]).await;
    let session = on(&repository, "main").await;
    applied(session.merge(theirs, &Detector::Strict).await);
    commit(&session).await;
    let merged = reader(&repository).await;
    assert_eq!(paths(&merged), ["/", "/g", "/g/a", "/n"]);
    for (index, value) in [
        (0, Some(100)),
        (1, Some(1)),
        (2, None),
        (3, Some(3)),
        (11, Some(11)),
    ] {
        assert_eq!(byte(&merged, "/g/a", index).await, value, "{index}");
    }
    assert_eq!(byte(&merged, "/n", 0).await, Some(7));
    let info = repository
        .snapshot_info(tip(&repository, "main").await)
        .await;
    let recorded = info.expect("readable").metadata[MERGED_SNAPSHOT].clone();
    assert_eq!(recorded, theirs.to_string());

    // Merged again, nothing is left to do; after more edits, only those.
    let session = on(&repository, "main").await;
    let again = session.merge(theirs, &Detector::Strict).await;
    assert_eq!(again.expect("decidable"), ApplyOutcome::NothingToDo);
    let theirs = edit(&repository, "dev", &[Chunk("/g/a", 3, 33)]).await;
    let outcome = session
        .merge(theirs, &Detector::Strict)
        .await
        .expect("decidable");
    assert!(
        matches!(&outcome, ApplyOutcome::Conflicts(found) if found.len() == 1),
        "{outcome:?}"
    );
    assert!(!session.has_changes().expect("sound"));
    edit(&repository, "dev", &[Chunk("/g/a", 3, 3)]).await;
    // In the other direction, from the merge on: what main got by itself.
    let session = on(&repository, "dev").await;
    applied(
        session
            .merge(tip(&repository, "main").await, &Detector::Strict)
            .await,
    );
    commit(&session).await;
    let dev = at(&repository, tip(&repository, "dev").await).await;
    assert_eq!(paths(&dev), ["/", "/g", "/g/a", "/n"]);
    assert_eq!(byte(&dev, "/g/a", 11).await, Some(11));
}

#[tokio::test]
async fn a_merge_can_be_settled_by_a_solver() {
    let repository = start().await;
    branch(&repository, "dev").await;
    let theirs = edit(&repository, "dev", &[Chunk("/b", 1, 1)]).await;
    edit(&repository, "main", &[Chunk("/b", 1, 2), Chunk("/b", 2, 2)]).await;
    let session = on(&repository, "main").await;
    // Of a merge, the branch that is merged is ours.
    applied(session.merge(theirs, &BasicSolver::default()).await);
    assert_eq!(byte(&session, "/b", 1).await, Some(1));
    assert_eq!(byte(&session, "/b", 2).await, Some(2));
}

#[tokio::test]
async fn a_commit_is_picked_and_reverted() {
    let repository = start().await;
    branch(&repository, "dev").await;
    edit(&repository, "dev", &[Chunk("/b", 6, 6)]).await;
    let picked = [
        Chunk("/b", 7, 7),
        NoChunk("/b", 0),
        Delete("/g"),
        Meta("/n", group("{}")),
        Meta("/b", array(10, r#","attributes":{"x":5,"y":1}"#)),
    ];
    let picked = edit(&repository, "dev", &picked).await;
    edit(
        &repository,
        "main",
        &[Meta("/b", array(10, r#","attributes":{"x":1,"y":6}"#))],
    )
    .await;
    let before = tip(&repository, "main").await;
    let session = on(&repository, "main").await;
    applied(session.cherry_pick(picked, &Detector::Strict).await);
    let now = committed(&repository, &session).await;
    assert_eq!(paths(&now), ["/", "/b", "/n"]);
    assert_eq!(byte(&now, "/b", 0).await, None);
    assert_eq!(byte(&now, "/b", 6).await, None, "that was another commit");
    assert_eq!(byte(&now, "/b", 7).await, Some(7));
    let document = now.metadata(&path("/b")).expect("sound").expect("there");
    assert_eq!(document, array(10, r#","attributes":{"x":5,"y":6}"#));

    edit(&repository, "main", &[Chunk("/b", 8, 8)]).await;
    let session = on(&repository, "main").await;
    let pick = now.snapshot_id().expect("sound");
    applied(session.revert(pick, &Detector::Strict).await);
    let now = committed(&repository, &session).await;
    assert_eq!(paths(&now), ["/", "/b", "/g", "/g/a"]);
    assert_eq!(byte(&now, "/b", 8).await, Some(8), "what came after stays");
    assert_eq!(byte(&now, "/g/a", 4).await, Some(100));
    // All that is left of it is what came after.
    let diff = repository
        .diff(before, now.snapshot_id().expect("sound"))
        .await;
    let diff = diff.expect("readable");
    let chunks: Vec<String> = diff.updated_chunks[&path("/b")]
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        (diff.updated_chunks.len(), chunks.len()),
        (1, 1),
        "{diff:?}"
    );
    assert!(diff.new_groups.is_empty() && diff.deleted_arrays.is_empty());
}

#[tokio::test]
async fn reverting_what_was_changed_since_collides() {
    let repository = start().await;
    let commit = edit(&repository, "main", &[Chunk("/b", 7, 7)]).await;
    edit(&repository, "main", &[Chunk("/b", 7, 8)]).await;
    let session = on(&repository, "main").await;
    let outcome = session
        .revert(commit, &Detector::Strict)
        .await
        .expect("decidable");
    assert!(matches!(outcome, ApplyOutcome::Conflicts(_)));
    let first = session.revert(SnapshotId::INITIAL, &Detector::Strict).await;
    assert!(matches!(
        first,
        Err(RebaseError::Repository(RepositoryError::NoParent { .. }))
    ));
    apply(&session, &[Chunk("/b", 1, 1)]).await;
    let dirty = session.revert(commit, &Detector::Strict).await;
    assert!(matches!(
        dirty,
        Err(RebaseError::Session(SessionError::UncommittedChanges))
    ));
}

#[tokio::test]
async fn a_range_is_squashed_into_one_commit_on_a_new_branch() {
    let repository = start().await;
    let from = tip(&repository, "main").await;
    edit(
        &repository,
        "main",
        &[Chunk("/b", 1, 1), Meta("/n", group("{}"))],
    )
    .await;
    let session = on(&repository, "main").await;
    session
        .move_node(&path("/g"), &path("/n/g"))
        .await
        .expect("possible");
    commit(&session).await;
    edit(
        &repository,
        "main",
        &[Chunk("/b", 1, 2), Chunk("/n/g/a", 9, 9)],
    )
    .await;
    let to = tip(&repository, "main").await;
    let (id, created) = repository
        .squash(from, to, "short", "all of it")
        .await
        .expect("valid");
    assert!(matches!(created, EditOutcome::Done(_)));
    assert_eq!(tip(&repository, "short").await, id);
    let info = repository.snapshot_info(id).await.expect("readable");
    assert_eq!(
        (info.parent_id, &info.message[..]),
        (Some(from), "all of it")
    );
    assert!(repository.diff(to, id).await.expect("readable").is_empty());
    let empty = repository.squash(to, to, "none", "nothing").await;
    assert!(matches!(empty, Err(CommitError::NothingToCommit)));
    let bad = repository.squash(from, to, "a/b", "bad name").await;
    assert!(bad.is_err());
}

#[tokio::test]
async fn a_flushed_snapshot_is_adopted_by_a_tag_or_a_branch() {
    let repository = start().await;
    let before = tip(&repository, "main").await;
    let session = on(&repository, "main").await;
    apply(&session, &[Chunk("/b", 1, 1)]).await;
    let id = session.flush("aside").await.expect("valid");
    assert_eq!(tip(&repository, "main").await, before, "no branch moved");
    assert_eq!(session.snapshot_id().expect("sound"), id);
    let write = session.delete_node(&path("/b")).await;
    assert!(matches!(write, Err(SessionError::Committed(at)) if at == id));
    assert_eq!(byte(&at(&repository, id).await, "/b", 1).await, Some(1));
    let tagged = repository.create_tag("kept", id).await.expect("valid");
    assert!(matches!(tagged, EditOutcome::Done(_)));
    let tag: TagName = "kept".parse().expect("valid");
    let by_tag = repository.read_session(tag).await.expect("exists");
    assert_eq!(byte(&by_tag, "/b", 1).await, Some(1));
    let main = BranchName::main();
    let reset = repository
        .reset_branch(&main, id, Some(before))
        .await
        .expect("valid");
    assert!(matches!(reset, EditOutcome::Done(_)));
    assert_eq!(byte(&reader(&repository).await, "/b", 1).await, Some(1));
    let session = on(&repository, "main").await;
    assert!(matches!(
        session.flush("nothing").await,
        Err(CommitError::NothingToCommit)
    ));
    apply(&session, &[Chunk("/b", 2, 2)]).await;
    assert!(matches!(
        session.commit("still open").await,
        Ok(CommitOutcome::Committed(_))
    ));
}

#[tokio::test]
async fn a_flushed_snapshot_tells_its_metadata() {
    let repository = start().await;
    let session = on(&repository, "main").await;
    apply(&session, &[Chunk("/b", 1, 1)]).await;
    let metadata = BTreeMap::from([("author".to_owned(), serde_json::Value::from("me"))]);
    let flushed = session.flush_with("aside", metadata.clone(), false).await;
    let info = repository.snapshot_info(flushed.expect("valid")).await;
    assert_eq!(info.expect("readable").metadata, metadata);
    let session = on(&repository, "main").await;
    let empty = session.flush_with("nothing", metadata, true).await;
    let info = repository.snapshot_info(empty.expect("allowed")).await;
    assert_eq!(info.expect("readable").message, "nothing");
}

#[tokio::test]
async fn paths_that_moves_leave_free_can_be_used_again() {
    let repository = start().await;
    let from = tip(&repository, "main").await;
    for (name, moves, edits) in [
        (
            "replaced",
            vec![("/b", "/z")],
            vec![Meta("/b", group("{}"))],
        ),
        ("chain", vec![("/b", "/c"), ("/g/a", "/b")], vec![]),
        (
            "swap",
            vec![("/b", "/t"), ("/g/a", "/b"), ("/t", "/g/a")],
            vec![Chunk("/b", 7, 7)],
        ),
    ] {
        let created = repository.create_branch(name, from).await.expect("valid");
        assert!(matches!(created, EditOutcome::Done(_)));
        let session = on(&repository, name).await;
        for (from, to) in moves {
            session
                .move_node(&path(from), &path(to))
                .await
                .expect("possible");
        }
        apply(&session, &edits).await;
        commit(&session).await;
        let to = tip(&repository, name).await;
        let squashed = repository
            .squash(from, to, &format!("{name}-short"), "all")
            .await;
        let (id, _) = squashed.expect("valid");
        assert_eq!(
            paths(&at(&repository, to).await),
            paths(&at(&repository, id).await),
            "{name}"
        );
        assert!(
            repository.diff(to, id).await.expect("readable").is_empty(),
            "{name}"
        );
        let session = on(&repository, "main").await;
        applied(session.merge(to, &Detector::Strict).await);
        assert_eq!(paths(&session), paths(&at(&repository, to).await), "{name}");
        session.discard_changes().expect("open");
    }
}

#[tokio::test]
async fn a_node_that_is_picked_twice_is_two_nodes() {
    let repository = start().await;
    branch(&repository, "dev").await;
    let made = [Meta("/n", array(3, "")), Chunk("/n", 0, 7)];
    let made = edit(&repository, "dev", &made).await;
    let session = on(&repository, "main").await;
    applied(session.cherry_pick(made, &Detector::Strict).await);
    session
        .move_node(&path("/n"), &path("/m"))
        .await
        .expect("possible");
    commit(&session).await;
    let session = on(&repository, "main").await;
    applied(session.cherry_pick(made, &Detector::Strict).await);
    apply(&session, &[Chunk("/n", 1, 1)]).await;
    let now = committed(&repository, &session).await;
    let node = |at: &str| now.nodes(&path(at)).expect("sound")[0].id;
    assert_ne!(node("/n"), node("/m"));
    for (at, index, value) in [
        ("/n", 0, Some(7)),
        ("/n", 1, Some(1)),
        ("/m", 0, Some(7)),
        ("/m", 1, None),
    ] {
        assert_eq!(byte(&now, at, index).await, value, "{at} {index}");
    }
}

#[tokio::test]
async fn giving_way_never_deletes_what_only_moved() {
    let repository = start().await;
    let all = [
        icefield_core::VersionSelection::UseTheirs,
        icefield_core::VersionSelection::UseOurs,
    ];
    for selection in all {
        let (ours, theirs) = (on(&repository, "main").await, on(&repository, "main").await);
        ours.move_node(&path("/b"), &path("/c"))
            .await
            .expect("possible");
        ours.move_node(&path("/g"), &path("/h"))
            .await
            .expect("possible");
        apply(
            &theirs,
            &[Meta("/c", array(2, "")), Meta("/g/n", group("{}"))],
        )
        .await;
        commit(&theirs).await;
        let outcome = ours
            .rebase(&BasicSolver::of(selection))
            .await
            .expect("decidable");
        assert!(
            matches!(outcome, icefield_core::RebaseOutcome::Conflicts { .. }),
            "{outcome:?}"
        );
        assert_eq!(
            byte(&ours, "/c", 0).await,
            Some(100),
            "the session is as before"
        );
        let undo = on(&repository, "main").await;
        apply(&undo, &[Delete("/c"), Delete("/g/n")]).await;
        commit(&undo).await;
    }
}

#[tokio::test]
async fn what_was_picked_is_merged_as_one_node() {
    let repository = start().await;
    branch(&repository, "dev").await;
    let made = [
        Meta("/n", array(9, "")),
        Chunk("/n", 0, 7),
        Chunk("/n", 1, 7),
    ];
    let made = edit(&repository, "dev", &made).await;
    let session = on(&repository, "main").await;
    applied(session.cherry_pick(made, &Detector::Strict).await);
    commit(&session).await;
    edit(&repository, "main", &[Chunk("/n", 2, 2)]).await;
    let dev = edit(&repository, "dev", &[Chunk("/n", 3, 3)]).await;
    let session = on(&repository, "main").await;
    applied(session.merge(dev, &Detector::Strict).await);
    let now = committed(&repository, &session).await;
    for (index, value) in [(0, Some(7)), (1, Some(7)), (2, Some(2)), (3, Some(3))] {
        assert_eq!(byte(&now, "/n", index).await, value, "{index}");
    }
    // Written differently since, it collides chunk by chunk.
    let repository = start().await;
    branch(&repository, "dev").await;
    let made = [Meta("/n", array(9, "")), Chunk("/n", 0, 7)];
    let made = edit(&repository, "dev", &made).await;
    let session = on(&repository, "main").await;
    applied(session.cherry_pick(made, &Detector::Strict).await);
    commit(&session).await;
    edit(&repository, "main", &[Chunk("/n", 0, 8)]).await;
    let session = on(&repository, "main").await;
    match session.merge(made, &Detector::Strict).await {
        Ok(ApplyOutcome::Conflicts(conflicts)) => {
            let kinds: Vec<_> = conflicts.iter().map(|it| it.kind()).collect();
            assert_eq!(kinds, ["ChunkDoubleUpdate"]);
        }
        other => panic!("{other:?}"),
    }
}

/// All that a snapshot comes from, itself included.
async fn ancestors(repository: &Repository, of: SnapshotId) -> BTreeSet<SnapshotId> {
    let mut found = BTreeSet::new();
    let mut open = vec![of];
    while let Some(id) = open.pop() {
        if found.insert(id) {
            let info = repository.snapshot_info(id).await.expect("readable");
            open.extend(info.parent_id);
            let merged = info.metadata.get(MERGED_SNAPSHOT);
            let merged = merged.map(|id| id.as_str().expect("text").parse::<SnapshotId>());
            open.extend(merged.map(|id| id.expect("an id")));
        }
    }
    found
}

/// Clocks of different machines tell nothing about who came first: three branches, each written by a clock of
/// its own that jumps.
#[tokio::test]
async fn a_merge_base_is_the_newest_common_ancestor_whatever_the_clocks_say() {
    // Later than what `start` writes, so that these times are kept as they are.
    let era = SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000);
    let mut merges = 0;
    for seed in 0..60 {
        let random = SeededEntropy::new(seed);
        let first = start().await;
        let names = ["main", "dev", "fix"];
        for name in &names[1..] {
            branch(&first, name).await;
        }
        let mut handles = Vec::new();
        for _ in names {
            let clock = ManualClock::new(era);
            let builder = Repository::builder(Arc::clone(first.storage()));
            let opened = builder.clock(Arc::new(clock.clone())).open().await;
            handles.push((clock, opened.expect("it is there")));
        }
        for number in 0..14 {
            let at = random.below(3) as usize;
            let (clock, repository) = &handles[at];
            let hours = Duration::from_secs(3600 * random.below(48));
            clock.set(era + hours);
            let from = names[random.below(3) as usize];
            if from == names[at] || random.below(3) > 0 {
                let chunk = Chunk("/b", at as u32, number);
                edit(repository, names[at], &[chunk]).await;
                continue;
            }
            let (ours, theirs) = (tip(&first, names[at]).await, tip(&first, from).await);
            let base = repository.merge_base(ours, theirs).await.expect("one");
            let ours = ancestors(&first, ours).await;
            let common: BTreeSet<_> = ours
                .intersection(&ancestors(&first, theirs).await)
                .copied()
                .collect();
            assert!(common.contains(&base), "seed {seed}");
            for other in common {
                let newer = other != base && ancestors(&first, other).await.contains(&base);
                assert!(!newer, "seed {seed}: {other} is newer than {base}");
            }
            let session = on(repository, names[at]).await;
            if let Ok(ApplyOutcome::Applied(_)) = session.merge(theirs, &Detector::Strict).await {
                merges += 1;
                commit(&session).await;
            }
        }
    }
    assert!(merges > 50, "{merges} merges");
}

#[tokio::test]
async fn a_picked_node_that_changed_since_is_settled_whole() {
    for selection in [VersionSelection::UseOurs, VersionSelection::UseTheirs] {
        let repository = start().await;
        branch(&repository, "dev").await;
        let made = [Meta("/n", array(9, "")), Chunk("/n", 0, 7)];
        let made = edit(&repository, "dev", &made).await;
        let session = on(&repository, "main").await;
        applied(session.cherry_pick(made, &Detector::Strict).await);
        commit(&session).await;
        let named = array(9, r#","attributes":{"x":1}"#);
        let dev = edit(&repository, "dev", &[Meta("/n", named.clone())]).await;
        let session = on(&repository, "main").await;
        match session.merge(dev, &Detector::Strict).await {
            Ok(ApplyOutcome::Conflicts(conflicts)) => assert_eq!(conflicts.len(), 1),
            other => panic!("{other:?}"),
        }
        let outcome = session.merge(dev, &BasicSolver::of(selection)).await;
        let document = match selection {
            VersionSelection::UseOurs => {
                applied(outcome);
                commit(&session).await;
                named
            }
            _ => {
                assert!(
                    matches!(outcome, Ok(ApplyOutcome::NothingToDo)),
                    "{outcome:?}"
                );
                array(9, "")
            }
        };
        let now = reader(&repository).await;
        assert_eq!(byte(&now, "/n", 0).await, Some(7), "{selection:?}");
        let found = now.metadata(&path("/n")).expect("sound").expect("there");
        assert_eq!(found, document);
    }
}

#[tokio::test]
async fn a_picked_node_that_others_renamed_is_another_node() {
    let repository = start().await;
    branch(&repository, "dev").await;
    let made = [Meta("/n", array(9, "")), Chunk("/n", 0, 7)];
    let made = edit(&repository, "dev", &made).await;
    let renamer = on(&repository, "dev").await;
    renamer
        .move_node(&path("/n"), &path("/m"))
        .await
        .expect("possible");
    commit(&renamer).await;
    let picker = on(&repository, "main").await;
    applied(picker.cherry_pick(made, &Detector::Strict).await);
    let merger = on(&repository, "main").await;
    let dev = tip(&repository, "dev").await;
    applied(merger.merge(dev, &Detector::Strict).await);
    commit(&merger).await;
    let outcome = picker.commit("picked").rebase_with(Detector::Strict).await;
    assert!(
        matches!(outcome, Ok(CommitOutcome::Committed(_))),
        "{outcome:?}"
    );
    let now = reader(&repository).await;
    let node = |at: &str| now.nodes(&path(at)).expect("sound")[0].id;
    assert_ne!(node("/n"), node("/m"));
    for at in ["/n", "/m"] {
        assert_eq!(byte(&now, at, 0).await, Some(7), "{at}");
    }
}

#[tokio::test]
async fn what_a_lost_race_has_stored_is_not_taken_for_other_edits() {
    let repository = start().await;
    branch(&repository, "dev").await;
    let session = on(&repository, "main").await;
    apply(&session, &[Meta("/b", array(20, "")), Chunk("/b", 15, 15)]).await;
    edit(
        &repository,
        "main",
        &[Meta("/b", array(10, r#","attributes":{"z":1}"#))],
    )
    .await;
    assert!(matches!(
        session.commit("lost").await,
        Ok(CommitOutcome::BranchMoved { .. })
    ));
    let theirs = BasicSolver::of(VersionSelection::UseTheirs);
    assert!(session.rebase(&theirs).await.is_ok());
    let before = tip(&repository, "main").await;
    let created = repository
        .create_branch("other", before)
        .await
        .expect("valid");
    assert!(matches!(created, EditOutcome::Done(_)));
    let longer = array(20, r#","attributes":{"z":1}"#);
    let picked = [Meta("/b", longer), Chunk("/b", 16, 16)];
    let picked = edit(&repository, "other", &picked).await;
    applied(session.cherry_pick(picked, &Detector::Strict).await);
    let now = committed(&repository, &session).await;
    assert_eq!(byte(&now, "/b", 15).await, None);
    assert_eq!(byte(&now, "/b", 16).await, Some(16));
}
