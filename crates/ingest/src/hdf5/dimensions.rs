//! Names of dimensions, from dimension scales.

use std::collections::HashMap;

use super::attributes::Attribute;
use super::datatype::Kind;
use super::file::Hdf5;
use super::heap::GlobalHeaps;
use super::walk::NOT_COORDINATE;

/// How NetCDF names the scale of a dimension that has no variable.
const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";
/// What only links scales and arrays to each other, or says who wrote the file.
const BOOKKEEPING: [&str; 6] = [
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "_Netcdf4Coordinates",
    "_Netcdf4Dimid",
    "_NCProperties",
    "_nc3_strict",
];

/// What an array is to dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// No scale.
    Array,
    /// A scale, and an array.
    Scale,
    /// A scale that only names a dimension.
    Name,
}

impl Role {
    /// Tells the role by the attributes.
    pub(super) fn of(attributes: &[Attribute], heaps: &GlobalHeaps<'_>) -> Self {
        let text = |name: &str| found(attributes, name)?.text(heaps);
        if text("CLASS").as_deref() != Some("DIMENSION_SCALE") {
            return Self::Array;
        }
        match text("NAME") {
            Some(name) if name.starts_with(NO_VARIABLE) => Self::Name,
            _ => Self::Scale,
        }
    }

    /// Tells whether an attribute is only bookkeeping.
    pub(super) fn is_bookkeeping(self, attribute: &str) -> bool {
        let of_scale = matches!(attribute, "CLASS" | "NAME");
        BOOKKEEPING.contains(&attribute) || (of_scale && self != Self::Array)
    }
}

fn found<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a Attribute> {
    attributes.iter().find(|attribute| attribute.name == name)
}

/// The names of dimensions, by the scales that stand for them.
#[derive(Default)]
pub(super) struct Dimensions {
    by_address: HashMap<u64, String>,
    by_id: HashMap<i64, String>,
}

impl Dimensions {
    /// Starts with the names of all objects.
    pub(super) fn new(names: HashMap<u64, String>) -> Self {
        Self {
            by_address: names,
            by_id: HashMap::new(),
        }
    }

    /// Takes note of a scale.
    pub(super) fn add(&mut self, address: u64, attributes: &[Attribute], heaps: &GlobalHeaps<'_>) {
        let id = found(attributes, "_Netcdf4Dimid").and_then(|id| id.integers(heaps));
        let name = self.by_address.get(&address);
        if let (Some([id]), Some(name)) = (id.as_deref(), name) {
            self.by_id.insert(*id, plain(name));
        }
    }

    /// Returns the names of an array's dimensions.
    pub(super) fn of(
        &self,
        file: &Hdf5,
        array: (u64, usize, Role),
        attributes: &[Attribute],
        heaps: &GlobalHeaps<'_>,
    ) -> Vec<Option<String>> {
        let (address, rank, role) = array;
        if let Some(list) = found(attributes, "DIMENSION_LIST") {
            return self.listed(file, rank, list, heaps);
        }
        let ids = found(attributes, "_Netcdf4Coordinates").and_then(|ids| ids.integers(heaps));
        match ids {
            Some(ids) if ids.len() == rank => {
                ids.iter().map(|id| self.by_id.get(id).cloned()).collect()
            }
            // The scale of a dimension is an array along itself.
            _ if role == Role::Scale && rank == 1 => {
                vec![self.by_address.get(&address).map(|name| plain(name))]
            }
            _ => vec![None; rank],
        }
    }

    /// Reads the list of references to scales. Of several for one dimension, the first one names it.
    fn listed(
        &self,
        file: &Hdf5,
        rank: usize,
        list: &Attribute,
        heaps: &GlobalHeaps<'_>,
    ) -> Vec<Option<String>> {
        let is_list = match &list.data_type.kind {
            Kind::List(element) => element.kind == Kind::Reference,
            _ => false,
        };
        let mut elements = list.data.chunks_exact(list.data_type.size);
        let name = |reference: &[u8]| {
            let (_, bytes) = heaps.read(reference).ok()?;
            let mut address = [0; 8];
            let size = usize::from(file.offset_size).min(8);
            address.get_mut(..size)?.copy_from_slice(bytes.get(..size)?);
            let name = self.by_address.get(&u64::from_le_bytes(address))?;
            Some(plain(name))
        };
        let mut names: Vec<_> = (0..rank)
            .map(|_| elements.next().filter(|_| is_list).and_then(name))
            .collect();
        names.resize(rank, None);
        names
    }
}

fn plain(name: &str) -> String {
    name.strip_prefix(NOT_COORDINATE).unwrap_or(name).to_owned()
}
