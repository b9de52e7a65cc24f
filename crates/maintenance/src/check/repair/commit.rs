//! The commit that leaves out what cannot be read, through a session like any other.

use std::collections::BTreeSet;

use icefield_core::repair::{ManifestRepair, with_manifest_repair};
use icefield_core::{
    BranchName, CommitError, CommitOutcome, NodePath, Repository, RepositoryError, WriteMode,
};
use icefield_format::{ChunkIndex, Extents};
use icefield_storage::with_causes;
use serde_json::{Value, json};

use super::{ArrayLoss, BranchRepair, CorrectedExtents, REPAIR_METADATA, RepairOutcome};
use crate::check::damage::{ArrayDamage, Damage};

/// Indices of one array that the commit's metadata names.
const MOST_NAMED: usize = 1000;

/// The document of a group that is made for its children.
const GROUP: &[u8] = br#"{"zarr_format":3,"node_type":"group"}"#;

/// Says what is to be done to a branch; none if nothing.
pub(super) fn plan(
    branch: &BranchName,
    damage: &Damage,
    drop_virtual: bool,
) -> Option<BranchRepair> {
    let dropped = topmost(&damage.below_arrays);
    let stays = |path: &NodePath| {
        !dropped
            .iter()
            .any(|it| it == path || it.is_ancestor_of(path))
    };
    let arrays = damage.arrays.iter().filter(|it| stays(&it.path));
    let arrays = arrays.map(|array| loss(array, drop_virtual));
    let repair = BranchRepair {
        branch: branch.to_string(),
        from: damage.snapshot,
        arrays: arrays
            .filter(|it| {
                !(it.chunks.is_empty()
                    && it.virtual_chunks.is_empty()
                    && it.manifests.is_empty()
                    && it.extents.is_empty())
            })
            .collect(),
        dropped_nodes: dropped.iter().map(NodePath::to_string).collect(),
        created_groups: damage
            .missing_groups
            .iter()
            .map(NodePath::to_string)
            .collect(),
        outcome: RepairOutcome::Planned,
    };
    let is_empty = repair.arrays.is_empty()
        && repair.dropped_nodes.is_empty()
        && repair.created_groups.is_empty();
    (!is_empty).then_some(repair)
}

/// Those of some paths that are below none of the others.
fn topmost(paths: &BTreeSet<NodePath>) -> Vec<NodePath> {
    let has_none_above = |path: &&NodePath| !path.ancestors().any(|above| paths.contains(&above));
    paths.iter().filter(has_none_above).cloned().collect()
}

fn loss(array: &ArrayDamage, drop_virtual: bool) -> ArrayLoss {
    let numbers = |list: &[ChunkIndex]| list.iter().map(|index| index.to_vec()).collect();
    ArrayLoss {
        path: array.path.to_string(),
        chunks: numbers(&array.chunks),
        virtual_chunks: match drop_virtual {
            true => numbers(&array.virtual_chunks),
            false => Vec::new(),
        },
        manifests: array.manifests.iter().copied().collect(),
        refs_of_manifests: array.refs_of_manifests,
        extents: (array.extents.iter())
            .map(|(manifest, extents)| CorrectedExtents {
                manifest: *manifest,
                extents: extents.ranges().to_vec(),
            })
            .collect(),
    }
}

/// Commits a repair.
pub(super) async fn carry_out(
    repository: &Repository,
    branch: &BranchName,
    repair: &BranchRepair,
) -> RepairOutcome {
    match try_to(repository, branch, repair).await {
        Ok(outcome) => outcome,
        Err(error) => RepairOutcome::Failed {
            reason: with_causes(&error),
        },
    }
}

async fn try_to(
    repository: &Repository,
    branch: &BranchName,
    repair: &BranchRepair,
) -> Result<RepairOutcome, CommitError> {
    let session = match repository.write_session(branch.clone()).await {
        Ok(session) => session,
        Err(RepositoryError::Refs(icefield_core::RefsError::BranchNotFound(_))) => {
            return Ok(RepairOutcome::BranchMoved);
        }
        Err(error) => return Err(error.into()),
    };
    if session.snapshot_id()? != repair.from {
        return Ok(RepairOutcome::BranchMoved);
    }
    let path = |text: &String| NodePath::parse(text).map_err(icefield_core::SessionError::from);
    for dropped in &repair.dropped_nodes {
        session.delete_below(&path(dropped)?).await?;
    }
    for group in &repair.created_groups {
        let mode = WriteMode::IfAbsent;
        session
            .set_metadata(&path(group)?, GROUP.into(), mode)
            .await?;
    }
    let mut manifests = ManifestRepair::default();
    for array in &repair.arrays {
        let at = path(&array.path)?;
        for index in array.chunks.iter().chain(&array.virtual_chunks) {
            session.delete_chunk(&at, index).await?;
        }
        manifests.lost.extend(array.manifests.iter().copied());
        for right in &array.extents {
            let place = (at.clone(), right.manifest);
            let extents = Extents::new(right.extents.clone());
            manifests.extents.insert(place, extents);
        }
    }
    let commit = session.commit(message(repair));
    let commit = commit.metadata(REPAIR_METADATA, metadata(repair));
    let commit = with_manifest_repair(commit, manifests);
    Ok(match commit.await? {
        CommitOutcome::Committed(snapshot) => RepairOutcome::Done { snapshot },
        CommitOutcome::Unknown { snapshot, source } => RepairOutcome::Unknown {
            snapshot,
            reason: with_causes(&source),
        },
        _ => RepairOutcome::BranchMoved,
    })
}

fn message(repair: &BranchRepair) -> String {
    let mut parts = Vec::new();
    for array in &repair.arrays {
        let path = &array.path;
        let chunks = array.chunks.len() + array.virtual_chunks.len();
        if chunks > 0 {
            parts.push(format!("drop {chunks} unreadable chunks of {path}"));
        }
        if !array.manifests.is_empty() {
            let (count, refs) = (array.manifests.len(), array.refs_of_manifests);
            parts.push(format!(
                "drop {count} unreadable manifests of {path} with {refs} chunk refs"
            ));
        }
        if !array.extents.is_empty() {
            let count = array.extents.len();
            parts.push(format!(
                "correct the extents of {count} manifests of {path}"
            ));
        }
    }
    for path in &repair.dropped_nodes {
        parts.push(format!("drop {path}, which lies below an array"));
    }
    for path in &repair.created_groups {
        parts.push(format!("create group {path}"));
    }
    format!("Repair: {}", parts.join("; "))
}

/// Returns the dropped parts, for programs. Indices are named up to a bound, with their number.
fn metadata(repair: &BranchRepair) -> Value {
    let first = |list: &[Vec<u32>]| list.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>();
    let of_array = |array: &ArrayLoss| {
        json!({
            "path": array.path,
            "chunk_count": array.chunks.len(),
            "chunks": first(&array.chunks),
            "virtual_chunk_count": array.virtual_chunks.len(),
            "virtual_chunks": first(&array.virtual_chunks),
            "manifests": array.manifests,
            "refs_of_manifests": array.refs_of_manifests,
            "extents": array.extents,
        })
    };
    json!({
        "arrays": repair.arrays.iter().map(of_array).collect::<Vec<_>>(),
        "dropped_nodes": repair.dropped_nodes,
        "created_groups": repair.created_groups,
    })
}
