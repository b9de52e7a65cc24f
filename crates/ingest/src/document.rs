//! Editing `zarr.json` documents by the bytes of single members: all other bytes stay as they are, white
//! space and order included.

mod compare;

use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use icefield_core::{ChunkKeyEncoding, NodeMetadata};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub use compare::Difference;
pub(crate) use compare::{
    Likeness, OF_THE_WINDOW, difference_of, group_difference, is_plain_group, likeness,
};

/// The document of a group that only its children implied, in the bytes that zarr-python gives such a group.
pub(crate) const PLAIN_GROUP: &str =
    "{\n  \"attributes\": {},\n  \"zarr_format\": 3,\n  \"node_type\": \"group\"\n}";

/// The members of a JSON object in their order, as the spans of their values.
struct Members(Vec<(String, Range<usize>)>);

/// Members before their spans are known.
struct RawMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for RawMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = RawMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(RawMembers(members))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}

impl Members {
    fn of(document: &[u8]) -> Result<Self, serde_json::Error> {
        let RawMembers(members) = serde_json::from_slice(document)?;
        let members = members
            .into_iter()
            .map(|(name, value)| (name, span(document, value)))
            .collect();
        Ok(Self(members))
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|(other, _)| other == name)
    }

    fn value(&self, name: &str) -> Option<Range<usize>> {
        self.position(name)
            .map(|position| self.0[position].1.clone())
    }
}

/// Where a value lies in the document that it was borrowed from.
fn span(document: &[u8], value: &RawValue) -> Range<usize> {
    let text = value.get();
    let start = text.as_ptr() as usize - document.as_ptr() as usize;
    start..start + text.len()
}

fn replaced(document: &[u8], span: Range<usize>, with: &str) -> Bytes {
    let mut bytes = Vec::with_capacity(document.len() + with.len());
    bytes.extend_from_slice(&document[..span.start]);
    bytes.extend_from_slice(with.as_bytes());
    bytes.extend_from_slice(&document[span.end..]);
    bytes.into()
}

/// Returns the document under which a node is stored in a repository.
///
/// - An array gets the chunk key encoding `default` with `/`, because the reference implementation cannot
///   read the chunks of any other, and because keys have no meaning inside a repository.
/// - A group loses its consolidated metadata: a copy of its children that no edit keeps up to date. An
///   explicit `null` says nothing and stays.
pub(crate) fn stored(
    document: &Bytes,
    metadata: &NodeMetadata,
) -> Result<Bytes, serde_json::Error> {
    match metadata {
        NodeMetadata::Array(array) if array.chunk_key_encoding != ChunkKeyEncoding::COMMON => {
            let members = Members::of(document)?;
            let common = r#"{"name": "default", "configuration": {"separator": "/"}}"#;
            Ok(match members.value("chunk_key_encoding") {
                Some(span) => replaced(document, span, common),
                None => document.clone(),
            })
        }
        NodeMetadata::Array(_) => Ok(document.clone()),
        NodeMetadata::Group => without_consolidated(document),
    }
}

/// Returns the document of a group without its consolidated metadata.
pub(crate) fn without_consolidated(document: &Bytes) -> Result<Bytes, serde_json::Error> {
    let members = Members::of(document)?;
    Ok(match members.position("consolidated_metadata") {
        Some(position) if &document[members.0[position].1.clone()] != b"null" => {
            without(document, &members, position)
        }
        _ => document.clone(),
    })
}

/// Removes one member together with one of the commas around it.
fn without(document: &[u8], members: &Members, position: usize) -> Bytes {
    let value = &members.0[position].1;
    let span = if position > 0 {
        members.0[position - 1].1.end..value.end
    } else {
        // Only white space can stand before the first key, and before the comma behind its value.
        let open = document
            .iter()
            .position(|byte| *byte == b'{')
            .map_or(0, |at| at + 1);
        let comma = document[value.end..].iter().position(|byte| *byte == b',');
        match comma {
            Some(comma) if members.0.len() > 1 => open..value.end + comma + 1,
            _ => open..value.end,
        }
    };
    replaced(document, span, "")
}

/// Returns the document of an array with another length along one axis; only that number differs.
pub(crate) fn with_length(
    document: &Bytes,
    axis: usize,
    length: u64,
) -> Result<Bytes, serde_json::Error> {
    let members = Members::of(document)?;
    let Some(shape) = members.value("shape") else {
        return Ok(document.clone());
    };
    let shape = &document[shape];
    let lengths: Vec<&RawValue> = serde_json::from_slice(shape)?;
    Ok(match lengths.get(axis) {
        Some(number) => replaced(document, span(document, number), &length.to_string()),
        None => document.clone(),
    })
}

/// Returns the document with other values of members that it has; nothing else differs.
pub(crate) fn with_members(
    document: &Bytes,
    values: &[(&str, String)],
) -> Result<Bytes, serde_json::Error> {
    let mut document = document.clone();
    for (name, value) in values {
        if let Some(span) = Members::of(&document)?.value(name) {
            document = replaced(&document, span, value);
        }
    }
    Ok(document)
}

/// Returns the document of a node with other attributes.
pub(crate) fn with_attributes(
    document: &Bytes,
    attributes: &Map<String, Value>,
) -> Result<Bytes, serde_json::Error> {
    let text = serde_json::to_string(attributes)?;
    if Members::of(document)?.position("attributes").is_some() {
        return with_members(document, &[("attributes", text)]);
    }
    let mut members: Map<String, Value> = serde_json::from_slice(document)?;
    members.insert("attributes".to_owned(), Value::Object(attributes.clone()));
    Ok(serde_json::to_vec(&members)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored_text(document: &str) -> String {
        let bytes = Bytes::copy_from_slice(document.as_bytes());
        let metadata = NodeMetadata::parse_new(document.as_bytes(), 1 << 20).expect("valid");
        String::from_utf8(stored(&bytes, &metadata).expect("edits").to_vec()).expect("UTF-8")
    }

    #[test]
    fn only_the_encoding_of_an_array_is_rewritten() {
        let array = |encoding: &str| {
            format!(
                "{{ \"node_type\":\"array\",\n\t\"zarr_format\":3 , \"shape\":[1.0e1],\"odd\\u0020key\":[ ],\
                 \"chunk_grid\":{{\"name\":\"regular\",\"configuration\":{{\"chunk_shape\":[3]}}}},\
                 \"chunk_key_encoding\" : {encoding} ,\"attributes\":{{\"b\":1,\"a\":1.50}}}}\n"
            )
            .replace("[1.0e1]", "[10]")
        };
        let common = r#"{"name": "default", "configuration": {"separator": "/"}}"#;
        for other in [
            r#"{"name":"v2"}"#,
            r#"{"name":"v2","configuration":{"separator":"/"}}"#,
            r#"{"name":"default","configuration":{"separator":"."}}"#,
        ] {
            assert_eq!(stored_text(&array(other)), array(common));
        }
        for same in [r#"{"name":"default"}"#, r#"{ "name" : "default" }"#, common] {
            assert_eq!(stored_text(&array(same)), array(same));
        }
    }

    #[test]
    fn a_group_loses_its_consolidated_metadata_wherever_it_stands() {
        let body = r#""node_type":"group", "zarr_format": 3"#;
        let old = r#""consolidated_metadata" : {"kind":"inline","metadata":{"x":{"a":[1,"},"]}}}"#;
        let cases = [
            (format!("{{{body}}}"), format!("{{{body}}}")),
            (format!("{{ {old} , {body}}}"), format!("{{ {body}}}")),
            (format!("{{{body},\n{old}\n}}"), format!("{{{body}\n}}")),
            (
                format!("{{{body}, {old} , \"attributes\":{{}}}}"),
                format!("{{{body} , \"attributes\":{{}}}}"),
            ),
        ];
        for (document, expected) in cases {
            assert_eq!(stored_text(&document), expected);
        }
        let null = format!("{{{body}, \"consolidated_metadata\": null}}");
        assert_eq!(stored_text(&null), null);
        let escaped = format!("{{{body}, \"consolidated\\u005fmetadata\": {{}}}}");
        assert_eq!(stored_text(&escaped), format!("{{{body}}}"));
    }

    #[test]
    fn attributes_change_and_nothing_else() {
        let attributes = Map::from_iter([("a".to_owned(), 1.into())]);
        for (document, expected) in [
            (
                r#"{ "attributes" : {"b":2}, "shape": [ 1 ]}"#,
                r#"{ "attributes" : {"a":1}, "shape": [ 1 ]}"#,
            ),
            (
                r#"{ "shape": [ 1 ]}"#,
                r#"{"shape":[1],"attributes":{"a":1}}"#,
            ),
        ] {
            let document = Bytes::copy_from_slice(document.as_bytes());
            let found = with_attributes(&document, &attributes).expect("edits");
            assert_eq!(found, expected.as_bytes());
        }
    }

    #[test]
    fn one_length_changes_and_nothing_else() {
        let document = Bytes::from_static(b"{\n \"a\": [1, 2], \"shape\" : [ 1,\n  22 , 3 ]}");
        let longer = with_length(&document, 1, 23_000).expect("edits");
        assert_eq!(
            longer,
            "{\n \"a\": [1, 2], \"shape\" : [ 1,\n  23000 , 3 ]}".as_bytes()
        );
        assert_eq!(with_length(&document, 3, 1).expect("edits"), document);
    }
}
