//! The rules of conflicts, row by row, for both detectors: what the reference implementation does
//! (`Compatible`) and what is sound (`Strict`).
//!
//! Each row starts from one hierarchy, commits *theirs*, and rebases *ours* onto it.

use std::collections::BTreeSet;

use icefield_core::{
    BasicSolver, BranchName, CommitOutcome, Conflict, Detector, NodePath, RebaseOutcome,
    Repository, Session, VersionSelection,
};

use icefield_testkit::stores::{delete, put};

use crate::edits::*;

/// The name of a conflict's kind, and the chunks that it names.
fn kind(conflict: &Conflict) -> String {
    let text = format!("{conflict:?}");
    let name = text.split([' ', '(']).next().unwrap_or_default().to_owned();
    let chunks: Vec<String> = conflict
        .chunks()
        .into_iter()
        .flatten()
        .map(|index| index.iter().map(u32::to_string).collect::<String>())
        .collect();
    match chunks.is_empty() {
        true => format!("{name} {}", conflict.path()),
        false => format!("{name} {} {}", conflict.path(), chunks.join(",")),
    }
}

struct Row {
    rule: &'static str,
    ours: Vec<Edit>,
    theirs: Vec<Edit>,
    strict: &'static [&'static str],
    compatible: &'static [&'static str],
}

#[expect(clippy::too_many_lines, reason = "a table: one entry a rule")]
fn table() -> Vec<Row> {
    let plain = r#","attributes":{"x":1,"y":1}"#;
    vec![
        Row {
            rule: "a group where they have an equal one",
            ours: vec![Meta("/n", group("{}"))],
            theirs: vec![Meta("/n", group("{}"))],
            strict: &[],
            compatible: &["NewNodeConflictsWithExistingNode /n"],
        },
        Row {
            rule: "a group where they have another",
            ours: vec![Meta("/n", group("{}"))],
            theirs: vec![Meta("/n", group(r#"{"z":1}"#))],
            strict: &["NewNodeConflictsWithExistingNode /n"],
            compatible: &["NewNodeConflictsWithExistingNode /n"],
        },
        Row {
            rule: "an empty array where they have an equal one",
            ours: vec![Meta("/n", array(3, ""))],
            theirs: vec![Meta("/n", array(3, ""))],
            strict: &[],
            compatible: &["NewNodeConflictsWithExistingNode /n"],
        },
        Row {
            rule: "an array with chunks where they have an equal one",
            ours: vec![Meta("/n", array(3, "")), Chunk("/n", 0, 1)],
            theirs: vec![Meta("/n", array(3, ""))],
            strict: &["NewNodeConflictsWithExistingNode /n"],
            compatible: &["NewNodeConflictsWithExistingNode /n"],
        },
        Row {
            rule: "a node below what is an array now",
            ours: vec![Meta("/n/m", group("{}"))],
            theirs: vec![Meta("/n", array(3, ""))],
            strict: &["NewNodeInInvalidGroup /n/m"],
            compatible: &["NewNodeInInvalidGroup /n/m"],
        },
        Row {
            rule: "a node below a group that they deleted",
            ours: vec![Meta("/g/n", group("{}"))],
            theirs: vec![Delete("/g")],
            strict: &["NewNodeInDeletedGroup /g/n"],
            compatible: &[],
        },
        Row {
            rule: "equal metadata of an array",
            ours: vec![Meta("/b", array(10, &attributes(r#"{"x":2,"y":1}"#)))],
            theirs: vec![Meta("/b", array(10, &attributes(r#"{"x":2,"y":1}"#)))],
            strict: &[],
            compatible: &["ZarrMetadataDoubleUpdate /b"],
        },
        Row {
            rule: "different attributes of an array",
            ours: vec![Meta("/b", array(10, &attributes(r#"{"x":2,"y":1}"#)))],
            theirs: vec![Meta("/b", array(10, &attributes(r#"{"x":1,"y":2}"#)))],
            strict: &[],
            compatible: &["ZarrMetadataDoubleUpdate /b"],
        },
        Row {
            rule: "one attribute of an array, twice",
            ours: vec![Meta("/b", array(10, &attributes(r#"{"x":2,"y":1}"#)))],
            theirs: vec![Meta("/b", array(10, &attributes(r#"{"x":3,"y":1}"#)))],
            strict: &["ZarrMetadataDoubleUpdate /b"],
            compatible: &["ZarrMetadataDoubleUpdate /b"],
        },
        Row {
            rule: "different attributes of a group",
            ours: vec![Meta("/g", group(r#"{"x":2,"y":1}"#))],
            theirs: vec![Meta("/g", group(r#"{"x":1,"y":2}"#))],
            strict: &[],
            compatible: &["ZarrMetadataDoubleUpdate /g"],
        },
        Row {
            rule: "metadata of an array that they deleted",
            ours: vec![Meta("/b", array(9, plain))],
            theirs: vec![Delete("/b")],
            strict: &["ZarrMetadataUpdateOfDeletedArray /b"],
            compatible: &["ZarrMetadataUpdateOfDeletedArray /b"],
        },
        Row {
            rule: "metadata of a group that they deleted",
            ours: vec![Meta("/g", group("{}"))],
            theirs: vec![Delete("/g")],
            strict: &["ZarrMetadataUpdateOfDeletedGroup /g"],
            compatible: &["ZarrMetadataUpdateOfDeletedGroup /g"],
        },
        Row {
            rule: "a resize, and chunks they wrote inside it",
            ours: vec![Meta("/b", array(8, plain))],
            theirs: vec![Chunk("/b", 7, 1)],
            strict: &[],
            compatible: &[],
        },
        Row {
            rule: "a resize, and chunks they wrote outside it",
            ours: vec![Meta("/b", array(8, plain))],
            theirs: vec![Chunk("/b", 7, 1), Chunk("/b", 8, 1)],
            strict: &["ZarrMetadataUpdateOfUpdatedChunks /b 8"],
            compatible: &[],
        },
        Row {
            rule: "another fill value, and chunks they wrote",
            ours: vec![Meta(
                "/b",
                array(10, plain).replace("\"fill_value\":0", "\"fill_value\":1"),
            )],
            theirs: vec![Chunk("/b", 7, 1)],
            strict: &["ZarrMetadataUpdateOfUpdatedChunks /b 7"],
            compatible: &[],
        },
        Row {
            rule: "chunks of an array that they deleted",
            ours: vec![Chunk("/b", 1, 1), NoChunk("/b", 2)],
            theirs: vec![Delete("/b")],
            strict: &["ChunksUpdatedInDeletedArray /b 1,2"],
            compatible: &["ChunksUpdatedInDeletedArray /b 1,2"],
        },
        Row {
            rule: "chunks, and their attributes",
            ours: vec![Chunk("/b", 1, 1)],
            theirs: vec![Meta("/b", array(10, &attributes(r#"{"x":2,"y":1}"#)))],
            strict: &[],
            compatible: &["ChunksUpdatedInUpdatedArray /b 1"],
        },
        Row {
            rule: "chunks, and an attribute of theirs that gives indices their meaning",
            ours: vec![Chunk("/b", 1, 1)],
            theirs: vec![Meta(
                "/b",
                array(10, &attributes(r#"{"x":1,"y":1,"origin":[3]}"#)),
            )],
            strict: &["ChunksUpdatedInUpdatedArray /b 1"],
            compatible: &["ChunksUpdatedInUpdatedArray /b 1"],
        },
        Row {
            rule: "chunks outside their resize",
            ours: vec![Chunk("/b", 1, 1), Chunk("/b", 9, 1)],
            theirs: vec![Meta("/b", array(8, plain))],
            strict: &["ChunksUpdatedInUpdatedArray /b 9"],
            compatible: &["ChunksUpdatedInUpdatedArray /b 1,9"],
        },
        Row {
            rule: "one chunk, different bytes",
            ours: vec![Chunk("/b", 1, 1), Chunk("/b", 2, 1)],
            theirs: vec![Chunk("/b", 1, 2), Chunk("/b", 3, 2)],
            strict: &["ChunkDoubleUpdate /b 1"],
            compatible: &["ChunkDoubleUpdate /b 1"],
        },
        Row {
            rule: "one chunk, equal bytes",
            ours: vec![Chunk("/b", 1, 1), Chunk("/b", 2, 1)],
            theirs: vec![Chunk("/b", 1, 1)],
            strict: &[],
            compatible: &["ChunkDoubleUpdate /b 1"],
        },
        Row {
            rule: "one chunk, deleted by both",
            ours: vec![NoChunk("/b", 1)],
            theirs: vec![NoChunk("/b", 1)],
            strict: &[],
            compatible: &["ChunkDoubleUpdate /b 1"],
        },
        Row {
            rule: "one chunk, deleted and written",
            ours: vec![NoChunk("/b", 1)],
            theirs: vec![Chunk("/b", 1, 1)],
            strict: &["ChunkDoubleUpdate /b 1"],
            compatible: &["ChunkDoubleUpdate /b 1"],
        },
        Row {
            rule: "different chunks of one array",
            ours: vec![Chunk("/b", 1, 1)],
            theirs: vec![Chunk("/b", 2, 2)],
            strict: &[],
            compatible: &[],
        },
        Row {
            rule: "deleting an array whose chunks they wrote",
            ours: vec![Delete("/b")],
            theirs: vec![Chunk("/b", 2, 2)],
            strict: &["DeleteOfUpdatedArray /b"],
            compatible: &["DeleteOfUpdatedArray /b"],
        },
        Row {
            rule: "deleting an array whose metadata they changed",
            ours: vec![Delete("/b")],
            theirs: vec![Meta("/b", array(9, plain))],
            strict: &["DeleteOfUpdatedArray /b"],
            compatible: &["DeleteOfUpdatedArray /b"],
        },
        Row {
            rule: "deleting a group whose metadata they changed",
            ours: vec![Delete("/g")],
            theirs: vec![Meta("/g", group("{}"))],
            strict: &["DeleteOfUpdatedGroup /g"],
            compatible: &["DeleteOfUpdatedGroup /g"],
        },
        Row {
            rule: "deleting a group in which they created a node",
            ours: vec![Delete("/g")],
            theirs: vec![Meta("/g/n", group("{}"))],
            strict: &["DeleteOfUpdatedGroup /g"],
            compatible: &[],
        },
        Row {
            rule: "deleting a group in which they wrote chunks of an array",
            ours: vec![Delete("/g")],
            theirs: vec![Chunk("/g/a", 2, 2)],
            strict: &["DeleteOfUpdatedArray /g/a", "DeleteOfUpdatedGroup /g"],
            compatible: &["DeleteOfUpdatedArray /g/a"],
        },
        Row {
            rule: "deleting what they deleted",
            ours: vec![Delete("/b")],
            theirs: vec![Delete("/b")],
            strict: &[],
            compatible: &[],
        },
        Row {
            rule: "deleting and creating again, and unrelated changes",
            ours: vec![Delete("/b"), Meta("/b", array(4, ""))],
            theirs: vec![Chunk("/g/a", 1, 1)],
            strict: &[],
            compatible: &[],
        },
        Row {
            rule: "deleting and creating again, both",
            ours: vec![Delete("/b"), Meta("/b", array(4, ""))],
            theirs: vec![Delete("/b"), Meta("/b", array(5, ""))],
            strict: &["NewNodeConflictsWithExistingNode /b"],
            compatible: &[],
        },
    ]
}

async fn outcome(row: &Row, detector: Detector) -> (BTreeSet<String>, Session, Repository) {
    outcome_of(row, detector, true).await
}

/// As [`outcome`], with or without the transaction log of their commit.
async fn outcome_of(
    row: &Row,
    detector: Detector,
    with_log: bool,
) -> (BTreeSet<String>, Session, Repository) {
    let repository = start().await;
    let other = open(repository.storage()).await;
    let (ours, theirs) = (writer(&other).await, writer(&repository).await);
    apply(&ours, &row.ours).await;
    apply(&theirs, &row.theirs).await;
    commit(&theirs).await;
    if !with_log {
        let id = theirs.snapshot_id().expect("sound");
        delete(repository.storage(), &format!("transactions/{id}")).await;
    }
    let before = ours.status().await.expect("sound");
    let found = match ours.rebase(&detector).await.expect(row.rule) {
        RebaseOutcome::Rebased { commits, .. } => {
            assert_eq!(commits, 1, "{}", row.rule);
            BTreeSet::new()
        }
        RebaseOutcome::Conflicts { conflicts, .. } => {
            assert_eq!(ours.status().await.expect("sound"), before, "{}", row.rule);
            conflicts.iter().map(kind).collect()
        }
        RebaseOutcome::BranchGone => panic!("main cannot go"),
    };
    (found, ours, repository)
}

#[tokio::test]
async fn b24_every_rule_of_both_detectors() {
    for row in table() {
        for (detector, expected) in [
            (Detector::Strict, row.strict),
            (Detector::Compatible, row.compatible),
        ] {
            let (found, ours, repository) = outcome(&row, detector).await;
            let expected: BTreeSet<String> = expected.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(found, expected, "{detector:?}: {}", row.rule);
            if expected.is_empty() {
                let committed = ours.commit("rebased").allow_empty().await.expect(row.rule);
                assert!(
                    matches!(committed, CommitOutcome::Committed(_)),
                    "{}",
                    row.rule
                );
                let session = repository
                    .read_session(BranchName::main())
                    .await
                    .expect(row.rule);
                session.nodes(&NodePath::root()).expect(row.rule);
            }
        }
    }
}

async fn rebased(row: &Row, solver: &BasicSolver) -> Session {
    let repository = start().await;
    let other = open(repository.storage()).await;
    let (ours, theirs) = (writer(&other).await, writer(&repository).await);
    apply(&ours, &row.ours).await;
    apply(&theirs, &row.theirs).await;
    commit(&theirs).await;
    match ours.rebase(solver).await.expect(row.rule) {
        RebaseOutcome::Rebased { .. } => ours,
        other => panic!("{}: {other:?}", row.rule),
    }
}

#[tokio::test]
async fn attributes_of_both_sides_are_in_the_merged_document() {
    let row = &table()[7];
    let session = rebased(row, &BasicSolver::default()).await;
    let document = session
        .metadata(&path("/b"))
        .expect("sound")
        .expect("there");
    let expected = array(10, &attributes(r#"{"x":2,"y":2}"#));
    assert_eq!(document, expected.as_bytes());
}

#[tokio::test]
async fn a_solver_keeps_our_chunks_or_theirs() {
    let row = Row {
        rule: "one chunk, different bytes",
        ours: vec![Chunk("/b", 1, 1), Chunk("/b", 2, 1)],
        theirs: vec![Chunk("/b", 1, 2)],
        strict: &[],
        compatible: &[],
    };
    let mut solver = BasicSolver::default();
    let session = rebased(&row, &solver).await;
    assert_eq!(byte(&session, "/b", 1).await, Some(1));
    solver.on_chunk_conflict = VersionSelection::UseTheirs;
    let session = rebased(&row, &solver).await;
    assert_eq!(byte(&session, "/b", 1).await, Some(2));
    assert_eq!(byte(&session, "/b", 2).await, Some(1));
}

#[tokio::test]
async fn a_delete_that_wins_takes_what_they_created_along() {
    let row = Row {
        rule: "deleting a group in which they created a node",
        ours: vec![Delete("/g")],
        theirs: vec![Meta("/g/n", group("{}"))],
        strict: &[],
        compatible: &[],
    };
    let mut solver = BasicSolver::default();
    let session = rebased(&row, &solver).await;
    assert_eq!(session.nodes(&path("/g")).expect("sound"), []);
    solver.on_delete_of_updated_group = VersionSelection::UseTheirs;
    let session = rebased(&row, &solver).await;
    assert_eq!(session.nodes(&path("/g")).expect("sound").len(), 3);
}

#[tokio::test]
async fn what_both_sides_added_to_an_array_that_both_made_longer_stays() {
    let longer = array(20, r#","attributes":{"x":1,"y":1}"#);
    let row = Row {
        rule: "equal growths, and chunks of both in what is new",
        ours: vec![Meta("/b", longer.clone()), Chunk("/b", 18, 1)],
        theirs: vec![Meta("/b", longer.clone()), Chunk("/b", 17, 2)],
        strict: &[],
        compatible: &[],
    };
    let session = rebased(&row, &BasicSolver::default()).await;
    assert_eq!(byte(&session, "/b", 4).await, Some(100));
    assert_eq!(byte(&session, "/b", 17).await, Some(2));
    assert_eq!(byte(&session, "/b", 18).await, Some(1));
}

#[tokio::test]
async fn what_a_session_cut_off_does_not_come_back_with_their_growth() {
    let of = |length| array(length, r#","attributes":{"x":1,"y":1}"#);
    let ours = vec![Meta("/b", of(3)), Meta("/b", of(20)), Chunk("/b", 18, 1)];
    let row = |theirs| Row {
        rule: "ours cut the array to three chunks and made it longer again",
        ours: ours.clone(),
        theirs,
        strict: &[],
        compatible: &[],
    };
    let session = rebased(&row(vec![Meta("/b", of(20))]), &BasicSolver::default()).await;
    for (index, expected) in [(2, Some(100)), (3, None), (4, None), (18, Some(1))] {
        assert_eq!(byte(&session, "/b", index).await, expected, "{index}");
    }
    // Their chunk is where we cut: it would be lost.
    let theirs = vec![Meta("/b", of(20)), Chunk("/b", 17, 2)];
    let (found, ..) = outcome(&row(theirs), Detector::Strict).await;
    let expected = "ZarrMetadataUpdateOfUpdatedChunks /b 17".to_owned();
    assert_eq!(found, BTreeSet::from([expected]));
}

#[tokio::test]
async fn without_a_log_the_snapshots_give_the_same_answers() {
    for row in table() {
        for detector in [Detector::Strict, Detector::Compatible] {
            let (expected, ..) = outcome_of(&row, detector, true).await;
            let (found, ..) = outcome_of(&row, detector, false).await;
            assert_eq!(found, expected, "{detector:?}: {}", row.rule);
        }
    }
}

#[tokio::test]
async fn a_log_that_is_damaged_or_newer_is_an_error_and_the_session_stays() {
    let repository = start().await;
    let other = open(repository.storage()).await;
    let (ours, theirs) = (writer(&other).await, writer(&repository).await);
    apply(&ours, &[Chunk("/b", 1, 1)]).await;
    apply(&theirs, &[Chunk("/b", 2, 2)]).await;
    commit(&theirs).await;
    let id = theirs.snapshot_id().expect("sound");
    let key = format!("transactions/{id}");
    let whole = icefield_testkit::stores::read(repository.storage(), &key).await;
    let mut newer = whole.to_vec();
    newer[36] = 2;
    for (file, said) in [(newer, "version 2"), (whole[..40].to_vec(), &key[13..])] {
        delete(repository.storage(), &key).await;
        put(repository.storage(), &key, file).await;
        let error = ours.rebase(&Detector::Strict).await;
        if let Err(error) = error {
            let text = chain(&error);
            assert!(text.contains(said), "{text}");
        } else {
            panic!("{error:?}");
        }
        assert_eq!(
            byte(&ours, "/b", 1).await,
            Some(1),
            "the session is as before"
        );
    }
    delete(repository.storage(), &key).await;
    put(repository.storage(), &key, whole).await;
    assert!(matches!(
        ours.rebase(&Detector::Strict).await,
        Ok(RebaseOutcome::Rebased { .. })
    ));
}

/// An error with all its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
