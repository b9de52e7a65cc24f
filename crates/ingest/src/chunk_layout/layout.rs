//! The lengths of chunks, the shards and the compression that an array gets.

use std::collections::BTreeMap;

use super::compression::Compression;
use super::error::LayoutError;

/// The length of chunks along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkLength {
    /// So many elements.
    Elements(u64),
    /// As long as the array.
    Whole,
}

impl ChunkLength {
    /// Reads a number of elements, or `all` (also `-1`) for the length of the array.
    ///
    /// # Errors
    /// [`LayoutError::Length`].
    pub fn parse(text: &str) -> Result<Self, LayoutError> {
        match text {
            "all" | "-1" => Ok(Self::Whole),
            text => text
                .parse()
                .map(Self::Elements)
                .map_err(|_| LayoutError::Length {
                    text: text.to_owned(),
                }),
        }
    }

    /// Reads lengths by the names of dimensions: `time=24,lat=all`.
    ///
    /// # Errors
    /// [`LayoutError::Length`], [`LayoutError::Twice`].
    pub fn parse_each(text: &str) -> Result<BTreeMap<String, Self>, LayoutError> {
        let mut lengths = BTreeMap::new();
        for one in text.split(',') {
            let (name, length) = one.rsplit_once('=').ok_or_else(|| LayoutError::Length {
                text: one.to_owned(),
            })?;
            if lengths
                .insert(name.to_owned(), Self::parse(length)?)
                .is_some()
            {
                return Err(LayoutError::Twice {
                    dimension: name.to_owned(),
                });
            }
        }
        Ok(lengths)
    }

    pub(super) fn elements(self, length: u64) -> u64 {
        match self {
            Self::Elements(elements) => elements,
            Self::Whole => length.max(1),
        }
    }
}

/// The treatment of shards: chunks that are stored together in one object, with an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Shards {
    /// Shards stay as they are, if there are any.
    #[default]
    Kept,
    /// No shards: their chunks become objects.
    None,
    /// Shards of these lengths, multiples of the chunk lengths. Along other dimensions a shard stays as long as it is,
    /// or is as long as a chunk.
    Of(BTreeMap<String, ChunkLength>),
}

/// The lengths, shards and codecs of the chunks of arrays. Settings without a value keep what an array has.
///
/// ```
/// use icefield_ingest::{ChunkLayout, ChunkLength, Compression};
///
/// # fn main() -> Result<(), icefield_ingest::LayoutError> {
/// let layout = ChunkLayout::kept()
///     .with_chunks(ChunkLength::parse_each("time=24,lat=all")?)
///     .with_compression(Compression::Zstd(3));
/// assert!(!layout.is_kept());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ChunkLayout {
    /// Lengths of chunks by the names of dimensions; inside of shards, if there are any.
    pub chunks: BTreeMap<String, ChunkLength>,
    /// The treatment of shards.
    pub shards: Shards,
    /// The compression of the chunks.
    pub compression: Compression,
}

impl ChunkLayout {
    /// Returns the layout that changes nothing.
    #[must_use]
    pub fn kept() -> Self {
        Self::default()
    }

    /// Sets the lengths of chunks by the names of dimensions.
    #[must_use]
    pub fn with_chunks(mut self, chunks: BTreeMap<String, ChunkLength>) -> Self {
        self.chunks = chunks;
        self
    }

    /// Sets the treatment of shards.
    #[must_use]
    pub fn with_shards(mut self, shards: Shards) -> Self {
        self.shards = shards;
        self
    }

    /// Sets the compression of the chunks.
    #[must_use]
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Returns whether the layout changes nothing.
    pub fn is_kept(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the layout without what it says of chunks and shards.
    pub(crate) fn only_compression(&self) -> Self {
        Self::kept().with_compression(self.compression.clone())
    }

    /// The dimensions that have a length, and what it is of.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = (&str, ChunkLength, &'static str)> {
        let shards = match &self.shards {
            Shards::Of(lengths) => Some(lengths),
            Shards::Kept | Shards::None => None,
        };
        let chunks = self.chunks.iter().map(|it| (it, "chunks"));
        let shards = shards.into_iter().flatten().map(|it| (it, "shards"));
        chunks
            .chain(shards)
            .map(|((name, length), of)| (name.as_str(), *length, of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_by_dimension() {
        let lengths = ChunkLength::parse_each("time=24,lat=all,a=b=-1").expect("lengths");
        let expected = [
            ("a=b", ChunkLength::Whole),
            ("lat", ChunkLength::Whole),
            ("time", ChunkLength::Elements(24)),
        ];
        let expected = expected.map(|(name, length)| (name.to_owned(), length));
        assert_eq!(lengths, BTreeMap::from(expected));
        for wrong in [
            "", "time", "time=", "time=-2", "time=1.5", "time=24,", "time=x",
        ] {
            let error = ChunkLength::parse_each(wrong).expect_err("no lengths");
            assert!(matches!(error, LayoutError::Length { .. }), "{error}");
        }
        let error = ChunkLength::parse_each("time=1,time=2").expect_err("twice");
        assert!(error.to_string().contains("time"), "{error}");
    }
}
