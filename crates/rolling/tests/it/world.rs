//! A dataset of three arrays, labels and bounds; every value follows from its label, so that a wrong label and a wrong value
//! look the same.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::TryStreamExt;
use icefield_core::{
    BranchName, ByteRange, CommitOutcome, NodePath, Repository, RepositoryConfig, Session,
    SnapshotId, WriteMode,
};
use icefield_rolling::{Options, Rolling, Window};
use icefield_storage::{Prefix, Storage, StorageExt};
use icefield_storage_memory::MemoryStorage;
use serde_json::{Value, json};

/// Elements of a slab: steps of time in a chunk.
pub(crate) const SLAB: u64 = 4;
/// Hours from one step to the next.
pub(crate) const STEP: f64 = 3.0;
pub(crate) const ARRAYS: [&str; 3] = ["/t", "/u", "/deep/v"];
/// Rows and columns, and those of a chunk.
const PLANE: [u64; 2] = [4, 6];
const TILE: [u64; 2] = [2, 3];
/// Tiles of a slab.
pub(crate) const TILES: [[u32; 2]; 4] = [[0, 0], [0, 1], [1, 0], [1, 1]];

pub(crate) fn path(text: &str) -> NodePath {
    NodePath::parse(text).expect("a path")
}

/// The value of the cell at a label, never the fill value.
pub(crate) fn value(array: usize, label: f64, y: u64, x: u64) -> u8 {
    let hours = label as i64;
    let mixed = hours * 31 + array as i64 * 11 + y as i64 * 5 + x as i64 * 3;
    mixed.rem_euclid(251) as u8 + 1
}

/// A chunk of one tile, for the labels of its slab; `None` is an element without a label, or beyond the end.
pub(crate) fn tile(array: usize, labels: &[Option<f64>], tile: [u32; 2]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in labels {
        for y in 0..TILE[0] {
            for x in 0..TILE[1] {
                let (y, x) = (
                    u64::from(tile[0]) * TILE[0] + y,
                    u64::from(tile[1]) * TILE[1] + x,
                );
                bytes.push(label.map_or(0, |label| value(array, label, y, x)));
            }
        }
    }
    bytes
}

pub(crate) fn document(
    shape: &[u64],
    chunk: &[u64],
    names: &[&str],
    kind: &str,
    attributes: Value,
) -> String {
    let fill = match kind {
        "float64" => json!("NaN"),
        _ => json!(0),
    };
    let codec = match kind {
        "uint8" | "int8" => json!({"name": "bytes"}),
        _ => json!({"name": "bytes", "configuration": {"endian": "little"}}),
    };
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": kind,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": fill, "codecs": [codec],
        "attributes": attributes, "dimension_names": names,
    })
    .to_string()
}

pub(crate) async fn put(session: &Session, at: &str, document: String) {
    let at = path(at);
    let set = session.set_metadata(&at, document.into(), WriteMode::Overwrite);
    set.await.expect("a document");
}

pub(crate) async fn data_array(session: &Session, at: &str, steps: u64) {
    let shape = [steps, PLANE[0], PLANE[1]];
    let chunk = [SLAB, TILE[0], TILE[1]];
    let document = document(
        &shape,
        &chunk,
        &["time", "y", "x"],
        "uint8",
        json!({"units": "K"}),
    );
    put(session, at, document).await;
}

pub(crate) fn floats(numbers: impl IntoIterator<Item = f64>) -> Vec<u8> {
    numbers.into_iter().flat_map(f64::to_le_bytes).collect()
}

/// A repository whose window has so many slabs, from label 0 on.
pub(crate) struct World {
    pub(crate) storage: Arc<MemoryStorage>,
    pub(crate) repository: Repository,
}

impl World {
    pub(crate) async fn new(slabs: u64) -> Self {
        let storage = Arc::new(MemoryStorage::new());
        let store: Arc<dyn Storage> = Arc::<MemoryStorage>::clone(&storage);
        let config = RepositoryConfig {
            inline_chunk_threshold_bytes: Some(0),
            ..RepositoryConfig::default()
        };
        let repository = Repository::builder(store)
            .spec_version(icefield_testkit::versions::spec())
            .config(config)
            .create()
            .await
            .expect("created");
        let session = repository
            .write_session(BranchName::main())
            .await
            .expect("a branch");
        let group = json!({"zarr_format": 3, "node_type": "group"}).to_string();
        put(&session, "/", group.clone()).await;
        put(&session, "/deep", group).await;
        let steps = slabs * SLAB;
        let time = json!({"units": "hours since 1970-01-01", "calendar": "standard", "bounds": "time_bnds"});
        let labels: Vec<f64> = (0..steps).map(|step| step as f64 * STEP).collect();
        put(
            &session,
            "/time",
            document(&[steps], &[steps], &["time"], "float64", time),
        )
        .await;
        set(&session, "/time", &[0], floats(labels.iter().copied())).await;
        let bounds = document(
            &[steps, 2],
            &[steps, 2],
            &["time", "nv"],
            "float64",
            json!({}),
        );
        put(&session, "/time_bnds", bounds).await;
        let pairs = labels.iter().flat_map(|label| [label - 1.5, label + 1.5]);
        set(&session, "/time_bnds", &[0, 0], floats(pairs)).await;
        // Something without the dimension.
        put(
            &session,
            "/y",
            document(&[4], &[4], &["y"], "float64", json!({})),
        )
        .await;
        for array in ARRAYS {
            data_array(&session, array, steps).await;
        }
        for slab in 0..slabs as u32 {
            fill_slab(
                &session,
                slab,
                &labels[(slab as usize * 4)..(slab as usize * 4 + 4)],
            )
            .await;
        }
        commit(&session, "a window").await;
        Self {
            storage,
            repository,
        }
    }

    /// Rolls whose data is not small.
    pub(crate) fn rolling(&self) -> Rolling {
        Rolling::new(&self.repository, BranchName::main(), "time").options(large())
    }

    pub(crate) async fn read(&self) -> Session {
        self.repository
            .read_session(BranchName::main())
            .await
            .expect("a branch")
    }

    /// Commits of the branch.
    pub(crate) async fn history(&self) -> usize {
        let tip = self.read().await.snapshot_id().expect("there");
        let ancestry = self.repository.ancestry(tip);
        ancestry.try_collect::<Vec<_>>().await.expect("read").len()
    }

    pub(crate) async fn writer(&self) -> Session {
        self.repository
            .write_session(BranchName::main())
            .await
            .expect("a branch")
    }
}

/// Sets attributes of a node, beside those that it has.
pub(crate) async fn set_attributes(session: &Session, at: &str, attributes: Value) {
    let document = session.metadata(&path(at)).expect("there").expect("there");
    let attributes = attributes.as_object().expect("attributes");
    let attributes: Vec<(&str, Option<Value>)> = attributes
        .iter()
        .map(|(name, value)| (name.as_str(), Some(value.clone())))
        .collect();
    let edited = icefield_core::with_shape_and_attributes(&document, None, &attributes);
    let edited = String::from_utf8(edited.expect("an object")).expect("text");
    put(session, at, edited).await;
}

/// Only labels are rewritten.
pub(crate) fn large() -> Options {
    let mut options = Options::default();
    options.rewrite_bytes = 0;
    options
}

pub(crate) fn masking() -> Options {
    let mut options = large();
    options.mask = true;
    options
}

pub(crate) async fn set(session: &Session, at: &str, index: &[u32], bytes: Vec<u8>) {
    let at = path(at);
    let set = session.set_chunk(&at, index, bytes.into(), WriteMode::Overwrite);
    set.await.expect("a chunk");
}

/// Writes all arrays of a slab.
pub(crate) async fn fill_slab(session: &Session, slab: u32, labels: &[f64]) {
    let labels: Vec<Option<f64>> = labels.iter().copied().map(Some).collect();
    for (number, array) in ARRAYS.iter().enumerate() {
        for at in TILES {
            set(
                session,
                array,
                &[slab, at[0], at[1]],
                tile(number, &labels, at),
            )
            .await;
        }
    }
}

pub(crate) async fn commit(session: &Session, message: &str) -> SnapshotId {
    match session.commit(message).await.expect("an outcome") {
        CommitOutcome::Committed(id) => id,
        other => panic!("{other:?}"),
    }
}

/// The numbers of a small array of floats.
pub(crate) async fn numbers(session: &Session, at: &str) -> Vec<f64> {
    let array = session.array(&path(at)).expect("an array");
    let mut all = Vec::new();
    for chunk in 0..array.chunk_counts[0] {
        let mut index = vec![0; array.rank()];
        index[0] = chunk;
        let bytes = session
            .chunk(&path(at), &index, ByteRange::All)
            .await
            .expect("readable");
        let bytes = bytes.expect("labels are written");
        let (parts, _) = bytes.as_chunks::<8>();
        all.extend(parts.iter().map(|part| f64::from_le_bytes(*part)));
    }
    let count: u64 = array.shape.iter().product();
    all.truncate(count as usize);
    all
}

/// The problem of a window, seen by a reader that takes the labels at their word; `None` if all is well. Unwritten slots
/// count only if `complete`.
pub(crate) async fn problem(session: &Session, complete: bool) -> Option<String> {
    let labels = numbers(session, "/time").await;
    let window = Window::of(session, &NodePath::root(), "time").expect("a window");
    let bounds = numbers(session, "/time_bnds").await;
    for (number, label) in labels.iter().enumerate() {
        let pair = (bounds[2 * number], bounds[2 * number + 1]);
        if !label.is_nan() && pair != (label - 1.5, label + 1.5) {
            return Some(format!("label {label} has bounds {pair:?}"));
        }
    }
    for (number, at) in ARRAYS.iter().enumerate() {
        let array = session.array(&path(at)).expect("an array");
        if array.shape[0] != labels.len() as u64 {
            return Some(format!(
                "{at} has {} steps, and {} have labels",
                array.shape[0],
                labels.len()
            ));
        }
        for slab in 0..array.chunk_counts[0] {
            let first = slab as usize * SLAB as usize;
            let of_slab: Vec<Option<f64>> = (first..first + SLAB as usize)
                .map(|step| labels.get(step).copied().filter(|label| !label.is_nan()))
                .collect();
            if (first + SLAB as usize) as u64 <= window.hidden() {
                continue;
            }
            for place in TILES {
                let index = [slab, place[0], place[1]];
                let bytes = session.chunk(&path(at), &index, ByteRange::All).await;
                match bytes.expect("readable") {
                    Some(bytes) if bytes == tile(number, &of_slab, place) => {}
                    None if !complete => {}
                    None => return Some(format!("{at} lacks {index:?}")),
                    Some(_) => {
                        return Some(format!("{at} has something else at {index:?}, {of_slab:?}"));
                    }
                }
            }
        }
    }
    None
}

pub(crate) async fn is_right(session: &Session) {
    assert_eq!(problem(session, true).await, None);
}

/// The labels of new elements, by their absolute indices.
pub(crate) fn labels_of(new: &std::ops::Range<i64>) -> Vec<f64> {
    new.clone().map(|step| step as f64 * STEP).collect()
}

/// Writes what came in, slab by slab.
pub(crate) async fn fill(session: &Session, new: std::ops::Range<i64>) {
    let window = Window::of(session, &NodePath::root(), "time").expect("a window");
    assert_eq!((new.end - new.start) % SLAB as i64, 0);
    for first in new.step_by(SLAB as usize) {
        let slab = window.chunk_of(first, SLAB).expect("in the window");
        fill_slab(session, slab, &labels_of(&(first..first + SLAB as i64))).await;
    }
}

/// Keys of all chunk objects.
pub(crate) async fn chunk_objects(storage: &MemoryStorage) -> BTreeSet<String> {
    let all = storage.list_all(&Prefix::default()).await.expect("listed");
    let keys = all.into_iter().map(|meta| meta.key.to_string());
    keys.filter(|key| key.starts_with("chunks/")).collect()
}
