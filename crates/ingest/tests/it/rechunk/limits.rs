//! Bounds on memory, and rechunkings that are refused.

use crate::common::{array, chain, path, refused, run};
use icefield_core::BranchName;
use icefield_ingest::{
    ChunkLayout, Compression, ImportError, LayoutError, Limits, PlanError, Rechunk, Shards,
};
use icefield_testkit::both_versions;
use icefield_testkit::versions::{SPEC_1, SPEC_2, in_version};
use serde_json::json;

use super::{
    chunks, committed, decoded, document, lengths, numbered, plane, repository, tip, tree,
};

/// From chunks that are long in one direction to chunks that are long in the other, in a fraction of the array's bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn memory_stays_within_the_limit() {
    for version in [SPEC_1, SPEC_2] {
        in_version(version, one_array_stays_within_the_limit()).await;
    }
}

async fn one_array_stays_within_the_limit() {
    let tree = tree([400, 300], [1, 300]);
    let repository = repository().await;
    run(tree.import(), &repository).await;
    let mut decoded_before = 0;
    for (bytes, to) in [
        (1_u64 << 20, "t=400,x=1"),
        (40_000, "t=200,x=2"),
        (8_000, "t=13,x=7"),
    ] {
        let limits = Limits::default().with_elements(bytes);
        let rechunk = Rechunk::new(path("/a"), chunks(to)).limits(limits);
        let plan = rechunk.plan(&tip(&repository).await).await.unwrap();
        let (report, outcome) = rechunk
            .run(&repository, BranchName::main(), "")
            .await
            .unwrap();
        committed(outcome);
        assert!(plan.held <= bytes, "{plan:?}");
        let limit = bytes.next_multiple_of(1 << 10);
        assert!(report.held > 0 && report.held <= limit, "{report:?}");
        assert_eq!(report.decoded, plan.decodes);
        assert_eq!(
            decoded(&tip(&repository).await, "/a").await,
            numbered(120_000)
        );
        decoded_before += report.decoded;
    }
    assert!(decoded_before > 400 + 300);
}

both_versions!(chunks_that_cannot_be_read_are_named_and_nothing_is_committed);
async fn chunks_that_cannot_be_read_are_named_and_nothing_is_committed() {
    let tree = tree([4, 4], [2, 2]);
    let mut summed = array(&[4, 4], &[2, 2], &["t", "x"]);
    summed["codecs"] = json!([{ "name": "bytes" }, { "name": "crc32c" }]);
    tree.json("a/zarr.json", &summed);
    let repository = repository().await;
    run(tree.import(), &repository).await;
    let before = repository
        .resolve(&BranchName::main().into())
        .await
        .unwrap();
    let rechunk = Rechunk::new(path("/a"), chunks("x=4"));
    let error = rechunk
        .run(&repository, BranchName::main(), "")
        .await
        .unwrap_err();
    assert!(chain(&error).contains("of /a"), "{}", chain(&error));
    let after = repository
        .resolve(&BranchName::main().into())
        .await
        .unwrap();
    assert_eq!(before, after);
}

/// Whether an error is the one that is expected.
type Is = fn(&LayoutError) -> bool;

both_versions!(layouts_that_break_a_rule_name_array_and_rule);
async fn layouts_that_break_a_rule_name_array_and_rule() {
    let tree = tree([12, 10], [4, 5]);
    let repository = repository().await;
    run(tree.import(), &repository).await;
    let shards = |text| Shards::Of(lengths(text));
    let layout_error = |error: &ImportError| match error.of_one_source() {
        ImportError::Plan(PlanError::Layout(error)) => error.clone(),
        other => panic!("{other}"),
    };
    let cases: [(ChunkLayout, Is); 5] = [
        (chunks("y=2"), |it| {
            matches!(it, LayoutError::NoDimension { of: "chunks", .. })
        }),
        (ChunkLayout::kept().with_shards(shards("y=2")), |it| {
            matches!(it, LayoutError::NoDimension { of: "shards", .. })
        }),
        (chunks("t=0"), |it| matches!(it, LayoutError::Zero { .. })),
        (chunks("t=4").with_shards(shards("t=6")), |it| {
            matches!(
                it,
                LayoutError::NoMultiple {
                    shard: 6,
                    chunk: 4,
                    ..
                }
            )
        }),
        (ChunkLayout::kept().with_shards(shards("t=0")), |it| {
            matches!(it, LayoutError::Zero { of: "shards", .. })
        }),
    ];
    for (layout, is_it) in cases {
        let rechunk = Rechunk::new(path("/a"), layout.clone());
        let error = rechunk.plan(&tip(&repository).await).await.unwrap_err();
        let error = layout_error(&error);
        assert!(is_it(&error) && error.to_string().contains("/a"), "{error}");
        let import = tree.import().into_group(path("/again")).layout(layout);
        let error = layout_error(&refused(import, &repository).await);
        assert!(
            is_it(&error) && error.to_string().contains("/again"),
            "{error}"
        );
    }
    let append = tree.import().append("t").layout(chunks("t=2"));
    let error = layout_error(&refused(append, &repository).await);
    assert_eq!(error, LayoutError::Append);
    let nothing = Rechunk::new(path("/nothing"), chunks("t=2"));
    assert!(nothing.plan(&tip(&repository).await).await.is_err());
}

both_versions!(codecs_that_are_not_known_are_refused);
async fn codecs_that_are_not_known_are_refused() {
    let tree = tree([4, 4], [2, 2]);
    plane(&tree, "b", ([4, 4], [2, 2]), 0, |_, _| true);
    let mut unheard_of = array(&[4, 4], &[2, 2], &["t", "x"]);
    unheard_of["codecs"] = json!([{ "name": "bytes" }, { "name": "unheard-of" }]);
    tree.json("a/zarr.json", &unheard_of);
    let repository = repository().await;
    run(tree.import(), &repository).await;
    let mut refused = vec![("/a", chunks("t=4"))];
    if cfg!(not(feature = "all-codecs")) {
        let blosc = Compression::parse("blosc:lz4:5").unwrap();
        refused.push(("/b", ChunkLayout::kept().with_compression(blosc)));
    }
    let before = document(&tip(&repository).await, "/b");
    for (at, layout) in refused {
        let rechunk = Rechunk::new(path(at), layout);
        let error = rechunk
            .run(&repository, BranchName::main(), "")
            .await
            .unwrap_err();
        let ImportError::Plan(PlanError::Layout(LayoutError::Unsupported { path, .. })) = &error
        else {
            panic!("{error}");
        };
        assert_eq!(path.as_str(), at);
    }
    assert_eq!(document(&tip(&repository).await, "/b"), before);
}
