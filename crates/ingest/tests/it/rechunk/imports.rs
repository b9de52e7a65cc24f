//! Imports that are told how to cut and encode chunks.

use std::sync::Arc;

use crate::common::{Tree, array, chain, group, path, refused, run};
use icefield_core::BranchName;
use icefield_ingest::{ChunkLayout, Compression, Import, Source};
use icefield_testkit::both_versions;
use serde_json::json;

use super::{chunks, decoded, numbered, plane, repository, tip};

both_versions!(an_import_cuts_chunks_as_it_is_told);
async fn an_import_cuts_chunks_as_it_is_told() {
    let series = |first: u64, length: u64| {
        let tree = Tree::new();
        tree.json("zarr.json", &group(json!({})));
        plane(&tree, "a", ([length, 6], [3, 4]), first * 6, |_, _| true);
        // It has no t, and is compared.
        tree.json("mask/zarr.json", &array(&[6], &[4], &["x"]));
        tree.file("mask/c/0", [1, 2, 3, 4])
            .file("mask/c/1", [5, 6, 99, 99]);
        tree.json("t/zarr.json", &array(&[length], &[3], &["t"]));
        for chunk in 0..length.div_ceil(3) {
            let labels: Vec<u8> = (0..3).map(|at| (first + 3 * chunk + at) as u8).collect();
            tree.file(&format!("t/c/{chunk}"), labels);
        }
        tree
    };
    let trees = [series(0, 7), series(7, 4), series(11, 6)];
    let repository = repository().await;
    let layout = chunks("t=5,x=3").with_compression(Compression::Zstd(1));
    let import = || {
        let mut sources = trees.iter().map(|tree| tree.source() as Arc<dyn Source>);
        let first = sources.next().unwrap();
        Import::new(first)
            .concat("t", sources)
            .layout(layout.clone())
    };
    let plan = import()
        .plan(&repository, BranchName::main())
        .await
        .unwrap();
    let planned = |at: &str| plan.arrays.iter().find(|it| it.path == path(at)).unwrap();
    assert_eq!(planned("/a").chunk_shape, [5, 3]);
    assert_eq!(planned("/a").assembled, (8, 8 * 15));
    assert_eq!(planned("/a").decodes, 2 * (3 + 2 + 2));
    assert!(
        planned("/a")
            .reasons
            .iter()
            .any(|it| it.contains("chunk_grid")),
        "{plan:?}"
    );
    assert_eq!(planned("/a").codecs, ["bytes", "zstd"]);
    assert_eq!(planned("/mask").assembled.0, 2);
    // A coordinate is read whole: it keeps its chunks.
    assert_eq!(planned("/t").chunk_shape, [3]);
    let report = run(import(), &repository).await;
    assert_eq!(report.assembled_chunks, 8 + 2 + 6);
    assert_eq!(report.compared_chunks, 2 * 2);
    let session = tip(&repository).await;
    assert_eq!(decoded(&session, "/a").await, numbered(17 * 6));
    // All of the dimension is that of all sources.
    let whole = import().layout(chunks("t=all")).into_group(path("/whole"));
    run(whole, &repository).await;
    assert_eq!(
        tip(&repository)
            .await
            .array(&path("/whole/a"))
            .unwrap()
            .chunk_shape,
        [17, 4]
    );
    assert_eq!(
        decoded(&tip(&repository).await, "/whole/a").await,
        numbered(17 * 6)
    );
    // A mask that differs is found.
    trees[2].file("mask/c/1", [5, 7, 99, 99]);
    let error = refused(import().into_group(path("/again")), &repository).await;
    assert!(chain(&error).contains("/again/mask"), "{}", chain(&error));
}

both_versions!(what_lies_beside_chunks_is_told_once);
async fn what_lies_beside_chunks_is_told_once() {
    let series = |first: u64, length: u64| {
        let tree = Tree::new();
        tree.json("zarr.json", &group(json!({})));
        plane(&tree, "a", ([length, 4], [4, 4]), first * 4, |_, _| true);
        // It has no t, and is compared.
        tree.json("mask/zarr.json", &array(&[4], &[2], &["x"]));
        for chunk in ["0", "1"] {
            tree.file(&format!("mask/c/{chunk}"), [1, 2]);
        }
        for array in ["a", "mask"] {
            tree.file(&format!("{array}/c/.DS_Store"), "x");
        }
        tree
    };
    // The second one has a whole chunk at 8 and a seam behind it.
    let trees = [series(0, 8), series(8, 6), series(14, 2)];
    let import = || {
        let mut sources = trees.iter().map(|tree| tree.source() as Arc<dyn Source>);
        let first = sources.next().unwrap();
        Import::new(first).concat("t", sources)
    };
    for layout in [
        ChunkLayout::kept(),
        ChunkLayout::kept().with_compression(Compression::Gzip(1)),
        chunks("t=3,x=1"),
    ] {
        let repository = repository().await;
        let report = run(import().layout(layout), &repository).await;
        let ignored = report.ignored;
        assert_eq!(ignored.count(), 6, "{ignored:?}");
        assert_eq!(decoded(&tip(&repository).await, "/a").await, numbered(64));
    }
}
