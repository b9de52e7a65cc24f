//! Options of reads.

use std::ops::Range;
use std::time::SystemTime;

use super::ObjectMeta;
use crate::{Condition, StorageError};

/// The bytes of an object to read.
///
/// ```
/// use icefield_storage::GetRange;
///
/// assert_eq!(GetRange::Suffix(3).resolve(10), Some(7..10));
/// assert_eq!(GetRange::Bounded(8..12).resolve(10), None, "never cut");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum GetRange {
    /// The whole object.
    #[default]
    All,
    /// A half-open range. Both ends must lie within the object, else the read is [`StorageError::RangeNotSatisfiable`].
    /// It is never padded and never cut.
    Bounded(Range<u64>),
    /// From an offset, at most the size of the object, to the end.
    From(u64),
    /// The last bytes of the object; more than there are is [`StorageError::RangeNotSatisfiable`].
    Suffix(u64),
}

impl GetRange {
    /// Returns the half-open range within an object of `size` bytes, or `None` if it is not contained in it.
    pub fn resolve(&self, size: u64) -> Option<Range<u64>> {
        match *self {
            Self::All => Some(0..size),
            Self::Bounded(Range { start, end }) => {
                (start <= end && end <= size).then_some(start..end)
            }
            Self::From(start) => (start <= size).then_some(start..size),
            Self::Suffix(length) => size.checked_sub(length).map(|start| start..size),
        }
    }
}

/// The options of [`Storage::get`](crate::Storage::get): a range, and conditions under which the object is read. The
/// default reads the whole object unconditionally.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct GetOptions {
    /// The bytes to read.
    pub range: GetRange,
    /// Reads only if the object is still in this state, else [`StorageError::PreconditionFailed`].
    pub if_match: Option<Condition>,
    /// Reads only if the object is *not* in this state, else [`StorageError::NotModified`].
    pub if_none_match: Option<Condition>,
    /// Reads only if the object was not written after this time, else [`StorageError::PreconditionFailed`].
    pub if_unmodified_since: Option<SystemTime>,
    /// Reads only if the object has no more bytes than this, else [`StorageError::ObjectTooLarge`].
    pub max_size: Option<u64>,
}

impl GetOptions {
    /// Returns the options for one range.
    pub fn range(range: GetRange) -> Self {
        Self {
            range,
            ..Self::default()
        }
    }

    /// Checks the conditions, the size and the range against a stored object, in the one order that all backends follow:
    /// preconditions, then not-modified, then the size, then the range. `etag` is the object's ETag, where the backend has one.
    /// Returns the bytes to read, half open.
    ///
    /// # Errors
    /// [`StorageError::PreconditionFailed`], [`StorageError::NotModified`],
    /// [`StorageError::ObjectTooLarge`], [`StorageError::RangeNotSatisfiable`].
    pub fn check(&self, meta: &ObjectMeta, etag: Option<&str>) -> Result<Range<u64>, StorageError> {
        let key = || meta.key.clone();
        let matches = |condition: &Condition| match condition {
            Condition::Version(version) => *version == meta.version,
            Condition::ETag(text) => etag == Some(text.as_str()),
        };
        if self
            .if_match
            .as_ref()
            .is_some_and(|condition| !matches(condition))
            || self
                .if_unmodified_since
                .is_some_and(|time| meta.last_modified.is_none_or(|written| written > time))
        {
            return Err(StorageError::PreconditionFailed { key: key() });
        }
        if self.if_none_match.as_ref().is_some_and(matches) {
            return Err(StorageError::NotModified { key: key() });
        }
        self.check_size(meta)
    }

    /// Decides the size and the range alone, as [`GetOptions::check`] does after the conditions.
    ///
    /// # Errors
    /// [`StorageError::ObjectTooLarge`], [`StorageError::RangeNotSatisfiable`].
    pub fn check_size(&self, meta: &ObjectMeta) -> Result<Range<u64>, StorageError> {
        if let Some(limit) = self.max_size.filter(|limit| meta.size > *limit) {
            return Err(StorageError::ObjectTooLarge {
                key: meta.key.clone(),
                size: meta.size,
                limit,
            });
        }
        self.range
            .resolve(meta.size)
            .ok_or_else(|| StorageError::RangeNotSatisfiable {
                key: meta.key.clone(),
                wanted: format!("{:?}", self.range),
                size: meta.size,
            })
    }

    /// Adds the condition that the object is still in this state.
    #[must_use]
    pub fn with_if_match(mut self, condition: impl Into<Condition>) -> Self {
        self.if_match = Some(condition.into());
        self
    }

    /// Adds the condition that the object is not in this state.
    #[must_use]
    pub fn with_if_none_match(mut self, condition: impl Into<Condition>) -> Self {
        self.if_none_match = Some(condition.into());
        self
    }

    /// Adds the condition that the object has no more bytes than this.
    #[must_use]
    pub fn with_max_size(mut self, bytes: u64) -> Self {
        self.max_size = Some(bytes);
        self
    }

    /// Adds the condition that the object was not written after this time.
    #[must_use]
    pub fn with_if_unmodified_since(mut self, time: SystemTime) -> Self {
        self.if_unmodified_since = Some(time);
        self
    }
}

impl From<GetRange> for GetOptions {
    fn from(range: GetRange) -> Self {
        Self::range(range)
    }
}
