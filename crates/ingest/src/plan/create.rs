//! A plain import: arrays must be new; groups may be there.

use bytes::Bytes;
use icefield_core::NodePath;

use super::along::Along;
use super::node_plan::{
    Existing, Plan, check_above, check_kind, check_name, document_error, targets,
};
use super::transfer::{Action, Growth, Transfer};
use crate::document::{group_difference, is_plain_group, stored, with_length};
use crate::{Hierarchy, ImportError, PlanError, SourceNode};

/// Plans the import of a hierarchy as new nodes at and below `group`; arrays along a dimension begin to grow.
pub(crate) fn create(
    hierarchy: &Hierarchy,
    group: &NodePath,
    along: Option<&Along<'_>>,
    existing: &Existing,
) -> Result<Plan, ImportError> {
    let mut plan = Plan::default();
    for (path, (from, node)) in targets(hierarchy, group)? {
        check_above(&path, existing)?;
        check_name(&path)?;
        let document = stored(node.document(), node.metadata()).map_err(document_error(&path))?;
        match (existing.kinds.get(&path), node.array()) {
            (Some(kind), Some(_)) => {
                check_kind(&path, *kind, node)?;
                return Err(PlanError::AlreadyExists { path }.into());
            }
            (Some(kind), None) => {
                check_kind(&path, *kind, node)?;
                merge_group(&mut plan, path, node, document, existing)?;
            }
            (None, None) => plan.new_group(path, document),
            (None, Some(array)) => {
                plan.new_arrays += 1;
                let axis = match along {
                    None => None,
                    Some(along) => along.axis(&path, array)?.map(|axis| (along, axis)),
                };
                let (from, array) = (from.clone(), array.clone());
                let Some((along, axis)) = axis else {
                    plan.documents.insert(path.clone(), document.clone());
                    plan.transfers.push(Transfer {
                        from,
                        array,
                        document: node.document().clone(),
                        to: path,
                        action: Action::Copy,
                    });
                    continue;
                };
                let kept = along.kept_of(&path, &array, axis)?;
                let length = kept.end - kept.start;
                let document = match length == array.shape[axis] {
                    true => document,
                    false => with_length(&document, axis, length).map_err(document_error(&path))?,
                };
                plan.documents.insert(path.clone(), document);
                plan.growths.push(Growth {
                    from,
                    array,
                    document: node.document().clone(),
                    to: path,
                    axis,
                    at: 0,
                    kept,
                    recoded: None,
                });
            }
        }
    }
    plan.fill_in_groups(group, existing);
    Ok(plan)
}

/// A group on both sides. One that says nothing gives way to the other; two that say something must agree.
fn merge_group(
    plan: &mut Plan,
    path: NodePath,
    node: &SourceNode,
    document: Bytes,
    existing: &Existing,
) -> Result<(), ImportError> {
    let Some(here) = existing.documents.get(&path) else {
        return Ok(());
    };
    let Some(difference) =
        group_difference(here, node.document()).map_err(document_error(&path))?
    else {
        return Ok(());
    };
    if is_plain_group(here).map_err(document_error(&path))? {
        plan.documents.insert(path, document);
        Ok(())
    } else if is_plain_group(node.document()).map_err(document_error(&path))? {
        plan.kept_groups.push(path);
        Ok(())
    } else {
        Err(PlanError::GroupDiffers { path, difference }.into())
    }
}
