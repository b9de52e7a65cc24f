//! Which directories hold references in Parquet, whether or not this program can read them.

use std::sync::Arc;

use icefield_storage::{Prefix, Storage};

use crate::archive::ArchiveFile;
#[cfg(not(feature = "kerchunk-parquet"))]
use crate::archive::{Archive, OpenUrl};
use crate::names::CONSOLIDATED;
use crate::{SourceError, zarr2};

/// Longest document that is looked into, in bytes: the longest that the readers take.
const MAX_DOCUMENTS: u64 = 1 << 30;

/// Returns whether a directory holds kerchunk's references in Parquet: the same document as at the root of a hierarchy
/// of format 2, which also says how long the files are. `url` is what messages call the directory.
///
/// # Errors
/// The errors of the store.
pub async fn is_kerchunk_parquet(
    storage: Arc<dyn Storage>,
    prefix: &Prefix,
    url: &str,
) -> Result<bool, SourceError> {
    let Ok(key) = prefix.key(CONSOLIDATED) else {
        return Ok(false);
    };
    let file = match ArchiveFile::open(storage, &key, format!("{url}/{}", CONSOLIDATED)).await {
        Ok(file) => file,
        Err(SourceError::NotFound { .. }) => return Ok(false),
        Err(error) => return Err(error),
    };
    if file.size() > MAX_DOCUMENTS {
        return Ok(false);
    }
    let document = zarr2::parse_json(&file.read(0..file.size()).await?);
    Ok(document.is_ok_and(|it| it.get("record_size").is_some()))
}

/// Reads kerchunk's references from a directory of Parquet files.
///
/// # Errors
/// As [`read_kerchunk`]; [`SourceError::Damaged`] without the feature `kerchunk-parquet`.
#[cfg(not(feature = "kerchunk-parquet"))]
pub async fn read_kerchunk_parquet(
    _: Arc<dyn Storage>,
    _: &Prefix,
    url: &str,
    _: &dyn OpenUrl,
) -> Result<Archive, SourceError> {
    let problem =
        "it is Parquet, and this program was built without the feature `kerchunk-parquet`";
    Err(SourceError::damaged(url, problem))
}
