//! Repositories: what is at a store, and its objects by id.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::TryStreamExt;
use icefield_storage::{GetOptions, GetRange, Key, ListOptions, Storage, StorageError, StorageExt};

use crate::body::MAX_OBJECT;
use crate::layout::{ObjectKind, keys};
use crate::{AlphaError, AlphaId, Layout, Manifest, Payload, Rule, Snapshot};

/// Files below the directory of `main` that are looked at, to tell whether it is a branch of this generation.
const LOOKED_AT: usize = 100;

/// A repository of the alpha generation, for reading.
#[derive(Debug)]
pub struct AlphaRepository {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) layout: Layout,
    /// Whether the last snapshot, manifest and chunk that were found had the suffix.
    suffixed: [AtomicBool; 3],
    /// The files of initial snapshots, by the ids inside.
    pub(crate) initial: Mutex<BTreeMap<AlphaId, AlphaId>>,
}

impl AlphaRepository {
    /// Returns the layout of the repository of this generation at a store, if there is one: it has numbered files of a
    /// branch `main`. Costs two short lists.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn detect(storage: &dyn Storage) -> Result<Option<Layout>, AlphaError> {
        for layout in Layout::ALL {
            let directory = layout.main()?;
            let options = ListOptions::prefix(directory.clone()).without_versions();
            let mut files = storage.list_objects(options);
            for _ in 0..LOOKED_AT {
                let Some(meta) = files.try_next().await? else {
                    break;
                };
                let name = meta.key.below(&directory);
                if name.and_then(|name| layout.number(name)).is_some() {
                    return Ok(Some(layout));
                }
            }
        }
        Ok(None)
    }

    /// Opens the repository at a store.
    ///
    /// # Errors
    /// [`AlphaError::NotFound`], and the errors of the store.
    pub async fn open(storage: Arc<dyn Storage>) -> Result<Self, AlphaError> {
        match Self::detect(&*storage).await? {
            Some(layout) => Ok(Self {
                storage,
                layout,
                suffixed: std::array::from_fn(|_| AtomicBool::new(layout == Layout::Code)),
                initial: Mutex::default(),
            }),
            None => Err(AlphaError::NotFound {
                location: storage.to_string(),
            }),
        }
    }

    /// Returns the layout of its objects.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Reads a snapshot by the name of its file. `needed_by` is named in errors: the object that refers to it.
    ///
    /// # Errors
    /// [`AlphaError::Missing`], [`AlphaError::Damaged`], [`AlphaError::Unsupported`], and the errors of the store.
    pub async fn snapshot(&self, id: AlphaId, needed_by: &str) -> Result<Snapshot, AlphaError> {
        let (key, bytes) = self.object(ObjectKind::Snapshot, id, needed_by).await?;
        Snapshot::decode(&bytes, self.layout, id, key.as_str())
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// As [`AlphaRepository::snapshot`].
    pub async fn manifest(&self, id: AlphaId, needed_by: &str) -> Result<Manifest, AlphaError> {
        let (key, bytes) = self.object(ObjectKind::Manifest, id, needed_by).await?;
        Manifest::decode(&bytes, self.layout, key.as_str())
    }

    /// Returns the key under which a snapshot or manifest was or should be found, for messages.
    pub(crate) fn name_of(&self, kind: ObjectKind, id: AlphaId) -> Result<String, AlphaError> {
        let [first, _] = keys(kind, id, self.suffixed(kind))?;
        Ok(first.to_string())
    }

    /// Reads the bytes of a chunk; `None` for one that lies outside the repository.
    ///
    /// # Errors
    /// [`AlphaError::Missing`]; [`Rule::ChunkTooShort`]; the errors of the store.
    pub async fn chunk(
        &self,
        payload: &Payload,
        needed_by: &str,
    ) -> Result<Option<Bytes>, AlphaError> {
        let (id, offset, length) = match payload {
            Payload::Inline(bytes) => return Ok(Some(bytes.clone())),
            Payload::Virtual { .. } => return Ok(None),
            Payload::Native { id, offset, length } => (*id, *offset, *length),
        };
        let end = offset.saturating_add(length);
        let found = self
            .either(ObjectKind::Chunk, id, needed_by, Some(offset..end))
            .await;
        match found {
            Ok((_, bytes)) => Ok(Some(bytes)),
            Err(AlphaError::Storage(StorageError::RangeNotSatisfiable { key, size, .. })) => {
                Err(AlphaError::damaged(key, Rule::ChunkTooShort { size, end }))
            }
            Err(error) => Err(error),
        }
    }

    async fn object(
        &self,
        kind: ObjectKind,
        id: AlphaId,
        needed_by: &str,
    ) -> Result<(Key, Bytes), AlphaError> {
        self.either(kind, id, needed_by, None).await
    }

    /// Reads an object with or without the suffix. Code of two weeks apart wrote chunks with it and without it.
    async fn either(
        &self,
        kind: ObjectKind,
        id: AlphaId,
        needed_by: &str,
        range: Option<Range<u64>>,
    ) -> Result<(Key, Bytes), AlphaError> {
        let suffixed = self.suffixed(kind);
        let [first, second] = keys(kind, id, suffixed)?;
        match self.read(&first, range.clone()).await {
            Ok(bytes) => return Ok((first, bytes)),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
        match self.read(&second, range).await {
            Ok(bytes) => {
                self.suffixed[kind as usize].store(!suffixed, Ordering::Relaxed);
                Ok((second, bytes))
            }
            Err(error) if error.is_not_found() => Err(AlphaError::Missing {
                key: first.to_string(),
                needed_by: needed_by.to_owned(),
            }),
            Err(error) => Err(error.into()),
        }
    }

    async fn read(&self, key: &Key, range: Option<Range<u64>>) -> Result<Bytes, StorageError> {
        match range {
            None => Ok(self.storage.read_at_most(key, MAX_OBJECT).await?.0),
            Some(range) => {
                let options = GetOptions::from(GetRange::Bounded(range));
                self.storage.get(key, options).await?.bytes().await
            }
        }
    }

    fn suffixed(&self, kind: ObjectKind) -> bool {
        self.suffixed[kind as usize].load(Ordering::Relaxed)
    }
}
