//! An append: every array that has the dimension grows along it, every other one must be equal.

use icefield_core::{ArrayMetadata, NodeKind, NodeMetadata, NodePath};

use super::along::Along;
use super::node_plan::{
    Existing, Plan, REPOSITORY, check_above, check_kind, check_name, document_error, targets,
};
use super::transfer::{Action, Growth, Transfer};
use crate::document::{Likeness, group_difference, likeness, stored, with_length, with_members};
use crate::packing::filled;
use crate::{Hierarchy, ImportError, PlanError, SourceNode};

/// Plans the append of a hierarchy along a dimension to what is at and below `group`.
pub(crate) fn append(
    hierarchy: &Hierarchy,
    group: &NodePath,
    along: &Along<'_>,
    existing: &Existing,
) -> Result<Plan, ImportError> {
    let mut plan = Plan::default();
    let targets = targets(hierarchy, group)?;
    let mut grows = false;
    for (path, (_, node)) in &targets {
        if let Some(array) = node.array() {
            grows |= along.axis(path, array)?.is_some();
        }
    }
    if !grows {
        return Err(PlanError::NoSuchDimension {
            dimension: along.dimension.to_owned(),
        }
        .into());
    }
    for (path, kind) in &existing.kinds {
        let inside = path == group || group.is_ancestor_of(path);
        let is_needed = !targets.contains_key(path) && !existing.optional.contains(path);
        if inside && *kind == NodeKind::Array && is_needed {
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
                append_array(&mut plan, along, from, path, (node, array), here)?;
            }
            (Some(array), None) if existing.takes_new && kind.is_none() => {
                new_array(&mut plan, along, (from, path), (node, array), existing)?;
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
    // Comparisons, which may fail, are done first: they cost less than copying in vain.
    plan.transfers
        .sort_by_key(|transfer| matches!(transfer.action, Action::Copy | Action::Move(_)));
    Ok(plan)
}

fn append_array(
    plan: &mut Plan,
    along: &Along<'_>,
    from: &NodePath,
    path: NodePath,
    (node, array): (&SourceNode, &ArrayMetadata),
    here: &bytes::Bytes,
) -> Result<(), ImportError> {
    let axis = along.axis(&path, array)?;
    let alike = likeness(here, node.document(), axis).map_err(document_error(&path))?;
    let recoded = match alike {
        Likeness::Same => None,
        Likeness::Elements(difference) => Some(difference),
        Likeness::Different(difference) => {
            return Err(PlanError::ArrayDiffers { path, difference }.into());
        }
    };
    let (from, array, document) = (from.clone(), array.clone(), node.document().clone());
    let metadata = NodeMetadata::parse(here).ok();
    let existing = metadata
        .as_ref()
        .and_then(NodeMetadata::array)
        .unwrap_or(&array);
    let Some(axis) = axis else {
        let action = match recoded {
            Some(difference) if !array.shape.is_empty() => Action::CompareElements(difference),
            _ => Action::Compare,
        };
        plan.transfers.push(Transfer {
            from,
            array,
            document,
            to: path,
            action,
        });
        return Ok(());
    };
    let kept = along.kept_of(&path, &array, axis)?;
    let length = grown(
        &path,
        along,
        axis,
        (existing.shape[axis], existing),
        kept.end - kept.start,
    )?;
    let longer = with_length(here, axis, length).map_err(document_error(&path))?;
    plan.documents.insert(path.clone(), longer);
    plan.extended_arrays.push(path.clone());
    plan.growths.push(Growth {
        at: existing.shape[axis],
        from,
        array,
        document,
        to: path,
        axis,
        kept,
        recoded,
    });
    Ok(())
}

/// An array that is not there: what lies before it along the dimension reads as missing.
fn new_array(
    plan: &mut Plan,
    along: &Along<'_>,
    (from, path): (&NodePath, NodePath),
    (node, array): (&SourceNode, &ArrayMetadata),
    existing: &Existing,
) -> Result<(), ImportError> {
    check_name(&path)?;
    let (from, array, own) = (from.clone(), array.clone(), node.document().clone());
    let document = stored(&own, node.metadata()).map_err(document_error(&path))?;
    let Some(axis) = along.axis(&path, &array)? else {
        plan.documents.insert(path.clone(), document);
        plan.new_arrays += 1;
        plan.transfers.push(Transfer {
            from,
            array,
            document: own,
            to: path,
            action: Action::Copy,
        });
        return Ok(());
    };
    let before = existing.length_along(along.dimension, &path);
    let at = before.ok_or_else(|| PlanError::NotInTarget { path: path.clone() })?;
    let refused = |reason: String| PlanError::NotFilled {
        path: path.clone(),
        name: REPOSITORY.to_owned(),
        reason,
    };
    let parsed = serde_json::from_slice(&document).map_err(document_error(&path))?;
    let fill = filled(&parsed).map_err(refused)?["fill_value"].to_string();
    let kept = along.kept_of(&path, &array, axis)?;
    let length = grown(&path, along, axis, (at, &array), kept.end - kept.start)?;
    let document =
        with_members(&document, &[("fill_value", fill)]).map_err(document_error(&path))?;
    let document = with_length(&document, axis, length).map_err(document_error(&path))?;
    let alike = likeness(&document, &own, Some(axis)).map_err(document_error(&path))?;
    plan.documents.insert(path.clone(), document);
    plan.new_arrays += 1;
    plan.growths.push(Growth {
        from,
        array,
        document: own,
        to: path,
        axis,
        at,
        kept,
        recoded: match alike {
            Likeness::Same => None,
            Likeness::Elements(difference) | Likeness::Different(difference) => Some(difference),
        },
    });
    Ok(())
}

/// The length after the append.
fn grown(
    path: &NodePath,
    along: &Along<'_>,
    axis: usize,
    (length, existing): (u64, &ArrayMetadata),
    added: u64,
) -> Result<u64, PlanError> {
    let chunk = existing.chunk_shape[axis];
    length
        .checked_add(added)
        .filter(|length| u32::try_from(length.div_ceil(chunk)).is_ok())
        .ok_or_else(|| PlanError::TooLong {
            path: path.clone(),
            dimension: along.dimension.to_owned(),
        })
}
