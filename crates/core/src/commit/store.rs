//! Storing the objects of a commit.

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{ManifestId, SnapshotId};
use icefield_refs::{SnapshotInfo, Tip};
use icefield_storage::Bytes;

use crate::objects::{Fresh, StoredManifest};
use crate::packs::SentPacks;
use crate::session::Session;
use crate::{CommitError, SessionError};

/// The log of a commit, to be encoded.
pub(super) struct NewLog<F> {
    /// Whether it is kept in memory for the writers that come next.
    pub(super) remembered: bool,
    pub(super) file: F,
}

/// All objects of a commit are stored, and no branch points at them yet. Dropping this leaves garbage, never
/// damage.
#[derive(Debug)]
#[must_use = "nothing is visible until it is published"]
pub(super) struct PreparedCommit {
    snapshot: SnapshotInfo,
    fresh: Fresh,
}

impl PreparedCommit {
    pub(super) fn snapshot(&self) -> &SnapshotInfo {
        &self.snapshot
    }

    /// Returns the written objects, for the writers that come next.
    pub(super) fn into_fresh(self) -> Fresh {
        self.fresh
    }
}

/// The outcome of writing.
#[derive(Debug)]
pub(super) enum Written {
    Prepared(PreparedCommit),
    /// The branch was seen elsewhere before anything was published.
    BranchMoved {
        found: Option<SnapshotId>,
    },
}

/// Sends all objects at once, waits for the packs, and in the same round looks whether the commit still has a chance.
#[tracing::instrument(name = "commit.write", level = "debug", skip_all, fields(snapshot_id = %info.id, manifests = manifests.len()))]
pub(super) async fn store(
    session: &Session,
    (info, parent): (SnapshotInfo, SnapshotId),
    snapshot: Bytes,
    log: NewLog<impl Future<Output = Result<Bytes, SessionError>>>,
    (manifests, packs): (Vec<StoredManifest>, &SentPacks),
    tip: Option<&Tip>,
) -> Result<Written, CommitError> {
    let shared = session.shared();
    let objects = &shared.objects;
    let snapshot_id = info.id;
    let stand = session.branch().zip(tip);
    let look = async {
        match stand {
            Some((branch, tip)) => shared.ledger.branch_of(branch, tip).await,
            None => Ok(None),
        }
    };
    let prepare = async {
        if let Some((branch, tip)) = stand {
            shared.ledger.prepare(branch, tip).await;
        }
    };
    let files: Vec<(ManifestId, Bytes)> = manifests
        .iter()
        .map(|(id, file, _)| (*id, file.clone()))
        .collect();
    let put_manifests = stream::iter(files)
        .map(|(id, file)| objects.put_manifest(id, file))
        .buffer_unordered(shared.settings.concurrent_manifests.max(1))
        .try_collect::<()>();
    let put_log = async {
        let file = log.file.await?;
        objects
            .put_transaction_log(snapshot_id, file.clone())
            .await?;
        Ok::<_, SessionError>(file)
    };
    let (
        stored_packs,
        stored_manifests,
        stored_snapshot,
        stored_log,
        upgraded,
        found,
        collection,
        (),
    ) = futures::join!(
        session.packs_stored(packs),
        put_manifests,
        objects.put_snapshot(snapshot_id, snapshot.clone()),
        put_log,
        shared.ledger.was_upgraded(),
        look,
        session.last_collection(),
        prepare,
    );
    stored_packs?;
    session.check_stored()?;
    stored_manifests?;
    if let Some(store_time) = stored_snapshot? {
        shared.compare_clocks(store_time);
        session.lease().note_written(store_time);
    }
    if let Some(collection) = collection? {
        session.note_collection(&collection);
    }
    let log_file = stored_log?;
    if upgraded? {
        return Err(CommitError::Upgraded);
    }
    let found = found?;
    if let Some((branch, _)) = stand
        && found.as_ref() != tip
    {
        shared.note_lost_race(branch);
        return Ok(Written::BranchMoved {
            found: found.map(|tip| tip.snapshot),
        });
    }
    // The session goes on reading this snapshot, and the next one begins with it: no need to fetch it.
    let log_file = log.remembered.then_some(&log_file);
    let fresh = objects.remember((snapshot_id, &snapshot), parent, log_file, &manifests)?;
    Ok(Written::Prepared(PreparedCommit {
        snapshot: info,
        fresh,
    }))
}
