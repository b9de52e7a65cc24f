//! The configuration of spec 2: the tree of `config.yaml` in FlexBuffers (spec 2, §3.1).
//!
//! The two forms differ where a value is one of several kinds: YAML has a tag (`!name_matches {regex: …}`), and a map of
//! FlexBuffers has the kind as its only key. Such values stand at three places of the tree only, so that a map with one
//! entry stays one everywhere else.

use bytes::Bytes;
use serde_yaml_ng::value::{Tag, TaggedValue};
use serde_yaml_ng::{Mapping, Value};

use super::section::{Entry, invalid};
use super::{MAX_FILE_LEN, MAX_IN_MEMORY, RepositoryConfig};
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
    /// `TooLarge`; `FlexBuffers` if it is none; `Yaml` and `NotAMapping` with the key at fault.
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
        Self::read(value, "")
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
