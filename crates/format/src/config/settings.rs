//! Settings by name, such as `storage.retries.max_tries`: read, set and unset one by one, as YAML.

use serde_yaml_ng::{Mapping, Value};

use super::containers::ContainerEntry;
use super::packing;
use super::repository::RepositoryConfig;
use super::second;
use super::section::{Entry, Setting, invalid};
use crate::error::FormatError;

/// The reason why a setting cannot be read or set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// There is no such setting.
    #[error("there is no setting {name:?}{}", meant(.nearest.as_deref()))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// One with a similar name.
        nearest: Option<String>,
    },
    /// It cannot have that value.
    #[error("{name} cannot be {value}{}; it may be {allowed}", because(.why.as_deref()))]
    Value {
        /// The setting.
        name: String,
        /// The value, shortened.
        value: String,
        /// The allowed values, in words.
        allowed: &'static str,
        /// The problem, if the allowed values do not say it.
        why: Option<String>,
    },
    /// The value is no YAML.
    #[error("the value of {name} is no YAML")]
    Yaml {
        /// The setting.
        name: String,
        /// Where it ends to be YAML.
        source: Box<serde_yaml_ng::Error>,
    },
    /// The configuration cannot be written.
    #[error(transparent)]
    Format(#[from] FormatError),
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; is {name} meant?"))
}

fn because(why: Option<&str>) -> String {
    why.map_or_else(String::new, |why| format!(" ({why})"))
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
        Self::settings("", None, &mut all);
        all.extend(packing::settings());
        all.extend(second::settings());
        all
    }

    /// Returns the settings that have values, by name, as YAML: known settings first, then keys that this crate does
    /// not know.
    ///
    /// # Errors
    /// [`SettingError::Format`] if a value cannot be written.
    pub fn set_settings(&self) -> Result<Vec<(String, String)>, SettingError> {
        let known = Self::known_settings();
        let mut found = Vec::new();
        leaves(&self.write()?, "", &known, &mut found)?;
        Ok(found)
    }

    /// Returns a setting as YAML, which may be a whole section or a key that this crate does not know; `None` if it has
    /// no value.
    ///
    /// # Errors
    /// [`SettingError::Unknown`], which proposes similar names.
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

    /// Returns the configuration with another value of a setting, given as YAML; `null` unsets it. A whole section,
    /// such as `storage`, is replaced with everything in it.
    ///
    /// # Errors
    /// [`SettingError::Unknown`]; [`SettingError::Yaml`]; [`SettingError::Value`], which says what is allowed.
    pub fn with_setting(&self, name: &str, yaml: &str) -> Result<Self, SettingError> {
        let known = Self::known_settings();
        if !is_known(name) {
            return Err(unknown(name));
        }
        let value: Value = serde_yaml_ng::from_str(yaml).map_err(|error| SettingError::Yaml {
            name: name.to_owned(),
            source: Box::new(error),
        })?;
        let mut document = self.write()?;
        put(&mut document, name, value);
        let refused = |at: &str, why: Option<String>| {
            // A part that is none is no setting; what was given is then the value.
            let setting = known.iter().find(|it| it.name == at);
            let given = at
                .split('.')
                .try_fold(&document, |value, part| value.get(part));
            let given = given.and_then(|value| text(value).ok());
            SettingError::Value {
                name: at.to_owned(),
                value: shortened(given.as_deref().unwrap_or(yaml)),
                allowed: setting.map_or("a mapping of its parts", |it| it.allowed),
                why,
            }
        };
        let encoded = serde_yaml_ng::to_string(&document).map_err(|error| invalid("", error))?;
        let read = match Self::decode(encoded.as_bytes()) {
            Ok(read) => read,
            Err(error) => {
                let at = error.config_key().unwrap_or(name).to_owned();
                let why = std::error::Error::source(&error).map(ToString::to_string);
                return Err(refused(&at, why));
            }
        };
        // The content that another writer has stored is not shown to the caller.
        let beyond = read.beyond_limits().into_iter();
        let beyond = beyond.map(|(at, why)| (at, Some(why)));
        let beyond = beyond.chain(read.beyond_limits_of_packs());
        let mut beyond = beyond.chain(read.beyond_limits_of_spec_2());
        match beyond.find(|it| is_part(name, it.0)) {
            Some((at, why)) => Err(refused(at, why)),
            None => Ok(read),
        }
    }

    /// Returns the configuration without a setting, so that the default is in force again. Keys that this crate does
    /// not know can be removed, too.
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

    /// Returns the settings whose values have the right type and make no sense, and why they make none.
    fn beyond_limits(&self) -> Vec<(&'static str, String)> {
        const SPLITS: &str = "manifest.splitting.split_sizes";
        const PRELOAD: &str = "manifest.preload.preload_if";
        let mut found = Vec::new();
        if self.compression_level().is_some_and(|level| level > 22) {
            found.push(("compression.level", "zstd has no such level".to_owned()));
        }
        let mut expressions = Vec::new();
        for rule in self.split_rules() {
            if rule.dimensions.iter().any(|it| it.num_chunks == 0) {
                found.push((SPLITS, "num_chunks is 0".to_owned()));
            }
            rule.expressions(&mut expressions);
        }
        found.extend(wrong_expressions(&expressions).map(|why| (SPLITS, why)));
        let preload = self.manifest.as_ref().and_then(|it| it.preload.as_ref());
        if let Some(condition) = preload.and_then(|it| it.preload_if.as_ref()) {
            let mut expressions = Vec::new();
            condition.expressions(&mut expressions);
            found.extend(wrong_expressions(&expressions).map(|why| (PRELOAD, why)));
        }
        let containers = self.virtual_chunk_containers.iter();
        for (key, entry) in containers.flat_map(|it| it.entries()) {
            if let ContainerEntry::Invalid(_) = entry {
                let why = format!("{} is no container", shortened(key));
                found.push(("virtual_chunk_containers", why));
            }
        }
        found
    }
}

/// Says what is wrong with regular expressions, as their application would find out.
fn wrong_expressions<'a>(all: &'a [&str]) -> impl Iterator<Item = String> + 'a {
    all.iter().filter_map(|expression| {
        let wrong = regex::bytes::Regex::new(expression).err()?;
        // The first lines of the message draw where in the expression it is.
        let said = wrong.to_string();
        let said = said.lines().last().unwrap_or_default();
        let said = said.trim_start_matches("error: ");
        Some(format!(
            "the regular expression {:?}: {said}",
            shortened(expression)
        ))
    })
}

/// Returns whether a setting is the named one, or in the named part of the configuration.
fn is_part(name: &str, setting: &str) -> bool {
    match setting.strip_prefix(name) {
        Some(rest) => !name.is_empty() && (rest.is_empty() || rest.starts_with('.')),
        None => false,
    }
}

/// Returns whether a name is that of a setting, or of a part of the configuration.
fn is_known(name: &str) -> bool {
    let known = RepositoryConfig::known_settings();
    known.iter().any(|it| is_part(name, &it.name))
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
mod tests;
