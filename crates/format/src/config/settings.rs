//! Settings by name, such as `storage.retries.max_tries`: read, set and unset one by one, as YAML.

use serde_yaml_ng::{Mapping, Value};

use super::RepositoryConfig;
use super::section::{Entry, invalid};
use crate::error::FormatError;

/// A setting that this crate knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name, with a dot between the parts.
    pub name: String,
    /// What it may be.
    pub allowed: &'static str,
}

/// Why a setting cannot be read or set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// There is no such setting.
    #[error("there is no setting {name:?}{}", meant(.nearest.as_deref()))]
    Unknown {
        /// What was asked for.
        name: String,
        /// One with a similar name.
        nearest: Option<String>,
    },
    /// It cannot have that value.
    #[error("{name} cannot be {value}: it may be {allowed}")]
    Value {
        /// The setting.
        name: String,
        /// The value, shortened.
        value: String,
        /// What it may be.
        allowed: &'static str,
        /// What is wrong, if the allowed values do not say it.
        source: Option<Box<FormatError>>,
    },
    /// The configuration cannot be written.
    #[error(transparent)]
    Format(#[from] FormatError),
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; is {name} meant?"))
}

/// Letters of a value that messages show.
const SHOWN: usize = 80;
/// Letters that may differ between a name and what was meant.
const TYPOS: usize = 3;

impl RepositoryConfig {
    /// Returns all settings that this crate knows, in the order of the file.
    #[must_use]
    pub fn known_settings() -> Vec<Setting> {
        let mut all = Vec::new();
        Self::settings("", &mut all);
        all
    }

    /// Returns what is set, by name, as YAML: known settings that are not null, then keys that this crate does not know.
    ///
    /// # Errors
    /// [`SettingError::Format`] if a value cannot be written.
    pub fn set_settings(&self) -> Result<Vec<(String, String)>, SettingError> {
        let known = Self::known_settings();
        let mut found = Vec::new();
        leaves(&self.write()?, "", &known, &mut found)?;
        Ok(found)
    }

    /// Returns a setting as YAML, also a whole part of the configuration, or a key that this crate does not know; `None`
    /// if it is not set.
    ///
    /// # Errors
    /// [`SettingError::Unknown`].
    pub fn setting(&self, name: &str) -> Result<Option<String>, SettingError> {
        let document = self.write()?;
        let found = name
            .split('.')
            .try_fold(&document, |value, part| value.get(part));
        match found {
            Some(Value::Null) => Ok(None),
            Some(value) => Ok(Some(text(value)?)),
            None if is_known(name) => Ok(None),
            None => Err(unknown(name)),
        }
    }

    /// Returns the configuration with another value of a setting, given as YAML; null unsets it.
    ///
    /// # Errors
    /// [`SettingError::Unknown`]; [`SettingError::Value`] with what is allowed.
    pub fn with_setting(&self, name: &str, yaml: &str) -> Result<Self, SettingError> {
        if !is_known(name) {
            return Err(unknown(name));
        }
        let refused = |at: Option<&str>, source| {
            let known = Self::known_settings();
            let setting = known.iter().find(|it| Some(it.name.as_str()) == at);
            let setting = setting.or_else(|| known.iter().find(|it| it.name == name));
            SettingError::Value {
                name: setting.map_or(name, |it| &it.name).to_owned(),
                value: shortened(yaml),
                allowed: setting.map_or("a part of the configuration, in YAML", |it| it.allowed),
                source,
            }
        };
        let value: Value = serde_yaml_ng::from_str(yaml)
            .map_err(|error| refused(None, Some(Box::new(invalid(name, error)))))?;
        let mut document = self.write()?;
        put(&mut document, name, value);
        let encoded = serde_yaml_ng::to_string(&document).map_err(|error| invalid("", error))?;
        let read = match Self::decode(encoded.as_bytes()) {
            Ok(read) => read,
            Err(error) => {
                let at = error.config_key().map(str::to_owned);
                return Err(refused(at.as_deref(), Some(Box::new(error))));
            }
        };
        match read.beyond_limits() {
            Some(name) => Err(refused(Some(name), None)),
            None => Ok(read),
        }
    }

    /// Returns the configuration without a setting: the default is in force again. Also a key that this crate does not
    /// know can be removed.
    ///
    /// # Errors
    /// [`SettingError::Unknown`].
    pub fn without_setting(&self, name: &str) -> Result<Self, SettingError> {
        self.setting(name)?;
        let mut document = self.write()?;
        remove(&mut document, name);
        let encoded = serde_yaml_ng::to_string(&document).map_err(|error| invalid("", error))?;
        Ok(Self::decode(encoded.as_bytes())?)
    }

    /// Returns the setting whose value has the right type and makes no sense.
    fn beyond_limits(&self) -> Option<&'static str> {
        if self.compression_level().is_some_and(|level| level > 22) {
            return Some("compression.level");
        }
        let rules = self.split_rules().iter().flat_map(|rule| &rule.dimensions);
        let mut empty = rules.filter(|rule| rule.num_chunks == 0);
        empty.next().map(|_| "manifest.splitting.split_sizes")
    }
}

/// Returns whether a name is that of a setting, or of a part of the configuration.
fn is_known(name: &str) -> bool {
    let is = |setting: &Setting| match setting.name.strip_prefix(name) {
        Some(rest) => !name.is_empty() && (rest.is_empty() || rest.starts_with('.')),
        None => false,
    };
    RepositoryConfig::known_settings().iter().any(is)
}

fn unknown(name: &str) -> SettingError {
    let known = RepositoryConfig::known_settings().into_iter();
    let near = known.map(|it| (distance(&it.name, name), it.name));
    // The last part alone is often all that one remembers.
    let last = |full: &str| full.rsplit('.').next() == Some(name);
    let nearest = near
        .map(|(far, full)| (if last(&full) { 0 } else { far }, full))
        .min();
    SettingError::Unknown {
        name: shortened(name),
        nearest: nearest.filter(|it| it.0 <= TYPOS).map(|it| it.1),
    }
}

/// Letters to put in, take out or replace on the way from one text to the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(2 * SHOWN).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (to, wanted) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *wanted);
            diagonal = row[to + 1];
            row[to + 1] = replaced.min(row[to] + 1).min(row[to + 1] + 1);
        }
    }
    row[other.len()]
}

fn shortened(text: &str) -> String {
    let shown: String = text.chars().take(SHOWN).collect();
    match shown.len() < text.len() {
        true => format!("{shown}…"),
        false => shown,
    }
}

fn text(value: &Value) -> Result<String, FormatError> {
    let text = serde_yaml_ng::to_string(value).map_err(|error| invalid("", error))?;
    Ok(text.trim_end().to_owned())
}

fn leaves(
    value: &Value,
    name: &str,
    known: &[Setting],
    found: &mut Vec<(String, String)>,
) -> Result<(), FormatError> {
    match value {
        Value::Null => Ok(()),
        Value::Mapping(map) if !known.iter().any(|it| it.name == name) && !map.is_empty() => {
            for (key, value) in map {
                let part = match key {
                    Value::String(part) => part.clone(),
                    key => text(key)?,
                };
                let name = match name {
                    "" => part,
                    name => format!("{name}.{part}"),
                };
                leaves(value, &name, known, found)?;
            }
            Ok(())
        }
        value => {
            found.push((name.to_owned(), text(value)?));
            Ok(())
        }
    }
}

/// Puts a value at a path, making mappings on the way.
fn put(document: &mut Value, name: &str, value: Value) {
    let mut at = document;
    for part in name.split('.') {
        if !at.is_mapping() {
            *at = Value::Mapping(Mapping::new());
        }
        let Value::Mapping(map) = at else {
            return;
        };
        at = map.entry(Value::from(part)).or_insert(Value::Null);
    }
    *at = value;
}

fn remove(document: &mut Value, name: &str) {
    let (parent, last) = name.rsplit_once('.').unwrap_or(("", name));
    let parts = parent.split('.').filter(|part| !part.is_empty());
    let mut at = document;
    for part in parts {
        match at.get_mut(part) {
            Some(value) => at = value,
            None => return,
        }
    }
    if let Value::Mapping(map) = at {
        map.shift_remove(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(yaml: &str) -> RepositoryConfig {
        RepositoryConfig::decode(yaml.as_bytes()).expect("a configuration")
    }

    fn get(config: &RepositoryConfig, name: &str) -> Option<String> {
        config.setting(name).expect("a setting")
    }

    #[test]
    fn every_known_setting_can_be_read_and_unset() {
        let known = RepositoryConfig::known_settings();
        let names: Vec<&str> = known.iter().map(|it| it.name.as_str()).collect();
        for name in [
            "inline_chunk_threshold_bytes",
            "compression.level",
            "storage.retries.max_tries",
        ] {
            assert!(names.contains(&name), "{names:?}");
        }
        assert!(names.contains(&"virtual_chunk_containers"));
        assert!(names.contains(&"manifest.splitting.split_sizes"));
        let default = RepositoryConfig::default();
        for name in names {
            assert_eq!(get(&default, name), None, "{name}");
            assert_eq!(default.without_setting(name).expect("known"), default);
        }
    }

    #[test]
    fn what_is_set_is_read_and_what_is_not_known_stays() {
        let before = config("storage: {storage_class: A, theirs: [1, 2]}\nnew: {deep: x}\n");
        let after = before.with_setting("storage.retries.max_tries", "7");
        let after = after.expect("allowed");
        assert_eq!(
            get(&after, "storage.retries.max_tries").as_deref(),
            Some("7")
        );
        assert_eq!(get(&after, "storage.storage_class").as_deref(), Some("A"));
        assert_eq!(get(&after, "new.deep").as_deref(), Some("x"));
        assert_eq!(get(&after, "storage.theirs").as_deref(), Some("- 1\n- 2"));
        let listed = after.set_settings().expect("it can be written");
        let listed: Vec<&str> = listed.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "storage.retries.max_tries",
            "storage.storage_class",
            "storage.theirs",
            "new.deep",
        ];
        assert_eq!(listed, expected);

        let again = after
            .without_setting("storage.retries.max_tries")
            .expect("known");
        assert_eq!(get(&again, "storage.retries.max_tries"), None);
        assert_eq!(get(&again, "new.deep").as_deref(), Some("x"));
        let gone = again.without_setting("new").expect("it is there");
        assert!(matches!(
            gone.setting("new"),
            Err(SettingError::Unknown { .. })
        ));
        let whole = gone.with_setting("compression", "{algorithm: zstd, level: 9}");
        assert_eq!(
            get(&whole.expect("allowed"), "compression.level").as_deref(),
            Some("9")
        );
        let null = before
            .with_setting("storage.storage_class", "null")
            .expect("it unsets");
        assert_eq!(get(&null, "storage.storage_class"), None);
    }

    #[test]
    fn values_that_are_not_allowed_are_refused_by_name() {
        let default = RepositoryConfig::default();
        for (name, value, at, allowed) in [
            (
                "inline_chunk_threshold_bytes",
                "70000",
                "inline_chunk_threshold_bytes",
                "0 to 65535",
            ),
            (
                "inline_chunk_threshold_bytes",
                "-1",
                "inline_chunk_threshold_bytes",
                "0 to 65535",
            ),
            ("compression.level", "23", "compression.level", "0 to 22"),
            (
                "compression.algorithm",
                "gzip",
                "compression.algorithm",
                "zstd",
            ),
            ("compression", "{level: x}", "compression.level", "0 to 22"),
            (
                "storage.retries.max_tries",
                "0",
                "storage.retries.max_tries",
                "1 to 65535",
            ),
            (
                "storage.unsafe_use_metadata",
                "maybe",
                "storage.unsafe_use_metadata",
                "true or false",
            ),
            ("storage", "5", "storage", "a part of the configuration"),
            (
                "manifest.splitting.split_sizes",
                "[[any_array, [{condition: Any, num_chunks: 0}]]]",
                "manifest.splitting.split_sizes",
                "one chunk or more",
            ),
            (
                "caching.num_chunk_refs",
                "{",
                "caching.num_chunk_refs",
                "a whole number",
            ),
        ] {
            match default.with_setting(name, value) {
                Err(error @ SettingError::Value { .. }) => {
                    let said = error.to_string();
                    assert!(said.starts_with(at) && said.contains(allowed), "{said}");
                }
                other => panic!("{name}: {value}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_name_that_is_none_is_refused_with_what_may_be_meant() {
        let default = RepositoryConfig::default();
        for (name, meant) in [
            ("compresion.level", Some("compression.level")),
            ("max_tries", Some("storage.retries.max_tries")),
            ("compression.", None),
            ("", None),
            ("something.else", None),
            ("compression.level.deeper", None),
        ] {
            match default.with_setting(name, "1") {
                Err(SettingError::Unknown { nearest, .. }) => {
                    if meant.is_some() {
                        assert_eq!(nearest.as_deref(), meant, "{name}");
                    }
                }
                other => panic!("{name}: {other:?}"),
            }
        }
        let long = "x".repeat(1 << 20);
        let said = default.setting(&long).expect_err("no setting").to_string();
        assert!(said.len() < 200, "{}", said.len());
    }
}
