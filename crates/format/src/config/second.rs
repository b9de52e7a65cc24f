//! Settings that only spec 2 has. They are among the keys that a section does not know, and so are kept in either form, and not
//! written where they are not set.

use serde_yaml_ng::Value;

use super::repository::RepositoryConfig;
use super::section::{Setting, UnknownKeys};
use crate::manifest::LocationCompression;

const UPDATES: &str = "num_updates_per_repo_info_file";
const COMPRESSION: &str = "manifest.virtual_chunk_location_compression";
/// The section of `manifest` that [`COMPRESSION`] names.
const SECTION: &str = "virtual_chunk_location_compression";
/// Its keys, with the least and the largest number.
const KEYS: [(&str, i64, i64); 4] = [
    ("min_num_chunks", 0, u16::MAX as i64),
    ("dictionary_max_training_samples", 0, u16::MAX as i64),
    ("dictionary_max_size_bytes", 0, u32::MAX as i64),
    ("compression_level", i32::MIN as i64, i32::MAX as i64),
];

/// Returns these settings, in the order of the file.
pub(super) fn settings() -> [Setting; 2] {
    let setting = |name: &str, allowed, default| Setting {
        name: name.to_owned(),
        allowed,
        default,
    };
    let section = "a mapping of min_num_chunks, dictionary_max_training_samples, dictionary_max_size_bytes and \
                   compression_level, or {} for the defaults of all four";
    [
        setting(COMPRESSION, section, None),
        setting(UPDATES, "a whole number from 1 to 65535", Some("1000")),
    ]
}

impl RepositoryConfig {
    /// Returns the most entries of the operations log that `repo` holds: `num_updates_per_repo_info_file`. Default: 1000,
    /// also where the value makes no sense.
    #[must_use]
    pub fn updates_per_page(&self) -> u16 {
        let entries = number(&self.unknown, UPDATES);
        entries.filter(|entries| *entries > 0).unwrap_or(1000)
    }

    /// Returns how locations of virtual chunks are compressed: `manifest.virtual_chunk_location_compression`. None without
    /// that section: the reference implementation compresses them then, too, with the defaults.
    #[must_use]
    pub fn location_compression(&self) -> Option<LocationCompression> {
        let default = LocationCompression::default();
        let Value::Mapping(section) = self.location_section()? else {
            return None;
        };
        let section = UnknownKeys(section.clone());
        Some(LocationCompression {
            min_num_chunks: number(&section, "min_num_chunks").unwrap_or(default.min_num_chunks),
            dictionary_max_training_samples: number(&section, "dictionary_max_training_samples")
                .unwrap_or(default.dictionary_max_training_samples),
            dictionary_max_size_bytes: number(&section, "dictionary_max_size_bytes")
                .unwrap_or(default.dictionary_max_size_bytes),
            compression_level: number(&section, "compression_level")
                .unwrap_or(default.compression_level),
        })
    }

    fn location_section(&self) -> Option<&Value> {
        self.manifest.as_ref()?.unknown.0.get(SECTION)
    }

    /// Returns those of these settings that make no sense, and why, if what they may be does not say it.
    pub(super) fn beyond_limits_of_spec_2(&self) -> Vec<(&'static str, Option<String>)> {
        let mut found = Vec::new();
        match self.unknown.0.get(UPDATES) {
            None | Some(Value::Null) => {}
            Some(value) if is_within(value, (1, u16::MAX.into())) => {}
            Some(_) => found.push((UPDATES, None)),
        }
        let section = match self.location_section() {
            None | Some(Value::Null) => return found,
            Some(Value::Mapping(section)) => section,
            Some(_) => {
                found.push((COMPRESSION, None));
                return found;
            }
        };
        for (key, value) in section {
            let known = KEYS.iter().find(|it| key.as_str() == Some(it.0));
            let why = match known {
                None => "it has a key that is none of these".to_owned(),
                Some(_) if value.is_null() => continue,
                Some((key, least, most)) if !is_within(value, (*least, *most)) => {
                    format!("{key} is a whole number from {least} to {most}")
                }
                Some(_) => continue,
            };
            found.push((COMPRESSION, Some(why)));
        }
        found
    }
}

/// Returns a number out of keys; none if there is no such key, or it is no number of this kind.
fn number<N: TryFrom<i64>>(keys: &UnknownKeys, key: &str) -> Option<N> {
    N::try_from(keys.0.get(key)?.as_i64()?).ok()
}

fn is_within(value: &Value, (least, most): (i64, i64)) -> bool {
    let number = value.as_i64();
    number.is_some_and(|number| (least..=most).contains(&number))
}
