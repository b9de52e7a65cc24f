//! Values of attributes that JSON in Python holds and JSON here does not: they are imported as the nearest value there is,
//! with a warning that names them.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::consolidated;
use crate::formats::is_format_3;
use crate::names::CONSOLIDATED;
use crate::zarr2::{self, has_large_integers, quoted_json};

/// Beyond it, whole numbers need more than 64 bits.
const LARGE: f64 = 9_223_372_036_854_775_808.0;

/// An attribute whose value is not quite what the text says.
#[derive(Debug)]
pub(crate) struct Lossy {
    /// The key of the document that the attribute belongs to.
    key: String,
    /// Whether the text is a copy of that document in another one.
    is_copy: bool,
    warning: String,
}

/// Parses the document of a key, and returns the attributes in it, and in copies in it, that it does not hold exactly.
///
/// # Errors
/// Where it is no JSON.
pub(crate) fn parse(key: &str, text: &[u8]) -> Result<(Value, Vec<Lossy>), serde_json::Error> {
    let document = zarr2::parse_json(text)?;
    let (is_quoted, is_rounded) = (quoted_json(text).is_some(), has_large_integers(text));
    let found = of_parsed(key, &document, is_quoted, is_rounded);
    Ok((document, found))
}

/// As [`parse`], of a document that was parsed from a text with numbers that JSON lacks (`is_quoted`), or with whole numbers
/// beyond 64 bits (`is_rounded`).
pub(crate) fn of_parsed(
    key: &str,
    document: &Value,
    is_quoted: bool,
    is_rounded: bool,
) -> Vec<Lossy> {
    let mut found = Vec::new();
    if !is_quoted && !is_rounded {
        return found;
    }
    for (of, attributes) in attributes(key, document) {
        let node = of.rsplit_once('/').map_or("", |(node, _)| node);
        let mut note = |warning: String| {
            found.push(Lossy {
                key: of.clone(),
                is_copy: of != key,
                warning,
            });
        };
        for (name, value) in attributes {
            if is_quoted && any(value, &is_special) {
                note(format!(
                    "the attribute {name:?} of /{node} has numbers that JSON lacks: they were stored as the texts \"NaN\", \"Infinity\" and \"-Infinity\""
                ));
            }
            if is_rounded && any(value, &is_large) {
                note(format!(
                    "the attribute {name:?} of /{node} has whole numbers of more than 64 bits: they were stored as the nearest floating-point numbers"
                ));
            }
        }
    }
    found
}

/// Returns the warnings of what is imported, each once: of copies, those that stand in for documents, by their keys.
pub(crate) fn warnings<'a>(
    found: Vec<Lossy>,
    adopted: impl Iterator<Item = &'a String>,
) -> Vec<String> {
    let adopted: HashSet<&String> = adopted.collect();
    let mut said = HashSet::new();
    let imported = found
        .into_iter()
        .filter(|it| !it.is_copy || adopted.contains(&it.key));
    imported
        .map(|it| it.warning)
        .filter(|warning| said.insert(warning.clone()))
        .collect()
}

/// The attributes in the document of a key and in the copies of others in it, by the keys of the documents.
fn attributes<'a>(key: &str, document: &'a Value) -> Vec<(String, &'a Map<String, Value>)> {
    if key.rsplit('/').next() == Some(CONSOLIDATED) {
        let copies = document.get("metadata").and_then(Value::as_object);
        let copies = copies.into_iter().flatten();
        return copies
            .filter_map(|(key, copy)| own_attributes(key.clone(), copy))
            .collect();
    }
    let mut found: Vec<_> = own_attributes(key.to_owned(), document)
        .into_iter()
        .collect();
    if is_format_3(key) {
        let copies = consolidated::copies_by_key(key, document);
        found.extend(copies.filter_map(|(key, copy)| own_attributes(key, copy)));
    }
    found
}

/// The attributes in a document, with its key.
fn own_attributes(key: String, document: &Value) -> Option<(String, &Map<String, Value>)> {
    let found = match is_format_3(&key) {
        true => document.get("attributes"),
        false => Some(document).filter(|_| zarr2::is_attributes(&key)),
    };
    let found = found.and_then(Value::as_object)?;
    Some((key, found))
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
        let found = parse(key, text.as_bytes()).expect("JSON").1;
        found.into_iter().map(|it| it.warning).collect()
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

    #[test]
    fn copies_are_named_where_they_stand_in_for_documents() {
        let format_2 = (
            ".zmetadata",
            r#"{"metadata": {"a/.zattrs": {"x": NaN}, "b/.zattrs": {"x": NaN}}}"#,
            "b/.zattrs",
        );
        let format_3 = (
            "zarr.json",
            r#"{"consolidated_metadata": {"metadata": {
                "a": {"attributes": {"x": NaN}}, "b": {"attributes": {"x": NaN}}}}}"#,
            "b/zarr.json",
        );
        for (key, text, adopted) in [format_2, format_3] {
            let found = parse(key, text.as_bytes()).expect("JSON").1;
            let said = super::warnings(found, [adopted.to_owned()].iter());
            assert!(
                said.len() == 1 && said[0].starts_with("the attribute \"x\" of /b "),
                "{said:?}"
            );
        }
    }
}
