//! Snapshots and differences in the form in which Python gets them.

use std::collections::{BTreeMap, BTreeSet};

use icefield::{ChunkIndex, Diff, NodePath, SnapshotInfo, micros_of_time};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// The id, the id of the parent, the time in microseconds since 1970, the message, and the metadata (JSON object).
pub(crate) type SnapshotRow = (String, Option<String>, u64, String, String);

pub(crate) fn snapshot(info: SnapshotInfo) -> SnapshotRow {
    let metadata: serde_json::Map<_, _> = info.metadata.into_iter().collect();
    (
        info.id.to_string(),
        info.parent_id.map(|id| id.to_string()),
        micros_of_time(info.written_at),
        info.message,
        serde_json::Value::Object(metadata).to_string(),
    )
}

/// A difference, as a dictionary of lists.
pub(crate) struct DiffRow(pub(crate) Diff);

impl<'py> IntoPyObject<'py> for DiffRow {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        let row = PyDict::new(py);
        let diff = &self.0;
        for (name, paths) in [
            ("new_groups", &diff.new_groups),
            ("new_arrays", &diff.new_arrays),
            ("deleted_groups", &diff.deleted_groups),
            ("deleted_arrays", &diff.deleted_arrays),
            ("updated_groups", &diff.updated_groups),
            ("updated_arrays", &diff.updated_arrays),
        ] {
            let paths = paths.iter().map(NodePath::as_str);
            row.set_item(name, paths.collect::<Vec<_>>())?;
        }
        row.set_item("updated_chunks", chunks(py, &diff.updated_chunks)?)?;
        // In the order of transaction logs.
        let mut moved: Vec<_> = diff.moved_nodes.iter().collect();
        moved.sort_by(|(_, one), (_, other)| one.cmp_segments(other));
        let moved = moved.into_iter();
        let moved = moved.map(|(from, to)| (from.as_str(), to.as_str()));
        row.set_item("moved_nodes", moved.collect::<Vec<_>>())?;
        Ok(row)
    }
}

fn chunks<'py>(
    py: Python<'py>,
    chunks: &BTreeMap<NodePath, BTreeSet<ChunkIndex>>,
) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for (path, indices) in chunks {
        let list = PyList::empty(py);
        for index in indices {
            list.append(index.to_vec())?;
        }
        all.set_item(path.as_str(), list)?;
    }
    Ok(all)
}
