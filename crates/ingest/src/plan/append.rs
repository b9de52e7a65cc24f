//! An append: every array that has the dimension grows along it, every other one must be equal.

use icefield_core::{ArrayMetadata, NodeKind, NodeMetadata, NodePath};

use super::{
    Action, Existing, Join, Plan, Transfer, check_above, check_kind, document_error, targets,
};
use crate::decode::Encoding;
use crate::document::{array_difference, group_difference, stored, with_length};
use crate::import::NOT_UNDERSTOOD;
use crate::{Hierarchy, ImportError, PlanError, SourceNode};

/// Plans the append of a hierarchy along `dimension` to what is at and below `group`.
pub(crate) fn append(
    hierarchy: &Hierarchy,
    group: &NodePath,
    dimension: &str,
    existing: &Existing,
) -> Result<Plan, ImportError> {
    let mut plan = Plan::default();
    let targets = targets(hierarchy, group)?;
    let mut grows = false;
    for (path, (_, node)) in &targets {
        if let Some(array) = node.array() {
            grows |= axis(path, array, dimension)?.is_some();
        }
    }
    if !grows {
        return Err(PlanError::NoSuchDimension {
            dimension: dimension.to_owned(),
        }
        .into());
    }
    for (path, kind) in &existing.kinds {
        let inside = path == group || group.is_ancestor_of(path);
        if inside && *kind == NodeKind::Array && !targets.contains_key(path) {
            return Err(PlanError::NotInSource { path: path.clone() }.into());
        }
    }
    for (path, (from, node)) in targets {
        check_above(&path, existing)?;
        let kind = existing.kinds.get(&path);
        if let Some(kind) = kind {
            check_kind(&path, *kind, node)?;
        }
        match (node.array(), existing.documents.get(&path)) {
            (Some(array), Some(here)) => {
                append_array(&mut plan, dimension, from, path, (node, array), here)?;
            }
            (Some(_), None) => return Err(PlanError::NotInTarget { path }.into()),
            (None, Some(here)) => {
                let difference =
                    group_difference(here, node.document()).map_err(document_error(&path))?;
                if difference.is_some() {
                    plan.kept_groups.push(path);
                }
            }
            (None, None) => {
                let document =
                    stored(node.document(), node.metadata()).map_err(document_error(&path))?;
                plan.new_group(path, document);
            }
        }
    }
    plan.fill_in_groups(group, existing);
    // What may fail is done first: comparing costs less than copying in vain.
    plan.transfers
        .sort_by_key(|transfer| transfer.action != Action::Compare);
    Ok(plan)
}

fn append_array(
    plan: &mut Plan,
    dimension: &str,
    from: &NodePath,
    path: NodePath,
    (node, array): (&SourceNode, &ArrayMetadata),
    here: &bytes::Bytes,
) -> Result<(), ImportError> {
    let axis = axis(&path, array, dimension)?;
    if let Some(difference) =
        array_difference(here, node.document(), axis).map_err(document_error(&path))?
    {
        return Err(PlanError::ArrayDiffers { path, difference }.into());
    }
    let action = match axis {
        None => Action::Compare,
        Some(axis) => {
            let metadata = NodeMetadata::parse(here).ok();
            let existing = metadata
                .as_ref()
                .and_then(NodeMetadata::array)
                .unwrap_or(array);
            let length = grown(&path, dimension, axis, existing, array)?;
            let document = with_length(here, axis, length).map_err(document_error(&path))?;
            plan.documents.insert(path.clone(), document);
            plan.extended_arrays.push(path.clone());
            let (length, chunk) = (existing.shape[axis], existing.chunk_shape[axis]);
            if length % chunk != 0 {
                let dimension = dimension.to_owned();
                let encoding = Encoding::of(here, chunk);
                let reason = match (existing.rank(), encoding) {
                    (1, Some(_)) => None,
                    (1, None) => Some(NOT_UNDERSTOOD),
                    _ => Some("only arrays of one dimension are joined within a chunk"),
                };
                if let Some(reason) = reason {
                    return Err(PlanError::PartialChunk {
                        path,
                        dimension,
                        length,
                        chunk,
                        reason,
                    }
                    .into());
                }
                plan.joins.push(Join {
                    from: from.clone(),
                    array: array.clone(),
                    to: path,
                    dimension,
                    length,
                    chunk,
                });
                return Ok(());
            }
            let mut offset = vec![0; existing.rank()];
            offset[axis] = existing.chunk_counts[axis];
            Action::Copy { offset }
        }
    };
    plan.transfers.push(Transfer {
        from: from.clone(),
        array: array.clone(),
        to: path,
        action,
    });
    Ok(())
}

/// The axis of the dimension, `None` if the array does not have it.
fn axis(
    path: &NodePath,
    array: &ArrayMetadata,
    dimension: &str,
) -> Result<Option<usize>, PlanError> {
    let names = array.dimension_names.as_deref().unwrap_or_default();
    let mut axes = (0..names.len()).filter(|axis| names[*axis].as_deref() == Some(dimension));
    let axis = axes.next();
    match axes.next() {
        None => Ok(axis),
        Some(_) => Err(PlanError::DimensionTwice {
            path: path.clone(),
            dimension: dimension.to_owned(),
        }),
    }
}

/// The length after the append.
fn grown(
    path: &NodePath,
    dimension: &str,
    axis: usize,
    existing: &ArrayMetadata,
    added: &ArrayMetadata,
) -> Result<u64, PlanError> {
    let (length, chunk) = (existing.shape[axis], existing.chunk_shape[axis]);
    length
        .checked_add(added.shape[axis])
        .filter(|length| u32::try_from(length.div_ceil(chunk)).is_ok())
        .ok_or_else(|| PlanError::TooLong {
            path: path.clone(),
            dimension: dimension.to_owned(),
        })
}
