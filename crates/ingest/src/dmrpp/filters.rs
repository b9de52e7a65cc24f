//! Filters as codecs of Zarr.

use std::collections::HashMap;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::Recode;
use crate::decode::Encoding;

/// The level at which chunks are encoded anew.
const RECODED_LEVEL: i32 = 3;

/// A filter of HDF5 that DMR++ names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Filter {
    // In the order in which HDF5 applies them if it is not told another one.
    Shuffle,
    Deflate,
    Fletcher32,
}

/// The filters of an array, in the order in which they were applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filters {
    all: Vec<Filter>,
    levels: Vec<u64>,
}

impl Filters {
    /// Reads `compressionType` and `deflateLevel`. Documents that do not say their version list filters in any order.
    ///
    /// # Errors
    /// The filter that has no codec.
    pub(super) fn parse(types: &str, levels: &str, is_ordered: bool) -> Result<Self, String> {
        let filter = |name: &str| match name {
            "shuffle" => Ok(Filter::Shuffle),
            "deflate" => Ok(Filter::Deflate),
            "fletcher32" => Ok(Filter::Fletcher32),
            other => Err(format!("the filter {other:?} has no codec in Zarr")),
        };
        let mut all: Vec<Filter> = types
            .split_whitespace()
            .map(filter)
            .collect::<Result<_, _>>()?;
        if !is_ordered {
            all.sort_unstable();
        }
        let levels = levels.split_whitespace().flat_map(str::parse).collect();
        Ok(Self { all, levels })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the codecs without those filters that have a bit in `left_out`. Elements have `size` bytes.
    pub(super) fn codecs(&self, left_out: u32, size: u64) -> Vec<Value> {
        let mut levels = self.levels.iter();
        let mut codecs = Vec::new();
        for (at, filter) in self.all.iter().enumerate() {
            let level = match filter {
                Filter::Deflate => *levels.next().unwrap_or(&6),
                Filter::Shuffle | Filter::Fletcher32 => 0,
            };
            if left_out.checked_shr(at as u32).unwrap_or(0) & 1 == 1 {
                continue;
            }
            let (name, configuration) = match filter {
                Filter::Shuffle if size < 2 => continue,
                Filter::Shuffle => ("numcodecs.shuffle", json!({ "elementsize": size })),
                Filter::Deflate => ("numcodecs.zlib", json!({ "level": level.min(9) })),
                Filter::Fletcher32 => ("numcodecs.fletcher32", json!({})),
            };
            codecs.push(json!({ "name": name, "configuration": configuration }));
        }
        codecs
    }

    /// Returns why the codecs do not say what the filters did to a chunk of so many bytes, if they do not.
    pub(super) fn uneven(&self, chunk_bytes: u64, size: u64) -> Option<String> {
        // Of all chunks the same, until a compressor comes.
        let mut bytes = chunk_bytes;
        for filter in &self.all {
            match filter {
                Filter::Shuffle if size > 1 && !bytes.is_multiple_of(size) => {
                    return Some(
                        "a shuffle leaves bytes of its chunks over, which no codec of Zarr says"
                            .to_owned(),
                    );
                }
                Filter::Shuffle => {}
                Filter::Fletcher32 => bytes = bytes.saturating_add(4),
                Filter::Deflate => return None,
            }
        }
        None
    }
}

/// Returns the codecs of chunks that are decoded and encoded anew.
pub(super) fn recoded_codecs(bytes_codec: &Value) -> Vec<Value> {
    let configuration = json!({ "level": RECODED_LEVEL, "checksum": false });
    vec![
        bytes_codec.clone(),
        json!({ "name": "zstd", "configuration": configuration }),
    ]
}

/// Returns what decodes chunks and encodes them anew. `left_out` has the filters that single chunks went without.
///
/// # Errors
/// If chunks of these numbers are not decoded here.
pub(super) fn recode(
    filters: &Filters,
    left_out: HashMap<Vec<u32>, u32>,
    data_type: &Value,
    bytes_codec: &Value,
    (elements, size): (u64, u64),
) -> Result<Recode, String> {
    let encoding = |mask: u32| {
        let mut codecs = vec![bytes_codec.clone()];
        codecs.extend(filters.codecs(mask, size));
        let document = json!({ "data_type": data_type, "codecs": codecs, "fill_value": 0 });
        Encoding::of(document.to_string().as_bytes(), elements).ok_or_else(|| {
            "its chunks would have to be decoded, and they are longer than 64 MiB or no numbers"
                .to_owned()
        })
    };
    let mut encodings = HashMap::from([(0, encoding(0)?)]);
    for mask in left_out.values() {
        if !encodings.contains_key(mask) {
            encodings.insert(*mask, encoding(*mask)?);
        }
    }
    Ok(Recode::new(move |index, chunk, _| {
        let mask = left_out.get(index).copied().unwrap_or(0);
        let plain = encodings.get(&mask).and_then(|it| it.plain(chunk));
        let plain = plain.ok_or("its filters do not decode it")?;
        let encoded = zstd::bulk::compress(&plain, RECODED_LEVEL);
        Ok(encoded.map(Bytes::from)?)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_in_the_order_of_the_document_if_it_says_its_version() {
        let parse = |types: &str, is_ordered| Filters::parse(types, "4", is_ordered);
        let old = parse("deflate shuffle", false).expect("known");
        assert_eq!(old.all, [Filter::Shuffle, Filter::Deflate]);
        let new = parse("fletcher32 shuffle deflate", true).expect("known");
        assert_eq!(new.all[0], Filter::Fletcher32);
        assert!(new.uneven(10, 8).is_some() && old.uneven(10, 8).is_some());
        assert_eq!(new.uneven(12, 8), None);
        assert_eq!(new.uneven(12, 1), None);
        assert!(parse("szip", true).is_err_and(|it| it.contains("szip")));
    }

    #[test]
    fn codecs_lack_what_was_left_out() {
        let filters = Filters::parse("shuffle deflate fletcher32", "7", true).expect("known");
        let names = |mask, size| {
            let codecs = filters.codecs(mask, size);
            let names = codecs
                .iter()
                .filter_map(|it| it["name"].as_str().map(str::to_owned));
            names.collect::<Vec<_>>()
        };
        let all = [
            "numcodecs.shuffle",
            "numcodecs.zlib",
            "numcodecs.fletcher32",
        ];
        assert_eq!(names(0, 4), all);
        assert_eq!(names(0, 1), all[1..]);
        assert_eq!(names(0b10, 4), [all[0], all[2]]);
        assert_eq!(names(u32::MAX, 4), [""; 0]);
        assert_eq!(filters.codecs(0, 1)[0]["configuration"]["level"], 7);
    }
}
