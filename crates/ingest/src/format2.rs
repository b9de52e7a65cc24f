//! Arrays of Zarr format 3 in the terms of format 2: plain, and as netCDF-C reads them.
//!
//! Where format 2 has a word for all codecs of an array, the bytes of its chunks stay what they are. A shard is cut into
//! its inner chunks. What else there is, chunks are decoded for and encoded anew.

mod chain;
mod data_type;
mod recode;
mod shard_index;
mod shards;
mod vocabulary;

use bytes::Bytes;
use icefield_core::{ArrayMetadata, ChunkKeyEncoding};
use icefield_zarr_store::ChunkKeys;
use serde_json::{Value, json};

use chain::Chain;
use data_type::Stored;
use recode::Recoder;
pub use shard_index::ShardIndex;
use shards::Shards;
pub(crate) use vocabulary::Reader;

/// Most bytes of a chunk that is encoded anew, decoded.
const MAX_RECODED: u64 = 4 << 30;
/// Most bytes of a chunk that is made of fill values, decoded.
const MAX_FILLED: u64 = 1 << 30;

/// An array in format 2.
#[derive(Debug)]
pub(crate) struct Array2 {
    /// Its `.zarray`.
    pub(crate) document: Value,
    keys: ChunkKeys,
    /// The grid of the chunks that are written: coordinates beyond it lie outside the array.
    grid: Vec<u64>,
    chunk_shape: Vec<u64>,
    shards: Option<Shards>,
    /// The bytes of an inner chunk that a shard lacks, where that is written, too.
    absent: Option<Bytes>,
    recoder: Option<Recoder>,
    /// Bytes of a chunk that is written, decoded.
    chunk_bytes: u64,
}

impl Array2 {
    /// Describes an array. `document` is its `zarr.json`; `longest` the bytes of its longest text, which netCDF has to know.
    ///
    /// # Errors
    /// The part that format 2 cannot express.
    pub(crate) fn new(
        document: &Value,
        array: &ArrayMetadata,
        reader: Reader,
        longest: Option<usize>,
    ) -> Result<Self, String> {
        if !array.grid.is_regular() {
            let reason =
                "its chunks have several lengths along a dimension, and those of format 2 have one";
            return Err(reason.to_owned());
        }
        let nothing = Value::Null;
        let field = |name: &str| document.get(name).unwrap_or(&nothing);
        let codecs = field("codecs").as_array().cloned().unwrap_or_default();
        let (shards, codecs, chunk_shape) = match Shards::of(&codecs, &array.chunk_shape)? {
            None => (None, codecs, array.chunk_shape.clone()),
            Some(shards) => {
                let (codecs, shape) = (shards.codecs.clone(), shards.inner.clone());
                (Some(shards), codecs, shape)
            }
        };
        let stored = Stored::of(field("data_type"), reader, longest)?;
        let chain = Chain::of(&codecs, array.rank());
        // netCDF has no filters for scalars.
        let is_bare = reader == Reader::NetCdf && array.rank() == 0;
        let is_known =
            |chain: &Chain| chain.is_known_to(reader) && !(is_bare && chain.level().is_some());
        let is_kept = stored.is_same && chain.as_ref().is_ok_and(is_known);
        let (chain, recoder) = match (is_kept, chain) {
            (true, Ok(chain)) => (chain, None),
            (_, chain) => {
                let level = chain
                    .map_or(Some(1), |chain| chain.level())
                    .filter(|_| !is_bare);
                let codecs = Value::Array(codecs);
                let (data_type, fill) = (field("data_type"), field("fill_value"));
                let recoder = Recoder::new(&codecs, data_type, fill, &chunk_shape, &stored, level);
                (Chain::deflated(level), Some(recoder?))
            }
        };
        let fill_value = stored.fill_value(field("fill_value"))?;
        let chunk_bytes = chunk_shape
            .iter()
            .fold(stored.width(), |all, one| all.saturating_mul(*one));
        if recoder.is_some() && chunk_bytes > MAX_RECODED {
            return Err(format!(
                "its chunks have to be encoded anew and would have {chunk_bytes} bytes each, more than 4 GiB"
            ));
        }
        if recoder.is_some() && stored.is_object() {
            return Err("its texts have codecs that format 2 has no word for".to_owned());
        }
        let document = json!({
            "zarr_format": 2,
            "shape": array.shape,
            "chunks": chunk_shape,
            "dtype": stored.dtype(chain.is_big),
            "compressor": chain.compressor,
            "fill_value": fill_value,
            "order": if chain.is_fortran { "F" } else { "C" },
            "filters": if chain.filters.is_empty() { Value::Null } else { chain.filters.into() },
        });
        let lengths = array.shape.iter().zip(&chunk_shape);
        Ok(Self {
            document,
            keys: ChunkKeys::new(ChunkKeyEncoding::V2 { separator: '.' }, array.rank()),
            grid: lengths
                .map(|(all, one)| all.div_ceil((*one).max(1)))
                .collect(),
            chunk_shape,
            shards,
            absent: None,
            recoder,
            chunk_bytes,
        })
    }

    /// Has inner chunks written that shards lack, so that no chunk is missing where no shard is. `document` is the array's
    /// `zarr.json`. Returns whether that can be done.
    pub(crate) fn fill_shards(&mut self, document: &Value) -> bool {
        let Some(shards) = &self.shards else {
            return true;
        };
        if self.chunk_bytes > MAX_FILLED {
            return false;
        }
        self.absent = recode::filled(document, &shards.codecs, &shards.inner);
        self.absent.is_some()
    }

    /// Returns the elements of the chunks that are written, per dimension.
    pub(crate) fn chunk_shape(&self) -> &[u64] {
        &self.chunk_shape
    }

    /// Returns the bytes that it takes to make chunks of one of the session; `None` where they stay what they are.
    pub(crate) fn recoding(&self) -> Option<u64> {
        match (&self.recoder, &self.shards) {
            (None, None) => None,
            // Decoded, and encoded.
            (Some(_), shards) => {
                let chunks = shards.as_ref().map_or(1, |shards| shards.index.count());
                Some(self.chunk_bytes.saturating_mul(2).saturating_mul(chunks))
            }
            // Chunks that shards lack are made of one chunk in memory.
            (None, Some(_)) => Some(0),
        }
    }

    /// Returns where the inner chunks of its shards lie, if they are what is written, as they are.
    pub(crate) fn shard_index(&self) -> Option<&ShardIndex> {
        self.shards.as_ref().map(|shards| &shards.index)
    }

    /// Returns whether the array's texts have to be measured before it can be written.
    pub(crate) fn needs_longest(document: &Value, reader: Reader) -> bool {
        let nothing = Value::Null;
        reader == Reader::NetCdf
            && data_type::is_text(document.get("data_type").unwrap_or(&nothing))
    }

    /// Makes what is written of a chunk: keys below the array's directory, and bytes.
    ///
    /// # Errors
    /// The problem with the bytes.
    pub(crate) fn chunks(
        &self,
        index: &[u32],
        bytes: Bytes,
    ) -> Result<Vec<(String, Bytes)>, String> {
        let recoded = |bytes: Bytes| match &self.recoder {
            None => Ok(bytes),
            Some(recoder) => recoder.chunk(&bytes),
        };
        let Some(shards) = &self.shards else {
            return Ok(vec![(self.keys.key(index), recoded(bytes)?)]);
        };
        let mut written = Vec::new();
        for (index, bytes) in shards.chunks(index, &bytes, self.absent.as_ref())? {
            let is_inside = index
                .iter()
                .zip(&self.grid)
                .all(|(at, end)| u64::from(*at) < *end);
            if is_inside {
                written.push((self.keys.key(&index), recoded(bytes)?));
            }
        }
        Ok(written)
    }
}

/// The bytes of the longest text of a chunk.
///
/// # Errors
/// As [`Array2::chunks`].
pub(crate) fn longest(document: &Value, bytes: &[u8]) -> Result<usize, String> {
    recode::longest(document, bytes)
}
