//! The parents of snapshots, and where they are stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt;
use icefield_format::{Snapshot, SnapshotId, layout};
use icefield_storage::{ListOptions, ObjectMeta, Prefix, Storage, StorageError, StorageExt};

use crate::spec_v2::RepoObject;
use crate::{FetchError, RefsError, SnapshotInfo};

/// A source of decoded snapshots: the cache of the layer above.
#[async_trait::async_trait]
pub trait SnapshotSource: std::fmt::Debug + Send + Sync {
    /// Returns a decoded and verified snapshot.
    ///
    /// # Errors
    /// The [`FetchError`] that names the snapshot.
    async fn snapshot(&self, id: SnapshotId) -> Result<Arc<Snapshot>, FetchError>;

    /// Returns a snapshot if it is in memory. The default is `None`.
    fn held(&self, id: SnapshotId) -> Option<Arc<Snapshot>> {
        let _ = id;
        None
    }

    /// Forgets a snapshot, because it may have another parent now: the next read takes it from the store.
    fn forget(&self, id: SnapshotId);
}

/// The record that a [`Graph`] has of one snapshot.
pub trait Node: Send {
    /// Returns the parent; `None` for the first snapshot.
    fn parent(&self) -> Option<SnapshotId>;
}

impl Node for SnapshotInfo {
    fn parent(&self) -> Option<SnapshotId> {
        self.parent_id
    }
}

/// A node that tells nothing but the parent.
impl Node for Option<SnapshotId> {
    fn parent(&self) -> Option<SnapshotId> {
        *self
    }
}

/// A mapping from snapshots to their parents, from any source. Walks go over it.
///
/// ```
/// use futures::TryStreamExt;
/// use icefield_refs::{Graph, Pace, RefsError, ancestors};
/// use icefield_format::SnapshotId;
///
/// /// Every snapshot is the child of the one with the next lower number.
/// struct Numbers;
///
/// impl Graph for Numbers {
///     type Node = Option<SnapshotId>;
///     type Error = RefsError;
///
///     async fn read(&self, id: SnapshotId) -> Result<Self::Node, RefsError> {
///         let number = id.as_bytes()[0];
///         Ok(number.checked_sub(1).map(|parent| SnapshotId::from_bytes([parent; 12])))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), RefsError> {
/// let tip = SnapshotId::from_bytes([3; 12]);
/// let history: Vec<_> = ancestors(Numbers, tip, Pace::together(1)).try_collect().await?;
/// assert_eq!(history.len(), 4, "3, 2, 1 and 0");
/// # Ok(())
/// # }
/// ```
pub trait Graph: Send + Sync {
    /// The record of a snapshot.
    type Node: Node;
    /// The error of reading a record.
    type Error: From<RefsError> + Send;

    /// Reads the record of a snapshot.
    fn read(&self, id: SnapshotId) -> impl Future<Output = Result<Self::Node, Self::Error>> + Send;

    /// Returns the entry of a snapshot, if that needs no request.
    fn held(&self, id: SnapshotId) -> Option<Self::Node> {
        let _ = id;
        None
    }

    /// Guesses which snapshots a long history may have, newest first, so that a walk can read several at once. A wrong
    /// guess costs a request; the result of the walk depends on parents alone.
    fn guess(&self) -> impl Future<Output = Vec<SnapshotId>> + Send {
        async { Vec::new() }
    }
}

impl<G: Graph> Graph for &G {
    type Node = G::Node;
    type Error = G::Error;

    async fn read(&self, id: SnapshotId) -> Result<Self::Node, Self::Error> {
        (**self).read(id).await
    }

    fn held(&self, id: SnapshotId) -> Option<Self::Node> {
        (**self).held(id)
    }

    async fn guess(&self) -> Vec<SnapshotId> {
        (**self).guess().await
    }
}

/// A graph whose records are parents alone, for walks that keep little in memory.
#[derive(Clone, Debug)]
pub struct Parents<G>(pub G);

impl<G: Graph> Graph for Parents<G> {
    type Node = Option<SnapshotId>;
    type Error = G::Error;

    async fn read(&self, id: SnapshotId) -> Result<Self::Node, Self::Error> {
        Ok(self.0.read(id).await?.parent())
    }

    fn held(&self, id: SnapshotId) -> Option<Self::Node> {
        self.0.held(id).map(|node| node.parent())
    }

    async fn guess(&self) -> Vec<SnapshotId> {
        self.0.guess().await
    }
}

/// The graph of a ledger, from memory where this handle has it, else from the store.
#[derive(Clone, Debug)]
pub struct LedgerGraph(pub(crate) GraphSource);

/// Where the spec versions tell what came before a snapshot.
#[derive(Clone, Debug)]
pub(crate) enum GraphSource {
    /// In the file of the snapshot.
    Files {
        storage: Arc<dyn Storage>,
        snapshots: Arc<dyn SnapshotSource>,
    },
    /// In `repo`.
    Object(RepoObject),
}

impl Graph for LedgerGraph {
    type Node = SnapshotInfo;
    type Error = RefsError;

    async fn read(&self, id: SnapshotId) -> Result<SnapshotInfo, RefsError> {
        match &self.0 {
            GraphSource::Files { snapshots, .. } => {
                Ok(SnapshotInfo::of(&*snapshots.snapshot(id).await?)?)
            }
            GraphSource::Object(object) => object.snapshot(id).await,
        }
    }

    fn held(&self, id: SnapshotId) -> Option<SnapshotInfo> {
        match &self.0 {
            GraphSource::Files { snapshots, .. } => SnapshotInfo::of(&*snapshots.held(id)?).ok(),
            GraphSource::Object(object) => object.held_snapshot(id),
        }
    }

    async fn guess(&self) -> Vec<SnapshotId> {
        let GraphSource::Files { storage, .. } = &self.0 else {
            return Vec::new();
        };
        match stored_snapshots(&**storage).await {
            Ok(stored) => newest_first(&stored),
            Err(error) => {
                tracing::debug!(%error, "snapshots cannot be listed: they are read one by one");
                Vec::new()
            }
        }
    }
}

/// Lists the snapshots that are stored.
pub(crate) async fn stored_snapshots(
    storage: &dyn Storage,
) -> Result<BTreeMap<SnapshotId, ObjectMeta>, StorageError> {
    let mut objects = storage.list_objects(ListOptions::prefix(Prefix::parse(layout::SNAPSHOTS)?));
    let mut stored = BTreeMap::new();
    while let Some(object) = objects.next().await {
        let object = object?;
        if let Some(layout::IdKey::Snapshot(id)) = layout::parse_id_key(object.key.as_str()) {
            stored.insert(id, object);
        }
    }
    Ok(stored)
}

pub(crate) fn newest_first(stored: &BTreeMap<SnapshotId, ObjectMeta>) -> Vec<SnapshotId> {
    let mut ids: Vec<_> = stored.keys().copied().collect();
    ids.sort_by_key(|id| std::cmp::Reverse(stored[id].last_modified));
    ids
}
