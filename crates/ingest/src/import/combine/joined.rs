//! Sources behind one another along a dimension, as one source.
//!
//! Chunks of a part that become chunks of the whole are its own. The others, at seams and where a part has another grid or
//! other codecs, are put together of elements when they are read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt;
use futures::stream::{self, StreamExt};
use icefield_core::{ChunkIndex, NodePath, Session};
use serde_json::Value;

use super::equal::check_equal;
use super::inner::arranged;
use crate::assemble::{ChunksOf, OfSource};
use crate::codec::{Codec, copy_elements};
use crate::import::builder::Import;
use crate::import::derived::{ArrayAt, ChunkStream, Derived, DerivedArray, digest_of};
use crate::import::layout::{Grown, Layout, Part};
use crate::import::opened::Opened;
use crate::import::origin::Origin;
use crate::plan::{self, Along, Existing, document_error};
use crate::regions::{Region, chunk_index, places};
use crate::source::References;
use crate::{ChunkEntry, ChunkExtents, Hierarchy, ImportError, Source, SourceError, SourceNode};

/// Joins sources along a dimension.
pub(super) async fn joined(
    import: &Import,
    session: &Session,
    dimension: &str,
    mut parts: Vec<Opened>,
) -> Result<Opened, ImportError> {
    arranged(import, session, dimension, &mut parts, import.order).await?;
    if parts.len() == 1
        && let Some(one) = parts.pop()
    {
        return Ok(one);
    }
    let (root, mut existing) = (NodePath::root(), Existing::default());
    let mut documents: BTreeMap<NodePath, Bytes> = BTreeMap::new();
    let mut grown: BTreeMap<NodePath, Vec<Part>> = BTreeMap::new();
    for (number, one) in parts.iter().enumerate() {
        let along = Along {
            dimension,
            kept: one.kept.clone(),
        };
        let planned = match number {
            0 => plan::create(&one.hierarchy, &root, Some(&along), &existing),
            _ => plan::append(&one.hierarchy, &root, &along, &existing),
        };
        let plan = planned.map_err(|error| ImportError::OneSource {
            name: one.source.to_string(),
            source: Box::new(error),
        })?;
        for growth in plan.growths {
            let part = Part::new(number, growth);
            grown.entry(part.growth.to.clone()).or_default().push(part);
        }
        // Of surveys it is found where the files are.
        let compares = number > 0 && !import.is_of_surveys();
        for transfer in plan.transfers.iter().filter(|_| compares) {
            check_equal((&parts[0], one), transfer, dimension).await?;
        }
        for (path, document) in plan.documents {
            existing.note(&path, &document);
            documents.insert(path, document);
        }
    }
    let mut arrays = BTreeMap::new();
    for (path, parts_of) in grown {
        let Some(document) = documents.get(&path) else {
            continue;
        };
        let array = JoinedArray::new(path.clone(), document.clone(), parts_of, &parts)?;
        arrays.insert(path, array);
    }
    let mut hierarchy = Hierarchy::default();
    for (path, document) in documents {
        let node = SourceNode::parse_made(document);
        let node = node.map_err(|error| {
            SourceError::variable(&parts[0].source.to_string(), &path, error.to_string())
        })?;
        hierarchy.nodes.insert(path, node);
    }
    let origin = Origin::joined(dimension, parts.iter().map(|one| one.origin.clone()));
    let name = format!("{} and {} more", parts[0].source, parts.len() - 1);
    let parts = parts.into_iter().map(|one| one.source).collect();
    let source = Derived::joined(name, parts, hierarchy.clone(), arrays);
    Ok(Opened::new(origin, source, hierarchy))
}

/// An array along the dimension.
#[derive(Debug)]
struct JoinedArray {
    grown: Grown,
    layout: Layout,
    /// By the positions of the parts of `grown`.
    chunks: Vec<OfSource>,
}

impl JoinedArray {
    fn new(
        path: NodePath,
        document: Bytes,
        parts: Vec<Part>,
        opened: &[Opened],
    ) -> Result<Self, ImportError> {
        let chunks = parts.iter().map(|part| {
            let of = (part.growth.from.clone(), part.growth.array.clone());
            OfSource::new(Arc::clone(&opened[part.source].source), of, path.clone())
        });
        let chunks = chunks.collect();
        let grown = Grown::new(path.clone(), 0, document, parts);
        let no_array = || SourceError::variable("", &path, "it is no array any more");
        let grown = grown.ok_or_else(no_array)?;
        Ok(Self {
            layout: grown.layout(),
            grown,
            chunks,
        })
    }

    /// The part whose chunk a chunk is, and that chunk; `None` if it is put together.
    fn taken(&self, index: &[u32]) -> Option<(&Part, Vec<u32>)> {
        let at = u64::from(*index.get(self.grown.axis)?);
        self.layout.taken.iter().find_map(|(number, shift)| {
            let length = shift.chunks.end - shift.chunks.start;
            if !(shift.to..shift.to + length).contains(&at) {
                return None;
            }
            let mut from = index.to_vec();
            from[self.grown.axis] = u32::try_from(at - shift.to + shift.chunks.start).ok()?;
            Some((self.grown.parts.get(*number)?, from))
        })
    }

    /// The chunks that are put together.
    fn assembled(&self) -> Vec<ChunkIndex> {
        let mut counts: Vec<u64> = self
            .grown
            .array
            .chunk_counts
            .iter()
            .map(|it| u64::from(*it))
            .collect();
        let mut indices = Vec::new();
        for range in &self.layout.assembled {
            counts[self.grown.axis] = range.end - range.start;
            indices.extend(places(&counts).map(|mut place| {
                place[self.grown.axis] += range.start;
                ChunkIndex::from(chunk_index(&place))
            }));
        }
        indices
    }

    /// Puts a chunk together.
    async fn assemble(&self, index: &[u32]) -> Result<Bytes, ImportError> {
        let (grown, axis) = (&self.grown, self.grown.axis);
        let path = &grown.path;
        let codec = |document: &[u8], name: &str| -> Result<Codec, ImportError> {
            let document: Value = serde_json::from_slice(document).map_err(document_error(path))?;
            let codec = Codec::of(&document);
            Ok(codec.map_err(|reason| SourceError::variable(name, path, reason))?)
        };
        let target = codec(&grown.document, path.as_ref())?;
        let at: Vec<u64> = index.iter().map(|at| u64::from(*at)).collect();
        let region = Region::of_chunk(&at, &grown.array.chunk_shape);
        let mut elements = target.filled_chunk();
        for (part, chunks) in grown.parts.iter().zip(&self.chunks) {
            let growth = &part.growth;
            // The kept region of the part, in its own elements and in those of the whole.
            let mut own = Region::new(
                vec![0; growth.array.shape.len()],
                growth.array.shape.clone(),
            );
            own.start[axis] = growth.kept.start;
            own.shape[axis] = growth.length();
            let whole = own.moved(axis, growth.at, growth.kept.start);
            let Some(common) = whole.common(&region) else {
                continue;
            };
            let wanted = common.moved(axis, growth.kept.start, growth.at);
            let source = codec(&growth.document, path.as_ref())?;
            let grid = wanted.chunks(&growth.array.chunk_shape);
            for place in grid.places() {
                let at = ChunkIndex::from(chunk_index(&place));
                let damaged = |problem| SourceError::damaged(&chunks.name(&at), problem);
                let found = match chunks.read(&at).await? {
                    Some(bytes) => source.decode(&bytes).map_err(damaged)?,
                    None => source.filled_chunk(),
                };
                let of = Region::of_chunk(&place, &growth.array.chunk_shape);
                let of = of.common(&own).map(|inside| (inside, of));
                let Some((inside, of)) = of else { continue };
                let inside = inside.moved(axis, growth.at, growth.kept.start);
                let Some(common) = inside.common(&region) else {
                    continue;
                };
                // The chunk may begin before what is kept of it, and so before the whole: both are moved on.
                let ahead = growth.kept.start;
                let ahead_of = |region: &Region| region.moved(axis, ahead, 0);
                let (from, into) = (of.moved(axis, growth.at, 0), ahead_of(&region));
                let (from, into) = ((&found, &from), (&mut elements, &into));
                copy_elements(&ahead_of(&common), from, into, target.width()).map_err(damaged)?;
            }
        }
        let name = grown.path.to_string();
        let encoded = target.encode(elements);
        let encoded = encoded.map_err(|reason| SourceError::variable(&name, path, reason))?;
        Ok(encoded.into())
    }
}

#[async_trait]
impl DerivedArray for JoinedArray {
    fn chunks(&self, at: ArrayAt<'_>) -> ChunkStream {
        let mut streams = Vec::new();
        for (number, shift) in &self.layout.taken {
            let (part, shift) = (&self.grown.parts[*number], shift.clone());
            let growth = &part.growth;
            let entries = at.parts[part.source].chunks(&growth.from, &growth.array);
            let moved = entries.try_filter_map(move |entry| {
                std::future::ready(Ok(match entry {
                    ChunkEntry::Chunk { index, length } => {
                        let target = shift.target(&index);
                        target.map(|index| ChunkEntry::Chunk {
                            index: index.into(),
                            length,
                        })
                    }
                    other @ ChunkEntry::Ignored { .. } => Some(other),
                }))
            });
            streams.push(moved.boxed());
        }
        let elements = self.grown.array.chunk_shape.iter();
        let length = elements.fold(8_u64, |all, one| all.saturating_mul(*one));
        let assembled = self.assembled().into_iter();
        let assembled = assembled.map(move |index| Ok(ChunkEntry::Chunk { index, length }));
        streams.push(stream::iter(assembled).boxed());
        stream::iter(streams).flatten().boxed()
    }

    async fn read_chunk(
        &self,
        at: ArrayAt<'_>,
        index: &[u32],
        length: u64,
    ) -> Result<Bytes, SourceError> {
        if let Some((part, from)) = self.taken(index) {
            let growth = &part.growth;
            let source = &at.parts[part.source];
            return source
                .read_chunk(&growth.from, &growth.array, &from, length)
                .await;
        }
        self.assemble(index).await.map_err(|error| match error {
            ImportError::Source(error) => error,
            error => SourceError::Other {
                name: at.name.to_owned(),
                source: error.into(),
            },
        })
    }

    fn references<'a>(
        &'a self,
        parts: &'a [Arc<dyn Source>],
        _: &NodePath,
    ) -> Result<References<'a>, String> {
        if let Some(range) = self.layout.assembled.first() {
            return Err(format!(
                "its chunk {} along the dimension is put together of several files or encodings",
                range.start
            ));
        }
        let mut all = References {
            sources: Vec::new(),
            source: Vec::new(),
            extents: Cow::Owned(ChunkExtents::new(self.grown.array.shape.len())),
            made: Cow::Owned(Vec::new()),
        };
        for (number, shift) in &self.layout.taken {
            let part = &self.grown.parts[*number];
            let found = parts[part.source].references(&part.growth.from)?;
            let before = all.sources.len() as u32;
            for (row, source) in found.extents.rows().zip(&found.source) {
                if let Some(index) = shift.target(row.index) {
                    all.source.push(before + source);
                    all.extents
                        .to_mut()
                        .push(&index, row.file, row.offset, row.length);
                }
            }
            for (index, bytes) in found.made.iter() {
                if let Some(index) = shift.target(index) {
                    all.made.to_mut().push((index.into(), bytes.clone()));
                }
            }
            all.sources.extend(found.sources);
        }
        Ok(all)
    }

    fn chunk_name(&self, at: ArrayAt<'_>, index: &[u32]) -> String {
        match self.taken(index) {
            Some((part, from)) => {
                let growth = &part.growth;
                at.parts[part.source].chunk_name(&growth.from, &growth.array, &from)
            }
            None => at.first().chunk_name(at.path, at.array, index),
        }
    }

    fn state(parts: &[Arc<dyn Source>], arrays: &BTreeMap<NodePath, Self>) -> Option<String> {
        let of_arrays = arrays.values().flat_map(|array| &array.grown.parts);
        let digest = of_arrays.fold(digest_of(parts)?, |digest, part| {
            let growth = &part.growth;
            let placed = digest.number(growth.at).number(growth.kept.start);
            placed.number(growth.kept.end)
        });
        Some(digest.hex())
    }
}
