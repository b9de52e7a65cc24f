//! Objects as the store describes them, and generations as versions.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use google_cloud_storage::model::Object;
use icefield_storage::remote::Stored;
use icefield_storage::{Key, ObjectMeta, Version};

/// The user metadata that names a write.
pub(crate) const WRITE_ID: &str = "icefield-write-id";
/// Descriptions that are remembered.
const REMEMBERED: usize = 4096;

/// Returns the version of a generation.
pub(crate) fn version(generation: i64) -> Version {
    Version::new(generation.to_string())
}

/// Returns the generation of a version; `None` for one that no object of this store can have.
pub(crate) fn generation(version: &Version) -> Option<i64> {
    let number: i64 = version.as_str().parse().ok()?;
    // Zero stands for *no object* in conditions, and `+7` or `007` is not what we gave.
    (number > 0 && number.to_string() == version.as_str()).then_some(number)
}

/// When an object was written. A later change of its description is not a write.
pub(crate) fn written_at(object: &Object) -> SystemTime {
    let time = object.create_time.or(object.update_time);
    time.and_then(|time| SystemTime::try_from(time).ok())
        .unwrap_or(UNIX_EPOCH)
}

/// Returns what is known of an object.
pub(crate) fn meta(key: Key, object: &Object) -> ObjectMeta {
    ObjectMeta {
        key,
        size: u64::try_from(object.size).unwrap_or_default(),
        version: version(object.generation),
        last_modified: written_at(object),
    }
}

/// What is known of an object, and what its bytes must add up to.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    pub(crate) stored: Stored,
    pub(crate) crc32c: Option<u32>,
}

impl Description {
    pub(crate) fn of(key: Key, object: &Object) -> Self {
        let stored = Stored {
            meta: meta(key, object),
            write_id: object.metadata.get(WRITE_ID).cloned(),
            etag: (!object.etag.is_empty()).then(|| object.etag.clone()),
        };
        let crc32c = object.checksums.as_ref().and_then(|sums| sums.crc32c);
        Self { stored, crc32c }
    }
}

/// Descriptions of states that were seen lately. A generation never changes its bytes, so none goes stale.
///
/// The client does not show when an object was written when it reads one. Whoever reads a state for the second
/// time, as the parts of a large object do, need not ask again.
#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<HashMap<Key, Description>>);

impl Seen {
    /// Returns the description of a state, if it was seen.
    pub(crate) fn of(&self, key: &Key, version: &Version) -> Option<Description> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = seen.get(key)?;
        (found.stored.meta.version == *version).then(|| found.clone())
    }

    pub(crate) fn remember(&self, description: &Description) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= REMEMBERED {
            seen.clear();
        }
        let key = description.stored.meta.key.clone();
        seen.insert(key, description.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_given_is_a_generation() {
        assert_eq!(
            generation(&version(1_700_000_000_000_000)),
            Some(1_700_000_000_000_000)
        );
        for odd in [
            "",
            "0",
            "-1",
            "+7",
            "007",
            "7 ",
            "*",
            "\"7\"",
            "é",
            "99999999999999999999",
        ] {
            assert_eq!(generation(&Version::new(odd)), None, "{odd:?}");
        }
    }

    #[test]
    fn what_was_seen_is_known_by_its_version() {
        let key = Key::parse("a").expect("a key");
        let object = Object::new().set_generation(7).set_size(3);
        let seen = Seen::default();
        assert!(seen.of(&key, &version(7)).is_none());
        seen.remember(&Description::of(key.clone(), &object));
        assert_eq!(
            seen.of(&key, &version(7)).map(|it| it.stored.meta.size),
            Some(3)
        );
        assert!(seen.of(&key, &version(8)).is_none());
        for other in 0..REMEMBERED {
            let key = Key::parse(&format!("b/{other}")).expect("a key");
            seen.remember(&Description::of(key, &object));
        }
        assert!(seen.of(&key, &version(7)).is_none());
    }
}
