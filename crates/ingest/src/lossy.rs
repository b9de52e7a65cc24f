//! Values of attributes that JSON in Python holds and JSON here does not: they are imported as the nearest value there is,
//! with a warning that names them.

use serde_json::{Map, Value};

use crate::names::is_format_3;
use crate::zarr2::{self, CONSOLIDATED, has_large_integers, quoted_json};

/// Beyond it, whole numbers need more than 64 bits.
const LARGE: f64 = 9_223_372_036_854_775_808.0;

/// Parses the document of a key, and says of which attributes the value is not quite what the text says.
///
/// # Errors
/// Where it is no JSON.
pub(crate) fn parse(key: &str, text: &[u8]) -> Result<(Value, Vec<String>), serde_json::Error> {
    let document = zarr2::parse_json(text)?;
    let is_quoted = quoted_json(text).is_some();
    let is_rounded = has_large_integers(text);
    let mut warnings = Vec::new();
    if is_quoted || is_rounded {
        for (node, attributes) in attributes(key, &document) {
            for (name, value) in attributes {
                if is_quoted && any(value, &is_special) {
                    warnings.push(format!(
                        "the attribute {name:?} of {node} has numbers that JSON lacks: they were stored as the texts \"NaN\", \"Infinity\" and \"-Infinity\""
                    ));
                }
                if is_rounded && any(value, &is_large) {
                    warnings.push(format!(
                        "the attribute {name:?} of {node} has whole numbers of more than 64 bits: they were stored as the nearest floating-point numbers"
                    ));
                }
            }
        }
    }
    Ok((document, warnings))
}

/// The attributes in the document of a key, by node.
fn attributes<'a>(key: &str, document: &'a Value) -> Vec<(String, &'a Map<String, Value>)> {
    let (node, name) = key.rsplit_once('/').unwrap_or(("", key));
    let node = format!("/{node}");
    if name == CONSOLIDATED {
        let copies = document.get("metadata").and_then(Value::as_object);
        let copies = copies.into_iter().flatten();
        return copies
            .flat_map(|(key, copy)| attributes(key, copy))
            .collect();
    }
    let found = match is_format_3(key) {
        true => document.get("attributes"),
        false => Some(document).filter(|_| zarr2::is_attributes(key)),
    };
    let found = found.and_then(Value::as_object);
    found.map(|found| (node, found)).into_iter().collect()
}

fn any(value: &Value, is: &impl Fn(&Value) -> bool) -> bool {
    match value {
        Value::Array(list) => list.iter().any(|it| any(it, is)),
        Value::Object(fields) => fields.values().any(|it| any(it, is)),
        value => is(value),
    }
}

fn is_special(value: &Value) -> bool {
    matches!(value.as_str(), Some("NaN" | "Infinity" | "-Infinity"))
}

fn is_large(value: &Value) -> bool {
    value.is_f64() && value.as_f64().is_some_and(|it| it.abs() >= LARGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(key: &str, text: &str) -> Vec<String> {
        parse(key, text.as_bytes()).expect("JSON").1
    }

    #[test]
    fn what_is_not_quite_what_the_text_says_is_named() {
        let said = warnings(
            "a/.zattrs",
            r#"{"x": [1, NaN], "y": {"z": 18446744073709551616}, "w": 1e30}"#,
        );
        assert!(
            said[0].contains("\"x\" of /a has numbers that JSON lacks"),
            "{said:?}"
        );
        assert!(
            said[1].contains("\"y\" of /a has whole numbers"),
            "{said:?}"
        );
        assert!(said[2].contains("\"w\" of /a"), "it may be meant: {said:?}");
        assert_eq!(said.len(), 3);
        let all =
            r#"{"metadata": {"a/.zarray": {"fill_value": NaN}, "a/.zattrs": {"x": -Infinity}}}"#;
        assert_eq!(warnings(".zmetadata", all).len(), 1);
        assert_eq!(
            warnings(
                "zarr.json",
                r#"{"attributes": {"x": NaN}, "fill_value": NaN}"#
            )
            .len(),
            1
        );
        // Fill values are spelt so in format 3.
        assert!(warnings("a/.zarray", r#"{"fill_value": NaN}"#).is_empty());
        assert!(warnings("a/.zattrs", r#"{"x": "NaN", "y": 1e30}"#).is_empty());
    }
}
