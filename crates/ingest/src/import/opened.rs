//! A source whose nodes were read, and what was changed of it since.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use icefield_core::{MetadataError, NodePath};
use serde_json::{Map, Value};

use super::converted::Taken;
use super::labels::{self, Label};
use super::origin::Origin;
use super::times::{self, Documents};
use crate::cf::Number;
use crate::document::with_attributes;
use crate::plan::document_error;
use crate::{Difference, Hierarchy, ImportError, Source, SourceError, SourceNode};

/// A source whose nodes are known.
#[derive(Debug)]
pub(super) struct Opened {
    /// The sources that it is made of.
    pub(super) origin: Origin,
    /// Documents of arrays that it lacks, which stand in for them.
    pub(super) stand_ins: BTreeMap<NodePath, Bytes>,
    /// Of its documents with converted times, before anything else of them is changed.
    pub(super) digest: u32,
    pub(super) source: Arc<dyn Source>,
    pub(super) hierarchy: Hierarchy,
    /// Arrays whose times are converted.
    pub(super) converted: Vec<NodePath>,
    /// Arrays whose numbers are stored otherwise, and the first thing in which they are.
    pub(super) reencoded: BTreeMap<NodePath, Difference>,
    /// The elements that are kept along the dimension, and of how many; `None` for all.
    pub(super) kept: Option<(Range<u64>, u64)>,
    /// The same for conversions, which were described before that was known.
    pub(super) taken: Arc<Taken>,
}

impl Opened {
    /// Returns a source of which nothing was changed yet.
    pub(super) fn new(origin: Origin, source: Arc<dyn Source>, hierarchy: Hierarchy) -> Self {
        Self {
            origin,
            stand_ins: BTreeMap::new(),
            digest: digest(&hierarchy),
            source,
            hierarchy,
            converted: Vec::new(),
            reencoded: BTreeMap::new(),
            kept: None,
            taken: Arc::default(),
        }
    }

    /// Converts its times to the units of the target, which has these documents at the same paths.
    pub(super) async fn convert(&mut self, targets: &Documents) -> Result<(), ImportError> {
        let (source, hierarchy) = (
            Arc::clone(&self.source),
            std::mem::take(&mut self.hierarchy),
        );
        let (source, hierarchy, converted) =
            times::converted(source, hierarchy, targets, &self.taken).await?;
        (self.source, self.hierarchy) = (source, hierarchy);
        for path in converted {
            if !self.converted.contains(&path) {
                self.converted.push(path);
            }
        }
        self.digest = digest(&self.hierarchy);
        Ok(())
    }

    /// Returns the coordinate along a dimension that lies nearest to the root.
    pub(super) fn coordinate(&self, dimension: &str) -> Option<Label> {
        let labels = labels::labels(&self.hierarchy, dimension).into_iter();
        labels
            .filter(|it| it.is_coordinate)
            .min_by_key(|it| it.path.as_str().matches('/').count())
    }

    /// Gives a node other attributes.
    pub(super) fn set_attributes(
        &mut self,
        path: &NodePath,
        attributes: &Map<String, Value>,
    ) -> Result<(), ImportError> {
        let Some(node) = self.hierarchy.nodes.get_mut(path) else {
            return Ok(());
        };
        let document = with_attributes(node.document(), attributes);
        let document = document.map_err(document_error(path))?;
        let refused = |error: MetadataError| {
            SourceError::variable(&self.source.to_string(), path, error.to_string())
        };
        *node = SourceNode::parse_made(document).map_err(refused)?;
        Ok(())
    }

    /// Reads the numbers of a coordinate.
    pub(super) async fn values(&self, path: &NodePath) -> Result<Option<Vec<Number>>, ImportError> {
        labels::of_source(&*self.source, &self.hierarchy, path).await
    }
}

/// Returns a number that is another one if the documents of a source are others.
fn digest(hierarchy: &Hierarchy) -> u32 {
    hierarchy.nodes.iter().fold(0, |sum, (path, node)| {
        let sum = crc32c::crc32c_append(sum, path.as_str().as_bytes());
        crc32c::crc32c_append(sum, node.document())
    })
}
