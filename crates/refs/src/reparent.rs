//! Giving a stored snapshot another parent: how expiration takes snapshots out of histories.
//!
//! Spec version 1 keeps the parent's id inside the snapshot file, which is rewritten in place for this, and for nothing
//! else. A process that has read the file before goes on with the old parent, whose file is still there.

use icefield_format::{DecodeLimits, FileKind, FormatError, Snapshot, SnapshotId, Writer, layout};
use icefield_storage::{
    Bytes, Key, PutMode, PutOptions, PutOutcome, Storage, StorageError, StorageExt, Version,
};

use crate::ref_files::RefFiles;
use crate::{EditOutcome, FetchError, Ledger, RefsError, Refusal, SnapshotInfo};

/// A snapshot file as it is stored.
pub(crate) struct Stored {
    key: Key,
    bytes: Bytes,
    pub(crate) version: Version,
    pub(crate) info: SnapshotInfo,
}

impl Ledger {
    /// Applies [`Edit::Reparent`](crate::Edit::Reparent). The layer above forgets the decoded snapshot.
    pub(crate) async fn reparent(
        &self,
        files: &RefFiles,
        id: SnapshotId,
        expected: SnapshotId,
        parent: SnapshotId,
    ) -> Result<EditOutcome, RefsError> {
        tracing::debug!(%id, %expected, %parent, "reparent");
        let storage = files.storage();
        if !storage.capabilities().safe_commits() {
            return Err(RefsError::NoConditions {
                location: storage.to_string(),
            });
        }
        // Whatever comes of it: what is in memory may be older than what is stored.
        let outcome = reparent_file(files, id, expected, parent).await;
        self.snapshots.forget(id);
        outcome
    }
}

async fn reparent_file(
    files: &RefFiles,
    id: SnapshotId,
    expected: SnapshotId,
    parent: SnapshotId,
) -> Result<EditOutcome, RefsError> {
    let storage = files.storage();
    let old = stored(storage, id).await?;
    if old.info.parent_id == Some(parent) {
        return files.make_durable(EditOutcome::Done(None)).await;
    }
    let limits = DecodeLimits::default();
    let refused = |found| Ok(EditOutcome::Refused(Refusal::ParentChanged { found }));
    if old.info.parent_id != Some(expected) {
        return refused(old.info.parent_id);
    }
    let edited = Snapshot::reparented(&old.bytes, id, parent, &limits);
    let Some(edited) = edited.map_err(FetchError::from)? else {
        return refused(None);
    };
    let mut options = PutOptions::mode(PutMode::Update(old.version.clone()))
        .with_content_type("application/octet-stream");
    for (name, value) in Writer::default().object_metadata(FileKind::Snapshot) {
        options = options.with_user_metadata(name, &value);
    }
    let outcome = match storage.put(&old.key, edited.into(), options).await? {
        PutOutcome::Written(written) => EditOutcome::Done(Some(written.version)),
        // A refusal may be the answer to a repetition of our own request, sent by a client below us.
        PutOutcome::Refused => match stored(storage, id).await {
            Ok(now) if now.info.parent_id == Some(parent) => EditOutcome::Done(Some(now.version)),
            Ok(now) => return refused(now.info.parent_id),
            Err(FetchError::Storage { source, .. }) => EditOutcome::Unknown(source),
            Err(FetchError::Missing { .. }) => return refused(None),
            Err(error) => EditOutcome::Unknown(StorageError::Failed {
                action: "check of a refused edit",
                target: old.key.to_string(),
                source: error.into(),
            }),
        },
        PutOutcome::Unknown(source) => match stored(storage, id).await {
            Ok(now) if now.info.parent_id == Some(parent) => EditOutcome::Done(Some(now.version)),
            // Another state than the one that our write replaces: it cannot come any more.
            Ok(now) if now.version != old.version => return refused(now.info.parent_id),
            _ => EditOutcome::Unknown(source),
        },
    };
    files.make_durable(outcome).await
}

/// Returns whether two files of a snapshot differ in nothing but its parent.
///
/// # Errors
/// [`icefield_format::FormatError`] if one of them is not what the format says.
pub fn differ_in_parent(
    ours: &[u8],
    theirs: &[u8],
    id: SnapshotId,
    limits: &DecodeLimits,
) -> Result<bool, FormatError> {
    let Some(parent) = Snapshot::decode(ours, id, limits)?.parent_id() else {
        return Ok(false);
    };
    // Both as this program writes them, with the same parent.
    let with_parent = |file: &[u8]| Snapshot::reparented(file, id, parent, limits);
    let (ours, theirs) = (with_parent(ours)?, with_parent(theirs)?);
    Ok(ours.is_some() && ours == theirs)
}

/// Reads a snapshot as it is stored now, whatever is in memory.
pub(crate) async fn stored(storage: &dyn Storage, id: SnapshotId) -> Result<Stored, FetchError> {
    let key = Key::parse(&layout::snapshot_key(id));
    let (what, text) = ("snapshot", id.to_string());
    let unread = |source| FetchError::Storage {
        what,
        id: text.clone(),
        source,
    };
    let key = key.map_err(|error| unread(error.into()))?;
    let limits = DecodeLimits::default();
    let read = storage.try_read_at_most(&key, limits.max_file()).await;
    let Some((bytes, version)) = read.map_err(unread)? else {
        let id = text;
        return Err(FetchError::Missing { what, id, key });
    };
    let snapshot = Snapshot::decode(&bytes, id, &limits)?;
    let info = SnapshotInfo::of(&snapshot)?;
    Ok(Stored {
        key,
        bytes,
        version,
        info,
    })
}
