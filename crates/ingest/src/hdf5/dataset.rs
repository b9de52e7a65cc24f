//! Arrays and groups in the terms of Zarr.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use hdf5_reader::messages::dataspace::{DataspaceMessage, DataspaceType, UNLIMITED};
use hdf5_reader::messages::filter_pipeline::FilterDescription;
use hdf5_reader::messages::{
    HdfMessage, MSG_DATA_LAYOUT, MSG_DATASPACE, MSG_EXTERNAL_FILES, MSG_FILL_VALUE,
    MSG_FILL_VALUE_OLD, MSG_FILTER_PIPELINE,
};
use icefield_core::{ChunkIndex, NodePath};
use serde_json::{Map, Value, json};

use super::attributes::Attribute;
use super::behind::{Behind, NotMade, Unfilled};
use super::chunks::{Place, Space, Stored};
use super::datatype::{DataType, Kind};
use super::dimensions::{Dimensions, Length, Role};
use super::file::{Hdf5, invalid};
use super::filters::{self, Anew, Pipeline};
use super::heap::GlobalHeaps;
use super::text::{self, NoTexts};
use super::values::{fill_value, masked_value, netcdf_fill};
use super::walk::{Found, walk};
use super::{Hdf5Options, SourceError};
use crate::archive::phony::{self, Along, Axis};
use crate::{ArchiveArray, ArchiveChunks, ArchiveNode};

/// The class of layouts that put an array together from others.
const VIRTUAL: u8 = 3;

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

pub(super) struct Reader<'a> {
    pub(super) file: &'a Hdf5,
    pub(super) heaps: GlobalHeaps<'a>,
    dimensions: Dimensions,
    /// The dimensions of the arrays that were read.
    pub(super) along: Vec<Along>,
    /// Bytes that may still be made.
    most: u64,
    /// Whether a compound becomes a group of arrays.
    splits: bool,
}

/// A node with its path.
pub(super) type Named = (NodePath, ArchiveNode);

/// What the messages of an array say.
pub(super) struct Described {
    pub(super) data_type: DataType,
    pub(super) space: DataspaceMessage,
    pub(super) filters: Vec<FilterDescription>,
    /// The fill value that the creator of the array gave it.
    pub(super) fill: Option<Vec<u8>>,
    /// Whether HDF5 writes that into new chunks.
    is_filled: bool,
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
    fn attributes(
        &self,
        node: &Found,
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
        node: &Found,
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

    /// Takes note of how long an array is along its dimensions. What cannot be understood is told when the array is read.
    fn note_lengths(&mut self, node: &Found, attributes: &[Attribute], role: Role) {
        let space = self.file.message(&node.header, MSG_DATASPACE);
        if let Ok(Some(HdfMessage::Dataspace(space))) = space {
            let scales = self.scales(node, attributes, role, space.dims.len());
            self.dimensions.note(self.file, &scales, &space.dims);
        }
    }

    /// Returns the scales of the dimensions of an array.
    fn scales(
        &self,
        node: &Found,
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
        node: &Found,
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
        node: &Found,
        attributes: &[Attribute],
        role: Role,
    ) -> Result<Vec<Named>, SourceError> {
        let described = self.described(node)?;
        if self.splits
            && let Kind::Compound(members) = &described.data_type.kind
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
        node: &Found,
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
        let behind = Behind {
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
        node: &Found,
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

    /// Counts what is kept of a node.
    fn hold(&self, node: &Found, bytes: usize) -> Result<(), SourceError> {
        let held = self.file.held.add(bytes);
        held.map_err(|error| self.file.failed(&node.path, "the array", error))
    }

    /// Returns the chunks of an array that is not of texts, and their codecs.
    fn numbers(
        &mut self,
        node: &Found,
        described: &Described,
        stored: Stored,
        pipeline: Pipeline,
    ) -> Result<(Vec<Value>, ArchiveChunks), SourceError> {
        let mut codecs = vec![described.data_type.bytes_codec()];
        let extents = match stored.place {
            Place::File(extents) => extents,
            // What is in a header has not gone through filters.
            Place::Header(mut bytes) => {
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
        let anew = Anew {
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

    fn described(&self, node: &Found) -> Result<Described, SourceError> {
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
        node: &Found,
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

    fn array_attributes(
        &self,
        node: &Found,
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
                    if !matches!(data_type.kind, Kind::Text(_) | Kind::LongText) {
                        let what =
                            "its attribute \"_FillValue\" is no value of its type and left out";
                        self.file.warn(&node.path, what);
                    }
                    map.remove(&fill.name)
                }
            };
        }
        if let Kind::Enum { members, .. } = &data_type.kind {
            self.hold(node, data_type.weight())?;
            let place = map.entry("enum_members");
            place.or_insert_with(|| Value::Object((**members).clone()));
        }
        Ok(map)
    }

    /// Takes from what may still be made.
    pub(super) fn spend(&mut self, node: &Found, bytes: u64) -> Result<(), SourceError> {
        match self.most.checked_sub(bytes) {
            Some(rest) => {
                self.most = rest;
                Ok(())
            }
            None => Err(self.too_long(node)),
        }
    }

    fn too_long(&self, node: &Found) -> SourceError {
        let reason = "it is copied through memory, and more than `made_bytes` is needed: leave it out, or allow more";
        self.file.refused(&node.path, reason)
    }

    /// Makes the chunks of an array of texts.
    fn texts(
        &mut self,
        node: &Found,
        described: &Described,
        stored: &Stored,
        behind: &Behind<'_>,
    ) -> Result<ArchiveChunks, SourceError> {
        let data_type = &described.data_type;
        let zeros = vec![0; data_type.size];
        let fill = described.fill.as_deref().unwrap_or(&zeros);
        filters::check_decoded(&described.filters)
            .map_err(|reason| self.file.refused(&node.path, reason))?;
        let mut chunks = Vec::new();
        let extents = match &stored.place {
            Place::Header(bytes) => {
                let index = vec![0; stored.chunk_shape.len()];
                chunks.push(self.text_chunk(node, &described.data_type, index.into(), bytes)?);
                None
            }
            Place::File(extents) => Some(extents),
        };
        let rows = extents.into_iter().flat_map(|extents| extents.rows());
        for (row, extent) in rows.enumerate() {
            // Nothing is decoded that could not be kept.
            if stored.chunk_bytes > self.most {
                return Err(self.too_long(node));
            }
            let index = ChunkIndex::from(extent.index);
            let damaged = |error| {
                self.file
                    .failed(&node.path, format!("the chunk {index}"), error)
            };
            let start = self.file.address(extent.offset);
            let bytes = self.file.read(start, extent.length).map_err(damaged)?;
            let length = usize::try_from(stored.chunk_bytes).unwrap_or(usize::MAX);
            let left_out = stored.left_out.get(&row).copied().unwrap_or(0);
            let mut decoded = filters::decoded(&bytes, &described.filters, left_out, length)
                .map_err(|problem| damaged(invalid(problem)))?;
            if decoded.len() < length {
                return Err(damaged(invalid("it is shorter than the array's chunks")));
            }
            decoded.truncate(length);
            behind.fill(extent.index, &mut decoded, fill);
            chunks.push(self.text_chunk(node, &described.data_type, index, &decoded)?);
        }
        let reason = match described.data_type.kind {
            Kind::LongText => "its texts of variable length lie in heaps of the file",
            _ => "Zarr has no codec for texts of fixed length",
        };
        Ok(ArchiveChunks::Made {
            chunks,
            reason: reason.to_owned(),
        })
    }

    fn text_chunk(
        &mut self,
        node: &Found,
        data_type: &DataType,
        index: ChunkIndex,
        bytes: &[u8],
    ) -> Result<(ChunkIndex, bytes::Bytes), SourceError> {
        match text::encoded(data_type, bytes, &self.heaps, self.most) {
            Ok(encoded) => {
                self.spend(node, encoded.len() as u64)?;
                Ok((index, encoded))
            }
            Err(NoTexts::TooLong) => Err(self.too_long(node)),
            Err(NoTexts::Damaged(error)) => {
                let what = format!("the texts in chunk {index}");
                Err(self.file.failed(&node.path, what, error))
            }
            Err(NoTexts::NotUtf8) => {
                let reason = format!("a text in its chunk {index} is not UTF-8");
                Err(self.file.refused(&node.path, reason))
            }
        }
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

/// Tells whether a fill value is a number other than zero.
fn is_not_zero(fill: &Value) -> bool {
    fill.as_f64().is_some_and(|fill| fill != 0.0)
}
