//! Sources with some arrays whose elements are made others on the way: times in other units, numbers in another encoding.
//!
//! A source is wrapped: its documents say what its elements become, and its chunks hold that, in the source's own grid.
//! Nothing behind the wrapper knows of it. Elements are converted chunk by chunk, as they are read.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt;
use futures::stream::{self, StreamExt};
use icefield_core::{ArrayMetadata, ChunkIndex, NodePath};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::derived::{ArrayAt, ChunkStream, Derived, DerivedArray, digest_of};
use crate::codec::{Codec, Elements, fixed};
use crate::plan::document_error;
use crate::regions::{Region, chunk_index, place, places};
use crate::source::References;
use crate::{ChunkEntry, Hierarchy, ImportError, Source, SourceError, SourceNode};

/// The dimension and its elements that are taken of a source, once that is known; others are not converted then.
pub(super) type Taken = OnceLock<(String, Range<u64>)>;

/// Makes elements of one array those of another.
pub(super) trait Convert: fmt::Debug + Send + Sync {
    /// Writes the element that `from` becomes.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn convert(&self, from: &[u8], into: &mut [u8]) -> Result<(), String>;

    /// Whether an element may come out otherwise than readers find it, which the report of an import is to tell.
    fn may_round(&self) -> bool {
        false
    }
}

/// How the elements of one array are converted.
#[derive(Debug)]
pub(super) struct Conversion {
    pub(super) convert: Arc<dyn Convert>,
    /// The document that says what the elements become; its codecs are those that they are handed on with.
    pub(super) document: Value,
    /// Whether they are made anew in any case, so that nothing is lost by copying them.
    pub(super) is_at_hand: bool,
}

/// An array whose elements are converted.
#[derive(Debug)]
struct ConvertedArray {
    convert: Arc<dyn Convert>,
    /// As the source has it.
    array: ArrayMetadata,
    decode: Codec,
    encode: Codec,
    /// The chunks that exist, and their lengths, once the import asks for them: a plan does not.
    listed: OnceCell<HashMap<ChunkIndex, u64>>,
    /// Whether chunks that do not exist must: their elements become others than unwritten ones of the result.
    is_full: bool,
    is_at_hand: bool,
    taken: Arc<Taken>,
}

/// Wraps a source with conversions of some of its arrays.
///
/// # Errors
/// [`SourceError::Conversion`] for codecs that are not understood here.
pub(super) async fn converted(
    source: Arc<dyn Source>,
    mut hierarchy: Hierarchy,
    conversions: BTreeMap<NodePath, Conversion>,
    taken: &Arc<Taken>,
) -> Result<(Arc<dyn Source>, Hierarchy), ImportError> {
    if conversions.is_empty() {
        return Ok((source, hierarchy));
    }
    let name = source.to_string();
    let mut arrays = BTreeMap::new();
    for (path, conversion) in conversions {
        let refused = |reason: String| SourceError::conversion(&name, &path, reason);
        let Some(node) = hierarchy.nodes.get(&path) else {
            continue;
        };
        let Some(array) = node.array().cloned() else {
            continue;
        };
        let own: Value = serde_json::from_slice(node.document()).map_err(document_error(&path))?;
        let parsed = SourceNode::of_value(&conversion.document).map_err(refused)?;
        let mut one = ConvertedArray {
            decode: Codec::of(&own).map_err(refused)?,
            encode: Codec::of(&conversion.document).map_err(refused)?,
            convert: conversion.convert,
            array,
            listed: OnceCell::new(),
            is_full: false,
            is_at_hand: conversion.is_at_hand,
            taken: Arc::clone(taken),
        };
        one.is_full = one.is_full();
        hierarchy.nodes.insert(path.clone(), parsed);
        arrays.insert(path, Arc::new(one));
    }
    let source = Derived::of(source, hierarchy.clone(), arrays);
    Ok((source, hierarchy))
}

impl ConvertedArray {
    /// Returns the chunks that exist, of those that the source lists.
    async fn listed(
        &self,
        chunks: impl FnOnce() -> ChunkStream,
    ) -> Result<&HashMap<ChunkIndex, u64>, SourceError> {
        let list = async {
            let (mut listed, mut chunks) = (HashMap::new(), chunks());
            while let Some(entry) = chunks.try_next().await? {
                if let ChunkEntry::Chunk { index, length } = entry {
                    listed.insert(index, length);
                }
            }
            Ok(listed)
        };
        self.listed.get_or_try_init(|| list).await
    }

    fn is_full(&self) -> bool {
        let (from, unwritten) = (fixed(self.decode.filled()), fixed(self.encode.filled()));
        let (Some(from), Some(unwritten)) = (from, unwritten) else {
            return false;
        };
        let mut into = vec![0; unwritten.len()];
        let converted = self.convert.convert(from, &mut into);
        converted.is_err() || into != unwritten
    }

    /// Returns the chunks of the result, of those that the source has.
    fn entries(&self, counts: &[u32], listed: &HashMap<ChunkIndex, u64>) -> Vec<ChunkEntry> {
        let entry = |index: ChunkIndex| {
            let length = listed.get(&index).copied().unwrap_or(0);
            ChunkEntry::Chunk { index, length }
        };
        if !self.is_full {
            return listed.keys().cloned().map(entry).collect();
        }
        let counts: Vec<u64> = counts.iter().map(|it| u64::from(*it)).collect();
        let all = places(&counts).map(|place| entry(chunk_index(&place).into()));
        all.collect()
    }

    /// The box of the elements that are taken.
    fn taken(&self) -> Region {
        let mut all = Region::new(vec![0; self.array.shape.len()], self.array.shape.clone());
        if let Some((dimension, taken)) = self.taken.get() {
            let mut names = self.array.dimension_names.iter().flatten();
            let axis = names.position(|name| name.as_ref() == Some(dimension));
            if let Some(axis) = axis.filter(|axis| *axis < all.shape.len()) {
                all.start[axis] = taken.start;
                all.shape[axis] = taken.end - taken.start;
            }
        }
        all
    }

    /// Converts a chunk. What is not taken, and lies beyond the edges of the array, is fill values.
    fn chunk(&self, index: &[u32], elements: &Elements) -> Result<Vec<u8>, String> {
        let filled = self.encode.filled_chunk();
        let (Some(from), Some(filled)) = (fixed(elements), fixed(&filled)) else {
            return Err("its elements are no numbers".to_owned());
        };
        let mut into = filled.to_vec();
        let shape = &self.array.chunk_shape;
        let at: Vec<u64> = index.iter().map(|at| u64::from(*at)).collect();
        let whole = Region::of_chunk(&at, shape);
        let Some(inside) = whole.common(&self.taken()) else {
            return self.encode.encode(Elements::Fixed(into));
        };
        let (width, to_width) = (self.decode.width(), self.encode.width());
        let (firsts, length) = whole.runs(&inside);
        for at in firsts.into_iter().flat_map(|first| first..first + length) {
            let element = from.get(at * width..(at + 1) * width);
            let element = element.ok_or("it is too short")?;
            let converted = &mut into[at * to_width..(at + 1) * to_width];
            self.convert
                .convert(element, converted)
                .map_err(|problem| {
                    let mut element = place(at as u64, shape);
                    element
                        .iter_mut()
                        .zip(&whole.start)
                        .for_each(|(at, start)| *at += start);
                    format!("at {element:?}, {problem}")
                })?;
        }
        self.encode.encode(Elements::Fixed(into))
    }
}

#[async_trait]
impl DerivedArray for Arc<ConvertedArray> {
    fn chunks(&self, at: ArrayAt<'_>) -> ChunkStream {
        let (one, counts) = (Self::clone(self), at.array.chunk_counts.clone());
        let chunks = at.first().chunks(at.path, &one.array);
        let entries = async move {
            let entries = one.entries(&counts, one.listed(|| chunks).await?);
            Ok::<_, SourceError>(stream::iter(entries.into_iter().map(Ok)))
        };
        stream::once(entries).try_flatten().boxed()
    }

    async fn read_chunk(
        &self,
        at: ArrayAt<'_>,
        index: &[u32],
        _: u64,
    ) -> Result<Bytes, SourceError> {
        let listed = || at.first().chunks(at.path, &self.array);
        let elements = match self.listed(listed).await?.get(index) {
            None => self.decode.filled_chunk(),
            Some(length) => {
                let source = at.first();
                let bytes = source.read_chunk(at.path, &self.array, index, *length);
                let elements = self.decode.decode(&bytes.await?);
                elements
                    .map_err(|problem| SourceError::damaged(&self.chunk_name(at, index), problem))?
            }
        };
        let chunk = self.chunk(index, &elements).map(Bytes::from);
        chunk.map_err(|reason| SourceError::conversion(at.name, at.path, reason))
    }

    fn references<'a>(
        &'a self,
        _: &'a [Arc<dyn Source>],
        _: &NodePath,
    ) -> Result<References<'a>, String> {
        Err("its elements are converted".to_owned())
    }

    fn is_at_hand(&self, parts: &[Arc<dyn Source>], path: &NodePath) -> bool {
        self.is_at_hand || parts[0].is_at_hand(path)
    }

    fn state(parts: &[Arc<dyn Source>], arrays: &BTreeMap<NodePath, Self>) -> Option<String> {
        // A chunk that is taken over from an earlier attempt would be missing in what is told of rounding.
        if arrays.values().any(|it| it.convert.may_round()) {
            return None;
        }
        // Documents do not say all of a conversion: bounds have the units of their coordinate.
        let digest = digest_of(parts)?;
        let digest = arrays.iter().fold(digest, |digest, (path, array)| {
            let conversion = format!("{:?}", array.convert);
            digest.text(path.as_str()).text(&conversion)
        });
        Some(digest.hex())
    }
}
