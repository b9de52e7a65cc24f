//! The changes of a snapshot since its parent. The format has no log of them: nodes are compared by their numbers, chunks
//! by where they are.

use std::sync::Arc;

use icefield_core::{ChunkIndex, NodePath};

use crate::layout::ObjectKind;
use crate::version::{self, Manifests};
use crate::{AlphaError, AlphaId, AlphaRepository, ChunkEntry, Node, Snapshot};

/// Messages of initial snapshots, which say nothing.
const INITIAL_MESSAGES: [&str; 2] = ["Dataset initialized", "Repository initialized"];

/// A snapshot with its manifests; by default none, and empty.
#[derive(Default)]
pub(super) struct Loaded {
    snapshot: Option<Snapshot>,
    manifests: Manifests,
}

/// The changes to one node that the snapshot has.
pub(super) struct NodeEdits<'a> {
    pub(super) node: &'a Node,
    /// Whether its metadata are written.
    pub(super) document: bool,
    /// Chunks that are no longer there.
    pub(super) removed: Vec<&'a ChunkIndex>,
    /// Chunks that are there or elsewhere now.
    pub(super) set: Vec<&'a ChunkEntry>,
}

/// The changes of a snapshot.
pub(super) struct Difference<'a> {
    /// Nodes that are no longer there, or another node now, with all that is below them.
    pub(super) deleted: Vec<&'a NodePath>,
    pub(super) nodes: Vec<NodeEdits<'a>>,
}

impl Loaded {
    pub(super) async fn read(
        source: &AlphaRepository,
        id: AlphaId,
        needed_by: &str,
    ) -> Result<Self, AlphaError> {
        Self::of(source, source.snapshot(id, needed_by).await?).await
    }

    pub(super) async fn of(
        source: &AlphaRepository,
        snapshot: Snapshot,
    ) -> Result<Self, AlphaError> {
        let needed_by = source.name_of(ObjectKind::Snapshot, snapshot.id)?;
        let mut manifests = Manifests::new();
        for id in snapshot.nodes().iter().flat_map(|node| &node.manifests) {
            if !manifests.contains_key(id) {
                let manifest = source.manifest(*id, &needed_by).await?;
                manifests.insert(*id, Arc::new(manifest));
            }
        }
        Ok(Self {
            snapshot: Some(snapshot),
            manifests,
        })
    }

    pub(super) fn id(&self) -> Option<AlphaId> {
        self.snapshot.as_ref().map(|snapshot| snapshot.id)
    }

    pub(super) fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    pub(super) fn nodes(&self) -> &[Node] {
        self.snapshot.as_ref().map_or(&[], Snapshot::nodes)
    }

    fn node(&self, path: &NodePath) -> Option<&Node> {
        self.snapshot.as_ref()?.node(path)
    }

    /// Whether it is the initial snapshot of an alpha repository: the initial snapshot of today's format has the same content.
    pub(super) fn is_nothing(&self) -> bool {
        self.snapshot.as_ref().is_none_or(|it| {
            it.nodes().is_empty()
                && it.properties.is_empty()
                && INITIAL_MESSAGES.contains(&it.message.as_str())
        })
    }

    /// The chunks of an array, sorted, each with its manifest.
    pub(super) fn chunks<'a>(
        &'a self,
        source: &AlphaRepository,
        node: &Node,
    ) -> Result<Vec<(AlphaId, &'a ChunkEntry)>, AlphaError> {
        version::chunks(source, node, &self.manifests)
    }

    /// Those that a reader sees.
    fn visible<'a>(
        &'a self,
        source: &AlphaRepository,
        node: &Node,
    ) -> Result<Vec<&'a ChunkEntry>, AlphaError> {
        let chunks = version::visible(source, node, &self.manifests)?;
        Ok(chunks.into_iter().map(|(_, entry)| entry).collect())
    }

    /// Compares this snapshot with its parent.
    pub(super) fn since<'a>(
        &'a self,
        parent: &'a Self,
        source: &AlphaRepository,
    ) -> Result<Difference<'a>, AlphaError> {
        let stays = |node: &Node| {
            let now = self.node(&node.path);
            now.is_some_and(|now| now.id == node.id && now.array.is_some() == node.array.is_some())
        };
        // A node takes what is below it along.
        let mut deleted: Vec<&NodePath> = Vec::new();
        for node in parent.nodes() {
            let above = deleted
                .last()
                .is_some_and(|it| it.is_ancestor_of(&node.path));
            if !above && !stays(node) {
                deleted.push(&node.path);
            }
        }
        let is_gone = |path: &NodePath| {
            deleted.binary_search_by(|it| it.cmp_segments(path)).is_ok()
                || path.ancestors().any(|it| {
                    deleted
                        .binary_search_by(|gone| gone.cmp_segments(&it))
                        .is_ok()
                })
        };
        let mut nodes = Vec::new();
        for node in self.nodes() {
            let old = parent.node(&node.path).filter(|_| !is_gone(&node.path));
            let before = match old {
                Some(old) => parent.visible(source, old)?,
                None => Vec::new(),
            };
            let mut edits = NodeEdits {
                node,
                document: old.is_none_or(|old| old.document != node.document),
                removed: Vec::new(),
                set: Vec::new(),
            };
            compare(&before, &self.visible(source, node)?, &mut edits);
            if edits.document || !edits.removed.is_empty() || !edits.set.is_empty() {
                nodes.push(edits);
            }
        }
        Ok(Difference { deleted, nodes })
    }
}

/// Compares the sorted chunks of an array before and after.
fn compare<'a>(before: &[&'a ChunkEntry], after: &[&'a ChunkEntry], edits: &mut NodeEdits<'a>) {
    let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
    loop {
        match (before.peek(), after.peek()) {
            (Some(old), Some(new)) if old.index == new.index => {
                if old.payload != new.payload {
                    edits.set.push(new);
                }
                before.next();
                after.next();
            }
            (Some(old), next) if next.is_none_or(|new| old.index[..] < new.index[..]) => {
                edits.removed.push(&old.index);
                before.next();
            }
            (_, Some(new)) => {
                edits.set.push(new);
                after.next();
            }
            (_, None) => return,
        }
    }
}
