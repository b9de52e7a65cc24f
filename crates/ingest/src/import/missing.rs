//! Arrays that some sources lack: along the dimension, elements that read as missing stand in for theirs.
//!
//! ```text
//! /rain of a.nc     3 1 4 1        result   3 1 4 1 _ _ _ 5 9
//!          b.nc     lacks it                        missing, as `_FillValue` or NaN says
//!          c.nc     5 9
//! ```
//!
//! A source that lacks an array is wrapped and has it behind that, without chunks: nothing that comes later knows of it. An
//! array without the dimension needs no stand-in; the sources that have it must agree.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use icefield_core::{ArrayMetadata, NodeKind, NodePath, Session};
use serde_json::Value;

use super::builder::Import;
use super::choices::{Lacking, Missing};
use super::derived::{ArrayAt, ChunkStream, Derived, DerivedArray};
use super::opened::Opened;
use super::times::Documents;
use crate::packing::filled;
use crate::plan::{self, Along, REPOSITORY, document_error, length_of};
use crate::source::References;
use crate::{ChunkExtents, Hierarchy, ImportError, PlanError, Source, SourceError, SourceNode};

/// An array that some source may lack.
#[derive(Clone, Debug)]
struct Template {
    document: Bytes,
    array: ArrayMetadata,
    axis: Option<usize>,
    /// Whether sources are put behind it.
    is_there: bool,
}

/// The findings about arrays that sources lack.
#[derive(Clone, Debug, Default)]
pub(super) struct Completed {
    pub(super) lacking: Vec<Lacking>,
    /// Arrays without the dimension that some source lacks, by their paths in the repository.
    pub(super) optional: BTreeSet<NodePath>,
    /// The documents of the arrays that the first source lacks, by the paths of the sources.
    pub(super) documents: Documents,
}

impl Import {
    /// Gives sources the arrays along the dimension that they lack and others have, if they are to be filled.
    pub(super) fn complete(
        &self,
        session: &Session,
        dimension: &str,
        opened: &mut [Opened],
    ) -> Result<Completed, ImportError> {
        let mut completed = Completed::default();
        if self.missing == Missing::Refuse {
            return Ok(completed);
        }
        let templates = self.templates(session, dimension, opened)?;
        if self.append.is_some() {
            let new = templates.iter().filter(|(_, it)| !it.is_there);
            let new = new.map(|(path, template)| Lacking {
                path: path.clone(),
                source: REPOSITORY.to_owned(),
                is_filled: template.axis.is_some(),
            });
            completed.lacking.extend(new);
        }
        for (number, one) in opened.iter_mut().enumerate() {
            let mut added = BTreeMap::new();
            for (path, template) in &templates {
                if one.hierarchy.nodes.contains_key(path) {
                    continue;
                }
                let name = one.source.to_string();
                let mut lacks = |is_filled| {
                    completed.lacking.push(Lacking {
                        path: path.clone(),
                        source: name.clone(),
                        is_filled,
                    });
                };
                let Some(axis) = template.axis else {
                    lacks(false);
                    let target = plan::target_path(&self.group, path)?;
                    completed.optional.insert(target);
                    continue;
                };
                // Nothing can stand in for labels, nor be as long as nothing.
                let length = length_along(&one.hierarchy, dimension, path);
                let (Some(length), None) = (length, plan::coordinate(path, &template.array)) else {
                    continue;
                };
                let document = parsed(path, &template.document)?;
                let refused = |reason: String| PlanError::NotFilled {
                    path: path.clone(),
                    name: name.clone(),
                    reason,
                };
                let mut stands_in = filled(&document).map_err(|reason| {
                    refused(match template.is_there {
                        true => reason,
                        false => format!("{reason}; leave it out, with --drop {path}"),
                    })
                })?;
                stands_in["shape"][axis] = length.into();
                let node = SourceNode::of_value(&stands_in).map_err(refused)?;
                added.insert(path.clone(), node);
                lacks(true);
                if number == 0 && self.append.is_none() {
                    completed.documents.insert(path.clone(), document);
                }
            }
            one.stand_in(added);
        }
        Ok(completed)
    }

    /// The arrays of all sources, and those that are appended to, by the paths of the sources.
    fn templates(
        &self,
        session: &Session,
        dimension: &str,
        opened: &[Opened],
    ) -> Result<BTreeMap<NodePath, Template>, ImportError> {
        let along = Along {
            dimension,
            kept: None,
        };
        let mut templates = BTreeMap::new();
        if self.append.is_some() {
            for node in session.nodes(&self.group)? {
                let below = node.path.as_str().strip_prefix(self.group.as_str());
                let (Some(below), NodeKind::Array) = (below, node.kind) else {
                    continue;
                };
                let below = format!("/{}", below.trim_start_matches('/'));
                let Ok(path) = NodePath::parse(&below) else {
                    continue;
                };
                let document = session.metadata(&node.path)?.unwrap_or_default();
                let array = session.array(&node.path)?;
                let axis = along.axis(&path, &array)?;
                let template = Template {
                    document,
                    array,
                    axis,
                    is_there: true,
                };
                templates.insert(path, template);
            }
        }
        for (path, node) in opened.iter().flat_map(|one| &one.hierarchy.nodes) {
            if let (Some(array), false) = (node.array(), templates.contains_key(path)) {
                let template = Template {
                    document: node.document().clone(),
                    array: array.clone(),
                    axis: along.axis(path, array)?,
                    is_there: false,
                };
                templates.insert(path.clone(), template);
            }
        }
        Ok(templates)
    }
}

impl Opened {
    /// Gives the source arrays that it lacks.
    pub(super) fn stand_in(&mut self, added: BTreeMap<NodePath, SourceNode>) {
        if added.is_empty() {
            return;
        }
        let documents = added.iter();
        let documents = documents.map(|(path, node)| (path.clone(), node.document().clone()));
        self.stand_ins = documents.collect();
        let arrays = added
            .keys()
            .map(|path| (path.clone(), NoChunks(ChunkExtents::default())));
        let arrays = arrays.collect();
        self.hierarchy.nodes.extend(added);
        self.source = Derived::of(Arc::clone(&self.source), self.hierarchy.clone(), arrays);
    }
}

fn parsed(path: &NodePath, document: &[u8]) -> Result<Value, ImportError> {
    serde_json::from_slice(document).map_err(document_error(path))
}

/// Returns how long a source is along a dimension: as the arrays of the same group, or as others if none of those has it.
fn length_along(hierarchy: &Hierarchy, dimension: &str, near: &NodePath) -> Option<u64> {
    let lengths = hierarchy.nodes.iter().filter_map(|(path, node)| {
        let array = node.array()?;
        Some((path.parent() != near.parent(), length_of(array, dimension)?))
    });
    lengths.min_by_key(|(is_far, _)| *is_far).map(|(_, it)| it)
}

/// An array that a source lacks: it has no chunk.
#[derive(Debug)]
struct NoChunks(ChunkExtents);

#[async_trait]
impl DerivedArray for NoChunks {
    fn chunks(&self, _: ArrayAt<'_>) -> ChunkStream {
        stream::empty().boxed()
    }

    async fn read_chunk(
        &self,
        at: ArrayAt<'_>,
        index: &[u32],
        length: u64,
    ) -> Result<Bytes, SourceError> {
        let source = at.first();
        source.read_chunk(at.path, at.array, index, length).await
    }

    fn references<'a>(
        &'a self,
        _: &'a [Arc<dyn Source>],
        _: &NodePath,
    ) -> Result<References<'a>, String> {
        Ok(References {
            sources: Vec::new(),
            source: Vec::new(),
            extents: Cow::Borrowed(&self.0),
            made: Cow::Borrowed(&[]),
        })
    }

    fn is_at_hand(&self, _: &[Arc<dyn Source>], _: &NodePath) -> bool {
        true
    }

    fn state(parts: &[Arc<dyn Source>], _: &BTreeMap<NodePath, Self>) -> Option<String> {
        parts[0].state()
    }
}
