//! Arrays of compounds as groups, with an array of each member.
//!
//! ```text
//! /tracks  (9,)  { id: i4, place: { x: f8, y: f8 }, flags: u1[3] }
//!
//! /tracks              a group, with the attributes
//! /tracks/id           (9,)    i4
//! /tracks/place/x      (9,)    f8, and y
//! /tracks/flags        (9, 3)  u1
//! ```

use icefield_core::NodePath;
use serde_json::{Map, Value};

use super::attributes::Attribute;
use super::chunks::{Stored, StoredBytes};
use super::datatype::{DataType, ElementKind, Member};
use super::dimensions::Role;
use super::filters::{FilterRecoder, Pipeline};
use super::reader::{Described, NamedNode, Reader};
use super::take::Take;
use super::values::fill_value;
use super::walk::FoundNode;
use crate::archive::phony::{Along, Axis};
use crate::archive::values::child;
use crate::{ArchiveArray, ArchiveChunks, ArchiveNode, ChunkExtents, SourceError};

const REASON: &str = "its elements are members of compounds, which lie between others";

/// The facts that all members of a compound share.
struct Whole<'a> {
    node: &'a FoundNode,
    described: &'a Described,
    stored: &'a Stored,
    shape: &'a [u64],
    axes: &'a [Axis],
    /// The codecs of chunks that are encoded anew.
    codecs: &'a [Value],
    /// The filters that single chunks went without.
    left_out: &'a [(Vec<u32>, u32)],
}

impl Reader<'_> {
    /// Reads an array of compounds.
    pub(super) fn members(
        &mut self,
        node: &FoundNode,
        attributes: &[Attribute],
        role: Role,
        described: &Described,
        members: &[Member],
    ) -> Result<Vec<NamedNode>, SourceError> {
        // That of compounds masks nothing.
        let kept = attributes.iter().filter(|it| it.name != "_FillValue");
        let kept: Vec<Attribute> = kept.cloned().collect();
        let map = self.plain(node, &kept, role)?;
        let own = described.shape();
        let stored = self.stored(node, described, &own)?;
        let pipeline = Pipeline::default().into_recoded(&described.filters, REASON.to_owned());
        let pipeline = pipeline.map_err(|reason| self.file.refused(&node.path, reason))?;
        let (shape, names) = self.along(node, attributes, role, &own);
        let axes = shape.iter().zip(names).zip(described.are_unlimited());
        let axes = axes.map(|((length, name), is_unlimited)| Axis {
            length: *length,
            is_unlimited,
            name,
        });
        let axes: Vec<Axis> = axes.collect();
        let left_out: Vec<(Vec<u32>, u32)> = match &stored.place {
            StoredBytes::Header(_) => Vec::new(),
            StoredBytes::File(extents) => {
                let rows = stored.left_out.iter();
                rows.map(|(row, mask)| (extents.row(*row).index.to_vec(), *mask))
                    .collect()
            }
        };
        let whole = Whole {
            node,
            described,
            stored: &stored,
            shape: &shape,
            axes: &axes,
            codecs: &pipeline.codecs,
            left_out: &left_out,
        };
        let mut nodes = vec![(node.path.clone(), ArchiveNode::Group(map))];
        self.below(&whole, &node.path, 0, members, &mut nodes)?;
        Ok(nodes)
    }

    /// Reads the members of a compound that begins at a byte of each element.
    fn below(
        &mut self,
        whole: &Whole<'_>,
        group: &NodePath,
        start: usize,
        members: &[Member],
        nodes: &mut Vec<NamedNode>,
    ) -> Result<(), SourceError> {
        for member in members {
            let path = child(group, &member.name).map_err(|_| {
                let what = format!(
                    "its member {:?} has a name that no array can have",
                    member.name
                );
                self.file.refused(group, what)
            })?;
            let offset = start.saturating_add(member.offset);
            if let ElementKind::Compound(inner) = &member.data_type.kind {
                nodes.push((path.clone(), ArchiveNode::Group(Map::new())));
                self.below(whole, &path, offset, inner, nodes)?;
                continue;
            }
            let read = self.member(whole, &path, offset, &member.data_type);
            if let Some(array) = self.file.supported(read)? {
                nodes.push((path, ArchiveNode::Array(Box::new(array))));
            }
        }
        Ok(())
    }

    fn member(
        &mut self,
        whole: &Whole<'_>,
        path: &NodePath,
        offset: usize,
        data_type: &DataType,
    ) -> Result<ArchiveArray, SourceError> {
        let (lengths, element) = match &data_type.kind {
            ElementKind::Array(lengths, element) => (lengths.as_slice(), &**element),
            _ => (&[][..], data_type),
        };
        let refused = |reason: String| self.file.refused(path, reason);
        let zarr_type = element.zarr_of_member().map_err(refused)?;
        if lengths.contains(&0) {
            return Err(refused(
                "its elements are arrays without elements".to_owned(),
            ));
        }
        let end = offset.saturating_add(element.size);
        let fill = whole.described.fill.as_deref();
        let fill = fill.and_then(|it| it.get(offset..end));
        let element_of_fill = DataType {
            kind: match element.kind {
                // One that lies in a compound has no padding of its own.
                ElementKind::Text(_) => ElementKind::Compound([].into()),
                _ => element.kind.clone(),
            },
            ..*element
        };
        let fill = fill_value(&element_of_fill, fill, &self.heaps);
        let fill = fill.map_err(|error| self.file.failed(path, "the fill value", error))?;
        let take = Take {
            of: whole.described.data_type.size,
            offset,
            size: data_type.size,
            narrow: element.narrow(),
        };
        let more = lengths.iter().map(|length| u64::from(*length));
        let with_more = |shape: &[u64]| shape.iter().copied().chain(more.clone()).collect();
        let (shape, chunk_shape): (Vec<u64>, Vec<u64>) =
            (with_more(whole.shape), with_more(&whole.stored.chunk_shape));
        let mut codecs = vec![element.bytes_codec()];
        let chunks = match &whole.stored.place {
            StoredBytes::Header(bytes) => {
                let taken = take.of(bytes);
                self.spend(whole.node, taken.len() as u64)?;
                ArchiveChunks::Made {
                    chunks: vec![(vec![0; shape.len()].into(), taken.into())],
                    reason: REASON.to_owned(),
                }
            }
            StoredBytes::File(extents) => {
                let rows = extents.len().saturating_mul(4 * shape.len() + 20);
                let held = self.file.held.add(rows);
                held.map_err(|error| self.file.failed(path, "the chunk index", error))?;
                codecs.extend(whole.codecs.iter().cloned());
                let longer = |index: &[u32]| {
                    let mut index = index.to_vec();
                    index.resize(shape.len(), 0);
                    index
                };
                let mut own = ChunkExtents::new(shape.len());
                for row in extents.rows() {
                    own.push(&longer(row.index), row.file, row.offset, row.length);
                }
                let left_out = whole.left_out.iter();
                let anew = FilterRecoder {
                    filters: whole.described.filters.clone(),
                    left_out: left_out
                        .map(|(index, mask)| (longer(index), *mask))
                        .collect(),
                    take: Some(take),
                };
                ArchiveChunks::Recoded {
                    extents: own,
                    recode: anew.into_recode(),
                    reason: REASON.to_owned(),
                }
            }
        };
        let more = lengths.iter().map(|length| Axis {
            length: u64::from(*length),
            is_unlimited: false,
            name: None,
        });
        let axes: Vec<Axis> = whole.axes.iter().cloned().chain(more).collect();
        let dimension_names = axes.iter().map(|axis| axis.name.clone()).collect();
        self.along.push(Along {
            path: path.clone(),
            axes,
        });
        let mut attributes = Map::new();
        if let ElementKind::Enum { members, .. } = &element.kind {
            attributes.insert(
                "enum_members".to_owned(),
                Value::Object((**members).clone()),
            );
        }
        Ok(ArchiveArray {
            shape,
            chunk_shape,
            data_type: zarr_type,
            fill_value: fill,
            codecs,
            dimension_names,
            attributes,
            chunks,
        })
    }
}
