//! Sources that are there already, by the values of their coordinates.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use icefield_core::{NodePath, Session};

use super::builder::Import;
use super::labels::{self, LabelKey};
use super::prepared::Prepared;
use crate::assemble::{OfSession, OfSource};
use crate::{CombineError, ImportError, plan};

impl Import {
    /// Returns this import as one that creates what it would append to, if there is nothing yet; `None` if there is, or if
    /// that is not asked for.
    pub(super) fn adapted(&self, session: &Session) -> Result<Option<Self>, ImportError> {
        let Some(append) = self.append.as_ref().filter(|_| self.skip_existing) else {
            return Ok(None);
        };
        for node in session.nodes(&self.group)? {
            let array = session.array(&node.path);
            let names = array.map(|array| array.dimension_names.unwrap_or_default());
            let has_it = |names: Vec<Option<String>>| names.iter().flatten().any(|it| it == append);
            if names.is_ok_and(has_it) {
                return Ok(None);
            }
        }
        Ok(Some(Self {
            append: None,
            concat: Some(append.clone()),
            ..self.clone()
        }))
    }

    /// Leaves out the sources of which every coordinate along the dimension is there.
    pub(super) async fn leave_out_existing(
        &self,
        session: &Session,
        dimension: &str,
        prepared: &mut Prepared,
    ) -> Result<(), ImportError> {
        let mut there: BTreeMap<NodePath, BTreeSet<LabelKey>> = BTreeMap::new();
        let mut skipped = Vec::new();
        let mut kept = Vec::new();
        for one in std::mem::take(&mut prepared.opened) {
            let name = one.source.to_string();
            let unknown = || CombineError::NoCoordinate {
                name: name.clone(),
                dimension: dimension.to_owned(),
            };
            let path = one.coordinate(dimension).ok_or_else(unknown)?.path;
            let target = plan::target_path(&self.group, &path)?;
            if !there.contains_key(&target) {
                let array = session.array(&target)?;
                let document = session.metadata(&target)?.unwrap_or_default();
                let chunks = OfSession {
                    session: session.clone(),
                    path: target.clone(),
                };
                let keys = labels::keys(&chunks, &document, &array).await?;
                let keys = keys.ok_or_else(|| CombineError::NoCoordinate {
                    name: target.to_string(),
                    dimension: dimension.to_owned(),
                })?;
                there.insert(target.clone(), keys.into_iter().collect());
            }
            let node = one.hierarchy.nodes.get(&path);
            let (node, array) = node
                .and_then(|node| Some((node, node.array()?)))
                .ok_or_else(unknown)?;
            let of = (path.clone(), array.clone());
            let chunks = OfSource::new(Arc::clone(&one.source), of, path.clone());
            let keys = labels::keys(&chunks, node.document(), array).await?;
            let keys = keys.ok_or_else(unknown)?;
            let is_there = there
                .get(&target)
                .is_some_and(|there| keys.iter().all(|key| there.contains(key)));
            match is_there {
                true => skipped.push(name),
                false => kept.push(one),
            }
        }
        if kept.is_empty() {
            return Err(ImportError::NothingToDo {
                dimension: dimension.to_owned(),
                skipped,
            });
        }
        let lacking = &mut prepared.completed.lacking;
        lacking.retain(|one| !skipped.contains(&one.source));
        prepared.opened = kept;
        prepared.report.skipped = skipped;
        Ok(())
    }
}
