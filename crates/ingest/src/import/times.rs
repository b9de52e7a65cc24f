//! Times of one source in the units of another: `hours since 2020-02-01` behind `hours since 2020-01-01`.
//!
//! A source whose times are written otherwise than those that they are put behind is wrapped: its documents say the units,
//! the calendar and the type of the target, and its chunks hold the same moments in them. Nothing behind the wrapper knows
//! of it. A variable with the bounds of a time has its units, as the CF conventions say (§7.1).

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use icefield_core::{ArrayMetadata, ChunkIndex, NodePath};
use serde_json::{Map, Value};

use crate::archive::values::base64_bytes;
use crate::cf::{Conversion, Number, NumberType, TimeError, TimeUnits};
use crate::codec::{Codec, Elements, fixed};
use crate::regions::{Region, each};
use crate::source::References;
use crate::{ChunkEntry, Hierarchy, ImportError, Source, SourceError, SourceNode};

/// Largest document that is made, in bytes.
const MAX_DOCUMENT: usize = 64 << 20;

/// The documents of arrays by path, as JSON.
pub(super) type Documents = BTreeMap<NodePath, Value>;

/// Reads the documents of the arrays of a source.
pub(super) fn documents(hierarchy: &Hierarchy) -> Documents {
    let arrays = hierarchy.nodes.iter();
    let arrays = arrays.filter(|(_, node)| node.array().is_some());
    arrays
        .filter_map(|(path, node)| {
            Some((path.clone(), serde_json::from_slice(node.document()).ok()?))
        })
        .collect()
}

/// The array whose bounds another one holds, in the same group.
fn bounded<'a>(documents: &'a Documents, path: &NodePath) -> Option<&'a Value> {
    let (group, name) = path.as_str().rsplit_once('/')?;
    documents.iter().find_map(|(other, document)| {
        let (other, _) = other.as_str().rsplit_once('/')?;
        let attributes = &document["attributes"];
        let names = [&attributes["bounds"], &attributes["climatology"]];
        let is_it = names.iter().any(|it| it.as_str() == Some(name));
        (is_it && other == group).then_some(document)
    })
}

/// The units of an array of times, its own or those of what it bounds; `None` if it has none.
pub(super) fn units(
    documents: &Documents,
    path: &NodePath,
) -> Option<Result<TimeUnits, TimeError>> {
    let document = documents.get(path)?;
    let attributes = &document["attributes"];
    if attributes["units"].is_string() {
        let inherited = bounded(documents, path).map(|it| &it["attributes"]["calendar"]);
        let calendar = attributes["calendar"].as_str();
        let calendar = calendar.or_else(|| inherited?.as_str());
        let units = attributes["units"]
            .as_str()
            .filter(|it| crate::cf::is_time(it))?;
        return Some(TimeUnits::parse(units, calendar));
    }
    TimeUnits::of(&bounded(documents, path)?["attributes"])
}

/// Whether two arrays hold times, and differ in how.
fn differ(here: (&Documents, &NodePath), there: (&Documents, &NodePath)) -> bool {
    let text = |(documents, path): (&Documents, &NodePath)| {
        let document = documents.get(path)?;
        let own = &document["attributes"]["units"];
        let of = match own.is_string() {
            true => Some(document),
            false => bounded(documents, path),
        };
        let units = of?["attributes"]["units"].as_str()?.to_owned();
        crate::cf::is_time(&units).then(|| {
            let calendar = &of.unwrap_or(document)["attributes"]["calendar"];
            (units, calendar.clone(), document["data_type"].clone())
        })
    };
    match (text(here), text(there)) {
        (Some(here), Some(there)) => here != there,
        _ => false,
    }
}

/// Wraps a source whose times are not written as those of the target, which has `targets` at the same paths.
///
/// # Errors
/// [`SourceError::Variable`] for units and calendars that cannot be converted.
pub(super) async fn converted(
    source: Arc<dyn Source>,
    hierarchy: Hierarchy,
    targets: &Documents,
) -> Result<(Arc<dyn Source>, Hierarchy, Vec<NodePath>), ImportError> {
    let own = documents(&hierarchy);
    let paths: Vec<NodePath> = own
        .keys()
        .filter(|path| differ((targets, path), (&own, path)))
        .cloned()
        .collect();
    if paths.is_empty() {
        return Ok((source, hierarchy, paths));
    }
    let name = source.to_string();
    let mut hierarchy = hierarchy;
    let mut arrays = BTreeMap::new();
    for path in &paths {
        let refused = |reason: String| SourceError::variable(&name, path, reason);
        let refuse = |error: TimeError| refused(error.to_string());
        let (Some(document), Some(target)) = (own.get(path), targets.get(path)) else {
            continue;
        };
        let (Some(from), Some(to)) = (units(&own, path), units(targets, path)) else {
            continue;
        };
        let node = hierarchy
            .nodes
            .get(path)
            .and_then(SourceNode::array)
            .cloned();
        let Some(array) = node else { continue };
        let kind = |document: &Value| {
            NumberType::of(&document["data_type"]).ok_or_else(|| TimeError::DataType {
                data_type: document["data_type"].to_string(),
            })
        };
        let from = (from.map_err(refuse)?, kind(document).map_err(refuse)?);
        let to = (to.map_err(refuse)?, kind(target).map_err(refuse)?);
        let conversion = Conversion::new(from, to).map_err(refuse)?;
        let changed = document_as(document, target);
        let bytes = serde_json::to_vec(&changed).map_err(|source| ImportError::Document {
            path: path.clone(),
            source,
        })?;
        let parsed = SourceNode::parse(bytes.into(), MAX_DOCUMENT);
        let parsed = parsed.map_err(|error| refused(error.to_string()))?;
        let mut one = Times {
            decode: Codec::of(document).map_err(refused)?,
            encode: Codec::of(&changed).map_err(refused)?,
            missing: missing(&document["attributes"]),
            missing_as: missing(&target["attributes"]).first().copied(),
            conversion,
            array,
            listed: HashMap::new(),
            is_full: false,
        };
        one.list(&*source, path).await?;
        hierarchy.nodes.insert(path.clone(), parsed);
        arrays.insert(path.clone(), one);
    }
    let source = Arc::new(Converted {
        inner: source,
        hierarchy: hierarchy.clone(),
        arrays,
    });
    Ok((source, hierarchy, paths))
}

/// The document of a source's array with the units, the calendar, the type and the missing values of the target.
fn document_as(document: &Value, target: &Value) -> Value {
    let mut document = document.clone();
    if document["data_type"] != target["data_type"] {
        for member in ["data_type", "codecs", "fill_value"] {
            document[member] = target[member].clone();
        }
    }
    let empty = Map::new();
    let theirs = target["attributes"].as_object().unwrap_or(&empty);
    let names = ["units", "calendar", "_FillValue", "missing_value"];
    if document.get("attributes").is_none() && names.iter().any(|name| theirs.contains_key(*name)) {
        document["attributes"] = Value::Object(Map::new());
    }
    if let Some(Value::Object(attributes)) = document.get_mut("attributes") {
        for name in names {
            match theirs.get(name) {
                Some(value) => {
                    attributes.insert(name.to_owned(), value.clone());
                }
                None => {
                    attributes.remove(name);
                }
            }
        }
    }
    document
}

/// The numbers that say that there is no time, by the attributes.
pub(super) fn missing(attributes: &Value) -> Vec<Number> {
    let names = ["_FillValue", "missing_value"];
    let values = names.iter().filter_map(|name| attributes.get(*name));
    values
        .filter_map(|value| match value {
            Value::Number(number) if number.is_f64() => number.as_f64().map(Number::Float),
            Value::Number(number) => number.as_i128().map(Number::Whole),
            Value::String(text) if text == "NaN" => Some(Number::Float(f64::NAN)),
            Value::String(text) => {
                let bytes: [u8; 8] = base64_bytes(text)?.try_into().ok()?;
                Some(Number::Float(f64::from_le_bytes(bytes)))
            }
            _ => None,
        })
        .collect()
}

/// Returns whether a number says that there is none: a missing value of the attributes, NaN, or what NumPy has for it.
pub(super) fn is_missing(number: Number, missing: &[Number], kind: NumberType) -> bool {
    let none_of_numpy = kind == NumberType::Signed(8);
    match number {
        Number::Float(value) if value.is_nan() => true,
        Number::Whole(value) if none_of_numpy && value == i128::from(i64::MIN) => true,
        number => missing.iter().any(|missing| match (number, *missing) {
            (Number::Whole(one), Number::Whole(other)) => one == other,
            (Number::Float(one), Number::Float(other)) => one == other,
            (Number::Whole(one), Number::Float(other))
            | (Number::Float(other), Number::Whole(one)) => one as f64 == other,
        }),
    }
}

/// An array whose times are converted.
#[derive(Debug)]
struct Times {
    conversion: Conversion,
    /// As the source has it.
    array: ArrayMetadata,
    decode: Codec,
    encode: Codec,
    missing: Vec<Number>,
    /// What the target has for a missing time.
    missing_as: Option<Number>,
    /// The chunks that exist.
    listed: HashMap<ChunkIndex, u64>,
    /// Whether chunks that do not exist hold times, too: then they must exist.
    is_full: bool,
}

impl Times {
    async fn list(&mut self, source: &dyn Source, path: &NodePath) -> Result<(), ImportError> {
        let mut chunks = source.chunks(path, &self.array);
        while let Some(entry) = chunks.try_next().await? {
            if let ChunkEntry::Chunk { index, length } = entry {
                self.listed.insert(index, length);
            }
        }
        let kind = self.conversion.source_type();
        if let Some(fill) = fixed(self.decode.filled()) {
            self.is_full = !is_missing(kind.read(fill), &self.missing, kind);
        }
        Ok(())
    }

    /// Converts a chunk. What lies beyond the edges of the array is fill values.
    fn chunk(&self, index: &[u32], elements: &Elements) -> Result<Vec<u8>, String> {
        let filled = self.encode.filled_chunk();
        let (Some(from), Some(filled)) = (fixed(elements), fixed(&filled)) else {
            return Err("its elements are no numbers".to_owned());
        };
        let mut into = filled.to_vec();
        let shape = &self.array.chunk_shape;
        let start = index
            .iter()
            .zip(shape)
            .map(|(at, chunk)| u64::from(*at) * chunk);
        let whole = Region::new(start.collect(), shape.clone());
        let Some(inside) =
            whole.common(&Region::new(vec![0; shape.len()], self.array.shape.clone()))
        else {
            return self.encode.encode(Elements::Fixed(into));
        };
        let (from_type, to_type) = (self.conversion.source_type(), self.conversion.target_type());
        let (firsts, length) = whole.runs(&inside);
        for at in firsts.into_iter().flat_map(|first| first..first + length) {
            let bytes = from.get(at * from_type.bytes()..(at + 1) * from_type.bytes());
            let number = from_type.read(bytes.ok_or("it is too short")?);
            let converted = match is_missing(number, &self.missing, from_type) {
                true => self.missing_element(to_type)?,
                false => self
                    .conversion
                    .converted(number)
                    .map_err(|it| it.to_string())?,
            };
            into[at * to_type.bytes()..][..to_type.bytes()].copy_from_slice(&converted);
        }
        self.encode.encode(Elements::Fixed(into))
    }

    fn missing_element(&self, to_type: NumberType) -> Result<Vec<u8>, String> {
        let missing = match (self.missing_as, to_type) {
            (Some(missing), _) => missing,
            (None, NumberType::Float(_)) => Number::Float(f64::NAN),
            (None, NumberType::Signed(8)) => Number::Whole(i128::from(i64::MIN)),
            (None, _) => {
                return Err(
                    "a time in it is missing, and what it is put behind has no value for that"
                        .to_owned(),
                );
            }
        };
        let written = to_type.written(missing);
        written.ok_or_else(|| format!("a time in it is missing, and {missing} is none of the type"))
    }
}

/// A source with some times in other units.
#[derive(Debug)]
struct Converted {
    inner: Arc<dyn Source>,
    hierarchy: Hierarchy,
    arrays: BTreeMap<NodePath, Times>,
}

#[async_trait]
impl Source for Converted {
    async fn hierarchy(&self) -> Result<Hierarchy, SourceError> {
        Ok(self.hierarchy.clone())
    }

    fn chunks(
        &self,
        path: &NodePath,
        array: &ArrayMetadata,
    ) -> BoxStream<'static, Result<ChunkEntry, SourceError>> {
        let Some(times) = self.arrays.get(path) else {
            return self.inner.chunks(path, array);
        };
        let mut entries = Vec::new();
        let mut note = |index: ChunkIndex| {
            let length = times.listed.get(&index).copied().unwrap_or(0);
            entries.push(Ok(ChunkEntry::Chunk { index, length }));
        };
        if times.is_full {
            let counts: Vec<u64> = array.chunk_counts.iter().map(|it| u64::from(*it)).collect();
            let visited = each(&counts, |place| {
                let index: Vec<u32> = place.iter().map(|at| *at as u32).collect();
                note(index.into());
                Ok::<_, std::convert::Infallible>(true)
            });
            match visited {
                Ok(()) => {}
                Err(never) => match never {},
            }
        } else {
            times.listed.keys().cloned().for_each(note);
        }
        stream::iter(entries).boxed()
    }

    async fn read_chunk(
        &self,
        path: &NodePath,
        array: &ArrayMetadata,
        index: &[u32],
        length: u64,
    ) -> Result<Bytes, SourceError> {
        let Some(times) = self.arrays.get(path) else {
            return self.inner.read_chunk(path, array, index, length).await;
        };
        let elements = match times.listed.get(index) {
            None => times.decode.filled_chunk(),
            Some(length) => {
                let bytes = self.inner.read_chunk(path, &times.array, index, *length);
                let elements = times.decode.decode(&bytes.await?);
                elements.map_err(|problem| {
                    SourceError::damaged(&self.chunk_name(path, array, index), problem)
                })?
            }
        };
        let chunk = times.chunk(index, &elements);
        chunk
            .map(Bytes::from)
            .map_err(|reason| SourceError::variable(&self.inner.to_string(), path, reason))
    }

    fn references(&self, path: &NodePath) -> Result<References<'_>, String> {
        match self.arrays.contains_key(path) {
            true => Err("its times are converted".to_owned()),
            false => self.inner.references(path),
        }
    }

    fn urls(&self) -> Vec<String> {
        self.inner.urls()
    }

    fn is_at_hand(&self, path: &NodePath) -> bool {
        self.arrays.contains_key(path) || self.inner.is_at_hand(path)
    }

    fn chunk_name(&self, path: &NodePath, array: &ArrayMetadata, index: &[u32]) -> String {
        self.inner.chunk_name(path, array, index)
    }
}

impl fmt::Display for Converted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
