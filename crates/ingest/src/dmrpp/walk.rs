//! Goes through the groups of a document.

use std::collections::{BTreeMap, HashMap};

use icefield_core::NodePath;
use roxmltree::Node;
use serde_json::Map;

use super::attributes;
use super::declarations::{Declarations, find};
use super::places::Places;
use super::types::Number;
use super::variable;
use super::xml::{Unreadable, children, is_of_dap, named, number};
use crate::archive::phony::{self, Along, Axis};
use crate::archive::values::child;
use crate::{
    Archive, ArchiveArray, ArchiveChunks, ArchiveFile, ArchiveNode, OpenUrl, SourceError,
    Unsupported,
};

/// Groups within groups.
const MAX_DEPTH: usize = 64;

/// The nodes found so far.
pub(super) struct Reader<'a> {
    /// The name of the document in messages.
    name: &'a str,
    lists_unsupported: bool,
    declarations: Declarations,
    nodes: BTreeMap<NodePath, ArchiveNode>,
    unsupported: Vec<Unsupported>,
    /// Lengths of dimensions by path.
    dimensions: HashMap<NodePath, u64>,
    along: Vec<Along>,
    /// The dimensions that have names, with their groups.
    named: Vec<(NodePath, Axis)>,
}

/// Reads a whole document.
pub(super) fn read<'a>(
    root: Node<'_, '_>,
    name: &'a str,
    lists_unsupported: bool,
) -> Result<Reader<'a>, SourceError> {
    if root.tag_name().name() != "Dataset" {
        let problem = format!(
            "it is XML, and begins with {} instead of the Dataset of a DMR++ document",
            root.tag_name().name()
        );
        return Err(SourceError::damaged(name, problem));
    }
    let attribute = |name: &str| {
        let mut all = root.attributes();
        all.find(|it| it.name() == name && it.namespace().is_some())
            .map(|it| it.value())
    };
    let mut reader = Reader {
        name,
        lists_unsupported,
        declarations: Declarations {
            is_versioned: attribute("version").is_some(),
            places: Places::new(name, attribute("href")),
            enumerations: HashMap::new(),
        },
        nodes: BTreeMap::new(),
        unsupported: Vec::new(),
        dimensions: HashMap::new(),
        along: Vec::new(),
        named: Vec::new(),
    };
    reader.group(&NodePath::root(), root, 0)?;
    reader.name_dimensions();
    Ok(reader)
}

impl Reader<'_> {
    fn group(
        &mut self,
        path: &NodePath,
        node: Node<'_, '_>,
        depth: usize,
    ) -> Result<(), SourceError> {
        if depth > MAX_DEPTH {
            return Err(self.damaged("its groups lie too deep in each other"));
        }
        let attributes = attributes::read(node);
        let attributes =
            attributes.map_err(|reason| SourceError::variable(self.name, path, reason))?;
        self.insert(path.clone(), ArchiveNode::Group(attributes))?;
        for child in children(node) {
            match child.tag_name().name() {
                "Dimension" => {
                    let size = child
                        .attribute("size")
                        .and_then(|it| it.trim().parse().ok());
                    let at = self.child(path, child)?;
                    let size = size
                        .ok_or_else(|| self.damaged(format!("its dimension {at} has no size")))?;
                    let axis = Axis {
                        length: size,
                        is_unlimited: false,
                        name: named(child).map(str::to_owned),
                    };
                    self.named.push((path.clone(), axis));
                    self.dimensions.insert(at, size);
                }
                "Enumeration" => self.add_enumeration(path, child)?,
                _ => {}
            }
        }
        for child in children(node) {
            match child.tag_name().name() {
                "Dimension" | "Enumeration" | "Attribute" => {}
                "Group" => {
                    let at = self.child(path, child)?;
                    self.group(&at, child, depth + 1)?;
                }
                _ if is_of_dap(child) => self.variable(path, child)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn variable(&mut self, group: &NodePath, node: Node<'_, '_>) -> Result<(), SourceError> {
        let path = self.child(group, node)?;
        let read = self.axes(group, node).and_then(|axes| {
            let shape = axes.iter().map(|axis| axis.length).collect();
            Ok((
                variable::array(&mut self.declarations, &path, node, shape)?,
                axes,
            ))
        });
        let (array, axes) = match read {
            Ok(read) => read,
            Err(Unreadable::Damaged(problem)) => {
                return Err(self.damaged(format!("its variable {path} {problem}")));
            }
            Err(Unreadable::Refused(reason)) => {
                let refused = SourceError::variable(self.name, &path, reason);
                if !self.lists_unsupported {
                    return Err(refused);
                }
                self.unsupported.push(Unsupported::of(refused)?);
                return Ok(());
            }
        };
        self.along.push(Along {
            path: path.clone(),
            axes,
        });
        self.insert(path, ArchiveNode::Array(Box::new(array)))
    }

    /// Returns the dimensions of a variable.
    fn axes(&self, group: &NodePath, node: Node<'_, '_>) -> Result<Vec<Axis>, Unreadable> {
        let all = children(node).filter(|it| it.tag_name().name() == "Dim");
        let axis = |it: Node<'_, '_>| {
            let name = named(it);
            let own = it.attribute("size").map(number).transpose()?;
            let shared = name.and_then(|name| find(&self.dimensions, group, name));
            let length = own.or(shared.copied()).ok_or_else(|| {
                Unreadable::Damaged(format!(
                    "has a dimension {:?} that is not there",
                    name.unwrap_or_default()
                ))
            })?;
            let last = name.and_then(|name| name.rsplit('/').next());
            Ok(Axis {
                length,
                is_unlimited: false,
                name: last.filter(|it| !it.is_empty()).map(str::to_owned),
            })
        };
        all.map(axis).collect()
    }

    fn add_enumeration(&mut self, group: &NodePath, node: Node<'_, '_>) -> Result<(), SourceError> {
        let path = self.child(group, node)?;
        let number = Number::of(node.attribute("basetype").unwrap_or("Byte"));
        let wrong = || self.damaged(format!("its enumeration {path} is of no integers"));
        let number = number.filter(|it| !matches!(it, Number::Float(_)));
        let number = number.ok_or_else(wrong)?;
        let mut members = Map::new();
        for constant in children(node).filter(|it| it.tag_name().name() == "EnumConst") {
            let value = constant.attribute("value").and_then(|it| number.value(it));
            let (Some(name), Some(value)) = (named(constant), value) else {
                return Err(wrong());
            };
            members.insert(name.to_owned(), value);
        }
        self.declarations
            .enumerations
            .insert(path, (number, members));
        Ok(())
    }

    fn child(&self, parent: &NodePath, node: Node<'_, '_>) -> Result<NodePath, SourceError> {
        let kind = node.tag_name().name();
        let Some(name) = named(node) else {
            return Err(self.damaged(format!("an element {kind} of {parent} has no name")));
        };
        child(parent, name).map_err(|source| SourceError::NodeName {
            name: format!("the {kind} {name:?} of {}", self.name),
            source,
        })
    }

    fn insert(&mut self, path: NodePath, node: ArchiveNode) -> Result<(), SourceError> {
        let problem = format!("it has two nodes {path}");
        match self.nodes.insert(path, node) {
            None => Ok(()),
            Some(_) => Err(self.damaged(problem)),
        }
    }

    fn name_dimensions(&mut self) {
        phony::name(&mut self.along, &self.named);
        for along in std::mem::take(&mut self.along) {
            if let Some(ArchiveNode::Array(array)) = self.nodes.get_mut(&along.path) {
                array.dimension_names = along.axes.into_iter().map(|axis| axis.name).collect();
            }
        }
    }

    fn damaged(&self, problem: impl Into<String>) -> SourceError {
        SourceError::damaged(self.name, problem)
    }

    /// Opens the files, and checks that all chunks lie in them.
    pub(super) async fn into_archive(
        self,
        name: &str,
        files: &dyn OpenUrl,
    ) -> Result<Archive, SourceError> {
        let opened = self.declarations.places.open(files).await?;
        for (path, node) in &self.nodes {
            if let ArchiveNode::Array(array) = node {
                check(array, &opened).map_err(|problem| {
                    SourceError::damaged(name, format!("its variable {path} {problem}"))
                })?;
            }
        }
        Ok(Archive {
            files: opened,
            nodes: self.nodes,
            unsupported: self.unsupported,
            ..Archive::default()
        })
    }
}

/// Checks that chunks lie in their files.
fn check(array: &ArchiveArray, files: &[ArchiveFile]) -> Result<(), String> {
    let (ArchiveChunks::InFiles(extents) | ArchiveChunks::Recoded { extents, .. }) = &array.chunks
    else {
        return Ok(());
    };
    for row in extents.rows() {
        let Some(file) = files.get(row.file as usize) else {
            continue;
        };
        let end = row.offset.checked_add(row.length);
        if end.is_none_or(|end| end > file.size()) {
            let (length, offset, size) = (row.length, row.offset, file.size());
            return Err(format!(
                "has a chunk of {length} bytes from byte {offset} of {}, which has {size} bytes",
                file.url()
            ));
        }
    }
    Ok(())
}
