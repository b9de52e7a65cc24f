//! A tree of documents, and how it is read.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::generation::Names;
use crate::json::object;
use crate::{Dataset, Dimension, Generation, Group, NczarrError};

/// Groups below groups; no dataset in use has more.
const MAX_DEPTH: usize = 128;

/// The options with which a tree is read. The default believes all records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Whether the records of NCZarr are ignored (`mode=zarr`).
    pub is_pure: bool,
    /// Whether `_ARRAY_DIMENSIONS` is ignored (`mode=noxarray`).
    pub is_without_xarray: bool,
    /// Arrays whose `dtype` is big-endian hold little-endian numbers all the same, as netCDF-C before 4.9.3 wrote them.
    /// Without it they are taken at their word, and named in [`Opened::suspects`].
    pub has_legacy_endian: bool,
}

/// A dataset that was read from a tree, and the layout of its arrays.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// The dataset.
    pub dataset: Dataset,
    /// The convention that the tree follows.
    pub generation: Generation,
    /// The `.zarray` of each variable by path, as Zarr format 2 has it: without records, scalars without dimensions, chars
    /// as `|S1`, fill values of chars and strings in base64, the length of an element where a shuffle filter lacks it.
    pub arrays: BTreeMap<String, Value>,
    /// The variables whose big-endian numbers may be little-endian ones.
    pub suspects: Vec<String>,
}

/// Documents by key, such as `g/v/.zarray`.
pub type Documents = BTreeMap<String, Value>;

/// Returns whether numbers of a `dtype` are among those that [`may_swap`](super::may_swap) is about: big-endian ones of more than one byte.
pub fn is_swappable(dtype: &str) -> bool {
    let parsed = crate::dtype::of_array(dtype);
    parsed.is_some_and(|(data_type, endian)| {
        endian == crate::Endian::Big && data_type.bytes() > Some(1)
    })
}

/// The documents of a tree, and how they are read.
pub(crate) struct Tree<'a> {
    pub(super) documents: &'a Documents,
    pub(super) generation: Generation,
    pub(super) names: Names,
    pub(super) options: ReadOptions,
    /// Whether the writer may have swapped big-endian numbers.
    pub(super) swaps: bool,
}

impl<'a> Tree<'a> {
    /// The document of a name at a path such as `/g/v`; it must be an object.
    pub(super) fn document(
        &self,
        path: &str,
        name: &str,
    ) -> Result<Option<&'a Map<String, Value>>, NczarrError> {
        let key = key(path, name);
        match self.documents.get(&key) {
            None => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(fields)),
            Some(_) => Err(NczarrError::new(key, "it is not a JSON object")),
        }
    }

    /// Where the record of a node lies: the document, and the member of it; none for an object of its own.
    pub(super) fn record(
        &self,
        path: &str,
        is_group: bool,
    ) -> Result<Option<&'a Map<String, Value>>, NczarrError> {
        let member = if is_group {
            self.names.group
        } else {
            self.names.array
        };
        let own = if is_group { ".zgroup" } else { ".zarray" };
        let found = match self.generation {
            Generation::Pure => None,
            Generation::G0 if is_group => self.document(path, ".nczgroup")?,
            Generation::G0 => match self.document(path, ".nczarray")? {
                None => self.document(path, ".nczvar")?,
                found => found,
            },
            Generation::G1 | Generation::G2 => {
                let document = self.document(path, own)?;
                document.and_then(|fields| object(fields, member))
            }
            Generation::G3 => {
                let document = self.document(path, ".zattrs")?;
                document.and_then(|fields| object(fields, member))
            }
        };
        Ok(found)
    }

    /// The types of the attributes of a node.
    pub(super) fn types(&self, path: &str) -> Result<Option<&'a Map<String, Value>>, NczarrError> {
        let record = match self.generation {
            Generation::Pure => None,
            Generation::G0 => match self.document(path, ".nczattrs")? {
                None => self.document(path, ".nczattr")?,
                found => found,
            },
            Generation::G1 | Generation::G2 | Generation::G3 => {
                let document = self.document(path, ".zattrs")?;
                document.and_then(|fields| object(fields, self.names.attributes))
            }
        };
        Ok(record.and_then(|fields| object(fields, "types")))
    }

    pub(super) fn group(
        &self,
        path: &str,
        depth: usize,
        opened: &mut Opened,
    ) -> Result<Group, NczarrError> {
        if depth > MAX_DEPTH {
            let problem = format!("it lies below more than {MAX_DEPTH} groups");
            return Err(NczarrError::new(path, problem));
        }
        let record = self.record(path, true)?;
        let mut group = Group {
            name: path.rsplit('/').next().unwrap_or_default().to_owned(),
            dimensions: self.dimensions(path, record)?,
            attributes: self.attributes(path, None)?,
            ..Group::default()
        };
        let (arrays, groups) = self.children(path);
        let listed = |names: [&str; 2]| names.iter().find_map(|name| record?.get(*name));
        let arrays = self.ordered(path, arrays, listed([self.names.arrays, "arrays"]))?;
        let groups = self.ordered(path, groups, listed(["groups", "subgroups"]))?;
        for name in arrays {
            let variable = self.variable(&format!("{path}/{name}"), opened)?;
            group.variables.push(variable);
        }
        for name in groups {
            let below = self.group(&format!("{path}/{name}"), depth + 1, opened)?;
            group.groups.push(below);
        }
        Ok(group)
    }

    /// The names of the arrays and groups directly below a group.
    pub(super) fn children(&self, path: &str) -> (Vec<String>, Vec<String>) {
        let prefix = key(path, "");
        let (mut arrays, mut groups) = (Vec::new(), Vec::new());
        let below = self.documents.range(prefix.clone()..);
        for (key, _) in below.take_while(|(key, _)| key.starts_with(&prefix)) {
            let rest = key.get(prefix.len()..).unwrap_or_default();
            match rest.split_once('/') {
                Some((name, ".zarray")) => arrays.push(name.to_owned()),
                Some((name, ".zgroup" | ".nczgroup")) => groups.push(name.to_owned()),
                _ => {}
            }
        }
        groups.dedup();
        groups.retain(|name| !arrays.contains(name));
        (arrays, groups)
    }

    /// The children in the order of their definition; those that the record does not list come last.
    pub(super) fn ordered(
        &self,
        path: &str,
        mut found: Vec<String>,
        listed: Option<&Value>,
    ) -> Result<Vec<String>, NczarrError> {
        let mut names = Vec::with_capacity(found.len());
        let listed = listed.and_then(Value::as_array);
        for name in listed.into_iter().flatten().filter_map(Value::as_str) {
            if names.iter().any(|known| known == name) {
                let problem = format!("its record lists {name:?} twice");
                return Err(NczarrError::new(shown(path), problem));
            }
            match found.iter().position(|known| known == name) {
                Some(at) => names.push(found.remove(at)),
                None => {
                    let problem = format!(
                        "its record lists {name:?}, which has no .zarray or .zgroup: was the dataset copied in part?"
                    );
                    return Err(NczarrError::new(shown(path), problem));
                }
            }
        }
        names.append(&mut found);
        Ok(names)
    }

    pub(super) fn dimensions(
        &self,
        path: &str,
        record: Option<&Map<String, Value>>,
    ) -> Result<Vec<Dimension>, NczarrError> {
        let names = [self.names.dimensions, "dimensions", "dims"];
        let found = names.iter().find_map(|name| object(record?, name));
        let read = |(name, size): (&String, &Value)| {
            let length = size.as_u64().or_else(|| size.get("size")?.as_u64());
            let unlimited = size.get("unlimited");
            let is_unlimited = unlimited.is_some_and(|it| it != 0 && *it != Value::Bool(false));
            let refuse = || {
                let problem =
                    format!("its dimension {name:?} has the size {size}, which is no length");
                NczarrError::new(shown(path), problem)
            };
            Ok(Dimension {
                name: name.clone(),
                length: length.ok_or_else(refuse)?,
                is_unlimited,
            })
        };
        found.into_iter().flatten().map(read).collect()
    }
}

/// The key of a document of the node at a path such as `/g/v`; the root's path is empty.
pub(super) fn key(path: &str, name: &str) -> String {
    match path.trim_start_matches('/') {
        "" => name.to_owned(),
        path => format!("{path}/{name}"),
    }
}

/// The name of a path in messages.
pub(super) fn shown(path: &str) -> &str {
    match path {
        "" => "/",
        path => path,
    }
}
