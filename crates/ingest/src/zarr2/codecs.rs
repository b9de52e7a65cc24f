//! Filters and compressors as a chain of codecs.
//!
//! ```text
//! format 2   order, filters in turn, compressor
//! format 3   transpose, array → array, one array → bytes, bytes → bytes
//! ```

use serde_json::{Map, Value, json};

use super::data_type::{DataType, Element};

/// A chain in the making.
struct Chain {
    codecs: Vec<Value>,
    /// The elements that come out of the last filter; `None` once they are bytes.
    elements: Option<DataType>,
    /// Bytes of an element of the array.
    element_bytes: u64,
}

/// Returns the codecs of an array of format 2, and its `data_type`.
pub(super) fn codecs(
    fields: &Map<String, Value>,
    kind: &DataType,
    rank: usize,
) -> Result<(Vec<Value>, Value), String> {
    let mut chain = Chain {
        codecs: Vec::new(),
        elements: Some(kind.clone()),
        element_bytes: kind.bytes(),
    };
    match fields.get("order").and_then(Value::as_str) {
        Some("F") if rank > 1 => {
            let order: Vec<usize> = (0..rank).rev().collect();
            chain.push("transpose", json!({ "order": order }));
        }
        Some("C" | "F") | None => {}
        Some(other) => return Err(format!("its order {other:?} is neither \"C\" nor \"F\"")),
    }
    let filters = match fields.get("filters") {
        None | Some(Value::Null) => &[],
        Some(Value::Array(filters)) => filters.as_slice(),
        Some(other) => return Err(format!("its filters {other} are no list")),
    };
    let compressor = fields.get("compressor").filter(|one| !one.is_null());
    for codec in filters.iter().chain(compressor) {
        chain.add(codec)?;
    }
    chain.end_elements()?;
    let data_type = match kind.element {
        Element::Object => object_type(&chain.codecs),
        _ => kind.document(),
    };
    Ok((chain.codecs, data_type))
}

fn object_type(codecs: &[Value]) -> Value {
    let is_bytes = |codec: &Value| codec.get("name").and_then(Value::as_str) == Some("vlen-bytes");
    match codecs.iter().any(is_bytes) {
        true => "variable_length_bytes".into(),
        false => "string".into(),
    }
}

impl Chain {
    fn push(&mut self, name: &str, configuration: Value) {
        self.codecs
            .push(json!({ "name": name, "configuration": configuration }));
    }

    fn add(&mut self, codec: &Value) -> Result<(), String> {
        let fields = codec.as_object();
        let id = fields
            .and_then(|fields| fields.get("id"))
            .and_then(Value::as_str);
        let (Some(fields), Some(id)) = (fields, id) else {
            return Err(format!("its filter or compressor {codec} has no id"));
        };
        let mut configuration = fields.clone();
        configuration.remove("id");
        match id {
            "delta" | "fixedscaleoffset" | "quantize" | "bitround" | "packbits" | "astype" => {
                self.add_array_filter(id, configuration)
            }
            "vlen-utf8" | "vlen-bytes" | "vlen-array" | "zfpy" | "pcodec" => {
                self.add_array_to_bytes(id, configuration)
            }
            "blosc" | "gzip" | "zstd" | "zlib" | "lz4" | "bz2" | "lzma" | "shuffle" | "crc32"
            | "crc32c" | "adler32" | "fletcher32" | "jenkins_lookup3" => {
                self.end_elements()?;
                let (name, configuration) = compressor(id, configuration, self.element_bytes)?;
                self.push(&name, configuration);
                Ok(())
            }
            other => Err(format!(
                "its filter or compressor {other:?} has no counterpart in Zarr format 3"
            )),
        }
    }

    /// The elements before the next filter, which needs elements.
    fn elements(&self, id: &str) -> Result<&DataType, String> {
        self.elements.as_ref().ok_or_else(|| {
            format!("its filter {id:?} comes after one that makes bytes, which no codecs can do")
        })
    }

    fn add_array_filter(
        &mut self,
        id: &str,
        configuration: Map<String, Value>,
    ) -> Result<(), String> {
        let before = self.elements(id)?.clone();
        let named = |field: &str| match configuration.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => DataType::of_text(text)
                .map(Some)
                .ok_or_else(|| format!("its filter {id:?} has the {field} {text:?}")),
            Some(other) => Err(format!("its filter {id:?} has the {field} {other}")),
        };
        let after = match id {
            "delta" | "fixedscaleoffset" => named("astype")?.or(named("dtype")?).unwrap_or(before),
            "astype" => named("encode_dtype")?
                .ok_or_else(|| "its filter \"astype\" lacks the encode_dtype".to_owned())?,
            "packbits" => DataType {
                element: Element::UInt(1),
                is_big: false,
            },
            "quantize" => {
                // The codec of format 3 keeps the type.
                let after = named("astype")?
                    .or(named("dtype")?)
                    .unwrap_or_else(|| before.clone());
                if after.element != before.element {
                    return Err("its filter \"quantize\" changes the type, which its codec in format 3 cannot do".to_owned());
                }
                after
            }
            _ => before,
        };
        self.elements = Some(after);
        self.push(&format!("numcodecs.{id}"), Value::Object(configuration));
        Ok(())
    }

    fn add_array_to_bytes(
        &mut self,
        id: &str,
        configuration: Map<String, Value>,
    ) -> Result<(), String> {
        let is_object = self.elements(id)?.element == Element::Object;
        match (id, is_object) {
            ("vlen-utf8" | "vlen-bytes", true) => self.push(id, json!({})),
            ("zfpy" | "pcodec", false) => {
                self.push(&format!("numcodecs.{id}"), Value::Object(configuration));
            }
            ("vlen-array", _) => {
                return Err(
                    "its elements are arrays themselves, which Zarr format 3 does not have"
                        .to_owned(),
                );
            }
            _ => {
                return Err(format!(
                    "its filter {id:?} is not one for elements of its type"
                ));
            }
        }
        self.elements = None;
        Ok(())
    }

    /// Makes bytes of the elements, if they are none yet.
    fn end_elements(&mut self) -> Result<(), String> {
        match self.elements.take() {
            None => Ok(()),
            Some(kind) if kind.element == Element::Object => Err(
                "its elements are Python objects, and no filter says how they are stored"
                    .to_owned(),
            ),
            Some(kind) => {
                self.codecs.push(kind.bytes_codec());
                Ok(())
            }
        }
    }
}

/// A codec from bytes to bytes: its name and configuration.
fn compressor(
    id: &str,
    configuration: Map<String, Value>,
    element_bytes: u64,
) -> Result<(String, Value), String> {
    let number = |field: &str, default: i64| match configuration.get(field) {
        None | Some(Value::Null) => Ok(default),
        Some(value) => value
            .as_i64()
            .ok_or_else(|| format!("its compressor {id:?} has the {field} {value}")),
    };
    Ok(match id {
        "gzip" => (id.to_owned(), json!({ "level": number("level", 1)? })),
        "zstd" => {
            let checksum = configuration.get("checksum") == Some(&Value::Bool(true));
            (
                id.to_owned(),
                json!({ "level": number("level", 0)?, "checksum": checksum }),
            )
        }
        "blosc" => {
            let cname = configuration
                .get("cname")
                .and_then(Value::as_str)
                .unwrap_or("lz4");
            if !["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"].contains(&cname) {
                return Err(format!("its compressor \"blosc\" has the cname {cname:?}"));
            }
            let shuffle = match number("shuffle", 1)? {
                0 => "noshuffle",
                1 => "shuffle",
                2 => "bitshuffle",
                // Chosen by the size of the elements.
                -1 if element_bytes == 1 => "bitshuffle",
                -1 => "shuffle",
                other => return Err(format!("its compressor \"blosc\" has the shuffle {other}")),
            };
            let configuration = json!({
                "typesize": element_bytes.clamp(1, 255),
                "cname": cname,
                "clevel": number("clevel", 5)?,
                "shuffle": shuffle,
                "blocksize": number("blocksize", 0)?,
            });
            (id.to_owned(), configuration)
        }
        // At the end, as in format 3.
        "crc32c" if configuration.get("location").is_none_or(|it| it == "end") => {
            ("crc32c".to_owned(), json!({}))
        }
        "shuffle" if number("elementsize", 4)? == 0 => {
            // netCDF-C means the size of the array's elements.
            (
                "numcodecs.shuffle".to_owned(),
                json!({ "elementsize": element_bytes.max(1) }),
            )
        }
        other => (format!("numcodecs.{other}"), Value::Object(configuration)),
    })
}
