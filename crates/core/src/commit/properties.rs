//! The items that icefield itself records in the metadata of commits.

use std::collections::{BTreeMap, BTreeSet};

use icefield_format::NodeId;
use icefield_refs::SnapshotInfo;
use serde_json::Value;

use crate::change_set::ChangeSet;

/// The item of a commit's metadata that names the rules by which it rewrote manifests.
pub const SPLITTING_CONFIG: &str = "splitting_config";

/// Under this name the metadata of a commit holds the id of the snapshot that was merged by it.
pub const MERGED_SNAPSHOT: &str = "icefield_merged";

/// The property of a snapshot that lists arrays whose chunks it shifted, by node id. Logs do not tell a shift from writes,
/// and where an array has no chunks yet, they tell nothing.
const SHIFTED_ARRAYS: &str = "icefield.shifted-arrays";

/// Says which arrays a change set shifts, for the properties of its snapshot.
pub(super) fn note_shifts(changes: &ChangeSet, properties: &mut BTreeMap<String, Value>) {
    let shifted = changes.views().iter().filter(|(_, it)| it.is_shifted());
    let shifted: Vec<Value> = shifted.map(|(node, _)| node.to_string().into()).collect();
    if !shifted.is_empty() {
        properties.insert(SHIFTED_ARRAYS.to_owned(), shifted.into());
    }
}

/// Says of a snapshot that takes the place of another one which arrays that one shifted, too.
pub(super) fn note_earlier_shifts(
    earlier: &SnapshotInfo,
    properties: &mut BTreeMap<String, Value>,
) {
    let mut all = shifted_in(properties);
    all.extend(shifted_arrays(earlier));
    if !all.is_empty() {
        let all: Vec<Value> = all.iter().map(|node| node.to_string().into()).collect();
        properties.insert(SHIFTED_ARRAYS.to_owned(), all.into());
    }
}

/// Returns which arrays a commit shifted, as far as its snapshot says it.
pub(crate) fn shifted_arrays(snapshot: &SnapshotInfo) -> BTreeSet<NodeId> {
    shifted_in(&snapshot.metadata)
}

fn shifted_in(properties: &BTreeMap<String, Value>) -> BTreeSet<NodeId> {
    let listed = properties.get(SHIFTED_ARRAYS);
    let listed = listed.and_then(Value::as_array).into_iter().flatten();
    listed
        .filter_map(|node| node.as_str()?.parse().ok())
        .collect()
}
