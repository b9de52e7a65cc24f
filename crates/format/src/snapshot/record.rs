//! Nodes as they are read in place from a snapshot's body.

use std::ops::Range;

use super::DimensionShape;
use crate::debug::debug_struct;
use crate::envelope::SpecVersion;
use crate::generated as fb;
use crate::id::{ManifestId, NodeId};
use crate::index::Extents;
use crate::path::NodePath;

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A group.
    Group,
    /// An array.
    Array,
}

/// One node, borrowed from its snapshot.
#[derive(Clone, Copy)]
pub struct NodeRecord<'a>(fb::NodeSnapshot<'a>, SpecVersion);

impl<'a> NodeRecord<'a> {
    pub(super) fn new(node: fb::NodeSnapshot<'a>, version: SpecVersion) -> Self {
        Self(node, version)
    }

    /// Returns the id that the node keeps for its life.
    #[must_use]
    pub fn id(&self) -> NodeId {
        NodeId::from_bytes(self.0.id().0)
    }

    /// Returns the path as text.
    #[must_use]
    pub fn path(&self) -> &'a str {
        self.0.path()
    }

    /// Returns the path.
    #[must_use]
    pub fn node_path(&self) -> NodePath {
        NodePath::from_checked(self.path())
    }

    /// Returns the exact bytes of the node's `zarr.json`.
    #[must_use]
    pub fn user_data(&self) -> &'a [u8] {
        self.0.user_data().bytes()
    }

    /// Tells what the node is.
    #[must_use]
    pub fn kind(&self) -> NodeKind {
        if self.0.node_data_type() == fb::NodeData::Array {
            NodeKind::Array
        } else {
            NodeKind::Group
        }
    }

    /// Returns what only arrays have.
    #[must_use]
    pub fn array(&self) -> Option<ArrayRecord<'a>> {
        let array = self.0.node_data_as_array()?;
        Some(ArrayRecord::new(array, self.1))
    }

    /// Returns what a later version of the format may have put into the reserved field `extra`.
    #[must_use]
    pub fn extra(&self) -> Option<&'a [u8]> {
        self.0.extra().map(|extra| extra.bytes())
    }
}

debug_struct!(NodeRecord<'_>, it => {
    id: it.id(),
    path: it.path(),
    array: it.array(),
});

/// The data of an array beyond that of other nodes, borrowed from its snapshot.
#[derive(Clone, Copy)]
pub struct ArrayRecord<'a>(fb::ArrayNodeData<'a>, SpecVersion);

/// The dimensions of an array, as the version of the file has them.
#[derive(Clone, Copy)]
enum Shape<'a> {
    V1(flatbuffers::Vector<'a, fb::DimensionShape>),
    V2(flatbuffers::Vector<'a, flatbuffers::ForwardsUOffset<fb::DimensionShapeV2<'a>>>),
}

impl Shape<'_> {
    fn len(self) -> usize {
        match self {
            Self::V1(shape) => shape.len(),
            Self::V2(shape) => shape.len(),
        }
    }

    fn get(self, at: usize) -> DimensionShape {
        match self {
            Self::V1(shape) => {
                let dimension = shape.get(at);
                DimensionShape::regular(dimension.array_length(), dimension.chunk_length())
            }
            Self::V2(shape) => {
                let dimension = shape.get(at);
                DimensionShape::counted(dimension.array_length(), dimension.num_chunks())
            }
        }
    }
}

impl<'a> ArrayRecord<'a> {
    pub(super) fn new(array: fb::ArrayNodeData<'a>, version: SpecVersion) -> Self {
        Self(array, version)
    }

    fn dimensions(&self) -> Shape<'a> {
        match self.0.shape_v2() {
            Some(shape) if self.1 == SpecVersion::V2 => Shape::V2(shape),
            _ => Shape::V1(self.0.shape()),
        }
    }

    /// Returns the number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.dimensions().len()
    }

    /// Returns the dimensions, outermost first.
    pub fn shape(&self) -> impl ExactSizeIterator<Item = DimensionShape> + use<'a> {
        let shape = self.dimensions();
        (0..shape.len()).map(move |at| shape.get(at))
    }

    /// Returns the names of the dimensions, if the array has any; each may be missing by itself.
    #[must_use]
    pub fn dimension_names(
        &self,
    ) -> Option<impl ExactSizeIterator<Item = Option<&'a str>> + use<'a>> {
        let names = self.0.dimension_names()?;
        // An empty name means a missing one; writers store it as absent.
        let name = move |at| names.get(at).name().filter(|name| !name.is_empty());
        Some((0..names.len()).map(name))
    }

    /// Returns the number of manifests with chunk refs of this array.
    #[must_use]
    pub fn manifest_count(&self) -> usize {
        self.0.manifests().len()
    }

    /// Returns those manifests, in no particular order.
    pub fn manifests(&self) -> impl ExactSizeIterator<Item = ManifestRefRecord<'a>> + use<'a> {
        let manifests = self.0.manifests();
        (0..manifests.len()).map(move |at| ManifestRefRecord(manifests.get(at)))
    }
}

debug_struct!(ArrayRecord<'_>, it => {
    shape: it.shape().collect::<Vec<_>>(),
    dimension_names: it.dimension_names().map(Iterator::collect::<Vec<_>>),
    manifests: it.manifests().collect::<Vec<_>>(),
});

/// An array's pointer to one manifest, borrowed from its snapshot.
#[derive(Clone, Copy)]
pub struct ManifestRefRecord<'a>(fb::ManifestRef<'a>);

impl<'a> ManifestRefRecord<'a> {
    pub(super) fn new(manifest: fb::ManifestRef<'a>) -> Self {
        Self(manifest)
    }

    /// Returns the id of the manifest.
    #[must_use]
    pub fn id(&self) -> ManifestId {
        ManifestId::from_bytes(self.0.object_id().0)
    }

    /// Returns the number of dimensions of the extents.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.0.extents().len()
    }

    /// Returns the box around this array's refs in the manifest, without allocating.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = Range<u32>> + use<'a> {
        let extents = self.0.extents();
        (0..extents.len()).map(move |at| extents.get(at).from()..extents.get(at).to())
    }

    /// Returns the box around this array's refs in the manifest.
    #[must_use]
    pub fn extents(&self) -> Extents {
        self.ranges().collect()
    }

    /// Tells whether a chunk, if it exists, is in this manifest.
    ///
    /// Extents and coordinates of different ranks are compared in the dimensions that both have, as the
    /// reference does: where it has accepted chunks of a wrong rank, the extents have the smallest one.
    #[must_use]
    pub fn contains(&self, index: &[u32]) -> bool {
        self.ranges()
            .zip(index)
            .all(|(range, at)| range.contains(at))
    }
}

debug_struct!(ManifestRefRecord<'_>, it => {
    id: it.id(),
    extents: it.extents(),
});
