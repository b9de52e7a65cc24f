//! Finding the nodes: one pass over the directories that are no arrays.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use icefield_core::NodePath;

use super::names::{DOCUMENT, is_foreign, is_format_2};
use super::{MAX_DOCUMENT, Root};
use crate::{Hierarchy, Ignored, SourceError, SourceNode};

/// Directories still to look into; deep trees must not overflow the stack.
type Pending = Vec<(PathBuf, NodePath)>;

/// Reads all nodes below the root.
pub(super) fn hierarchy(root: &Root) -> Result<Hierarchy, SourceError> {
    let mut walk = Walk {
        root,
        nodes: BTreeMap::new(),
        ignored: Ignored::default(),
        pending: vec![(root.path.clone(), NodePath::root())],
    };
    while let Some((directory, path)) = walk.pending.pop() {
        walk.visit(&directory, path)?;
    }
    match walk.nodes.is_empty() {
        true => Err(SourceError::NoNodes {
            name: root.name.clone(),
        }),
        false => Ok(Hierarchy {
            nodes: walk.nodes,
            ignored: walk.ignored,
            warnings: Vec::new(),
        }),
    }
}

struct Walk<'a> {
    root: &'a Root,
    nodes: BTreeMap<NodePath, SourceNode>,
    ignored: Ignored,
    pending: Pending,
}

impl Walk<'_> {
    fn visit(&mut self, directory: &Path, path: NodePath) -> Result<(), SourceError> {
        let node = self.document(&directory.join(DOCUMENT))?;
        let is_node = node.is_some();
        if let Some(node) = node {
            let is_array = node.array().is_some();
            self.nodes.insert(path.clone(), node);
            if is_array {
                // What else is there are its chunks.
                return Ok(());
            }
        }
        self.enter(directory, &path, is_node)
    }

    fn document(&self, file: &Path) -> Result<Option<SourceNode>, SourceError> {
        let metadata = match fs::symlink_metadata(file) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.root.io_error(file, error)),
        };
        let name = || self.root.name_of(file);
        if metadata.is_symlink() {
            return Err(SourceError::Link { name: name() });
        }
        if !metadata.is_file() {
            return Err(SourceError::NoDocument { name: name() });
        }
        let limit = MAX_DOCUMENT as usize;
        if metadata.len() > MAX_DOCUMENT {
            return Err(SourceError::Metadata {
                name: name(),
                source: icefield_core::MetadataError::TooLong {
                    length: usize::try_from(metadata.len()).unwrap_or(usize::MAX),
                    limit,
                },
            });
        }
        let bytes = self.root.read(file, None)?;
        SourceNode::parse(bytes, limit)
            .map(Some)
            .map_err(|source| SourceError::Metadata {
                name: name(),
                source,
            })
    }

    fn enter(
        &mut self,
        directory: &Path,
        path: &NodePath,
        is_node: bool,
    ) -> Result<(), SourceError> {
        let fail = |error| self.root.io_error(directory, error);
        for entry in fs::read_dir(directory).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let (file, kind) = (entry.path(), entry.file_type().map_err(fail)?);
            let name = entry.file_name();
            let called = || self.root.name_of(&file);
            if name == DOCUMENT {
                continue;
            }
            if kind.is_symlink() {
                return Err(SourceError::Link { name: called() });
            }
            if !is_node && name.to_str().is_some_and(is_format_2) {
                return Err(SourceError::ZarrFormat2 { name: called() });
            }
            // `.a` and `a.partial` are legal names of nodes. What is a node is decided by its document, never
            // by its name alone.
            let is_foreign = name.to_str().is_none_or(is_foreign);
            if !kind.is_dir() || is_foreign && !self.root.has_document(&file)? {
                self.ignored.note(called());
                continue;
            }
            self.pending
                .push((file.clone(), child(path, &name, called)?));
        }
        Ok(())
    }
}

/// The path of a directory that is a node, or may have nodes below it.
fn child(
    path: &NodePath,
    name: &OsStr,
    called: impl Fn() -> String,
) -> Result<NodePath, SourceError> {
    let refused = |source| SourceError::NodeName {
        name: called(),
        source,
    };
    let name = name
        .to_str()
        .ok_or_else(|| refused("the name is not UTF-8".into()))?;
    path.join(name).map_err(|error| refused(error.into()))
}
