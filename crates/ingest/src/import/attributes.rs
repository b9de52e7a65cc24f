//! Attributes that differ from source to source: which of them the result has.
//!
//! ```text
//!                    a.nc         b.nc         first        drop-conflicts
//! units              K            K            K            K
//! history            made in May  made in June made in May
//! comment                         checked                   checked
//! ```

use std::collections::BTreeMap;

use bytes::Bytes;
use icefield_core::{NodePath, Session};
use serde_json::{Map, Value};

use super::builder::Import;
use super::choices::{Attributes, DifferingAttribute};
use super::opened::Opened;
use crate::document::{OF_THE_WINDOW, group_difference, with_attributes};
use crate::packing;
use crate::plan::{self, document_error};
use crate::{ImportError, PlanError};

/// The merged attributes.
#[derive(Clone, Debug, Default)]
pub(super) struct Combined {
    pub(super) differing: Vec<DifferingAttribute>,
    /// The documents of the repository that get other attributes, by their paths there.
    pub(super) documents: BTreeMap<NodePath, Bytes>,
}

/// The attributes of a node so far.
#[derive(Debug, Default)]
struct MergedNode {
    /// In the repository, the node as it is there.
    there: Option<Bytes>,
    attributes: Map<String, Value>,
    /// The names that were found to differ.
    dropped: Vec<String>,
}

impl Import {
    /// Gives the nodes of all sources the same attributes, as far as that is wished.
    pub(super) fn combine_attributes(
        &self,
        session: &Session,
        opened: &mut [Opened],
    ) -> Result<Combined, ImportError> {
        let mut combined = Combined::default();
        let Some(wish) = self.attributes else {
            return Ok(combined);
        };
        if wish == Attributes::Equal {
            self.check_groups(session, opened)?;
            return Ok(combined);
        }
        let mut nodes: BTreeMap<NodePath, MergedNode> = BTreeMap::new();
        for one in &mut *opened {
            for (path, node) in &one.hierarchy.nodes {
                let own = attributes_of(path, node.document())?;
                if !nodes.contains_key(path) {
                    let there = self.there(session, path)?;
                    let first = match &there {
                        Some(document) => attributes_of(path, document)?,
                        None => own.clone(),
                    };
                    let node = MergedNode {
                        there,
                        attributes: first,
                        dropped: Vec::new(),
                    };
                    nodes.insert(path.clone(), node);
                }
                let Some(node) = nodes.get_mut(path) else {
                    continue;
                };
                let source = one.source.to_string();
                for name in node.add(&own, wish) {
                    combined.differing.push(DifferingAttribute {
                        path: path.clone(),
                        name,
                        source: source.clone(),
                        is_kept: wish == Attributes::First,
                    });
                }
            }
        }
        combined.differing.sort_by(|one, other| {
            let key = |it: &DifferingAttribute| (it.path.clone(), it.name.clone());
            key(one).cmp(&key(other))
        });
        combined
            .differing
            .dedup_by(|one, other| one.path == other.path && one.name == other.name);
        for (path, node) in &nodes {
            let Some(there) = &node.there else { continue };
            if attributes_of(path, there)? != node.attributes {
                let document = with_attributes(there, &node.attributes);
                let document = document.map_err(document_error(path))?;
                let target = plan::target_path(&self.group, path)?;
                combined.documents.insert(target, document);
            }
        }
        for one in opened {
            for (path, wanted) in &nodes {
                let Some(node) = one.hierarchy.nodes.get(path) else {
                    continue;
                };
                let own = attributes_of(path, node.document())?;
                let attributes = wanted.for_source(&own);
                if attributes != own {
                    one.set_attributes(path, &attributes)?;
                }
            }
        }
        Ok(combined)
    }

    /// Refuses groups that differ: arrays are refused later, where all else of them is compared.
    fn check_groups(&self, session: &Session, opened: &[Opened]) -> Result<(), ImportError> {
        let mut first: BTreeMap<&NodePath, Bytes> = BTreeMap::new();
        for one in opened {
            for (path, node) in &one.hierarchy.nodes {
                if node.array().is_some() {
                    continue;
                }
                if !first.contains_key(path) {
                    let there = self.there(session, path)?;
                    first.insert(path, there.unwrap_or_else(|| node.document().clone()));
                }
                let here = &first[path];
                let found =
                    group_difference(here, node.document()).map_err(document_error(path))?;
                if let Some(difference) = found {
                    let path = path.clone();
                    let error = PlanError::AttributesDiffer { path, difference };
                    return Err(self.about(&one.source, error.into()));
                }
            }
        }
        Ok(())
    }

    /// The document of a node that sources are put behind.
    fn there(&self, session: &Session, path: &NodePath) -> Result<Option<Bytes>, ImportError> {
        match self.append {
            None => Ok(None),
            Some(_) => Ok(session.metadata(&plan::target_path(&self.group, path)?)?),
        }
    }
}

impl MergedNode {
    /// Adds the attributes of one more source. Returns the names of those that differ.
    fn add(&mut self, own: &Map<String, Value>, wish: Attributes) -> Vec<String> {
        let mut differing = Vec::new();
        let names = self.attributes.keys().chain(own.keys());
        let names: Vec<String> = names
            .filter(|name| is_of_choice(name, &self.attributes, own))
            .cloned()
            .collect();
        for name in names {
            let (here, there) = (self.attributes.get(&name), own.get(&name));
            match (wish, here, there) {
                (_, here, there) if here == there => {}
                (Attributes::First, ..) => differing.push(name),
                (_, Some(_), None) => {}
                (_, None, Some(_)) if self.dropped.contains(&name) => {}
                (_, None, Some(value)) => {
                    self.attributes.insert(name, value.clone());
                }
                _ => {
                    self.attributes.shift_remove(&name);
                    self.dropped.push(name.clone());
                    differing.push(name);
                }
            }
        }
        differing
    }

    /// The attributes of a source, those that are no matter of choice as they are there.
    fn for_source(&self, own: &Map<String, Value>) -> Map<String, Value> {
        let mut attributes = Map::new();
        for (name, value) in &self.attributes {
            match (is_of_choice(name, &self.attributes, own), own.get(name)) {
                (true, _) => attributes.insert(name.clone(), value.clone()),
                (false, Some(value)) => attributes.insert(name.clone(), value.clone()),
                (false, None) => None,
            };
        }
        for (name, value) in own {
            if !is_of_choice(name, &self.attributes, own) {
                attributes.insert(name.clone(), value.clone());
            }
        }
        attributes
    }
}

/// Whether an attribute may differ: none that says how elements are read, or where a window is.
fn is_of_choice(name: &str, here: &Map<String, Value>, there: &Map<String, Value>) -> bool {
    let is_time = |attributes: &Map<String, Value>| {
        let units = attributes.get("units").and_then(Value::as_str);
        units.is_some_and(crate::cf::is_time)
    };
    let is_of_times = matches!(name, "units" | "calendar") && (is_time(here) || is_time(there));
    !is_of_times && !packing::ATTRIBUTES.contains(&name) && !OF_THE_WINDOW.contains(&name)
}

fn attributes_of(path: &NodePath, document: &[u8]) -> Result<Map<String, Value>, ImportError> {
    let mut document: Map<String, Value> =
        serde_json::from_slice(document).map_err(document_error(path))?;
    Ok(match document.remove("attributes") {
        Some(Value::Object(attributes)) => attributes,
        _ => Map::new(),
    })
}
