//! The configuration of a repository as JSON.
//!
//! The file is YAML, in which a tag selects one of several forms of a value. In JSON, a tagged value is an object with the tag
//! as its only key, `{"s3": {…}}`; a form without content is the text of its tag. A tag at an unknown position, such as below
//! an unknown key, keeps its `!`, so that the conversion loses nothing.

use icefield::RepositoryConfig;
use serde_json::{Map, Value as Json};
use serde_yaml_ng::value::{Tag, TaggedValue};
use serde_yaml_ng::{Mapping, Value as Yaml};

use crate::errors::Failure;

/// Parses a configuration.
pub(crate) fn config_from_json(text: &str) -> Result<RepositoryConfig, Failure> {
    let json: Json = serde_json::from_str(text).map_err(|error| wrong(&error))?;
    let yaml = tree(&json, YamlPosition::Config)?;
    let file = serde_yaml_ng::to_string(&yaml).map_err(|error| wrong(&error))?;
    RepositoryConfig::decode(file.as_bytes()).map_err(|error| wrong(&error))
}

/// Serializes a configuration.
pub(crate) fn config_to_json(config: &RepositoryConfig) -> Result<String, Failure> {
    let file = config.encode()?;
    let yaml: Yaml = serde_yaml_ng::from_slice(&file).map_err(|error| wrong(&error))?;
    Ok(document(&yaml, YamlPosition::Config).to_string())
}

fn wrong(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::of("config-deserialization", error)
        .prefixed("this is no configuration of a repository")
}

/// A position in the document, which determines the tags that a value may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum YamlPosition {
    Config,
    Manifest,
    Preload,
    Splitting,
    Containers,
    Container,
    /// A list of splitting rules. Each has a condition and dimensions.
    Rules,
    Rule,
    Dimensions,
    Dimension,
    /// A tagged value, or the text of a tag.
    Condition,
    Form,
    /// A list of conditions.
    Conditions,
    /// The bounds of a condition on numbers.
    Bounds,
    /// A value without known tags.
    Plain,
}

impl YamlPosition {
    /// Returns the position of the value of a key.
    fn key(self, key: &str) -> Self {
        match (self, key) {
            (Self::Config, "manifest") => Self::Manifest,
            (Self::Config, "virtual_chunk_containers") => Self::Containers,
            (Self::Manifest, "preload") => Self::Preload,
            (Self::Manifest, "splitting") => Self::Splitting,
            (Self::Preload, "preload_if") => Self::Condition,
            (Self::Splitting, "split_sizes") => Self::Rules,
            (Self::Containers, _) => Self::Container,
            (Self::Container, "store") => Self::Form,
            (Self::Dimension, "condition") => Self::Form,
            (Self::Bounds, _) => Self::Form,
            _ => Self::Plain,
        }
    }

    /// Returns the position of an item of a list.
    fn item(self, at: usize) -> Self {
        match (self, at) {
            (Self::Rules, _) => Self::Rule,
            (Self::Rule, 0) => Self::Condition,
            (Self::Rule, 1) => Self::Dimensions,
            (Self::Dimensions, _) => Self::Dimension,
            (Self::Conditions, _) => Self::Condition,
            _ => Self::Plain,
        }
    }

    /// Returns the position below a tag, or `None` if values at this position do not have the tag.
    fn tagged(self, tag: &str) -> Option<Self> {
        match (self, tag) {
            (Self::Condition, "or" | "and") => Some(Self::Conditions),
            (Self::Condition, "num_refs") => Some(Self::Bounds),
            (Self::Condition | Self::Form, _) => Some(Self::Plain),
            _ => None,
        }
    }
}

fn tree(json: &Json, place: YamlPosition) -> Result<Yaml, Failure> {
    Ok(match json {
        Json::Null => Yaml::Null,
        Json::Bool(value) => Yaml::Bool(*value),
        Json::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), ..) => number.into(),
            (_, Some(number), _) => number.into(),
            (.., Some(number)) => number.into(),
            _ => return Err(wrong(&Failure::new("", format!("{number} is too large")))),
        },
        Json::String(text) => Yaml::String(text.clone()),
        Json::Array(items) => {
            let items = items.iter().enumerate();
            let items = items.map(|(at, item)| tree(item, place.item(at)));
            Yaml::Sequence(items.collect::<Result<_, _>>()?)
        }
        Json::Object(object) => {
            if let Some((tag, below, value)) = tag_of(object, place) {
                let value = tree(value, below)?;
                return Ok(Yaml::Tagged(Box::new(TaggedValue {
                    tag: Tag::new(tag),
                    value,
                })));
            }
            let mut mapping = Mapping::new();
            for (key, value) in object {
                mapping.insert(key.as_str().into(), tree(value, place.key(key))?);
            }
            Yaml::Mapping(mapping)
        }
    })
}

/// Returns the tag that an object stands for, with the position and the value below it.
fn tag_of(object: &Map<String, Json>, place: YamlPosition) -> Option<(&str, YamlPosition, &Json)> {
    let (tag, value) = object.iter().next().filter(|_| object.len() == 1)?;
    if let Some(below) = place.tagged(tag).filter(|_| !tag.is_empty()) {
        return Some((tag, below, value));
    }
    let unknown = tag.strip_prefix('!').filter(|tag| !tag.is_empty())?;
    Some((unknown, YamlPosition::Plain, value))
}

fn document(yaml: &Yaml, place: YamlPosition) -> Json {
    match yaml {
        Yaml::Null => Json::Null,
        Yaml::Bool(value) => Json::Bool(*value),
        Yaml::Number(number) => number_of(number),
        Yaml::String(text) => Json::String(text.clone()),
        Yaml::Sequence(items) => {
            let items = items.iter().enumerate();
            items
                .map(|(at, item)| document(item, place.item(at)))
                .collect()
        }
        Yaml::Mapping(mapping) => {
            let entries = mapping.iter().map(|(key, value)| {
                let key = name_of(key);
                let value = document(value, place.key(&key));
                (key, value)
            });
            Json::Object(entries.collect())
        }
        Yaml::Tagged(tagged) => {
            let tag = tagged.tag.to_string();
            let tag = tag.trim_start_matches('!');
            let (name, below) = match place.tagged(tag) {
                Some(below) => (tag.to_owned(), below),
                None => (format!("!{tag}"), YamlPosition::Plain),
            };
            Json::Object(
                [(name, document(&tagged.value, below))]
                    .into_iter()
                    .collect(),
            )
        }
    }
}

fn number_of(number: &serde_yaml_ng::Number) -> Json {
    match (number.as_u64(), number.as_i64()) {
        (Some(number), _) => number.into(),
        (_, Some(number)) => number.into(),
        // JSON has no infinite numbers.
        _ => number.as_f64().map_or(Json::Null, Json::from),
    }
}

/// Returns the name of a key; for a key that is no string, its debug form.
fn name_of(key: &Yaml) -> String {
    match key {
        Yaml::String(text) => text.clone(),
        other => serde_yaml_ng::to_string(other)
            .map_or_else(|_| String::new(), |text| text.trim_end().to_owned()),
    }
}
