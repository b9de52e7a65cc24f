//! Random operations against a model: a map from keys to values, with the rules of a hierarchy.

use std::collections::{BTreeMap, BTreeSet};

use icefield_core::{ChunkKeyEncoding, NodePath};
use icefield_zarr_store::{DirListing, chunk_key, metadata_key};
use proptest::prelude::*;

use super::*;

const PATHS: [&str; 6] = ["/", "/a", "/a/c", "/ab/d", "/c", "/c/1"];

const PREFIXES: [&str; 12] = [
    "", "a/", "a/c/", "a/c/c/", "a/c/c/1/", "a/c/1/", "ab/", "c/", "c/1/", "c/c/", "c/c/1/", "1/",
];

const ENCODINGS: [(ChunkKeyEncoding, &str); 4] = [
    (ChunkKeyEncoding::Default { separator: '/' }, SLASH),
    (ChunkKeyEncoding::Default { separator: '.' }, DOT),
    (ChunkKeyEncoding::V2 { separator: '/' }, V2_SLASH),
    (ChunkKeyEncoding::V2 { separator: '.' }, V2_DOT),
];

#[derive(Clone, Debug)]
enum Operation {
    SetGroup {
        path: NodePath,
        if_absent: bool,
    },
    SetArray {
        path: NodePath,
        encoding: usize,
        shape: Vec<u64>,
        if_absent: bool,
    },
    SetChunk {
        path: NodePath,
        index: Vec<u32>,
        value: Vec<u8>,
        if_absent: bool,
    },
    DeleteNode(NodePath),
    DeleteChunk {
        path: NodePath,
        index: Vec<u32>,
    },
    ErasePrefix(&'static str),
    Commit,
}

fn operations() -> impl Strategy<Value = Operation> {
    use Operation::{Commit, DeleteChunk, DeleteNode, ErasePrefix, SetArray, SetChunk, SetGroup};
    let path = || prop::sample::select(&PATHS[..]).prop_map(|text| NodePath::parse(text).unwrap());
    let index = || prop::collection::vec(0..3_u32, 0..3);
    let shape = prop::collection::vec(0..4_u64, 0..3);
    // Some short enough to be stored inline, some not.
    let value = (any::<u8>(), prop::sample::select(&[1, 3, 700][..]))
        .prop_map(|(byte, length)| vec![byte; length]);
    prop_oneof![
        1 => (path(), any::<bool>()).prop_map(|(path, if_absent)| SetGroup { path, if_absent }),
        3 => (path(), 0..4_usize, shape, any::<bool>())
            .prop_map(|(path, encoding, shape, if_absent)| SetArray { path, encoding, shape, if_absent }),
        8 => (path(), index(), value, any::<bool>())
            .prop_map(|(path, index, value, if_absent)| SetChunk { path, index, value, if_absent }),
        1 => path().prop_map(DeleteNode),
        2 => (path(), index()).prop_map(|(path, index)| DeleteChunk { path, index }),
        1 => prop::sample::select(&PREFIXES[..]).prop_map(ErasePrefix),
        2 => Just(Commit),
    ]
}

#[derive(Clone, Debug)]
struct Array {
    encoding: ChunkKeyEncoding,
    shape: Vec<u64>,
    chunks: BTreeMap<Vec<u32>, Vec<u8>>,
}

fn within(index: &[u32], shape: &[u64]) -> bool {
    index.len() == shape.len()
        && index
            .iter()
            .zip(shape)
            .all(|(at, length)| u64::from(*at) < *length)
}

/// The expected contents of a session: per node its document and, of an array, the chunks.
#[derive(Clone, Debug, Default)]
struct Model(BTreeMap<NodePath, (String, Option<Array>)>);

impl Model {
    fn values(&self) -> BTreeMap<String, Vec<u8>> {
        let mut values = BTreeMap::new();
        for (path, (document, array)) in &self.0 {
            values.insert(metadata_key(path), document.clone().into_bytes());
            if let Some(array) = array {
                for (index, value) in &array.chunks {
                    values.insert(chunk_key(path, array.encoding, index), value.clone());
                }
            }
        }
        values
    }

    /// Writes a node. `None` if it must be refused, else whether it is written.
    fn set_node(
        &mut self,
        path: &NodePath,
        document: String,
        new: Option<Array>,
        if_absent: bool,
    ) -> Option<bool> {
        if let Some((old_document, old)) = self.0.get_mut(path) {
            if if_absent {
                return Some(false);
            }
            if old.is_some() != new.is_some() {
                return None;
            }
            *old_document = document;
            if let (Some(old), Some(mut new)) = (old, new) {
                new.chunks = std::mem::take(&mut old.chunks);
                let shape = &new.shape;
                new.chunks.retain(|index, _| within(index, shape));
                *old = new;
            }
            return Some(true);
        }
        let below_an_array = path
            .ancestors()
            .any(|above| self.0.get(&above).is_some_and(|(_, array)| array.is_some()));
        let above_a_node = self.0.keys().any(|other| path.is_ancestor_of(other));
        if below_an_array || (new.is_some() && above_a_node) {
            return None;
        }
        self.0.insert(path.clone(), (document, new));
        Some(true)
    }

    fn erase(&mut self, gone: impl Fn(&str) -> bool) {
        self.0.retain(|path, _| !gone(&metadata_key(path)));
        for (path, (_, array)) in &mut self.0 {
            if let Some(array) = array {
                let encoding = array.encoding;
                array
                    .chunks
                    .retain(|index, _| !gone(&chunk_key(path, encoding, index)));
            }
        }
    }

    /// A key that a chunk of the node at `path` might have.
    fn some_key(&self, path: &NodePath, index: &[u32]) -> String {
        let array = self.0.get(path).and_then(|(_, array)| array.as_ref());
        chunk_key(
            path,
            array.map_or(ChunkKeyEncoding::COMMON, |array| array.encoding),
            index,
        )
    }

    /// Finds the chunk that has a key, by spelling the keys of all chunks there can be.
    fn find(&mut self, key: &str) -> Option<(&mut Array, Vec<u32>)> {
        let mut arrays = self
            .0
            .iter_mut()
            .filter_map(|(path, (_, array))| Some((path, array.as_mut()?)));
        arrays.find_map(|(path, array)| {
            let mut grid = vec![vec![]];
            for length in &array.shape {
                grid = grid
                    .iter()
                    .flat_map(|index| (0..*length as u32).map(|at| [&index[..], &[at]].concat()))
                    .collect();
            }
            let index = grid
                .into_iter()
                .find(|index| chunk_key(path, array.encoding, index) == key)?;
            Some((array, index))
        })
    }
}

async fn set(store: &ZarrStore, key: &str, value: Vec<u8>, if_absent: bool) -> Option<bool> {
    match if_absent {
        true => store.set_if_not_exists(key, value.into()).await.ok(),
        false => store.set(key, value.into()).await.ok().map(|()| true),
    }
}

/// Does an operation to both; returns the store to go on with.
async fn apply(
    operation: Operation,
    repository: &Repository,
    store: ZarrStore,
    model: &mut Model,
) -> ZarrStore {
    match operation {
        Operation::SetGroup { path, if_absent } => {
            let expected = model.set_node(&path, GROUP.to_owned(), None, if_absent);
            let found = set(&store, &metadata_key(&path), GROUP.into(), if_absent).await;
            assert_eq!(found, expected);
        }
        Operation::SetArray {
            path,
            encoding,
            shape,
            if_absent,
        } => {
            let (encoding, name) = ENCODINGS[encoding];
            let document = array(&shape, name);
            let new = Array {
                encoding,
                shape,
                chunks: BTreeMap::new(),
            };
            let expected = model.set_node(&path, document.clone(), Some(new), if_absent);
            let found = set(&store, &metadata_key(&path), document.into(), if_absent).await;
            assert_eq!(found, expected);
        }
        Operation::SetChunk {
            path,
            index,
            value,
            if_absent,
        } => {
            let key = model.some_key(&path, &index);
            let expected = model.find(&key).map(|(array, index)| {
                let written = !if_absent || !array.chunks.contains_key(&index);
                if written {
                    array.chunks.insert(index, value.clone());
                }
                written
            });
            assert_eq!(set(&store, &key, value, if_absent).await, expected, "{key}");
        }
        Operation::DeleteNode(path) => {
            let key = metadata_key(&path);
            let below = key.trim_end_matches("zarr.json");
            if model.0.contains_key(&path) {
                model.erase(|key| key.starts_with(below));
            }
            store.delete(&key).await.unwrap();
        }
        Operation::DeleteChunk { path, index } => {
            let key = model.some_key(&path, &index);
            model.erase(|other| other == key);
            store.delete(&key).await.unwrap();
        }
        Operation::ErasePrefix(prefix) => {
            model.erase(|key| key.starts_with(prefix));
            store.erase_prefix(prefix).await.unwrap();
        }
        Operation::Commit => {
            if store.session().has_changes().unwrap() {
                committed(&store).await;
                return writable(repository).await;
            }
        }
    }
    store
}

/// Checks which values a store has.
async fn check_values(store: &ZarrStore, values: &BTreeMap<String, Vec<u8>>) {
    assert_eq!(
        all_keys(store).await,
        values.keys().cloned().collect::<Vec<_>>()
    );
    for (key, value) in values {
        assert_eq!(
            store.get(key).await.unwrap().as_deref(),
            Some(&value[..]),
            "{key}"
        );
        assert_eq!(
            store.size(key).await.unwrap(),
            Some(value.len() as u64),
            "{key}"
        );
    }
}

/// Checks everything that can be asked of a store against the values that it should hold.
pub(super) async fn check(store: &ZarrStore, values: &BTreeMap<String, Vec<u8>>) {
    check_values(store, values).await;
    let mut prefixes: BTreeSet<String> = PREFIXES.map(str::to_owned).into();
    prefixes.insert("nothing/".to_owned());
    for key in values.keys() {
        prefixes.extend(key.match_indices('/').map(|(at, _)| key[..=at].to_owned()));
    }
    for prefix in prefixes {
        let below: Vec<&String> = values
            .keys()
            .filter(|key| key.starts_with(&prefix))
            .collect();
        assert_eq!(
            keys_below(store, &prefix).await.iter().collect::<Vec<_>>(),
            below,
            "{prefix}"
        );
        assert_eq!(
            store.is_empty(&prefix).await.unwrap(),
            below.is_empty(),
            "{prefix}"
        );
        let mut direct = DirListing::default();
        let mut size = 0;
        for key in below {
            let rest = &key[prefix.len()..];
            match rest.find('/') {
                None => direct.keys.push(key.clone()),
                Some(at) => direct.prefixes.push(format!("{prefix}{}", &rest[..=at])),
            }
            size += values[key].len() as u64;
        }
        direct.prefixes.dedup();
        assert_eq!(store.list_dir(&prefix).await.unwrap(), direct, "{prefix}");
        assert_eq!(store.size_prefix(&prefix).await.unwrap(), size, "{prefix}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_is_the_map_that_the_operations_make(
        operations in prop::collection::vec(operations(), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let repository = repository().await;
            let mut store = writable(&repository).await;
            let mut model = Model::default();
            for operation in operations {
                store = apply(operation, &repository, store, &mut model).await;
                check_values(&store, &model.values()).await;
            }
            check(&store, &model.values()).await;
        });
    }
}
