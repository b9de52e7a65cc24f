//! Filter pipelines as codecs of Zarr.

use std::collections::HashMap;
#[cfg(feature = "all-codecs")]
use std::io::Read;

use hdf5_reader::filters::{self, FILTER_DEFLATE, FILTER_FLETCHER32, FILTER_LZ4, FILTER_SHUFFLE};
use hdf5_reader::messages::filter_pipeline::FilterDescription;
use serde_json::{Value, json};

use super::take::Take;
#[cfg(feature = "all-codecs")]
use super::{lz4, szip};
use super::{lzf, nbit, scale_offset};
use crate::Recode;

const SZIP: u16 = 4;
const NBIT: u16 = 5;
const SCALE_OFFSET: u16 = 6;
const BZIP2: u16 = 307;
const LZF: u16 = 32000;
const BLOSC: u16 = 32001;
const ZSTD: u16 = 32015;
/// The level at which chunks are encoded anew.
const RECODED_LEVEL: i32 = 3;

/// The codecs that stand for a pipeline, after the one that makes bytes.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    pub(super) codecs: Vec<Value>,
    /// Why no codecs say what the filters do, if none do: chunks are decoded and get the codecs that are here.
    pub(super) recoded: Option<String>,
}

impl Pipeline {
    /// Translates the filters of chunks with so many bytes, or says which one cannot be.
    pub(super) fn of(filters: &[FilterDescription], chunk_bytes: u64) -> Result<Self, String> {
        let mut pipeline = Self::default();
        // Of all chunks the same, until a compressor comes.
        let mut bytes = Some(chunk_bytes);
        let mut recoded = None;
        for filter in filters {
            let name = named(filter);
            let parameter = |at: usize| filter.client_data.get(at).copied();
            match filter.id {
                FILTER_SHUFFLE => {
                    let size = parameter(0).unwrap_or(1);
                    if size > 1 {
                        // HDF5 leaves the rest as it is. The codec does not take such a chunk at all.
                        if !bytes.is_some_and(|bytes| bytes.is_multiple_of(u64::from(size))) {
                            recoded.get_or_insert_with(|| {
                                let what = "does not go through its chunks evenly, which no codec of Zarr says";
                                format!("{name} with elements of {size} bytes {what}")
                            });
                        }
                        pipeline.add("numcodecs.shuffle", json!({ "elementsize": size }));
                    }
                    continue;
                }
                FILTER_FLETCHER32 => {
                    pipeline.add("numcodecs.fletcher32", json!({}));
                    bytes = bytes.and_then(|bytes| bytes.checked_add(4));
                    continue;
                }
                FILTER_DEFLATE => {
                    let level = parameter(0).unwrap_or(6).min(9);
                    pipeline.add("numcodecs.zlib", json!({ "level": level }));
                }
                ZSTD => {
                    // Negative levels are stored as large numbers.
                    let level = parameter(0).unwrap_or(3).cast_signed().clamp(-131_072, 22);
                    pipeline.add("zstd", json!({ "level": level, "checksum": false }));
                }
                BLOSC => pipeline.add("blosc", blosc(filter)?),
                BZIP2 => {
                    let level = parameter(0).unwrap_or(9).clamp(1, 9);
                    pipeline.add("numcodecs.bz2", json!({ "level": level }));
                }
                FILTER_LZ4 => {
                    recoded.get_or_insert_with(|| {
                        "no codec of Zarr reads the framing of LZ4 in HDF5".to_owned()
                    });
                }
                NBIT if nbit::is_full(&filter.client_data) => continue,
                SZIP | NBIT | SCALE_OFFSET | LZF => {
                    #[cfg(feature = "all-codecs")]
                    if filter.id == SZIP {
                        szip::check(&filter.client_data)?;
                    }
                    recoded.get_or_insert_with(|| format!("no codec of Zarr undoes {name}"));
                }
                _ => return Err(format!("{name} has no codec in Zarr")),
            }
            bytes = None;
        }
        match recoded {
            Some(reason) => pipeline.into_recoded(filters, reason),
            None => Ok(pipeline),
        }
    }

    /// Gives the chunks codecs that have nothing to do with their filters, or says which of these is not decoded.
    pub(super) fn into_recoded(
        mut self,
        filters: &[FilterDescription],
        reason: String,
    ) -> Result<Self, String> {
        if let Some(unknown) = unknown(filters) {
            return Err(format!(
                "{reason}, and {} is not decoded here",
                named(unknown)
            ));
        }
        self.codecs.clear();
        self.add("zstd", json!({ "level": RECODED_LEVEL, "checksum": false }));
        self.recoded = Some(reason);
        Ok(self)
    }

    fn add(&mut self, name: &str, configuration: Value) {
        let codec = json!({ "name": name, "configuration": configuration });
        self.codecs.push(codec);
    }
}

/// Reads the parameters: two versions, element size, chunk size, level, shuffle, compressor.
fn blosc(filter: &FilterDescription) -> Result<Value, String> {
    let parameter = |at: usize| filter.client_data.get(at).copied();
    let name = match parameter(6).unwrap_or(0) {
        0 => "blosclz",
        1 => "lz4",
        2 => "lz4hc",
        3 => "snappy",
        4 => "zlib",
        5 => "zstd",
        code => {
            return Err(format!(
                "{} has the unknown compressor {code}",
                named(filter)
            ));
        }
    };
    let shuffle = match parameter(5).unwrap_or(1) {
        0 => "noshuffle",
        1 => "shuffle",
        2 => "bitshuffle",
        code => return Err(format!("{} has the unknown shuffle {code}", named(filter))),
    };
    // A Blosc chunk says itself how to decode it. What is here only matters to a writer.
    Ok(json!({
        "cname": name,
        "clevel": parameter(4).unwrap_or(5).min(9),
        "shuffle": shuffle,
        "typesize": parameter(2).unwrap_or(1).clamp(1, 255),
        "blocksize": 0,
    }))
}

/// Returns what messages call a filter.
fn named(filter: &FilterDescription) -> String {
    let known = match filter.id {
        1 => "deflate",
        2 => "shuffle",
        3 => "fletcher32",
        SZIP => "szip",
        NBIT => "nbit",
        SCALE_OFFSET => "scaleoffset",
        BZIP2 => "bzip2",
        LZF => "lzf",
        BLOSC => "blosc",
        FILTER_LZ4 => "lz4",
        32008 => "bitshuffle",
        32013 => "zfp",
        ZSTD => "zstd",
        32017 => "sz",
        32024 => "sz3",
        32026 => "blosc2",
        _ => match &filter.name {
            Some(name) => return format!("the filter {} ({name:?})", filter.id),
            None => return format!("the filter {}", filter.id),
        },
    };
    format!("the filter {known} ({})", filter.id)
}

/// Says which filter [`decoded`] does not know, if there is one.
pub(super) fn check_decoded(pipeline: &[FilterDescription]) -> Result<(), String> {
    unknown(pipeline).map_or(Ok(()), |filter| {
        Err(format!(
            "{} is not decoded for texts, which are copied",
            named(filter)
        ))
    })
}

fn unknown(pipeline: &[FilterDescription]) -> Option<&FilterDescription> {
    let known = [
        FILTER_SHUFFLE,
        FILTER_DEFLATE,
        FILTER_FLETCHER32,
        ZSTD,
        NBIT,
        SCALE_OFFSET,
        LZF,
    ];
    let rare = [BLOSC, BZIP2, FILTER_LZ4, SZIP];
    let is_known =
        |id: u16| known.contains(&id) || (rare.contains(&id) && cfg!(feature = "all-codecs"));
    pipeline.iter().find(|filter| !is_known(filter.id))
}

/// Chunks that are decoded and encoded anew.
pub(super) struct FilterRecoder {
    pub(super) filters: Vec<FilterDescription>,
    /// The filters that were left out for single chunks, as [`decoded`] has them.
    pub(super) left_out: HashMap<Vec<u32>, u32>,
    /// The part of the elements that the array takes, if not all as they are.
    pub(super) take: Option<Take>,
}

impl FilterRecoder {
    /// Returns the function that makes the chunks.
    pub(super) fn into_recode(self) -> Recode {
        Recode::new(move |index, chunk, expected| {
            let left_out = self.left_out.get(index).copied().unwrap_or(0);
            let stored = match self.take {
                Some(take) => (expected.chunk_bytes / take.size.max(1)).saturating_mul(take.of),
                None => expected.chunk_bytes,
            };
            let bytes = decoded(chunk, &self.filters, left_out, stored)?;
            let bytes = match self.take {
                Some(take) if bytes.len() == stored => take.of(&bytes),
                _ => bytes,
            };
            if bytes.len() != expected.chunk_bytes {
                let (found, wanted) = (bytes.len(), expected.chunk_bytes);
                return Err(format!("it decodes to {found} bytes instead of {wanted}").into());
            }
            Ok(zstd::bulk::compress(&bytes, RECODED_LEVEL)?.into())
        })
    }
}

/// Decodes a chunk, to at most so many bytes; `left_out` has a bit for each filter that it lacks.
pub(super) fn decoded(
    chunk: &[u8],
    pipeline: &[FilterDescription],
    left_out: u32,
    most: usize,
) -> Result<Vec<u8>, String> {
    let mut bytes = chunk.to_vec();
    for (at, filter) in pipeline.iter().enumerate().rev() {
        let bit = u32::try_from(at).ok().and_then(|at| 1u32.checked_shl(at));
        if left_out & bit.unwrap_or(0) != 0 {
            continue;
        }
        // A checksum more than the elements at most, for each filter that adds one.
        let most = most.saturating_add(64);
        let decoded = match filter.id {
            FILTER_SHUFFLE | FILTER_DEFLATE | FILTER_FLETCHER32 => {
                let one = std::slice::from_ref(filter);
                let size = filter.client_data.first().map_or(1, |size| *size as usize);
                filters::apply_pipeline_with_limit(&bytes, one, 0, size, None, Some(most))
                    .map_err(|error| error.to_string())?
            }
            ZSTD => zstd::bulk::decompress(&bytes, most)
                .map_err(|error| format!("Zstandard: {error}"))?,
            #[cfg(feature = "all-codecs")]
            FILTER_LZ4 => lz4::decoded(&bytes, most)?,
            LZF => lzf::decoded(&bytes, most)?,
            #[cfg(feature = "all-codecs")]
            SZIP => szip::decoded(&bytes, &filter.client_data, most)?,
            NBIT => nbit::decoded(&bytes, &filter.client_data, most)?,
            SCALE_OFFSET => scale_offset::decoded(&bytes, &filter.client_data, most)?,
            #[cfg(feature = "all-codecs")]
            BZIP2 => {
                let mut plain = Vec::new();
                let reader = bzip2::read::BzDecoder::new(&bytes[..]);
                let length = reader.take(most as u64 + 1).read_to_end(&mut plain);
                match length.map_err(|error| format!("bzip2: {error}"))? <= most {
                    true => plain,
                    false => return Err(format!("bzip2: a chunk of {most} bytes has more")),
                }
            }
            #[cfg(feature = "all-codecs")]
            BLOSC => unblosced(&bytes, most)?,
            _ => return Err(format!("{} is not decoded here", named(filter))),
        };
        bytes = decoded;
    }
    Ok(bytes)
}

/// Decodes a chunk of Blosc, which says itself how and how long it is.
#[cfg(feature = "all-codecs")]
fn unblosced(chunk: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let length = chunk.get(4..).and_then(|it| it.first_chunk::<4>());
    let length = length.map(|it| u32::from_le_bytes(*it) as usize);
    let length = length
        .filter(|it| *it <= most)
        .ok_or("Blosc: the chunk is cut short or too long")?;
    if length == 0 {
        return Ok(Vec::new());
    }
    let configuration = json!({
        "cname": "lz4", "clevel": 5, "shuffle": "noshuffle", "typesize": 1, "blocksize": 0,
    });
    let codecs = json!([{ "name": "bytes" }, { "name": "blosc", "configuration": configuration }]);
    let fill = Value::from(0);
    let codec =
        icefield_zarr_store::ChunkCodec::of(&codecs, &"uint8".into(), &fill, &[length as u64])?;
    match codec.decode(chunk)? {
        icefield_zarr_store::Elements::Fixed(bytes) => Ok(bytes),
        icefield_zarr_store::Elements::Variable(_) => Err("Blosc: texts".to_owned()),
    }
}
