//! Giving nodes another path.

use std::sync::Arc;

use icefield_format::NodePath;

use super::{Session, SessionState};
use crate::SessionError;
use crate::change_set::WrittenNode;

impl Session {
    /// Gives a node, and all that is below it, another path. No chunk is read or written, and no manifest:
    /// nodes keep their ids, and with them their chunks. In version 1 of the format, the log of the commit has them as nodes
    /// that went and came; from version 2 on it names the moves. Another session that changed the nodes under their
    /// old paths meanwhile collides with this one, or is carried over where nothing is lost by it.
    ///
    /// # Errors
    /// [`SessionError::NodeNotFound`] if there is nothing to move; [`SessionError::NoGroupToMoveInto`];
    /// [`SessionError::PathTaken`]; [`SessionError::MoveIntoItself`], also where it is already, and of the root always;
    /// [`SessionError::ParentIsArray`]; [`SessionError::MoveInFork`]; the reasons why a session cannot be written.
    pub async fn move_node(&self, from: &NodePath, to: &NodePath) -> Result<(), SessionError> {
        if self.is_fork() {
            return Err(SessionError::MoveInFork);
        }
        let _permit = self.begin_move().await?;
        let mut state = self.state_mut()?;
        state.phase.check_in_flight()?;
        if state.node(from)?.is_none() {
            return Err(SessionError::NodeNotFound { path: from.clone() });
        }
        if from.is_root() || from == to || from.is_ancestor_of(to) {
            let (from, to) = (from.clone(), to.clone());
            return Err(SessionError::MoveIntoItself { from, to });
        }
        if state.node(to)?.is_some() || state.paths_below(to).next().is_some() {
            return Err(SessionError::PathTaken { path: to.clone() });
        }
        let parent = to.parent().unwrap_or_else(NodePath::root);
        match state.node(&parent)? {
            // A hierarchy needs no node at its root.
            None if parent.is_root() => {}
            None => {
                let (path, group) = (to.clone(), parent);
                return Err(SessionError::NoGroupToMoveInto { path, group });
            }
            Some(node) if node.metadata.array().is_some() => {
                return Err(SessionError::ParentIsArray {
                    path: to.clone(),
                    array: parent,
                });
            }
            Some(_) => {}
        }
        let mut paths: Vec<NodePath> = state.paths_below(from).collect();
        paths.push(from.clone());
        // All is looked up before anything changes, so that an unreadable node changes nothing.
        let moves = paths
            .iter()
            .map(|path| Move::plan(&state, path, from, to))
            .collect::<Result<Vec<_>, _>>()?;
        for planned in moves.into_iter().flatten() {
            planned.carry_out(&mut state);
        }
        Ok(())
    }
}

/// One node on its way.
struct Move {
    from: NodePath,
    to: NodePath,
    node: WrittenNode,
    /// Where the base has the node, if it was not moved before.
    base: Option<NodePath>,
}

impl Move {
    fn plan(
        state: &SessionState,
        path: &NodePath,
        from: &NodePath,
        to: &NodePath,
    ) -> Result<Option<Self>, SessionError> {
        let (Some(found), Some(document)) = (state.node(path)?, state.document(path)) else {
            return Ok(None);
        };
        let tail = &path.as_str()[from.as_str().len()..];
        let target = NodePath::parse(&format!("{to}{tail}"))?;
        let base = match state.changes.created().contains_key(path) {
            true => None,
            false => Some(path.clone()),
        };
        Ok(Some(Self {
            from: path.clone(),
            to: target,
            node: WrittenNode {
                id: found.id,
                document,
                metadata: found.metadata,
            },
            base,
        }))
    }

    fn carry_out(self, state: &mut SessionState) {
        let home = state.changes.moved_from(&self.node.id) == Some(&self.to);
        let original = state.base.position(&self.to);
        let cut = original.is_some_and(|position| {
            let grid = state.base.grid_of(&self.node.id, &self.to);
            let cut = grid.is_some_and(|grid| state.changes.cuts(&self.node.id, &grid));
            cut && state.base.record(position).id() == self.node.id
        });
        // Chunks that were cut off on the way are a change, even if the metadata is equal.
        let changed = cut
            || original.is_none_or(|position| {
                state.base.record(position).user_data() != self.node.document
            });
        let changes = Arc::make_mut(&mut state.changes);
        match home {
            true => changes.move_back(&self.from, self.node, changed),
            false => changes.move_node(&self.from, &self.to, self.node, self.base.as_ref()),
        }
    }
}
