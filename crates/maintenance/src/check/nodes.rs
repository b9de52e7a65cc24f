//! The nodes of a snapshot: each has its group above it, and a `zarr.json` that says what the snapshot says.

use icefield_core::NodeMetadata;
use icefield_format::{ArrayRecord, NodeKind, NodePath, NodeRecord, Snapshot, layout};
use icefield_storage::with_causes;

use super::finding::{Finding, FindingKind};

/// Checks the nodes that are not as the parent has them.
pub(super) fn check(snapshot: &Snapshot, parent: Option<&Snapshot>, findings: &mut Vec<Finding>) {
    for record in snapshot.nodes() {
        let path = record.node_path();
        let before = parent.and_then(|parent| parent.node(&path));
        let before = before.filter(|before| before.id() == record.id());
        if !before.is_some_and(|before| is_same(&before, &record)) {
            metadata(snapshot, record, findings);
        }
        let told = |lack: fn(&Snapshot, &NodePath) -> bool| {
            before.is_some() && parent.is_some_and(|parent| lack(parent, &path))
        };
        if below_array(snapshot, &path) {
            if !told(below_array) {
                let rule = "arrays have no children";
                findings.push(finding(
                    FindingKind::NodeBelowArray,
                    snapshot,
                    &record,
                    rule,
                ));
            }
        } else if without_parent(snapshot, &path) && !told(without_parent) {
            let group = path.parent().unwrap_or_else(NodePath::root);
            let rule = format!("there is no group {group}");
            findings.push(finding(
                FindingKind::NodeWithoutParent,
                snapshot,
                &record,
                rule,
            ));
        }
    }
}

fn finding(
    kind: FindingKind,
    snapshot: &Snapshot,
    record: &NodeRecord<'_>,
    rule: impl Into<String>,
) -> Finding {
    let id = snapshot.id();
    let finding = Finding::new(kind, layout::snapshot_key(id), rule);
    finding.of(id).at(record.path())
}

/// Returns whether an array is somewhere above a path.
pub(super) fn below_array(snapshot: &Snapshot, path: &NodePath) -> bool {
    let mut above = path.ancestors().filter_map(|path| snapshot.node(&path));
    above.any(|node| node.kind() == NodeKind::Array)
}

/// Returns whether the node right above a path is missing.
pub(super) fn without_parent(snapshot: &Snapshot, path: &NodePath) -> bool {
    path.parent()
        .is_some_and(|parent| snapshot.node(&parent).is_none())
}

/// Returns whether nothing of a node changed that is checked here.
fn is_same(before: &NodeRecord<'_>, now: &NodeRecord<'_>) -> bool {
    let shape = |array: Option<ArrayRecord<'_>>| array.map(|it| it.shape().collect::<Vec<_>>());
    before.kind() == now.kind()
        && before.user_data() == now.user_data()
        && shape(before.array()) == shape(now.array())
        && names(before.array()) == names(now.array())
}

fn names(array: Option<ArrayRecord<'_>>) -> Option<Vec<Option<String>>> {
    let names = array?.dimension_names()?;
    Some(names.map(|name| name.map(str::to_owned)).collect())
}

fn metadata(snapshot: &Snapshot, record: NodeRecord<'_>, findings: &mut Vec<Finding>) {
    let wrong = |kind, rule: String| finding(kind, snapshot, &record, rule);
    let invalid = |rule: String| wrong(FindingKind::MetadataInvalid, rule);
    let parsed = match (NodeMetadata::parse(record.user_data()), record.array()) {
        (Err(error), _) => return findings.push(invalid(with_causes(&error))),
        (Ok(NodeMetadata::Group), None) => return,
        (Ok(NodeMetadata::Group), Some(_)) => {
            return findings.push(invalid(
                "it is a group's, and the node is an array".to_owned(),
            ));
        }
        (Ok(NodeMetadata::Array(_)), None) => {
            return findings.push(invalid(
                "it is an array's, and the node is a group".to_owned(),
            ));
        }
        (Ok(NodeMetadata::Array(parsed)), Some(array)) => (parsed, array),
    };
    let (parsed, array) = parsed;
    let shape: Vec<u64> = array.shape().map(|it| it.array_length).collect();
    if shape != parsed.shape {
        let rule = format!(
            "it records the shape {shape:?}, and zarr.json says {:?}",
            parsed.shape
        );
        findings.push(wrong(FindingKind::MetadataDisagrees, rule));
    }
    // Chunk lengths are not compared: some writers reconstruct them.
    let recorded = names(Some(array));
    let unnamed = |names: &Option<Vec<Option<String>>>| names.iter().flatten().all(Option::is_none);
    let both_unnamed = unnamed(&recorded) && unnamed(&parsed.dimension_names);
    if recorded != parsed.dimension_names && !both_unnamed {
        let rule = format!(
            "it records the dimensions {recorded:?}, and zarr.json says {:?}",
            parsed.dimension_names
        );
        findings.push(wrong(FindingKind::NamesDisagree, rule));
    }
}

/// Returns the chunks per dimension of an array, if its `zarr.json` tells.
pub(super) fn grid(record: &NodeRecord<'_>) -> Option<Vec<u32>> {
    let metadata = NodeMetadata::parse(record.user_data()).ok()?;
    Some(metadata.array()?.chunk_counts.clone())
}
