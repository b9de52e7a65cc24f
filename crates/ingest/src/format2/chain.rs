//! A chain of codecs as order, filters and compressor.

use serde_json::{Value, json};

use super::vocabulary::{Reader, configuration, configured, name_of};

/// The codecs of an array in the terms of format 2.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    pub(super) is_fortran: bool,
    pub(super) is_big: bool,
    pub(super) filters: Vec<Value>,
    pub(super) compressor: Value,
}

impl Chain {
    /// Translates codecs.
    ///
    /// # Errors
    /// The first one that format 2 has no word for.
    pub(super) fn of(codecs: &[Value], rank: usize) -> Result<Self, String> {
        let mut chain = Self::default();
        for codec in codecs {
            chain.add(codec, rank)?;
        }
        // The last filter is what format 2 calls the compressor, unless it makes bytes of elements.
        let is_array = |codec: &Value| {
            let id = codec.get("id").and_then(Value::as_str);
            matches!(id, Some("vlen-utf8" | "vlen-bytes"))
                || is_array_filter(id.unwrap_or_default())
        };
        chain.compressor = match chain.filters.pop() {
            Some(last) if is_array(&last) => {
                chain.filters.push(last);
                Value::Null
            }
            Some(last) => last,
            None => Value::Null,
        };
        Ok(chain)
    }

    /// The codecs of chunks that are encoded anew: deflate, or none.
    pub(super) fn deflated(level: Option<u32>) -> Self {
        Self {
            compressor: level.map_or(Value::Null, |level| json!({ "id": "zlib", "level": level })),
            ..Self::default()
        }
    }

    fn add(&mut self, codec: &Value, rank: usize) -> Result<(), String> {
        let mut configuration = configuration(codec);
        let mut put = |id: &str| {
            configuration.insert("id".to_owned(), id.into());
            self.filters.push(configuration.clone().into());
        };
        match name_of(codec) {
            "transpose" => {
                let reversed: Vec<usize> = (0..rank).rev().collect();
                match configured(codec, "order") {
                    Some(order) if *order == json!((0..rank).collect::<Vec<_>>()) => {}
                    // The order of format 2 is that of the elements before all filters.
                    Some(order) if *order == json!(reversed) && self.filters.is_empty() => {
                        self.is_fortran = !self.is_fortran;
                    }
                    order => return Err(format!("its dimensions have the order {order:?}")),
                }
            }
            "bytes" => {
                let endian = configured(codec, "endian").and_then(Value::as_str);
                self.is_big = endian == Some("big");
            }
            "blosc" => {
                let shuffle = match configured(codec, "shuffle").and_then(Value::as_str) {
                    Some("noshuffle") => 0,
                    Some("bitshuffle") => 2,
                    _ => 1,
                };
                let value = |field: &str, default: Value| {
                    configured(codec, field).cloned().unwrap_or(default)
                };
                self.filters.push(json!({
                    "id": "blosc",
                    "cname": value("cname", "lz4".into()),
                    "clevel": value("clevel", 5.into()),
                    "shuffle": shuffle,
                    "blocksize": value("blocksize", 0.into()),
                }));
            }
            "zstd" => {
                let level = configured(codec, "level").cloned().unwrap_or(0.into());
                let mut zstd = json!({ "id": "zstd", "level": level });
                if configured(codec, "checksum") == Some(&Value::Bool(true)) {
                    zstd["checksum"] = true.into();
                }
                self.filters.push(zstd);
            }
            id @ ("gzip" | "vlen-utf8" | "vlen-bytes" | "crc32c" | "zlib" | "bz2" | "shuffle"
            | "fletcher32" | "adler32") => put(id),
            other => match other.strip_prefix("numcodecs.") {
                Some(id) => put(id),
                None => {
                    return Err(format!(
                        "its codec {other:?} has no counterpart in format 2"
                    ));
                }
            },
        }
        Ok(())
    }

    /// Returns whether a reader understands all of it. netCDF-C ignores the order "F" in silence, and needs a plugin for
    /// whatever is not in its own package.
    pub(super) fn is_known_to(&self, reader: Reader) -> bool {
        if reader == Reader::Any {
            return true;
        }
        let mut all = self.filters.iter().chain(Some(&self.compressor));
        let is_known = |codec: &Value| {
            let id = codec.get("id").and_then(Value::as_str);
            let known = ["zlib", "zstd", "blosc", "bz2", "shuffle", "fletcher32"];
            codec.is_null()
                || id.is_some_and(|id| known.contains(&id)) && codec.get("checksum").is_none()
        };
        !self.is_fortran && all.all(is_known)
    }

    /// The level to deflate with instead; `None` where nothing was compressed.
    pub(super) fn level(&self) -> Option<u32> {
        let all = self.filters.iter().chain(Some(&self.compressor));
        let is = |codec: &Value| codec.get("id").and_then(Value::as_str).map(str::to_owned);
        let mut found = None;
        for codec in all {
            match is(codec).as_deref() {
                Some("gzip" | "zlib") => {
                    let level = codec.get("level").and_then(Value::as_u64);
                    return Some(level.map_or(1, |level| level.min(9) as u32));
                }
                Some("vlen-utf8" | "vlen-bytes") | None => {}
                // Checksums and the like are left out with them.
                Some(_) => found = Some(1),
            }
        }
        found
    }
}

fn is_array_filter(id: &str) -> bool {
    matches!(
        id,
        "delta" | "fixedscaleoffset" | "quantize" | "bitround" | "packbits" | "astype"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_become_filters_and_a_compressor() {
        let codecs = json!([
            { "name": "transpose", "configuration": { "order": [1, 0] } },
            { "name": "bytes", "configuration": { "endian": "big" } },
            { "name": "numcodecs.shuffle", "configuration": { "elementsize": 4 } },
            { "name": "numcodecs.zlib", "configuration": { "level": 3 } },
        ]);
        let chain = Chain::of(codecs.as_array().expect("a list"), 2).expect("known");
        assert!(chain.is_fortran && chain.is_big);
        assert_eq!(
            chain.filters,
            [json!({ "elementsize": 4, "id": "shuffle" })]
        );
        assert_eq!(chain.compressor, json!({ "level": 3, "id": "zlib" }));
        assert!(chain.is_known_to(Reader::Any) && !chain.is_known_to(Reader::NetCdf));
        assert_eq!(chain.level(), Some(3));
    }

    #[test]
    fn what_makes_bytes_of_elements_is_a_filter() {
        let codecs = json!(["vlen-utf8"]);
        let chain = Chain::of(codecs.as_array().expect("a list"), 1).expect("known");
        assert_eq!(chain.filters, [json!({ "id": "vlen-utf8" })]);
        assert_eq!(
            (chain.compressor.clone(), chain.level()),
            (Value::Null, None)
        );
        let codecs = json!(["numcodecs.delta", "bytes"]);
        let chain = Chain::of(codecs.as_array().expect("a list"), 1).expect("known");
        assert_eq!(chain.compressor, Value::Null);
    }

    #[test]
    fn an_order_is_that_before_all_filters() {
        let transpose = json!({ "name": "transpose", "configuration": { "order": [1, 0] } });
        let chain = |codecs: Value| Chain::of(codecs.as_array().expect("a list"), 2);
        let twice = chain(json!([transpose, transpose, "bytes"])).expect("known");
        assert!(!twice.is_fortran);
        let first = chain(json!([transpose, "numcodecs.delta", "bytes"])).expect("known");
        assert!(first.is_fortran);
        assert!(chain(json!(["numcodecs.delta", transpose, "bytes"])).is_err());
    }

    #[test]
    fn what_has_no_word_is_named() {
        for codecs in [
            json!([{ "name": "transpose", "configuration": { "order": [0, 2, 1] } }, "bytes"]),
            json!(["bytes", "made-up"]),
        ] {
            assert!(Chain::of(codecs.as_array().expect("a list"), 3).is_err());
        }
    }
}
