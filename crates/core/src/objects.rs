//! Typed reads and writes of the repository's immutable objects: each decoded once, kept by id within a
//! bound in bytes, loaded once however many ask.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use icefield_format::{
    ChunkId, DecodeLimits, FileKind, FormatError, FormatFile, Manifest, ManifestId, Snapshot,
    SnapshotId, TransactionLog, layout,
};
use icefield_refs::{FetchError, SnapshotSource};
use icefield_storage::{
    Bytes, Compared, GetOptions, Key, KeyError, ObjectClass, PutMode, PutOptions, PutOutcome,
    Storage, StorageError, StorageExt,
};
use quick_cache::sync::Cache;
use quick_cache::{OptionsBuilder, Weighter};
use tracing::Instrument;

use crate::file_writer::FileWriter;
use crate::{SessionError, Settings};

/// The kinds of immutable files, and their words in errors and object metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum CachedKind {
    Snapshot,
    Manifest,
    TransactionLog,
}

impl CachedKind {
    fn word(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Manifest => "manifest",
            Self::TransactionLog => "transaction log",
        }
    }

    fn file(self, id: [u8; 12]) -> FormatFile {
        match self {
            Self::Snapshot => FormatFile::Snapshot(SnapshotId::from_bytes(id)),
            Self::Manifest => FormatFile::Manifest(ManifestId::from_bytes(id)),
            Self::TransactionLog => FormatFile::TransactionLog(SnapshotId::from_bytes(id)),
        }
    }

    /// Returns the key of the object of an id, and the text of the id.
    fn key(self, id: [u8; 12]) -> (String, String) {
        match self {
            Self::Snapshot => {
                let id = SnapshotId::from_bytes(id);
                (layout::snapshot_key(id), id.to_string())
            }
            Self::Manifest => {
                let id = ManifestId::from_bytes(id);
                (layout::manifest_key(id), id.to_string())
            }
            Self::TransactionLog => {
                let id = SnapshotId::from_bytes(id);
                (layout::transaction_log_key(id), id.to_string())
            }
        }
    }

    fn of_file(self) -> FileKind {
        match self {
            Self::Snapshot => FileKind::Snapshot,
            Self::Manifest => FileKind::Manifest,
            Self::TransactionLog => FileKind::TransactionLog,
        }
    }
}

#[derive(Clone, Debug)]
enum Decoded {
    Snapshot(Arc<Snapshot>),
    Manifest(Arc<Manifest>),
    TransactionLog(Arc<TransactionLog>),
    /// A file that this process wrote, to be decoded at its first use.
    File(Bytes),
}

impl Decoded {
    fn body_len(&self) -> usize {
        match self {
            Self::Snapshot(snapshot) => snapshot.body_len(),
            Self::Manifest(manifest) => manifest.body_len(),
            Self::TransactionLog(log) => log.body_len(),
            Self::File(file) => file.len(),
        }
    }
}

/// Bytes of the largest manifest or log that is decoded at once by the one who wrote it: that takes less than a request.
const DECODED: usize = 64 << 10;

/// Bytes of the largest manifest or log that the one who wrote it keeps in memory.
const REMEMBERED: usize = 1 << 20;

/// Bytes of decoded manifests that a commit keeps for those who read what it wrote. Of more than that, most are read late
/// or never.
pub(crate) const REMEMBERED_IN_ALL: usize = 8 << 20;

/// A manifest as it was just stored: its id, its file, and its decoded content, if the writer has it anyway.
pub(crate) type StoredManifest = (ManifestId, Bytes, Option<Arc<Manifest>>);

/// The key of an object in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Name {
    kind: CachedKind,
    id: [u8; 12],
    /// Of a transaction log, the parent that its snapshot had in the graph before the log was read: expiration makes
    /// the log tell more before it gives the snapshot another parent, so that a reader that goes by this parent finds a log
    /// that is as new.
    behind: Option<SnapshotId>,
}

impl Name {
    fn new(kind: CachedKind, id: [u8; 12]) -> Self {
        let behind = None;
        Self { kind, id, behind }
    }

    fn log_of(id: SnapshotId, behind: Option<SnapshotId>) -> Self {
        Self {
            kind: CachedKind::TransactionLog,
            id: *id.as_bytes(),
            behind,
        }
    }
}

/// Objects as they were just written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fresh(Vec<(Name, Decoded)>);

impl Fresh {
    pub(crate) fn bytes(&self) -> usize {
        let sizes = self.0.iter().map(|(_, decoded)| decoded.body_len() + 128);
        sizes.sum()
    }
}

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

/// Makes an object of a file that should have the given id.
type Decode = fn(&[u8], [u8; 12], &Settings) -> Result<Decoded, FormatError>;

#[derive(Clone, Debug)]
struct ByBytes;

impl Weighter<Name, Decoded> for ByBytes {
    fn weight(&self, _: &Name, object: &Decoded) -> u64 {
        object.body_len() as u64 + 128
    }
}

/// Counts of what the cache did, for statistics and tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStatistics {
    /// Objects held.
    pub objects: u64,
    /// Bytes held, decoded.
    pub bytes: u64,
    /// The bound on bytes.
    pub capacity: u64,
}

/// The immutable objects of one repository.
#[derive(Debug)]
pub(crate) struct Objects {
    storage: Arc<dyn Storage>,
    cache: Cache<Name, Decoded, ByBytes>,
    settings: Settings,
    writer: FileWriter,
}

impl Objects {
    /// A repository has files of its own version and, upgraded, of earlier ones.
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        mut settings: Settings,
        writer: FileWriter,
    ) -> Self {
        let limits = &mut settings.decode_limits;
        limits.latest = limits.latest.max(writer.version());
        // One shard: with several, an object larger than its share of the bound would never be kept.
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(1024)
            .weight_capacity(settings.cache_bytes)
            .build()
            .expect("BUG: all required cache options are given");
        let cache = Cache::with_options(
            options,
            ByBytes,
            Default::default(),
            quick_cache::sync::DefaultLifecycle::default(),
        );
        Self {
            storage,
            cache,
            settings,
            writer,
        }
    }

    pub(crate) fn writer(&self) -> &FileWriter {
        &self.writer
    }

    /// Limits for files of this repository.
    pub(crate) fn decode_limits(&self) -> &DecodeLimits {
        &self.settings.decode_limits
    }

    pub(crate) fn statistics(&self) -> CacheStatistics {
        CacheStatistics {
            objects: self.cache.len() as u64,
            bytes: self.cache.weight(),
            capacity: self.cache.capacity(),
        }
    }

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

    /// Reads an object that is not in memory, once however many ask.
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

    pub(crate) async fn put_snapshot(
        &self,
        id: SnapshotId,
        file: Bytes,
    ) -> Result<Option<SystemTime>, SessionError> {
        self.put_file(CachedKind::Snapshot, layout::snapshot_key(id), file)
            .await
    }

    /// Keeps what was just written: reading it needs no request. Large files are decoded by the first who asks for them, and
    /// the largest are left out.
    pub(crate) fn remember(
        &self,
        snapshot: (SnapshotId, &[u8]),
        parent: SnapshotId,
        log: Option<&Bytes>,
        manifests: &[StoredManifest],
    ) -> Result<Fresh, FormatError> {
        let id = *snapshot.0.as_bytes();
        let settings = &self.settings;
        let decoded = decode_snapshot(snapshot.1, id, settings)?;
        let mut objects = vec![(Name::new(CachedKind::Snapshot, id), decoded)];
        let mut room = REMEMBERED_IN_ALL;
        for (id, file, decoded) in manifests {
            if room == 0 {
                break;
            }
            let name = Name::new(CachedKind::Manifest, *id.as_bytes());
            let decoded = match decoded {
                Some(manifest) => Some(Decoded::Manifest(Arc::clone(manifest))),
                None => remembered(file, name.id, decode_manifest, settings),
            };
            if let Some(decoded) = decoded {
                room = room.saturating_sub(decoded.body_len());
                objects.push((name, decoded));
            }
        }
        let log = log.and_then(|file| remembered(file, id, decode_log, settings));
        let log_name = Name::log_of(snapshot.0, Some(parent));
        objects.extend(log.map(|log| (log_name, log)));
        let fresh = Fresh(objects);
        self.adopt(&fresh);
        Ok(fresh)
    }

    /// Keeps what another handle has just written to the same store.
    pub(crate) fn adopt(&self, fresh: &Fresh) {
        for (name, decoded) in &fresh.0 {
            if self.cache.peek(name).is_none() {
                self.cache.insert(*name, decoded.clone());
            }
        }
    }

    pub(crate) async fn put_manifest(
        &self,
        id: ManifestId,
        file: Bytes,
    ) -> Result<(), SessionError> {
        self.put_file(CachedKind::Manifest, layout::manifest_key(id), file)
            .await
            .map(drop)
    }

    pub(crate) async fn put_transaction_log(
        &self,
        id: SnapshotId,
        file: Bytes,
    ) -> Result<(), SessionError> {
        self.put_file(
            CachedKind::TransactionLog,
            layout::transaction_log_key(id),
            file,
        )
        .await
        .map(drop)
    }

    /// Returns the store's time of the write, where it says it.
    async fn put_file(
        &self,
        kind: CachedKind,
        key: String,
        file: Bytes,
    ) -> Result<Option<SystemTime>, SessionError> {
        let options =
            PutOptions::mode(PutMode::Create).with_content_type("application/octet-stream");
        let metadata = self.writer.object_metadata(kind.of_file()).into_iter();
        let options = metadata.fold(options, |options, (name, value)| {
            options.with_user_metadata(name, &value)
        });
        put_fresh(&*self.storage, &parse_key(&key)?, file, options).await
    }

    /// Puts a chunk; returns the store's time of it, where that is known.
    pub(crate) async fn put_chunk(
        &self,
        id: ChunkId,
        bytes: Bytes,
    ) -> Result<Option<SystemTime>, SessionError> {
        let options = PutOptions::mode(PutMode::Create)
            .with_class(ObjectClass::Chunk)
            .with_content_type("application/octet-stream");
        let key = parse_key(&layout::chunk_key(id))?;
        put_fresh(&*self.storage, &key, bytes, options).await
    }
}

#[async_trait]
impl SnapshotSource for Objects {
    async fn snapshot(&self, id: SnapshotId) -> Result<Arc<Snapshot>, FetchError> {
        Self::snapshot(self, id).await
    }

    fn held(&self, id: SnapshotId) -> Option<Arc<Snapshot>> {
        match self
            .cache
            .get(&Name::new(CachedKind::Snapshot, *id.as_bytes()))
        {
            Some(Decoded::Snapshot(snapshot)) => Some(snapshot),
            _ => None,
        }
    }

    fn forget(&self, id: SnapshotId) {
        // Its log goes with it: only a reader that has a snapshot with the old parent finds it, and for that one it is right.
        self.cache
            .remove(&Name::new(CachedKind::Snapshot, *id.as_bytes()));
    }
}

/// Writes an object under a fresh random name. Done means stored; nothing refers to it before that.
async fn put_fresh(
    storage: &dyn Storage,
    key: &Key,
    bytes: Bytes,
    options: PutOptions,
) -> Result<Option<SystemTime>, SessionError> {
    match storage.put_immutable(key, bytes.clone(), options).await? {
        PutOutcome::Written(written) => Ok(written.store_time),
        PutOutcome::Refused => Err(SessionError::IdCollision { key: key.clone() }),
        PutOutcome::Unknown(source) => match storage.compare(key, &bytes).await {
            Ok(Compared::Same(_)) => Ok(None),
            Ok(Compared::Other) => Err(SessionError::IdCollision { key: key.clone() }),
            Ok(Compared::Absent) | Err(_) => Err(SessionError::WriteUnknown {
                key: key.clone(),
                source,
            }),
        },
    }
}

/// The bytes of an object read without waiting.
pub(crate) fn whole_body(object: icefield_storage::Object) -> Result<Bytes, StorageError> {
    let expected = object.range.end - object.range.start;
    match object.body {
        icefield_storage::Body::Bytes(bytes) if bytes.len() as u64 == expected => Ok(bytes),
        icefield_storage::Body::Bytes(bytes) => Err(StorageError::WrongLength {
            key: object.meta.key,
            expected,
            found: bytes.len() as u64,
        }),
        icefield_storage::Body::Stream(_) => Err(StorageError::Unsupported {
            store: object.meta.key.to_string(),
            what: "streaming from a blocking read".to_owned(),
        }),
    }
}

fn parse_key(key: &str) -> Result<Key, StorageError> {
    Key::parse(key).map_err(|error: KeyError| error.into())
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

fn decode_snapshot(file: &[u8], id: [u8; 12], settings: &Settings) -> Result<Decoded, FormatError> {
    let id = SnapshotId::from_bytes(id);
    Snapshot::decode(file, id, &settings.decode_limits).map(|it| Decoded::Snapshot(Arc::new(it)))
}

/// The form in which a file that was just written is cached. A file that this handle would not read is not cached, and no reason to
/// fail.
fn remembered(file: &Bytes, id: [u8; 12], decode: Decode, settings: &Settings) -> Option<Decoded> {
    if file.len() <= DECODED {
        return decode(file, id, settings).ok();
    }
    (file.len() <= REMEMBERED).then(|| Decoded::File(file.clone()))
}

fn decode_manifest(file: &[u8], id: [u8; 12], settings: &Settings) -> Result<Decoded, FormatError> {
    let id = ManifestId::from_bytes(id);
    Manifest::decode(file, id, &settings.decode_limits).map(|it| Decoded::Manifest(Arc::new(it)))
}

fn decode_log(file: &[u8], id: [u8; 12], settings: &Settings) -> Result<Decoded, FormatError> {
    let id = SnapshotId::from_bytes(id);
    TransactionLog::decode(file, id, &settings.decode_limits)
        .map(|it| Decoded::TransactionLog(Arc::new(it)))
}
