//! Filter pipelines as codecs of Zarr.

use hdf5_reader::filters::{self, FILTER_DEFLATE, FILTER_FLETCHER32, FILTER_LZ4, FILTER_SHUFFLE};
use hdf5_reader::messages::filter_pipeline::FilterDescription;
use serde_json::{Value, json};

const BLOSC: u16 = 32001;
const ZSTD: u16 = 32015;
/// The level at which chunks are encoded anew.
pub(super) const RECODED_LEVEL: i32 = 3;

/// The codecs that stand for a pipeline, after the one that makes bytes.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    pub(super) codecs: Vec<Value>,
    /// Whether the last codec stands for LZ4, which chunks must be rid of.
    pub(super) recoded: bool,
}

impl Pipeline {
    /// Translates the filters of chunks with so many bytes, or says which one cannot be.
    pub(super) fn of(filters: &[FilterDescription], chunk_bytes: u64) -> Result<Self, String> {
        let mut pipeline = Self::default();
        // Whether a filter before has changed the number of bytes.
        let mut resized = false;
        for filter in filters {
            let name = named(filter);
            if pipeline.recoded {
                return Err(format!("{name} comes after LZ4, which has no codec"));
            }
            let parameter = |at: usize| filter.client_data.get(at).copied();
            match filter.id {
                FILTER_SHUFFLE => {
                    let size = parameter(0).unwrap_or(1);
                    if size > 1 {
                        // HDF5 leaves the rest as it is. The codec does not take such a chunk at all.
                        if resized || !chunk_bytes.is_multiple_of(u64::from(size)) {
                            let what = "does not go through its chunks evenly";
                            return Err(format!("{name} with elements of {size} bytes {what}"));
                        }
                        pipeline.add("numcodecs.shuffle", json!({ "elementsize": size }));
                    }
                    continue;
                }
                FILTER_DEFLATE => {
                    let level = parameter(0).unwrap_or(6).min(9);
                    pipeline.add("numcodecs.zlib", json!({ "level": level }));
                }
                FILTER_FLETCHER32 => pipeline.add("numcodecs.fletcher32", json!({})),
                ZSTD => {
                    // Negative levels are stored as large numbers.
                    let level = parameter(0).unwrap_or(3).cast_signed().clamp(-131_072, 22);
                    pipeline.add("zstd", json!({ "level": level, "checksum": false }));
                }
                BLOSC => pipeline.add("blosc", blosc(filter)?),
                FILTER_LZ4 if resized => {
                    return Err(format!("{name} comes after another compressor"));
                }
                FILTER_LZ4 => {
                    let level = RECODED_LEVEL;
                    pipeline.add("zstd", json!({ "level": level, "checksum": false }));
                    pipeline.recoded = true;
                }
                _ => return Err(format!("{name} has no codec in Zarr")),
            }
            resized = true;
        }
        Ok(pipeline)
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
        4 => "szip",
        5 => "nbit",
        6 => "scaleoffset",
        307 => "bzip2",
        32000 => "lzf",
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
    let known = [
        FILTER_SHUFFLE,
        FILTER_DEFLATE,
        FILTER_FLETCHER32,
        ZSTD,
        FILTER_LZ4,
    ];
    let unknown = pipeline.iter().find(|filter| !known.contains(&filter.id));
    unknown.map_or(Ok(()), |filter| {
        Err(format!(
            "{} is not decoded for texts, which are copied",
            named(filter)
        ))
    })
}

/// Decodes a chunk, to at most so many bytes; `left_out` has a bit for each filter that it lacks. Only for chunks whose elements are looked at: texts.
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
            FILTER_LZ4 => super::lz4::decoded(&bytes, most)?,
            _ => return Err(format!("{} is not decoded here", named(filter))),
        };
        bytes = decoded;
    }
    Ok(bytes)
}
