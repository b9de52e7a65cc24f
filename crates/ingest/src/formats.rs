//! Which format of Zarr the documents of a tree are of, by their keys.

use std::collections::BTreeSet;

use crate::SourceError;
use crate::names::{CONSOLIDATED, DOCUMENT};

/// Returns whether a key is that of a document of format 3.
pub(crate) fn is_format_3(key: &str) -> bool {
    last(key) == DOCUMENT
}

/// Returns whether a key is that of a document of format 2, or of NCZarr's, or of all of them together.
pub(crate) fn is_format_2(key: &str) -> bool {
    icefield_nczarr::is_document(key) || last(key) == CONSOLIDATED
}

/// Checks that the nodes of a tree are all of one format, or have documents of both: then that of format 3 counts, as
/// for zarr-python. `name` makes of a key what messages call it. Returns the warnings of an import.
///
/// # Errors
/// [`SourceError::MixedFormats`]: readers of either format would not see the nodes of the other.
pub(crate) fn check_formats<'a>(
    keys: impl Iterator<Item = &'a str> + Clone,
    name: impl Fn(&str) -> String,
) -> Result<Vec<String>, SourceError> {
    let node = |key: &'a str| key.rsplit_once('/').map_or("", |(node, _)| node);
    let format_3 = keys.clone().filter(|key| is_format_3(key));
    let nodes: BTreeSet<&str> = format_3.clone().map(node).collect();
    let Some(example) = format_3.min() else {
        return Ok(Vec::new());
    };
    let is_node = |key: &&str| matches!(last(key), ".zarray" | ".zgroup");
    let (mut both, mut count) = (None, 0);
    for key in keys.filter(is_node) {
        if !nodes.contains(node(key)) {
            return Err(SourceError::MixedFormats {
                format_2: name(key),
                format_3: name(example),
            });
        }
        count += 1;
        both.get_or_insert(key);
    }
    let warning = both.map(|key| {
        let key = name(key);
        format!("{count} documents of format 2, such as {key}, lie beside those of format 3, which were imported")
    });
    Ok(warning.into_iter().collect())
}

fn last(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_two_formats_are_refused_unless_they_are_the_same_ones() {
        let check = |keys: &[&str]| check_formats(keys.iter().copied(), str::to_owned);
        for keys in [
            &[".zgroup", "a/.zarray", ".zmetadata"][..],
            &["zarr.json", "a/.zattrs"],
            &[],
        ] {
            assert!(check(keys).is_ok_and(|said| said.is_empty()), "{keys:?}");
        }
        let said = check(&[".zgroup", "a/.zarray", "a/zarr.json", "zarr.json"]).expect("the same");
        assert!(
            said[0].starts_with("2 documents of format 2, such as .zgroup"),
            "{said:?}"
        );
        for keys in [["zarr.json", "a/.zarray"], [".zgroup", "a/zarr.json"]] {
            let refused = check(&keys).expect_err("mixed").to_string();
            assert!(keys.iter().all(|key| refused.contains(key)), "{refused}");
        }
    }

    #[test]
    fn what_is_a_document() {
        for key in ["zarr.json", "a/zarr.json"] {
            assert!(is_format_3(key) && !is_format_2(key), "{key}");
        }
        for key in [
            ".zarray",
            "a/.zgroup",
            "a/.zattrs",
            ".zmetadata",
            "a/.nczgroup",
        ] {
            assert!(is_format_2(key) && !is_format_3(key), "{key}");
        }
        for key in ["azarr.json", "zarr.json/c", "zarray", ".zarray/0"] {
            assert!(!is_format_2(key) && !is_format_3(key), "{key}");
        }
    }
}
