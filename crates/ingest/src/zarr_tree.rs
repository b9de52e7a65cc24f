//! Zarr hierarchies on any storage, of format 2 or 3: objects below a prefix, or the entries of a zip file.
//!
//! One list tells of every chunk: its key, its size and its state. None of them is asked for: only the documents are
//! read.

pub(crate) mod format3;
mod listed;
mod zip;

use std::sync::Arc;

use futures::TryStreamExt;
use icefield_storage::{ListOptions, Prefix, Storage, StorageExt};

use self::listed::{TreeValue, TreeValues, add_file, url_of};
use crate::SourceError;
use crate::archive::{Archive, ArchiveFile, ArchiveOptions, explained};

pub(crate) use self::listed::{Documents, has_below};
pub use self::zip::read_zip;

/// Reads what a Zarr hierarchy holds. `url` is what messages and virtual references call its root; the objects have
/// URLs below it.
///
/// Where there is a `zarr.json` the hierarchy is read as one of format 3, else of format 2. The documents of the nodes
/// count: consolidated metadata is compared with them, and stands in for a document only where that is missing and
/// something lies below its node. Objects that belong to no array are left out, and counted.
///
/// # Errors
/// [`SourceError::MixedFormats`] for nodes of both formats, [`SourceError::Damaged`] and [`SourceError::Metadata`] for a document that is none or if there is none at all,
/// [`SourceError::Variable`] for an array that format 3 cannot describe, [`SourceError::NotAChunk`] and
/// [`SourceError::EmptyChunk`] for what lies among chunks, the errors of the store.
pub async fn read_zarr(
    storage: Arc<dyn Storage>,
    prefix: &Prefix,
    url: &str,
    options: impl Into<ArchiveOptions>,
) -> Result<Archive, SourceError> {
    let options = options.into();
    let url = url.trim_end_matches('/');
    let mut listed = TreeValues::default();
    // An object whose name is no key may be a chunk, which would be missing.
    let mut list = storage.list_strict(ListOptions::prefix(prefix.clone()));
    while let Some(object) = list
        .try_next()
        .await
        .map_err(|error| explained(url, error))?
    {
        let key = object.key.below(prefix).unwrap_or_default().to_owned();
        let name = url_of(url, &key);
        let file = ArchiveFile::of_object(Arc::clone(&storage), object, name);
        listed.add(TreeValue { key, file });
    }
    let (mut nodes, chunks) = listed.read(url, options).await?;
    let mut files = Vec::with_capacity(chunks.len());
    for (place, value) in chunks {
        add_file(&mut nodes, &mut files, &place, value.file, url)?;
    }
    Ok(nodes.into_archive(files))
}
