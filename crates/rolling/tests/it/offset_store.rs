//! The scheme that came before: plain objects, and an attribute `_offset` that says where the window begins. It is here to
//! show that the readers of these tests see its failures.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::world::{ARRAYS, SLAB, STEP, TILES, tile};

#[derive(Clone, Debug, Default)]
struct StoreState {
    /// By array, stored slab and tile.
    objects: BTreeMap<(usize, i64, [u32; 2]), Vec<u8>>,
    /// By array, in chunks.
    offsets: BTreeMap<usize, i64>,
    labels: Vec<f64>,
}

/// Objects that each writer changes as it likes.
#[derive(Clone, Debug, Default)]
pub(crate) struct OffsetStore(Arc<Mutex<StoreState>>);

/// A reader that looked up the offset of each array once, as it is cached by default.
pub(crate) struct Reader {
    store: OffsetStore,
    offsets: BTreeMap<usize, i64>,
    labels: Vec<f64>,
}

impl OffsetStore {
    pub(crate) fn new(slabs: i64) -> Self {
        let store = Self::default();
        for slab in 0..slabs {
            store.write_slab(slab);
        }
        for array in 0..ARRAYS.len() {
            store.set_offset(array, 0);
        }
        store.set_labels(0, slabs);
        store
    }

    fn state(&self) -> std::sync::MutexGuard<'_, StoreState> {
        self.0.lock().expect("not poisoned")
    }

    fn labels(first_slab: i64, slabs: i64) -> Vec<f64> {
        let steps = first_slab * SLAB as i64..(first_slab + slabs) * SLAB as i64;
        steps.map(|step| step as f64 * STEP).collect()
    }

    pub(crate) fn write_slab(&self, slab: i64) {
        let labels: Vec<_> = Self::labels(slab, 1).into_iter().map(Some).collect();
        for array in 0..ARRAYS.len() {
            for at in TILES {
                let bytes = tile(array, &labels, at);
                self.state().objects.insert((array, slab, at), bytes);
            }
        }
    }

    pub(crate) fn delete_slab(&self, slab: i64) {
        self.state()
            .objects
            .retain(|(_, stored, _), _| *stored != slab);
    }

    pub(crate) fn set_offset(&self, array: usize, offset: i64) {
        self.state().offsets.insert(array, offset);
    }

    pub(crate) fn offset(&self, array: usize) -> i64 {
        self.state().offsets[&array]
    }

    pub(crate) fn set_labels(&self, first_slab: i64, slabs: i64) {
        self.state().labels = Self::labels(first_slab, slabs);
    }

    /// A chunk as a reader without the translation gets it.
    pub(crate) fn plain(&self, array: usize, slab: i64, at: [u32; 2]) -> Option<Vec<u8>> {
        self.state().objects.get(&(array, slab, at)).cloned()
    }

    pub(crate) fn open(&self) -> Reader {
        let state = self.state().clone();
        Reader {
            store: self.clone(),
            offsets: state.offsets,
            labels: state.labels,
        }
    }
}

impl Reader {
    /// The problem of what this reader sees. A missing object reads as the fill value, without an error.
    pub(crate) fn problem(&self) -> Option<String> {
        let slabs = self.labels.len() / SLAB as usize;
        for (array, name) in ARRAYS.iter().enumerate() {
            for slab in 0..slabs {
                let first = slab * SLAB as usize;
                let labels: Vec<_> = self.labels[first..first + SLAB as usize]
                    .iter()
                    .copied()
                    .map(Some)
                    .collect();
                for at in TILES {
                    let expected = tile(array, &labels, at);
                    let stored = slab as i64 + self.offsets[&array];
                    let found = self
                        .store
                        .plain(array, stored, at)
                        .unwrap_or_else(|| vec![0; expected.len()]);
                    if found.iter().all(|byte| *byte == 0) {
                        return Some(format!("missing: {name}, slab {slab}"));
                    }
                    if found != expected {
                        return Some(format!("mislabelled: {name}, slab {slab}"));
                    }
                }
            }
        }
        None
    }
}
