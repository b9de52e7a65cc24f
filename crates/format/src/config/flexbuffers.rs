//! The configuration of spec 2: the tree of `config.yaml` in FlexBuffers (spec 2, §3.1).
//!
//! The two forms differ where a value is one of several kinds: YAML has a tag (`!name_matches {regex: …}`), and a map of
//! FlexBuffers has the kind as its only key. Such values stand at three places of the tree only, so that a map with one
//! entry stays one everywhere else.

use bytes::Bytes;
use serde_yaml_ng::value::{Tag, TaggedValue};
use serde_yaml_ng::{Mapping, Value};

use super::repository::{MAX_FILE_LEN, MAX_IN_MEMORY, RepositoryConfig};
use super::section::{Entry, invalid};
use crate::error::{FormatError, FormatFile};
use crate::flexbuffers;

/// Kinds of conditions on arrays and on axes, and of bounds.
const CONDITIONS: &[&str] = &[
    "or",
    "and",
    "path_matches",
    "name_matches",
    "num_refs",
    "Included",
    "Excluded",
    "Axis",
    "DimensionName",
];
/// Kinds of stores.
const STORES: &[&str] = &[
    "s3",
    "s3_compatible",
    "tigris",
    "gcs",
    "azure",
    "http",
    "local_file_system",
];

impl RepositoryConfig {
    /// Reads the configuration out of `repo`.
    ///
    /// # Errors
    /// `TooLarge`; `FlexBuffers` if it is no such buffer; `ConfigValue` with the key at fault.
    pub fn decode_flexbuffers(document: &[u8]) -> Result<Self, FormatError> {
        let file = FormatFile::RepoInfo;
        if document.len() > MAX_FILE_LEN {
            let limit = MAX_FILE_LEN as u64;
            return Err(FormatError::TooLarge { file, limit });
        }
        let value = flexbuffers::decode_flexbuffers(document, MAX_IN_MEMORY);
        let value = value.map_err(|reason| {
            let name = "config".to_owned();
            FormatError::FlexBuffers { file, name, reason }
        })?;
        let mut value = serde_yaml_ng::to_value(value).map_err(|error| invalid("", error))?;
        for (path, kinds) in [
            (&["manifest", "preload", "preload_if"][..], CONDITIONS),
            (&["manifest", "splitting", "split_sizes"], CONDITIONS),
        ] {
            let place = path
                .iter()
                .try_fold(&mut value, |value, key| value.get_mut(key));
            if let Some(place) = place {
                tag(place, kinds);
            }
        }
        if let Some(Value::Mapping(containers)) = value.get_mut("virtual_chunk_containers") {
            for (_, container) in containers.iter_mut() {
                if let Some(store) = container.get_mut("store") {
                    tag_one(store, STORES);
                }
            }
        }
        Self::read(value, "").map_err(|error| match error {
            FormatError::Yaml { key, source } => {
                let source = Some(source);
                FormatError::ConfigValue { file, key, source }
            }
            FormatError::NotAMapping { key } => {
                let source = None;
                FormatError::ConfigValue { file, key, source }
            }
            other => other,
        })
    }

    /// Returns the configuration as it stands in `repo`: all known keys, null where nothing is set.
    ///
    /// # Errors
    /// `Yaml` and `FlexBuffers` if a value that was kept as it is cannot be written.
    pub fn encode_flexbuffers(&self) -> Result<Bytes, FormatError> {
        let file = FormatFile::RepoInfo;
        let value = json(self.write()?)?;
        let document = flexbuffers::encode_flexbuffers(&value).map_err(|reason| {
            let name = "config".to_owned();
            FormatError::FlexBuffers { file, name, reason }
        })?;
        Ok(Bytes::from(document))
    }
}

/// Makes a tagged value of a map whose only key is one of these kinds.
fn tag_one(value: &mut Value, kinds: &[&str]) {
    let Value::Mapping(map) = &mut *value else {
        return;
    };
    let [kind] = &map.keys().collect::<Vec<_>>()[..] else {
        return;
    };
    let Some(kind) = kind.as_str().filter(|kind| kinds.contains(kind)) else {
        return;
    };
    let tag = Tag::new(kind);
    let inner = std::mem::take(map).into_iter().next();
    if let Some((_, value_of_kind)) = inner {
        *value = Value::Tagged(Box::new(TaggedValue {
            tag,
            value: value_of_kind,
        }));
    }
}

/// Makes tagged values of all such maps in a value. Its depth is bounded: it was read as FlexBuffers.
fn tag(value: &mut Value, kinds: &[&str]) {
    match &mut *value {
        Value::Sequence(items) => items.iter_mut().for_each(|item| tag(item, kinds)),
        Value::Mapping(map) => map.iter_mut().for_each(|(_, item)| tag(item, kinds)),
        _ => {}
    }
    tag_one(value, kinds);
}

/// Returns a value of YAML as JSON; a tag becomes the only key of an object.
fn json(value: Value) -> Result<serde_json::Value, FormatError> {
    Ok(match value {
        Value::Sequence(items) => {
            let items = items.into_iter().map(json);
            serde_json::Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Mapping(map) => object(map)?,
        Value::Tagged(tagged) => {
            let kind = tagged.tag.to_string();
            let kind = kind.trim_start_matches('!').to_owned();
            serde_json::Value::Object([(kind, json(tagged.value)?)].into_iter().collect())
        }
        plain => serde_json::to_value(plain).unwrap_or_default(),
    })
}

fn object(map: Mapping) -> Result<serde_json::Value, FormatError> {
    let mut object = serde_json::Map::new();
    for (key, value) in map {
        let key = match key {
            Value::String(key) => key,
            // A key that JSON has not, such as a number: as it is spelt.
            key => serde_yaml_ng::to_string(&key)
                .map_err(|error| invalid("", error))?
                .trim_end()
                .to_owned(),
        };
        object.insert(key, json(value)?);
    }
    Ok(serde_json::Value::Object(object))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::manifest::LocationCompression;

    fn read(value: &serde_json::Value) -> RepositoryConfig {
        let document = flexbuffers::encode_flexbuffers(value).expect("it has a form");
        RepositoryConfig::decode_flexbuffers(&document).expect("it is a configuration")
    }

    #[test]
    fn settings_of_spec_2_have_defaults() {
        let config = read(&json!({}));
        assert_eq!(config.updates_per_page(), 1000);
        assert_eq!(config.location_compression(), None);
        for section in [json!(null), json!(true)] {
            let config =
                read(&json!({"manifest": {"virtual_chunk_location_compression": section}}));
            assert_eq!(config.location_compression(), None);
        }
        let config = read(&json!({"manifest": {"virtual_chunk_location_compression": {}}}));
        let default = LocationCompression::default();
        assert_eq!(config.location_compression(), Some(default));
        let config = read(&json!({
            "num_updates_per_repo_info_file": 3,
            "manifest": {"virtual_chunk_location_compression": {
                "min_num_chunks": 7, "compression_level": -5, "dictionary_max_size_bytes": "many",
            }},
        }));
        assert_eq!(config.updates_per_page(), 3);
        let expected = LocationCompression {
            min_num_chunks: 7,
            compression_level: -5,
            ..LocationCompression::default()
        };
        assert_eq!(config.location_compression(), Some(expected));
        let config = read(&json!({"num_updates_per_repo_info_file": 0}));
        assert_eq!(config.updates_per_page(), 1000);
        let config = read(&json!({"num_updates_per_repo_info_file": 70_000}));
        assert_eq!(config.updates_per_page(), 1000);
    }

    #[test]
    fn a_map_with_one_entry_stays_one_where_no_kind_stands() {
        let config = read(&json!({"new_section": {"or": [1]}, "caching": {"num_chunk_refs": 5}}));
        let document = config.encode_flexbuffers().expect("it has a form");
        let again = flexbuffers::decode_flexbuffers(&document, 1 << 20).expect("it is one");
        assert_eq!(again["new_section"], json!({"or": [1]}));
        assert_eq!(again["caching"]["num_chunk_refs"], 5);
        assert_eq!(again["manifest"], json!(null));
    }

    #[test]
    fn what_is_no_configuration_is_told_with_its_key() {
        for (value, rule) in [
            (json!([1]), "in its configuration"),
            (
                json!({"inline_chunk_threshold_bytes": "x"}),
                "inline_chunk_threshold_bytes",
            ),
            (
                json!({"manifest": {"preload": {"preload_if": {"unheard_of": 1}}}}),
                "manifest.preload",
            ),
            (
                json!({"manifest": {"splitting": {"split_sizes": [1]}}}),
                "manifest.splitting",
            ),
        ] {
            let document = flexbuffers::encode_flexbuffers(&value).expect("it has a form");
            let error = RepositoryConfig::decode_flexbuffers(&document).expect_err("it is none");
            assert!(error.to_string().starts_with("repo has"), "{error}");
            assert!(error.to_string().contains(rule), "{error}");
        }
        let error = RepositoryConfig::decode_flexbuffers(b"x").expect_err("it is none");
        assert!(
            error.to_string().starts_with("repo has an invalid value"),
            "{error}"
        );
    }
}
