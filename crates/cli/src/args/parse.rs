//! Parsers of argument values that several commands have.

use std::error::Error;

use icefield::format::{PathError, SpecVersion};
use icefield::{BranchName, NameError, NodePath, TagName};

/// Returns a parser whose error is the message with all its causes. clap prints only the first message, and the last one often
/// names the rule that the text breaks.
pub(super) fn with_causes<T, E: Error>(
    parse: impl Fn(&str) -> Result<T, E> + Clone,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| parse(text).map_err(|error| icefield::storage::with_causes(&error))
}

/// Parses a node path with or without its first slash. Ignores slashes at the end.
pub(super) fn node_path(text: &str) -> Result<NodePath, PathError> {
    match text.trim_matches('/') {
        "" => Ok(NodePath::root()),
        relative => NodePath::root().join(relative),
    }
}

pub(super) fn new_branch(text: &str) -> Result<BranchName, NameError> {
    BranchName::parse_new(text)
}

pub(super) fn new_tag(text: &str) -> Result<TagName, NameError> {
    TagName::parse_new(text)
}

pub(super) fn spec_version(text: &str) -> Result<SpecVersion, String> {
    match text {
        "1" => Ok(SpecVersion::V1),
        "2" => Ok(SpecVersion::V2),
        _ => Err("the format has versions 1 and 2".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_need_no_first_slash() {
        let path = |text| node_path(text).expect("a path").to_string();
        assert_eq!(
            [path(""), path("/"), path("a/b"), path("/a/b/")],
            ["/", "/", "/a/b", "/a/b"]
        );
        assert!(node_path("a//b").is_err() && node_path("../a").is_err());
    }
}
