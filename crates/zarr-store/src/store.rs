//! The store: values by key. Listing and erasing by prefix are in the modules below.

mod erase;
pub(crate) mod list;
mod sorted_chunks;

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_core::{ByteRange, ChunkRead, Session, SessionError, WriteMode};
use tokio::runtime::Handle;

use crate::ZarrStoreError;
use crate::key::ZarrKey;

/// Values read at once by one call, unless the caller sets another number.
const CONCURRENCY: usize = 16;

/// A session as a Zarr v3 store. A cheap handle: clones see the same session.
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::{BranchName, Repository};
/// use icefield_zarr_store::ZarrStore;
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
/// let store = ZarrStore::new(repository.write_session(BranchName::main()).await?);
/// store.set("a/zarr.json", r#"{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int8",
///     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
///     "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}"#.into()).await?;
/// store.set("a/c/1", vec![7, 8].into()).await?;
///
/// assert_eq!(store.get("a/c/1").await?.as_deref(), Some(&[7, 8][..]));
/// assert_eq!(store.get("a/c/0").await?, None);
/// assert_eq!(store.list_dir("a/").await?.prefixes, ["a/c/"]);
/// # Ok(())
/// # }
/// ```
///
/// # Reads
/// A key that names nothing is absent. Values are those of the session at the moment of the read: its base snapshot
/// with its uncommitted edits on top.
///
/// # Writes
/// Values are kept byte for byte, but must be what their key says: the `zarr.json` of a group or array, or a chunk, at
/// least one byte long, inside the grid of an array that exists. Consolidated metadata inside a `zarr.json` is kept as
/// it came and never updated or used. Each write is atomic on its own; the commit of the session ties them together. A
/// session that takes no writes refuses them all, also the erasing of absent keys.
#[derive(Clone, Debug)]
pub struct ZarrStore {
    session: Session,
    pub(crate) runtime: Option<Handle>,
    concurrency: usize,
}

impl ZarrStore {
    /// Returns the Zarr view of a session.
    pub fn new(session: Session) -> Self {
        Self {
            session,
            runtime: None,
            concurrency: CONCURRENCY,
        }
    }

    /// Sets the number of values that one call reads at the same time; default 16, at least 1.
    #[must_use]
    pub fn with_concurrency(mut self, values: usize) -> Self {
        self.concurrency = values.max(1);
        self
    }

    /// Returns the session, for instance to commit it.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns whether the session will never take writes again.
    pub fn is_read_only(&self) -> bool {
        self.session.is_read_only()
    }

    /// Returns the value of a key; `None` if it is absent.
    ///
    /// # Errors
    /// [`ZarrStoreError::InvalidKey`]; [`ZarrStoreError::Session`] for a value that exists and cannot be read.
    pub async fn get(&self, key: &str) -> Result<Option<Bytes>, ZarrStoreError> {
        self.get_range(key, ByteRange::All).await
    }

    /// Returns a range of the value of a key; `None` if the key is absent.
    ///
    /// The range must lie within the value: a start at its end gives no bytes, one behind it is an error, as is a
    /// suffix longer than the value. [`ZarrStore::get_range_clamped`] cuts instead.
    ///
    /// # Errors
    /// As [`ZarrStore::get`], and [`ZarrStoreError::RangeOutOfValue`].
    pub async fn get_range(
        &self,
        key: &str,
        range: ByteRange,
    ) -> Result<Option<Bytes>, ZarrStoreError> {
        let named = self.parse(key)?;
        self.read(key, &named, range).await
    }

    /// Returns those bytes of a range that exist, `None` if the key is absent: `8..50` of ten bytes gives two, a
    /// range behind the end none, and a suffix longer than the value all of it, as zarr-python has it.
    ///
    /// # Errors
    /// As [`ZarrStore::get`]; [`ZarrStoreError::RangeOutOfValue`] only for a range that ends before it starts.
    pub async fn get_range_clamped(
        &self,
        key: &str,
        range: ByteRange,
    ) -> Result<Option<Bytes>, ZarrStoreError> {
        let outside = match self.get_range(key, range).await {
            Err(error @ ZarrStoreError::RangeOutOfValue { .. }) => error,
            result => return result,
        };
        let (wider, longest) = match range {
            ByteRange::Range { start, end } if start <= end => {
                (ByteRange::From { offset: start }, end - start)
            }
            ByteRange::From { .. } => (range, u64::MAX),
            ByteRange::Suffix { .. } => (ByteRange::All, u64::MAX),
            ByteRange::Range { .. } | ByteRange::All => return Err(outside),
        };
        match self.get_range(key, wider).await {
            Err(ZarrStoreError::RangeOutOfValue { .. }) => Ok(Some(Bytes::new())),
            // Cut again: the value may have been replaced by a longer one in between.
            Ok(value) => Ok(value.map(|value| shorten(value, range, longest))),
            error => error,
        }
    }

    /// Returns several ranges of one value, in their order; `None` if the key is absent.
    ///
    /// # Errors
    /// As [`ZarrStore::get_range`], for the first range that fails.
    pub async fn get_ranges(
        &self,
        key: &str,
        ranges: &[ByteRange],
    ) -> Result<Option<Vec<Bytes>>, ZarrStoreError> {
        let named = self.parse(key)?;
        if ranges.is_empty() {
            return Ok(self.size_of(&named).await?.map(|_| Vec::new()));
        }
        let reads = ranges.iter().map(|range| self.read(key, &named, *range));
        // Collected first: a closure that borrows from its caller makes the whole future not `Send`.
        let reads: Vec<_> = reads.collect();
        let values: Vec<Option<Bytes>> = stream::iter(reads)
            .buffered(self.concurrency)
            .try_collect()
            .await?;
        Ok(values.into_iter().collect())
    }

    /// Returns the values, or ranges of them, of several keys: in their order, `None` in the place of each
    /// absent key. A key may come several times. Chunks that lie near each other in one object are fetched together; at
    /// most [`ZarrStore::with_concurrency`] requests are in flight.
    ///
    /// # Errors
    /// As [`ZarrStore::get_range`], for the first request that fails.
    pub async fn get_partial_values<K: AsRef<str>>(
        &self,
        requests: &[(K, ByteRange)],
    ) -> Result<Vec<Option<Bytes>>, ZarrStoreError> {
        let mut values = vec![None; requests.len()];
        let (mut chunks, mut places) = (Vec::new(), Vec::new());
        for (place, (key, range)) in requests.iter().enumerate() {
            let (key, range) = (key.as_ref(), *range);
            match self.parse(key)? {
                ZarrKey::Chunk { array, index } => {
                    places.push(place);
                    chunks.push(ChunkRead {
                        path: array,
                        index,
                        range,
                    });
                }
                other => values[place] = self.read_document(key, &other, range)?,
            }
        }
        let limits = self.session.read_settings();
        let limits = limits.with_requests(self.concurrency);
        let mut found = self.session.get_many_within(chunks.clone(), limits);
        loop {
            match found.try_next().await {
                Ok(None) => return Ok(values),
                Ok(Some((at, bytes))) => values[places[at]] = bytes,
                Err(SessionError::RangeOutOfChunk {
                    path,
                    index,
                    length,
                    ..
                }) => {
                    let outside = |it: &&ChunkRead| {
                        it.path == path && it.index == index && it.range.resolve(length).is_none()
                    };
                    let at = chunks.iter().position(|it| outside(&it)).unwrap_or(0);
                    let (key, range) = &requests[places[at]];
                    return Err(ZarrStoreError::RangeOutOfValue {
                        key: key.as_ref().to_owned(),
                        range: *range,
                        length,
                    });
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns whether a key has a value. Reads no chunk bytes.
    ///
    /// # Errors
    /// [`ZarrStoreError::InvalidKey`]; [`ZarrStoreError::Session`] if a manifest cannot be read.
    pub async fn exists(&self, key: &str) -> Result<bool, ZarrStoreError> {
        Ok(self.size(key).await?.is_some())
    }

    /// Returns the length of a value in bytes; `None` if the key is absent. Reads no chunk bytes.
    ///
    /// # Errors
    /// As [`ZarrStore::exists`].
    pub async fn size(&self, key: &str) -> Result<Option<u64>, ZarrStoreError> {
        let named = self.parse(key)?;
        self.size_of(&named).await
    }

    /// Stores a value, in place of the one that the key has, if any. It is visible to reads of this session at once,
    /// and to other sessions after the commit.
    ///
    /// # Errors
    /// - [`ZarrStoreError::InvalidKey`]: the text is no key.
    /// - [`ZarrStoreError::NothingNamed`], [`ZarrStoreError::V2Metadata`]: a session holds no such values. Metadata
    ///   comes before chunks: a chunk needs its array.
    /// - [`ZarrStoreError::Session`]: the session takes no writes, or not this value: a document that is no metadata, a
    ///   chunk that is empty or outside the grid, a group in the place of an array.
    pub async fn set(&self, key: &str, value: Bytes) -> Result<(), ZarrStoreError> {
        self.write(key, value, WriteMode::Overwrite).await?;
        Ok(())
    }

    /// Stores a value unless the key has one. Returns whether it stored: of several such calls at the same time, one
    /// does.
    ///
    /// # Errors
    /// As [`ZarrStore::set`].
    pub async fn set_if_not_exists(&self, key: &str, value: Bytes) -> Result<bool, ZarrStoreError> {
        self.write(key, value, WriteMode::IfAbsent).await
    }

    pub(crate) fn parse(&self, key: &str) -> Result<ZarrKey, ZarrStoreError> {
        ZarrKey::parse(key, &self.session)
    }

    async fn read(
        &self,
        key: &str,
        named: &ZarrKey,
        range: ByteRange,
    ) -> Result<Option<Bytes>, ZarrStoreError> {
        match named {
            ZarrKey::Chunk { array, index } => self
                .session
                .chunk(array, index, range)
                .await
                .map_err(|error| explain(key, range, error)),
            _ => self.read_document(key, named, range),
        }
    }

    /// Reads what is not a chunk.
    pub(crate) fn read_document(
        &self,
        key: &str,
        named: &ZarrKey,
        range: ByteRange,
    ) -> Result<Option<Bytes>, ZarrStoreError> {
        let ZarrKey::Metadata(path) = named else {
            return Ok(None);
        };
        let Some(document) = self.session.metadata(path)? else {
            return Ok(None);
        };
        let length = document.len() as u64;
        match range.resolve(length) {
            Some(range) => Ok(Some(
                document.slice(range.start as usize..range.end as usize),
            )),
            None => Err(ZarrStoreError::RangeOutOfValue {
                key: key.to_owned(),
                range,
                length,
            }),
        }
    }

    async fn size_of(&self, named: &ZarrKey) -> Result<Option<u64>, ZarrStoreError> {
        Ok(match named {
            ZarrKey::Metadata(path) => self
                .session
                .metadata(path)?
                .map(|document| document.len() as u64),
            ZarrKey::Chunk { array, index } => self
                .session
                .chunk_location(array, index)
                .await?
                .map(|location| location.length()),
            ZarrKey::V2Metadata | ZarrKey::Nothing(_) => None,
        })
    }

    async fn write(
        &self,
        key: &str,
        value: Bytes,
        mode: WriteMode,
    ) -> Result<bool, ZarrStoreError> {
        let written = match self.parse(key)? {
            ZarrKey::Metadata(path) => self.session.set_metadata(&path, value, mode).await?,
            ZarrKey::Chunk { array, index } => {
                self.session.set_chunk(&array, &index, value, mode).await?
            }
            ZarrKey::V2Metadata => {
                let key = key.to_owned();
                return Err(ZarrStoreError::V2Metadata { key });
            }
            ZarrKey::Nothing(source) => {
                let key = key.to_owned();
                return Err(ZarrStoreError::NothingNamed { key, source });
            }
        };
        Ok(written)
    }
}

/// Names the key where the session names the chunk.
pub(crate) fn explain(key: &str, range: ByteRange, error: SessionError) -> ZarrStoreError {
    match error {
        SessionError::RangeOutOfChunk { length, .. } => ZarrStoreError::RangeOutOfValue {
            key: key.to_owned(),
            range,
            length,
        },
        error => error.into(),
    }
}

/// Cuts what was read for a range that was too long to what the range asked for.
fn shorten(value: Bytes, range: ByteRange, longest: u64) -> Bytes {
    let at_most =
        |length: u64| usize::try_from(length).map_or(value.len(), |it| it.min(value.len()));
    match range {
        ByteRange::Suffix { length } => value.slice(value.len() - at_most(length)..),
        _ => value.slice(..at_most(longest)),
    }
}
