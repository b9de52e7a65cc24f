//! Arrays that get other chunks, shards or codecs: while they come in, and where they are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::damage::Numbers;
use crate::common::{Tree, array, chain, group, path, refused, run};
use icefield_core::{
    BranchName, ByteRange, CommitOutcome, Detector, NodePath, RebaseOutcome, Repository, Session,
    WriteMode,
};
use icefield_ingest::{
    ChunkLayout, ChunkLength, Compression, Import, ImportError, LayoutError, Limits, PlanError,
    Progress, Rechunk, Shards, Source,
};
use icefield_storage_memory::MemoryStorage;
use icefield_testkit::both_versions;
use icefield_testkit::versions::{SPEC_1, SPEC_2, in_version, spec};
use serde_json::{Value, json};

/// A repository of the version that is tested.
async fn repository() -> Repository {
    Repository::builder(Arc::new(MemoryStorage::new()))
        .spec_version(spec())
        .create()
        .await
        .unwrap()
}

fn lengths(text: &str) -> BTreeMap<String, ChunkLength> {
    match text {
        "" => BTreeMap::new(),
        text => ChunkLength::parse_each(text).unwrap(),
    }
}

fn chunks(text: &str) -> ChunkLayout {
    ChunkLayout::kept().with_chunks(lengths(text))
}

/// The value of an element by its place in the array, never that of the fill value.
fn element(number: u64) -> u8 {
    (number % 251 + 1) as u8
}

/// An array of bytes in two dimensions, with elements by their numbers. Of the chunks, those are there of which `has` says so.
fn plane(
    tree: &Tree,
    at: &str,
    (shape, chunk): ([u64; 2], [u64; 2]),
    first: u64,
    has: impl Fn(u64, u64) -> bool,
) {
    tree.json(
        &format!("{at}/zarr.json"),
        &array(&shape, &chunk, &["t", "x"]),
    );
    for row in 0..shape[0].div_ceil(chunk[0]) {
        for column in 0..shape[1].div_ceil(chunk[1]) {
            if !has(row, column) {
                continue;
            }
            let places = (0..chunk[0]).flat_map(|t| (0..chunk[1]).map(move |x| (t, x)));
            let elements = places.map(|(t, x)| {
                let (t, x) = (row * chunk[0] + t, column * chunk[1] + x);
                match t < shape[0] && x < shape[1] {
                    true => element(first + t * shape[1] + x),
                    // Beyond the end is whatever the writer left there.
                    false => 255,
                }
            });
            tree.file(
                &format!("{at}/c/{row}/{column}"),
                elements.collect::<Vec<u8>>(),
            );
        }
    }
}

fn tree(shape: [u64; 2], chunk: [u64; 2]) -> Tree {
    let tree = Tree::new();
    tree.json("zarr.json", &group(json!({})));
    plane(&tree, "a", (shape, chunk), 0, |_, _| true);
    tree
}

async fn tip(repository: &Repository) -> Session {
    repository.read_session(BranchName::main()).await.unwrap()
}

fn document(session: &Session, at: &str) -> Value {
    let document = session.metadata(&path(at)).unwrap().unwrap();
    serde_json::from_slice(&document).unwrap()
}

/// Decodes an array of bytes in two dimensions; `None` where no chunk was written.
async fn decoded(session: &Session, at: &str) -> Vec<Option<u8>> {
    let array = session.array(&path(at)).unwrap();
    let codec = icefield_ingest::ChunkCodec::new(&document(session, at)).unwrap();
    let (shape, chunk) = (&array.shape, &array.chunk_shape);
    let mut all = vec![None; (shape[0] * shape[1]) as usize];
    for row in 0..array.chunk_counts[0] {
        for column in 0..array.chunk_counts[1] {
            let found = session
                .chunk(&path(at), &[row, column], ByteRange::All)
                .await
                .unwrap();
            let Some(bytes) = found else {
                continue;
            };
            let icefield_ingest::Elements::Fixed(elements) = codec.decode(&bytes).unwrap() else {
                panic!("not bytes");
            };
            assert_eq!(elements.len() as u64, chunk[0] * chunk[1]);
            for (number, value) in (0_u64..).zip(elements) {
                let t = u64::from(row) * chunk[0] + number / chunk[1];
                let x = u64::from(column) * chunk[1] + number % chunk[1];
                if t < shape[0] && x < shape[1] {
                    all[(t * shape[1] + x) as usize] = Some(value);
                }
            }
        }
    }
    all
}

fn numbered(count: u64) -> Vec<Option<u8>> {
    (0..count).map(|number| Some(element(number))).collect()
}

fn committed(outcome: Option<CommitOutcome>) {
    assert!(
        matches!(outcome, Some(CommitOutcome::Committed(_))),
        "{outcome:?}"
    );
}

both_versions!(any_grid_becomes_any_other);
async fn any_grid_becomes_any_other() {
    let mut numbers = Numbers(28);
    for _ in 0..60 {
        let mut length = |most: usize| 1 + numbers.below(most) as u64;
        let shape = [length(23), length(17)];
        let (from, to) = ([length(9), length(9)], [length(9), length(9)]);
        let bytes = [200, 2000, 1_u64 << 20][length(3) as usize - 1];
        let tree = tree(shape, from);
        let repository = repository().await;
        run(tree.import(), &repository).await;
        let layout = chunks(&format!("t={},x={}", to[0], to[1]));
        let limits = Limits::default().with_elements(bytes);
        let rechunk = Rechunk::new(path("/a"), layout).limits(limits);
        let plan = rechunk.plan(&tip(&repository).await).await.unwrap();
        let (report, outcome) = rechunk
            .run(&repository, BranchName::main(), "rechunk")
            .await
            .unwrap();
        let session = tip(&repository).await;
        let what = format!("{shape:?} in {from:?} to {to:?}: {plan:?} {report:?}");
        assert_eq!(
            decoded(&session, "/a").await,
            numbered(shape[0] * shape[1]),
            "{what}"
        );
        if from == to {
            assert!(
                outcome.is_none() && !report.was_needed && !plan.is_needed,
                "{what}"
            );
            continue;
        }
        committed(outcome);
        assert_eq!(
            session.array(&path("/a")).unwrap().chunk_shape,
            to,
            "{what}"
        );
        assert_eq!(report.chunks, plan.chunks, "{what}");
        assert_eq!(
            report.chunks,
            shape[0].div_ceil(to[0]) * shape[1].div_ceil(to[1]),
            "{what}"
        );
        // All exist, so that as many are decoded as was planned.
        assert_eq!(report.decoded, plan.decodes, "{what}");
        // What was held at once was within the limit, or within what a single block needs.
        let limit = bytes.next_multiple_of(1 << 10);
        assert!(report.held <= limit.max(plan.held), "{what}");
        if bytes > 2000 {
            assert_eq!(report.decoded, report.chunks_before, "{what}");
        }
    }
}

both_versions!(what_was_never_written_stays_so);
async fn what_was_never_written_stays_so() {
    let tree = Tree::new();
    tree.json("zarr.json", &group(json!({})));
    // Of 4 x 3 chunks of 2 x 3, two.
    let has = |row: u64, column: u64| matches!((row, column), (0, 0) | (2, 2));
    plane(&tree, "a", ([8, 9], [2, 3]), 0, has);
    // One that holds nothing but fill values is there all the same.
    tree.file("a/c/3/0", vec![0; 6]);
    let repository = repository().await;
    run(tree.import(), &repository).await;
    let rechunk = Rechunk::new(path("/a"), chunks("t=1,x=9"));
    let (report, outcome) = rechunk
        .run(&repository, BranchName::main(), "")
        .await
        .unwrap();
    committed(outcome);
    assert_eq!(
        (report.decoded, report.chunks_before, report.chunks),
        (3, 3, 6)
    );
    let found = decoded(&tip(&repository).await, "/a").await;
    for (t, row) in found.chunks(9).enumerate() {
        let expected: Vec<Option<u8>> = (0..9)
            .map(|x| match (t, x) {
                (0 | 1, 0..3) | (4 | 5, 6..9) => Some(element((t * 9 + x) as u64)),
                (0 | 1 | 4..8, _) => Some(0),
                _ => None,
            })
            .collect();
        assert_eq!(row, expected, "row {t}");
    }
}

both_versions!(codecs_and_shards_change_and_nothing_else);
async fn codecs_and_shards_change_and_nothing_else() {
    let tree = tree([12, 10], [4, 5]);
    let mut described = array(&[12, 10], &[4, 5], &["t", "x"]);
    described["attributes"] = json!({ "units": "K", "scale": 1.50 });
    tree.json("a/zarr.json", &described);
    let repository = repository().await;
    run(tree.import(), &repository).await;
    let shards = |text| Shards::Of(lengths(text));
    let steps = [
        (
            ChunkLayout::kept().with_compression(Compression::Zstd(3)),
            "bytes zstd",
            None,
        ),
        (
            ChunkLayout::kept().with_compression(Compression::Zstd(9)),
            "bytes zstd",
            None,
        ),
        (
            chunks("t=2")
                .with_shards(shards("t=6"))
                .with_compression(Compression::Gzip(1)),
            "sharding_indexed bytes gzip",
            Some([6, 5]),
        ),
        // Within the shards that there are.
        (
            chunks("t=3,x=5"),
            "sharding_indexed bytes gzip",
            Some([6, 5]),
        ),
        (
            ChunkLayout::kept().with_shards(shards("x=all")),
            "sharding_indexed bytes gzip",
            Some([6, 10]),
        ),
        (
            ChunkLayout::kept()
                .with_shards(Shards::None)
                .with_compression(Compression::None),
            "bytes",
            None,
        ),
    ];
    for (layout, codecs, shard_shape) in steps {
        let rechunk = Rechunk::new(path("/a"), layout.clone());
        let (report, outcome) = rechunk
            .run(&repository, BranchName::main(), "")
            .await
            .unwrap();
        committed(outcome);
        assert_eq!(report.after.codecs.join(" "), codecs);
        let found = report.after.shard_shape.as_deref();
        assert_eq!(found, shard_shape.as_ref().map(|it| &it[..]), "{layout:?}");
        let session = tip(&repository).await;
        assert_eq!(decoded(&session, "/a").await, numbered(120), "{layout:?}");
        let (_, nothing) = rechunk
            .run(&repository, BranchName::main(), "")
            .await
            .unwrap();
        assert!(nothing.is_none(), "done twice: {layout:?}");
    }
    let mut expected = described.clone();
    expected["chunk_grid"]["configuration"]["chunk_shape"] = json!([3, 5]);
    assert_eq!(document(&tip(&repository).await, "/a"), expected);
}

both_versions!(a_scalar_has_codecs_only);
async fn a_scalar_has_codecs_only() {
    let tree = Tree::new();
    tree.json("zarr.json", &group(json!({})));
    tree.json("s/zarr.json", &array(&[], &[], &[]))
        .file("s/c", [7]);
    let repository = repository().await;
    // An import leaves it alone.
    let layout = ChunkLayout::kept().with_compression(Compression::Zstd(3));
    run(tree.import().layout(layout.clone()), &repository).await;
    assert_eq!(
        document(&tip(&repository).await, "/s"),
        array(&[], &[], &[])
    );
    let rechunk = Rechunk::new(path("/s"), layout);
    let (report, outcome) = rechunk
        .run(&repository, BranchName::main(), "")
        .await
        .unwrap();
    committed(outcome);
    assert_eq!((report.chunks, report.decoded), (1, 1));
    let session = tip(&repository).await;
    let codec = icefield_ingest::ChunkCodec::new(&document(&session, "/s")).unwrap();
    let bytes = session
        .chunk(&path("/s"), &[], ByteRange::All)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        codec.decode(&bytes),
        Ok(icefield_ingest::Elements::Fixed(vec![7]))
    );
}

both_versions!(what_was_never_written_reads_as_the_fill_value_of_its_type);
async fn what_was_never_written_reads_as_the_fill_value_of_its_type() {
    let halves = |values: &[u16]| -> Vec<u8> {
        let values = values.iter();
        values.flat_map(|it| it.to_le_bytes()).collect()
    };
    let texts = |texts: &[&[u8]]| -> Vec<u8> {
        let mut bytes = (texts.len() as u32).to_le_bytes().to_vec();
        for text in texts {
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend_from_slice(text);
        }
        bytes
    };
    let little = json!([{ "name": "bytes", "configuration": { "endian": "little" } }]);
    for (data_type, fill, codecs, written, expected) in [
        (
            "variable_length_bytes",
            json!("AP8="),
            json!(["vlen-bytes"]),
            texts(&[b"a", b"bc"]),
            texts(&[b"a", b"bc", b"\x00\xff", b"\x00\xff"]),
        ),
        (
            "float16",
            json!(1),
            little.clone(),
            halves(&[0x4000, 0x4200]),
            halves(&[0x4000, 0x4200, 0x3c00, 0x3c00]),
        ),
        (
            "float16",
            json!("NaN"),
            little.clone(),
            halves(&[0x4000, 0x4200]),
            halves(&[0x4000, 0x4200, 0x7e00, 0x7e00]),
        ),
    ] {
        let tree = Tree::new();
        let mut document = array(&[4], &[2], &["x"]);
        document["data_type"] = data_type.into();
        document["fill_value"] = fill;
        document["codecs"] = codecs;
        tree.json("zarr.json", &group(json!({})))
            .json("a/zarr.json", &document)
            .file("a/c/0", written);
        let repository = repository().await;
        run(tree.import(), &repository).await;
        let rechunk = Rechunk::new(path("/a"), chunks("x=4"));
        let done = rechunk.run(&repository, BranchName::main(), "").await;
        committed(done.unwrap().1);
        let session = tip(&repository).await;
        let found = session.chunk(&path("/a"), &[0], ByteRange::All).await;
        assert_eq!(found.unwrap().unwrap(), expected, "{data_type}");
    }
}

both_versions!(a_session_is_rechunked_with_its_edits_and_others_collide);
async fn a_session_is_rechunked_with_its_edits_and_others_collide() {
    let tree = tree([4, 4], [2, 2]);
    let repository = repository().await;
    run(tree.import(), &repository).await;
    let a = path("/a");
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let other = repository.write_session(BranchName::main()).await.unwrap();
    let edit = |session: Session, value: u8| {
        let a = a.clone();
        async move {
            let bytes = vec![value; 4].into();
            session
                .set_chunk(&a, &[1, 1], bytes, WriteMode::Overwrite)
                .await
                .unwrap();
        }
    };
    edit(session.clone(), 200).await;
    Rechunk::new(a.clone(), chunks("t=1,x=4"))
        .stage(&session)
        .await
        .unwrap();
    let mut expected = numbered(16);
    for at in [10, 11, 14, 15] {
        expected[at] = Some(200);
    }
    assert_eq!(decoded(&session, "/a").await, expected);
    edit(other.clone(), 100).await;
    assert!(matches!(
        other.commit("other").await.unwrap(),
        CommitOutcome::Committed(_)
    ));
    let outcome = session.commit("rechunk").await.unwrap();
    assert!(
        matches!(outcome, CommitOutcome::BranchMoved { .. }),
        "{outcome:?}"
    );
    let rebased = session.rebase(&Detector::Strict).await.unwrap();
    let RebaseOutcome::Conflicts { conflicts, .. } = rebased else {
        panic!("{rebased:?}");
    };
    assert!(!conflicts.is_empty());
}

/// Commits a chunk of another session when a rechunking is about to commit.
struct Meanwhile {
    repository: Repository,
    array: NodePath,
    index: [u32; 2],
}

impl Progress for Meanwhile {
    fn finishing(&self) {
        let (repository, array, index) = (self.repository.clone(), self.array.clone(), self.index);
        let commit = async move {
            let other = repository.write_session(BranchName::main()).await.unwrap();
            let bytes = vec![200; 4].into();
            other
                .set_chunk(&array, &index, bytes, WriteMode::Overwrite)
                .await
                .unwrap();
            committed(Some(other.commit("other").await.unwrap()));
        };
        let thread = std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            runtime.block_on(commit);
        });
        thread.join().unwrap();
    }
}

both_versions!(commits_meanwhile_are_passed_unless_they_touch_the_array);
async fn commits_meanwhile_are_passed_unless_they_touch_the_array() {
    let gzip = ChunkLayout::kept().with_compression(Compression::Gzip(1));
    for (layout, array, index, is_passed) in [
        (chunks("t=1,x=4"), "/b", [0, 0], true),
        (chunks("t=1,x=4"), "/a", [0, 0], false),
        (chunks("t=4,x=4"), "/a", [1, 1], false),
        // With other codecs and the same grid, also where neither has a chunk yet.
        (gzip.clone(), "/b", [1, 1], true),
        (gzip.clone(), "/a", [0, 0], false),
        (gzip.clone(), "/a", [1, 1], false),
    ] {
        let tree = Tree::new();
        tree.json("zarr.json", &group(json!({})));
        let has = |row, column| (row, column) != (1, 1);
        plane(&tree, "a", ([4, 4], [2, 2]), 0, has);
        plane(&tree, "b", ([4, 4], [2, 2]), 0, has);
        let repository = repository().await;
        run(tree.import(), &repository).await;
        let before = document(&tip(&repository).await, "/a");
        let values = decoded(&tip(&repository).await, "/a").await;
        let meanwhile = Meanwhile {
            repository: repository.clone(),
            array: path(array),
            index,
        };
        let rechunk = Rechunk::new(path("/a"), layout).progress(Arc::new(meanwhile));
        let done = rechunk.run(&repository, BranchName::main(), "rechunk");
        let (_, outcome) = done.await.unwrap();
        let session = tip(&repository).await;
        if is_passed {
            committed(outcome);
            assert_ne!(document(&session, "/a"), before);
            let found = decoded(&session, "/a").await;
            let read = |it: &Option<u8>| it.unwrap_or_default();
            assert!(found.iter().map(read).eq(values.iter().map(read)));
        } else {
            assert!(
                matches!(outcome, Some(CommitOutcome::Conflicts { .. })),
                "{array} {index:?}: {outcome:?}"
            );
            assert_eq!(document(&session, "/a"), before);
        }
        let array = path(array);
        let other = session.chunk(&array, &index, ByteRange::All).await;
        assert_eq!(other.unwrap().unwrap(), vec![200; 4]);
    }
}

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

/// Holds what is made of it, and counts what is under way.
#[derive(Debug, Default)]
struct Told {
    expected: AtomicU64,
    done: AtomicU64,
}

impl Progress for Told {
    fn expected(&self, chunks: u64) {
        self.expected.fetch_add(chunks, Ordering::SeqCst);
    }

    fn chunk(&self, _: u64) {
        self.done.fetch_add(1, Ordering::SeqCst);
    }

    fn absent(&self, chunks: u64) {
        self.done.fetch_add(chunks, Ordering::SeqCst);
    }
}

both_versions!(progress_comes_to_its_end_and_interrupts_end_it);
async fn progress_comes_to_its_end_and_interrupts_end_it() {
    let tree = tree([9, 9], [2, 2]);
    std::fs::remove_dir_all(tree.path().join("a/c/0")).unwrap();
    let repository = repository().await;
    run(tree.import(), &repository).await;
    let told = Arc::new(Told::default());
    let rechunk = Rechunk::new(path("/a"), chunks("t=1,x=9"));
    let (report, _) = rechunk
        .progress(Arc::<Told>::clone(&told))
        .run(&repository, BranchName::main(), "")
        .await
        .unwrap();
    assert_eq!(report.chunks, 7);
    assert_eq!(told.expected.load(Ordering::SeqCst), 9);
    assert_eq!(told.done.load(Ordering::SeqCst), 9);
    let before: NodePath = path("/a");
    let interrupt = icefield_core::Interrupt::new();
    let rechunk = Rechunk::new(before, chunks("t=9,x=1"))
        .progress(crate::common::After::calls(2, &interrupt))
        .interruptible(&interrupt);
    let error = rechunk
        .run(&repository, BranchName::main(), "")
        .await
        .unwrap_err();
    assert!(matches!(error, ImportError::Interrupted(_)), "{error}");
}
