//! Slots of the tables, as in `schemas/manifest.fbs`.

pub(super) const MANIFEST_ID: usize = 0;
pub(super) const MANIFEST_ARRAYS: usize = 1;
pub(super) const MANIFEST_DICTIONARY: usize = 2;
pub(super) const MANIFEST_COMPRESSION: usize = 3;
pub(super) const MANIFEST_EXTRA: usize = 4;

pub(super) const ARRAY_NODE_ID: usize = 0;
pub(super) const ARRAY_REFS: usize = 1;
pub(super) const ARRAY_EXTRA: usize = 2;

pub(super) const REF_INDEX: usize = 0;
pub(super) const REF_INLINE: usize = 1;
pub(super) const REF_OFFSET: usize = 2;
pub(super) const REF_LENGTH: usize = 3;
pub(super) const REF_CHUNK_ID: usize = 4;
pub(super) const REF_LOCATION: usize = 5;
pub(super) const REF_ETAG: usize = 6;
pub(super) const REF_LAST_MODIFIED: usize = 7;
pub(super) const REF_COMPRESSED_LOCATION: usize = 8;
pub(super) const REF_EXTRA: usize = 9;
/// Slots of a chunk ref that are known.
pub(super) const REF_SLOTS: usize = 10;
