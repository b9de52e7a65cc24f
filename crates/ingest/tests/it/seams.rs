//! Arrays whose lengths are no multiple of the chunk length, and grids and codecs that differ: what is put behind one
//! another is put together of elements, and nothing else is decoded.

use std::sync::Arc;

use crate::common::{Tree, array, chain, exported, group, path, refused, repository, run};
use icefield_core::{BranchName, CommitOutcome, NodePath, Repository, WriteMode};
use icefield_ingest::{Import, ImportError, ImportReport, Overlap, PlanError, Source};
use serde_json::{Value, json};

/// Elements of a tree in two dimensions: `y` from 0 to 2, and `t` from `first` on.
fn element(y: u64, t: u64) -> u8 {
    (100 * y + t + 1) as u8
}

/// A series of steps in chunks of 2 x `chunk`, with a coordinate in chunks of three.
fn series(first: u64, length: u64, chunk: u64) -> Tree {
    let tree = Tree::new();
    tree.json("zarr.json", &group(json!({})))
        .json(
            "x/zarr.json",
            &array(&[3, length], &[2, chunk], &["y", "t"]),
        )
        .json("t/zarr.json", &array(&[length], &[3], &["t"]));
    for step in 0..length.div_ceil(chunk) {
        for row in 0..2 {
            let places = (0..2).flat_map(|y| (0..chunk).map(move |t| (y, t)));
            let elements = places.map(|(y, t)| {
                let (y, t) = (2 * row + y, chunk * step + t);
                // Elements beyond the end are whatever the writer left there.
                if y < 3 && t < length {
                    element(y, first + t)
                } else {
                    250
                }
            });
            tree.file(&format!("x/c/{row}/{step}"), elements.collect::<Vec<u8>>());
        }
    }
    for step in 0..length.div_ceil(3) {
        let elements =
            (3 * step..3 * step + 3).map(|t| if t < length { (first + t) as u8 } else { 250 });
        tree.file(&format!("t/c/{step}"), elements.collect::<Vec<u8>>());
    }
    tree
}

fn concat(trees: &[Tree]) -> Import {
    let mut sources = trees.iter().map(|tree| tree.source() as Arc<dyn Source>);
    let first = sources.next().unwrap();
    Import::new(first).concat("t", sources)
}

/// All elements of an array of bytes of two dimensions, or one.
async fn elements(repository: &Repository, at: &str) -> (Vec<u64>, Vec<u8>) {
    let files = exported(repository).await;
    let document: Value = serde_json::from_slice(&files[&format!("{at}/zarr.json")]).unwrap();
    let lengths = |value: &Value| -> Vec<u64> {
        let lengths = value.as_array().unwrap();
        lengths.iter().map(|it| it.as_u64().unwrap()).collect()
    };
    let shape = lengths(&document["shape"]);
    let chunk = lengths(&document["chunk_grid"]["configuration"]["chunk_shape"]);
    let (rows, columns) = match shape[..] {
        [columns] => (1, columns),
        [rows, columns] => (rows, columns),
        _ => panic!("{shape:?}"),
    };
    let mut found = Vec::new();
    for (y, t) in (0..rows).flat_map(|y| (0..columns).map(move |t| (y, t))) {
        let (height, width) = match chunk[..] {
            [width] => (1, width),
            [height, width] => (height, width),
            _ => panic!("{chunk:?}"),
        };
        let key = match shape.len() {
            1 => format!("{at}/c/{}", t / width),
            _ => format!("{at}/c/{}/{}", y / height, t / width),
        };
        let chunk = files.get(&key);
        let place = (y % height) * width + t % width;
        found.push(chunk.map_or(0, |chunk| chunk[place as usize]));
    }
    (shape, found)
}

async fn assert_steps(repository: &Repository, steps: &[u64]) {
    let expected: Vec<u8> = (0..3)
        .flat_map(|y| steps.iter().map(move |t| element(y, *t)))
        .collect();
    assert_eq!(
        elements(repository, "x").await,
        (vec![3, steps.len() as u64], expected)
    );
    let expected: Vec<u8> = steps.iter().map(|t| *t as u8).collect();
    assert_eq!(
        elements(repository, "t").await,
        (vec![steps.len() as u64], expected)
    );
}

#[tokio::test]
async fn lengths_of_any_kind_are_put_behind_one_another() {
    for lengths in [
        [4, 3, 4],
        [3, 1, 5],
        [1, 1, 1],
        [2, 4, 2],
        [5, 6, 1],
        [1, 10, 3],
    ] {
        let mut first = 0;
        let trees = lengths.map(|length| {
            let tree = series(first, length, 2);
            first += length;
            tree
        });
        let steps: Vec<u64> = (0..first).collect();
        let together = repository().await;
        run(concat(&trees), &together).await;
        assert_steps(&together, &steps).await;
        // One by one, in commits of their own.
        let one_by_one = repository().await;
        for (number, tree) in trees.iter().enumerate() {
            let import = match number {
                0 => tree.import(),
                _ => tree.import().append("t"),
            };
            run(import, &one_by_one).await;
        }
        assert_steps(&one_by_one, &steps).await;
    }
}

#[tokio::test]
async fn chunks_away_from_seams_are_not_decoded() {
    // Chunks of two: eight elements, then seven, whose last one meets the first of the third source.
    let trees = [series(0, 8, 2), series(8, 7, 2), series(15, 1, 2)];
    let repository = repository().await;
    let report: ImportReport = run(concat(&trees), &repository).await;
    assert_steps(&repository, &(0..16).collect::<Vec<_>>()).await;
    // x: one seam of two rows, each of two chunks; t, in chunks of three: those from 6 to 14.
    assert_eq!(report.assembled_chunks, 2 + 3, "{report:?}");
    assert_eq!(report.decoded_chunks, 4 + 4, "{report:?}");
    assert_eq!(report.chunks, 16 + 6, "{report:?}");
}

#[tokio::test]
async fn grids_and_codecs_that_differ_are_encoded_anew() {
    let trees = [series(0, 4, 2), series(4, 5, 3), series(9, 3, 2)];
    let mut other = array(&[3, 3], &[2, 2], &["y", "t"]);
    other["codecs"] = json!([{ "name": "bytes" }, { "name": "crc32c" }]);
    let tree = &trees[2];
    tree.json("x/zarr.json", &other);
    for key in ["0/0", "0/1", "1/0", "1/1"] {
        let at = tree.path().join(format!("x/c/{key}"));
        let plain = std::fs::read(&at).unwrap();
        let sum = crc32c(&plain).to_le_bytes();
        std::fs::write(&at, [&plain[..], &sum].concat()).unwrap();
    }
    let repository = repository().await;
    run(concat(&trees), &repository).await;
    assert_steps(&repository, &(0..12).collect::<Vec<_>>()).await;
    // A chunk that is damaged is named.
    std::fs::write(tree.path().join("x/c/1/1"), [1, 2, 3, 4, 0, 0, 0, 0]).unwrap();
    let error = refused(concat(&trees).into_group(path("/again")), &repository).await;
    assert!(chain(&error).contains("x/c/1/1"), "{}", chain(&error));
}

fn crc32c(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 {
                (sum >> 1) ^ 0x82f6_3b78
            } else {
                sum >> 1
            };
        }
    }
    !sum
}

#[tokio::test]
async fn what_a_source_lacks_reads_as_its_fill_value() {
    let trees = [series(0, 3, 2), series(3, 4, 2)];
    let mut other = array(&[3, 4], &[2, 2], &["y", "t"]);
    other["fill_value"] = json!(77);
    trees[1].json("x/zarr.json", &other);
    std::fs::remove_file(trees[1].path().join("x/c/0/1")).unwrap();
    let repository = repository().await;
    run(concat(&trees), &repository).await;
    let (shape, found) = elements(&repository, "x").await;
    assert_eq!(shape, [3, 7]);
    assert_eq!(found[..7], [1, 2, 3, 4, 5, 77, 77]);
    assert_eq!(
        found[14..],
        (0..7).map(|t| element(2, t)).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn overlaps_are_cut_on_request() {
    let trees = [series(0, 5, 2), series(3, 4, 2), series(6, 2, 2)];
    let repository = repository().await;
    let error = refused(concat(&trees[..2]), &repository).await;
    assert!(matches!(error, ImportError::Labels { .. }), "{error}");
    let steps: Vec<u64> = (0..8).collect();
    for overlap in [Overlap::First, Overlap::Last] {
        let into = match overlap {
            Overlap::First => "/first",
            _ => "/last",
        };
        let import = concat(&trees).overlap(overlap);
        run(import.into_group(path(into)), &repository).await;
        for (at, expected) in [("t", 8), ("x", 24)] {
            let (_, found) = elements(&repository, &format!("{}/{at}", &into[1..])).await;
            assert_eq!(found.len(), expected);
        }
        let (_, labels) = elements(&repository, &format!("{}/t", &into[1..])).await;
        assert_eq!(labels, (0..8).collect::<Vec<u8>>());
    }
    let (_, first) = elements(&repository, "first/x").await;
    let expected: Vec<u8> = (0..3)
        .flat_map(|y| steps.iter().map(move |t| element(y, *t)))
        .collect();
    assert_eq!(first, expected);
    // A source within the existing elements adds nothing; of one that reaches beyond, only the part beyond is added.
    let (inside, beyond) = (series(3, 4, 2), series(6, 4, 2));
    let again = inside.import().append("t").overlap(Overlap::First);
    let error = refused(again.into_group(path("/first")), &repository).await;
    assert!(matches!(error, ImportError::NothingNew { .. }), "{error}");
    let more = beyond.import().append("t").overlap(Overlap::First);
    run(more.into_group(path("/first")), &repository).await;
    let (_, labels) = elements(&repository, "first/t").await;
    assert_eq!(labels, (0..10).collect::<Vec<u8>>());
    let longer = series(6, 6, 2);
    let over = longer.import().append("t").overlap(Overlap::Last);
    let error = refused(over.into_group(path("/first")), &repository).await;
    assert!(chain(&error).contains("does not replace"), "{error}");
}

#[tokio::test]
async fn an_append_over_a_changed_partial_chunk_is_a_conflict() {
    let repository = repository().await;
    let (first, second) = (series(0, 3, 2), series(3, 3, 2));
    run(first.import(), &repository).await;
    let append = repository.write_session(BranchName::main()).await.unwrap();
    let import = second.import().append("t");
    import.stage(&append).await.unwrap();
    // A concurrent commit writes to the chunk that is not full.
    let other = repository.write_session(BranchName::main()).await.unwrap();
    let bytes = vec![9, 9, 9, 9].into();
    other
        .set_chunk(
            &NodePath::parse("/x").unwrap(),
            &[0, 1],
            bytes,
            WriteMode::Overwrite,
        )
        .await
        .unwrap();
    assert!(matches!(
        other.commit("other").await.unwrap(),
        CommitOutcome::Committed(_)
    ));
    let outcome = append.commit("append").await.unwrap();
    assert!(
        matches!(outcome, CommitOutcome::BranchMoved { .. }),
        "{outcome:?}"
    );
    // Done anew, it sees the other's.
    run(second.import().append("t"), &repository).await;
    let (_, found) = elements(&repository, "x").await;
    assert_eq!(found[..6], [1, 2, 9, 4, 5, 6]);
}

#[tokio::test]
async fn codecs_that_are_not_known_are_refused_only_at_seams() {
    let trees = [series(0, 4, 2), series(4, 3, 2), series(7, 2, 2)];
    for (tree, length) in trees.iter().zip([4, 3, 2]) {
        let mut unknown = array(&[3, length], &[2, 2], &["y", "t"]);
        unknown["codecs"] = json!([{ "name": "bytes" }, { "name": "zap" }]);
        tree.json("x/zarr.json", &unknown);
    }
    let repository = repository().await;
    run(
        concat(&trees[..2]).into_group(path("/aligned")),
        &repository,
    )
    .await;
    let error = refused(concat(&trees), &repository).await;
    match error.of_one_source() {
        ImportError::Plan(PlanError::PartialChunk {
            path,
            length: 7,
            chunk: 2,
            ..
        }) => {
            assert_eq!(path.as_str(), "/x");
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_plan_says_what_an_import_does() {
    let repository = repository().await;
    let trees = [series(0, 8, 2), series(8, 7, 2), series(25, 1, 2)];
    let main = BranchName::main();
    let tip = repository.resolve(&main.clone().into()).await.unwrap();
    let plan = concat(&trees)
        .plan(&repository, main.clone())
        .await
        .unwrap();
    assert_eq!(repository.resolve(&main.into()).await.unwrap(), tip);
    assert_eq!(plan.dimension.as_deref(), Some("t"));
    let elements: Vec<_> = plan.sources.iter().map(|it| it.elements).collect();
    assert_eq!(elements, [Some(8), Some(7), Some(1)]);
    let [gap] = &plan.gaps[..] else {
        panic!("{:?}", plan.gaps);
    };
    assert_eq!((gap.from.as_str(), gap.to.as_str()), ("14", "25"));
    let x = plan.arrays.iter().find(|it| it.path == path("/x")).unwrap();
    assert!(x.is_new);
    assert_eq!((&x.shape[..], x.assembled), (&[3, 16][..], (2, 2 * 4)));
    assert_eq!(x.copied.0, 14);
    assert!(
        x.reasons.iter().any(|it| it.contains("15")),
        "{:?}",
        x.reasons
    );
    let report = run(concat(&trees), &repository).await;
    let copied: u64 = plan
        .arrays
        .iter()
        .map(|it| it.copied.0 + it.assembled.0)
        .sum();
    assert_eq!((report.chunks, &report.gaps), (copied, &plan.gaps));
}
