//! Zarr hierarchies in zip files, flat or below one top folder, on any storage.

use futures::{StreamExt, TryStreamExt, stream};
use icefield_zarr_fs::{ReadTree, TreePrefix};

use super::listed::{AT_ONCE, TreeValue, TreeValues, add_file, url_of};
use crate::SourceError;
use crate::archive::{Archive, ArchiveFile, ArchiveOptions, of_tree};

/// Reads what a zip file with a Zarr hierarchy of format 2 or 3 in it holds, as [`read_zarr`](crate::read_zarr) does.
///
/// With `located`, it is found out where in the file the chunks lie that are stored as they are, one small read for each,
/// so that they can be referred to. Those that are deflated can only be copied, as without `located` all can.
///
/// # Errors
/// [`SourceError::Zip`] with the rule that the file or an entry breaks; as [`read_zarr`](crate::read_zarr).
pub async fn read_zip(
    file: ArchiveFile,
    located: bool,
    options: impl Into<ArchiveOptions>,
) -> Result<Archive, SourceError> {
    let options = options.into();
    let url = file.url().to_owned();
    let tree = file.zip().await?;
    let mut listed = TreeValues::default();
    let mut list = tree.list(&TreePrefix::all());
    while let Some(entry) = list
        .try_next()
        .await
        .map_err(|error| of_tree(&url, error))?
    {
        let key = entry.key.to_string();
        let name = url_of(&url, &key);
        let file = ArchiveFile::of_entry(tree.clone(), entry.key, entry.size, name);
        listed.add(TreeValue { key, file });
    }
    let (mut nodes, chunks) = listed.read(&url, options).await?;
    // Number zero, whether something lies in it or not.
    let mut files = vec![file];
    if !located {
        for (place, item) in chunks {
            add_file(&mut nodes, &mut files, &place, item.file, &url)?;
        }
        return Ok(nodes.into_archive(files));
    }
    let looks = chunks.into_iter().map(|(place, item)| async move {
        let stored = item.file.stored().await?;
        Ok::<_, SourceError>((place, item, stored))
    });
    let mut looks = stream::iter(looks).buffered(AT_ONCE);
    while let Some((place, item, stored)) = looks.try_next().await? {
        match stored {
            Some(range) => nodes.add_extent(&place, 0, range.start, range.end - range.start),
            None => add_file(&mut nodes, &mut files, &place, item.file, &url)?,
        }
    }
    drop(looks);
    Ok(nodes.into_archive(files))
}
