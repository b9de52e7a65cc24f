//! Mappings with known keys, all optional, that keep the keys they do not know.

use std::num::{NonZeroU16, NonZeroU64};

use serde_yaml_ng::{Mapping, Value};

use crate::error::FormatError;

/// The description of a setting that this crate knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The name, with a dot between section and key, such as `storage.retries.max_tries`.
    pub name: String,
    /// The allowed values, in words.
    pub allowed: &'static str,
    /// The value in force if none is set, as YAML; none where the store or the reader decides.
    pub default: Option<&'static str>,
}

/// The keys of a section that this crate does not know. They are kept as they are and written back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UnknownKeys(pub(super) Mapping);

impl UnknownKeys {
    /// Tells whether there are no such keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names of the keys, except those that are no texts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().filter_map(Value::as_str)
    }

    pub(super) fn merged_over(&self, base: &Self) -> Self {
        let mut merged = base.0.clone();
        merged.extend(
            self.0
                .iter()
                .map(|(key, value)| (key.clone(), value.clone())),
        );
        Self(merged)
    }
}

/// A value in the configuration.
pub(super) trait Entry: Clone {
    /// Adds the settings in it, of which it has the name and the default if it is one itself.
    fn settings(name: &str, default: Option<&'static str>, into: &mut Vec<Setting>);

    /// Reads the value at `key`, which only serves messages.
    fn read(value: Value, key: &str) -> Result<Self, FormatError>;

    /// Returns the value as it is written.
    fn write(&self) -> Result<Value, FormatError>;

    /// Tells whether nothing is set, so that the value says the same as a missing one.
    fn is_unset(&self) -> bool {
        false
    }

    /// Returns this value where it is set, and `base` elsewhere.
    fn merged_over(&self, _base: &Self) -> Self {
        self.clone()
    }
}

pub(super) fn invalid(key: &str, error: serde_yaml_ng::Error) -> FormatError {
    FormatError::Yaml {
        key: key.to_owned(),
        source: Box::new(error),
    }
}

/// Returns the mapping that a value is.
pub(super) fn mapping(value: Value, key: &str) -> Result<Mapping, FormatError> {
    match value {
        Value::Mapping(mapping) => Ok(mapping),
        _ => Err(FormatError::NotAMapping {
            key: key.to_owned(),
        }),
    }
}

/// Takes a key out of a mapping. A key that is null is a missing one.
pub(super) fn take<T: Entry>(
    map: &mut Mapping,
    parent: &str,
    name: &str,
) -> Result<Option<T>, FormatError> {
    let key = if parent.is_empty() {
        name.to_owned()
    } else {
        format!("{parent}.{name}")
    };
    match map.shift_remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => T::read(value, &key).map(Some),
    }
}

pub(super) fn put<T: Entry>(
    map: &mut Mapping,
    name: &str,
    value: Option<&T>,
) -> Result<(), FormatError> {
    let value = value.map_or(Ok(Value::Null), T::write)?;
    map.insert(Value::from(name), value);
    Ok(())
}

pub(super) fn merge<T: Entry>(value: Option<&T>, base: Option<&T>) -> Option<T> {
    match (value, base) {
        (Some(value), Some(base)) => Some(value.merged_over(base)),
        (value, base) => value.or(base).cloned(),
    }
}

/// Makes entries of types that serde reads and writes.
macro_rules! plain_entries {
    ($($name:ty = $allowed:literal),* $(,)?) => {
        $(impl $crate::config::section::Entry for $name {
            fn settings(
                name: &str,
                default: Option<&'static str>,
                into: &mut Vec<$crate::config::section::Setting>,
            ) {
                into.push($crate::config::section::Setting {
                    name: name.to_owned(),
                    allowed: $allowed,
                    default,
                });
            }

            fn read(
                value: serde_yaml_ng::Value,
                key: &str,
            ) -> Result<Self, $crate::error::FormatError> {
                serde_yaml_ng::from_value(value)
                    .map_err(|error| $crate::config::section::invalid(key, error))
            }

            fn write(&self) -> Result<serde_yaml_ng::Value, $crate::error::FormatError> {
                serde_yaml_ng::to_value(self)
                    .map_err(|error| $crate::config::section::invalid("", error))
            }
        })*
    };
}

plain_entries!(
    bool = "true or false",
    u8 = "a whole number from 0 to 22",
    u16 = "a whole number from 0 to 65535",
    u32 = "a whole number from 0 to 4294967295",
    u64 = "a whole number from 0 to 18446744073709551615",
    NonZeroU16 = "a whole number from 1 to 65535",
    NonZeroU64 = "a whole number from 1 to 18446744073709551615",
    String = "a text",
);

/// Makes a struct of optional keys, in the order in which they are written, each with its default as YAML if it has
/// one. `keywise` sections are merged key by key, `whole` ones replace each other.
macro_rules! section {
    ($merge:ident $(#[$doc:meta])* $name:ident {
        $($(#[$field_doc:meta])* $field:ident: $type:ty $(= $default:literal)?,)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Default)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: Option<$type>,)*
            /// Keys that this crate does not know.
            pub unknown: $crate::config::section::UnknownKeys,
        }

        impl $crate::config::section::Entry for $name {
            fn settings(
                name: &str,
                _: Option<&'static str>,
                into: &mut Vec<$crate::config::section::Setting>,
            ) {
                let dot = if name.is_empty() { "" } else { "." };
                $(<$type as $crate::config::section::Entry>::settings(
                    &format!("{name}{dot}{}", stringify!($field)),
                    section!(@default $($default)?),
                    into,
                );)*
            }

            fn read(
                value: serde_yaml_ng::Value,
                key: &str,
            ) -> Result<Self, $crate::error::FormatError> {
                use $crate::config::section::{mapping, take};
                let mut map = mapping(value, key)?;
                Ok(Self {
                    $($field: take(&mut map, key, stringify!($field))?,)*
                    unknown: $crate::config::section::UnknownKeys(map),
                })
            }

            fn write(&self) -> Result<serde_yaml_ng::Value, $crate::error::FormatError> {
                let mut map = serde_yaml_ng::Mapping::new();
                $($crate::config::section::put(&mut map, stringify!($field), self.$field.as_ref())?;)*
                map.extend(self.unknown.0.clone());
                Ok(serde_yaml_ng::Value::Mapping(map))
            }

            fn is_unset(&self) -> bool {
                let unset = self.unknown.is_empty();
                $(let unset = unset && self.$field.as_ref().is_none_or($crate::config::section::Entry::is_unset);)*
                unset
            }

            section!(@merge $merge $($field)*);
        }
    };
    (@default) => { None };
    (@default $default:literal) => { Some($default) };
    (@merge keywise $($field:ident)*) => {
        fn merged_over(&self, base: &Self) -> Self {
            use $crate::config::section::merge;
            Self {
                $($field: merge(self.$field.as_ref(), base.$field.as_ref()),)*
                unknown: self.unknown.merged_over(&base.unknown),
            }
        }
    };
    (@merge whole $($field:ident)*) => {};
}

pub(super) use {plain_entries, section};
