//! Versions: what a state of a local object is recognised by.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::{Duration, SystemTime};

use icefield_storage::{Condition, GetOptions, ObjectMeta, StorageError, Version};
use xxhash_rust::xxh3::Xxh3Default;

use crate::sys::Stat;

/// Objects below this size carry a digest in their version: they are the ones that are rewritten in
/// place with another content of the same size, many times within one tick of the file system's clock.
pub(crate) const DIGEST_BELOW: u64 = 64 * 1024;

/// Returns the version of the state that `stat` and, for a small object, its bytes describe.
pub(crate) fn version(stat: &Stat, digest: Option<u64>) -> Version {
    let mut text = format!("{:x}-{:x}-{:x}", stat.ino, stat.mtime, stat.size);
    if let Some(digest) = digest {
        let _ = write!(text, "-{digest:016x}");
    }
    Version::new(text)
}

/// Returns the digest of a whole object, if it is small enough to have one.
pub(crate) fn digest(bytes: &[u8]) -> Option<u64> {
    ((bytes.len() as u64) < DIGEST_BELOW).then(|| xxhash_rust::xxh3::xxh3_64(bytes))
}

/// The digest of bytes that come in parts.
#[derive(Default)]
pub(crate) struct Digester {
    state: Box<Xxh3Default>,
    size: u64,
}

impl std::fmt::Debug for Digester {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Digester")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl Digester {
    /// Adds the next part.
    pub(crate) fn update(&mut self, part: &[u8]) {
        self.size += part.len() as u64;
        if self.size < DIGEST_BELOW {
            self.state.update(part);
        }
    }

    /// Returns the digest of an object of `size` bytes, if it is small enough to have one: then all of
    /// it must have come as parts.
    pub(crate) fn finish(&self, size: u64) -> Option<u64> {
        (size < DIGEST_BELOW).then(|| {
            assert_eq!(self.size, size, "BUG: a small object that was not digested");
            self.state.digest()
        })
    }
}

/// Returns a time in the form of time stamps.
pub(crate) fn nanos(time: SystemTime) -> i128 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => since.as_nanos().cast_signed(),
        Err(before) => -before.duration().as_nanos().cast_signed(),
    }
}

/// Returns the time of the last write.
pub(crate) fn last_modified(stat: &Stat) -> SystemTime {
    let nanos = stat.mtime.unsigned_abs();
    let since = Duration::new(
        u64::try_from(nanos / 1_000_000_000).unwrap_or(u64::MAX / 4),
        u32::try_from(nanos % 1_000_000_000).unwrap_or(0),
    );
    let epoch = SystemTime::UNIX_EPOCH;
    let time = match stat.mtime < 0 {
        true => epoch.checked_sub(since),
        false => epoch.checked_add(since),
    };
    time.unwrap_or(epoch)
}

/// Returns the ETag that the reference implementation's local file system gives a file: inode, time of
/// the last write in microseconds, and size. Its versions differ in whether they put it in quotes.
fn etag(stat: &Stat) -> String {
    let micros = u128::try_from(stat.mtime / 1000).unwrap_or(0);
    format!("{:x}-{micros:x}-{:x}", stat.ino, stat.size)
}

/// Decides the conditions and the range of a read. ETags are compared without the quotes that they may
/// or may not have.
pub(crate) fn check(
    options: &GetOptions,
    meta: &ObjectMeta,
    stat: &Stat,
) -> Result<Range<u64>, StorageError> {
    let is_etag = |condition: &Option<Condition>| matches!(condition, Some(Condition::ETag(_)));
    if !is_etag(&options.if_match) && !is_etag(&options.if_none_match) {
        return options.check(meta, None);
    }
    let etag = etag(stat);
    let mut bare = options.clone();
    for condition in [&mut bare.if_match, &mut bare.if_none_match] {
        if let Some(Condition::ETag(text)) = condition {
            let named = text == "*"
                || text
                    .split(',')
                    .any(|one| one.trim().trim_matches('"') == etag);
            *text = if named {
                etag.clone()
            } else {
                "another".to_owned()
            };
        }
    }
    bare.check(meta, Some(&etag))
}

#[cfg(test)]
mod tests {
    use icefield_storage::Key;

    use super::*;
    use crate::sys::EntryKind;

    fn stat(mtime: i128, size: u64) -> Stat {
        Stat {
            dev: 1,
            ino: 0xabc,
            links: 1,
            size,
            mtime,
            kind: EntryKind::File,
        }
    }

    #[test]
    fn every_part_of_a_version_counts() {
        let base = version(&stat(5, 3), Some(7));
        for other in [
            version(&stat(6, 3), Some(7)),
            version(&stat(5, 4), Some(7)),
            version(&stat(5, 3), Some(8)),
            version(&stat(5, 3), None),
        ] {
            assert_ne!(base, other);
        }
        assert_eq!(base, version(&stat(5, 3), Some(7)));
    }

    #[test]
    fn a_digest_in_parts_equals_the_digest_at_once() {
        let bytes = vec![3; DIGEST_BELOW as usize];
        for size in [0, 1, 100, DIGEST_BELOW as usize - 1, DIGEST_BELOW as usize] {
            let mut parts = Digester::default();
            for part in bytes[..size].chunks(1000) {
                parts.update(part);
            }
            assert_eq!(parts.finish(size as u64), digest(&bytes[..size]));
        }
    }

    #[test]
    fn the_etag_is_the_one_of_the_reference() {
        let stat = stat(1_700_000_000_123_456_789, 0x23);
        let etag = "abc-60a2418202240-23";
        assert_eq!(super::etag(&stat), etag);
        let meta = ObjectMeta {
            key: Key::parse("a").expect("valid"),
            size: stat.size,
            version: version(&stat, None),
            last_modified: Some(last_modified(&stat)),
        };
        let named = |text: String| {
            let condition = Condition::ETag(text);
            let matched = GetOptions::default().with_if_match(condition.clone());
            let differs = GetOptions::default().with_if_none_match(condition);
            let matched = check(&matched, &meta, &stat).is_ok();
            assert_ne!(matched, check(&differs, &meta, &stat).is_ok());
            matched
        };
        for text in [
            etag.to_owned(),
            format!("\"{etag}\""),
            format!("x, {etag}"),
            "*".into(),
        ] {
            assert!(named(text.clone()), "{text}");
        }
        assert!(!named("x".into()) && !named(String::new()));
    }

    #[test]
    fn times_before_1970_are_times() {
        let time = last_modified(&stat(-1_500_000_000, 0));
        assert_eq!(time, SystemTime::UNIX_EPOCH - Duration::from_millis(1500));
        assert_eq!(nanos(time), -1_500_000_000);
        assert_eq!(nanos(last_modified(&stat(7, 0))), 7);
        assert_eq!(etag(&stat(-1_500_000_000, 0)), "abc-0-0");
    }
}
