//! Conflicts: one variant per documented rule.

use std::collections::BTreeSet;
use std::fmt;

use icefield_format::{ChunkIndex, NodeId, NodePath};

/// A collision between the edits of a session and a commit that landed since.
///
/// *Ours* is the session, *theirs* the commit. Every variant names the node as the session knows it, and
/// [`kind`](Self::kind) gives the variant's name for logs and for programs in other languages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Conflict {
    /// We created a node where they have one.
    NewNodeConflictsWithExistingNode {
        /// The path.
        path: NodePath,
        /// Our node.
        node: NodeId,
        /// Their node.
        theirs: NodeId,
    },
    /// We created a node below what is an array now.
    NewNodeInInvalidGroup {
        /// The path of our node.
        path: NodePath,
        /// Our node.
        node: NodeId,
        /// The array above it.
        array: NodePath,
    },
    /// We created a node below a group that they deleted.
    NewNodeInDeletedGroup {
        /// The path of our node.
        path: NodePath,
        /// Our node.
        node: NodeId,
        /// The group that is gone.
        group: NodePath,
    },
    /// Both changed the metadata of a node.
    ZarrMetadataDoubleUpdate {
        /// The path.
        path: NodePath,
        /// The node.
        node: NodeId,
    },
    /// We changed the metadata of an array that they deleted.
    ZarrMetadataUpdateOfDeletedArray {
        /// The path.
        path: NodePath,
        /// The node.
        node: NodeId,
    },
    /// We changed the metadata of a group that they deleted.
    ZarrMetadataUpdateOfDeletedGroup {
        /// The path.
        path: NodePath,
        /// The node.
        node: NodeId,
    },
    /// We changed the metadata of an array so that chunks they wrote lose their place or their meaning.
    ZarrMetadataUpdateOfUpdatedChunks {
        /// The path.
        path: NodePath,
        /// The node.
        node: NodeId,
        /// The chunks that they wrote.
        chunks: BTreeSet<ChunkIndex>,
    },
    /// We wrote chunks of an array that they deleted.
    ChunksUpdatedInDeletedArray {
        /// The path.
        path: NodePath,
        /// The node.
        node: NodeId,
        /// The chunks that we wrote.
        chunks: BTreeSet<ChunkIndex>,
    },
    /// We wrote chunks of an array whose metadata they changed.
    ChunksUpdatedInUpdatedArray {
        /// The path.
        path: NodePath,
        /// The node.
        node: NodeId,
        /// The chunks that we wrote.
        chunks: BTreeSet<ChunkIndex>,
    },
    /// Both wrote the same chunks.
    ChunkDoubleUpdate {
        /// The path.
        path: NodePath,
        /// The node.
        node: NodeId,
        /// The chunks.
        chunks: BTreeSet<ChunkIndex>,
    },
    /// We shifted the chunks of an array that they resized, shifted or deleted; by the rules of the reference implementation,
    /// also of one that they wrote chunks of.
    ShiftOfUpdatedArray {
        /// The path.
        path: NodePath,
        /// The node.
        node: NodeId,
    },
    /// We wrote chunks of an array whose chunks they shifted.
    ChunksUpdatedInShiftedArray {
        /// The path.
        path: NodePath,
        /// The node.
        node: NodeId,
        /// The chunks that we wrote or deleted.
        chunks: BTreeSet<ChunkIndex>,
    },
    /// We changed a node that they moved, or created one in a group that they moved.
    EditOfMovedNode {
        /// The path of our node.
        path: NodePath,
        /// Our node.
        node: NodeId,
        /// The path that they moved: of the node, or of the group above it.
        from: NodePath,
        /// Where it is now.
        to: NodePath,
    },
    /// They moved a node. By the rules of the reference implementation, nothing can be carried over then.
    MoveOperationCannotBeRebased {
        /// The path that the node had.
        path: NodePath,
        /// The node.
        node: NodeId,
    },
    /// We deleted an array that they changed.
    DeleteOfUpdatedArray {
        /// The path.
        path: NodePath,
        /// The node.
        node: NodeId,
    },
    /// We deleted a group that they changed, or in which they created or changed something.
    DeleteOfUpdatedGroup {
        /// The path.
        path: NodePath,
        /// The node.
        node: NodeId,
        /// The node that they created or changed in it, if it is not the group itself.
        child: Option<NodePath>,
    },
}

impl Conflict {
    /// Returns the path of the node, as the session knows it.
    pub fn path(&self) -> &NodePath {
        match self {
            Self::NewNodeConflictsWithExistingNode { path, .. }
            | Self::NewNodeInInvalidGroup { path, .. }
            | Self::NewNodeInDeletedGroup { path, .. }
            | Self::ZarrMetadataDoubleUpdate { path, .. }
            | Self::ZarrMetadataUpdateOfDeletedArray { path, .. }
            | Self::ZarrMetadataUpdateOfDeletedGroup { path, .. }
            | Self::ZarrMetadataUpdateOfUpdatedChunks { path, .. }
            | Self::ChunksUpdatedInDeletedArray { path, .. }
            | Self::ChunksUpdatedInUpdatedArray { path, .. }
            | Self::ChunkDoubleUpdate { path, .. }
            | Self::ShiftOfUpdatedArray { path, .. }
            | Self::ChunksUpdatedInShiftedArray { path, .. }
            | Self::EditOfMovedNode { path, .. }
            | Self::MoveOperationCannotBeRebased { path, .. }
            | Self::DeleteOfUpdatedArray { path, .. }
            | Self::DeleteOfUpdatedGroup { path, .. } => path,
        }
    }

    /// Returns the id of the node, which stays the same when the node moves.
    pub fn node(&self) -> NodeId {
        match self {
            Self::NewNodeConflictsWithExistingNode { node, .. }
            | Self::NewNodeInInvalidGroup { node, .. }
            | Self::NewNodeInDeletedGroup { node, .. }
            | Self::ZarrMetadataDoubleUpdate { node, .. }
            | Self::ZarrMetadataUpdateOfDeletedArray { node, .. }
            | Self::ZarrMetadataUpdateOfDeletedGroup { node, .. }
            | Self::ZarrMetadataUpdateOfUpdatedChunks { node, .. }
            | Self::ChunksUpdatedInDeletedArray { node, .. }
            | Self::ChunksUpdatedInUpdatedArray { node, .. }
            | Self::ChunkDoubleUpdate { node, .. }
            | Self::ShiftOfUpdatedArray { node, .. }
            | Self::ChunksUpdatedInShiftedArray { node, .. }
            | Self::EditOfMovedNode { node, .. }
            | Self::MoveOperationCannotBeRebased { node, .. }
            | Self::DeleteOfUpdatedArray { node, .. }
            | Self::DeleteOfUpdatedGroup { node, .. } => *node,
        }
    }

    /// Returns the name of the variant, such as `ChunkDoubleUpdate`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NewNodeConflictsWithExistingNode { .. } => "NewNodeConflictsWithExistingNode",
            Self::NewNodeInInvalidGroup { .. } => "NewNodeInInvalidGroup",
            Self::NewNodeInDeletedGroup { .. } => "NewNodeInDeletedGroup",
            Self::ZarrMetadataDoubleUpdate { .. } => "ZarrMetadataDoubleUpdate",
            Self::ZarrMetadataUpdateOfDeletedArray { .. } => "ZarrMetadataUpdateOfDeletedArray",
            Self::ZarrMetadataUpdateOfDeletedGroup { .. } => "ZarrMetadataUpdateOfDeletedGroup",
            Self::ZarrMetadataUpdateOfUpdatedChunks { .. } => "ZarrMetadataUpdateOfUpdatedChunks",
            Self::ChunksUpdatedInDeletedArray { .. } => "ChunksUpdatedInDeletedArray",
            Self::ChunksUpdatedInUpdatedArray { .. } => "ChunksUpdatedInUpdatedArray",
            Self::ChunkDoubleUpdate { .. } => "ChunkDoubleUpdate",
            Self::ShiftOfUpdatedArray { .. } => "ShiftOfUpdatedArray",
            Self::ChunksUpdatedInShiftedArray { .. } => "ChunksUpdatedInShiftedArray",
            Self::EditOfMovedNode { .. } => "EditOfMovedNode",
            Self::MoveOperationCannotBeRebased { .. } => "MoveOperationCannotBeRebased",
            Self::DeleteOfUpdatedArray { .. } => "DeleteOfUpdatedArray",
            Self::DeleteOfUpdatedGroup { .. } => "DeleteOfUpdatedGroup",
        }
    }

    /// Returns the indices of the chunks that collide; `None` if the conflict is about metadata or whole nodes.
    pub fn chunks(&self) -> Option<&BTreeSet<ChunkIndex>> {
        match self {
            Self::ZarrMetadataUpdateOfUpdatedChunks { chunks, .. }
            | Self::ChunksUpdatedInDeletedArray { chunks, .. }
            | Self::ChunksUpdatedInUpdatedArray { chunks, .. }
            | Self::ChunksUpdatedInShiftedArray { chunks, .. }
            | Self::ChunkDoubleUpdate { chunks, .. } => Some(chunks),
            _ => None,
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        match self {
            Self::NewNodeConflictsWithExistingNode { .. } => {
                write!(f, "{path} was created here, and by the other commit")
            }
            Self::NewNodeInInvalidGroup { array, .. } => {
                write!(
                    f,
                    "{path} was created here below {array}, which is an array now"
                )
            }
            Self::NewNodeInDeletedGroup { group, .. } => {
                write!(
                    f,
                    "{path} was created here, and the group {group} above it was deleted by the other commit"
                )
            }
            Self::ZarrMetadataDoubleUpdate { .. } => {
                write!(
                    f,
                    "the metadata of {path} was changed here, and by the other commit"
                )
            }
            Self::ZarrMetadataUpdateOfDeletedArray { .. }
            | Self::ZarrMetadataUpdateOfDeletedGroup { .. } => {
                write!(
                    f,
                    "the metadata of {path} was changed here, and {path} was deleted by the other commit"
                )
            }
            Self::ZarrMetadataUpdateOfUpdatedChunks { chunks, .. } => {
                write!(
                    f,
                    "the metadata of {path} was changed here in a way that does not fit the chunks written by the other commit: "
                )?;
                list(f, chunks)
            }
            Self::ChunksUpdatedInDeletedArray { chunks, .. } => {
                write!(
                    f,
                    "chunks of {path} were written here, and {path} was deleted by the other commit: "
                )?;
                list(f, chunks)
            }
            Self::ChunksUpdatedInUpdatedArray { chunks, .. } => {
                write!(
                    f,
                    "chunks of {path} were written here, and its metadata was changed by the other commit: "
                )?;
                list(f, chunks)
            }
            Self::ChunkDoubleUpdate { chunks, .. } => {
                write!(
                    f,
                    "chunks of {path} were written here, and by the other commit: "
                )?;
                list(f, chunks)
            }
            Self::ShiftOfUpdatedArray { .. } => {
                write!(
                    f,
                    "the chunks of {path} were shifted here, and {path} was changed by the other commit; shift it again on top of that"
                )
            }
            Self::ChunksUpdatedInShiftedArray { chunks, .. } => {
                write!(
                    f,
                    "chunks of {path} were written here, and the other commit moved all chunks of {path} to other places; write them again on top of that: "
                )?;
                list(f, chunks)
            }
            Self::EditOfMovedNode { from, to, .. } => {
                write!(
                    f,
                    "{path} was changed here, and the other commit moved {from} to {to}; let the changes follow it there"
                )
            }
            Self::MoveOperationCannotBeRebased { .. } => {
                write!(
                    f,
                    "{path} was moved by the other commit, and by the rules of the reference implementation nothing is carried over that"
                )
            }
            Self::DeleteOfUpdatedArray { .. } => {
                write!(
                    f,
                    "{path} was deleted here, and changed by the other commit"
                )
            }
            Self::DeleteOfUpdatedGroup { child: None, .. } => {
                write!(
                    f,
                    "the group {path} was deleted here, and changed by the other commit"
                )
            }
            Self::DeleteOfUpdatedGroup {
                child: Some(child), ..
            } => {
                write!(
                    f,
                    "the group {path} was deleted here, and {child} in it was created or changed by the other commit"
                )
            }
        }
    }
}

/// The first few chunks, and how many more there are.
fn list(f: &mut fmt::Formatter<'_>, chunks: &BTreeSet<ChunkIndex>) -> fmt::Result {
    const SHOWN: usize = 5;
    for (number, chunk) in chunks.iter().take(SHOWN).enumerate() {
        let separator = if number == 0 { "" } else { ", " };
        write!(f, "{separator}{chunk}")?;
    }
    match chunks.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}
