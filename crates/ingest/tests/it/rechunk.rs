//! Arrays that get other chunks, shards or codecs: while they come in, and where they are.

mod commits;
mod imports;
mod limits;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::damage::Numbers;
use crate::common::{Tree, array, group, path, run};
use icefield_core::{BranchName, ByteRange, CommitOutcome, Repository, Session};
use icefield_ingest::{ChunkLayout, ChunkLength, Compression, Limits, Rechunk, Shards};
use icefield_storage_memory::MemoryStorage;
use icefield_testkit::both_versions;
use icefield_testkit::versions::spec;
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
        // The bytes held at once were within the limit, or within the need of a single block.
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
