//! Objects as the store describes them, and generations as versions.

use std::time::{SystemTime, UNIX_EPOCH};

use google_cloud_storage::model::Object;
use google_cloud_storage::model_ext::ObjectHighlights;
use icefield_storage::remote::Stored;
use icefield_storage::{Key, ObjectMeta, Version};

/// The user metadata that names a write.
pub(crate) const WRITE_ID: &str = "icefield-write-id";

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
        last_modified: Some(written_at(object)),
    }
}

/// The metadata of an object, and the checksum that its bytes must add up to.
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

    /// Returns what the answer to a read tells, all but the time of the write; `None` if it tells no size.
    pub(crate) fn of_read(key: Key, object: &ObjectHighlights) -> Option<Self> {
        // An object without bytes has none to be read.
        let size = u64::try_from(object.size).ok().filter(|size| *size > 0)?;
        let meta = ObjectMeta {
            key,
            size,
            version: version(object.generation),
            last_modified: None,
        };
        let stored = Stored {
            meta,
            write_id: object.metadata.get(WRITE_ID).cloned(),
            etag: None,
        };
        let crc32c = object.checksums.as_ref().and_then(|sums| sums.crc32c);
        Some(Self { stored, crc32c })
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
}
