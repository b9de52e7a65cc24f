//! Sizes of many objects, from one listing instead of a request for each.

use futures::TryStreamExt;
use icefield_format::layout::{self, IdKey};
use icefield_format::{ChunkId, FormatFile, ManifestId, SnapshotId};
use icefield_storage::{Key, ListOptions, Prefix, Storage, StorageError, StorageExt};

/// The kinds of objects that are named by ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ObjectKind {
    Chunk,
    Manifest,
    TransactionLog,
    Snapshot,
}

impl ObjectKind {
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Chunk => layout::CHUNKS,
            Self::Manifest => layout::MANIFESTS,
            Self::TransactionLog => layout::TRANSACTIONS,
            Self::Snapshot => layout::SNAPSHOTS,
        }
    }

    pub(crate) fn named(self, id: [u8; 12]) -> IdKey {
        match self {
            Self::Chunk => IdKey::Chunk(ChunkId::from_bytes(id)),
            Self::Manifest => IdKey::Manifest(ManifestId::from_bytes(id)),
            Self::TransactionLog => IdKey::TransactionLog(SnapshotId::from_bytes(id)),
            Self::Snapshot => IdKey::Snapshot(SnapshotId::from_bytes(id)),
        }
    }

    /// The file of an id, as errors name it; `None` for chunks, which are no metadata files.
    ///
    /// # Panics
    /// For a chunk.
    pub(crate) fn file(self, id: [u8; 12]) -> FormatFile {
        match self.named(id) {
            IdKey::Manifest(id) => FormatFile::Manifest(id),
            IdKey::TransactionLog(id) => FormatFile::TransactionLog(id),
            IdKey::Snapshot(id) => FormatFile::Snapshot(id),
            IdKey::Chunk(_) => unreachable!("BUG: chunks are not decoded"),
        }
    }

    pub(crate) fn key(self, id: [u8; 12]) -> Result<Key, StorageError> {
        Ok(Key::parse(&self.named(id).key())?)
    }
}

/// Takes a key apart; `None` for what the format does not know.
pub(crate) fn parse(key: &Key) -> Option<(ObjectKind, [u8; 12])> {
    Some(match layout::parse_id_key(key.as_str())? {
        IdKey::Chunk(id) => (ObjectKind::Chunk, *id.as_bytes()),
        IdKey::Manifest(id) => (ObjectKind::Manifest, *id.as_bytes()),
        IdKey::TransactionLog(id) => (ObjectKind::TransactionLog, *id.as_bytes()),
        IdKey::Snapshot(id) => (ObjectKind::Snapshot, *id.as_bytes()),
    })
}

/// Walks over the objects of one kind in the order of their ids, from one id on. Foreign objects are passed over.
pub(crate) fn listed(
    storage: &dyn Storage,
    kind: ObjectKind,
    from: [u8; 12],
) -> Result<
    impl futures::Stream<Item = Result<([u8; 12], u64), StorageError>> + Unpin + use<>,
    StorageError,
> {
    let mut options = ListOptions::prefix(Prefix::parse(kind.prefix())?).without_versions();
    if from != [0; 12] {
        // All but the last character of an id sorts before it, and after most of the others before it.
        let text = kind.named(from).key();
        options = options.with_start_after(Key::parse(&text[..text.len() - 1])?);
    }
    let objects = storage.list_objects(options);
    Ok(objects.try_filter_map(move |meta| {
        let found = parse(&meta.key).filter(|found| found.0 == kind && found.1 >= from);
        std::future::ready(Ok(found.map(|(_, id)| (id, meta.size))))
    }))
}

/// Returns the sizes of objects in bytes, `None` for those that are not there. The ids ascend.
pub(crate) async fn sizes(
    storage: &dyn Storage,
    kind: ObjectKind,
    ids: &[[u8; 12]],
) -> Result<Vec<Option<u64>>, StorageError> {
    let mut sizes = vec![None; ids.len()];
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else {
        return Ok(sizes);
    };
    let mut objects = listed(storage, kind, *first)?;
    let mut at = 0;
    while let Some((id, size)) = objects.try_next().await? {
        if id > *last {
            break;
        }
        while at < ids.len() && ids[at] < id {
            at += 1;
        }
        if ids.get(at) == Some(&id) {
            sizes[at] = Some(size);
        }
    }
    Ok(sizes)
}
