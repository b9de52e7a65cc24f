//! Comparing and merging `zarr.json` documents member by member, every member that is not touched kept byte
//! for byte.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// Attributes that say what the indices of an array stand for: changing one changes the meaning of every
/// chunk.
const INDEX_ATTRIBUTES: [&str; 2] = ["origin", "_offset"];

/// Members that may differ without changing the meaning of a chunk.
const HARMLESS_MEMBERS: [&str; 4] = [
    "attributes",
    "shape",
    "dimension_names",
    "consolidated_metadata",
];

/// A JSON object as a list of members in their order, their values as written.
#[derive(Debug, Default)]
pub(crate) struct Members(Vec<(String, Box<RawValue>)>);

impl Members {
    fn parse(document: &[u8]) -> Option<Self> {
        serde_json::from_slice(document).ok()
    }

    fn get(&self, name: &str) -> Option<&RawValue> {
        self.0
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, value)| &**value)
    }

    /// Puts a value in the place of the member's old one, or at the end; `None` removes it.
    fn put(&mut self, name: &str, value: Option<Box<RawValue>>) {
        let place = self.0.iter().position(|(other, _)| other == name);
        match (place, value) {
            (Some(place), Some(value)) => self.0[place].1 = value,
            (Some(place), None) => {
                self.0.remove(place);
            }
            (None, Some(value)) => self.0.push((name.to_owned(), value)),
            (None, None) => {}
        }
    }

    /// The names of the members that differ from those of `other`, compared as values.
    fn differing(&self, other: &Self) -> BTreeSet<String> {
        let names = self.0.iter().chain(&other.0).map(|(name, _)| name);
        names
            .filter(|name| !same(self.get(name), other.get(name)))
            .cloned()
            .collect()
    }

    fn attributes(&self) -> Option<Self> {
        match self.get("attributes") {
            None => Some(Self::default()),
            Some(raw) => serde_json::from_str(raw.get()).ok(),
        }
    }

    fn text(&self) -> Option<String> {
        let mut text = String::from("{");
        for (number, (name, value)) in self.0.iter().enumerate() {
            if number > 0 {
                text.push(',');
            }
            text.push_str(&serde_json::to_string(name).ok()?);
            text.push(':');
            text.push_str(value.get());
        }
        text.push('}');
        Some(text)
    }
}

/// Whether two members hold the same value.
fn same(a: Option<&RawValue>, b: Option<&RawValue>) -> bool {
    let (Some(a), Some(b)) = (a, b) else {
        return a.is_none() && b.is_none();
    };
    let (a, b) = (a.get(), b.get());
    // Numbers of many digits are rounded when they are parsed: only their texts can be compared.
    let exact = |text: &str| {
        !text
            .split(|c: char| !c.is_ascii_digit())
            .any(|run| run.len() > 15)
    };
    a == b
        || (exact(a)
            && exact(b)
            && match (
                serde_json::from_str::<Value>(a),
                serde_json::from_str::<Value>(b),
            ) {
                (Ok(a), Ok(b)) => a == b,
                _ => false,
            })
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Members, A::Error> {
                let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
                let mut names = BTreeSet::new();
                while let Some((name, value)) = access.next_entry::<String, _>()? {
                    if !names.insert(name.clone()) {
                        return Err(serde::de::Error::custom("a member is there twice"));
                    }
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

/// Returns by how many chunks per dimension the chunks of an array moved with a change of its metadata, by what the
/// attribute `origin` says, the absolute index of element 0 per dimension. `None` if that, or the lengths of chunks, do not
/// stand in both.
pub(crate) fn moved_by(from: &[u8], to: &[u8]) -> Option<Vec<i64>> {
    let (before, lengths) = origin_and_chunks(from)?;
    let (after, others) = origin_and_chunks(to)?;
    if lengths != others || before.len() != lengths.len() || after.len() != lengths.len() {
        return None;
    }
    let axes = before.iter().zip(&after).zip(&lengths);
    axes.map(|((before, after), length)| {
        let by = before.checked_sub(*after)?;
        (by.checked_rem(*length)? == 0).then(|| by / length)
    })
    .collect()
}

/// Returns how many chunks at the start of each dimension a window hides, in part or whole: by the attributes
/// `window_start`, the absolute index of the first element that is shown, and `masked_elements`. Empty without them.
pub(crate) fn hidden_chunks(document: &[u8]) -> Vec<u32> {
    let Ok(document) = serde_json::from_slice::<Value>(document) else {
        return Vec::new();
    };
    let numbers = |pointer: &str| -> Option<Vec<i64>> {
        let values = document.pointer(pointer)?.as_array()?;
        values.iter().map(Value::as_i64).collect()
    };
    let Some(lengths) = numbers("/chunk_grid/configuration/chunk_shape") else {
        return Vec::new();
    };
    let origin = numbers("/attributes/origin");
    let start = numbers("/attributes/window_start");
    let masked = numbers("/attributes/masked_elements");
    if start.is_none() && masked.is_none() {
        return Vec::new();
    }
    let at = |numbers: &Option<Vec<i64>>, axis: usize| {
        let number = numbers.as_ref().and_then(|numbers| numbers.get(axis));
        number.copied()
    };
    let axes = lengths.iter().enumerate().map(|(axis, length)| {
        let before = at(&start, axis).unwrap_or(0);
        let before = match start {
            Some(_) => before.saturating_sub(at(&origin, axis).unwrap_or(0)),
            None => 0,
        };
        let hidden = before.max(at(&masked, axis).unwrap_or(0)).max(0) as u64;
        let chunks = hidden.div_ceil((*length).max(1) as u64);
        u32::try_from(chunks).unwrap_or(u32::MAX)
    });
    axes.collect()
}

/// The absolute index of element 0 of an array, and its elements per chunk.
fn origin_and_chunks(document: &[u8]) -> Option<(Vec<i64>, Vec<i64>)> {
    let document: Value = serde_json::from_slice(document).ok()?;
    let numbers = |pointer: &str| -> Option<Vec<i64>> {
        let values = document.pointer(pointer)?.as_array()?;
        values.iter().map(Value::as_i64).collect()
    };
    let lengths = numbers("/chunk_grid/configuration/chunk_shape")?;
    Some((numbers("/attributes/origin")?, lengths))
}

/// Returns an array's document with another shape and other values of some attributes, `None` to remove one; every other
/// member stays as it is, byte for byte. `None` if the document is no JSON object.
pub fn with_shape_and_attributes(
    document: &[u8],
    shape: Option<&[u64]>,
    attributes: &[(&str, Option<Value>)],
) -> Option<Vec<u8>> {
    let raw = |value: String| RawValue::from_string(value).ok();
    let mut members = Members::parse(document)?;
    if let Some(shape) = shape {
        members.put("shape", Some(raw(serde_json::to_string(shape).ok()?)?));
    }
    if !attributes.is_empty() {
        let mut all = members.attributes()?;
        for (name, value) in attributes {
            let value = match value {
                Some(value) => Some(raw(value.to_string())?),
                None => None,
            };
            all.put(name, value);
        }
        members.put("attributes", Some(raw(all.text()?)?));
    }
    members.text().map(String::into_bytes)
}

/// How far a change of a node's metadata reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// No value differs.
    Nothing,
    /// Attributes that say nothing of indices.
    Attributes,
    /// Also the shape or the names of dimensions; chunks inside both grids keep their place and meaning.
    Shape,
    /// Also what the indices stand for; chunks mean the same, at another place.
    Origin,
    /// Chunks have another meaning.
    Chunks,
}

/// Returns how far the change from one document to another reaches. Documents that are no JSON objects differ
/// in everything.
pub(crate) fn reach(from: &[u8], to: &[u8]) -> Reach {
    let (Some(from), Some(to)) = (Members::parse(from), Members::parse(to)) else {
        return Reach::Chunks;
    };
    let members = from.differing(&to);
    if members
        .iter()
        .any(|name| !HARMLESS_MEMBERS.contains(&name.as_str()))
    {
        return Reach::Chunks;
    }
    let mut moves = false;
    if members.contains("attributes") {
        match (from.attributes(), to.attributes()) {
            (Some(from), Some(to)) => {
                let changed = from.differing(&to);
                moves = INDEX_ATTRIBUTES.iter().any(|name| changed.contains(*name));
            }
            _ => return Reach::Chunks,
        }
    }
    if moves {
        return Reach::Origin;
    }
    match (
        members.contains("shape") || members.contains("dimension_names"),
        members.is_empty(),
    ) {
        (true, _) => Reach::Shape,
        (false, true) => Reach::Nothing,
        (false, false) => Reach::Attributes,
    }
}

/// Merges two edits of one document, if they are provably independent: equal, or edits of attributes with
/// different names. The result is *theirs* with our attributes put in.
pub(crate) fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    if ours == theirs {
        return Some(theirs.to_vec());
    }
    let (base, ours) = (Members::parse(base)?, Members::parse(ours)?);
    let mut merged = Members::parse(theirs)?;
    if ours.differing(&merged).is_empty() {
        return Some(theirs.to_vec());
    }
    if base.differing(&ours).is_empty() {
        return Some(theirs.to_vec());
    }
    let only_attributes =
        |changed: BTreeSet<String>| changed.iter().all(|name| name == "attributes");
    if !only_attributes(base.differing(&ours)) || !only_attributes(base.differing(&merged)) {
        return None;
    }
    let (base, ours, mut attributes) =
        (base.attributes()?, ours.attributes()?, merged.attributes()?);
    let (by_us, by_them) = (base.differing(&ours), base.differing(&attributes));
    for name in &by_us {
        if by_them.contains(name) && !same(ours.get(name), attributes.get(name)) {
            return None;
        }
        attributes.put(name, ours.get(name).map(ToOwned::to_owned));
    }
    let raw = RawValue::from_string(attributes.text()?).ok()?;
    merged.put("attributes", Some(raw));
    merged.text().map(String::into_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(attributes: &str, rest: &str) -> Vec<u8> {
        format!(r#"{{"zarr_format":3,"node_type":"array","attributes":{attributes}{rest}}}"#)
            .into_bytes()
    }

    #[test]
    fn attributes_of_different_names_are_merged() {
        let base = document(r#"{"a":1,"b":[1, 2],"c":0}"#, r#","shape":[1]"#);
        let ours = document(r#"{"a":2,"b":[1, 2]}"#, r#","shape":[1]"#);
        let theirs = document(
            r#"{"a":1,"b":[1, 2],"c":0,"d":{"x":1.50}}"#,
            r#","shape":[1]"#,
        );
        let merged = merge(&base, &ours, &theirs).expect("independent");
        let expected = document(r#"{"a":2,"b":[1, 2],"d":{"x":1.50}}"#, r#","shape":[1]"#);
        assert_eq!(merged, expected);
    }

    #[test]
    fn edits_of_one_attribute_or_of_other_members_are_not_merged() {
        let base = document(r#"{"a":1}"#, r#","shape":[1]"#);
        let ours = document(r#"{"a":2}"#, r#","shape":[1]"#);
        let theirs = document(r#"{"a":3}"#, r#","shape":[1]"#);
        let resized = document(r#"{"a":1}"#, r#","shape":[2]"#);
        assert_eq!(merge(&base, &ours, &theirs), None);
        assert_eq!(merge(&base, &ours, &resized), None);
        assert_eq!(merge(&base, &resized, &theirs), None);
        assert_eq!(merge(&base, &ours, &ours), Some(ours.clone()));
        assert_eq!(merge(b"nonsense", &ours, &theirs), None);
    }

    #[test]
    fn long_numbers_are_compared_as_they_are_written() {
        let number = |text: &str| document(&format!(r#"{{"n":{text}}}"#), "");
        let (a, b) = (number("9007199254740993"), number("9007199254740992.0"));
        assert_eq!(reach(&a, &b), Reach::Attributes);
        assert_eq!(reach(&number("1.0"), &number("1.00")), Reach::Nothing);
        let twice = document("{}", r#","shape":[1],"shape":[2]"#);
        assert_eq!(reach(&twice, &twice), Reach::Chunks);
    }

    #[test]
    fn the_reach_of_a_change_is_what_chunks_may_rely_on() {
        let base = document(r#"{"a":1,"origin":0}"#, r#","shape":[1],"fill_value":0"#);
        for (other, reached) in [
            (
                document(r#"{"origin":0,"a":1}"#, r#","shape":[1],"fill_value":0"#),
                Reach::Nothing,
            ),
            (
                document(r#"{"a":2,"origin":0}"#, r#","shape":[1],"fill_value":0"#),
                Reach::Attributes,
            ),
            (
                document(r#"{"a":1,"origin":4}"#, r#","shape":[2],"fill_value":0"#),
                Reach::Origin,
            ),
            (
                document(r#"{"a":1,"origin":4}"#, r#","shape":[1],"fill_value":1"#),
                Reach::Chunks,
            ),
            (
                document(r#"{"a":1,"origin":0}"#, r#","shape":[9],"fill_value":0"#),
                Reach::Shape,
            ),
            (
                document(r#"{"a":1,"origin":0}"#, r#","shape":[1],"fill_value":1"#),
                Reach::Chunks,
            ),
        ] {
            assert_eq!(reach(&base, &other), reached);
        }
    }
}
