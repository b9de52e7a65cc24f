//! Giving a stored snapshot another parent: how expiration takes snapshots out of histories.
//!
//! Spec version 1 keeps the parent's id inside the snapshot file, which is rewritten in place for this, and for nothing
//! else. Whoever has read the file before goes on with the old parent, whose file is still there.

use icefield_format::{DecodeLimits, FileKind, Snapshot, SnapshotId, Writer, layout};
use icefield_storage::{
    Bytes, Key, PutMode, PutOptions, PutOutcome, StorageError, StorageExt, Version,
};

use crate::{EditOutcome, FetchError, Refs, RefsError, Refusal, SnapshotInfo};

/// A snapshot file as it is stored.
struct Stored {
    key: Key,
    bytes: Bytes,
    version: Version,
    info: SnapshotInfo,
}

impl Refs {
    /// Replaces the parent of a snapshot, if it is `expected` now. Nothing else of the snapshot changes.
    ///
    /// A snapshot that has the new parent already counts as done. The layer above forgets the decoded snapshot.
    ///
    /// # Errors
    /// [`RefsError::NoConditions`] if the store cannot make it conditional; [`RefsError::Fetch`] if the snapshot cannot
    /// be read; what the store says. Nothing was changed.
    pub async fn reparent(
        &self,
        id: SnapshotId,
        expected: SnapshotId,
        parent: SnapshotId,
    ) -> Result<EditOutcome, RefsError> {
        tracing::debug!(%id, %expected, %parent, "reparent");
        let storage = self.files.storage();
        if !storage.capabilities().safe_commits() {
            return Err(RefsError::NoConditions {
                location: storage.to_string(),
            });
        }
        // Whatever comes of it: what is in memory may be older than what is stored.
        let outcome = self.reparent_file(id, expected, parent).await;
        self.snapshots.forget(id);
        outcome
    }

    /// Returns a snapshot as it is stored now, whatever is in memory.
    ///
    /// # Errors
    /// [`RefsError::Fetch`].
    pub async fn stored_snapshot(&self, id: SnapshotId) -> Result<SnapshotInfo, RefsError> {
        Ok(self.stored(id).await?.info)
    }

    /// As [`Refs::stored_snapshot`], with the state that was read.
    ///
    /// # Errors
    /// [`RefsError::Fetch`].
    pub async fn stored_snapshot_and_version(
        &self,
        id: SnapshotId,
    ) -> Result<(SnapshotInfo, Version), RefsError> {
        let stored = self.stored(id).await?;
        Ok((stored.info, stored.version))
    }

    async fn reparent_file(
        &self,
        id: SnapshotId,
        expected: SnapshotId,
        parent: SnapshotId,
    ) -> Result<EditOutcome, RefsError> {
        let stored = self.stored(id).await?;
        if stored.info.parent_id == Some(parent) {
            return self.files.make_durable(EditOutcome::Done(None)).await;
        }
        let limits = DecodeLimits::default();
        let refused = |found| Ok(EditOutcome::Refused(Refusal::ParentChanged { found }));
        if stored.info.parent_id != Some(expected) {
            return refused(stored.info.parent_id);
        }
        let edited = Snapshot::reparented(&stored.bytes, id, parent, &limits);
        let Some(edited) = edited.map_err(FetchError::from)? else {
            return refused(None);
        };
        let mut options = PutOptions::mode(PutMode::Update(stored.version.clone()))
            .with_content_type("application/octet-stream");
        for (name, value) in Writer::default().object_metadata(FileKind::Snapshot) {
            options = options.with_user_metadata(name, &value);
        }
        let storage = self.files.storage();
        let outcome = match storage.put(&stored.key, edited.into(), options).await? {
            PutOutcome::Written(written) => EditOutcome::Done(Some(written.version)),
            // A refusal may be the answer to a repetition of our own request, sent by a client below us.
            PutOutcome::Refused => match self.stored(id).await {
                Ok(now) if now.info.parent_id == Some(parent) => {
                    EditOutcome::Done(Some(now.version))
                }
                Ok(now) => return refused(now.info.parent_id),
                Err(RefsError::Fetch(FetchError::Storage { source, .. })) => {
                    EditOutcome::Unknown(source)
                }
                Err(RefsError::Fetch(FetchError::Missing { .. })) => return refused(None),
                Err(error) => EditOutcome::Unknown(StorageError::Failed {
                    action: "check of a refused edit",
                    target: stored.key.to_string(),
                    source: error.into(),
                }),
            },
            PutOutcome::Unknown(source) => match self.stored(id).await {
                Ok(now) if now.info.parent_id == Some(parent) => {
                    EditOutcome::Done(Some(now.version))
                }
                // Another state than the one that our write replaces: it cannot come any more.
                Ok(now) if now.version != stored.version => return refused(now.info.parent_id),
                _ => EditOutcome::Unknown(source),
            },
        };
        self.files.make_durable(outcome).await
    }

    async fn stored(&self, id: SnapshotId) -> Result<Stored, RefsError> {
        let key = Key::parse(&layout::snapshot_key(id))?;
        let (what, text) = ("snapshot", id.to_string());
        let read = self.files.storage().try_read(&key).await;
        let Some((bytes, version)) = read.map_err(|source| FetchError::Storage {
            what,
            id: text.clone(),
            source,
        })?
        else {
            let id = text;
            return Err(FetchError::Missing { what, id, key }.into());
        };
        let snapshot = Snapshot::decode(&bytes, id, &DecodeLimits::default());
        let info = SnapshotInfo::of(&snapshot.map_err(FetchError::from)?)?;
        Ok(Stored {
            key,
            bytes,
            version,
            info,
        })
    }
}
