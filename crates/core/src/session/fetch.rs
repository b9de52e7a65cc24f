//! The bytes of a chunk in some object: what is asked for, and what an error means.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use icefield_format::{ByteRange, ChunkId, ChunkIndex, NodePath, layout};
use icefield_storage::{Condition, GetOptions, GetRange, Key, Storage, StorageError};

use super::Session;
use super::chunk_reference::{ChunkReference, ForeignObject};
use crate::virtual_chunks::VirtualTarget;
use crate::{SessionError, VirtualChunkError};

/// The chunk that something is about, for messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkName<'a> {
    pub(super) path: &'a NodePath,
    pub(super) index: &'a [u32],
}

impl ChunkName<'_> {
    fn index(&self) -> ChunkIndex {
        self.index.to_vec().into()
    }

    fn path(&self) -> NodePath {
        self.path.clone()
    }

    pub(super) fn unreadable(&self, location: &str, source: VirtualChunkError) -> SessionError {
        SessionError::VirtualChunk {
            path: self.path(),
            index: self.index(),
            location: location.escape_debug().to_string(),
            source: Box::new(source),
        }
    }
}

/// The object that a chunk lies in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ObjectName {
    Native(ChunkId),
    Foreign(ForeignObject),
}

/// The next step for a chunk whose reference is known.
pub(super) enum Step {
    /// Nothing.
    Done(Bytes),
    /// To fetch bytes of an object.
    Fetch(Span),
}

/// Wanted bytes of an object.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) object: ObjectName,
    /// The chunk within its object.
    pub(super) chunk: Range<u64>,
    /// The wanted bytes within the object.
    pub(super) wanted: Range<u64>,
}

/// Says which bytes of which object are wanted.
pub(super) fn step(
    name: ChunkName<'_>,
    located: ChunkReference,
    range: ByteRange,
) -> Result<Step, SessionError> {
    let length = located.length();
    let within = range
        .resolve(length)
        .ok_or_else(|| SessionError::RangeOutOfChunk {
            path: name.path(),
            index: name.index(),
            range: format!("{range:?}"),
            length,
        })?;
    let (object, offset) = match located {
        ChunkReference::Inline(bytes) | ChunkReference::Unwritten { bytes, .. } => {
            let range = within.start as usize..within.end as usize;
            return Ok(Step::Done(bytes.slice(range)));
        }
        ChunkReference::Native { id, offset, .. } => (ObjectName::Native(id), offset),
        ChunkReference::Virtual { object, offset, .. } => (ObjectName::Foreign(object), offset),
    };
    // The manifest's checks have shown that offset + length does not overflow.
    Ok(Step::Fetch(Span {
        object,
        chunk: offset..offset + length,
        wanted: offset + within.start..offset + within.end,
    }))
}

/// An object that can be read.
#[derive(Clone, Debug)]
pub(super) struct Source {
    storage: Arc<dyn Storage>,
    pub(super) key: Key,
    /// Its location, and what tells that it is still the same, if it is foreign.
    foreign: Option<ForeignObject>,
}

impl Source {
    pub(super) fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    /// Reads a range, all of it.
    pub(super) async fn read(&self, range: Range<u64>) -> Result<Bytes, StorageError> {
        let object = self.storage.get(&self.key, self.options(range)).await?;
        object.bytes().await
    }

    pub(super) fn options(&self, range: Range<u64>) -> GetOptions {
        let mut options = GetOptions::range(GetRange::Bounded(range));
        let Some(foreign) = &self.foreign else {
            return options;
        };
        if let Some(tag) = &foreign.etag {
            options = options.with_if_match(Condition::ETag(tag.clone()));
        }
        if let Some(seconds) = foreign.last_modified.filter(|seconds| *seconds > 0) {
            // Recorded in whole seconds: any time within that second is the same.
            let end = Duration::from_secs(u64::from(seconds)) + Duration::from_nanos(999_999_999);
            options = options.with_if_unmodified_since(UNIX_EPOCH + end);
        }
        options
    }

    /// Says what an error means for a chunk.
    pub(super) fn explain(
        &self,
        name: ChunkName<'_>,
        chunk: &Range<u64>,
        error: StorageError,
    ) -> SessionError {
        if let Some(foreign) = &self.foreign {
            let problem = match error {
                StorageError::NotFound { .. } => VirtualChunkError::Missing,
                StorageError::PreconditionFailed { .. } => VirtualChunkError::Changed,
                StorageError::RangeNotSatisfiable { .. } | StorageError::WrongLength { .. } => {
                    VirtualChunkError::Truncated { end: chunk.end }
                }
                error => VirtualChunkError::Storage(error),
            };
            return name.unreadable(&foreign.location, problem);
        }
        match error {
            StorageError::NotFound { key } => SessionError::ChunkMissing {
                path: name.path(),
                index: name.index(),
                key,
            },
            StorageError::RangeNotSatisfiable { key, .. }
            | StorageError::WrongLength { key, .. } => SessionError::ChunkTruncated {
                path: name.path(),
                index: name.index(),
                key,
                offset: chunk.start,
                end: chunk.end,
            },
            other => other.into(),
        }
    }
}

impl Session {
    /// Finds the object; a foreign one only if it may be read.
    pub(super) async fn source(
        &self,
        name: ChunkName<'_>,
        object: ObjectName,
    ) -> Result<Source, SessionError> {
        let foreign = match object {
            ObjectName::Native(id) => return self.native(id),
            ObjectName::Foreign(foreign) => foreign,
        };
        let shared = self.shared();
        let in_force = shared.configs.in_force();
        let stores = &shared.virtual_stores;
        let target = stores.find(&in_force.containers, &foreign.location).await;
        let VirtualTarget { storage, key } =
            target.map_err(|error| name.unreadable(&foreign.location, error))?;
        Ok(Source {
            storage,
            key,
            foreign: Some(foreign),
        })
    }

    pub(super) fn native(&self, id: ChunkId) -> Result<Source, SessionError> {
        Ok(Source {
            storage: Arc::clone(&self.shared().storage),
            key: Key::parse(&layout::chunk_key(id)).map_err(StorageError::from)?,
            foreign: None,
        })
    }
}
