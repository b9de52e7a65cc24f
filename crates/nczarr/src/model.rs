//! The netCDF-4 data model, as far as NCZarr can hold it: no user-defined types.
//!
//! Groups, dimensions, variables and attributes are kept in the order of their definition, which `ncdump` shows.

mod data_type;
mod dimension;
mod error;
mod values;

pub use data_type::DataType;
pub use dimension::{Dimension, DimensionPath};
pub use error::ModelError;
pub use values::Values;

/// A dataset of the netCDF-4 data model: a tree of groups with named dimensions, typed attributes and variables.
///
/// ```
/// use icefield_nczarr::cdl;
///
/// # fn main() -> Result<(), icefield_nczarr::cdl::CdlError> {
/// let text = "netcdf sea { dimensions: x = 3 ; variables: int depth(x) ; depth:units = \"m\" ; }";
/// let dataset = cdl::parse(text)?.dataset;
/// let depth = dataset.variable("/depth").expect("it is there");
/// assert_eq!(dataset.shape(depth).unwrap(), [3]);
/// assert!(depth.attribute("units").is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dataset {
    /// The root group.
    pub root: Group,
}

/// A group. The names of dimensions are unique in it, and so are those of variables and subgroups together, and those
/// of attributes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// The last segment of its path; empty for the root.
    pub name: String,
    /// The dimensions that it owns. Variables here and in all groups below can use them.
    pub dimensions: Vec<Dimension>,
    /// The attributes of the group.
    pub attributes: Vec<Attribute>,
    /// The variables of the group.
    pub variables: Vec<Variable>,
    /// The groups below it.
    pub groups: Vec<Self>,
}

/// An array of elements of one type.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// The last segment of its path.
    pub name: String,
    /// The type of its elements.
    pub data_type: DataType,
    /// The paths of its dimensions, slowest first; empty for a scalar.
    pub dimensions: Vec<DimensionPath>,
    /// The attributes of the variable. A fill value that was set is among them as `_FillValue`, too.
    pub attributes: Vec<Attribute>,
    /// The value that unwritten elements read as.
    pub fill: Fill,
    /// The layout of its elements: chunks, byte order and filters.
    pub storage: Storage,
}

/// A named value of a group or variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The name.
    pub name: String,
    /// The values, of one type. A char attribute is one text.
    pub values: Values,
}

/// The value that unwritten elements read as.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Fill {
    /// netCDF's default for the type.
    #[default]
    Default,
    /// The value is unknown: filling was switched off.
    Off,
    /// This value, one of the variable's type.
    Value(Values),
}

/// The layout of the elements of a variable, in netCDF's terms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Storage {
    /// The number of elements of a chunk along each dimension; empty if none were chosen.
    pub chunk_shape: Vec<u64>,
    /// The order of bytes.
    pub endian: Endian,
    /// The filters that are applied to a chunk, in order.
    pub filters: Vec<Filter>,
}

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Endian {
    /// The least significant byte first, as on most machines.
    #[default]
    Little,
    /// The most significant byte first.
    Big,
}

/// A filter that is applied to the bytes of a chunk.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// Deflate, with its level of 0 to 9.
    Deflate(u32),
    /// The byte shuffle of HDF5: the first bytes of all elements, then the second ones.
    Shuffle,
    /// The Fletcher-32 checksum.
    Fletcher32,
    /// Zstandard, with its level.
    Zstandard(i32),
    /// Bzip2, with its level of 1 to 9.
    Bzip2(u32),
    /// A filter that this model has no word for: its configuration in format 2 of Zarr.
    Other(serde_json::Value),
}

impl Group {
    /// Returns an attribute.
    pub fn attribute(&self, name: &str) -> Option<&Values> {
        find(&self.attributes, name)
    }

    /// Returns a variable of this group.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }

    /// Returns a group directly below.
    pub fn group(&self, name: &str) -> Option<&Self> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// Returns a dimension that the group owns.
    pub fn dimension(&self, name: &str) -> Option<&Dimension> {
        self.dimensions.iter().find(|it| it.name == name)
    }
}

impl Variable {
    /// Returns an attribute.
    pub fn attribute(&self, name: &str) -> Option<&Values> {
        find(&self.attributes, name)
    }

    /// Returns the value that unwritten elements read as; `None` if it is unknown.
    pub fn fill_value(&self) -> Option<Values> {
        match &self.fill {
            Fill::Default => Some(self.data_type.default_fill()),
            Fill::Off => None,
            Fill::Value(value) => Some(value.clone()),
        }
    }
}

fn find<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a Values> {
    let found = attributes.iter().find(|attribute| attribute.name == name);
    found.map(|attribute| &attribute.values)
}

impl Dataset {
    /// Returns the group of an absolute path such as `/` or `/g/h`.
    pub fn group(&self, path: &str) -> Option<&Group> {
        let segments = path.split('/').filter(|segment| !segment.is_empty());
        segments
            .into_iter()
            .try_fold(&self.root, |group, name| group.group(name))
    }

    /// Returns a group, to change it.
    pub fn group_mut(&mut self, path: &str) -> Option<&mut Group> {
        let mut segments = path.split('/').filter(|segment| !segment.is_empty());
        segments.try_fold(&mut self.root, |group, name| {
            group.groups.iter_mut().find(|below| below.name == name)
        })
    }

    /// Returns a variable, to change it.
    pub fn variable_mut(&mut self, path: &str) -> Option<&mut Variable> {
        let (group, name) = path.rsplit_once('/')?;
        let mut variables = self.group_mut(group)?.variables.iter_mut();
        variables.find(|variable| variable.name == name)
    }

    /// Returns the variable of an absolute path such as `/g/h/v`.
    pub fn variable(&self, path: &str) -> Option<&Variable> {
        let (group, name) = path.rsplit_once('/')?;
        self.group(group)?.variable(name)
    }

    /// Returns a dimension by its path.
    pub fn dimension(&self, path: &DimensionPath) -> Option<&Dimension> {
        self.group(path.group())?.dimension(path.name())
    }

    /// Returns the shape of a variable: the lengths of its dimensions.
    ///
    /// # Errors
    /// [`ModelError::NoDimension`].
    pub fn shape(&self, variable: &Variable) -> Result<Vec<u64>, ModelError> {
        let lengths = variable.dimensions.iter().map(|path| {
            let found = self.dimension(path).map(|dimension| dimension.length);
            found.ok_or_else(|| ModelError::NoDimension {
                variable: variable.name.clone(),
                dimension: path.clone(),
            })
        });
        lengths.collect()
    }

    /// Returns the dimension that a name means in a group: its own, or that of the nearest group above it.
    pub fn in_scope(&self, group: &str, name: &str) -> Option<DimensionPath> {
        let mut above = group.trim_end_matches('/');
        loop {
            if self.group(above)?.dimension(name).is_some() {
                return Some(DimensionPath::new(above, name));
            }
            above = above.rsplit_once('/')?.0;
        }
    }

    /// Visits all groups, each before those below it, with their absolute paths (`/` for the root).
    pub fn groups(&self) -> Vec<(String, &Group)> {
        let mut found = Vec::new();
        let mut pending = vec![(String::from("/"), &self.root)];
        while let Some((path, group)) = pending.pop() {
            for below in group.groups.iter().rev() {
                let parent = path.trim_end_matches('/');
                pending.push((format!("{parent}/{}", below.name), below));
            }
            found.push((path, group));
        }
        found
    }

    /// Visits all variables with their absolute paths, those of a group before those of the groups below it.
    pub fn variables(&self) -> Vec<(String, &Variable)> {
        let groups = self.groups().into_iter();
        let variables = groups.flat_map(|(path, group)| {
            let path = path.trim_end_matches('/').to_owned();
            let variables = group.variables.iter();
            variables.map(move |variable| (format!("{path}/{}", variable.name), variable))
        });
        variables.collect()
    }
}
