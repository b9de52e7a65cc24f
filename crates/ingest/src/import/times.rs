//! Times of one source in the units of another: `hours since 2020-02-01` behind `hours since 2020-01-01`.
//!
//! A source whose times are written otherwise than those that they are put behind is wrapped (`converted`): its documents say
//! the units, the calendar and the type of the target, and its chunks hold the same moments in them. A variable with the
//! bounds of a time has its units, as the CF conventions say (§7.1).

use std::collections::BTreeMap;
use std::sync::Arc;

use icefield_core::NodePath;
use serde_json::{Map, Value};

use super::converted::{self, Convert, Taken};
use crate::archive::values::base64_bytes;
use crate::cf::{Conversion, Number, NumberType, TimeError, TimeUnits};
use crate::{Hierarchy, ImportError, Source, SourceError};

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
/// [`SourceError::Conversion`] for units and calendars that cannot be converted.
pub(super) async fn converted(
    source: Arc<dyn Source>,
    hierarchy: Hierarchy,
    targets: &Documents,
    taken: &Arc<Taken>,
) -> Result<(Arc<dyn Source>, Hierarchy, Vec<NodePath>), ImportError> {
    let own = documents(&hierarchy);
    let paths: Vec<NodePath> = own
        .keys()
        .filter(|path| differ((targets, path), (&own, path)))
        .cloned()
        .collect();
    let name = source.to_string();
    let mut conversions = BTreeMap::new();
    for path in &paths {
        let refused = |reason: String| SourceError::conversion(&name, path, reason);
        let refuse = |error: TimeError| refused(error.to_string());
        let (Some(document), Some(target)) = (own.get(path), targets.get(path)) else {
            continue;
        };
        let (Some(from), Some(to)) = (units(&own, path), units(targets, path)) else {
            continue;
        };
        let kind = |document: &Value| {
            let attributes = &document["attributes"];
            for attribute in ["scale_factor", "add_offset"] {
                if !attributes[attribute].is_null() {
                    return Err(TimeError::Packed { attribute });
                }
            }
            NumberType::of(&document["data_type"]).ok_or_else(|| TimeError::DataType {
                data_type: document["data_type"].to_string(),
            })
        };
        let from = (from.map_err(refuse)?, kind(document).map_err(refuse)?);
        let to = (to.map_err(refuse)?, kind(target).map_err(refuse)?);
        let convert = Times {
            missing: missing(&document["attributes"]),
            missing_as: missing(&target["attributes"]).first().copied(),
            conversion: Conversion::new(from, to).map_err(refuse)?,
        };
        let conversion = converted::Conversion {
            convert: Arc::new(convert),
            document: document_as(document, target),
            is_at_hand: true,
        };
        conversions.insert(path.clone(), conversion);
    }
    let (source, hierarchy) = converted::converted(source, hierarchy, conversions, taken).await?;
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

/// Converts times of a source to those of the target.
#[derive(Debug)]
struct Times {
    conversion: Conversion,
    missing: Vec<Number>,
    /// The value of the target for a missing time.
    missing_as: Option<Number>,
}

impl Convert for Times {
    fn convert(&self, from: &[u8], into: &mut [u8]) -> Result<(), String> {
        let (from_type, to_type) = (self.conversion.source_type(), self.conversion.target_type());
        let number = from_type.read(from);
        let converted = match is_missing(number, &self.missing, from_type) {
            true => self.missing_element(to_type)?,
            false => {
                let converted = self.conversion.converted(number);
                converted.map_err(|error| error.to_string())?
            }
        };
        into.copy_from_slice(&converted);
        Ok(())
    }
}

impl Times {
    fn missing_element(&self, to_type: NumberType) -> Result<Vec<u8>, String> {
        let missing = match (self.missing_as, to_type) {
            (Some(missing), _) => missing,
            (None, NumberType::Float(_)) => Number::Float(f64::NAN),
            (None, NumberType::Signed(8)) => Number::Whole(i128::from(i64::MIN)),
            (None, _) => {
                return Err(
                    "a time is missing, and what it is put behind has no value for that".to_owned(),
                );
            }
        };
        let written = to_type.written(missing);
        written.ok_or_else(|| format!("a time is missing, and {missing} is none of the type"))
    }
}
