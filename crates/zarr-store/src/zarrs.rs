//! The storage traits of the crate `zarrs`, so that its arrays read and write through a session.
//!
//! | trait promise | here |
//! |---|---|
//! | a missing key is `Ok(None)` | also a key that names nothing |
//! | a range past the end is an error | `InvalidByteRangeError` |
//! | `erase` is idempotent | as [`ZarrStore::delete`]: erasing `a/zarr.json` deletes the node |
//! | listings are sorted | by bytes |
//! | partial writes | read, change and write the whole value; a gap is filled with zeros; not atomic |
//!
//! The sync traits answer reads on the spot where no network is needed; everything else, and every write, runs on
//! the runtime given by [`ZarrStore::with_runtime`] while the calling thread waits ([`ZarrStore::wait`]).

mod async_traits;
mod sync_traits;

use bytes::Bytes;
use icefield_core::{ByteRange, SessionError, with_causes};
use zarrs_storage::byte_range::{ByteRange as ZarrsRange, InvalidByteRangeError};
use zarrs_storage::{
    StorageError, StoreKey, StoreKeyError, StoreKeys, StoreKeysPrefixes, StorePrefix,
    StorePrefixError,
};

use crate::{DirListing, ZarrStore, ZarrStoreError};

/// An end beyond 2^64 is beyond every value, so it may as well be 2^64 - 1.
fn range_of(range: ZarrsRange) -> ByteRange {
    match range {
        ZarrsRange::FromStart(0, None) => ByteRange::All,
        ZarrsRange::FromStart(offset, None) => ByteRange::From { offset },
        ZarrsRange::FromStart(start, Some(length)) => ByteRange::Range {
            start,
            end: start.saturating_add(length),
        },
        ZarrsRange::Suffix(length) => ByteRange::Suffix { length },
    }
}

fn zarrs_range(range: ByteRange) -> ZarrsRange {
    match range {
        ByteRange::All => ZarrsRange::FromStart(0, None),
        ByteRange::From { offset } => ZarrsRange::FromStart(offset, None),
        ByteRange::Range { start, end } => {
            ZarrsRange::FromStart(start, Some(end.saturating_sub(start)))
        }
        ByteRange::Suffix { length } => ZarrsRange::Suffix(length),
    }
}

impl From<ZarrStoreError> for StorageError {
    /// Keeps the kinds that `zarrs` knows; of the others, the text of the error and of all its causes.
    fn from(error: ZarrStoreError) -> Self {
        match error {
            ZarrStoreError::InvalidKey { key, .. } => StoreKeyError::from(key).into(),
            ZarrStoreError::InvalidPrefix { prefix, .. } => StorePrefixError::from(prefix).into(),
            ZarrStoreError::RangeOutOfValue { range, length, .. } => {
                InvalidByteRangeError::new(zarrs_range(range), length).into()
            }
            ZarrStoreError::Session(SessionError::ReadOnly) => Self::ReadOnly,
            error => Self::Other(with_causes(&error)),
        }
    }
}

fn keys(keys: Vec<String>) -> Result<StoreKeys, StorageError> {
    Ok(keys
        .into_iter()
        .map(StoreKey::new)
        .collect::<Result<_, _>>()?)
}

fn keys_and_prefixes(listing: DirListing) -> Result<StoreKeysPrefixes, StorageError> {
    let prefixes = listing.prefixes.into_iter().map(StorePrefix::new);
    Ok(StoreKeysPrefixes::new(
        keys(listing.keys)?,
        prefixes.collect::<Result<_, _>>()?,
    ))
}

/// Reads a value, puts parts into it, and writes it; what lies between its end and a part is filled with zeros.
async fn set_partial(
    store: &ZarrStore,
    key: &str,
    parts: Vec<(u64, Bytes)>,
) -> Result<(), StorageError> {
    if parts.is_empty() {
        return Ok(());
    }
    let mut value = Vec::from(store.get(key).await?.unwrap_or_default());
    for (offset, part) in parts {
        let too_long = || {
            StorageError::from(format!(
                "cannot store {key:?}: it would be too long for memory"
            ))
        };
        let start = usize::try_from(offset).map_err(|_| too_long())?;
        let end = start.checked_add(part.len()).ok_or_else(too_long)?;
        if end > value.len() {
            value
                .try_reserve(end - value.len())
                .map_err(|_| too_long())?;
            value.resize(end, 0);
        }
        value[start..end].copy_from_slice(&part);
    }
    Ok(store.set(key, value.into()).await?)
}
