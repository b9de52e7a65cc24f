//! Consolidated metadata: copies of the documents of a tree in one of them, which no writer of the tree has to keep up to
//! date. The documents themselves count.
//!
//! ```text
//! document   copy     has keys below   imported
//! same       same                      the document
//! other      other                     the document, with a warning
//! none       there    yes              the copy, with a warning
//! none       there    no               nothing, with a warning: it was deleted
//! ```

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Map, Value};

use crate::formats::is_format_3;
use crate::names::DOCUMENT;

/// The member of a group's `zarr.json` with the copies of all documents below it.
pub(crate) const MEMBER: &str = "consolidated_metadata";
/// Nodes that a warning names.
const NAMED: usize = 10;

/// Where copies and documents part; nodes by their path without a first slash.
#[derive(Debug, Default)]
pub(crate) struct Parted {
    /// The document is another one than its copy, or one of the two is not there.
    pub(crate) changed: BTreeSet<String>,
    /// There is a copy, and something lies below the node.
    pub(crate) adopted: BTreeSet<String>,
    /// There is nothing but the copy.
    pub(crate) gone: BTreeSet<String>,
}

impl Parted {
    /// Returns the warnings of an import; `name` is what messages call the document with the copies.
    pub(crate) fn warnings(&self, name: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut say = |nodes: &BTreeSet<String>, text: &dyn Fn(String) -> String| {
            if !nodes.is_empty() {
                warnings.push(text(named(nodes)));
            }
        };
        say(&self.changed, &|nodes| {
            format!(
                "the consolidated metadata in {name} is out of date for {nodes}: their own documents were imported; consolidate the tree again for its readers"
            )
        });
        say(&self.adopted, &|nodes| {
            format!(
                "there is no document of {nodes}: imported as the consolidated metadata in {name} says"
            )
        });
        say(&self.gone, &|nodes| {
            format!(
                "the consolidated metadata in {name} lists {nodes}, of which the tree has neither a document nor a chunk: left out"
            )
        });
        warnings
    }
}

fn named(nodes: &BTreeSet<String>) -> String {
    let mut text: Vec<String> = nodes
        .iter()
        .take(NAMED)
        .map(|it| format!("/{it}"))
        .collect();
    if let Some(more) = nodes.len().checked_sub(NAMED).filter(|more| *more > 0) {
        text.push(format!("{more} more"));
    }
    text.join(", ")
}

/// Compares the documents of a tree, or of the part of it below `scope`, with their copies. Returns where the two part, and
/// the copies that stand in for documents. `has_keys` tells whether anything lies below a node. The document with the copies
/// may be among the others, but has no copy itself.
pub(crate) fn reconcile(
    documents: &[(String, Value)],
    copies: Map<String, Value>,
    scope: &str,
    has_keys: impl Fn(&str) -> bool,
) -> (Parted, Vec<(String, Value)>) {
    let mut parted = Parted::default();
    let own = nodes(documents.iter().map(|(key, _)| key));
    let copied = nodes(copies.keys());
    for node in copied.difference(&own) {
        let kind = match has_keys(node) {
            true => &mut parted.adopted,
            false => &mut parted.gone,
        };
        kind.insert(node.clone());
    }
    for (key, document) in documents {
        let node = node_of(key);
        let is_same = match copies.get(key) {
            Some(copy) => is_same(document, copy),
            None => is_nothing(key, document) || (is_format_3(key) && node == scope),
        };
        if !is_same && own.contains(node) {
            parted.changed.insert(node.to_owned());
        }
    }
    let keys: HashSet<&str> = documents.iter().map(|(key, _)| key.as_str()).collect();
    let mut added = Vec::new();
    for (key, copy) in copies {
        let node = node_of(&key);
        if keys.contains(key.as_str()) {
            continue;
        } else if own.contains(node) && !is_nothing(&key, &copy) {
            parted.changed.insert(node.to_owned());
        } else if parted.adopted.contains(node) {
            added.push((key, copy));
        }
    }
    (parted, added)
}

/// Reconciles the documents of a tree of format 3 with the copies in those of groups, upper groups first, and adds the
/// copies that stand in for documents. `name` makes of a key what messages call it. Returns the warnings of an import.
pub(crate) fn reconcile_inline(
    documents: &mut Vec<(String, Value)>,
    has_keys: impl Fn(&str) -> bool,
    name: impl Fn(&str) -> String,
) -> Vec<String> {
    documents.sort_by(|(a, _), (b, _)| a.cmp(b));
    let has_copies = |document: &Value| document.get(MEMBER).is_some_and(|it| !it.is_null());
    let groups = documents
        .iter()
        .filter(|(_, document)| has_copies(document));
    let mut groups: Vec<&(String, Value)> = groups.collect();
    groups.sort_by_key(|(key, _)| key.len());
    let (mut adopted, mut said) = (BTreeMap::new(), Vec::new());
    for (key, document) in groups {
        let group = node_of(key);
        let copies = copies_by_key(key, document).filter(|(key, _)| !adopted.contains_key(key));
        let copies = copies.map(|(key, copy)| (key, copy.clone())).collect();
        let (parted, added) = reconcile(part(documents, group), copies, group, &has_keys);
        said.extend(parted.warnings(&name(key)));
        adopted.extend(added);
    }
    documents.extend(adopted);
    said
}

/// The documents at a node and below it, of documents in the order of their keys.
fn part<'a>(documents: &'a [(String, Value)], node: &str) -> &'a [(String, Value)] {
    if node.is_empty() {
        return documents;
    }
    let directory = format!("{node}/");
    let start = documents.partition_point(|(key, _)| *key < directory);
    let rest = documents.get(start..).unwrap_or_default();
    let end = rest.partition_point(|(key, _)| key.starts_with(&directory));
    rest.get(..end).unwrap_or_default()
}

/// The nodes of keys: attributes alone make none.
fn nodes<'a>(keys: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let is_one = |key: &&String| {
        let name = key.rsplit('/').next().unwrap_or(key);
        matches!(name, DOCUMENT | ".zarray" | ".zgroup")
    };
    keys.filter(is_one)
        .map(|key| node_of(key).to_owned())
        .collect()
}

fn node_of(key: &str) -> &str {
    key.rsplit_once('/').map_or("", |(node, _)| node)
}

/// Attributes that are none need no document.
fn is_nothing(key: &str, document: &Value) -> bool {
    key.ends_with(".zattrs") && document.as_object().is_some_and(Map::is_empty)
}

/// Compares a document with its copy, but for further copies in it.
fn is_same(document: &Value, copy: &Value) -> bool {
    let (Some(document), Some(copy)) = (document.as_object(), copy.as_object()) else {
        return document == copy;
    };
    let rest = |it: &Map<String, Value>| {
        let mut it = it.clone();
        it.remove(MEMBER);
        // Groups may leave out that they have none.
        if it
            .get("attributes")
            .and_then(Value::as_object)
            .is_some_and(Map::is_empty)
        {
            it.remove("attributes");
        }
        it
    };
    rest(document) == rest(copy)
}

/// The copies in the document of a group, by path from there.
fn copies_of(document: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let copies = document
        .get(MEMBER)
        .and_then(|it| it.get("metadata")?.as_object());
    let copies = copies.into_iter().flatten();
    copies.map(|(path, copy)| (path.trim_matches('/'), copy))
}

/// The copies in the document of a group, whose key is given, by the keys of the documents that they are copies of.
pub(crate) fn copies_by_key<'a>(
    key: &str,
    document: &'a Value,
) -> impl Iterator<Item = (String, &'a Value)> + use<'a> {
    let group = node_of(key).to_owned();
    copies_of(document).map(move |(path, copy)| match group.as_str() {
        "" => (format!("{path}/{DOCUMENT}"), copy),
        group => (format!("{group}/{path}/{DOCUMENT}"), copy),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn documents(of: &[(&str, Value)]) -> Vec<(String, Value)> {
        of.iter()
            .map(|(key, document)| ((*key).to_owned(), document.clone()))
            .collect()
    }

    fn names(nodes: &BTreeSet<String>) -> Vec<&str> {
        nodes.iter().map(String::as_str).collect()
    }

    #[test]
    fn documents_count_and_copies_stand_in_for_those_that_are_missing() {
        let all = documents(&[
            (".zgroup", json!({"zarr_format": 2})),
            ("same/.zarray", json!({"shape": [1]})),
            ("same/.zattrs", json!({})),
            ("grown/.zarray", json!({"shape": [2]})),
            ("said/.zarray", json!(1)),
            ("said/.zattrs", json!({"units": "K"})),
            ("late/.zarray", json!(1)),
            ("bare/.zarray", json!(1)),
        ]);
        let copies = json!({
            ".zgroup": {"zarr_format": 2}, ".zattrs": {},
            "same/.zarray": {"shape": [1]}, "grown/.zarray": {"shape": [1]}, "said/.zarray": 1,
            "bare/.zarray": 1, "bare/.zattrs": {"units": "K"},
            "gone/.zarray": 1, "lost/.zarray": 2, "lost/.zattrs": {"a": 1},
        });
        let Value::Object(copies) = copies else {
            panic!()
        };
        let (parted, added) = reconcile(&all, copies, "", |node| node == "lost");
        assert_eq!(names(&parted.changed), ["bare", "grown", "late", "said"]);
        assert_eq!(
            (names(&parted.adopted), names(&parted.gone)),
            (vec!["lost"], vec!["gone"])
        );
        let expected = documents(&[
            ("lost/.zarray", json!(2)),
            ("lost/.zattrs", json!({"a": 1})),
        ]);
        assert_eq!(added, expected);
        let warnings = parted.warnings("T");
        assert!(
            warnings[0].contains("/bare, /grown, /late, /said"),
            "{warnings:?}"
        );
        assert_eq!(warnings.len(), 3);
    }

    #[test]
    fn only_what_lies_below_the_group_is_compared() {
        let array = json!({"node_type": "array"});
        let copies = json!({"kind": "inline", "metadata": {"x": array, "y": array}});
        let mut all = documents(&[
            ("zarr.json", json!({"node_type": "group"})),
            ("z/zarr.json", array.clone()),
            (
                "g/zarr.json",
                json!({"node_type": "group", "consolidated_metadata": copies}),
            ),
            ("g/x/zarr.json", array.clone()),
            ("gg/zarr.json", array.clone()),
        ]);
        let said = reconcile_inline(&mut all, |_| false, str::to_owned);
        assert!(
            said.len() == 1 && said[0].contains("g/zarr.json lists /g/y"),
            "{said:?}"
        );
        all.push(("g/late/zarr.json".to_owned(), array));
        let said = reconcile_inline(&mut all, |_| true, str::to_owned);
        assert!(
            said[0].contains("/g/late") && said[1].starts_with("there is no document of /g/y:"),
            "{said:?}"
        );
        assert_eq!(said.len(), 2);
    }

    #[test]
    fn names_are_counted_beyond_some() {
        let changed = (0..25).map(|number| number.to_string()).collect();
        let parted = Parted {
            changed,
            ..Parted::default()
        };
        assert!(parted.warnings("T")[0].contains("15 more"));
    }
}
