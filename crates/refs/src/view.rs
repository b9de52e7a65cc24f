//! The refs and histories as they are stored at one moment, whatever is in memory.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use icefield_format::SnapshotId;
use icefield_storage::{Storage, StorageError, Version};

use crate::graph::{Graph, Node, newest_first, stored_snapshots};
use crate::ledger::Layout;
use crate::reparent::stored;
use crate::spec_v2::{RepoObject, RepoState};
use crate::walk::{HistoryWalk, Pace};
use crate::{FetchError, Ledger, RefList, RefsError, SnapshotInfo};

/// Letters of a message that are kept.
const MESSAGE: usize = 80;

/// The part of a snapshot that a [`StoredGraph`] keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotSummary {
    /// The snapshot before; none for the first.
    pub parent: Option<SnapshotId>,
    /// When the commit was made, by the committer's clock.
    pub written_at: SystemTime,
    /// The beginning of its message.
    pub message: String,
}

impl Node for SnapshotSummary {
    fn parent(&self) -> Option<SnapshotId> {
        self.parent
    }
}

/// The graph as it is stored. It keeps what it has read: some hundred bytes of each snapshot.
#[derive(Debug)]
pub struct StoredGraph(Source);

#[derive(Debug)]
enum Source {
    Files(SnapshotFiles),
    Object {
        object: RepoObject,
        /// As it was read at this moment; none before the first read.
        state: futures::lock::Mutex<Option<Arc<RepoState>>>,
    },
}

/// The graph of spec version 1.
///
/// A snapshot never changes but for its parent, which makes another state of its object. One listing therefore tells which of
/// those that were read at an earlier moment must be read again.
#[derive(Debug)]
struct SnapshotFiles {
    storage: Arc<dyn Storage>,
    known: Mutex<HashMap<SnapshotId, (SnapshotSummary, Version)>>,
    /// The snapshots that were known at an earlier moment, and not read since.
    earlier: futures::lock::Mutex<HashMap<SnapshotId, (SnapshotSummary, Version)>>,
    /// The snapshots that were listed last, newest first.
    listed: Mutex<Option<Vec<SnapshotId>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SnapshotSummary {
    fn of(info: &SnapshotInfo) -> Self {
        Self {
            parent: info.parent_id,
            written_at: info.written_at,
            message: info.message.chars().take(MESSAGE).collect(),
        }
    }
}

impl StoredGraph {
    /// Makes what is known something of an earlier moment.
    fn refresh(&mut self) {
        match &mut self.0 {
            Source::Files(files) => files.refresh(),
            Source::Object { state, .. } => *state.get_mut() = None,
        }
    }
}

impl Graph for StoredGraph {
    type Node = SnapshotSummary;
    type Error = RefsError;

    async fn read(&self, id: SnapshotId) -> Result<SnapshotSummary, RefsError> {
        let (object, state) = match &self.0 {
            Source::Files(files) => return files.read(id).await,
            Source::Object { object, state } => (object, state),
        };
        let mut state = state.lock().await;
        let now = match &*state {
            Some(now) => Arc::clone(now),
            None => Arc::clone(state.insert(object.read().await?)),
        };
        let found = now.snapshot(id);
        match found.map_err(|source| RefsError::InvalidRepo { source })? {
            Some(info) => Ok(SnapshotSummary::of(&info)),
            None => Err(FetchError::NotListed { id }.into()),
        }
    }

    fn held(&self, id: SnapshotId) -> Option<SnapshotSummary> {
        match &self.0 {
            Source::Files(files) => files.held(id),
            Source::Object { state, .. } => {
                let now = state.try_lock()?.clone()?;
                Some(SnapshotSummary::of(&now.snapshot(id).ok()??))
            }
        }
    }

    async fn guess(&self) -> Vec<SnapshotId> {
        match &self.0 {
            Source::Files(files) => files.guess().await,
            Source::Object { .. } => Vec::new(),
        }
    }
}

impl SnapshotFiles {
    fn new(storage: Arc<dyn Storage>) -> Self {
        Self {
            storage,
            known: Mutex::default(),
            earlier: futures::lock::Mutex::default(),
            listed: Mutex::default(),
        }
    }

    /// Makes what is known something of an earlier moment.
    fn refresh(&mut self) {
        let known = std::mem::take(&mut *locked(&self.known));
        self.earlier.get_mut().extend(known);
        *locked(&self.listed) = None;
    }

    /// Finds out what of earlier moments is still so. Of a store that cannot list, nothing is.
    async fn confirm(&self) -> Result<(), RefsError> {
        let mut earlier = self.earlier.lock().await;
        if earlier.is_empty() {
            return Ok(());
        }
        let stored = match stored_snapshots(&*self.storage).await {
            Err(StorageError::Unsupported { .. } | StorageError::PermissionDenied { .. }) => {
                Default::default()
            }
            stored => stored?,
        };
        let is_same = |(id, (_, version)): &(SnapshotId, (SnapshotSummary, Version))| {
            stored.get(id).is_some_and(|it| it.version == *version)
        };
        locked(&self.known).extend(earlier.drain().filter(is_same));
        *locked(&self.listed) = Some(newest_first(&stored));
        Ok(())
    }

    async fn read(&self, id: SnapshotId) -> Result<SnapshotSummary, RefsError> {
        self.confirm().await?;
        if let Some(told) = self.held(id) {
            return Ok(told);
        }
        let stored = stored(&*self.storage, id).await?;
        let told = SnapshotSummary::of(&stored.info);
        locked(&self.known).insert(id, (told.clone(), stored.version));
        Ok(told)
    }

    fn held(&self, id: SnapshotId) -> Option<SnapshotSummary> {
        locked(&self.known).get(&id).map(|(told, _)| told.clone())
    }

    async fn guess(&self) -> Vec<SnapshotId> {
        let listed = locked(&self.listed).clone();
        match listed {
            Some(listed) => listed,
            None => {
                let stored = stored_snapshots(&*self.storage).await;
                let listed = newest_first(&stored.unwrap_or_default());
                locked(&self.listed).insert(listed).clone()
            }
        }
    }
}

/// All refs and the graph, as they are stored at one moment.
#[derive(Debug)]
pub struct LedgerView {
    ledger: Ledger,
    refs: RefList,
    graph: StoredGraph,
}

impl Ledger {
    /// Reads all refs, and begins with a graph of which nothing is read.
    ///
    /// # Errors
    /// As [`Ledger::list`].
    pub async fn view(&self) -> Result<LedgerView, RefsError> {
        let (refs, graph) = self.refs_and_graph().await?;
        Ok(LedgerView {
            ledger: self.clone(),
            refs,
            graph: graph.unwrap_or_else(|| self.stored_graph()),
        })
    }

    /// Reads all refs, and in spec version 2 the graph of the same moment.
    async fn refs_and_graph(&self) -> Result<(RefList, Option<StoredGraph>), RefsError> {
        let Layout::V2(object) = &self.layout else {
            return Ok((self.list().await?, None));
        };
        let now = object.read().await?;
        let graph = StoredGraph(Source::Object {
            object: object.clone(),
            state: Some(Arc::clone(&now)).into(),
        });
        Ok((now.refs()?, Some(graph)))
    }

    /// Returns the graph as it is stored, of which nothing is read yet.
    pub fn stored_graph(&self) -> StoredGraph {
        StoredGraph(match &self.layout {
            Layout::V1(_) => Source::Files(SnapshotFiles::new(Arc::clone(self.storage()))),
            Layout::V2(object) => Source::Object {
                object: object.clone(),
                state: None.into(),
            },
        })
    }
}

impl LedgerView {
    /// Brings the view up to date. Parts of the graph that have not changed are not read again.
    ///
    /// # Errors
    /// The errors of the store; the view is as before.
    pub async fn refresh(&mut self) -> Result<(), RefsError> {
        let (refs, graph) = self.ledger.refs_and_graph().await?;
        self.refs = refs;
        match graph {
            Some(graph) => self.graph = graph,
            None => self.graph.refresh(),
        }
        Ok(())
    }

    /// Returns all refs.
    pub fn refs(&self) -> &RefList {
        &self.refs
    }

    /// Returns the graph.
    pub fn graph(&self) -> &StoredGraph {
        &self.graph
    }

    /// Returns whether refs reach all of some snapshots. A ref that cannot be read reaches nothing.
    ///
    /// # Errors
    /// [`RefsError::Fetch`].
    pub async fn reaches_all(&self, mut wanted: BTreeSet<SnapshotId>) -> Result<bool, RefsError> {
        let mut walk = HistoryWalk::new(&self.graph, Pace::long());
        for tip in self.refs.tips() {
            walk.go(tip);
        }
        while let Some((id, node)) = walk.next().await {
            wanted.remove(&id);
            if wanted.is_empty() {
                return Ok(true);
            }
            if let Some(parent) = node?.parent {
                walk.go(parent);
            }
        }
        Ok(wanted.is_empty())
    }
}
