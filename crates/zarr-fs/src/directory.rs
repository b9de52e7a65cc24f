//! A Zarr store in a plain directory: a file per key, its path the key, letter by letter.

mod base;
mod buffers;
pub(crate) mod builder;
mod erase;
mod files;
mod raw;
mod resolve;
mod settings;

mod walk;
mod write;

use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use icefield_storage::GetRange;

pub use raw::{RawEntry, RawKind};
pub use settings::{Durability, Links, Skipped, WhySkipped};

use crate::{Child, Entry, Naming, ReadTree, TreeError, TreeKey, TreePrefix, UriError, WriteTree};
use base::Base;
use raw::RawWalk;
use walk::TreeWalk;

/// Entries that one hop to a thread brings back at most.
const PORTION: usize = 512;

/// A directory as a Zarr store. Clones share one handle.
///
/// The directory contains only values and, while a write runs, a temporary file beside the value, whose name begins
/// with [`TEMPORARY`](crate::TEMPORARY).
#[derive(Clone)]
pub struct DirectoryTree(Arc<Base>);

impl DirectoryTree {
    /// Returns the absolute path of the directory.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns the canonical URI of the directory.
    ///
    /// # Errors
    /// [`UriError::Encoding`] if the path is not UTF-8.
    pub fn uri(&self) -> Result<String, UriError> {
        let path = self.0.path.to_str().ok_or_else(|| UriError::Encoding {
            text: self.0.name.clone(),
        })?;
        Naming::native().file_uri(path)
    }

    /// Reads a whole value, if its size in bytes is among those given; `None` if there is none. For callers that know
    /// the size from a list, or that bound it.
    ///
    /// # Errors
    /// [`TreeError::Size`] for another size, [`TreeError::Changed`] if the size changes during the read; otherwise as
    /// [`ReadTree::get_ranges`].
    pub async fn get_sized(
        &self,
        key: &TreeKey,
        sizes: RangeInclusive<u64>,
    ) -> Result<Option<Bytes>, TreeError> {
        let key = key.clone();
        self.run("read", move |base| base.get_sized(&key, sizes))
            .await
    }

    /// Tells what stands under a key, whatever it is, without opening or following it; `None` if nothing does. Of
    /// temporary files, too, which no value can be called.
    ///
    /// # Errors
    /// For links on the way to it: as [`ReadTree::get_ranges`]. What the system says.
    pub async fn raw_kind(&self, key: &TreeKey) -> Result<Option<RawKind>, TreeError> {
        let key = key.clone();
        self.run("read", move |base| base.raw_kind(&key)).await
    }

    /// Tells everything that stands in the directory of a prefix, whatever it is, in no order: also what is no key and
    /// what lists leave out. Links are told, not followed. A directory is gone into after it was told, if `enter` says
    /// so of it.
    ///
    /// One directory is open for each level that the walk is in, and nothing is held in memory but the next few
    /// hundred entries. What appears or vanishes meanwhile may or may not be told; a directory that vanishes after it was
    /// told, and before it is gone into, is an error.
    ///
    /// # Errors
    /// [`TreeError::Link`] where a link has taken the place of a directory, [`TreeError::Io`] also if there is no
    /// directory, and what the system says. After an error the stream ends.
    pub fn raw_entries(
        &self,
        prefix: &TreePrefix,
        enter: impl FnMut(&RawEntry) -> bool + Send + 'static,
    ) -> BoxStream<'static, Result<RawEntry, TreeError>> {
        let walk = RawWalk::new(prefix.clone(), Box::new(enter));
        self.portions(walk, RawWalk::entries)
    }

    async fn run<T: Send + 'static>(
        &self,
        action: &'static str,
        work: impl FnOnce(&Base) -> Result<T, TreeError> + Send + 'static,
    ) -> Result<T, TreeError> {
        let base = Arc::clone(&self.0);
        let name = &self.0.name;
        self.0.threads.run(action, name, move || work(&base)).await
    }

    /// A stream of what a walk finds, portion by portion; no thread is held in between.
    fn portions<W: Send + 'static, T: Send + 'static>(
        &self,
        walk: W,
        next: fn(&mut W, &Base, usize) -> Result<Vec<T>, TreeError>,
    ) -> BoxStream<'static, Result<T, TreeError>> {
        let tree = self.clone();
        let portions = stream::try_unfold(walk, move |mut walk| {
            let tree = tree.clone();
            async move {
                let step = move |base: &Base| {
                    let portion = next(&mut walk, base, PORTION)?;
                    Ok((portion, walk))
                };
                let (portion, walk) = tree.run("list", step).await?;
                Ok::<_, TreeError>((!portion.is_empty()).then_some((portion, walk)))
            }
        });
        portions
            .map_ok(|portion| stream::iter(portion.into_iter().map(Ok)))
            .try_flatten()
            .boxed()
    }
}

impl fmt::Display for DirectoryTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}

impl fmt::Debug for DirectoryTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectoryTree")
            .field("path", &self.0.path)
            .field("links", &self.0.links)
            .field("durability", &self.0.durability)
            .field("read_only", &self.0.read_only)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl ReadTree for DirectoryTree {
    async fn get_ranges(
        &self,
        key: &TreeKey,
        ranges: &[GetRange],
    ) -> Result<Option<Vec<Bytes>>, TreeError> {
        let (key, ranges) = (key.clone(), ranges.to_vec());
        self.run("read", move |base| base.get_ranges(&key, &ranges))
            .await
    }

    async fn size(&self, key: &TreeKey) -> Result<Option<u64>, TreeError> {
        let key = key.clone();
        self.run("read", move |base| base.size(&key)).await
    }

    fn list(&self, prefix: &TreePrefix) -> BoxStream<'static, Result<Entry, TreeError>> {
        self.portions(TreeWalk::new(prefix.clone()), TreeWalk::entries)
    }

    fn list_dir(&self, prefix: &TreePrefix) -> BoxStream<'static, Result<Child, TreeError>> {
        self.portions(TreeWalk::new(prefix.clone()), TreeWalk::children)
    }
}

#[async_trait]
impl WriteTree for DirectoryTree {
    async fn set(&self, key: &TreeKey, value: Bytes) -> Result<(), TreeError> {
        let key = key.clone();
        self.run("write", move |base| base.set(&key, &value)).await
    }

    async fn set_if_not_exists(&self, key: &TreeKey, value: Bytes) -> Result<bool, TreeError> {
        let key = key.clone();
        self.run("write", move |base| base.set_if_not_exists(&key, &value))
            .await
    }

    async fn erase(&self, key: &TreeKey) -> Result<(), TreeError> {
        let key = key.clone();
        self.run("erase", move |base| base.erase(&key)).await
    }

    async fn erase_prefix(&self, prefix: &TreePrefix) -> Result<(), TreeError> {
        let prefix = prefix.clone();
        self.run("erase", move |base| base.erase_prefix(&prefix))
            .await
    }
}

#[cfg(test)]
mod tests;
