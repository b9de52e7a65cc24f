//! Reads of typed objects: from memory, or from the store once however many callers ask.

use std::sync::Arc;

use icefield_format::{
    DecodeLimits, FormatError, Manifest, ManifestId, Snapshot, SnapshotId, TransactionLog, layout,
};
use icefield_refs::FetchError;
use icefield_storage::{Body, Bytes, GetOptions, Key, Object, StorageError, StorageExt};
use tracing::Instrument;

use super::cached::{Objects, parse_key};
use super::decoded::{
    CachedKind, Decode, Decoded, Name, decode_log, decode_manifest, decode_snapshot,
};

/// A manifest that was read, and maybe not decoded.
#[derive(Clone, Debug)]
pub(crate) enum OpenManifest {
    Held(Arc<Manifest>),
    File(ManifestId, Bytes, DecodeLimits),
}

impl OpenManifest {
    /// Bytes of references that it has, about.
    pub(crate) fn work(&self) -> usize {
        match self {
            Self::Held(manifest) => manifest.body_len(),
            // Ids do not compress, all else does.
            Self::File(_, file, _) => 4 * file.len(),
        }
    }

    pub(crate) fn decode(self) -> Result<Arc<Manifest>, FormatError> {
        match self {
            Self::Held(manifest) => Ok(manifest),
            Self::File(id, file, limits) => Manifest::decode(&file, id, &limits).map(Arc::new),
        }
    }
}

impl Objects {
    /// Returns an object from memory, else from the store.
    async fn load(&self, name: Name, decode: Decode) -> Result<Decoded, FetchError> {
        // Most often it is there, and then neither its key nor a future is worth making.
        let found = match self.cache.get(&name) {
            Some(found) => found,
            None => self.fetch(name, decode).await?,
        };
        match found {
            Decoded::File(file) => self.decode_held(name, &file, decode),
            decoded => Ok(decoded),
        }
    }

    /// Reads an object that is not in memory, once however many callers ask.
    async fn fetch(&self, name: Name, decode: Decode) -> Result<Decoded, FetchError> {
        let Name { kind, id, .. } = name;
        let fetched = self.cache.get_or_insert_async(&name, async {
            let (key, text) = kind.key(id);
            let key = parse_key(&key).map_err(|source| storage_error(kind, &text, source))?;
            let span = tracing::debug_span!("cache.miss", %key, bytes = tracing::field::Empty);
            let load = async {
                let read = self.read(&key).await;
                if let Ok(bytes) = &read {
                    tracing::Span::current().record("bytes", bytes.len());
                }
                self.decode(kind, id, text, key.clone(), read, decode)
            };
            load.instrument(span).await
        });
        fetched.await
    }

    /// Decodes a file that is in memory, once.
    fn decode_held(&self, name: Name, file: &[u8], decode: Decode) -> Result<Decoded, FetchError> {
        let decoded = decode(file, name.id, &self.settings)?;
        self.cache.insert(name, decoded.clone());
        Ok(decoded)
    }

    fn decode(
        &self,
        kind: CachedKind,
        id: [u8; 12],
        text: String,
        key: Key,
        read: Result<Bytes, StorageError>,
        decode: Decode,
    ) -> Result<Decoded, FetchError> {
        let file = file_or_why(kind, id, text, key, read)?;
        Ok(decode(&file, id, &self.settings)?)
    }

    /// Options of a read of a whole file, which no more is read of than the limits let be decoded.
    fn whole(&self) -> GetOptions {
        GetOptions::default().with_max_size(self.settings.decode_limits.max_file())
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StorageError> {
        let limit = self.settings.decode_limits.max_file();
        let read = self.storage.read_at_most(key, limit).await;
        read.map(|(bytes, _)| bytes)
    }

    pub(crate) async fn snapshot(&self, id: SnapshotId) -> Result<Arc<Snapshot>, FetchError> {
        let name = Name::new(CachedKind::Snapshot, *id.as_bytes());
        match self.load(name, decode_snapshot).await? {
            Decoded::Snapshot(snapshot) => Ok(snapshot),
            _ => unreachable!("BUG: the cache key names the kind"),
        }
    }

    pub(crate) async fn manifest(&self, id: ManifestId) -> Result<Arc<Manifest>, FetchError> {
        let name = Name::new(CachedKind::Manifest, *id.as_bytes());
        match self.load(name, decode_manifest).await? {
            Decoded::Manifest(manifest) => Ok(manifest),
            _ => unreachable!("BUG: the cache key names the kind"),
        }
    }

    /// A manifest for a single use: one that is not in memory is not kept there, and not decoded yet.
    pub(crate) async fn open_manifest(&self, id: ManifestId) -> Result<OpenManifest, FetchError> {
        let name = Name::new(CachedKind::Manifest, *id.as_bytes());
        let limits = self.settings.decode_limits;
        match self.cache.get(&name) {
            Some(Decoded::Manifest(manifest)) => return Ok(OpenManifest::Held(manifest)),
            Some(Decoded::File(file)) => return Ok(OpenManifest::File(id, file, limits)),
            _ => {}
        }
        let text = id.to_string();
        let key = parse_key(&layout::manifest_key(id))
            .map_err(|source| storage_error(CachedKind::Manifest, &text, source))?;
        let read = self.read(&key).await;
        let file = file_or_why(CachedKind::Manifest, name.id, text, key, read)?;
        Ok(OpenManifest::File(id, file, limits))
    }

    /// As [`Objects::manifest`], from memory or without waiting for a network; `None` where it would have to.
    pub(crate) fn try_manifest_blocking(
        &self,
        id: ManifestId,
    ) -> Option<Result<Arc<Manifest>, FetchError>> {
        let name = Name::new(CachedKind::Manifest, *id.as_bytes());
        let manifest = |decoded: Decoded| match decoded {
            Decoded::Manifest(manifest) => manifest,
            _ => unreachable!("BUG: the decoder names the kind"),
        };
        match self.cache.get(&name) {
            Some(Decoded::Manifest(manifest)) => return Some(Ok(manifest)),
            Some(Decoded::File(file)) => {
                let decoded = self.decode_held(name, &file, decode_manifest);
                return Some(decoded.map(manifest));
            }
            _ => {}
        }
        let text = id.to_string();
        let key = match parse_key(&layout::manifest_key(id)) {
            Ok(key) => key,
            Err(source) => return Some(Err(storage_error(CachedKind::Manifest, &text, source))),
        };
        let read = self
            .storage
            .try_get_blocking(&key, &self.whole())?
            .and_then(whole_body);
        let decoded = self.decode(
            CachedKind::Manifest,
            name.id,
            text,
            key,
            read,
            decode_manifest,
        );
        Some(decoded.map(|decoded| {
            self.cache.insert(name, decoded.clone());
            manifest(decoded)
        }))
    }

    /// The log of a snapshot, which tells of all that happened since the parent that the graph told. For that, the log
    /// must be asked for after the graph was, and never in the same round.
    pub(crate) async fn log_of(
        &self,
        id: SnapshotId,
        parent: Option<SnapshotId>,
    ) -> Result<Arc<TransactionLog>, FetchError> {
        match self.load(Name::log_of(id, parent), decode_log).await? {
            Decoded::TransactionLog(log) => Ok(log),
            _ => unreachable!("BUG: the cache key names the kind"),
        }
    }

    /// A log as it is stored now, for a caller that has no use for its snapshot.
    pub(crate) async fn stored_log(
        &self,
        id: SnapshotId,
    ) -> Result<Arc<TransactionLog>, FetchError> {
        let (kind, text) = (CachedKind::TransactionLog, id.to_string());
        let key = parse_key(&layout::transaction_log_key(id))
            .map_err(|source| storage_error(kind, &text, source))?;
        let read = self.read(&key).await;
        match self.decode(kind, *id.as_bytes(), text, key, read, decode_log)? {
            Decoded::TransactionLog(log) => Ok(log),
            _ => unreachable!("BUG: the decoder names the kind"),
        }
    }
}

/// The bytes of an object read without waiting.
pub(crate) fn whole_body(object: Object) -> Result<Bytes, StorageError> {
    let expected = object.range.end - object.range.start;
    match object.body {
        Body::Bytes(bytes) if bytes.len() as u64 == expected => Ok(bytes),
        Body::Bytes(bytes) => Err(StorageError::WrongLength {
            key: object.meta.key,
            expected,
            found: bytes.len() as u64,
        }),
        Body::Stream(_) => Err(StorageError::Unsupported {
            store: object.meta.key.to_string(),
            what: "streaming from a blocking read".to_owned(),
        }),
    }
}

fn storage_error(kind: CachedKind, id: &str, source: StorageError) -> FetchError {
    FetchError::Storage {
        what: kind.word(),
        id: id.to_owned(),
        source,
    }
}

/// Returns a file that was read, or the error of the read.
fn file_or_why(
    kind: CachedKind,
    id: [u8; 12],
    text: String,
    key: Key,
    read: Result<Bytes, StorageError>,
) -> Result<Bytes, FetchError> {
    read.map_err(|error| match error {
        error if error.is_not_found() => FetchError::Missing {
            what: kind.word(),
            id: text,
            key,
        },
        StorageError::ObjectTooLarge { limit, .. } => {
            let file = kind.file(id);
            FormatError::TooLarge { file, limit }.into()
        }
        source => storage_error(kind, &text, source),
    })
}
