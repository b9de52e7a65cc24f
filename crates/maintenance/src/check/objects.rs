//! The repository's metadata objects, read without trusting them: damage of one is a value.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use icefield_format::{
    DecodeLimits, FormatError, Manifest, ManifestId, RepoInfo, Snapshot, SnapshotId,
    TransactionLog, layout,
};
use icefield_refs::{FetchError, Ledger, SnapshotSource};
use icefield_storage::{Key, Storage, StorageError, StorageExt, with_causes};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};

use super::error::CheckError;

/// A manifest, and the length of its file in bytes.
#[derive(Clone, Debug)]
pub(super) struct StoredManifest {
    pub(super) manifest: Arc<Manifest>,
    pub(super) file_len: u64,
}

#[derive(Clone, Debug)]
enum Decoded {
    Snapshot(Arc<Snapshot>),
    Manifest(StoredManifest),
    Log(Arc<TransactionLog>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ObjectKind {
    Snapshot,
    Manifest,
    Log,
}

#[derive(Clone, Debug)]
struct ByBytes;

impl Weighter<(ObjectKind, [u8; 12]), Decoded> for ByBytes {
    fn weight(&self, _: &(ObjectKind, [u8; 12]), object: &Decoded) -> u64 {
        let body = match object {
            Decoded::Snapshot(snapshot) => snapshot.body_len(),
            Decoded::Manifest(stored) => stored.manifest.body_len(),
            Decoded::Log(log) => log.body_len(),
        };
        body as u64 + 128
    }
}

/// The damage of an object.
#[derive(Debug)]
pub(super) enum Broken {
    /// It is not there.
    Missing,
    /// It is not what the format says.
    Damaged(String),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("it does not exist"),
            Self::Damaged(why) => f.write_str(why),
        }
    }
}

/// Where a check learns what came before a snapshot.
#[derive(Clone, Debug)]
pub(super) enum Parents {
    /// In the files of snapshots, of spec version 1.
    Files(Ledger),
    /// In the state that a repository of spec version 2 has, or had when it was last whole.
    Listed(Arc<RepoInfo>),
    /// Nowhere: that state is lost.
    Unknown,
}

/// The object, or what is wrong with it; an error is the store's, and says nothing of the object.
pub(super) type Read<T> = Result<Result<T, Broken>, CheckError>;

/// Reads and decodes objects, keeping the last ones within a bound in bytes.
pub(super) struct Objects {
    storage: Arc<dyn Storage>,
    cache: Cache<(ObjectKind, [u8; 12]), Decoded, ByBytes>,
    limits: DecodeLimits,
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects")
            .field("storage", &self.storage)
            .finish_non_exhaustive()
    }
}

impl Objects {
    pub(super) fn new(storage: Arc<dyn Storage>, cache_bytes: u64, limits: DecodeLimits) -> Self {
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(1024)
            .weight_capacity(cache_bytes)
            .build()
            .expect("BUG: all required cache options are given");
        let lifecycle = DefaultLifecycle::default();
        Self {
            storage,
            cache: Cache::with_options(options, ByBytes, Default::default(), lifecycle),
            limits,
        }
    }

    pub(super) fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    async fn fetch(
        &self,
        kind: ObjectKind,
        id: [u8; 12],
        key: String,
        decode: impl FnOnce(&[u8]) -> Result<Decoded, FormatError>,
    ) -> Result<Decoded, FetchError> {
        let load = async {
            let key = Key::parse(&key).map_err(StorageError::from);
            let key = key.map_err(|source| storage_error(key_text(kind), source))?;
            match (self.storage)
                .read_at_most(&key, self.limits.max_file())
                .await
            {
                Ok((bytes, _)) => Ok(decode(&bytes)?),
                Err(error) if error.is_not_found() => Err(FetchError::Missing {
                    what: key_text(kind),
                    id: String::new(),
                    key,
                }),
                Err(source) => Err(storage_error(key_text(kind), source)),
            }
        };
        self.cache.get_or_insert_async(&(kind, id), load).await
    }

    async fn fetch_snapshot(&self, id: SnapshotId) -> Result<Arc<Snapshot>, FetchError> {
        let decode = |file: &[u8]| {
            let snapshot = Snapshot::decode(file, id, &self.limits)?;
            // The history shows it, so that it must be readable, too.
            snapshot.metadata()?;
            Ok(Decoded::Snapshot(Arc::new(snapshot)))
        };
        let key = layout::snapshot_key(id);
        match self
            .fetch(ObjectKind::Snapshot, *id.as_bytes(), key, decode)
            .await?
        {
            Decoded::Snapshot(snapshot) => Ok(snapshot),
            _ => unreachable!("BUG: the cache key names the kind"),
        }
    }

    pub(super) async fn snapshot(&self, id: SnapshotId) -> Read<Arc<Snapshot>> {
        judged(self.fetch_snapshot(id).await)
    }

    /// Returns a snapshot, and its parent.
    pub(super) async fn step(
        &self,
        parents: &Parents,
        id: SnapshotId,
    ) -> Read<(Arc<Snapshot>, Option<SnapshotId>)> {
        let parent = match parents {
            Parents::Files(ledger) => match judged(ledger.snapshot(id).await)? {
                Ok(info) => info.parent_id,
                Err(broken) => return Ok(Err(broken)),
            },
            Parents::Listed(info) => match info.snapshots().get(&id) {
                Some(listed) => listed.parent_id(),
                None => return Ok(Err(Broken::Missing)),
            },
            Parents::Unknown => return Ok(Err(Broken::Missing)),
        };
        Ok(self.snapshot(id).await?.map(|it| (it, parent)))
    }

    pub(super) async fn manifest(&self, id: ManifestId) -> Read<StoredManifest> {
        let decode = |file: &[u8]| {
            let manifest = Manifest::decode(file, id, &self.limits)?;
            Ok(Decoded::Manifest(StoredManifest {
                manifest: Arc::new(manifest),
                file_len: file.len() as u64,
            }))
        };
        let key = layout::manifest_key(id);
        let fetched = self.fetch(ObjectKind::Manifest, *id.as_bytes(), key, decode);
        judged(fetched.await.map(|decoded| match decoded {
            Decoded::Manifest(stored) => stored,
            _ => unreachable!("BUG: the cache key names the kind"),
        }))
    }

    pub(super) async fn log(&self, id: SnapshotId) -> Read<Arc<TransactionLog>> {
        let decode = |file: &[u8]| {
            let log = TransactionLog::decode(file, id, &self.limits)?;
            Ok(Decoded::Log(Arc::new(log)))
        };
        let key = layout::transaction_log_key(id);
        let fetched = self.fetch(ObjectKind::Log, *id.as_bytes(), key, decode);
        judged(fetched.await.map(|decoded| match decoded {
            Decoded::Log(log) => log,
            _ => unreachable!("BUG: the cache key names the kind"),
        }))
    }
}

#[async_trait]
impl SnapshotSource for Objects {
    async fn snapshot(&self, id: SnapshotId) -> Result<Arc<Snapshot>, FetchError> {
        self.fetch_snapshot(id).await
    }

    /// A check changes nothing, and what others change meanwhile is looked at once.
    fn forget(&self, _: SnapshotId) {}
}

/// Tells what is wrong with an object from what is wrong with its store.
fn judged<T>(fetched: Result<T, FetchError>) -> Read<T> {
    match fetched {
        Ok(object) => Ok(Ok(object)),
        Err(FetchError::Missing { .. }) => Ok(Err(Broken::Missing)),
        Err(FetchError::Format(error)) => Ok(Err(Broken::Damaged(with_causes(&error)))),
        Err(FetchError::Storage {
            source:
                source @ (StorageError::NotAnObject { .. }
                | StorageError::WrongLength { .. }
                | StorageError::ObjectTooLarge { .. }),
            ..
        }) => Ok(Err(Broken::Damaged(source.to_string()))),
        Err(FetchError::Storage { source, .. }) => Err(source.into()),
        // A kind of error that is new says nothing of the object.
        Err(error) => Err(CheckError::Fetch(error)),
    }
}

fn key_text(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Snapshot => "snapshot",
        ObjectKind::Manifest => "manifest",
        ObjectKind::Log => "transaction log",
    }
}

fn storage_error(what: &'static str, source: StorageError) -> FetchError {
    FetchError::Storage {
        what,
        id: String::new(),
        source,
    }
}
