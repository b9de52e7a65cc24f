//! Everything that some snapshots come from, in memory.

use std::collections::{HashMap, HashSet};
use std::fmt;

use icefield_format::SnapshotId;

use crate::RefsError;
use crate::graph::{Graph, Node};
use crate::walk::{HistoryWalk, Pace};

/// The histories of several snapshots, as far as they were read. A snapshot in several histories is read and kept once.
pub struct Histories<'a, G: Graph> {
    walk: HistoryWalk<G>,
    depth: usize,
    is_end: Box<dyn Fn(&SnapshotId) -> bool + Send + Sync + 'a>,
    /// How many snapshots may be taken, counted from here, this one included.
    left: HashMap<SnapshotId, usize>,
    nodes: HashMap<SnapshotId, G::Node>,
}

impl<G: Graph> fmt::Debug for Histories<'_, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histories")
            .field("snapshots", &self.nodes.len())
            .finish_non_exhaustive()
    }
}

impl<'a, G: Graph> Histories<'a, G> {
    /// Returns no histories yet; [`follow`](Self::follow) adds some.
    pub fn new(graph: G, pace: Pace) -> Self {
        Self {
            walk: HistoryWalk::new(graph, pace),
            depth: usize::MAX,
            is_end: Box::new(|_| false),
            left: HashMap::new(),
            nodes: HashMap::new(),
        }
    }

    /// Takes at most this many snapshots of each history.
    #[must_use]
    pub fn depth(mut self, depth: usize) -> Self {
        self.depth = depth;
        self
    }

    /// Ends each history before the snapshots for which `is_end` is true.
    #[must_use]
    pub fn until(mut self, is_end: impl Fn(&SnapshotId) -> bool + Send + Sync + 'a) -> Self {
        self.is_end = Box::new(is_end);
        self
    }

    /// Adds the history of a snapshot. Nothing is read before [`next`](Self::next).
    pub fn follow(&mut self, tip: SnapshotId) {
        self.allow(Some(tip), self.depth);
    }

    /// Lets histories go on from a snapshot for so many more. Another history may have come by with fewer.
    fn allow(&mut self, mut next: Option<SnapshotId>, mut left: usize) {
        while let Some(id) = next.filter(|id| left > 0 && !(self.is_end)(id)) {
            let known = self.left.entry(id).or_default();
            if *known >= left {
                return;
            }
            *known = left;
            let Some(node) = self.nodes.get(&id) else {
                self.walk.go(id);
                return;
            };
            next = node.parent();
            left = self.fewer(left);
        }
    }

    fn fewer(&self, left: usize) -> usize {
        match self.depth {
            usize::MAX => left,
            _ => left - 1,
        }
    }

    /// Reads the next snapshot. `None` once all histories are read. An error ends one history; the others go on.
    pub async fn next(&mut self) -> Option<(SnapshotId, Result<&G::Node, G::Error>)> {
        let (id, node) = self.walk.next().await?;
        let node = match node {
            Ok(node) => node,
            Err(error) => return Some((id, Err(error))),
        };
        let left = self.fewer(self.left.get(&id).copied().unwrap_or(1));
        let parent = node.parent();
        let node: &G::Node = {
            self.nodes.insert(id, node);
            self.allow(parent, left);
            &self.nodes[&id]
        };
        Some((id, Ok(node)))
    }

    /// Reads all histories to their ends.
    ///
    /// # Errors
    /// The error of the first snapshot that cannot be read.
    pub async fn read(&mut self) -> Result<(), G::Error> {
        while let Some((_, node)) = self.next().await {
            node?;
        }
        Ok(())
    }

    /// Returns the record of a snapshot, if it was read.
    pub fn get(&self, id: SnapshotId) -> Option<&G::Node> {
        self.nodes.get(&id)
    }

    /// Returns all snapshots that were read, in no order.
    pub fn ids(&self) -> impl Iterator<Item = SnapshotId> {
        self.nodes.keys().copied()
    }

    /// Returns the number of snapshots that were read.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether no snapshot was read.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the history of a snapshot as far as it was read, newest first.
    pub fn of(&self, tip: SnapshotId) -> impl Iterator<Item = (SnapshotId, &G::Node)> {
        let node = |id: SnapshotId| Some((id, self.nodes.get(&id)?));
        let way = std::iter::successors(node(tip), move |(_, at)| node(at.parent()?));
        // One that comes upon itself ends, too.
        way.take(self.nodes.len())
    }

    /// Returns the histories of some snapshots, one after the other, without what an earlier one had: parents before their
    /// children.
    ///
    /// # Errors
    /// [`RefsError::Cycle`].
    pub fn parents_first(
        &self,
        tips: impl IntoIterator<Item = SnapshotId>,
    ) -> Result<Vec<SnapshotId>, RefsError> {
        let (mut all, mut done) = (Vec::with_capacity(self.nodes.len()), HashSet::new());
        for tip in tips {
            let begin = all.len();
            let mut next = Some(tip);
            while let Some(id) = next
                && let Some(node) = self.nodes.get(&id)
                && done.insert(id)
            {
                all.push(id);
                next = node.parent();
            }
            if let Some(id) = next.filter(|id| all[begin..].contains(id)) {
                return Err(RefsError::Cycle(id));
            }
            all[begin..].reverse();
        }
        Ok(all)
    }
}
