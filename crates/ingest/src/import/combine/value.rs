//! Values of files along a new dimension: where they come from, and the coordinate that they become.

use std::cmp::Ordering;
use std::fmt;

use bytes::Bytes;
use icefield_core::NodePath;
use regex::Regex;
use serde_json::{Value, json};

use super::error::CombineError;
use crate::cf::{Number, TimeUnits, moment};
use crate::import::labels::ordered;
use crate::import::opened::Opened;

/// Elements of a chunk of the new coordinate.
const CHUNK: usize = 512;

/// The place from which the value of a source along a new dimension is read.
///
/// ```
/// use icefield_ingest::ValueFrom;
///
/// // The member of an ensemble in the names of files, and a global attribute.
/// assert!(matches!(ValueFrom::parse("pattern:air_m{}.nc").unwrap(), ValueFrom::Pattern(_)));
/// assert!(matches!(ValueFrom::parse("attribute:realization").unwrap(), ValueFrom::Attribute(_)));
/// assert!(ValueFrom::parse("realization").is_err());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ValueFrom {
    /// The only group of a regular expression that is found in the name of the file, or otherwise in its whole path or
    /// URL.
    Pattern(Regex),
    /// A global attribute of the source: a number or a text.
    Attribute(String),
    /// A variable with one element. It becomes the coordinate, with its type and attributes.
    Variable(NodePath),
}

/// A new dimension, of which each source is one element.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub(crate) dimension: String,
    pub(crate) from: ValueFrom,
}

impl ValueFrom {
    /// Reads `pattern:REGEX`, `attribute:NAME` or `variable:NAME`. A pattern with `{}` is that of a whole name, with the value
    /// in the place of the braces, in which `*` and `?` stand for any others.
    ///
    /// # Errors
    /// [`CombineError::ValueFrom`], [`CombineError::Pattern`].
    pub fn parse(text: &str) -> Result<Self, CombineError> {
        let wrong = || CombineError::ValueFrom {
            text: text.to_owned(),
        };
        let (kind, name) = text.split_once(':').ok_or_else(wrong)?;
        if name.is_empty() {
            return Err(wrong());
        }
        match kind {
            "pattern" => pattern(name).map(Self::Pattern),
            "attribute" => Ok(Self::Attribute(name.to_owned())),
            "variable" => {
                let path = NodePath::root().join(name.trim_matches('/'));
                path.map(Self::Variable).map_err(|_| wrong())
            }
            _ => Err(wrong()),
        }
    }
}

fn pattern(text: &str) -> Result<Regex, CombineError> {
    let wrong = |problem: String| CombineError::Pattern {
        pattern: text.to_owned(),
        problem,
    };
    let regex = match text.split_once("{}") {
        Some((before, behind)) => {
            let (before, behind) = (template(before), template(behind));
            format!("(?:^|/){before}([^/]+?){behind}$")
        }
        None => text.to_owned(),
    };
    let regex = Regex::new(&regex).map_err(|error| wrong(error.to_string()))?;
    match regex.captures_len() {
        2 => Ok(regex),
        groups => Err(wrong(format!("it has {} groups", groups - 1))),
    }
}

/// The regular expression of a part of a name, in which `*` and `?` stand for others.
fn template(text: &str) -> String {
    let escaped = regex::escape(text);
    escaped.replace("\\*", "[^/]*").replace("\\?", "[^/]")
}

/// A value of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Label {
    Whole(i64),
    Float(f64),
    Text(String),
    /// A number of a coordinate, and what it is compared by.
    Stored(Number, i128),
}

impl Label {
    pub(super) fn of_number(value: Number, units: Option<&TimeUnits>) -> Self {
        let key = match units {
            Some(units) => moment(value, units),
            None => ordered(value),
        };
        Self::Stored(value, key.unwrap_or(i128::MAX))
    }

    /// A number if the text is one.
    fn of_text(text: &str) -> Self {
        if let Ok(number) = text.parse() {
            return Self::Whole(number);
        }
        let is_number = text.starts_with(|it: char| it.is_ascii_digit() || "+-.".contains(it));
        match text.parse::<f64>() {
            Ok(number) if is_number && number.is_finite() => Self::Float(number),
            _ => Self::Text(text.to_owned()),
        }
    }

    fn text(&self) -> String {
        self.to_string()
    }

    /// Compares values; a file without one is the first.
    pub(super) fn order(one: &Option<Self>, other: &Option<Self>) -> Ordering {
        match (one, other) {
            (Some(Self::Whole(one)), Some(Self::Whole(other))) => one.cmp(other),
            (Some(Self::Float(one)), Some(Self::Float(other))) => one.total_cmp(other),
            (Some(Self::Text(one)), Some(Self::Text(other))) => one.cmp(other),
            (Some(Self::Stored(_, one)), Some(Self::Stored(_, other))) => one.cmp(other),
            (one, other) => one.is_some().cmp(&other.is_some()),
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
            Self::Stored(number, _) => number.fmt(f),
        }
    }
}

/// The value of a source; `None` if a variable has it.
pub(super) fn label(from: &ValueFrom, one: &Opened) -> Result<Option<Label>, CombineError> {
    let name = one.source.to_string();
    let none = |reason: String| CombineError::NoValue {
        name: name.clone(),
        reason,
    };
    match from {
        ValueFrom::Pattern(regex) => {
            let file = name.trim_end_matches('/').rsplit('/').next();
            let found = file.and_then(|file| regex.captures(file));
            let found = found.or_else(|| regex.captures(&name));
            let value = found.and_then(|found| found.get(1));
            let value = value.ok_or_else(|| {
                none(format!(
                    "its name does not match the pattern {:?}",
                    regex.as_str()
                ))
            })?;
            Ok(Some(Label::of_text(value.as_str())))
        }
        ValueFrom::Attribute(attribute) => {
            let root = one.hierarchy.nodes.get(&NodePath::root());
            let document: Value = root
                .and_then(|node| serde_json::from_slice(node.document()).ok())
                .unwrap_or_default();
            let label = match &document["attributes"][attribute.as_str()] {
                Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                    (Some(whole), _) => Label::Whole(whole),
                    (None, Some(float)) if float.fract() == 0.0 && float.abs() < 9e15 => {
                        Label::Whole(float as i64)
                    }
                    (None, Some(float)) => Label::Float(float),
                    (None, None) => {
                        return Err(none(format!("its attribute {attribute:?} is {number}")));
                    }
                },
                Value::String(text) => Label::of_text(text),
                Value::Null => {
                    return Err(none(format!("it has no global attribute {attribute:?}")));
                }
                other => {
                    return Err(none(format!(
                        "its attribute {attribute:?} is {other}, and neither a number nor a text"
                    )));
                }
            };
            Ok(Some(label))
        }
        ValueFrom::Variable(path) => {
            let array = one.hierarchy.nodes.get(path).and_then(|node| node.array());
            let array = array.ok_or_else(|| none(format!("it has no variable {path}")))?;
            match array.shape.is_empty() {
                true => Ok(None),
                false => Err(none(format!(
                    "{path} has the shape {:?}, and a value has no dimension",
                    array.shape
                ))),
            }
        }
    }
}

/// The coordinate along a new dimension: what holds all values.
#[derive(Clone, Debug)]
pub(super) struct Column {
    kind: ColumnType,
    chunk: usize,
    /// The document of the coordinate that is there.
    there: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnType {
    Whole,
    Float,
    Text,
}

impl Column {
    /// Returns what holds these values; that of the coordinate that is there, if it does.
    pub(super) fn of<'a>(
        labels: impl Iterator<Item = &'a Label> + Clone,
        there: Option<&Value>,
        count: usize,
    ) -> Self {
        let needed = labels.fold(ColumnType::Whole, |kind, label| match (kind, label) {
            (ColumnType::Text, _) | (_, Label::Text(_)) => ColumnType::Text,
            (ColumnType::Float, _) | (_, Label::Float(_)) => ColumnType::Float,
            (kind, _) => kind,
        });
        let stored = there.and_then(|document| match document["data_type"].as_str() {
            Some("int64") => Some(ColumnType::Whole),
            Some("float64") => Some(ColumnType::Float),
            Some("string") => Some(ColumnType::Text),
            _ => None,
        });
        let chunk = there.and_then(|it| it.pointer("/chunk_grid/configuration/chunk_shape/0"));
        let chunk = chunk
            .and_then(Value::as_u64)
            .and_then(|it| usize::try_from(it).ok());
        Self {
            kind: match stored {
                Some(ColumnType::Text) => ColumnType::Text,
                Some(ColumnType::Float) if needed != ColumnType::Text => ColumnType::Float,
                _ => needed,
            },
            chunk: chunk
                .filter(|it| (1..=CHUNK * 16).contains(it))
                .unwrap_or_else(|| count.clamp(1, CHUNK)),
            there: there.cloned(),
        }
    }

    /// The document of the coordinate of one source.
    pub(super) fn document(&self, dimension: &str) -> Value {
        let bytes = json!({ "name": "bytes", "configuration": { "endian": "little" } });
        let (data_type, fill, codec) = match self.kind {
            ColumnType::Whole => ("int64", json!(0), bytes),
            ColumnType::Float => ("float64", json!("NaN"), bytes),
            ColumnType::Text => ("string", json!(""), json!({ "name": "vlen-utf8" })),
        };
        let mut document = json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": [1],
            "data_type": data_type,
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": [self.chunk] } },
            "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
            "fill_value": fill,
            "codecs": [codec],
            "attributes": {},
            "dimension_names": [dimension],
        });
        // Attributes that users have changed since stay.
        if let Some(attributes) = self.there.as_ref().and_then(|it| it.get("attributes")) {
            document["attributes"] = attributes.clone();
        }
        document
    }

    /// The only chunk of the coordinate of one source.
    pub(super) fn chunk(&self, label: &Label) -> Bytes {
        let rest = self.chunk - 1;
        match (self.kind, label) {
            (ColumnType::Whole, Label::Whole(number)) => {
                let zeros = std::iter::repeat_n(0_i64, rest);
                let all = std::iter::once(*number).chain(zeros);
                all.flat_map(i64::to_le_bytes).collect()
            }
            (ColumnType::Float, label) => {
                let number = match label {
                    Label::Whole(number) => *number as f64,
                    Label::Float(number) => *number,
                    Label::Text(_) | Label::Stored(..) => f64::NAN,
                };
                let none = std::iter::repeat_n(f64::NAN, rest);
                let all = std::iter::once(number).chain(none);
                all.flat_map(f64::to_le_bytes).collect()
            }
            (_, label) => {
                // How many texts, then each behind its length.
                let text = label.text();
                let mut bytes = (self.chunk as u32).to_le_bytes().to_vec();
                bytes.extend((text.len() as u32).to_le_bytes());
                bytes.extend(text.as_bytes());
                bytes.resize(bytes.len() + rest * 4, 0);
                bytes.into()
            }
        }
    }

    /// A value as the coordinate holds it.
    pub(super) fn as_stored(&self, label: Label) -> Label {
        match (self.kind, label) {
            (ColumnType::Float, Label::Whole(number)) => Label::Float(number as f64),
            (ColumnType::Text, label) => Label::Text(label.text()),
            (_, label) => label,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(from: &str, name: &str) -> Option<String> {
        let ValueFrom::Pattern(regex) = ValueFrom::parse(from).expect("a place") else {
            panic!("another kind");
        };
        Some(regex.captures(name)?.get(1)?.as_str().to_owned())
    }

    #[test]
    fn places_of_values_are_read() {
        assert_eq!(
            captured("pattern:air_m{}.nc", "air_m07.nc").as_deref(),
            Some("07")
        );
        assert_eq!(
            captured("pattern:r(\\d+)i", "tas_r12i1p1.nc").as_deref(),
            Some("12")
        );
        assert_eq!(captured("pattern:m{}", "x/air.m1.nc"), None);
        let found = captured("pattern:a*_m{}_??.nc", "x/air_m1_02.nc");
        assert_eq!(found.as_deref(), Some("1"));
        for wrong in [
            "pattern:",
            "pattern:x",
            "pattern:(a)(b)",
            "pattern:(",
            "name:x",
            "x",
            "variable:",
        ] {
            assert!(ValueFrom::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_are_numbers_where_they_can_be() {
        for (text, label) in [
            ("007", Label::Whole(7)),
            ("-1", Label::Whole(-1)),
            ("1.5", Label::Float(1.5)),
            ("nan", Label::Text("nan".to_owned())),
            ("inf", Label::Text("inf".to_owned())),
            ("r1i1", Label::Text("r1i1".to_owned())),
        ] {
            assert_eq!(Label::of_text(text), label, "{text}");
        }
        let column = Column::of([Label::Whole(1), Label::Float(0.5)].iter(), None, 2);
        assert_eq!(column.as_stored(Label::Whole(1)), Label::Float(1.0));
        assert_eq!(column.chunk(&Label::Whole(1)).len(), 16);
        let there = json!({ "data_type": "string" });
        let column = Column::of([Label::Whole(1)].iter(), Some(&there), 1);
        assert_eq!(
            column.chunk(&Label::Whole(1)),
            [1_u8, 0, 0, 0, 1, 0, 0, 0, b'1'][..]
        );
    }
}
