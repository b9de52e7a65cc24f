//! The parts of a `zarr.json` that the engine must know: group or array, shape, chunk grid. The bytes themselves are
//! stored as they came.

pub(crate) mod document;
mod strict_json;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::grid::within;
use icefield_format::{ChunkGrid, DimensionShape, MAX_RANK, NodeKind, NodePath, SpecVersion};

/// The reason why a document is not the metadata of a Zarr v3 node.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// The document is longer than the limit of the settings.
    #[error("it has {length} bytes, more than the limit of {limit}")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The document is not JSON as the standard defines it. Also refused are `NaN`, a key twice in one object, and too
    /// deep a nesting.
    #[error("it is not valid JSON")]
    Json(#[source] serde_json::Error),
    /// The document is JSON, but breaks a rule of Zarr v3 metadata, which the text names.
    #[error("{0}")]
    Invalid(String),
}

/// The spelling of chunk keys in a plain Zarr store (`chunk_key_encoding` of the Zarr v3 specification). A repository
/// stores chunks by index; the spelling matters for keys that a Zarr library asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkKeyEncoding {
    /// `c`, `c/0/1`; the separator is `/` or `.`.
    Default {
        /// Between the coordinates, and after the `c`.
        separator: char,
    },
    /// `0`, `0.1`; the separator is `.` or `/`.
    V2 {
        /// Between the coordinates.
        separator: char,
    },
}

impl ChunkKeyEncoding {
    /// The only encoding that the reference implementation can read chunks of.
    pub const COMMON: Self = Self::Default { separator: '/' };
}

/// The parts of an array's metadata that the engine uses: its shape and chunk grid. Data type, codecs, fill value and
/// attributes stay in the document.
///
/// ```
/// use icefield_core::NodeMetadata;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let document = br#"{"zarr_format": 3, "node_type": "array", "shape": [5], "data_type": "int8",
///     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
///     "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}"#;
/// let metadata = NodeMetadata::parse(document)?;
/// let array = metadata.array().expect("an array");
/// assert_eq!(array.chunk_counts, [3], "the last chunk is only half inside the array");
/// assert!(array.contains(&[2]) && !array.contains(&[3]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayMetadata {
    /// The number of elements of each dimension. Empty for a scalar.
    pub shape: Vec<u64>,
    /// The number of elements of a chunk along each dimension; for a sharded array, of a shard. Where the chunks of a
    /// dimension have several lengths, the longest of them: only [`grid`](Self::grid) says where such chunks lie.
    pub chunk_shape: Vec<u64>,
    /// The division of the elements into chunks.
    pub grid: ChunkGrid,
    /// The number of chunks along each dimension; zero for a dimension of length zero.
    pub chunk_counts: Vec<u32>,
    /// The names of the dimensions, if the document has them; `null` and empty names are `None`.
    pub dimension_names: Option<Vec<Option<String>>>,
    /// The spelling of the array's chunk keys in a plain Zarr store.
    pub chunk_key_encoding: ChunkKeyEncoding,
}

impl ArrayMetadata {
    /// Returns the number of dimensions; 0 for a scalar.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Returns the dimensions, as a snapshot has them.
    pub(crate) fn dimensions(&self) -> Vec<DimensionShape> {
        let regular = || {
            let axes = self.shape.iter().zip(&self.chunk_shape);
            axes.map(|(length, chunk)| DimensionShape::regular(*length, *chunk))
                .collect()
        };
        // Checked when the document was read.
        let grid = Some(&self.grid).filter(|grid| !grid.is_regular());
        grid.and_then(|grid| grid.dimensions(&self.shape).ok())
            .unwrap_or_else(regular)
    }

    /// Returns whether `index` is a chunk of the grid: one coordinate per dimension, each below its count.
    pub fn contains(&self, index: &[u32]) -> bool {
        within(index, &self.chunk_counts)
    }
}

/// The parts of a node's metadata that the engine uses.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeMetadata {
    /// A group.
    Group,
    /// An array.
    Array(ArrayMetadata),
}

impl NodeMetadata {
    /// Reads a document that is about to be stored, strictly: JSON beyond the standard, such as `NaN` or a repeated
    /// key, is refused. `limit` is the largest length in bytes.
    ///
    /// # Errors
    /// [`MetadataError::TooLong`], or the [`MetadataError`] that names the broken rule.
    pub fn parse_new(document: &[u8], limit: usize) -> Result<Self, MetadataError> {
        if document.len() > limit {
            return Err(MetadataError::TooLong {
                length: document.len(),
                limit,
            });
        }
        let value = strict_json::parse(document).map_err(MetadataError::Json)?;
        Self::of_value(value)
    }

    /// Reads a document that is stored already, as far as the engine needs it.
    ///
    /// # Errors
    /// The [`MetadataError`] that names the broken rule.
    pub fn parse(document: &[u8]) -> Result<Self, MetadataError> {
        let fields: Fields = serde_json::from_slice(document).map_err(MetadataError::Json)?;
        fields.check()
    }

    /// Checks that a version of the format has such nodes.
    pub(crate) fn check_version(self, version: SpecVersion) -> Result<Self, MetadataError> {
        match &self {
            Self::Array(array) if version == SpecVersion::V1 && !array.grid.is_regular() => {
                Err(invalid(
                    "a rectilinear chunk grid needs spec version 2: cut the array regularly, or upgrade the repository",
                ))
            }
            _ => Ok(self),
        }
    }

    /// Checks that a document is of the kind that the snapshot says.
    pub(crate) fn check_kind(self, kind: NodeKind) -> Result<Self, MetadataError> {
        match (&self, kind) {
            (Self::Group, NodeKind::Group) | (Self::Array(_), NodeKind::Array) => Ok(self),
            (Self::Group, NodeKind::Array) => Err(invalid(
                "it is a group's, and the snapshot has an array here",
            )),
            (Self::Array(_), NodeKind::Group) => Err(invalid(
                "it is an array's, and the snapshot has a group here",
            )),
        }
    }

    /// Returns the array's metadata; `None` for a group.
    pub fn array(&self) -> Option<&ArrayMetadata> {
        match self {
            Self::Group => None,
            Self::Array(array) => Some(array),
        }
    }

    fn of_value(value: Value) -> Result<Self, MetadataError> {
        if !value.is_object() {
            return Err(invalid("it is not a JSON object"));
        }
        let fields: Fields = serde_json::from_value(value).map_err(MetadataError::Json)?;
        fields.check()
    }
}

fn invalid(problem: impl Into<String>) -> MetadataError {
    MetadataError::Invalid(problem.into())
}

#[derive(Deserialize)]
struct Fields {
    zarr_format: Option<Value>,
    node_type: Option<String>,
    shape: Option<Vec<u64>>,
    chunk_grid: Option<Named>,
    chunk_key_encoding: Option<Named>,
    dimension_names: Option<Vec<Option<String>>>,
}

/// An extension point of the standard: an object with a name, or the name alone.
#[derive(Deserialize)]
#[serde(from = "Spelling")]
struct Named {
    name: String,
    configuration: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Spelling {
    Name(String),
    Object {
        name: String,
        #[serde(default)]
        configuration: BTreeMap<String, Value>,
    },
}

impl From<Spelling> for Named {
    fn from(spelling: Spelling) -> Self {
        match spelling {
            Spelling::Name(name) => Self {
                name,
                configuration: BTreeMap::new(),
            },
            Spelling::Object {
                name,
                configuration,
            } => Self {
                name,
                configuration,
            },
        }
    }
}

impl Fields {
    fn check(self) -> Result<NodeMetadata, MetadataError> {
        if self.zarr_format.as_ref().and_then(Value::as_u64) != Some(3) {
            return Err(invalid("`zarr_format` is not 3"));
        }
        match self.node_type.as_deref() {
            Some("group") => Ok(NodeMetadata::Group),
            Some("array") => self.array().map(NodeMetadata::Array),
            Some(other) => Err(invalid(format!(
                "`node_type` is {other:?}, neither \"group\" nor \"array\""
            ))),
            None => Err(invalid("`node_type` is missing")),
        }
    }

    fn array(self) -> Result<ArrayMetadata, MetadataError> {
        let shape = self
            .shape
            .ok_or_else(|| invalid("an array needs a `shape`"))?;
        let grid = self
            .chunk_grid
            .ok_or_else(|| invalid("an array needs a `chunk_grid`"))?;
        let (grid, chunk_shape) = match grid.name.as_str() {
            "regular" => (None, regular_chunks(&grid)?),
            "rectilinear" => {
                let value = json!({"name": grid.name, "configuration": grid.configuration});
                let grid = ChunkGrid::from_json(&value);
                let grid = grid.map_err(|error| invalid(error.to_string()))?;
                let longest = longest_chunks(&value, &grid);
                (Some(grid), longest)
            }
            other => {
                return Err(invalid(format!(
                    "the chunk grid {other:?} is neither \"regular\" nor \"rectilinear\""
                )));
            }
        };
        if chunk_shape.len() != shape.len() {
            return Err(invalid(format!(
                "the shape has {} dimensions, the chunk shape {}",
                shape.len(),
                chunk_shape.len()
            )));
        }
        if shape.len() > MAX_RANK {
            return Err(invalid(format!(
                "{} dimensions are more than the {MAX_RANK} that chunk coordinates can have",
                shape.len()
            )));
        }
        if chunk_shape.contains(&0) {
            return Err(invalid("a chunk length is 0"));
        }
        let grid = match grid {
            Some(grid) => grid,
            None => ChunkGrid::regular(&chunk_shape).map_err(|it| invalid(it.to_string()))?,
        };
        let dimensions = grid.dimensions(&shape);
        let dimensions = dimensions.map_err(|error| invalid(error.to_string()))?;
        let chunk_counts = dimensions
            .iter()
            .map(|dimension| u32::try_from(dimension.num_chunks()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| {
                invalid("a dimension has more than 4294967295 chunks: choose a longer chunk")
            })?;
        let dimension_names = self.dimension_names.map(|names| -> Vec<Option<String>> {
            names
                .into_iter()
                .map(|name| name.filter(|name| !name.is_empty()))
                .collect()
        });
        if let Some(names) = &dimension_names
            && names.len() != shape.len()
        {
            return Err(invalid(format!(
                "the shape has {} dimensions, `dimension_names` {}",
                shape.len(),
                names.len()
            )));
        }
        Ok(ArrayMetadata {
            chunk_key_encoding: key_encoding(self.chunk_key_encoding)?,
            shape,
            chunk_shape,
            grid,
            chunk_counts,
            dimension_names,
        })
    }
}

fn regular_chunks(grid: &Named) -> Result<Vec<u64>, MetadataError> {
    let lengths = grid.configuration.get("chunk_shape");
    lengths
        .and_then(|value| serde_json::from_value(value.clone()).ok())
        .ok_or_else(|| invalid("a regular chunk grid needs a `chunk_shape` of whole numbers"))
}

/// The longest chunk of each dimension of a rectilinear grid that was read from a document.
fn longest_chunks(document: &Value, grid: &ChunkGrid) -> Vec<u64> {
    let lists = document.pointer("/configuration/chunk_shapes");
    let lists = lists.and_then(Value::as_array).into_iter().flatten();
    let length = |run: &Value| run.as_u64().or_else(|| run.get(0)?.as_u64());
    let longest = lists.map(|dimension| match dimension {
        Value::Array(runs) => runs.iter().filter_map(length).max().unwrap_or(1),
        length => length.as_u64().unwrap_or(1),
    });
    longest.take(grid.rank()).collect()
}

fn key_encoding(encoding: Option<Named>) -> Result<ChunkKeyEncoding, MetadataError> {
    let Some(encoding) = encoding else {
        return Ok(ChunkKeyEncoding::COMMON);
    };
    let separator = match encoding.configuration.get("separator") {
        None => None,
        Some(Value::String(text)) if text == "/" => Some('/'),
        Some(Value::String(text)) if text == "." => Some('.'),
        Some(other) => {
            return Err(invalid(format!(
                "the chunk key separator {other} is neither \"/\" nor \".\""
            )));
        }
    };
    match encoding.name.as_str() {
        "default" => Ok(ChunkKeyEncoding::Default {
            separator: separator.unwrap_or('/'),
        }),
        "v2" => Ok(ChunkKeyEncoding::V2 {
            separator: separator.unwrap_or('.'),
        }),
        other => Err(invalid(format!(
            "the chunk key encoding {other:?} is neither \"default\" nor \"v2\""
        ))),
    }
}

/// A path, and the reason why its document is refused.
#[derive(Debug, thiserror::Error)]
#[error("the metadata of {path} is not that of a Zarr v3 array or group")]
pub struct NodeMetadataError {
    /// The node.
    pub path: NodePath,
    /// The broken rule.
    pub source: MetadataError,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[5,0],"data_type":"int8",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,3]}},
        "chunk_key_encoding":{"name":"v2"},"dimension_names":["x",null]}"#;

    #[test]
    fn an_array_has_a_grid() {
        let node = NodeMetadata::parse_new(ARRAY.as_bytes(), 1000).expect("valid");
        let array = node.array().expect("an array");
        assert_eq!(array.chunk_counts, [3, 0]);
        assert_eq!(
            array.chunk_key_encoding,
            ChunkKeyEncoding::V2 { separator: '.' }
        );
        assert!(!array.contains(&[0, 0]) && !array.contains(&[0]));
    }

    #[test]
    fn a_rectilinear_grid_is_one_of_version_2() {
        let grid = r#"{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[2,[1,2],1],[[3,2]]]}}"#;
        let document = ARRAY.replace(
            r#"{"name":"regular","configuration":{"chunk_shape":[2,3]}}"#,
            grid,
        );
        let node = NodeMetadata::parse_new(document.as_bytes(), 1000).expect("valid");
        let array = node.array().expect("an array");
        assert_eq!(array.chunk_counts, [4, 2]);
        assert_eq!(array.chunk_shape, [2, 3]);
        assert_eq!(array.grid.elements(0, 2), Some(3..4));
        let counts: Vec<_> = array
            .dimensions()
            .iter()
            .map(|it| it.num_chunks())
            .collect();
        assert_eq!(counts, [4, 2]);
        assert!(node.clone().check_version(SpecVersion::V2).is_ok());
        let error = node.check_version(SpecVersion::V1).expect_err("not there");
        assert!(error.to_string().contains("spec version 2"), "{error}");
        let short = document.replace("[2,[1,2],1]", "[2]");
        assert!(NodeMetadata::parse_new(short.as_bytes(), 1000).is_err());
    }

    #[test]
    fn d62_metadata_that_is_no_zarr_v3_node_is_refused() {
        let deep = format!("{{\"attributes\":{}{}}}", "[".repeat(500), "]".repeat(500));
        let long = ARRAY.replace("[5,0]", "[1e99,0]");
        for document in [
            "",
            "[]",
            "{}",
            "nonsense",
            r#"{"zarr_format":2,"node_type":"group"}"#,
            r#"{"zarr_format":3,"node_type":"tree"}"#,
            r#"{"zarr_format":3,"node_type":"group","attributes":{"a":NaN}}"#,
            r#"{"zarr_format":3,"node_type":"group","attributes":{"a":1,"a":2}}"#,
            r#"{"zarr_format":3,"zarr_format":3,"node_type":"group"}"#,
            &ARRAY.replace("[2,3]", "[2,0]"),
            &ARRAY.replace("[2,3]", "[2]"),
            &ARRAY.replace("regular", "rectilinear"),
            &ARRAY.replace("[\"x\",null]", "[\"x\"]"),
            &ARRAY.replace("[5,0]", "[18446744073709551615,0]"),
            &ARRAY.replace("[5,0]", "[-1,0]"),
            &long,
            &deep,
        ] {
            assert!(
                NodeMetadata::parse_new(document.as_bytes(), 10_000).is_err(),
                "{document}"
            );
        }
        assert!(matches!(
            NodeMetadata::parse_new(ARRAY.as_bytes(), 10),
            Err(MetadataError::TooLong { .. })
        ));
    }
}
