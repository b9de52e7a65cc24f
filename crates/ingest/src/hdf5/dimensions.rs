//! Names and lengths of dimensions, from dimension scales.
//!
//! A scale that may grow stands for an unlimited dimension of NetCDF. As many records as the longest array along it has,
//! every array along it has, whatever it was written for: `nc_inq_dimlen` has that rule.

use std::collections::HashMap;

use hdf5_reader::messages::dataspace::{DataspaceType, UNLIMITED};
use hdf5_reader::messages::{HdfMessage, MSG_DATASPACE};

use super::attributes::Attribute;
use super::datatype::ElementKind;
use super::file::Hdf5;
use super::heap::GlobalHeaps;
use super::walk::NOT_COORDINATE;
use crate::archive::values::BOOKKEEPING;

/// How NetCDF names the scale of a dimension that has no variable.
const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";
/// The role of an array for dimensions.
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
        let class = text("CLASS").unwrap_or_default();
        // HDF5 ends the text at the first zero.
        if class.split('\0').next() != Some("DIMENSION_SCALE") {
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

/// The dimensions of a file. One is known by the address of its scale.
pub(super) struct Dimensions {
    names: HashMap<u64, String>,
    by_id: HashMap<i64, u64>,
    lengths: HashMap<u64, Option<Length>>,
    /// Whether some arrays are not seen.
    is_partial: bool,
}

/// How long a dimension is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// As long as its scale.
    Fixed(u64),
    /// As long as the longest array along it.
    Unlimited(u64),
}

impl Dimensions {
    /// Starts with the names of all objects. If arrays are left out, the scales of unlimited dimensions count for them.
    pub(super) fn new(names: HashMap<u64, String>, is_partial: bool) -> Self {
        Self {
            names,
            by_id: HashMap::new(),
            lengths: HashMap::new(),
            is_partial,
        }
    }

    /// Takes note of a scale.
    pub(super) fn add(&mut self, address: u64, attributes: &[Attribute], heaps: &GlobalHeaps<'_>) {
        let id = found(attributes, "_Netcdf4Dimid").and_then(|id| id.integers(heaps));
        if let Some([id]) = id.as_deref() {
            self.by_id.insert(*id, address);
        }
    }

    /// Takes note of the lengths of an array along its dimensions.
    pub(super) fn note(&mut self, file: &Hdf5, scales: &[Option<u64>], shape: &[u64]) {
        for (scale, length) in scales.iter().zip(shape) {
            let Some(scale) = scale else { continue };
            let is_partial = self.is_partial;
            let place = self.lengths.entry(*scale);
            let known = place.or_insert_with(|| Length::of_scale(file, *scale, is_partial));
            if let Some(Length::Unlimited(most)) = known {
                *most = (*most).max(*length);
            }
        }
    }

    /// Returns how long the dimension of a scale is; `None` if the scale does not tell.
    pub(super) fn length(&self, scale: u64) -> Option<Length> {
        self.lengths.get(&scale).copied().flatten()
    }

    /// Returns how long the dimension of a scale is, also if no array lies along it.
    pub(super) fn length_of(&self, file: &Hdf5, scale: u64) -> Option<Length> {
        match self.length(scale) {
            Some(length) => Some(length),
            None => Length::of_scale(file, scale, true),
        }
    }

    /// Returns the name of the dimension of a scale.
    pub(super) fn name(&self, scale: u64) -> Option<String> {
        self.names.get(&scale).map(|name| plain(name))
    }

    /// Returns the scales of an array's dimensions.
    pub(super) fn of(
        &self,
        file: &Hdf5,
        array: (u64, usize, Role),
        attributes: &[Attribute],
        heaps: &GlobalHeaps<'_>,
    ) -> Vec<Option<u64>> {
        let (address, rank, role) = array;
        if let Some(list) = found(attributes, "DIMENSION_LIST") {
            return self.listed(file, rank, list, heaps);
        }
        let ids = found(attributes, "_Netcdf4Coordinates").and_then(|ids| ids.integers(heaps));
        match ids {
            Some(ids) if ids.len() == rank => {
                ids.iter().map(|id| self.by_id.get(id).copied()).collect()
            }
            // The scale of a dimension is an array along itself.
            _ if role == Role::Scale && rank == 1 => vec![Some(address)],
            _ => vec![None; rank],
        }
    }

    /// Reads the list of references to scales. Of several for one dimension, the first one stands for it.
    fn listed(
        &self,
        file: &Hdf5,
        rank: usize,
        list: &Attribute,
        heaps: &GlobalHeaps<'_>,
    ) -> Vec<Option<u64>> {
        let is_list = match &list.data_type.kind {
            ElementKind::List(element) => element.kind == ElementKind::Reference,
            _ => false,
        };
        let mut elements = list.data.chunks_exact(list.data_type.size);
        let scale = |reference: &[u8]| {
            let (_, bytes) = heaps.read(reference).ok()?;
            let mut address = [0; 8];
            let size = usize::from(file.offset_size).min(8);
            address.get_mut(..size)?.copy_from_slice(bytes.get(..size)?);
            let address = u64::from_le_bytes(address);
            self.names.contains_key(&address).then_some(address)
        };
        let mut scales: Vec<_> = (0..rank)
            .map(|_| elements.next().filter(|_| is_list).and_then(scale))
            .collect();
        scales.resize(rank, None);
        scales
    }
}

impl Length {
    /// Reads the length of a scale, of which the first dimension is the one it stands for. A scale may be left out, and not
    /// be readable.
    fn of_scale(file: &Hdf5, address: u64, is_partial: bool) -> Option<Self> {
        let header = file.header(address).ok()?;
        let space = file.message(&header, MSG_DATASPACE).ok()?;
        let Some(HdfMessage::Dataspace(space)) = space else {
            return None;
        };
        if space.dataspace_type != DataspaceType::Simple {
            return None;
        }
        let length = *space.dims.first()?;
        let most = space.max_dims.as_ref().and_then(|most| most.first());
        Some(match most {
            Some(&UNLIMITED) => Self::Unlimited(if is_partial { length } else { 0 }),
            _ => Self::Fixed(length),
        })
    }
}

fn plain(name: &str) -> String {
    name.strip_prefix(NOT_COORDINATE).unwrap_or(name).to_owned()
}
