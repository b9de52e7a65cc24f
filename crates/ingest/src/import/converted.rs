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
use futures::stream::{self, BoxStream, StreamExt};
use icefield_core::{ArrayMetadata, ChunkIndex, NodePath};
use serde_json::Value;

use super::Digest;
use super::times::MAX_DOCUMENT;
use crate::codec::{Codec, Elements, fixed};
use crate::plan::document_error;
use crate::regions::{Region, each, place};
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
struct Array {
    convert: Arc<dyn Convert>,
    /// As the source has it.
    array: ArrayMetadata,
    decode: Codec,
    encode: Codec,
    /// The chunks that exist.
    listed: HashMap<ChunkIndex, u64>,
    /// Whether chunks that do not exist must: their elements become others than unwritten ones of the result.
    is_full: bool,
    is_at_hand: bool,
    taken: Arc<Taken>,
}

/// Wraps a source with conversions of some of its arrays.
///
/// # Errors
/// [`SourceError::Variable`] for codecs that are not understood here.
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
        let refused = |reason: String| SourceError::variable(&name, &path, reason);
        let Some(node) = hierarchy.nodes.get(&path) else {
            continue;
        };
        let Some(array) = node.array().cloned() else {
            continue;
        };
        let own: Value = serde_json::from_slice(node.document()).map_err(document_error(&path))?;
        let bytes = serde_json::to_vec(&conversion.document).map_err(document_error(&path))?;
        let parsed = SourceNode::parse(bytes.into(), MAX_DOCUMENT);
        let parsed = parsed.map_err(|error| refused(error.to_string()))?;
        let mut one = Array {
            decode: Codec::of(&own).map_err(refused)?,
            encode: Codec::of(&conversion.document).map_err(refused)?,
            convert: conversion.convert,
            array,
            listed: HashMap::new(),
            is_full: false,
            is_at_hand: conversion.is_at_hand,
            taken: Arc::clone(taken),
        };
        one.list(&*source, &path).await?;
        hierarchy.nodes.insert(path.clone(), parsed);
        arrays.insert(path, one);
    }
    let source = Arc::new(Converted {
        inner: source,
        hierarchy: hierarchy.clone(),
        arrays,
    });
    Ok((source, hierarchy))
}

impl Array {
    async fn list(&mut self, source: &dyn Source, path: &NodePath) -> Result<(), ImportError> {
        let mut chunks = source.chunks(path, &self.array);
        while let Some(entry) = chunks.try_next().await? {
            if let ChunkEntry::Chunk { index, length } = entry {
                self.listed.insert(index, length);
            }
        }
        if let (Some(from), Some(unwritten)) =
            (fixed(self.decode.filled()), fixed(self.encode.filled()))
        {
            let mut into = vec![0; unwritten.len()];
            let converted = self.convert.convert(from, &mut into);
            self.is_full = converted.is_err() || into != unwritten;
        }
        Ok(())
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
        let start = index
            .iter()
            .zip(shape)
            .map(|(at, chunk)| u64::from(*at) * chunk);
        let whole = Region::new(start.collect(), shape.clone());
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

/// A source with some arrays whose elements are converted.
#[derive(Debug)]
struct Converted {
    inner: Arc<dyn Source>,
    hierarchy: Hierarchy,
    arrays: BTreeMap<NodePath, Array>,
}

#[async_trait]
impl Source for Converted {
    async fn hierarchy(&self) -> Result<Hierarchy, SourceError> {
        Ok(self.hierarchy.clone())
    }

    fn chunks(
        &self,
        path: &NodePath,
        array: &ArrayMetadata,
    ) -> BoxStream<'static, Result<ChunkEntry, SourceError>> {
        let Some(one) = self.arrays.get(path) else {
            return self.inner.chunks(path, array);
        };
        let mut entries = Vec::new();
        let mut note = |index: ChunkIndex| {
            let length = one.listed.get(&index).copied().unwrap_or(0);
            entries.push(Ok(ChunkEntry::Chunk { index, length }));
        };
        if one.is_full {
            let counts: Vec<u64> = array.chunk_counts.iter().map(|it| u64::from(*it)).collect();
            let visited = each(&counts, |place| {
                let index: Vec<u32> = place.iter().map(|at| *at as u32).collect();
                note(index.into());
                Ok::<_, std::convert::Infallible>(true)
            });
            match visited {
                Ok(()) => {}
                Err(never) => match never {},
            }
        } else {
            one.listed.keys().cloned().for_each(note);
        }
        stream::iter(entries).boxed()
    }

    async fn read_chunk(
        &self,
        path: &NodePath,
        array: &ArrayMetadata,
        index: &[u32],
        length: u64,
    ) -> Result<Bytes, SourceError> {
        let Some(one) = self.arrays.get(path) else {
            return self.inner.read_chunk(path, array, index, length).await;
        };
        let elements = match one.listed.get(index) {
            None => one.decode.filled_chunk(),
            Some(length) => {
                let bytes = self.inner.read_chunk(path, &one.array, index, *length);
                let elements = one.decode.decode(&bytes.await?);
                elements.map_err(|problem| {
                    SourceError::damaged(&self.chunk_name(path, array, index), problem)
                })?
            }
        };
        let chunk = one.chunk(index, &elements);
        chunk
            .map(Bytes::from)
            .map_err(|reason| SourceError::variable(&self.inner.to_string(), path, reason))
    }

    fn references(&self, path: &NodePath) -> Result<References<'_>, String> {
        match self.arrays.contains_key(path) {
            true => Err("its elements are converted".to_owned()),
            false => self.inner.references(path),
        }
    }

    fn urls(&self) -> Vec<String> {
        self.inner.urls()
    }

    fn state(&self) -> Option<String> {
        // A chunk that is taken over from an earlier attempt would be missing in what is told of rounding.
        if self.arrays.values().any(|it| it.convert.may_round()) {
            return None;
        }
        // Documents do not say all of a conversion: bounds have the units of their coordinate.
        let digest = Digest::new().text(&self.inner.state()?);
        let arrays = self.arrays.iter();
        let digest = arrays.fold(digest, |digest, (path, array)| {
            let conversion = format!("{:?}", array.convert);
            digest.text(path.as_str()).text(&conversion)
        });
        Some(digest.hex())
    }

    fn is_at_hand(&self, path: &NodePath) -> bool {
        self.arrays.get(path).is_some_and(|it| it.is_at_hand) || self.inner.is_at_hand(path)
    }

    fn chunk_name(&self, path: &NodePath, array: &ArrayMetadata, index: &[u32]) -> String {
        self.inner.chunk_name(path, array, index)
    }
}

impl fmt::Display for Converted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
