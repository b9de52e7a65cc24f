//! Settings of packs, which only this implementation has. They are among the keys that the configuration does not know, and so
//! are kept in either version, and not written where they are not set. The reference implementation ignores them when it reads a
//! configuration, and drops them when it saves one: small chunks are then written as the store suggests.

use std::ops::RangeInclusive;

use serde_yaml_ng::Value;

use super::repository::RepositoryConfig;
use super::section::Setting;

const THRESHOLD: &str = "packed_chunk_threshold_bytes";
const SIZE: &str = "pack_size_bytes";

/// Thresholds: 0 packs nothing.
const THRESHOLDS: RangeInclusive<u32> = 0..=16 << 20;
/// Sizes of packs.
const SIZES: RangeInclusive<u32> = 8 << 20..=64 << 20;

/// Returns these settings, in the order of the file.
pub(super) fn settings() -> [Setting; 2] {
    let setting = |name: &str, allowed, default| Setting {
        name: name.to_owned(),
        allowed,
        default,
    };
    [
        setting(
            THRESHOLD,
            "a whole number from 0, which packs nothing, to 16777216",
            None,
        ),
        setting(
            SIZE,
            "a whole number from 8388608 to 67108864",
            Some("8388608"),
        ),
    ]
}

impl RepositoryConfig {
    /// Returns the length in bytes from which on a chunk gets an object of its own, `packed_chunk_threshold_bytes`: shorter ones
    /// that do not fit into a manifest share objects, the packs. 0: none do. `None`, also where the value makes no sense: the
    /// store decides.
    #[must_use]
    pub fn packed_chunk_threshold(&self) -> Option<u32> {
        within(self.unknown.0.get(THRESHOLD)?, &THRESHOLDS)
    }

    /// Returns the bytes of a full pack, `pack_size_bytes`. Default: 8 MiB, also where the value makes no sense.
    #[must_use]
    pub fn pack_size(&self) -> u32 {
        let set = self.unknown.0.get(SIZE);
        set.and_then(|value| within(value, &SIZES))
            .unwrap_or(*SIZES.start())
    }

    /// Returns those of these settings that make no sense.
    pub(super) fn beyond_limits_of_packs(&self) -> Vec<(&'static str, Option<String>)> {
        let limits = [(THRESHOLD, &THRESHOLDS), (SIZE, &SIZES)].into_iter();
        let wrong = limits.filter(|(name, limits)| match self.unknown.0.get(*name) {
            None | Some(Value::Null) => false,
            Some(value) => within(value, limits).is_none(),
        });
        wrong.map(|(name, _)| (name, None)).collect()
    }
}

fn within(value: &Value, limits: &RangeInclusive<u32>) -> Option<u32> {
    let number = u32::try_from(value.as_u64()?).ok()?;
    limits.contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SettingError;

    fn config(yaml: &str) -> RepositoryConfig {
        RepositoryConfig::decode(yaml.as_bytes()).expect("a configuration")
    }

    #[test]
    fn settings_of_packs_have_defaults() {
        let none = config("{}");
        assert_eq!(
            (none.packed_chunk_threshold(), none.pack_size()),
            (None, 8 << 20)
        );
        assert!(none.is_default());
        let set = config("packed_chunk_threshold_bytes: 0\npack_size_bytes: 16777216\n");
        assert_eq!(
            (set.packed_chunk_threshold(), set.pack_size()),
            (Some(0), 16 << 20)
        );
        let odd = config("packed_chunk_threshold_bytes: -1\npack_size_bytes: 1\n");
        assert_eq!(
            (odd.packed_chunk_threshold(), odd.pack_size()),
            (None, 8 << 20)
        );
    }

    #[test]
    fn settings_of_packs_are_set_within_limits_and_survive_both_forms() {
        let set = RepositoryConfig::default()
            .with_setting(THRESHOLD, "4096")
            .and_then(|it| it.with_setting(SIZE, "67108864"))
            .expect("allowed");
        let file = set.encode().expect("it can be written");
        assert_eq!(RepositoryConfig::decode(&file).expect("read"), set);
        let document = set.encode_flexbuffers().expect("it can be written");
        let again = RepositoryConfig::decode_flexbuffers(&document).expect("read");
        assert_eq!(again.packed_chunk_threshold(), Some(4096));
        assert_eq!(again.pack_size(), 64 << 20);
        for (name, value) in [(THRESHOLD, "-1"), (THRESHOLD, "x"), (SIZE, "8388607")] {
            let refused = set.with_setting(name, value);
            assert!(
                matches!(&refused, Err(SettingError::Value { name: at, .. }) if at == name),
                "{refused:?}"
            );
        }
        let gone = set.without_setting(THRESHOLD).expect("it is set");
        assert_eq!(gone.packed_chunk_threshold(), None);
    }
}
