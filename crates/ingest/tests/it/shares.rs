//! Imports in shares: surveyed, planned from the surveys, done in forks in any order and more than once, and merged. The result
//! is that of the import in one piece.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::common::{Tree, array, chain, exported, group, path, repository, run};
use bytes::Bytes;
use icefield_core::{
    BranchName, CommitOutcome, MergeOutcome, Repository, Session, VersionSelection,
};
use icefield_ingest::{
    ChunkLayout, ChunkLength, Compression, Import, ImportError, ImportReport, Order, Overlap,
    PlanError, Selection, Share, Shares, Source, SourceError, Survey,
};
use serde_json::{Value, json};

/// Steps from `first` on in chunks of 2 x `chunk`, with hours and their bounds since day `day`, and a mask without the dimension
/// in two chunks.
fn series(first: u64, length: u64, chunk: u64, day: u64) -> Tree {
    let tree = Tree::new();
    let since = |document: Value| {
        let mut document = document;
        let units = format!("hours since 2000-01-{:02}", day + 1);
        document["attributes"] =
            json!({"units": units, "calendar": "standard", "bounds": "bounds"});
        document
    };
    let mut bounds = array(&[length, 2], &[3, 2], &["t", "side"]);
    bounds["attributes"] = json!({});
    tree.json("zarr.json", &group(json!({"title": "all"})))
        .json(
            "x/zarr.json",
            &array(&[3, length], &[2, chunk], &["y", "t"]),
        )
        .json("t/zarr.json", &since(array(&[length], &[3], &["t"])))
        .json("bounds/zarr.json", &bounds)
        .json("mask/zarr.json", &array(&[3], &[2], &["y"]))
        .file("mask/c/0", [1, 0])
        .file("mask/c/1", [1, 0]);
    let hour = |t: u64| (first + t - 24 * day) as u8;
    for step in 0..length.div_ceil(chunk) {
        for row in 0..2 {
            let places = (0..2).flat_map(|y| (0..chunk).map(move |t| (y, t)));
            let elements = places.map(|(y, t)| match (2 * row + y, chunk * step + t) {
                (y, t) if y < 3 && t < length => (60 * y + first + t + 1) as u8,
                _ => 0,
            });
            tree.file(&format!("x/c/{row}/{step}"), elements.collect::<Vec<u8>>());
        }
    }
    for step in 0..length.div_ceil(3) {
        let steps = 3 * step..3 * step + 3;
        let hours = steps.clone().map(|t| if t < length { hour(t) } else { 0 });
        tree.file(&format!("t/c/{step}"), hours.collect::<Vec<u8>>());
        let sides = steps.flat_map(|t| {
            if t < length {
                [hour(t), hour(t) + 1]
            } else {
                [0, 0]
            }
        });
        tree.file(&format!("bounds/c/{step}/0"), sides.collect::<Vec<u8>>());
    }
    tree
}

/// Series behind one another of these lengths and chunks.
fn archive(lengths: &[(u64, u64)]) -> Vec<Tree> {
    let mut first = 0;
    let trees = lengths.iter().map(|(length, chunk)| {
        let tree = series(first, *length, *chunk, first / 24);
        first += length;
        tree
    });
    trees.collect()
}

pub(crate) fn concat(sources: impl IntoIterator<Item = Arc<dyn Source>>) -> Import {
    let mut sources = sources.into_iter();
    let first = sources.next().unwrap();
    Import::new(first).concat("t", sources)
}

fn sources(trees: &[Tree]) -> Vec<Arc<dyn Source>> {
    let sources = trees.iter().map(|it| it.source() as Arc<dyn Source>);
    sources.collect()
}

/// The options of an import beside its sources.
pub(crate) type Told<'a> = &'a dyn Fn(Import) -> Import;

/// Surveys in batches of three, and the sources that a plan sees of them; all of it goes through bytes.
pub(crate) async fn surveyed(trees: &[Tree], told: Told<'_>) -> Vec<Arc<dyn Source>> {
    let mut seen = Vec::new();
    for batch in trees.chunks(3) {
        let survey = told(concat(sources(batch))).survey().await.unwrap();
        let sent = survey.to_bytes().unwrap();
        seen.extend(Survey::from_bytes(&sent).unwrap().sources());
    }
    seen
}

/// Does a share in a fork as another process would, and returns the answer of the fork.
async fn done(
    repository: &Repository,
    fork: &Bytes,
    share: &Share,
    (trees, told): (&[Tree], Told<'_>),
) -> (Bytes, ImportReport) {
    let share = Share::from_bytes(&share.to_bytes().unwrap()).unwrap();
    let fork = repository.open_fork(fork).await.unwrap();
    let import = told(concat(
        share
            .sources()
            .map(|at| trees[at].source() as Arc<dyn Source>),
    ));
    let report = import.run_share(&share, &fork).await.unwrap();
    (fork.to_answer().await.unwrap(), report)
}

async fn merge(session: &Session, answers: &[Bytes]) {
    let merged = session.merge_forks(answers, VersionSelection::Fail).await;
    assert_eq!(merged.unwrap(), MergeOutcome::Merged);
}

/// Imports in at most so many shares, done in an order that depends on `seed`. Each is done twice; answers are merged in pairs,
/// and the second of each share is merged, too.
async fn in_shares(
    repository: &Repository,
    (trees, told): (&[Tree], Told<'_>),
    (count, seed): (usize, usize),
) -> (ImportReport, usize) {
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let import = told(concat(surveyed(trees, told).await));
    let work = session.fork().unwrap();
    let divided: Shares = import.shares(&work, count).await.unwrap();
    let mut report = divided.report;
    if let Some(first) = &divided.first {
        let fork = work.to_bytes().await.unwrap();
        let (answer, of_first) = done(repository, &fork, first, (trees, told)).await;
        merge(&work, &[answer]).await;
        report.add(of_first);
    }
    let fork = work.to_bytes().await.unwrap();
    let mut shares = divided.others;
    let found = shares.len();
    if found > 0 {
        shares.rotate_left(seed % found);
    }
    let mut answers = Vec::new();
    for share in &shares {
        let (answer, of_share) = done(repository, &fork, share, (trees, told)).await;
        let (again, of_second) = done(repository, &fork, share, (trees, told)).await;
        assert_eq!(of_share, of_second);
        report.add(of_share);
        answers.extend([answer, again]);
    }
    while answers.len() > 1 {
        let mut next = Vec::new();
        for pair in answers.chunks(2) {
            let into = repository.open_fork(&fork).await.unwrap();
            merge(&into, pair).await;
            next.push(into.to_answer().await.unwrap());
        }
        answers = next;
    }
    merge(&work, &answers).await;
    let merged = session.merge_forks([&work], VersionSelection::Fail).await;
    assert_eq!(merged.unwrap(), MergeOutcome::Merged);
    let committed = session.commit("in shares").await.unwrap();
    assert!(matches!(committed, CommitOutcome::Committed(_)));
    (report, found)
}

/// A repository with what an import in one piece makes, and its report.
pub(crate) async fn whole(
    trees: &[Tree],
    told: Told<'_>,
) -> (BTreeMap<String, Vec<u8>>, ImportReport) {
    let repository = repository().await;
    let report = run(told(concat(sources(trees))), &repository).await;
    (exported(&repository).await, report)
}

/// The report of an import, without the number of times a chunk at the border of two shares was decoded.
fn counted(mut report: ImportReport) -> ImportReport {
    report.decoded_chunks = 0;
    report
}

pub(crate) async fn assert_as_whole(trees: &[Tree], told: Told<'_>) {
    let (files, report) = whole(trees, told).await;
    for count in [1, 2, 3, trees.len(), 100] {
        let repository = repository().await;
        let (found, shares) = in_shares(&repository, (trees, told), (count, count)).await;
        assert!(shares <= count, "{shares} {count}");
        assert_eq!(exported(&repository).await, files, "{count} shares");
        assert_eq!(counted(found), counted(report.clone()), "{count} shares");
    }
}

#[tokio::test]
async fn shares_come_to_what_the_whole_import_does() {
    for lengths in [
        // Aligned; at the end of a chunk, and within one.
        &[(4, 2), (6, 2), (2, 2), (3, 2)][..],
        // With seams, also of more than two sources in one chunk.
        &[(5, 4), (1, 4), (1, 4), (1, 4), (7, 4)],
        // Nothing fits after the first.
        &[(3, 2), (4, 2), (4, 2), (4, 2), (4, 2)],
        // Other grids.
        &[(4, 2), (6, 3), (5, 4)],
    ] {
        assert_as_whole(&archive(lengths), &|import| import).await;
    }
}

#[tokio::test]
async fn times_are_converted_in_shares() {
    // The fourth begins on the second day, and has the hours of that.
    let trees = archive(&[(10, 2), (10, 2), (6, 2), (4, 2), (3, 2)]);
    let units = &|import: Import| import.time_units("hours since 1999-12-31");
    assert_as_whole(&trees, &|import| import).await;
    assert_as_whole(&trees, units).await;
    let (_, report) = whole(&trees, &|import| import).await;
    assert_eq!(report.converted_arrays, [path("/bounds"), path("/t")]);
}

#[tokio::test]
async fn options_hold_in_shares() {
    let mut trees = archive(&[(4, 2), (5, 2), (6, 2), (3, 2)]);
    trees.reverse();
    let by_coordinate = |import: Import| import.order(Order::Coordinate);
    assert_as_whole(&trees, &by_coordinate).await;
    let renamed = |import: Import| {
        let selection = Selection::all().without([path("/bounds")]);
        let selection = selection.rename(path("/x"), "height");
        by_coordinate(import)
            .select(selection)
            .into_group(path("/a/b"))
    };
    assert_as_whole(&trees, &renamed).await;
    let laid_out = |import: Import| {
        let lengths = [("t", "3"), ("y", "3")]
            .map(|(dimension, length)| (dimension.to_owned(), ChunkLength::parse(length).unwrap()));
        let layout = ChunkLayout::kept().with_chunks(lengths.into());
        let layout = layout.with_compression(Compression::parse("zstd:3").unwrap());
        by_coordinate(import).layout(layout)
    };
    assert_as_whole(&trees, &laid_out).await;
}

#[tokio::test]
async fn overlaps_are_cut_in_shares() {
    let trees = [series(0, 5, 2, 0), series(3, 4, 2, 0), series(6, 2, 2, 0)];
    for overlap in [Overlap::First, Overlap::Last] {
        assert_as_whole(&trees, &|import| import.overlap(overlap)).await;
    }
}

#[tokio::test]
async fn an_append_in_shares_fills_the_last_chunk_up() {
    let base = archive(&[(5, 4)]);
    let behind = [series(5, 1, 4, 0), series(6, 6, 4, 0), series(12, 4, 4, 0)];
    let (all, append) = (
        archive(&[(5, 4), (1, 4), (6, 4), (4, 4)]),
        |import: Import| import.append("t"),
    );
    let (files, _) = whole(&all, &|import| import).await;
    for count in 1..4 {
        let repository = repository().await;
        run(concat(sources(&base)), &repository).await;
        in_shares(&repository, (&behind, &append), (count, 1)).await;
        assert_eq!(exported(&repository).await, files);
    }
}

#[tokio::test]
async fn chunks_at_seams_belong_to_one_share() {
    let trees = archive(&[(5, 4), (5, 4), (5, 4), (5, 4), (5, 4)]);
    let repository = repository().await;
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let divided = concat(surveyed(&trees, &|it| it).await)
        .shares(&session, 5)
        .await
        .unwrap();
    merge_first(&repository, &session, &divided, &trees).await;
    let fork = session.fork().unwrap().to_bytes().await.unwrap();
    let mut written = BTreeSet::new();
    for share in &divided.others {
        // Its own source, and what a seam at the end needs.
        assert!(share.sources().count() <= 3, "{share:?}");
        let opened = repository.open_fork(&fork).await.unwrap();
        let import = concat(
            share
                .sources()
                .map(|at| trees[at].source() as Arc<dyn Source>),
        );
        import.run_share(share, &opened).await.unwrap();
        let changes = opened.status().await.unwrap();
        for (at, chunks) in &changes.updated_chunks {
            // The mask was there before.
            for index in chunks.iter().filter(|_| *at != path("/mask")) {
                assert!(
                    written.insert((at.clone(), index.clone())),
                    "{at} {index} twice"
                );
            }
        }
    }
    // x: seven chunks in two rows; nine of t and of its bounds; the mask, from the first share.
    let of = |name: &str| written.iter().filter(|(at, _)| *at == path(name)).count();
    assert_eq!([of("/x"), of("/t"), of("/bounds")], [14, 9, 9]);
}

async fn merge_first(repository: &Repository, session: &Session, divided: &Shares, trees: &[Tree]) {
    let first = divided.first.as_ref().unwrap();
    assert_eq!(first.sources().collect::<Vec<_>>(), [0]);
    let fork = session.fork().unwrap().to_bytes().await.unwrap();
    let (answer, report) = done(repository, &fork, first, (trees, &|it| it)).await;
    assert_eq!((report.chunks, report.compared_chunks), (2, 0));
    merge(session, &[answer]).await;
}

#[tokio::test]
async fn the_arrays_of_one_source_are_shared_out() {
    assert_as_whole(&archive(&[(5, 2)]), &|import| import).await;
    // Without a dimension along which it could grow.
    let trees = archive(&[(5, 2)]);
    let seen = surveyed(&trees, &|it| it).await.remove(0);
    let repository = repository().await;
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let divided = Import::new(seen).shares(&session, 8).await.unwrap();
    assert!(divided.first.is_none());
    // x, t, its bounds and the mask.
    assert_eq!(divided.others.len(), 4);
    for share in &divided.others {
        trees[0].import().run_share(share, &session).await.unwrap();
    }
    assert!(matches!(
        session.commit("one").await.unwrap(),
        CommitOutcome::Committed(_)
    ));
    let (files, _) = whole(&trees, &|import| import).await;
    assert_eq!(exported(&repository).await, files);
}

#[tokio::test]
async fn what_cannot_be_put_together_is_refused_by_the_plan() {
    let trees = archive(&[(4, 2), (4, 2)]);
    trees[1].json("mask/zarr.json", &array(&[3], &[2], &["z"]));
    let repository = repository().await;
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let error = concat(surveyed(&trees, &|it| it).await)
        .shares(&session, 2)
        .await;
    let error = error.unwrap_err();
    assert!(
        matches!(
            error.of_one_source(),
            ImportError::Plan(PlanError::ArrayDiffers { .. })
        ),
        "{error}"
    );
    assert!(
        chain(&error).contains(&trees[1].source().to_string()),
        "{}",
        chain(&error)
    );
    assert!(!session.has_changes().unwrap());
}

#[tokio::test]
async fn what_differs_from_what_was_planned_is_refused() {
    let trees = archive(&[(4, 2), (4, 2)]);
    let repository = repository().await;
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let divided = concat(surveyed(&trees, &|it| it).await)
        .shares(&session, 2)
        .await
        .unwrap();
    merge_first(&repository, &session, &divided, &trees).await;
    let share = &divided.others[1];
    assert_eq!(share.sources().collect::<Vec<_>>(), [1]);
    let run = async |import: Import| {
        let fork = session.fork().unwrap();
        import.run_share(share, &fork).await.unwrap_err()
    };
    let error = run(concat(sources(&trees))).await;
    assert!(
        matches!(
            error,
            ImportError::OtherSources {
                expected: 1,
                given: 2
            }
        ),
        "{error}"
    );
    // A chunk that is not that of the others, and the source by name.
    trees[1].file("mask/c/1", [7, 0]);
    let error = run(concat(sources(&trees[1..]))).await;
    assert!(
        matches!(error.of_one_source(), ImportError::ChunkDiffers { .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains(&trees[1].source().to_string()),
        "{error}"
    );
    // A longer file than was planned.
    trees[1].json("x/zarr.json", &array(&[3, 5], &[2, 2], &["y", "t"]));
    let error = run(concat(sources(&trees[1..]))).await;
    assert!(
        matches!(error, ImportError::Source(SourceError::Changed { .. })),
        "{error}"
    );
}

#[tokio::test]
async fn bytes_that_are_no_share_or_survey_are_refused() {
    let trees = archive(&[(4, 4), (3, 4)]);
    let survey = concat(sources(&trees)).survey().await.unwrap();
    let sent = survey.to_bytes().unwrap();
    assert!(Survey::from_bytes(&sent[..sent.len() - 1]).is_err());
    let repository = repository().await;
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let divided = concat(survey.sources()).shares(&session, 1).await.unwrap();
    let share: Value = serde_json::from_slice(&divided.others[0].to_bytes().unwrap()).unwrap();
    let changed = |at: &str, value: Value| {
        let mut changed = share.clone();
        *changed.pointer_mut(at).unwrap() = value;
        Share::from_bytes(&serde_json::to_vec(&changed).unwrap()).map_err(Box::new)
    };
    assert!(matches!(
        changed("/version", json!(3)).map_err(|error| *error),
        Err(ImportError::Sent { .. })
    ));
    for (at, value) in [
        ("/arrays/0/axis", json!(7)),
        ("/arrays/0/path", json!("no path")),
        ("/arrays/0/existing", json!(u64::MAX)),
        ("/arrays/0/parts/0/at", json!(u64::MAX)),
        ("/arrays/0/parts/0/source", json!(9)),
        ("/arrays/0/parts/0/kept", json!({"start": 3, "end": 1})),
        ("/arrays/0/parts/0/from", json!("/nowhere")),
        (
            "/arrays/0/taken",
            json!([[5, {"axis": 0, "chunks": {"start": 0, "end": 1}, "to": 0}]]),
        ),
        (
            "/arrays/0/taken",
            json!([[0, {"axis": 0, "chunks": {"start": 0, "end": 900}, "to": 0}]]),
        ),
        (
            "/arrays/0/assembled",
            json!([{"start": 0, "end": u64::MAX}]),
        ),
        (
            "/transfers",
            json!([{"source": 0, "from": "/t", "to": "/mask", "action": "Copy"}]),
        ),
    ] {
        let share = changed(at, value).unwrap();
        let fork = session.fork().unwrap();
        let error = concat(sources(&trees))
            .run_share(&share, &fork)
            .await
            .unwrap_err();
        assert!(
            matches!(error, ImportError::Sent { what: "share", .. }),
            "{at}: {error}"
        );
    }
}

#[tokio::test]
async fn what_is_sent_does_not_grow_with_chunks() {
    let mut sent = Vec::new();
    for chunk in [9, 1] {
        let trees = [series(0, 9, chunk, 0), series(9, 9, chunk, 0)];
        let survey = concat(sources(&trees)).survey().await.unwrap();
        let repository = repository().await;
        let session = repository.write_session(BranchName::main()).await.unwrap();
        let divided = concat(survey.sources()).shares(&session, 1).await.unwrap();
        let names: usize = trees.iter().map(|it| it.source().to_string().len()).sum();
        sent.push([
            survey.to_bytes().unwrap().len() - names,
            divided.others[0].to_bytes().unwrap().len(),
        ]);
    }
    // Of `x`, 36 chunks and 4: only where ranges end is a digit more.
    assert!(sent[1][0].abs_diff(sent[0][0]) < 4, "{sent:?}");
    assert!(sent[1][1].abs_diff(sent[0][1]) < 8, "{sent:?}");
}

#[tokio::test]
async fn documents_that_sources_share_are_sent_once() {
    let trees = archive(&[(4, 2); 6]);
    let of = async |count: usize| {
        let survey = concat(sources(&trees[..count])).survey().await.unwrap();
        let text = String::from_utf8(survey.to_bytes().unwrap().to_vec()).unwrap();
        text.matches("chunk_grid").count()
    };
    // x, t, its bounds, and the mask.
    assert_eq!((of(1).await, of(6).await), (4, 4));
}
