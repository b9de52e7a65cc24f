//! Writes of objects under fresh names, and the copies of them that stay in memory.

use std::sync::Arc;
use std::time::SystemTime;

use icefield_format::{ChunkId, FormatError, Manifest, ManifestId, SnapshotId, layout};
use icefield_storage::{
    Bytes, Compared, Key, ObjectClass, PutMode, PutOptions, PutOutcome, Storage, StorageExt,
};

use super::cached::{Objects, parse_key};
use super::decoded::{
    CachedKind, Decode, Decoded, Name, decode_log, decode_manifest, decode_snapshot,
};
use crate::{SessionError, Settings};

/// Bytes of the largest manifest or log that is decoded at once by its writer: that takes less than a request.
const DECODED: usize = 64 << 10;

/// Bytes of the largest manifest or log that its writer keeps in memory.
const REMEMBERED: usize = 1 << 20;

/// Bytes of decoded manifests that a commit keeps for readers of its objects. Of more than that, most are read late
/// or never.
pub(crate) const REMEMBERED_IN_ALL: usize = 8 << 20;

/// A manifest as it was just stored: its id, its file, and its decoded content, if the writer has it anyway.
pub(crate) type StoredManifest = (ManifestId, Bytes, Option<Arc<Manifest>>);

/// Objects as they were just written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fresh(Vec<(Name, Decoded)>);

impl Fresh {
    pub(crate) fn bytes(&self) -> usize {
        let sizes = self.0.iter().map(|(_, decoded)| decoded.body_len() + 128);
        sizes.sum()
    }
}

impl Objects {
    pub(crate) async fn put_snapshot(
        &self,
        id: SnapshotId,
        file: Bytes,
    ) -> Result<Option<SystemTime>, SessionError> {
        self.put_file(CachedKind::Snapshot, layout::snapshot_key(id), file)
            .await
    }

    /// Keeps what was just written: reading it needs no request. Large files are decoded by the first reader, and
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

/// The form in which a file that was just written is cached. A file that this handle would not read is not cached, and no reason to
/// fail.
fn remembered(file: &Bytes, id: [u8; 12], decode: Decode, settings: &Settings) -> Option<Decoded> {
    if file.len() <= DECODED {
        return decode(file, id, settings).ok();
    }
    (file.len() <= REMEMBERED).then(|| Decoded::File(file.clone()))
}
