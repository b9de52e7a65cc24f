//! A dataset of three arrays, labels and bounds. Every value follows from its label, so that a wrong label and a wrong value
//! look the same.

use std::ops::Range;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use icefield_benches::path;
use icefield_core::{
    BranchName, ByteRange, CommitOutcome, NodePath, PackSettings, Repository, RepositoryBuilder,
    Session, Settings, WriteMode,
};
use icefield_rolling::{Options, Rolling, Window};
use icefield_storage::Storage;
use serde_json::{Value, json};

pub(crate) const ARRAYS: [&str; 3] = ["/t", "/u", "/v"];
/// Hours from one step to the next, of which each is a slab.
pub(crate) const STEP: f64 = 3.0;
/// Rows and columns of a chunk of one byte each.
const SIDE: u64 = 32;
/// Bytes of a chunk.
pub(crate) const CHUNK: u64 = SIDE * SIDE;
/// Chunks that one task asks for at a time.
const AT_ONCE: usize = 16;

/// Slabs of a window, and chunks of a slab along its axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) slabs: u32,
    pub(crate) each: [u32; 2],
}

impl Extent {
    pub(crate) const fn new(slabs: u32, each: [u32; 2]) -> Self {
        Self { slabs, each }
    }

    /// Places of the chunks of a slab.
    pub(crate) fn tiles(&self) -> impl Iterator<Item = [u32; 2]> + use<> {
        let [y, x] = self.each;
        (0..y).flat_map(move |y| (0..x).map(move |x| [y, x]))
    }

    /// Chunks of a slab, of all arrays.
    pub(crate) fn chunks(&self) -> u64 {
        u64::from(self.each[0] * self.each[1]) * ARRAYS.len() as u64
    }
}

pub(crate) fn label(step: i64) -> f64 {
    step as f64 * STEP
}

/// The bytes of the chunk at a label, never the fill value.
pub(crate) fn tile(array: usize, label: f64, [y, x]: [u32; 2]) -> Vec<u8> {
    let (first_y, first_x) = (u64::from(y) * SIDE, u64::from(x) * SIDE);
    let of_label = (label as i64).rem_euclid(251 * 4) as u64 * 31 + array as u64 * 11;
    let row =
        |y| (first_x..first_x + SIDE).map(move |x| ((of_label + y * 5 + x * 3) % 251) as u8 + 1);
    (first_y..first_y + SIDE).flat_map(row).collect()
}

fn document(shape: &[u64], chunk: &[u64], names: &[&str], kind: &str, attributes: Value) -> String {
    let (fill, codec) = match kind {
        "uint8" => (json!(0), json!({"name": "bytes"})),
        _ => (
            json!("NaN"),
            json!({"name": "bytes", "configuration": {"endian": "little"}}),
        ),
    };
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": kind,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": fill, "codecs": [codec],
        "attributes": attributes, "dimension_names": names,
    })
    .to_string()
}

async fn put(session: &Session, at: &str, document: String) {
    let at = path(at);
    let set = session.set_metadata(&at, document.into(), WriteMode::Overwrite);
    set.await.expect("a document");
}

async fn put_floats(session: &Session, at: &str, index: &[u32], numbers: Vec<f64>) {
    let bytes: Vec<u8> = numbers.into_iter().flat_map(f64::to_le_bytes).collect();
    let at = path(at);
    let set = session.set_chunk(&at, index, bytes.into(), WriteMode::Overwrite);
    set.await.expect("a chunk");
}

pub(crate) async fn open(storage: Arc<dyn Storage>) -> Repository {
    unpacked(storage).open().await.expect("opened")
}

/// An object for each chunk, on every store: their numbers show what a collection leaves.
fn unpacked(storage: Arc<dyn Storage>) -> RepositoryBuilder {
    let settings = Settings::default().with_packs(PackSettings::off());
    Repository::builder(storage).settings(settings)
}

/// Makes a repository whose window has some steps, the first at index 0.
pub(crate) async fn create(storage: Arc<dyn Storage>, extent: Extent, steps: Range<i64>) {
    let repository = unpacked(storage).create().await.expect("created");
    let session = writer(&repository).await;
    put(
        &session,
        "/",
        json!({"zarr_format": 3, "node_type": "group"}).to_string(),
    )
    .await;
    let count = (steps.end - steps.start) as u64;
    let labels: Vec<f64> = steps.map(label).collect();
    let about =
        json!({"units": "hours since 1970-01-01", "calendar": "standard", "bounds": "time_bnds"});
    let time = document(&[count], &[count], &["time"], "float64", about);
    put(&session, "/time", time).await;
    put_floats(&session, "/time", &[0], labels.clone()).await;
    let names = ["time", "nv"];
    let bounds = document(&[count, 2], &[count, 2], &names, "float64", json!({}));
    put(&session, "/time_bnds", bounds).await;
    let pairs = labels.iter().flat_map(|label| [label - 1.5, label + 1.5]);
    put_floats(&session, "/time_bnds", &[0, 0], pairs.collect()).await;
    let [y, x] = extent.each.map(|count| u64::from(count) * SIDE);
    for array in ARRAYS {
        let names = ["time", "y", "x"];
        let document = document(&[count, y, x], &[1, SIDE, SIDE], &names, "uint8", json!({}));
        put(&session, array, document).await;
    }
    for (slab, label) in (0..).zip(&labels) {
        fill_slab(&session, extent, slab, *label).await;
    }
    commit(&session).await;
}

pub(crate) async fn commit(session: &Session) {
    let outcome = session.commit("a window").await.expect("an outcome");
    assert!(
        matches!(outcome, CommitOutcome::Committed(_)),
        "{outcome:?}"
    );
}

pub(crate) async fn writer(repository: &Repository) -> Session {
    let session = repository.write_session(BranchName::main()).await;
    session.expect("a branch")
}

pub(crate) async fn newest(repository: &Repository) -> Session {
    let session = repository.read_session(BranchName::main()).await;
    session.expect("a branch")
}

/// Rolls whose data is not small: only labels are rewritten.
pub(crate) fn rolling(repository: &Repository) -> Rolling {
    let mut options = Options::default();
    options.rewrite_bytes = 0;
    Rolling::new(repository, BranchName::main(), "time").options(options)
}

pub(crate) fn window(session: &Session) -> Window {
    Window::of(session, &NodePath::root(), "time").expect("a window")
}

pub(crate) async fn set_tile(session: &Session, array: usize, slab: u32, label: f64, at: [u32; 2]) {
    let (path, bytes) = (path(ARRAYS[array]), tile(array, label, at));
    let index = [slab, at[0], at[1]];
    let set = session.set_chunk(&path, &index, bytes.into(), WriteMode::Overwrite);
    set.await.expect("a chunk");
}

/// Writes all arrays of a slab.
pub(crate) async fn fill_slab(session: &Session, extent: Extent, slab: u32, label: f64) {
    let tiles = (0..ARRAYS.len()).flat_map(|array| extent.tiles().map(move |at| (array, at)));
    stream::iter(tiles)
        .for_each_concurrent(AT_ONCE, |(array, at)| {
            set_tile(session, array, slab, label, at)
        })
        .await;
}

/// The numbers of an array of floats that is one chunk along each axis but the first.
pub(crate) async fn numbers(session: &Session, at: &str) -> Vec<f64> {
    let path = path(at);
    let array = session.array(&path).expect("an array");
    let mut all = Vec::new();
    for chunk in 0..array.chunk_counts[0] {
        let mut index = vec![0; array.rank()];
        index[0] = chunk;
        let bytes = session.chunk(&path, &index, ByteRange::All).await;
        let bytes = bytes.expect("readable").expect("labels are written");
        let (parts, _) = bytes.as_chunks::<8>();
        all.extend(parts.iter().map(|part| f64::from_le_bytes(*part)));
    }
    all.truncate(array.shape.iter().product::<u64>() as usize);
    all
}

/// Faults that readers found in chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    /// There is no chunk.
    pub(crate) missing: u64,
    /// It has something else than its label says.
    pub(crate) wrong: u64,
    /// Arrays that belong to different windows.
    pub(crate) mixed: u64,
}

impl Faults {
    pub(crate) fn add(&mut self, other: Self) {
        self.missing += other.missing;
        self.wrong += other.wrong;
        self.mixed += other.mixed;
    }

    pub(crate) fn are_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Compares chunks with their labels, by array, slab and place.
pub(crate) async fn compare(
    session: &Session,
    labels: &[f64],
    chunks: impl IntoIterator<Item = (usize, u32, [u32; 2])>,
) -> Faults {
    let looked = stream::iter(chunks).map(|(array, slab, at)| async move {
        let mut faults = Faults::default();
        let path = path(ARRAYS[array]);
        let index = [slab, at[0], at[1]];
        let bytes = session.chunk(&path, &index, ByteRange::All).await;
        match bytes.expect("readable") {
            None => faults.missing += 1,
            Some(bytes) if bytes == tile(array, labels[slab as usize], at) => {}
            Some(_) => faults.wrong += 1,
        }
        faults
    });
    let add = |mut all: Faults, faults| async move {
        all.add(faults);
        all
    };
    looked
        .buffer_unordered(AT_ONCE)
        .fold(Faults::default(), add)
        .await
}

/// Looks whether labels, bounds and arrays of a session belong together. Returns the labels.
pub(crate) async fn labels(session: &Session) -> (Vec<f64>, Faults) {
    let labels = numbers(session, "/time").await;
    let bounds = numbers(session, "/time_bnds").await;
    let mut mixed = bounds.len() != 2 * labels.len();
    for (label, pair) in labels.iter().zip(bounds.chunks(2)) {
        mixed |= pair != [label - 1.5, label + 1.5];
    }
    mixed |= labels.windows(2).any(|pair| pair[1] - pair[0] != STEP);
    for array in ARRAYS {
        let array = session.array(&path(array)).expect("an array");
        mixed |= array.shape[0] != labels.len() as u64;
    }
    let faults = Faults {
        mixed: mixed.into(),
        ..Faults::default()
    };
    (labels, faults)
}

/// Compares everything that a session shows.
pub(crate) async fn compare_all(session: &Session, extent: Extent) -> (Vec<f64>, Faults) {
    let (labels, mut faults) = labels(session).await;
    for slab in 0..labels.len() as u32 {
        let chunks =
            (0..ARRAYS.len()).flat_map(|array| extent.tiles().map(move |at| (array, slab, at)));
        faults.add(compare(session, &labels, chunks).await);
    }
    (labels, faults)
}

/// Chunk objects that some snapshot of a branch's history refers to.
pub(crate) async fn reachable_chunks(repository: &Repository) -> u64 {
    let tip = newest(repository).await.snapshot_id().expect("open");
    let history: Vec<_> = repository
        .ancestry(tip)
        .try_collect()
        .await
        .expect("a history");
    let mut ids = std::collections::HashSet::new();
    for info in history {
        let session = repository.read_session(info.id).await.expect("it is there");
        for node in session.nodes(&NodePath::root()).expect("nodes") {
            let Ok(mut chunks) = session.chunks(&node.path) else {
                continue;
            };
            while let Some(chunk) = chunks.try_next().await.expect("listed") {
                if let icefield_core::ChunkLocation::Native { id, .. } = chunk.location {
                    ids.insert(id);
                }
            }
        }
    }
    ids.len() as u64
}
