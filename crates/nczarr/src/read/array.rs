//! One array: its document as Zarr has it, and what netCDF makes of it.

use serde_json::{Map, Value, json};

use super::attributes::FILL_VALUE;
use super::tree::{Opened, Tree, is_swappable, key};
use crate::{
    Attribute, DataType, Endian, Fill, Filter, Generation, NczarrError, Storage, Values, Variable,
    base64, dtype, json as values,
};

impl Tree<'_> {
    pub(super) fn variable(
        &self,
        path: &str,
        opened: &mut Opened,
    ) -> Result<Variable, NczarrError> {
        let name = key(path, ".zarray");
        let refuse = |problem: String| NczarrError::new(name.clone(), problem);
        let found = self.document(path, ".zarray")?;
        let mut document = found.cloned().unwrap_or_default();
        document.remove(self.names.array);
        let written = document.get("dtype").and_then(Value::as_str);
        let written = written.ok_or_else(|| refuse("its dtype is not a text".to_owned()))?;
        let written = written.to_owned();
        let (data_type, mut endian) = dtype::of_array(&written).ok_or_else(|| {
            let problem = "netCDF has no such type; import the tree as plain Zarr (#mode=zarr)";
            refuse(format!("its dtype is {written:?}: {problem}"))
        })?;
        let is_swapped = self.swaps && is_swappable(&written);
        if is_swapped && self.options.has_legacy_endian {
            endian = Endian::Little;
            document.insert("dtype".to_owned(), written.replace('>', "<").into());
        } else if is_swapped {
            opened.suspects.push(path.to_owned());
        }
        if data_type == DataType::Char {
            // Of `<U1`, too, netCDF-C stores one byte an element.
            document.insert("dtype".to_owned(), "|S1".into());
        }
        if self.is_scalar(path, &document)? {
            document.insert("shape".to_owned(), json!([]));
            document.insert("chunks".to_owned(), json!([]));
        }
        fix_shuffle(&mut document, data_type);
        let attributes = self.attributes(path, Some(data_type))?;
        let fill = self.fill(&mut document, data_type, &attributes);
        let fill = fill.map_err(refuse)?;
        let storage = storage(&document, endian).map_err(refuse)?;
        opened.arrays.insert(path.to_owned(), document.into());
        Ok(Variable {
            name: path.rsplit('/').next().unwrap_or_default().to_owned(),
            data_type,
            dimensions: Vec::new(),
            attributes,
            fill,
            storage,
        })
    }

    /// netCDF-C stores a scalar as an array of one element.
    fn is_scalar(&self, path: &str, document: &Map<String, Value>) -> Result<bool, NczarrError> {
        if document.get("shape") != Some(&json!([1])) {
            return Ok(false);
        }
        let Some(record) = self.record(path, false)? else {
            return self.is_scalar_by_name(path);
        };
        let flag = record.get("scalar");
        let by_flag = flag.is_some_and(|flag| *flag != 0 && *flag != Value::Bool(false));
        Ok(by_flag || record.get("storage").and_then(Value::as_str) == Some("scalar"))
    }

    /// The value that unwritten elements read as; in the document it becomes what Zarr has there.
    fn fill(
        &self,
        document: &mut Map<String, Value>,
        data_type: DataType,
        attributes: &[Attribute],
    ) -> Result<Fill, String> {
        let stored = document.get("fill_value").cloned();
        let set = attributes.iter().find(|it| it.name == FILL_VALUE);
        let set = set.map(|attribute| attribute.values.clone());
        let set = set.filter(|set| set.data_type() == data_type);
        let stored = match stored {
            // The first releases wrote none.
            None if self.generation != Generation::Pure => {
                let default = data_type.default_fill();
                let json = in_document(set.as_ref().unwrap_or(&default));
                document.insert("fill_value".to_owned(), json);
                return Ok(set.map_or(Fill::Default, Fill::Value));
            }
            None | Some(Value::Null) => return Ok(Fill::Off),
            Some(stored) => stored,
        };
        let value = match data_type {
            DataType::Char | DataType::String => self.text_fill(&stored, data_type)?,
            _ => values::typed(&stored, data_type)
                .map_err(|problem| format!("its fill_value: {problem}"))?,
        };
        document.insert("fill_value".to_owned(), in_document(&value));
        Ok(match set {
            Some(set) => Fill::Value(set),
            None if value == data_type.default_fill() => Fill::Default,
            None => Fill::Value(value),
        })
    }

    /// netCDF-C writes a text as it is, Zarr in base64, which never has the length of a single char.
    fn text_fill(&self, stored: &Value, data_type: DataType) -> Result<Values, String> {
        let text = match stored {
            Value::String(text) => text.as_str(),
            Value::Number(number) if number.as_f64() == Some(0.0) => "",
            other => return Err(format!("its fill_value {other} is no text")),
        };
        let bytes = match self.generation {
            Generation::Pure if text.len() > 1 => base64::decoded(text)
                .ok_or_else(|| format!("its fill_value {text:?} is no base64"))?,
            _ => text.as_bytes().to_vec(),
        };
        Ok(match data_type {
            DataType::Char => Values::Char(vec![bytes.first().copied().unwrap_or(0)]),
            _ => Values::String(vec![
                String::from_utf8_lossy(&bytes)
                    .trim_end_matches('\0')
                    .to_owned(),
            ]),
        })
    }
}

/// A fill value as Zarr format 2 has it: chars and strings in base64.
fn in_document(value: &Values) -> Value {
    match value {
        Values::Char(bytes) if bytes == &[0] => "".into(),
        Values::Char(bytes) => base64::encoded(bytes).into(),
        Values::String(texts) => {
            let text = texts.first().map_or("", String::as_str);
            base64::encoded(text.as_bytes()).into()
        }
        numbers => values::written(numbers),
    }
}

/// netCDF-C writes an element size of 0 for "that of the array".
fn fix_shuffle(document: &mut Map<String, Value>, data_type: DataType) {
    let bytes = data_type.bytes().unwrap_or(1);
    let fix = |codec: &mut Value| {
        let is_shuffle = codec.get("id").and_then(Value::as_str) == Some("shuffle");
        if is_shuffle && codec.get("elementsize").and_then(Value::as_u64) == Some(0) {
            codec["elementsize"] = bytes.into();
        }
    };
    if let Some(Value::Array(filters)) = document.get_mut("filters") {
        filters.iter_mut().for_each(fix);
    }
    if let Some(compressor) = document.get_mut("compressor") {
        fix(compressor);
    }
}

fn storage(document: &Map<String, Value>, endian: Endian) -> Result<Storage, String> {
    let chunks = document.get("chunks").and_then(Value::as_array);
    let chunks: Option<Vec<u64>> = chunks.and_then(|list| list.iter().map(Value::as_u64).collect());
    let filters = document.get("filters").and_then(Value::as_array);
    let compressor = document.get("compressor").filter(|it| !it.is_null());
    Ok(Storage {
        chunk_shape: chunks.ok_or("its chunks are no list of lengths")?,
        endian,
        filters: filters
            .into_iter()
            .flatten()
            .chain(compressor)
            .map(filter)
            .collect(),
    })
}

/// A filter of Zarr format 2 in netCDF's terms.
pub(crate) fn filter(codec: &Value) -> Filter {
    let level = |default: i64| {
        codec
            .get("level")
            .and_then(Value::as_i64)
            .unwrap_or(default)
    };
    let within = |level: i64| u32::try_from(level.clamp(0, 9)).unwrap_or(0);
    match codec.get("id").and_then(Value::as_str) {
        Some("zlib") => Filter::Deflate(within(level(1))),
        Some("shuffle") => Filter::Shuffle,
        Some("fletcher32") => Filter::Fletcher32,
        Some("zstd") => Filter::Zstandard(i32::try_from(level(0)).unwrap_or(0)),
        Some("bz2") => Filter::Bzip2(within(level(1))),
        _ => Filter::Other(codec.clone()),
    }
}
