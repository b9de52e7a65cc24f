//! The document of an array with another layout of its chunks.

use bytes::Bytes;
use icefield_core::{ArrayMetadata, NodePath};
use serde_json::{Value, json};

use super::compression::Compression;
use super::error::LayoutError;
use super::layout::{ChunkLayout, ChunkLength, Shards};
use crate::document::with_members;

/// Codecs that make bytes of elements. What stands behind them compresses, or sums.
const MAKE_BYTES: [&str; 12] = [
    "bytes",
    "vlen-utf8",
    "vlen-bytes",
    "vlen-array",
    "packbits",
    "pcodec",
    "zfp",
    "numcodecs.pcodec",
    "numcodecs.zfpy",
    "numcodecs.vlen-utf8",
    "numcodecs.vlen-bytes",
    "optional",
];

const SHARDS: &str = "sharding_indexed";

/// The chunks of an array as its document describes them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Described {
    /// Elements of a chunk per dimension; inside of shards, if there are any.
    pub(crate) chunks: Vec<u64>,
    /// Elements of a shard.
    pub(crate) shards: Option<Vec<u64>>,
    /// The codecs of a chunk.
    pub(crate) codecs: Vec<Value>,
    /// The codec of shards.
    sharding: Option<Value>,
}

impl Described {
    /// Reads a document.
    ///
    /// # Errors
    /// The part that is not understood.
    pub(crate) fn of(document: &Value) -> Result<Self, String> {
        let lengths = |value: Option<&Value>| -> Option<Vec<u64>> {
            value?.as_array()?.iter().map(Value::as_u64).collect()
        };
        let refused = "its chunks have a length of 0";
        let grid = lengths(document.pointer("/chunk_grid/configuration/chunk_shape"))
            .ok_or("its chunk_grid has no chunk_shape")?;
        if grid.contains(&0) {
            return Err(refused.to_owned());
        }
        let codecs = document["codecs"].as_array().cloned().unwrap_or_default();
        let at = codecs.iter().position(|codec| name(codec) == SHARDS);
        let Some(at) = at else {
            return Ok(Self {
                chunks: grid,
                shards: None,
                codecs,
                sharding: None,
            });
        };
        if codecs.len() > 1 {
            return Err("it has other codecs beside the one of its shards".to_owned());
        }
        let sharding = codecs[at].clone();
        let chunks = lengths(sharding.pointer("/configuration/chunk_shape"));
        let chunks = chunks.filter(|chunks| chunks.len() == grid.len());
        let inner = sharding
            .pointer("/configuration/codecs")
            .and_then(Value::as_array);
        match (chunks, inner) {
            (Some(chunks), Some(_)) if chunks.contains(&0) => Err(refused.to_owned()),
            (Some(chunks), Some(inner)) => Ok(Self {
                chunks,
                shards: Some(grid),
                codecs: inner.clone(),
                sharding: Some(sharding),
            }),
            _ => Err("the codec of its shards is not understood".to_owned()),
        }
    }

    /// Returns the names of the codecs, the one of shards first.
    pub(crate) fn codec_names(&self) -> Vec<String> {
        let shards = self.shards.iter().map(|_| SHARDS.to_owned());
        shards
            .chain(self.codecs.iter().map(|it| name(it).to_owned()))
            .collect()
    }

    fn grid(&self) -> &[u64] {
        self.shards.as_ref().unwrap_or(&self.chunks)
    }

    /// The member `codecs` of a document.
    fn all_codecs(&self) -> Value {
        if self.shards.is_none() {
            return Value::Array(self.codecs.clone());
        }
        let usual = || {
            let bytes = json!({ "name": "bytes", "configuration": { "endian": "little" } });
            json!({
                "name": SHARDS,
                "configuration": { "index_codecs": [bytes, { "name": "crc32c" }], "index_location": "end" },
            })
        };
        let mut sharding = self.sharding.clone().unwrap_or_else(usual);
        sharding["configuration"]["chunk_shape"] = json!(self.chunks);
        sharding["configuration"]["codecs"] = Value::Array(self.codecs.clone());
        json!([sharding])
    }
}

fn name(codec: &Value) -> &str {
    let name = codec.as_str().or_else(|| codec["name"].as_str());
    name.unwrap_or_default()
}

/// Returns the document of an array of numbers with another type of so many bytes. Codecs that were set for the type it had are
/// set for this one, and filters of elements are left out; its fill value and attributes stay.
pub(crate) fn of_another_type(document: &Value, (data_type, bytes): (&str, usize)) -> Value {
    let mut changed = document.clone();
    changed["data_type"] = data_type.into();
    if let Ok(mut described) = Described::of(document) {
        described.codecs = fitted(&described.codecs, bytes);
        changed["codecs"] = described.all_codecs();
    }
    changed
}

fn fitted(codecs: &[Value], bytes: usize) -> Vec<Value> {
    let little = || json!({ "name": "bytes", "configuration": { "endian": "little" } });
    let mut of_bytes = false;
    let fitted = codecs.iter().filter_map(|codec| {
        let makes_bytes = MAKE_BYTES.contains(&name(codec));
        let is_before = !of_bytes;
        of_bytes |= makes_bytes;
        let has_order = codec.pointer("/configuration/endian").is_some();
        match (makes_bytes, is_before) {
            (true, _) if has_order => Some(codec.clone()),
            (true, _) => Some(little()),
            (false, true) => (name(codec) == "transpose").then(|| codec.clone()),
            (false, false) => {
                let mut codec = codec.clone();
                for size in ["/configuration/elementsize", "/configuration/typesize"] {
                    if let Some(size) = codec.pointer_mut(size) {
                        *size = bytes.into();
                    }
                }
                Some(codec)
            }
        }
    });
    fitted.collect()
}

/// Returns the document of an array with the layout; `None` if that is the one it has. Of dimensions the array lacks, nothing is
/// said here.
///
/// # Errors
/// The rule that the layout would break.
pub(crate) fn applied(
    layout: &ChunkLayout,
    (path, array): (&NodePath, &ArrayMetadata),
    document: &Bytes,
) -> Result<Option<Bytes>, LayoutError> {
    let unsupported = |reason: String| LayoutError::Unsupported {
        path: path.clone(),
        reason,
    };
    let names = names(array);
    if !concerns(layout, &names) {
        return Ok(None);
    }
    let parsed: Value =
        serde_json::from_slice(document).map_err(|error| unsupported(error.to_string()))?;
    let before = Described::of(&parsed).map_err(unsupported)?;
    let mut after = before.clone();
    for (dimension, _, _) in layout.lengths() {
        if names.iter().filter(|name| *name == dimension).count() > 1 {
            return Err(LayoutError::DimensionTwice {
                path: path.clone(),
                dimension: dimension.to_owned(),
            });
        }
    }
    for (axis, chunk) in after.chunks.iter_mut().enumerate() {
        if let Some(length) = layout.chunks.get(&names[axis]) {
            *chunk = length.elements(array.shape[axis]);
        }
    }
    match &layout.shards {
        Shards::Kept => {}
        Shards::None => after.shards = None,
        Shards::Of(lengths) if names.iter().all(|name| !lengths.contains_key(name)) => {}
        Shards::Of(lengths) => {
            let mut shards = after.shards.unwrap_or_else(|| after.chunks.clone());
            for (axis, shard) in shards.iter_mut().enumerate() {
                if let Some(length) = lengths.get(&names[axis]) {
                    *shard = match length {
                        // The last chunk is stored whole.
                        ChunkLength::Whole => {
                            let (whole, chunk) = (array.shape[axis].max(1), after.chunks[axis]);
                            let multiple = whole.checked_next_multiple_of(chunk.max(1));
                            multiple.ok_or_else(|| LayoutError::NoShardAsLong {
                                path: path.clone(),
                                dimension: names[axis].clone(),
                                length: whole,
                                chunk,
                            })?
                        }
                        length => length.elements(array.shape[axis]),
                    };
                }
            }
            after.shards = Some(shards);
        }
    }
    for (dimension, length, of) in layout.lengths() {
        if length == ChunkLength::Elements(0) && names.iter().any(|it| it == dimension) {
            return Err(LayoutError::Zero {
                path: path.clone(),
                dimension: dimension.to_owned(),
                of,
            });
        }
    }
    for (axis, shard) in after.shards.iter().flatten().enumerate() {
        if shard % after.chunks[axis] != 0 {
            return Err(LayoutError::NoMultiple {
                path: path.clone(),
                dimension: names[axis].clone(),
                shard: *shard,
                chunk: after.chunks[axis],
            });
        }
    }
    for (axis, chunk) in after.grid().iter().enumerate() {
        let chunks = array.shape[axis].div_ceil(*chunk);
        if u32::try_from(chunks).is_err() {
            return Err(LayoutError::TooMany {
                path: path.clone(),
                dimension: names[axis].clone(),
                chunks,
            });
        }
    }
    let width = icefield_zarr_store::element_bytes(&parsed["data_type"]);
    if let Some(codecs) = layout.compression.codecs(width) {
        let makes_bytes = |codec: &Value| MAKE_BYTES.contains(&name(codec));
        let at = after.codecs.iter().position(makes_bytes);
        let at = at.ok_or_else(|| {
            unsupported("none of its codecs is known to make bytes of elements".to_owned())
        })?;
        after.codecs.truncate(at + 1);
        after.codecs.extend(codecs);
    }
    if after == before {
        return Ok(None);
    }
    let grid = json!({
        "name": "regular", "configuration": { "chunk_shape": after.grid() },
    });
    let members = [
        ("chunk_grid", grid.to_string()),
        ("codecs", after.all_codecs().to_string()),
    ];
    let document = with_members(document, &members);
    Ok(Some(
        document.map_err(|error| unsupported(error.to_string()))?,
    ))
}

/// Whether a layout says anything of an array with these dimensions.
fn concerns(layout: &ChunkLayout, names: &[String]) -> bool {
    layout.compression != Compression::Kept
        || layout.shards == Shards::None
        || layout
            .lengths()
            .any(|(dimension, _, _)| names.iter().any(|name| name == dimension))
}

/// The names of dimensions; of one without a name, its number.
fn names(array: &ArrayMetadata) -> Vec<String> {
    let names = array.dimension_names.as_deref().unwrap_or_default();
    let name = |axis: usize| names.get(axis).cloned().flatten();
    let axes = 0..array.shape.len();
    axes.map(|axis| name(axis).unwrap_or_else(|| axis.to_string()))
        .collect()
}

/// Fails if a dimension that the layout names is none of the arrays.
pub(crate) fn check_names<'a>(
    layout: &ChunkLayout,
    path: &NodePath,
    arrays: impl Iterator<Item = &'a ArrayMetadata>,
) -> Result<(), LayoutError> {
    let known: std::collections::BTreeSet<String> = arrays.flat_map(names).collect();
    match layout.lengths().find(|(name, _, _)| !known.contains(*name)) {
        None => Ok(()),
        Some((dimension, _, of)) => Err(LayoutError::NoDimension {
            path: path.clone(),
            dimension: dimension.to_owned(),
            of,
            known: known.into_iter().collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use icefield_core::NodeMetadata;

    use super::*;
    use crate::ChunkLength;

    fn document(shape: &[u64], chunk: &[u64], inner: &[u64], names: Value) -> Value {
        json!({
            "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "int8",
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": chunk } },
            "chunk_key_encoding": { "name": "default" }, "fill_value": 0,
            "codecs": [{ "name": SHARDS, "configuration": {
                "chunk_shape": inner, "codecs": ["bytes"], "index_codecs": ["bytes"],
            } }],
            "dimension_names": names,
        })
    }

    fn laid(layout: &ChunkLayout, document: &Value) -> Result<Option<Bytes>, LayoutError> {
        let bytes = Bytes::from(document.to_string());
        let metadata = NodeMetadata::parse(&bytes).expect("valid");
        let array = metadata.array().expect("an array");
        let path = NodePath::parse("/a").expect("a path");
        applied(layout, (&path, array), &bytes)
    }

    fn along(name: &str, length: ChunkLength) -> BTreeMap<String, ChunkLength> {
        BTreeMap::from([(name.to_owned(), length)])
    }

    #[test]
    fn inner_chunks_without_elements_are_refused() {
        let document = document(&[8, 8], &[4, 4], &[2, 0], json!(["t", "x"]));
        for layout in [
            ChunkLayout::kept().with_chunks(along("t", ChunkLength::Elements(2))),
            ChunkLayout::kept().with_compression(crate::Compression::None),
        ] {
            let error = laid(&layout, &document).expect_err("a length of 0");
            assert!(
                matches!(&error, LayoutError::Unsupported { reason, .. } if reason.contains("length of 0")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_name_of_two_dimensions_is_refused() {
        for (names, name) in [
            (json!(["1", null]), "1"),
            (json!([null, "0"]), "0"),
            (json!(["t", "t"]), "t"),
        ] {
            let document = document(&[8, 8], &[4, 4], &[4, 4], names);
            let length = along(name, ChunkLength::Elements(2));
            let shards = ChunkLayout::kept().with_shards(Shards::Of(length.clone()));
            for layout in [ChunkLayout::kept().with_chunks(length), shards] {
                let error = laid(&layout, &document).expect_err("two dimensions");
                assert!(
                    matches!(&error, LayoutError::DimensionTwice { dimension, .. } if dimension == name),
                    "{error}"
                );
            }
        }
        // The other one has a name of its own.
        let document = document(&[8, 8], &[4, 4], &[4, 4], json!(["1", "x"]));
        let layout = ChunkLayout::kept().with_chunks(along("1", ChunkLength::Elements(2)));
        assert!(laid(&layout, &document).expect("one dimension").is_some());
    }

    #[test]
    fn arrays_without_the_dimension_need_no_regular_grid() {
        let mut document = document(&[8], &[8], &[8], json!(["x"]));
        let time = along("time", ChunkLength::Elements(2));
        let bytes = Bytes::from(document.to_string());
        let metadata = NodeMetadata::parse(&bytes).expect("valid");
        let array = metadata.array().expect("an array");
        document["chunk_grid"] = json!({ "name": "rectilinear", "configuration": {
            "kind": "inline", "chunk_shapes": [[3, 5]],
        } });
        let bytes = Bytes::from(document.to_string());
        let path = NodePath::parse("/a").expect("a path");
        let laid = |layout: &ChunkLayout| applied(layout, (&path, array), &bytes);
        for layout in [
            ChunkLayout::kept().with_chunks(time.clone()),
            ChunkLayout::kept().with_shards(Shards::Of(time.clone())),
        ] {
            assert_eq!(laid(&layout), Ok(None));
        }
        for layout in [
            ChunkLayout::kept().with_chunks(along("x", ChunkLength::Elements(2))),
            ChunkLayout::kept().with_shards(Shards::None),
            ChunkLayout::kept().with_compression(crate::Compression::None),
        ] {
            let error = laid(&layout).expect_err("no chunk_shape");
            assert!(matches!(error, LayoutError::Unsupported { .. }), "{error}");
        }
    }

    #[test]
    fn shards_as_long_as_the_array_may_be_too_long() {
        let most = u64::MAX;
        let document = document(&[most], &[1 << 40], &[1 << 40], json!(["t"]));
        let shards = Shards::Of(along("t", ChunkLength::Whole));
        let error = laid(&ChunkLayout::kept().with_shards(shards), &document);
        let error = error.expect_err("no multiple of the chunk length");
        let expected = LayoutError::NoShardAsLong {
            path: NodePath::parse("/a").expect("a path"),
            dimension: "t".to_owned(),
            length: most,
            chunk: 1 << 40,
        };
        assert_eq!(error, expected);
    }
}
