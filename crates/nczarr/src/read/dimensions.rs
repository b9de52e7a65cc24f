//! Which dimensions a variable has: by NCZarr's references, by xarray's names, by length alone.

use serde_json::Value;

use super::tree::{Opened, Tree, key};
use crate::{Dataset, Dimension, DimensionPath, NczarrError};

/// Begins the names that netCDF-C since 4.9.3 makes up for dimensions that have none.
pub(crate) const ANONYMOUS: &str = "_Anonymous_Dim_";

/// Resolves the dimensions of all variables.
pub(super) struct Dimensions<'a, 't> {
    tree: &'a Tree<'t>,
    opened: &'a mut Opened,
}

impl<'a, 't> Dimensions<'a, 't> {
    pub(super) fn new(tree: &'a Tree<'t>, opened: &'a mut Opened) -> Self {
        Self { tree, opened }
    }

    pub(super) fn resolve(&mut self) -> Result<(), NczarrError> {
        let paths: Vec<String> = self
            .opened
            .dataset
            .variables()
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        for path in paths {
            let found = self.of(&path)?;
            if let Some(variable) = self.opened.dataset.variable_mut(&path) {
                variable.dimensions = found;
            }
        }
        Ok(())
    }

    fn of(&mut self, path: &str) -> Result<Vec<DimensionPath>, NczarrError> {
        let refuse = |problem: String| NczarrError::new(key(path, ".zarray"), problem);
        let document = self.opened.arrays.get(path);
        let shape = document.and_then(|document| lengths(document.get("shape")?));
        let shape = shape.ok_or_else(|| refuse("its shape is no list of lengths".to_owned()))?;
        let names = self.tree.names;
        let record = self.tree.record(path, false)?;
        let references = record.and_then(|record| {
            let names = [names.references, "dimrefs", "dimension_references"];
            names.iter().find_map(|name| record.get(*name)?.as_array())
        });
        if let Some(references) = references {
            return self.referred(path, &shape, references);
        }
        let xarray = match self.tree.options.is_without_xarray {
            true => None,
            false => self.tree.xarray_names(path)?,
        };
        let group = path.rsplit_once('/').map_or("", |(group, _)| group);
        match xarray.filter(|_| !shape.is_empty()) {
            Some(names) if names.len() != shape.len() => {
                let (names, rank) = (names.len(), shape.len());
                Err(refuse(format!(
                    "it has {rank} dimensions and names for {names}"
                )))
            }
            Some(names) => {
                let named = names.iter().zip(&shape);
                let found = named.map(|(name, length)| self.declared(group, name, *length));
                let found: Result<Vec<_>, String> = found.collect();
                found.map_err(refuse)
            }
            None => {
                let made = shape.iter().map(|length| {
                    let name = format!("{ANONYMOUS}{length}");
                    self.declared("", &name, *length)
                });
                let made: Result<Vec<_>, String> = made.collect();
                made.map_err(refuse)
            }
        }
    }

    /// References name dimensions by path; their lengths are those of the shape.
    fn referred(
        &self,
        path: &str,
        shape: &[u64],
        references: &[Value],
    ) -> Result<Vec<DimensionPath>, NczarrError> {
        let refuse = |problem: String| NczarrError::new(key(path, ".zarray"), problem);
        if references.len() != shape.len() {
            let (rank, references) = (shape.len(), references.len());
            let problem = format!("it has {rank} dimensions and refers to {references}");
            return Err(refuse(problem));
        }
        let pairs = references.iter().zip(shape);
        let found = pairs.map(|(reference, length)| {
            let text = reference.as_str();
            let parsed = text.and_then(DimensionPath::parse).ok_or_else(|| {
                refuse(format!(
                    "it refers to the dimension {reference}, which is no absolute path"
                ))
            })?;
            match self.opened.dataset.dimension(&parsed) {
                None => Err(refuse(format!(
                    "it refers to the dimension {parsed}, which no group has"
                ))),
                Some(dimension) if dimension.length != *length => {
                    let of = dimension.length;
                    let problem = format!(
                        "its length along {parsed} is {length}, and that dimension has {of}"
                    );
                    Err(refuse(problem))
                }
                Some(_) => Ok(parsed),
            }
        });
        found.collect()
    }

    fn declared(&mut self, group: &str, name: &str, length: u64) -> Result<DimensionPath, String> {
        declare(&mut self.opened.dataset, group, name, length)
    }
}

/// Finds a dimension of a group or makes it there.
pub(crate) fn declare(
    dataset: &mut Dataset,
    group: &str,
    name: &str,
    length: u64,
) -> Result<DimensionPath, String> {
    if name.is_empty() || name.contains('/') {
        return Err(format!("{name:?} cannot be the name of a dimension"));
    }
    let path = DimensionPath::new(group, name);
    match dataset.dimension(&path).map(|found| found.length) {
        Some(known) if known != length => {
            return Err(format!(
                "its length along {path} is {length}, and another array's is {known}"
            ));
        }
        Some(_) => return Ok(path),
        None => {}
    }
    if let Some(group) = dataset.group_mut(group) {
        group.dimensions.push(Dimension {
            name: name.to_owned(),
            length,
            is_unlimited: false,
        });
    }
    Ok(path)
}

fn lengths(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(Value::as_u64).collect()
}
