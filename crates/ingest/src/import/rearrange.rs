//! Plans with another layout of chunks.

use icefield_core::{ArrayMetadata, NodePath};
use serde_json::Value;

use super::builder::Import;
use super::opened::Opened;
use super::times::Documents;
use crate::chunk_layout::{applied, check_names};
use crate::document::{Likeness, likeness, with_members};
use crate::plan::{self, Action, Growth, Plan, document_error};
use crate::{ImportError, LayoutError, PlanError};

impl Import {
    /// Gives new arrays the layout: their documents change, and their chunks are put together.
    pub(super) fn rearrange(
        &self,
        plan: &mut Plan,
        opened: &[Opened],
        dimension: &str,
    ) -> Result<(), ImportError> {
        let (Some(first), false) = (opened.first(), self.layout.is_kept()) else {
            return Ok(());
        };
        let arrays = || {
            let nodes = first.hierarchy.nodes.iter();
            nodes.filter_map(|(path, node)| Some((path, node.array()?)))
        };
        let with_chunks = arrays().filter(|(path, array)| plan::coordinate(path, array).is_none());
        let names = with_chunks.map(|(_, array)| array);
        check_names(&self.layout, &self.group, names).map_err(PlanError::from)?;
        let only_compression = self.layout.only_compression();
        let mut referred = Vec::new();
        for (path, array) in arrays() {
            let to = plan::target_path(&self.group, path)?;
            let Some(document) = plan.documents.get(&to) else {
                continue;
            };
            let layout = match plan::coordinate(path, array) {
                None => &self.layout,
                Some(_) => &only_compression,
            };
            if array.shape.is_empty() {
                continue;
            }
            let array = &joined(path, array, dimension, opened);
            let changed = applied(layout, (&to, array), document).map_err(PlanError::from)?;
            let Some(document) = changed else {
                continue;
            };
            if self.refers_to(path, array, &*first.source) {
                referred.push(path.clone());
            }
            plan.documents.insert(to, document);
        }
        match referred.is_empty() {
            true => recode(plan),
            false => Err(PlanError::from(LayoutError::Referred { paths: referred }).into()),
        }
    }
}

/// Has new arrays stored as documents say, by the paths of the sources: with their codecs and fill values.
pub(super) fn stored_as(
    plan: &mut Plan,
    group: &NodePath,
    documents: &Documents,
) -> Result<(), ImportError> {
    for (path, document) in documents {
        let to = plan::target_path(group, path)?;
        let Some(planned) = plan.documents.get_mut(&to) else {
            continue;
        };
        let own: Value = serde_json::from_slice(planned).map_err(document_error(&to))?;
        if own["data_type"] == document["data_type"] {
            let members = ["codecs", "fill_value"].map(|it| (it, document[it].to_string()));
            *planned = with_members(planned, &members).map_err(document_error(&to))?;
        }
    }
    match documents.is_empty() {
        true => Ok(()),
        false => recode(plan),
    }
}

/// An array of the first source, as long along the dimension as it is in all together.
fn joined(
    path: &NodePath,
    array: &ArrayMetadata,
    dimension: &str,
    opened: &[Opened],
) -> ArrayMetadata {
    let mut joined = array.clone();
    let names = array.dimension_names.as_deref().unwrap_or_default();
    let axis = names
        .iter()
        .position(|name| name.as_deref() == Some(dimension));
    if let (Some(axis), false) = (axis, dimension.is_empty()) {
        let lengths = opened.iter().filter_map(|one| {
            let length = *one.hierarchy.nodes.get(path)?.array()?.shape.get(axis)?;
            let kept = one.kept.as_ref().map(|(kept, _)| kept.end - kept.start);
            Some(kept.unwrap_or(length))
        });
        joined.shape[axis] = lengths.fold(0, u64::saturating_add);
    }
    joined
}

/// Has the chunks put together of arrays whose documents are other ones than in the source.
fn recode(plan: &mut Plan) -> Result<(), ImportError> {
    let mut kept = Vec::new();
    for transfer in std::mem::take(&mut plan.transfers) {
        let document = plan.documents.get(&transfer.to);
        let alike = document.map(|it| likeness(it, &transfer.document, None));
        let alike = alike.transpose().map_err(document_error(&transfer.to))?;
        match (&transfer.action, alike) {
            (Action::Copy, Some(Likeness::Elements(difference))) => {
                plan.growths.push(Growth::whole(&transfer, difference));
            }
            _ => kept.push(transfer),
        }
    }
    plan.transfers = kept;
    for growth in &mut plan.growths {
        let Some(document) = plan.documents.get(&growth.to) else {
            continue;
        };
        let alike = likeness(document, &growth.document, Some(growth.axis));
        let alike = alike.map_err(document_error(&growth.to))?;
        if let Likeness::Elements(difference) = alike {
            growth.recoded = Some(difference);
        }
    }
    Ok(())
}
