//! Sources behind one another along a dimension, as one source.
//!
//! Chunks of a part that become chunks of the whole are its own. The others, at seams and where a part has another grid or
//! other codecs, are put together of elements when they are read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt;
use futures::stream::{self, BoxStream, StreamExt};
use icefield_core::{ArrayMetadata, ChunkIndex, NodeMetadata, NodePath, Session};
use serde_json::Value;

use super::CombineError;
use crate::assemble::{ChunksOf, OfSource};
use crate::codec::{Codec, Elements};
use crate::import::arrange::Opened;
use crate::import::layout::{Grown, Layout, Part};
use crate::import::share::digest;
use crate::import::transfer::equal_elements;
use crate::import::{Digest, Import};
use crate::plan::{self, Action, Along, Existing, Transfer, document_error};
use crate::regions::{Region, copy_part, each};
use crate::source::References;
use crate::{ChunkEntry, ChunkExtents, Hierarchy, ImportError, Source, SourceError, SourceNode};

/// Largest document that is made, in bytes.
const MAX_DOCUMENT: usize = 64 << 20;

/// Joins sources along a dimension.
pub(super) async fn joined(
    import: &Import,
    session: &Session,
    dimension: &str,
    mut parts: Vec<Opened>,
) -> Result<Opened, ImportError> {
    super::arranged(import, session, dimension, &mut parts, import.order).await?;
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
            let part = Part {
                source: number,
                growth,
                is_borrowed: false,
            };
            grown.entry(part.growth.to.clone()).or_default().push(part);
        }
        for transfer in plan.transfers.iter().filter(|_| number > 0) {
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
        let array = Array::new(path.clone(), document.clone(), parts_of, &parts)?;
        arrays.insert(path, array);
    }
    let mut hierarchy = Hierarchy::default();
    for (path, document) in documents {
        let node = SourceNode::parse(document, MAX_DOCUMENT);
        let node = node.map_err(|error| {
            SourceError::variable(&parts[0].source.to_string(), &path, error.to_string())
        })?;
        hierarchy.nodes.insert(path, node);
    }
    let given = parts[0].given;
    let source = Joined {
        name: format!("{} and {} more", parts[0].source, parts.len() - 1),
        parts: parts.into_iter().map(|one| one.source).collect(),
        hierarchy: hierarchy.clone(),
        arrays,
    };
    Ok(Opened {
        given,
        digest: digest(&hierarchy),
        source: Arc::new(source),
        hierarchy,
        converted: Vec::new(),
        reencoded: BTreeMap::new(),
        kept: None,
        taken: Arc::default(),
    })
}

/// An array that has none of the dimension must be the same in all parts.
async fn check_equal(
    (first, other): (&Opened, &Opened),
    transfer: &Transfer,
    dimension: &str,
) -> Result<(), ImportError> {
    let path = &transfer.from;
    let differs = || CombineError::Differs {
        path: path.clone(),
        one: first.source.to_string(),
        other: other.source.to_string(),
        dimension: dimension.to_owned(),
    };
    let here = first.hierarchy.nodes.get(path);
    let here = here.and_then(|node| Some((node, node.array()?)));
    let (Action::Compare, Some((node, array))) = (&transfer.action, here) else {
        // Elements in another grid of chunks.
        return Err(differs().into());
    };
    let chunks = |one: &Opened, array: &ArrayMetadata| {
        let chunks = OfSource::new(
            Arc::clone(&one.source),
            (path.clone(), array.clone()),
            path.clone(),
        );
        let listed = one.source.chunks(path, array).try_filter_map(|entry| {
            let index = match entry {
                ChunkEntry::Chunk { index, .. } => Some(index),
                ChunkEntry::Ignored { .. } => None,
            };
            std::future::ready(Ok(index))
        });
        (
            chunks,
            listed.try_collect::<std::collections::BTreeSet<ChunkIndex>>(),
        )
    };
    let (ours, here) = chunks(first, array);
    let (theirs, there) = chunks(other, &transfer.array);
    let (here, there) = (here.await?, there.await?);
    if here != there {
        return Err(differs().into());
    }
    for index in here {
        let (Some(ours), Some(theirs)) = (ours.read(&index).await?, theirs.read(&index).await?)
        else {
            return Err(differs().into());
        };
        let documents = (node.document().as_ref(), transfer.document.as_ref());
        let is_same = ours == theirs || equal_elements(array, &index, documents, (&ours, &theirs));
        if !is_same {
            return Err(differs().into());
        }
    }
    Ok(())
}

/// An array along the dimension.
#[derive(Debug)]
struct Array {
    grown: Grown,
    layout: Layout,
    /// By the positions of the parts of `grown`.
    chunks: Vec<OfSource>,
}

impl Array {
    fn new(
        path: NodePath,
        document: Bytes,
        parts: Vec<Part>,
        opened: &[Opened],
    ) -> Result<Self, ImportError> {
        let metadata = NodeMetadata::parse(&document).ok();
        let array = metadata.as_ref().and_then(NodeMetadata::array).cloned();
        let (Some(array), Some(axis)) = (array, parts.first().map(|part| part.growth.axis)) else {
            let problem = "it is no array any more".to_owned();
            return Err(SourceError::variable("", &path, problem).into());
        };
        let chunks = parts.iter().map(|part| {
            let of = (part.growth.from.clone(), part.growth.array.clone());
            OfSource::new(Arc::clone(&opened[part.source].source), of, path.clone())
        });
        let chunks = chunks.collect();
        let grown = Grown {
            path,
            axis,
            existing: 0,
            array,
            document,
            parts,
        };
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
            let visited = each(&counts, |place| {
                let mut index: Vec<u32> = place.iter().map(|at| *at as u32).collect();
                index[self.grown.axis] += range.start as u32;
                indices.push(index.into());
                Ok::<_, std::convert::Infallible>(true)
            });
            match visited {
                Ok(()) => {}
                Err(never) => match never {},
            }
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
        let start = index.iter().zip(&grown.array.chunk_shape);
        let start: Vec<u64> = start.map(|(at, chunk)| u64::from(*at) * chunk).collect();
        let region = Region::new(start, grown.array.chunk_shape.clone());
        let mut elements = target.filled_chunk();
        for (part, chunks) in grown.parts.iter().zip(&self.chunks) {
            let growth = &part.growth;
            // What is kept of the part, in its own elements and in those of the whole.
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
            let mut places = Vec::new();
            let visited = each(&grid.shape, |place| {
                let place = place.iter().zip(&grid.start).map(|(at, first)| at + first);
                places.push(place.collect::<Vec<u64>>());
                Ok::<_, std::convert::Infallible>(true)
            });
            match visited {
                Ok(()) => {}
                Err(never) => match never {},
            }
            for place in places {
                let at: Vec<u32> = place.iter().map(|at| *at as u32).collect();
                let at = ChunkIndex::from(at);
                let damaged = |problem| SourceError::damaged(&chunks.name(&at), problem);
                let found = match chunks.read(&at).await? {
                    Some(bytes) => source.decode(&bytes).map_err(damaged)?,
                    None => source.filled_chunk(),
                };
                let first = place.iter().zip(&growth.array.chunk_shape);
                let first: Vec<u64> = first.map(|(at, chunk)| at * chunk).collect();
                let of = Region::new(first, growth.array.chunk_shape.clone());
                let of = of.common(&own).map(|inside| (inside, of));
                let Some((inside, of)) = of else { continue };
                let inside = inside.moved(axis, growth.at, growth.kept.start);
                let Some(common) = inside.common(&region) else {
                    continue;
                };
                // The chunk may begin before what is kept of it, and so before the whole: both are moved on.
                let ahead = growth.kept.start;
                let place = |region: &Region| region.moved(axis, ahead, 0);
                let of = of.moved(axis, growth.at, 0);
                copied(
                    (&common, place),
                    (&found, &of),
                    (&mut elements, &region),
                    target.width(),
                )
                .map_err(damaged)?;
            }
        }
        let name = grown.path.to_string();
        let encoded = target.encode(elements);
        let encoded = encoded.map_err(|reason| SourceError::variable(&name, path, reason))?;
        Ok(encoded.into())
    }
}

/// Copies elements from one chunk to another.
fn copied(
    (common, place): (&Region, impl Fn(&Region) -> Region),
    (from, of): (&Elements, &Region),
    (into, to): (&mut Elements, &Region),
    width: usize,
) -> Result<(), String> {
    let (common, to) = (place(common), place(to));
    match (from, into) {
        (Elements::Fixed(from), Elements::Fixed(into)) => {
            copy_part(&common, (from, of), (into, &to), width)
        }
        #[cfg(feature = "codecs")]
        (Elements::Variable(from), Elements::Variable(into)) => {
            copy_part(&common, (from, of), (into, &to), 1)
        }
        #[cfg(feature = "codecs")]
        _ => Err("its elements are of another type".to_owned()),
    }
}

/// Sources behind one another.
#[derive(Debug)]
struct Joined {
    name: String,
    parts: Vec<Arc<dyn Source>>,
    hierarchy: Hierarchy,
    /// Those along the dimension; the others are those of the first part.
    arrays: BTreeMap<NodePath, Array>,
}

#[async_trait]
impl Source for Joined {
    async fn hierarchy(&self) -> Result<Hierarchy, SourceError> {
        Ok(self.hierarchy.clone())
    }

    fn chunks(
        &self,
        path: &NodePath,
        array: &ArrayMetadata,
    ) -> BoxStream<'static, Result<ChunkEntry, SourceError>> {
        let Some(joined) = self.arrays.get(path) else {
            return self.parts[0].chunks(path, array);
        };
        let mut streams = Vec::new();
        for (number, shift) in &joined.layout.taken {
            let (part, shift) = (&joined.grown.parts[*number], shift.clone());
            let growth = &part.growth;
            let entries = self.parts[part.source].chunks(&growth.from, &growth.array);
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
        let elements = joined.grown.array.chunk_shape.iter();
        let length = elements.fold(8_u64, |all, one| all.saturating_mul(*one));
        let assembled = joined.assembled().into_iter();
        let assembled = assembled.map(move |index| Ok(ChunkEntry::Chunk { index, length }));
        streams.push(stream::iter(assembled).boxed());
        stream::iter(streams).flatten().boxed()
    }

    async fn read_chunk(
        &self,
        path: &NodePath,
        array: &ArrayMetadata,
        index: &[u32],
        length: u64,
    ) -> Result<Bytes, SourceError> {
        let Some(joined) = self.arrays.get(path) else {
            return self.parts[0].read_chunk(path, array, index, length).await;
        };
        if let Some((part, from)) = joined.taken(index) {
            let growth = &part.growth;
            let source = &self.parts[part.source];
            return source
                .read_chunk(&growth.from, &growth.array, &from, length)
                .await;
        }
        joined.assemble(index).await.map_err(|error| match error {
            ImportError::Source(error) => error,
            error => SourceError::Other {
                name: self.name.clone(),
                source: error.into(),
            },
        })
    }

    fn references(&self, path: &NodePath) -> Result<References<'_>, String> {
        let Some(joined) = self.arrays.get(path) else {
            return self.parts[0].references(path);
        };
        if let Some(range) = joined.layout.assembled.first() {
            return Err(format!(
                "its chunk {} along the dimension is put together of several files or encodings",
                range.start
            ));
        }
        let mut all = References {
            sources: Vec::new(),
            source: Vec::new(),
            extents: Cow::Owned(ChunkExtents::new(joined.grown.array.shape.len())),
            made: Cow::Owned(Vec::new()),
        };
        for (number, shift) in &joined.layout.taken {
            let part = &joined.grown.parts[*number];
            let found = self.parts[part.source].references(&part.growth.from)?;
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

    fn urls(&self) -> Vec<String> {
        self.parts.iter().flat_map(|part| part.urls()).collect()
    }

    fn is_at_hand(&self, path: &NodePath) -> bool {
        self.parts.iter().any(|part| part.is_at_hand(path))
    }

    fn state(&self) -> Option<String> {
        let mut digest = Digest::new();
        for part in &self.parts {
            digest = digest.text(&part.state()?);
        }
        for array in self.arrays.values() {
            for part in &array.grown.parts {
                let growth = &part.growth;
                let placed = digest.number(growth.at).number(growth.kept.start);
                digest = placed.number(growth.kept.end);
            }
        }
        Some(digest.hex())
    }

    fn chunk_name(&self, path: &NodePath, array: &ArrayMetadata, index: &[u32]) -> String {
        match self.arrays.get(path).and_then(|joined| joined.taken(index)) {
            Some((part, from)) => {
                let growth = &part.growth;
                self.parts[part.source].chunk_name(&growth.from, &growth.array, &from)
            }
            None => self.parts[0].chunk_name(path, array, index),
        }
    }
}

impl fmt::Display for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
