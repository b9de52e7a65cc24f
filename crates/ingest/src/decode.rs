//! Chunks whose codecs are simple, decoded and encoded: for records that HDF5 keeps apart, and for builds without the feature
//! `codecs`, which do without the codec chain of `zarrs` and the 59 crates behind it. Other codecs are `None`.

use std::io::{Read, Write};

use icefield_zarr_store::{Fletcher32, Shuffle};
use serde_json::Value;

/// Longest chunk that is decoded, in bytes.
const MOST: u64 = 64 << 20;

/// How the numbers of an array are stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Encoding {
    /// Bytes of a number.
    size: usize,
    big_endian: bool,
    /// In the order in which they are applied.
    filters: Vec<Filter>,
    /// Bytes of a chunk, decoded.
    chunk_bytes: u64,
    /// The fill value, as elements are stored.
    fill: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Signed,
    Unsigned,
    Float,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Filter {
    Zstd(i32),
    Gzip(u32),
    Zlib(u32),
    Shuffle(Shuffle),
    Crc32c,
    Fletcher32,
}

impl Encoding {
    /// Reads the document of an array, whose chunks have so many elements.
    pub(crate) fn of(document: &[u8], elements: u64) -> Option<Self> {
        let document: Value = serde_json::from_slice(document).ok()?;
        let name = document["data_type"].as_str()?;
        let (number, bits) = ["uint", "int", "float"].iter().find_map(|kind| {
            let bits: usize = name.strip_prefix(kind)?.parse().ok()?;
            Some((*kind, bits))
        })?;
        let (number, widths): (_, &[usize]) = match number {
            "uint" => (Number::Unsigned, &[8, 16, 32, 64]),
            "int" => (Number::Signed, &[8, 16, 32, 64]),
            _ => (Number::Float, &[32, 64]),
        };
        let size = widths.contains(&bits).then_some(bits / 8)?;
        let (mut filters, mut big_endian, mut bytes) = (Vec::new(), false, false);
        for codec in document["codecs"].as_array()? {
            let (name, configuration) = match codec {
                Value::String(name) => (name.as_str(), &Value::Null),
                codec => (codec["name"].as_str()?, &codec["configuration"]),
            };
            match name {
                "bytes" if !bytes => {
                    bytes = true;
                    big_endian = configuration["endian"] == "big";
                    continue;
                }
                // It does nothing to what has one dimension, and there are no other coordinates.
                "transpose" if !bytes => continue,
                _ if !bytes => return None,
                _ => {}
            }
            filters.push(match name {
                "zstd" | "numcodecs.zstd" => {
                    let level = configuration["level"].as_i64().unwrap_or(0);
                    Filter::Zstd(level.clamp(-131_072, 22) as i32)
                }
                "gzip" | "numcodecs.gzip" => Filter::Gzip(level(configuration)),
                "numcodecs.zlib" => Filter::Zlib(level(configuration)),
                "numcodecs.shuffle" => {
                    let size = configuration["elementsize"].as_u64().unwrap_or(4);
                    Filter::Shuffle(Shuffle::of(usize::try_from(size).ok()?)?)
                }
                "crc32c" => Filter::Crc32c,
                "numcodecs.fletcher32" => Filter::Fletcher32,
                _ => return None,
            });
        }
        let chunk_bytes = elements.checked_mul(size as u64)?;
        let mut fill = fill(&document["fill_value"], number, size)?.to_le_bytes()[..size].to_vec();
        if big_endian {
            fill.reverse();
        }
        (bytes && chunk_bytes <= MOST).then_some(Self {
            size,
            big_endian,
            filters,
            chunk_bytes,
            fill,
        })
    }

    /// Returns elements with their bytes in the other order where the array is big-endian: from stored to little-endian,
    /// and back.
    #[cfg(not(feature = "codecs"))]
    pub(crate) fn in_order(&self, mut plain: Vec<u8>) -> Vec<u8> {
        if self.big_endian {
            plain.chunks_exact_mut(self.size).for_each(<[u8]>::reverse);
        }
        plain
    }

    /// Returns the elements of a chunk that is not there.
    #[cfg(any(feature = "hdf5", test))]
    pub(crate) fn filled(&self) -> Vec<u8> {
        self.fill.repeat(self.chunk_bytes as usize / self.size)
    }

    /// Returns an element that is not there.
    #[cfg(any(feature = "hdf5", not(feature = "codecs")))]
    pub(crate) fn fill(&self) -> &[u8] {
        &self.fill
    }

    /// Returns the elements of a chunk, in the byte order in which they are stored.
    pub(crate) fn plain(&self, chunk: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = chunk.to_vec();
        for filter in self.filters.iter().rev() {
            bytes = match filter {
                Filter::Zstd(_) => self.inflated(zstd::Decoder::new(&bytes[..]).ok()?)?,
                Filter::Gzip(_) => self.inflated(flate2::read::MultiGzDecoder::new(&bytes[..]))?,
                Filter::Zlib(_) => self.inflated(flate2::read::ZlibDecoder::new(&bytes[..]))?,
                Filter::Shuffle(shuffle) => shuffle.decoded(&bytes),
                Filter::Crc32c => {
                    let (body, sum) = bytes.split_last_chunk::<4>()?;
                    let is_sound = u32::from_le_bytes(*sum) == crc32c::crc32c(body);
                    is_sound.then(|| body.to_vec())?
                }
                Filter::Fletcher32 => Fletcher32.decoded(&bytes)?.to_vec(),
            };
        }
        (bytes.len() as u64 == self.chunk_bytes).then_some(bytes)
    }

    /// Returns the chunk of such elements. `None` if one of the codecs fails.
    pub(crate) fn encoded(&self, plain: Vec<u8>) -> Option<Vec<u8>> {
        let mut bytes = plain;
        for filter in &self.filters {
            bytes = match filter {
                Filter::Zstd(level) => zstd::encode_all(&bytes[..], *level).ok()?,
                Filter::Gzip(level) => {
                    let level = flate2::Compression::new(*level);
                    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
                    encoder.write_all(&bytes).ok()?;
                    encoder.finish().ok()?
                }
                Filter::Zlib(level) => {
                    let level = flate2::Compression::new(*level);
                    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
                    encoder.write_all(&bytes).ok()?;
                    encoder.finish().ok()?
                }
                Filter::Shuffle(shuffle) => shuffle.encoded(&bytes),
                Filter::Crc32c => {
                    let sum = crc32c::crc32c(&bytes).to_le_bytes();
                    bytes.extend(sum);
                    bytes
                }
                Filter::Fletcher32 => Fletcher32.encoded(bytes),
            };
        }
        Some(bytes)
    }

    /// No more than a chunk may have, with a checksum.
    fn inflated(&self, from: impl Read) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let most = self.chunk_bytes + 64;
        from.take(most).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

/// The bits of a fill value, the least ones first.
fn fill(value: &Value, number: Number, size: usize) -> Option<u64> {
    if let (Number::Float, Value::String(text)) = (number, value) {
        let special = match text.as_str() {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            text => return u64::from_str_radix(text.strip_prefix("0x")?, 16).ok(),
        };
        return Some(float_bits(special, size));
    }
    match number {
        Number::Unsigned => value.as_u64(),
        Number::Signed => value.as_i64().map(i64::cast_unsigned),
        Number::Float => value.as_f64().map(|value| float_bits(value, size)),
    }
}

fn float_bits(value: f64, size: usize) -> u64 {
    match size {
        4 => u64::from((value as f32).to_bits()),
        _ => value.to_bits(),
    }
}

fn level(configuration: &Value) -> u32 {
    let level = configuration["level"].as_u64().unwrap_or(5);
    level.min(9) as u32
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use serde_json::json;

    use super::*;

    fn encoding(data_type: &str, codecs: Value, elements: u64) -> Option<Encoding> {
        let document = json!({ "data_type": data_type, "codecs": codecs, "fill_value": 0 });
        Encoding::of(document.to_string().as_bytes(), elements)
    }

    #[test]
    fn fill_values_are_as_they_are_stored() {
        let filled = |data_type: &str, endian: &str, fill: Value| {
            let codecs = json!([{ "name": "bytes", "configuration": { "endian": endian } }]);
            let document = json!({ "data_type": data_type, "codecs": codecs, "fill_value": fill });
            Encoding::of(document.to_string().as_bytes(), 2).map(|it| it.filled())
        };
        assert_eq!(
            filled("int16", "little", json!(-2)),
            Some(vec![0xfe, 0xff, 0xfe, 0xff])
        );
        assert_eq!(
            filled("int16", "big", json!(-2)),
            Some(vec![0xff, 0xfe, 0xff, 0xfe])
        );
        assert_eq!(filled("uint8", "little", json!(255)), Some(vec![255, 255]));
        let nan = f32::NAN.to_be_bytes();
        assert_eq!(
            filled("float32", "big", json!("NaN")),
            Some([nan, nan].concat())
        );
        assert_eq!(
            filled("float32", "big", json!("0x7fc00000")),
            Some([nan, nan].concat())
        );
        let third = 0.1_f64.to_le_bytes();
        assert_eq!(
            filled("float64", "little", json!(0.1)),
            Some([third, third].concat())
        );
        assert_eq!(filled("float64", "little", json!("none")), None);
        assert_eq!(filled("int8", "little", json!(null)), None);
    }

    #[test]
    fn filters_are_undone_in_turn() {
        let numbers: Vec<i32> = (0..100).map(|at| at * at - 50).collect();
        let plain: Vec<u8> = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
        let shuffled = Shuffle::of(4).expect("positive").encoded(&plain);
        assert_eq!(shuffled[..3], [206, 207, 210]);
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(&shuffled).expect("in memory");
        let chunk = zlib.finish().expect("in memory");
        let unsummed = [&chunk[..], &[0; 4]].concat();
        let chunk = Fletcher32.encoded(chunk);
        let shuffle = json!({ "name": "numcodecs.shuffle", "configuration": { "elementsize": 4 } });
        let codecs = json!(["bytes", shuffle, "numcodecs.zlib", "numcodecs.fletcher32"]);
        let known = encoding("int32", codecs, 100).expect("known");
        assert_eq!(known.plain(&chunk).as_ref(), Some(&plain));
        assert_eq!(known.plain(&chunk[..20]), None);

        assert_eq!(known.plain(&unsummed), None, "a wrong sum");

        for codecs in [
            json!(["bytes"]),
            json!(["bytes", "zstd", "crc32c"]),
            json!(["bytes", shuffle, "numcodecs.zlib"]),
            json!(["bytes", shuffle, "numcodecs.zlib", "numcodecs.fletcher32"]),
            json!(["bytes", { "name": "gzip", "configuration": { "level": 1 } }]),
        ] {
            let known = encoding("int32", codecs, 100).expect("known");
            let chunk = known.encoded(plain.clone()).expect("all can be done");
            assert_eq!(known.plain(&chunk).as_ref(), Some(&plain));
        }
        let known = encoding("int32", json!(["bytes", "zstd", "crc32c"]), 100).expect("known");
        let mut chunk = known.encoded(plain.clone()).expect("all can be done");
        *chunk.last_mut().expect("not empty") ^= 1;
        assert_eq!(known.plain(&chunk), None, "a wrong sum");
        let bomb = zstd::encode_all(std::io::repeat(0).take(1 << 30), 1).expect("in memory");
        let known = encoding("int32", json!(["bytes", "zstd"]), 100).expect("known");
        assert_eq!(known.plain(&bomb), None);
    }

    #[test]
    fn what_is_not_known_is_left_alone() {
        for (data_type, codecs) in [
            ("string", json!(["vlen-utf8"])),
            ("complex64", json!(["bytes"])),
            ("float16", json!(["bytes"])),
            ("int32", json!(["bytes", "blosc"])),
            ("int32", json!(["numcodecs.delta", "bytes"])),
            ("int32", json!([])),
        ] {
            assert_eq!(encoding(data_type, codecs, 1), None);
        }
        assert_eq!(encoding("int8", json!(["bytes"]), u64::MAX), None);
    }
}
