//! Whether two documents describe the same array or group, and if not, where they part first.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::names::ORIGIN;

/// Characters of a value that a message shows.
const SHOWN: usize = 60;

/// Members of an array in the order in which a difference is worth mentioning; the others follow.
const ORDER: [&str; 7] = [
    "data_type",
    "shape",
    "chunk_grid",
    "dimension_names",
    "fill_value",
    "codecs",
    "attributes",
];

/// Attributes that say where the window of an array is: the repository's own, which a source that comes in need not know.
pub(crate) const OF_THE_WINDOW: [&str; 3] = [ORIGIN, "masked_elements", "window_start"];

/// The first member in which two documents differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The member, as `attributes.units` or `codecs[1].name`.
    pub member: String,
    /// The value in the repository, as JSON; `None` if the member is absent. Long values are cut.
    pub existing: Option<String>,
    /// The value in the source, likewise.
    pub source: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "absent".to_owned());
        write!(
            f,
            "its `{}` is {} here and {} in the source",
            self.member,
            shown(&self.existing),
            shown(&self.source)
        )
    }
}

/// Compares two arrays. The chunk key encoding does not count, nor the length along `free`, the axis that
/// grows; of an array that grows, neither do attributes that say where its window is. A member that only says what is so
/// anyway counts as absent.
pub(crate) fn array_difference(
    existing: &[u8],
    source: &[u8],
    free: Option<usize>,
) -> Result<Option<Difference>, serde_json::Error> {
    let read = |document: &[u8]| -> Result<Map<String, Value>, serde_json::Error> {
        let mut members: Map<String, Value> = serde_json::from_slice(document)?;
        members.remove("chunk_key_encoding");
        if let (Some(_), Some(Value::Object(attributes))) = (free, members.get_mut("attributes")) {
            attributes.retain(|name, _| !OF_THE_WINDOW.contains(&name.as_str()));
        }
        remove_defaults(&mut members);
        if let (Some(axis), Some(Value::Array(shape))) = (free, members.get_mut("shape"))
            && let Some(length) = shape.get_mut(axis)
        {
            *length = Value::Null;
        }
        Ok(members)
    };
    Ok(maps("", &read(existing)?, &read(source)?, &ORDER))
}

/// How alike two arrays are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// The chunks of one are chunks of the other.
    Same,
    /// The elements are, once they are decoded and encoded anew: what the first difference is.
    Elements(Difference),
    Different(Difference),
}

/// Compares two arrays as [`array_difference`] does. Codecs, the fill value and a regular chunk grid only say how elements are
/// stored.
pub(crate) fn likeness(
    existing: &[u8],
    source: &[u8],
    free: Option<usize>,
) -> Result<Likeness, serde_json::Error> {
    let Some(difference) = array_difference(existing, source, free)? else {
        return Ok(Likeness::Same);
    };
    let (mut here, mut there): (Value, Value) = (
        serde_json::from_slice(existing)?,
        serde_json::from_slice(source)?,
    );
    let is_regular = |document: &Value| document["chunk_grid"]["name"] == "regular";
    let mut storage = vec!["codecs", "fill_value"];
    if is_regular(&here) && is_regular(&there) {
        storage.push("chunk_grid");
    }
    for member in storage {
        there[member] = here[member].take();
        here[member] = there[member].clone();
    }
    let (here, there) = (serde_json::to_vec(&here)?, serde_json::to_vec(&there)?);
    Ok(match array_difference(&here, &there, free)? {
        None => Likeness::Elements(difference),
        Some(difference) => Likeness::Different(difference),
    })
}

/// Compares two groups; their consolidated metadata does not count.
pub(crate) fn group_difference(
    existing: &[u8],
    source: &[u8],
) -> Result<Option<Difference>, serde_json::Error> {
    Ok(maps("", &group(existing)?, &group(source)?, &[]))
}

/// Returns whether a document says no more than that there is a group.
pub(crate) fn is_plain_group(document: &[u8]) -> Result<bool, serde_json::Error> {
    Ok(group(document)?
        .keys()
        .all(|name| name == "zarr_format" || name == "node_type"))
}

fn group(document: &[u8]) -> Result<Map<String, Value>, serde_json::Error> {
    let mut members: Map<String, Value> = serde_json::from_slice(document)?;
    members.remove("consolidated_metadata");
    remove_defaults(&mut members);
    Ok(members)
}

fn remove_defaults(members: &mut Map<String, Value>) {
    members.retain(|name, value| match name.as_str() {
        "attributes" => value.as_object().is_none_or(|it| !it.is_empty()),
        "storage_transformers" => value.as_array().is_none_or(|it| !it.is_empty()),
        "dimension_names" => !value.is_null(),
        _ => true,
    });
}

fn maps(
    prefix: &str,
    existing: &Map<String, Value>,
    source: &Map<String, Value>,
    order: &[&str],
) -> Option<Difference> {
    let first = order.iter().copied();
    let rest = existing
        .keys()
        .chain(source.keys().filter(|name| !existing.contains_key(*name)))
        .map(String::as_str)
        .filter(|name| !order.contains(name));
    first
        .chain(rest)
        .find_map(|name| values(&joined(prefix, name), existing.get(name), source.get(name)))
}

fn joined(prefix: &str, name: &str) -> String {
    match prefix {
        "" => name.to_owned(),
        _ => format!("{prefix}.{name}"),
    }
}

fn values(member: &str, existing: Option<&Value>, source: Option<&Value>) -> Option<Difference> {
    match (existing, source) {
        (Some(Value::Object(existing)), Some(Value::Object(source))) => {
            maps(member, existing, source, &[])
        }
        (Some(Value::Array(existing)), Some(Value::Array(source)))
            if existing.len() == source.len() =>
        {
            (existing.iter().zip(source).enumerate()).find_map(|(position, (existing, source))| {
                values(
                    &format!("{member}[{position}]"),
                    Some(existing),
                    Some(source),
                )
            })
        }
        (existing, source) if existing == source => None,
        (existing, source) => Some(Difference {
            member: member.to_owned(),
            existing: existing.map(shown),
            source: source.map(shown),
        }),
    }
}

/// Returns in what two values of a member differ; `null` is none.
pub(crate) fn difference_of(member: &str, existing: &Value, source: &Value) -> Option<Difference> {
    let there = |value| Some(value).filter(|it: &&Value| !it.is_null());
    values(member, there(existing), there(source))
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn array() -> Value {
        json!({
            "node_type": "array", "zarr_format": 3, "shape": [4, 6], "data_type": "float32",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": "NaN",
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "attributes": {"units": "K"}, "storage_transformers": [],
        })
    }

    fn changed(edit: impl FnOnce(&mut Value)) -> Option<Difference> {
        let mut other = array();
        edit(&mut other);
        let bytes = |value: &Value| serde_json::to_vec(value).expect("JSON");
        array_difference(&bytes(&array()), &bytes(&other), Some(0)).expect("JSON")
    }

    #[test]
    fn what_means_the_same_is_equal() {
        assert_eq!(changed(|_| ()), None);
        assert_eq!(changed(|it| it["shape"][0] = json!(9)), None);
        assert_eq!(
            changed(|it| it["chunk_key_encoding"] = json!({"name": "v2"})),
            None
        );
        let without = |it: &mut Value| {
            it.as_object_mut()
                .expect("object")
                .remove("storage_transformers");
        };
        assert_eq!(changed(without), None);
        assert_eq!(changed(|it| it["dimension_names"] = Value::Null), None);
    }

    #[test]
    fn the_first_difference_is_named() {
        let name = |edit: fn(&mut Value)| changed(edit).expect("differs").member;
        assert_eq!(name(|it| it["shape"][1] = json!(9)), "shape[1]");
        assert_eq!(name(|it| it["shape"] = json!([4])), "shape");
        assert_eq!(
            name(|it| it["attributes"]["units"] = json!("m")),
            "attributes.units"
        );
        assert_eq!(name(|it| it["attributes"] = json!({})), "attributes");
        assert_eq!(
            name(|it| it["codecs"][0]["configuration"]["endian"] = json!("big")),
            "codecs[0].configuration.endian"
        );
        assert_eq!(name(|it| it["extension"] = json!(1)), "extension");
        assert_eq!(
            name(|it| {
                it["data_type"] = json!("int8");
                it["attributes"] = json!({"a": 1});
            }),
            "data_type"
        );
        let difference = changed(|it| it["data_type"] = json!("x".repeat(500))).expect("differs");
        assert_eq!(difference.existing.as_deref(), Some("\"float32\""));
        assert!(difference.to_string().len() < 200);
    }

    #[test]
    fn groups_are_compared_by_what_they_say() {
        let plain = br#"{"zarr_format":3,"node_type":"group","attributes":{}}"#;
        let other = br#"{"node_type":"group","zarr_format":3,"consolidated_metadata":{"a":1}}"#;
        assert_eq!(group_difference(plain, other).expect("JSON"), None);
        assert!(is_plain_group(plain).expect("JSON") && is_plain_group(other).expect("JSON"));
        let titled = br#"{"node_type":"group","zarr_format":3,"attributes":{"title":"x"}}"#;
        assert!(!is_plain_group(titled).expect("JSON"));
        let difference = group_difference(plain, titled)
            .expect("JSON")
            .expect("differs");
        assert_eq!(difference.member, "attributes");
    }
}
