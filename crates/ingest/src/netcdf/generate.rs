//! Datasets as archives, to be imported: documents and chunks made of values.

use std::collections::BTreeMap;

use bytes::Bytes;
use icefield_core::{ChunkIndex, NodePath};
use icefield_nczarr::cdl::{Data, Document};
use icefield_nczarr::{DataType, Dataset, Endian, Filter, Values, Variable, write_zarr3};
use icefield_zarr_store::{ChunkCodec, Elements};
use serde_json::{Value, json};

use super::NetcdfError;
use crate::archive::values::{base64_text, number};
use crate::archive::{Archive, ArchiveArray, ArchiveChunks, ArchiveNode, pieces};
use crate::regions::{Region, chunk_index, places, product};

/// Most bytes of a chunk that is made, decoded.
const MAX_CHUNK: u64 = 1 << 30;
/// Elements of a chunk along an unlimited dimension for which the text sets no chunk length.
const RECORDS: u64 = 1024;
/// The reason why these chunks cannot be referred to.
const REASON: &str = "its values are in a text";

/// Makes an archive of a dataset in CDL. What the text gives no value for reads as the fill value.
///
/// # Errors
/// [`NetcdfError::Variable`] for chunks of more than 1 GiB, and filters that are not known.
pub fn archive_of_cdl(document: &Document) -> Result<Archive, NetcdfError> {
    let dataset = &document.dataset;
    let mut archive = Archive::default();
    for (path, node) in write_zarr3(dataset, &BTreeMap::new())? {
        let refuse = |problem: String| NetcdfError::Variable {
            path: path.clone(),
            problem,
        };
        let parsed = NodePath::parse(&path).map_err(|rule| refuse(rule.to_string()))?;
        let Some(variable) = dataset.variable(&path) else {
            let group = ArchiveNode::Group(node.attributes);
            archive.nodes.insert(parsed, group);
            continue;
        };
        let mut array = array(dataset, variable)?;
        array.attributes = node.attributes;
        array.dimension_names = node.dimension_names.into_iter().map(Some).collect();
        let data = document.data.iter().find(|data| data.path == path);
        if let Some(data) = data {
            array.chunks = ArchiveChunks::Made {
                chunks: chunks(&array, data).map_err(refuse)?,
                reason: REASON.to_owned(),
            };
        }
        let array = ArchiveNode::Array(Box::new(array));
        archive.nodes.insert(parsed, array);
    }
    Ok(archive)
}

/// Describes an array that has no chunks yet.
fn array(dataset: &Dataset, variable: &Variable) -> Result<ArchiveArray, NetcdfError> {
    let shape = dataset.shape(variable)?;
    let width = variable.data_type.bytes().unwrap_or(64) as u64;
    let chosen = &variable.storage.chunk_shape;
    let mut chunk_shape = match chosen.len() == shape.len() {
        true => chosen.clone(),
        false => pieces(&shape, width),
    };
    let is_unlimited = |at: usize| {
        let path = variable.dimensions.get(at);
        path.and_then(|path| dataset.dimension(path))
            .is_some_and(|it| it.is_unlimited)
    };
    if chosen.is_empty() && shape.len() == 1 && is_unlimited(0) {
        chunk_shape = vec![shape[0].clamp(RECORDS, RECORDS * RECORDS)];
    }
    chunk_shape
        .iter_mut()
        .for_each(|length| *length = (*length).max(1));
    Ok(ArchiveArray {
        data_type: data_type(variable.data_type),
        fill_value: fill_value(variable),
        codecs: codecs(variable),
        dimension_names: Vec::new(),
        attributes: serde_json::Map::new(),
        chunks: ArchiveChunks::Made {
            chunks: Vec::new(),
            reason: REASON.to_owned(),
        },
        shape,
        chunk_shape,
    })
}

fn data_type(data_type: DataType) -> Value {
    match data_type {
        DataType::Byte => "int8".into(),
        DataType::UByte => "uint8".into(),
        DataType::Short => "int16".into(),
        DataType::UShort => "uint16".into(),
        DataType::Int => "int32".into(),
        DataType::UInt => "uint32".into(),
        DataType::Int64 => "int64".into(),
        DataType::UInt64 => "uint64".into(),
        DataType::Float => "float32".into(),
        DataType::Double => "float64".into(),
        DataType::Char => {
            json!({ "name": "null_terminated_bytes", "configuration": { "length_bytes": 1 } })
        }
        DataType::String => "string".into(),
    }
}

fn fill_value(variable: &Variable) -> Value {
    let value = variable.fill_value();
    // Zarr has to know one.
    let value = value.unwrap_or_else(|| variable.data_type.default_fill());
    match value {
        Values::Byte(it) => it.first().copied().into(),
        Values::UByte(it) => it.first().copied().into(),
        Values::Short(it) => it.first().copied().into(),
        Values::UShort(it) => it.first().copied().into(),
        Values::Int(it) => it.first().copied().into(),
        Values::UInt(it) => it.first().copied().into(),
        Values::Int64(it) => it.first().copied().into(),
        Values::UInt64(it) => it.first().copied().into(),
        Values::Float(it) => number(f64::from(it.first().copied().unwrap_or_default())),
        Values::Double(it) => number(it.first().copied().unwrap_or_default()),
        Values::Char(bytes) if bytes == [0] => "".into(),
        Values::Char(bytes) => base64_text(&bytes).into(),
        Values::String(texts) => texts.first().cloned().unwrap_or_default().into(),
    }
}

fn codecs(variable: &Variable) -> Vec<Value> {
    let endian = match variable.storage.endian {
        Endian::Little => "little",
        Endian::Big => "big",
    };
    let width = variable.data_type.bytes();
    let mut codecs = vec![match width {
        None => json!({ "name": "vlen-utf8" }),
        Some(1) => json!({ "name": "bytes" }),
        Some(_) => json!({ "name": "bytes", "configuration": { "endian": endian } }),
    }];
    let named =
        |name: &str, configuration: Value| json!({ "name": name, "configuration": configuration });
    for filter in &variable.storage.filters {
        codecs.push(match filter {
            Filter::Deflate(level) => named("numcodecs.zlib", json!({ "level": level })),
            Filter::Shuffle => named(
                "numcodecs.shuffle",
                json!({ "elementsize": width.unwrap_or(1) }),
            ),
            Filter::Fletcher32 => named("numcodecs.fletcher32", json!({})),
            Filter::Zstandard(level) => named("zstd", json!({ "level": level, "checksum": false })),
            Filter::Bzip2(level) => named("numcodecs.bz2", json!({ "level": level })),
            Filter::Other(codec) => other(codec),
        });
    }
    codecs
}

/// The codec of a configuration of format 2, or one that is named as in format 3 already.
fn other(codec: &Value) -> Value {
    let id = codec.get("id").and_then(Value::as_str);
    let (Some(id), Some(fields)) = (id, codec.as_object()) else {
        return codec.clone();
    };
    let mut fields = fields.clone();
    fields.remove("id");
    let name = match id {
        "gzip" | "crc32c" => id.to_owned(),
        other => format!("numcodecs.{other}"),
    };
    json!({ "name": name, "configuration": fields })
}

/// Cuts the values of a variable into chunks; those behind the last value that was given are not made.
fn chunks(array: &ArchiveArray, data: &Data) -> Result<Vec<(ChunkIndex, Bytes)>, String> {
    let width = array.element_bytes().unwrap_or(24) as u64;
    let bytes = array
        .chunk_shape
        .iter()
        .fold(width, |all, one| all.saturating_mul(*one));
    if bytes > MAX_CHUNK {
        return Err("its chunks have more than 1 GiB: choose smaller _ChunkSizes".to_owned());
    }
    let end = data.given().last().map_or(0, |range| range.end);
    let row = product(array.shape.get(1..).unwrap_or_default());
    let codecs = Value::Array(array.codecs.clone());
    let codec = ChunkCodec::of(
        &codecs,
        &array.data_type,
        &array.fill_value,
        &array.chunk_shape,
    )?;
    let mut made = Vec::new();
    for place in places(&array.grid()) {
        let start = Region::of_chunk(&place, &array.chunk_shape).start;
        if start.first().map_or(0, |first| first.saturating_mul(row)) >= end {
            break;
        }
        let first = start.iter().zip(&array.shape);
        let first = first.fold(0_u64, |all, (at, length)| {
            all.saturating_mul(*length).saturating_add(*at)
        });
        if first >= end {
            continue;
        }
        let values = data.block(&array.shape, &start, &array.chunk_shape);
        let index = ChunkIndex::from(chunk_index(&place));
        made.push((index, codec.encode(elements(values))?.into()));
    }
    Ok(made)
}

fn elements(values: Values) -> Elements {
    fn fixed<T, const N: usize>(list: &[T], bytes: impl Fn(&T) -> [u8; N]) -> Elements {
        Elements::Fixed(list.iter().flat_map(bytes).collect())
    }
    match values {
        Values::Byte(list) => fixed(&list, |it| it.to_le_bytes()),
        Values::Short(list) => fixed(&list, |it| it.to_le_bytes()),
        Values::UShort(list) => fixed(&list, |it| it.to_le_bytes()),
        Values::Int(list) => fixed(&list, |it| it.to_le_bytes()),
        Values::UInt(list) => fixed(&list, |it| it.to_le_bytes()),
        Values::Int64(list) => fixed(&list, |it| it.to_le_bytes()),
        Values::UInt64(list) => fixed(&list, |it| it.to_le_bytes()),
        Values::Float(list) => fixed(&list, |it| it.to_le_bytes()),
        Values::Double(list) => fixed(&list, |it| it.to_le_bytes()),
        Values::UByte(list) | Values::Char(list) => Elements::Fixed(list),
        Values::String(list) => {
            Elements::Variable(list.into_iter().map(String::into_bytes).collect())
        }
    }
}
