//! Nodes that moved, in logs of spec 2.

use std::cmp::Ordering;

use crate::debug::debug_struct;
use crate::error::{FormatError, FormatFile, SortedList};
use crate::generated as fb;
use crate::id::NodeId;
use crate::order::{self, unique_ids};
use crate::path::{self, NodePath};
use crate::snapshot::NodeKind;

/// Tag of a group. It is the default, and so may be absent.
const GROUP: u8 = 0;
/// Tag of an array.
const ARRAY: u8 = 1;

/// A node that moved, to be written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MovedNode {
    /// Its path before the commit.
    pub from: NodePath,
    /// Its path after it.
    pub to: NodePath,
    /// The id of the node, which does not change.
    pub id: NodeId,
    /// The kind of the node.
    pub kind: NodeKind,
}

impl MovedNode {
    pub(super) fn tag(&self) -> u8 {
        match self.kind {
            NodeKind::Group => GROUP,
            NodeKind::Array => ARRAY,
        }
    }
}

/// A node that moved, borrowed from its log.
#[derive(Clone, Copy)]
pub struct MovedNodeRecord<'a>(fb::MoveOperation<'a>);

impl<'a> MovedNodeRecord<'a> {
    pub(super) fn new(moved: fb::MoveOperation<'a>) -> Self {
        Self(moved)
    }

    /// Returns the path before the commit.
    #[must_use]
    pub fn from(&self) -> &'a str {
        self.0.from()
    }

    /// Returns the path after it.
    #[must_use]
    pub fn to(&self) -> &'a str {
        self.0.to()
    }

    /// Returns the id, which the node keeps.
    #[must_use]
    pub fn id(&self) -> NodeId {
        NodeId::from_bytes(self.0.node_id().0)
    }

    /// Returns whether the node is a group or an array.
    #[must_use]
    pub fn kind(&self) -> NodeKind {
        match self.0.node_type() {
            ARRAY => NodeKind::Array,
            _ => NodeKind::Group,
        }
    }

    /// Returns the same as a value.
    #[must_use]
    pub fn moved(&self) -> MovedNode {
        MovedNode {
            from: NodePath::from_checked(self.from()),
            to: NodePath::from_checked(self.to()),
            id: self.id(),
            kind: self.kind(),
        }
    }
}

debug_struct!(MovedNodeRecord<'_>, it => {
    from: it.from(),
    to: it.to(),
    id: it.id(),
    kind: it.kind(),
});

/// Compares two paths segment by segment, so that the prefix comes first.
fn compare(one: &str, other: &str) -> Ordering {
    one.split('/').cmp(other.split('/'))
}

/// Checks the rules of a list of moves: valid paths, known kinds, order, each node once.
pub(super) fn check<'a>(
    moves: impl ExactSizeIterator<Item = MovedNodeRecord<'a>>,
    file: FormatFile,
) -> Result<(), FormatError> {
    let mut ids = Vec::with_capacity(moves.len());
    let mut previous: Option<&str> = None;
    for (position, moved) in moves.enumerate() {
        for text in [moved.from(), moved.to()] {
            path::check(text).map_err(|source| FormatError::InvalidPath {
                file,
                position,
                source,
            })?;
        }
        let found = moved.0.node_type();
        if found > ARRAY {
            return Err(FormatError::UnknownNodeKind {
                file,
                position,
                found,
            });
        }
        if let Some(order) = previous.map(|previous| compare(previous, moved.to())) {
            order::check(order, file, SortedList::MovedNodes, position)?;
        }
        previous = Some(moved.to());
        ids.push(moved.id());
    }
    unique_ids(ids, file)
}

/// Puts moves into the order of the format and checks what reading would refuse.
pub(super) fn sort(moves: &mut [MovedNode], file: FormatFile) -> Result<(), FormatError> {
    moves.sort_unstable_by(|one, other| one.to.cmp_segments(&other.to));
    for (before, pair) in moves.windows(2).enumerate() {
        let order = pair[0].to.cmp_segments(&pair[1].to);
        order::check(order, file, SortedList::MovedNodes, before + 1)?;
    }
    unique_ids(moves.iter().map(|moved| moved.id).collect(), file)
}
