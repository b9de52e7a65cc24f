//! Finding the nodes: one pass over the directories that are no arrays.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use futures::TryStreamExt;
use icefield_core::NodePath;
use icefield_zarr_fs::{RawEntry, RawKind, TreeError, TreePrefix};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Root;
use crate::consolidated;
use crate::formats::is_format_2;
use crate::lossy::{self, Lossy};
use crate::names::{DOCUMENT, MAX_DOCUMENT, is_foreign};
use crate::zarr2::quoted_json;
use crate::{Hierarchy, Ignored, SourceError, SourceNode};

/// Directories still to look into; deep trees must not overflow the stack.
type Pending = Vec<(TreePrefix, NodePath)>;

/// Reads all nodes below the root.
pub(super) async fn hierarchy(root: &Root) -> Result<Hierarchy, SourceError> {
    let mut walk = TreeWalk {
        root,
        nodes: BTreeMap::new(),
        copies: BTreeMap::new(),
        adopted: BTreeSet::new(),
        lossy: Vec::new(),
        ignored: Ignored::default(),
        pending: vec![(TreePrefix::all(), NodePath::root())],
    };
    while let Some((directory, path)) = walk.pending.pop() {
        walk.visit(&directory, path).await?;
    }
    match walk.nodes.is_empty() {
        true => Err(SourceError::NoNodes {
            name: root.name_of(""),
        }),
        false => Ok(Hierarchy {
            warnings: walk.warnings(),
            nodes: walk.nodes,
            ignored: walk.ignored,
            unsupported: Vec::new(),
        }),
    }
}

/// The key of a node's document.
fn key(path: &NodePath) -> String {
    match &path.as_str()[1..] {
        "" => DOCUMENT.to_owned(),
        path => format!("{path}/{DOCUMENT}"),
    }
}

/// The contents of a document that was read as JSON before.
fn json(document: &[u8]) -> Value {
    serde_json::from_slice(document).unwrap_or_default()
}

/// The members of an object, as the text has them; none of what is no object.
fn members(text: &[u8]) -> BTreeMap<String, &RawValue> {
    serde_json::from_slice(text).unwrap_or_default()
}

/// Returns the member of an object by its name.
fn member<'a>(text: &'a [u8], name: &str) -> &'a [u8] {
    members(text)
        .remove(name)
        .map_or(&[][..], |it| it.get().as_bytes())
}

struct TreeWalk<'a> {
    root: &'a Root,
    nodes: BTreeMap<NodePath, SourceNode>,
    /// The consolidated documents of nodes below groups, byte for byte.
    copies: BTreeMap<NodePath, Bytes>,
    /// Directories without a document that are nodes by such a copy.
    adopted: BTreeSet<NodePath>,
    /// Attributes with numbers that JSON lacks.
    lossy: Vec<Lossy>,
    ignored: Ignored,
    pending: Pending,
}

impl TreeWalk<'_> {
    async fn visit(&mut self, directory: &TreePrefix, path: NodePath) -> Result<(), SourceError> {
        let mut node = self.document(directory).await?;
        if node.is_none()
            && let Some(copy) = self.copies.get(&path).cloned()
            && self.has_files(directory).await?
        {
            node = Some(self.copied(directory, copy)?);
            self.adopted.insert(path.clone());
        }
        let is_node = node.is_some();
        if let Some(node) = node {
            let is_array = node.array().is_some();
            if !is_array {
                self.note_copies(&path, node.document());
            }
            self.nodes.insert(path.clone(), node);
            if is_array {
                // All other entries are its chunks.
                return Ok(());
            }
        }
        self.enter(directory, &path, is_node).await
    }

    /// Returns whether anything but directories lies below one.
    async fn has_files(&self, directory: &TreePrefix) -> Result<bool, SourceError> {
        let mut entries = self.root.0.raw_entries(directory, |_| true);
        let fail = |error| self.root.explained(directory.as_str(), error);
        while let Some(entry) = entries.try_next().await.map_err(fail)? {
            if entry.kind != RawKind::Directory {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn document(
        &mut self,
        directory: &TreePrefix,
    ) -> Result<Option<SourceNode>, SourceError> {
        let key = directory.key(DOCUMENT);
        let key = key.map_err(|error| self.root.explained(directory.as_str(), error))?;
        let name = || self.root.name_of(key.as_str());
        let limit = MAX_DOCUMENT as usize;
        let refused = |source| SourceError::Metadata {
            name: name(),
            source,
        };
        match self.root.0.get_sized(&key, 0..=MAX_DOCUMENT).await {
            Ok(None) => Ok(None),
            Ok(Some(bytes)) => {
                let bytes = match quoted_json(&bytes) {
                    Some(quoted) => {
                        let found = lossy::of_parsed(key.as_str(), &json(&quoted), true, false);
                        self.lossy.extend(found);
                        quoted.into()
                    }
                    None => bytes,
                };
                SourceNode::parse(bytes, limit).map(Some).map_err(refused)
            }
            Err(TreeError::NotAFile { .. }) => Err(SourceError::NoDocument { name: name() }),
            Err(TreeError::Size { size, .. }) => {
                let length = usize::try_from(size).unwrap_or(usize::MAX);
                Err(refused(icefield_core::MetadataError::TooLong {
                    length,
                    limit,
                }))
            }
            Err(error) => Err(self.root.explained(key.as_str(), error)),
        }
    }

    /// Notes what a group's document says of the nodes below it. Of two copies, that of the upper group counts.
    fn note_copies(&mut self, group: &NodePath, document: &[u8]) {
        let copies = member(member(document, consolidated::MEMBER), "metadata");
        for (path, copy) in members(copies) {
            if let Ok(path) = group.join(path.trim_matches('/')) {
                let copy = || Bytes::copy_from_slice(copy.get().as_bytes());
                self.copies.entry(path).or_insert_with(copy);
            }
        }
    }

    /// The node that a copy describes, whose directory has no document.
    fn copied(&self, directory: &TreePrefix, copy: Bytes) -> Result<SourceNode, SourceError> {
        let refused = |source| SourceError::Metadata {
            name: self
                .root
                .name_of(&format!("{}{DOCUMENT}", directory.as_str())),
            source,
        };
        SourceNode::parse(copy, MAX_DOCUMENT as usize).map_err(refused)
    }

    /// Returns the warnings of an import.
    fn warnings(&mut self) -> Vec<String> {
        let adopted: Vec<String> = self.adopted.iter().map(key).collect();
        let mut warnings = lossy::warnings(std::mem::take(&mut self.lossy), adopted.iter());
        warnings.extend(self.parted());
        warnings
    }

    /// Says where the consolidated metadata and the documents part.
    fn parted(&self) -> Vec<String> {
        if self.copies.is_empty() {
            return Vec::new();
        }
        let own = self
            .nodes
            .iter()
            .filter(|(path, _)| !self.adopted.contains(*path));
        let mut documents = own
            .map(|(path, node)| (key(path), json(node.document())))
            .collect();
        let is_adopted = |node: &str| {
            NodePath::parse(&format!("/{node}")).is_ok_and(|path| self.adopted.contains(&path))
        };
        consolidated::reconcile_inline(&mut documents, is_adopted, |key| self.root.name_of(key))
    }

    async fn enter(
        &mut self,
        directory: &TreePrefix,
        path: &NodePath,
        is_node: bool,
    ) -> Result<(), SourceError> {
        let own = directory.as_str().len();
        // A directory whose name no node can have is looked through only to see whether it, or something below it, should
        // be one.
        let is_direct = move |entry: &RawEntry| !entry.path[own..].contains('/');
        let look = move |entry: &RawEntry| !(entry.is_utf8 && is_direct(entry));
        let mut entries = self.root.0.raw_entries(directory, look);
        let fail = |error| self.root.explained(directory.as_str(), error);
        while let Some(entry) = entries.try_next().await.map_err(fail)? {
            let called = || self.root.name_of(&entry.path);
            let name = entry.name();
            if !is_direct(&entry) {
                if name == DOCUMENT {
                    let above = entry.path.rsplit_once('/').map_or("", |(above, _)| above);
                    return Err(SourceError::NodeName {
                        name: self.root.name_of(above),
                        source: "the name is not UTF-8".into(),
                    });
                }
                continue;
            }
            if name == DOCUMENT {
                if is_node {
                    continue;
                }
                return Err(match entry.kind {
                    RawKind::Directory => SourceError::NoDocument { name: called() },
                    // It was not there a moment ago.
                    _ => SourceError::Changed { name: called() },
                });
            }
            if entry.kind == RawKind::Link {
                return Err(SourceError::Link { name: called() });
            }
            if !is_node && is_format_2(name) {
                return Err(SourceError::ZarrFormat2 { name: called() });
            }
            // `.a` and `a.partial` are legal names of nodes. What is a node is decided by its document, never
            // by its name alone.
            let may_be_node = entry.kind == RawKind::Directory
                && entry.is_utf8
                && (!is_foreign(name) || self.root.has_document(&entry.path).await?);
            if !may_be_node {
                self.ignored.note(called());
                continue;
            }
            let refused = |source| SourceError::NodeName {
                name: called(),
                source,
            };
            let child = path.join(name).map_err(|error| refused(error.into()))?;
            let below = directory.join(name);
            let below = below.map_err(|error| self.root.explained(&entry.path, error))?;
            self.pending.push((below, child));
        }
        Ok(())
    }
}
