//! Sources made of other sources: with documents of their own, and arrays that are made of those of the others.
//!
//! Such a source takes the place of those that it is made of, and no later step of an import distinguishes it from them. An array
//! that is not changed is that of the first source.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use icefield_core::{ArrayMetadata, NodePath};

use super::resume::Digest;
use crate::source::References;
use crate::{ChunkEntry, Hierarchy, Source, SourceError};

/// The chunks of an array, as they are listed.
pub(super) type ChunkStream = BoxStream<'static, Result<ChunkEntry, SourceError>>;

/// An array that an import asks for, and the sources that it is made of.
#[derive(Clone, Copy)]
pub(super) struct ArrayAt<'a> {
    /// The name of the derived source in messages.
    pub(super) name: &'a str,
    pub(super) parts: &'a [Arc<dyn Source>],
    /// The path in the derived source.
    pub(super) path: &'a NodePath,
    /// The array as the derived source describes it.
    pub(super) array: &'a ArrayMetadata,
}

impl<'a> ArrayAt<'a> {
    /// Returns the source whose arrays are taken where no other is named.
    pub(super) fn first(&self) -> &'a dyn Source {
        &*self.parts[0]
    }
}

/// An array of a derived source that is not the array of the first source at the same path. The methods are those of [`Source`].
#[async_trait]
pub(super) trait DerivedArray: fmt::Debug + Send + Sync + Sized + 'static {
    fn chunks(&self, at: ArrayAt<'_>) -> ChunkStream;

    async fn read_chunk(
        &self,
        at: ArrayAt<'_>,
        index: &[u32],
        length: u64,
    ) -> Result<Bytes, SourceError>;

    fn references<'a>(
        &'a self,
        parts: &'a [Arc<dyn Source>],
        path: &NodePath,
    ) -> Result<References<'a>, String>;

    fn is_at_hand(&self, parts: &[Arc<dyn Source>], path: &NodePath) -> bool {
        parts.iter().any(|part| part.is_at_hand(path))
    }

    fn chunk_name(&self, at: ArrayAt<'_>, index: &[u32]) -> String {
        at.first().chunk_name(at.path, at.array, index)
    }

    /// Returns the state of the source: of its parts, and of what its arrays make of them.
    fn state(parts: &[Arc<dyn Source>], arrays: &BTreeMap<NodePath, Self>) -> Option<String>;
}

/// Digests the states of sources; `None` if one of them does not know its own.
pub(super) fn digest_of(parts: &[Arc<dyn Source>]) -> Option<Digest> {
    parts.iter().try_fold(Digest::new(), |digest, part| {
        Some(digest.text(&part.state()?))
    })
}

/// A source made of others.
#[derive(Debug)]
pub(super) struct Derived<A> {
    name: String,
    /// At least one.
    parts: Vec<Arc<dyn Source>>,
    hierarchy: Hierarchy,
    arrays: BTreeMap<NodePath, A>,
}

impl<A: DerivedArray> Derived<A> {
    /// Returns a source made of one: with these nodes, of which some arrays are changed, by their paths in it.
    pub(super) fn of(
        source: Arc<dyn Source>,
        hierarchy: Hierarchy,
        arrays: BTreeMap<NodePath, A>,
    ) -> Arc<dyn Source> {
        Self::joined(source.to_string(), vec![source], hierarchy, arrays)
    }

    /// Returns a source made of one or more, with a name of its own.
    pub(super) fn joined(
        name: String,
        parts: Vec<Arc<dyn Source>>,
        hierarchy: Hierarchy,
        arrays: BTreeMap<NodePath, A>,
    ) -> Arc<dyn Source> {
        Arc::new(Self {
            name,
            parts,
            hierarchy,
            arrays,
        })
    }

    fn at<'a>(&'a self, path: &'a NodePath, array: &'a ArrayMetadata) -> ArrayAt<'a> {
        ArrayAt {
            name: &self.name,
            parts: &self.parts,
            path,
            array,
        }
    }
}

#[async_trait]
impl<A: DerivedArray> Source for Derived<A> {
    async fn hierarchy(&self) -> Result<Hierarchy, SourceError> {
        Ok(self.hierarchy.clone())
    }

    fn chunks(&self, path: &NodePath, array: &ArrayMetadata) -> ChunkStream {
        match self.arrays.get(path) {
            Some(derived) => derived.chunks(self.at(path, array)),
            None => self.parts[0].chunks(path, array),
        }
    }

    async fn read_chunk(
        &self,
        path: &NodePath,
        array: &ArrayMetadata,
        index: &[u32],
        length: u64,
    ) -> Result<Bytes, SourceError> {
        match self.arrays.get(path) {
            Some(derived) => {
                let at = self.at(path, array);
                derived.read_chunk(at, index, length).await
            }
            None => self.parts[0].read_chunk(path, array, index, length).await,
        }
    }

    fn references(&self, path: &NodePath) -> Result<References<'_>, String> {
        match self.arrays.get(path) {
            Some(derived) => derived.references(&self.parts, path),
            None => self.parts[0].references(path),
        }
    }

    fn urls(&self) -> Vec<String> {
        self.parts.iter().flat_map(|part| part.urls()).collect()
    }

    fn is_at_hand(&self, path: &NodePath) -> bool {
        match self.arrays.get(path) {
            Some(derived) => derived.is_at_hand(&self.parts, path),
            None => self.parts.iter().any(|part| part.is_at_hand(path)),
        }
    }

    fn state(&self) -> Option<String> {
        A::state(&self.parts, &self.arrays)
    }

    fn chunk_name(&self, path: &NodePath, array: &ArrayMetadata, index: &[u32]) -> String {
        match self.arrays.get(path) {
            Some(derived) => derived.chunk_name(self.at(path, array), index),
            None => self.parts[0].chunk_name(path, array, index),
        }
    }
}

impl<A> fmt::Display for Derived<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
