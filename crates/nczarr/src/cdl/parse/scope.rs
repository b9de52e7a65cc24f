//! The groups that are being read, and what their names mean.

use std::collections::{HashMap, HashSet};

use crate::{Attribute, Dataset, Dimension, DimensionPath, Group, Values, Variable};

use super::super::error::{CdlError, Position, Rule};
use super::super::token::{error, shortened};

/// The bytes of paths that are built beyond the length of the text itself: names are short, but paths of deep groups need
/// not be.
const PATHS: usize = 64 << 20;

/// All groups so far, each before those below it. The root is the first.
pub(super) struct Scopes {
    scopes: Vec<Scope>,
    /// The bytes of paths that may still be built.
    budget: usize,
    /// The variables whose data began.
    with_data: HashSet<VariableId>,
}

struct Scope {
    path: String,
    parent: Option<usize>,
    group: Group,
    dimensions: HashMap<String, usize>,
    variables: HashMap<String, usize>,
    groups: HashMap<String, usize>,
    /// The attributes by the number of their variable, or none for the group's own.
    attributes: HashSet<(Option<usize>, String)>,
}

/// A variable: the group and its number there.
pub(super) type VariableId = (usize, usize);

impl Scopes {
    pub(super) fn new(text_length: usize) -> Self {
        Self {
            scopes: vec![Scope::new(String::new(), None, String::new())],
            budget: PATHS.saturating_add(text_length),
            with_data: HashSet::new(),
        }
    }

    pub(super) fn add_group(
        &mut self,
        parent: usize,
        name: String,
        position: Position,
    ) -> Result<usize, CdlError> {
        let path = format!("{}/{name}", self.scopes[parent].path);
        self.charge(path.len(), position)?;
        let is_variable = self.scopes[parent].variables.contains_key(&name);
        let number = self.scopes.len();
        let before = self.scopes[parent].groups.insert(name.clone(), number);
        if before.is_some() || is_variable {
            return Err(error(
                position,
                Rule::Twice {
                    what: "group",
                    name,
                },
            ));
        }
        self.scopes.push(Scope::new(path, Some(parent), name));
        Ok(number)
    }

    pub(super) fn add_dimension(
        &mut self,
        group: usize,
        dimension: Dimension,
        position: Position,
    ) -> Result<(), CdlError> {
        let scope = &mut self.scopes[group];
        let name = dimension.name.clone();
        let number = scope.group.dimensions.len();
        if scope.dimensions.insert(name.clone(), number).is_some() {
            let what = "dimension";
            return Err(error(position, Rule::Twice { what, name }));
        }
        scope.group.dimensions.push(dimension);
        Ok(())
    }

    pub(super) fn add_variable(
        &mut self,
        group: usize,
        variable: Variable,
        position: Position,
    ) -> Result<(), CdlError> {
        let scope = &mut self.scopes[group];
        let name = variable.name.clone();
        let number = scope.group.variables.len();
        let before = scope.variables.insert(name.clone(), number);
        if before.is_some() || scope.groups.contains_key(&name) {
            let what = "variable";
            return Err(error(position, Rule::Twice { what, name }));
        }
        let length = scope.path.len() + name.len();
        scope.group.variables.push(variable);
        self.charge(length, position)
    }

    /// Adds an attribute to a variable or to the group.
    pub(super) fn add_attribute(
        &mut self,
        group: usize,
        variable: Option<usize>,
        (name, values): (String, Values),
        position: Position,
    ) -> Result<(), CdlError> {
        self.note_attribute(group, variable, &name, position)?;
        let group = &mut self.scopes[group].group;
        let attributes = match variable {
            Some(variable) => &mut group.variables[variable].attributes,
            None => &mut group.attributes,
        };
        attributes.push(Attribute { name, values });
        Ok(())
    }

    /// Refuses an attribute that was there before.
    pub(super) fn note_attribute(
        &mut self,
        group: usize,
        variable: Option<usize>,
        name: &str,
        position: Position,
    ) -> Result<(), CdlError> {
        let key = (variable, name.to_owned());
        if self.scopes[group].attributes.insert(key) {
            return Ok(());
        }
        let name = match variable {
            Some(variable) => format!("{}:{name}", self.variable((group, variable)).name),
            None => name.to_owned(),
        };
        let what = "attribute";
        Err(error(position, Rule::Twice { what, name }))
    }

    /// Returns the variable that a name or absolute path means in a group. Those of groups above are not seen by name.
    pub(super) fn variable_id(
        &self,
        group: usize,
        name: &str,
        position: Position,
    ) -> Result<VariableId, CdlError> {
        let (group, last) = match name.rsplit_once('/') {
            None => (Some(group), name),
            Some((path, last)) => (self.group(path), last),
        };
        let id = group.and_then(|group| Some((group, *self.scopes[group].variables.get(last)?)));
        id.ok_or_else(|| unknown("variable", name, position))
    }

    pub(super) fn own_variable(&self, group: usize, name: &str) -> Option<usize> {
        self.scopes[group].variables.get(name).copied()
    }

    pub(super) fn variable(&self, (group, number): VariableId) -> &Variable {
        &self.scopes[group].group.variables[number]
    }

    pub(super) fn variable_mut(&mut self, (group, number): VariableId) -> &mut Variable {
        &mut self.scopes[group].group.variables[number]
    }

    /// Notes that the data of a variable begins, and returns whether it is the first time.
    pub(super) fn begin_data(&mut self, id: VariableId) -> bool {
        self.with_data.insert(id)
    }

    /// Returns the absolute path of a variable.
    pub(super) fn path(&self, id: VariableId) -> String {
        format!("{}/{}", self.scopes[id.0].path, self.variable(id).name)
    }

    /// Returns the path of the dimension that a name or absolute path means in a group.
    pub(super) fn dimension(
        &mut self,
        group: usize,
        name: &str,
        position: Position,
    ) -> Result<DimensionPath, CdlError> {
        let (owner, last) = match name.rsplit_once('/') {
            Some((path, last)) => (self.group(path), last),
            None => (Some(group), name),
        };
        let mut above = owner;
        while let Some(owner) = above {
            let scope = &self.scopes[owner];
            if scope.dimensions.contains_key(last) {
                let path = DimensionPath::new(&scope.path, last);
                self.charge(path.as_str().len(), position)?;
                return Ok(path);
            }
            above = if name.contains('/') {
                None
            } else {
                scope.parent
            };
        }
        Err(unknown("dimension", name, position))
    }

    /// Returns a dimension by its path, which is one of this dataset.
    pub(super) fn dimension_mut(&mut self, path: &DimensionPath) -> Option<&mut Dimension> {
        let group = self.group(path.group())?;
        let scope = &mut self.scopes[group];
        let number = *scope.dimensions.get(path.name())?;
        scope.group.dimensions.get_mut(number)
    }

    /// Returns the group of an absolute path; the root's is empty or a slash.
    fn group(&self, path: &str) -> Option<usize> {
        let Some(rest) = path.strip_prefix('/') else {
            return path.is_empty().then_some(0);
        };
        let mut segments = rest.split('/').filter(|_| !rest.is_empty());
        segments.try_fold(0, |group, name| {
            self.scopes[group].groups.get(name).copied()
        })
    }

    fn charge(&mut self, bytes: usize, position: Position) -> Result<(), CdlError> {
        let left = self.budget.checked_sub(bytes);
        let (what, limit) = (
            "the paths of all variables and dimensions together",
            PATHS as u64,
        );
        self.budget = left.ok_or_else(|| error(position, Rule::TooLarge { what, limit }))?;
        Ok(())
    }

    /// Puts all groups into those above them.
    pub(super) fn into_dataset(mut self) -> Dataset {
        let mut root = Group::default();
        // Groups come after those above them, so from the last one on, each has got all that are below it.
        while let Some(mut scope) = self.scopes.pop() {
            scope.group.groups.reverse();
            match scope.parent {
                Some(parent) => self.scopes[parent].group.groups.push(scope.group),
                None => root = scope.group,
            }
        }
        Dataset { root }
    }
}

impl Scope {
    fn new(path: String, parent: Option<usize>, name: String) -> Self {
        Self {
            path,
            parent,
            group: Group {
                name,
                ..Group::default()
            },
            dimensions: HashMap::new(),
            variables: HashMap::new(),
            groups: HashMap::new(),
            attributes: HashSet::new(),
        }
    }
}

fn unknown(what: &'static str, name: &str, position: Position) -> CdlError {
    let name = shortened(name);
    error(position, Rule::Unknown { what, name })
}
