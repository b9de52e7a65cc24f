//! The serial model: what a hierarchy is, and what operations do to it.

use std::collections::BTreeMap;
use std::ops::Range;

use icefield_format::NodeId;
use serde_json::json;

use crate::test_suite::words::{array_with, group_with, path};
use crate::{ByteRange, NodeKind, NodePath, Session};

/// One node.
#[derive(Clone, Debug, Eq)]
pub(super) struct Node {
    /// Its real id, where it is known, which distinguishes a moved node from a new one. Comparisons of states ignore it.
    pub(super) id: Option<NodeId>,
    pub(super) attributes: BTreeMap<String, u64>,
    /// Of an array: its length, and the chunks that exist.
    pub(super) array: Option<(u64, BTreeMap<u32, u8>)>,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.attributes == other.attributes && self.array == other.array
    }
}

impl Node {
    /// Applies the change from `was` to `node` to this node.
    fn changed(mut self, was: &Self, node: &Self) -> Self {
        if was.array.is_some() != node.array.is_some() {
            // Another node stands there now.
            return node.clone();
        }
        for (name, value) in &node.attributes {
            if was.attributes.get(name) != Some(value) {
                self.attributes.insert(name.clone(), *value);
            }
        }
        let (Some((length, chunks)), Some((old, had)), Some((now, there))) =
            (&node.array, &was.array, &mut self.array)
        else {
            return self;
        };
        if length != old {
            *now = *length;
        }
        there.retain(|index, _| chunks.contains_key(index) || !had.contains_key(index));
        for (index, value) in chunks {
            if had.get(index) != Some(value) {
                there.insert(*index, *value);
            }
        }
        let length = *now;
        there.retain(|index, _| u64::from(*index) < length);
        self
    }

    pub(super) fn document(&self) -> String {
        let attributes = json!(self.attributes);
        match &self.array {
            None => group_with(attributes),
            Some((length, _)) => array_with(&[*length], &[1], attributes),
        }
    }
}

/// An edit of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Create(&'static str, Node),
    Delete(String),
    Resize(String, u64),
    SetAttribute(String, &'static str, u64),
    Chunk(String, u32, u8),
    NoChunk(String, u32),
    /// Erases a box.
    NoChunks(String, Range<u32>),
    Move(String, &'static str),
    /// All that a session had done when it was rebased, as what it made of the tip.
    Net(Box<Model>, Box<Model>),
}

impl Op {
    /// The chunks that it erases, of the array at this path.
    pub(super) fn erases(&self) -> Option<(&str, Range<u32>)> {
        match self {
            Self::NoChunk(path, index) => Some((path, *index..*index + 1)),
            Self::NoChunks(path, within) => Some((path, within.clone())),
            _ => None,
        }
    }
}

/// A whole hierarchy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Model(pub(super) BTreeMap<String, Node>);

fn below(path: &str, other: &str) -> bool {
    other.len() > path.len() && other.starts_with(path) && other.as_bytes()[path.len()] == b'/'
}

impl Model {
    fn parent_is_group(&self, path: &str) -> bool {
        let parent = &path[..path.rfind('/').unwrap_or(0)];
        parent.is_empty() || self.0.get(parent).is_some_and(|node| node.array.is_none())
    }

    fn subtree(&self, path: &str) -> Vec<String> {
        let inside = |other: &&String| *other == path || below(path, other);
        self.0.keys().filter(inside).cloned().collect()
    }

    /// Does what an operation does; `false` if it makes no sense here.
    #[must_use]
    pub(super) fn apply(&mut self, op: &Op) -> bool {
        match op {
            Op::Create(path, node) => {
                if let Some(there) = self.0.get(*path) {
                    // Equal and without chunks: it counts as created by both.
                    let bare = |node: &Node| node.array.as_ref().is_none_or(|it| it.1.is_empty());
                    return there.document() == node.document() && bare(there);
                }
                let fits = self.parent_is_group(path)
                    && (node.array.is_none() || self.subtree(path).is_empty());
                if fits {
                    self.0.insert((*path).to_owned(), node.clone());
                }
                fits
            }
            Op::Delete(path) => {
                for gone in self.subtree(path) {
                    self.0.remove(&gone);
                }
                true
            }
            Op::Resize(path, to) => {
                let Some((length, chunks)) = self.0.get_mut(path).and_then(|it| it.array.as_mut())
                else {
                    return false;
                };
                *length = *to;
                chunks.retain(|index, _| u64::from(*index) < *to);
                true
            }
            Op::SetAttribute(path, name, value) => match self.0.get_mut(path) {
                None => false,
                Some(node) => {
                    node.attributes.insert((*name).to_owned(), *value);
                    true
                }
            },
            Op::Chunk(path, index, value) => {
                let array = self.0.get_mut(path).and_then(|it| it.array.as_mut());
                match array {
                    Some((length, chunks)) if u64::from(*index) < *length => {
                        chunks.insert(*index, *value);
                        true
                    }
                    _ => false,
                }
            }
            Op::NoChunk(path, index) => {
                let array = self.0.get_mut(path).and_then(|it| it.array.as_mut());
                array.is_some_and(|(_, chunks)| {
                    chunks.remove(index);
                    true
                })
            }
            Op::NoChunks(path, within) => {
                let array = self.0.get_mut(path).and_then(|it| it.array.as_mut());
                array.is_some_and(|(_, chunks)| {
                    chunks.retain(|index, _| !within.contains(index));
                    true
                })
            }
            Op::Net(before, after) => match self.apply_net(before, after) {
                None => false,
                Some(state) => {
                    *self = state;
                    true
                }
            },
            Op::Move(from, to) => {
                let fits = self.0.contains_key(from)
                    && from != to
                    && !below(from, to)
                    && self.subtree(to).is_empty()
                    && self.parent_is_group(to);
                if fits {
                    for path in self.subtree(from) {
                        let node = self.0.remove(&path).expect("listed");
                        self.0.insert(format!("{to}{}", &path[from.len()..]), node);
                    }
                }
                fits
            }
        }
    }

    pub(super) fn apply_all(&self, ops: &[Op]) -> Option<Self> {
        let mut model = self.clone();
        ops.iter().all(|op| model.apply(op)).then_some(model)
    }

    /// Where the node with an id is, or else the one at a path.
    fn place(&self, id: Option<NodeId>, path: &str) -> String {
        let same = |(_, node): &(&String, &Node)| node.id.is_some() && node.id == id;
        let found = self.0.iter().find(same);
        found.map_or_else(|| path.to_owned(), |(place, _)| place.clone())
    }

    /// Does what leads from one state to another, node by node.
    pub(super) fn apply_net(&self, before: &Self, after: &Self) -> Option<Self> {
        let mut model = self.clone();
        let mut found = Vec::new();
        for (path, node) in &after.0 {
            let home = before.place(node.id, path);
            let old = before.0.get(&home);
            let old = old.filter(|old| old.id.is_none() || old.id == node.id);
            let Some(was) = old else {
                found.push((path.clone(), node, None, None));
                continue;
            };
            let at = self.place(was.id, &home);
            let there = model.0.remove(&at);
            let goes_to = if home == *path { at } else { path.clone() };
            found.push((goes_to, node, Some(was), there));
        }
        for (path, node) in &before.0 {
            let stays = after
                .0
                .values()
                .any(|other| other.id.is_some() && other.id == node.id);
            if !stays && (node.id.is_some() || !after.0.contains_key(path)) {
                let at = self.place(node.id, path);
                let same = model.0.get(&at).is_some_and(|there| {
                    there.id.is_none() || node.id.is_none() || there.id == node.id
                });
                if same {
                    model.0.remove(&at);
                }
            }
        }
        for (path, node, was, there) in found {
            let placed = match (was, there) {
                (None, _) => node.clone(),
                // Left as it was, by a session to which that was nothing.
                (Some(was), None) if was == node => continue,
                (Some(_), None) => return None,
                (Some(was), Some(there)) => there.changed(was, node),
            };
            if model.0.get(&path).is_some_and(|there| *there != placed) {
                return None;
            }
            model.0.insert(path, placed);
        }
        Some(model)
    }

    /// Reads the state that a session really shows.
    pub(super) async fn of(session: &Session) -> Self {
        let mut nodes = BTreeMap::new();
        for node in session.nodes(&NodePath::root()).expect("sound") {
            if node.path.is_root() {
                continue;
            }
            let document = session
                .metadata(&node.path)
                .expect("sound")
                .expect("listed");
            let document: serde_json::Value = serde_json::from_slice(&document).expect("JSON");
            let attributes = document["attributes"]
                .as_object()
                .expect("written by this test");
            let number = |value: &serde_json::Value| value.as_u64().expect("a number");
            let attributes = attributes
                .iter()
                .map(|(name, value)| (name.clone(), number(value)))
                .collect();
            let array = match node.kind {
                NodeKind::Group => None,
                NodeKind::Array => {
                    let length = number(&document["shape"][0]);
                    let mut chunks = BTreeMap::new();
                    for index in 0..length as u32 {
                        let at = path(node.path.as_str());
                        let chunk = session.chunk(&at, &[index], ByteRange::All).await;
                        if let Some(bytes) = chunk.expect("readable") {
                            chunks.insert(index, bytes[0]);
                        }
                    }
                    Some((length, chunks))
                }
            };
            let id = Some(node.id);
            let found = Node {
                id,
                attributes,
                array,
            };
            nodes.insert(node.path.to_string(), found);
        }
        Self(nodes)
    }
}
