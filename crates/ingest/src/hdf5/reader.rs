//! The messages of an array or a group, read as far as any array needs them.

use hdf5_reader::messages::dataspace::{DataspaceMessage, DataspaceType, UNLIMITED};
use hdf5_reader::messages::filter_pipeline::FilterDescription;
use hdf5_reader::messages::{
    HdfMessage, MSG_DATA_LAYOUT, MSG_DATASPACE, MSG_EXTERNAL_FILES, MSG_FILL_VALUE,
    MSG_FILL_VALUE_OLD, MSG_FILTER_PIPELINE,
};
use icefield_core::NodePath;
use serde_json::{Map, Value};

use super::attributes::Attribute;
use super::chunks::{Space, Stored};
use super::datatype::DataType;
use super::dimensions::{Dimensions, Length, Role};
use super::file::Hdf5;
use super::heap::GlobalHeaps;
use super::options::Hdf5Options;
use super::parsed::invalid;
use super::walk::FoundNode;
use crate::archive::phony::Along;
use crate::{ArchiveNode, SourceError};

/// The class of layouts that put an array together from others.
const VIRTUAL: u8 = 3;

/// Reads the nodes of a file.
pub(super) struct Reader<'a> {
    pub(super) file: &'a Hdf5,
    pub(super) heaps: GlobalHeaps<'a>,
    pub(super) dimensions: Dimensions,
    /// The dimensions of the arrays that were read.
    pub(super) along: Vec<Along>,
    /// Bytes that may still be made.
    pub(super) most: u64,
    /// Whether a compound becomes a group of arrays.
    pub(super) splits: bool,
}

/// A node with its path.
pub(super) type NamedNode = (NodePath, ArchiveNode);

/// The description of an array in its messages.
pub(super) struct Described {
    pub(super) data_type: DataType,
    pub(super) space: DataspaceMessage,
    pub(super) filters: Vec<FilterDescription>,
    /// The fill value that the creator of the array gave it.
    pub(super) fill: Option<Vec<u8>>,
    /// Whether HDF5 writes that into new chunks.
    pub(super) is_filled: bool,
}

impl Described {
    /// Returns the shape in the file.
    pub(super) fn shape(&self) -> Vec<u64> {
        match self.space.dataspace_type {
            DataspaceType::Null => vec![0],
            DataspaceType::Scalar => Vec::new(),
            DataspaceType::Simple => self.space.dims.clone(),
        }
    }

    /// Returns for each dimension whether it may grow.
    pub(super) fn are_unlimited(&self) -> impl Iterator<Item = bool> + '_ {
        let most = self.space.max_dims.iter().flatten();
        most.map(|most| *most == UNLIMITED)
            .chain(std::iter::repeat(false))
    }
}

impl Reader<'_> {
    pub(super) fn attributes(
        &self,
        node: &FoundNode,
        options: &Hdf5Options,
    ) -> Result<Vec<Attribute>, SourceError> {
        let attributes = self
            .file
            .attributes(&node.header, &options.leave_out_attributes);
        attributes.map_err(|bad| {
            let what = match bad.name {
                Some(name) => format!("the attribute {name:?}"),
                None => "an attribute".to_owned(),
            };
            self.file.failed(&node.path, what, bad.error)
        })
    }

    /// Returns attributes as JSON, except what needs the type of an array.
    pub(super) fn plain(
        &self,
        node: &FoundNode,
        attributes: &[Attribute],
        role: Role,
    ) -> Result<Map<String, Value>, SourceError> {
        let mut map = Map::new();
        for attribute in attributes {
            let name = &attribute.name;
            if role.is_bookkeeping(name) {
                continue;
            }
            let value = attribute.json(&self.heaps).map_err(|error| {
                let what = format!("the attribute {name:?}");
                self.file.failed(&node.path, what, error)
            })?;
            let Some(value) = value else {
                let reason =
                    format!("its attribute {name:?} has a type that JSON lacks: leave it out");
                return Err(self.file.refused(&node.path, reason));
            };
            let held = self.file.held.add(size_of_entry(name));
            held.map_err(|error| self.file.failed(&node.path, "the attributes", error))?;
            map.insert(name.clone(), value);
        }
        Ok(map)
    }

    /// Returns the scales of the dimensions of an array.
    pub(super) fn scales(
        &self,
        node: &FoundNode,
        attributes: &[Attribute],
        role: Role,
        rank: usize,
    ) -> Vec<Option<u64>> {
        let array = (node.address, rank, role);
        let dimensions = &self.dimensions;
        dimensions.of(self.file, array, attributes, &self.heaps)
    }

    /// Returns the shape and the names of the dimensions of an array whose shape in HDF5 is `own`.
    pub(super) fn along(
        &self,
        node: &FoundNode,
        attributes: &[Attribute],
        role: Role,
        own: &[u64],
    ) -> (Vec<u64>, Vec<Option<String>>) {
        let scales = self.scales(node, attributes, role, own.len());
        let mut shape = own.to_vec();
        let mut names: Vec<Option<String>> = Vec::new();
        for (axis, scale) in scales.iter().enumerate() {
            let name = scale.and_then(|scale| self.dimensions.name(scale));
            let length = scale.and_then(|scale| self.dimensions.length(scale));
            let Some(here) = shape.get_mut(axis) else {
                continue;
            };
            let mut twice = scales.iter().zip(&names);
            if name.is_some() && twice.any(|(other, named)| other != scale && *named == name) {
                let name = name.clone().unwrap_or_default();
                let what =
                    format!("two of its dimensions are different and have the name {name:?}");
                self.file.warn(&node.path, what);
            }
            match length {
                Some(Length::Unlimited(most)) => *here = most.max(*here),
                Some(Length::Fixed(length)) if length != *here => {
                    let name = name.unwrap_or_default();
                    let what = format!(
                        "it has {here} elements along {name:?}, whose scale has {length}: that dimension gets another name"
                    );
                    self.file.warn(&node.path, what);
                    names.push(None);
                    continue;
                }
                Some(Length::Fixed(_)) | None => {}
            }
            names.push(name);
        }
        (shape, names)
    }

    /// Counts what is kept of a node.
    pub(super) fn hold(&self, node: &FoundNode, bytes: usize) -> Result<(), SourceError> {
        let held = self.file.held.add(bytes);
        held.map_err(|error| self.file.failed(&node.path, "the array", error))
    }

    /// Takes from what may still be made.
    pub(super) fn spend(&mut self, node: &FoundNode, bytes: u64) -> Result<(), SourceError> {
        match self.most.checked_sub(bytes) {
            Some(rest) => {
                self.most = rest;
                Ok(())
            }
            None => Err(self.too_long(node)),
        }
    }

    pub(super) fn too_long(&self, node: &FoundNode) -> SourceError {
        let reason = "it is copied through memory, and more than `made_bytes` is needed: leave it out, or allow more";
        self.file.refused(&node.path, reason)
    }

    pub(super) fn described(&self, node: &FoundNode) -> Result<Described, SourceError> {
        let (file, header) = (self.file, &node.header);
        let failed = |what: &'static str| move |error| file.failed(&node.path, what, error);
        if header.has(MSG_EXTERNAL_FILES) {
            return Err(file.refused(&node.path, "its data lie in other files"));
        }
        let data_type = file.data_type(header).map_err(failed("the data type"))?;
        let data_type =
            data_type.ok_or_else(|| failed("the header")(invalid("it has no data type")))?;
        let space = file
            .message(header, MSG_DATASPACE)
            .map_err(failed("the shape"))?;
        let Some(HdfMessage::Dataspace(space)) = space else {
            return Err(failed("the header")(invalid("it has no shape")));
        };
        let filters = file.message(header, MSG_FILTER_PIPELINE);
        let filters = match filters.map_err(failed("the filters"))? {
            Some(HdfMessage::FilterPipeline(pipeline)) => pipeline.filters,
            _ => Vec::new(),
        };
        let (mut fill, mut is_filled) = (None, true);
        for kind in [MSG_FILL_VALUE_OLD, MSG_FILL_VALUE] {
            let body = file.body(header, kind).map_err(failed("the fill value"))?;
            let Some(body) = body else { continue };
            let message = file.parse(kind, &body).map_err(failed("the fill value"))?;
            if let HdfMessage::FillValue(message) = message {
                fill = message.value.filter(|value| !value.is_empty());
                is_filled = kind == MSG_FILL_VALUE_OLD || !is_never_filled(&body);
            }
        }
        Ok(Described {
            data_type,
            space,
            filters,
            fill,
            is_filled,
        })
    }

    pub(super) fn stored(
        &self,
        node: &FoundNode,
        described: &Described,
        shape: &[u64],
    ) -> Result<Stored, SourceError> {
        let (file, header) = (self.file, &node.header);
        let failed = |error| file.failed(&node.path, "the layout", error);
        let body = file.body(header, MSG_DATA_LAYOUT).map_err(failed)?;
        let body = body.unwrap_or_default();
        if matches!(body.as_slice(), [version, VIRTUAL, ..] if *version >= 3) {
            let reason = "it is a virtual dataset, put together from others";
            return Err(file.refused(&node.path, reason));
        }
        let layout = match file.parse(MSG_DATA_LAYOUT, &body).map_err(failed)? {
            HdfMessage::DataLayout(message) => message.layout,
            _ => return Err(failed(invalid("it has no layout"))),
        };
        let most = described.space.max_dims.as_deref();
        let most = most.filter(|most| most.len() == shape.len());
        let space = Space {
            path: &node.path,
            shape,
            most: most.unwrap_or(shape),
            element: described.data_type.size as u64,
            filters: described.filters.len(),
        };
        file.stored(&space, layout, &body)
    }
}

/// Returns the bytes that an attribute takes in a map, without its value.
fn size_of_entry(name: &str) -> usize {
    name.len() + size_of::<(String, Value, usize)>()
}

/// Tells by the message of a fill value whether it is never written. The parser has other names for the times.
fn is_never_filled(body: &[u8]) -> bool {
    const NEVER: u8 = 1;
    match body {
        [1 | 2, _, time, ..] => *time == NEVER,
        [3, flags, ..] => (flags >> 2) & 0x03 == NEVER,
        _ => false,
    }
}
