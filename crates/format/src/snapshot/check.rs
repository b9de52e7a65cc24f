//! The rules of a snapshot beyond its encoding.

use super::record::{ArrayRecord, ManifestRefRecord};
use super::{ManifestFiles, Snapshot};
use crate::envelope::SpecVersion;
use crate::error::{FormatError, SortedList};
use crate::generated as fb;
use crate::id::{ManifestId, NodeId};
use crate::index::MAX_RANK;
use crate::order::{ascending, unique_ids};
use crate::path;

pub(super) fn check(snapshot: &Snapshot) -> Result<(), FormatError> {
    let (root, file) = (snapshot.root(), snapshot.file());
    let version = snapshot.version;
    if version == SpecVersion::V2 && root.manifest_files_v2().is_none() {
        let field = "manifest_files_v2";
        return Err(FormatError::MissingField { file, field });
    }
    if snapshot.parent_id() == Some(snapshot.id()) {
        return Err(FormatError::OwnParent { file });
    }
    let metadata = root.metadata();
    ascending(metadata.len(), file, SortedList::Metadata, |at| {
        metadata.get(at).name().as_bytes()
    })?;
    let files = snapshot.files();
    if let ManifestFiles::V2(files) = files
        && files.iter().any(|info| info.id().is_none())
    {
        let field = "id of a manifest file";
        return Err(FormatError::MissingField { file, field });
    }
    ascending(files.len(), file, SortedList::ManifestFiles, |at| {
        files.id(at)
    })?;
    let nodes = root.nodes();
    ascending(nodes.len(), file, SortedList::Nodes, |at| {
        nodes.get(at).path().as_bytes()
    })?;
    let mut ids = Vec::with_capacity(nodes.len());
    for (position, node) in nodes.iter().enumerate() {
        path::check(node.path()).map_err(|source| FormatError::InvalidPath {
            file,
            position,
            source,
        })?;
        ids.push(NodeId::from_bytes(node.id().0));
        match (node.node_data_type(), node.node_data_as_array()) {
            (fb::NodeData::Array, Some(array)) => check_array(snapshot, ids[position], array)?,
            (fb::NodeData::Group, _) => {}
            (other, _) => {
                return Err(FormatError::UnknownNodeKind {
                    file,
                    position,
                    found: other.0,
                });
            }
        }
    }
    unique_ids(ids, file)
}

fn check_array(
    snapshot: &Snapshot,
    node: NodeId,
    array: fb::ArrayNodeData<'_>,
) -> Result<(), FormatError> {
    let file = snapshot.file();
    if snapshot.version == SpecVersion::V2 && array.shape_v2().is_none() {
        let field = "shape_v2";
        return Err(FormatError::MissingField { file, field });
    }
    let rank = ArrayRecord::new(array, snapshot.version).rank();
    let within_limit = |found: usize| match found > MAX_RANK {
        true => Err(FormatError::RankTooLarge { file, node, found }),
        false => Ok(()),
    };
    within_limit(rank)?;
    if let Some(names) = array.dimension_names()
        && names.len() != rank
    {
        return Err(FormatError::RankMismatch {
            file,
            node,
            expected: rank,
            found: names.len(),
        });
    }
    for manifest in array.manifests().iter().map(ManifestRefRecord::new) {
        // Not compared with the array's rank: the reference accepts chunks with coordinates of a wrong
        // rank, and then writes extents of the smallest one.
        within_limit(manifest.rank())?;
        if manifest.ranges().any(|range| range.start > range.end) {
            return Err(FormatError::InvertedExtents { file, node });
        }
        let id: ManifestId = manifest.id();
        if snapshot.manifest_file(&id).is_none() {
            return Err(FormatError::UnlistedManifest {
                file,
                node,
                manifest: id,
            });
        }
    }
    Ok(())
}
