//! Arrays and groups in the terms of Zarr.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use hdf5_reader::messages::{HdfMessage, MSG_DATASPACE};
use icefield_core::{ChunkIndex, NodePath};
use serde_json::{Map, Value, json};

use super::attributes::Attribute;
use super::behind::{NotMade, PastRecords, Unfilled};
use super::chunks::{Stored, StoredBytes};
use super::datatype::{DataType, ElementKind};
use super::dimensions::{Dimensions, Length, Role};
use super::file::Hdf5;
use super::filters::{FilterRecoder, Pipeline};
use super::heap::GlobalHeaps;
use super::options::Hdf5Options;
use super::reader::{Described, NamedNode, Reader};
use super::values::{fill_value, masked_value, netcdf_fill};
use super::walk::{FoundNode, walk};
use crate::archive::phony::{self, Along, Axis};
use crate::{ArchiveArray, ArchiveChunks, ArchiveNode, SourceError};

/// Reads all nodes of a file.
pub(super) fn read_nodes(
    file: &Hdf5,
    options: &Hdf5Options,
) -> Result<BTreeMap<NodePath, ArchiveNode>, SourceError> {
    let walked = walk(file, options)?;
    let is_partial = !options.leave_out.is_empty();
    let mut reader = Reader {
        file,
        heaps: GlobalHeaps::new(file),
        dimensions: Dimensions::new(walked.names, is_partial),
        along: Vec::new(),
        most: options.made_bytes,
        splits: options.split_compound,
    };
    // Scales first: an array may come before the scales of its dimensions.
    let mut found = Vec::with_capacity(walked.nodes.len());
    // The scales, by their addresses, and the groups that they lie in.
    let mut scales: BTreeMap<u64, NodePath> = BTreeMap::new();
    // Many links may lead to one object.
    let mut known: HashMap<u64, Rc<Vec<Attribute>>> = HashMap::new();
    for node in walked.nodes {
        let attributes = match known.get(&node.address) {
            Some(attributes) => Rc::clone(attributes),
            None => {
                let Some(read) = file.supported(reader.attributes(&node, options))? else {
                    continue;
                };
                let attributes = Rc::new(read);
                known.insert(node.address, Rc::clone(&attributes));
                attributes
            }
        };
        let role = match node.is_group {
            true => Role::Array,
            false => Role::of(&attributes, &reader.heaps),
        };
        if role != Role::Array {
            let dimensions = &mut reader.dimensions;
            dimensions.add(node.address, &attributes, &reader.heaps);
            let group = node.path.parent().unwrap_or_else(NodePath::root);
            scales.entry(node.address).or_insert(group);
        }
        if role != Role::Name {
            found.push((node, attributes, role));
        }
    }
    for (node, attributes, role) in &found {
        if !node.is_group {
            reader.note_lengths(node, attributes, *role);
        }
    }
    let mut nodes = BTreeMap::new();
    for (node, attributes, role) in &found {
        if file.is_left_out(&node.path) {
            continue;
        }
        let read = match node.is_group {
            true => {
                let group = reader.plain(node, attributes, *role);
                group.map(|group| vec![(node.path.clone(), ArchiveNode::Group(group))])
            }
            false => reader.arrays(node, attributes, *role),
        };
        for (path, read) in file.supported(read)?.unwrap_or_default() {
            match nodes.entry(path) {
                Entry::Vacant(place) => place.insert(read),
                Entry::Occupied(taken) => {
                    return Err(file.refused(taken.key(), "two of its links have this name"));
                }
            };
        }
    }
    reader.name_dimensions(scales, &mut nodes);
    Ok(nodes)
}

impl Reader<'_> {
    /// Takes note of how long an array is along its dimensions. What cannot be understood is told when the array is read.
    fn note_lengths(&mut self, node: &FoundNode, attributes: &[Attribute], role: Role) {
        let space = self.file.message(&node.header, MSG_DATASPACE);
        if let Ok(Some(HdfMessage::Dataspace(space))) = space {
            let scales = self.scales(node, attributes, role, space.dims.len());
            self.dimensions.note(self.file, &scales, &space.dims);
        }
    }

    /// Names the dimensions that no scale names.
    fn name_dimensions(
        &mut self,
        scales: BTreeMap<u64, NodePath>,
        nodes: &mut BTreeMap<NodePath, ArchiveNode>,
    ) {
        let scales = scales.into_iter().map(|(address, group)| {
            let length = self.dimensions.length_of(self.file, address);
            let axis = Axis {
                length: match length {
                    Some(Length::Fixed(length) | Length::Unlimited(length)) => length,
                    None => 0,
                },
                is_unlimited: matches!(length, Some(Length::Unlimited(_))),
                name: self.dimensions.name(address),
            };
            (group, axis)
        });
        let scales: Vec<_> = scales.collect();
        phony::name(&mut self.along, &scales);
        for Along { path, axes } in self.along.drain(..) {
            if let Some(ArchiveNode::Array(array)) = nodes.get_mut(&path) {
                array.dimension_names = axes.into_iter().map(|axis| axis.name).collect();
            }
        }
    }

    /// Reads an array: itself, or the members of its compounds.
    fn arrays(
        &mut self,
        node: &FoundNode,
        attributes: &[Attribute],
        role: Role,
    ) -> Result<Vec<NamedNode>, SourceError> {
        let described = self.described(node)?;
        if self.splits
            && let ElementKind::Compound(members) = &described.data_type.kind
        {
            let members = Rc::clone(members);
            return self.members(node, attributes, role, &described, &members);
        }
        let array = self.array(node, attributes, role, described)?;
        let array = ArchiveNode::Array(Box::new(array));
        Ok(vec![(node.path.clone(), array)])
    }

    fn array(
        &mut self,
        node: &FoundNode,
        attributes: &[Attribute],
        role: Role,
        described: Described,
    ) -> Result<ArchiveArray, SourceError> {
        let data_type = &described.data_type;
        let refused = |reason: String| self.file.refused(&node.path, reason);
        let zarr_type = data_type.zarr().map_err(refused)?;
        // As the file has it; the array may be longer.
        let own = described.shape();
        let stored = self.stored(node, &described, &own)?;
        let pipeline = Pipeline::of(&described.filters, stored.chunk_bytes).map_err(refused)?;
        let fill = fill_value(data_type, described.fill.as_deref(), &self.heaps);
        let fill = fill.map_err(|error| self.file.failed(&node.path, "the fill value", error))?;
        let (shape, names) = self.along(node, attributes, role, &own);
        let is_longer = shape != own;
        let axes = shape.iter().zip(&names).zip(described.are_unlimited());
        let axes = axes.map(|((length, name), is_unlimited)| Axis {
            length: *length,
            is_unlimited,
            name: name.clone(),
        });
        self.along.push(Along {
            path: node.path.clone(),
            axes: axes.collect(),
        });
        let fill = match netcdf_fill(data_type) {
            // NetCDF has a fill value of each type where HDF5 has none.
            Some(default) if is_longer && described.fill.is_none() => default,
            _ => fill,
        };
        let map = self.array_attributes(node, attributes, role, data_type)?;
        self.hold(node, size_of::<ArchiveArray>())?;

        let chunk_shape = stored.chunk_shape.clone();
        let behind = PastRecords {
            own: &own,
            shape: &shape,
            chunk_shape: &chunk_shape,
        };
        let (codecs, chunks) = match data_type.is_text() {
            true => {
                let codec = json!({ "name": "vlen-utf8", "configuration": {} });
                (vec![codec], self.texts(node, &described, &stored, &behind)?)
            }
            false => self.numbers(node, &described, stored, pipeline)?,
        };
        let mut array = ArchiveArray {
            shape: shape.clone(),
            chunk_shape: chunk_shape.clone(),
            data_type: zarr_type,
            fill_value: fill,
            codecs,
            dimension_names: names,
            attributes: map,
            chunks,
        };
        // Without a fill value HDF5 has zeros.
        let has_zeros = described.fill.is_none() && is_not_zero(&array.fill_value);
        if is_longer && (has_zeros || !described.is_filled) {
            let unfilled = Unfilled {
                behind,
                has_zeros: has_zeros && described.is_filled,
                most: self.most,
            };
            self.fill_behind(node, &mut array, &unfilled)?;
        }
        Ok(array)
    }

    /// Fills what lies behind the records of an array where HDF5 did not.
    fn fill_behind(
        &mut self,
        node: &FoundNode,
        array: &mut ArchiveArray,
        unfilled: &Unfilled<'_>,
    ) -> Result<(), SourceError> {
        let read = |offset, length| {
            let bytes = self.file.read(self.file.address(offset), length)?;
            Ok(bytes.to_vec())
        };
        match unfilled.made(array, read) {
            Ok(bytes) => self.spend(node, bytes),
            Err(NotMade::Refused(reason)) => Err(self.file.refused(&node.path, reason)),
            Err(NotMade::TooLong) => Err(self.too_long(node)),
            Err(NotMade::Read(error)) => Err(self.file.failed(&node.path, "the chunks", error)),
        }
    }

    /// Returns the chunks of an array that is not of texts, and their codecs.
    fn numbers(
        &mut self,
        node: &FoundNode,
        described: &Described,
        stored: Stored,
        pipeline: Pipeline,
    ) -> Result<(Vec<Value>, ArchiveChunks), SourceError> {
        let mut codecs = vec![described.data_type.bytes_codec()];
        let extents = match stored.place {
            StoredBytes::File(extents) => extents,
            // Data in a header has not gone through filters.
            StoredBytes::Header(mut bytes) => {
                self.spend(node, bytes.len() as u64)?;
                if let Some(take) = described.data_type.take() {
                    bytes = take.of(&bytes);
                }
                let index = vec![0; stored.chunk_shape.len()];
                let made = ArchiveChunks::Made {
                    chunks: vec![(index.into(), bytes.into())],
                    reason: "its bytes are a part of its header".to_owned(),
                };
                return Ok((codecs, made));
            }
        };
        let index_of = |row: usize| extents.row(row).index;
        let pipeline = match stored.left_out.keys().next() {
            // Codecs are the same for all chunks.
            Some(row) if pipeline.recoded.is_none() => {
                let index = ChunkIndex::from(index_of(*row));
                let reason = format!("some filters were left out for its chunk {index}");
                let pipeline = pipeline.into_recoded(&described.filters, reason);
                pipeline.map_err(|reason| self.file.refused(&node.path, reason))?
            }
            _ => pipeline,
        };
        let take = described.data_type.take();
        let pipeline = match take.filter(|_| pipeline.recoded.is_none()) {
            Some(_) => {
                let reason = "its integers use a part of their bits, which Zarr has no type for";
                let pipeline = pipeline.into_recoded(&described.filters, reason.to_owned());
                pipeline.map_err(|reason| self.file.refused(&node.path, reason))?
            }
            None => pipeline,
        };
        codecs.extend(pipeline.codecs);
        let Some(reason) = pipeline.recoded else {
            return Ok((codecs, ArchiveChunks::InFiles(extents)));
        };
        let left_out = stored.left_out.iter();
        let anew = FilterRecoder {
            filters: described.filters.clone(),
            left_out: left_out
                .map(|(row, filters)| (index_of(*row).to_vec(), *filters))
                .collect(),
            take,
        };
        let chunks = ArchiveChunks::Recoded {
            extents,
            recode: anew.into_recode(),
            reason,
        };
        Ok((codecs, chunks))
    }

    fn array_attributes(
        &self,
        node: &FoundNode,
        attributes: &[Attribute],
        role: Role,
        data_type: &DataType,
    ) -> Result<Map<String, Value>, SourceError> {
        let mut map = self.plain(node, attributes, role)?;
        let fill = attributes.iter().find(|one| one.name == "_FillValue");
        if let Some(fill) = fill
            && let Some(bytes) = fill.first()
        {
            let value = masked_value(data_type, &fill.data_type, bytes, &self.heaps);
            let value = value.map_err(|error| {
                self.file
                    .failed(&node.path, "the attribute \"_FillValue\"", error)
            })?;
            if fill.data.len() > fill.data_type.size {
                let what =
                    "its attribute \"_FillValue\" has several values, and the first is taken";
                self.file.warn(&node.path, what);
            }
            match value {
                Some(value) => map.insert(fill.name.clone(), value),
                None => {
                    // That of texts stands in the array, and masks nothing.
                    if !matches!(data_type.kind, ElementKind::Text(_) | ElementKind::LongText) {
                        let what =
                            "its attribute \"_FillValue\" is no value of its type and left out";
                        self.file.warn(&node.path, what);
                    }
                    map.remove(&fill.name)
                }
            };
        }
        if let ElementKind::Enum { members, .. } = &data_type.kind {
            self.hold(node, data_type.weight())?;
            let place = map.entry("enum_members");
            place.or_insert_with(|| Value::Object((**members).clone()));
        }
        Ok(map)
    }
}

/// Tells whether a fill value is a number other than zero.
fn is_not_zero(fill: &Value) -> bool {
    fill.as_f64().is_some_and(|fill| fill != 0.0)
}
