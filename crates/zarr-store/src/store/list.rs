//! Listing keys: all, below a prefix, directly below one, and the sums over them.

use std::collections::BTreeSet;

use futures::future;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use icefield_core::NodeKind;

use super::ZarrStore;
use super::sorted_chunks::{SortedChunks, chunks};
use crate::ZarrStoreError;
use crate::chunk_keys::directory;
use crate::key::{chunk_keys_of, metadata_key};
use crate::prefix::{ChunkScope, Prefix};

/// Arrays whose chunks are loaded ahead while keys are listed.
const ARRAYS_AHEAD: usize = 4;

/// The keys and prefixes directly below a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirListing {
    /// The keys directly below the prefix, whole and sorted.
    pub keys: Vec<String>,
    /// The prefixes directly below the prefix, whole and sorted. Each ends in `/` and holds at least one key.
    pub prefixes: Vec<String>,
}

/// Keys that are next to each other in byte order.
enum Run {
    /// Known keys.
    Keys(Vec<String>),
    /// The chunks of one array, all before the key that follows.
    Chunks(ChunkScope, Option<String>),
    /// A snapshot with nodes below an array: no program should write one, and its keys mix.
    Mixed(Vec<(String, Option<ChunkScope>)>),
}

impl ZarrStore {
    /// Lists all keys, as [`ZarrStore::list_prefix`] of the empty prefix.
    pub fn list(&self) -> BoxStream<'static, Result<String, ZarrStoreError>> {
        self.list_prefix("")
    }

    /// Lists the keys below a prefix, which is empty or ends with `/`, as whole keys sorted by their bytes.
    ///
    /// The nodes are those of the moment of the call; the chunks of an array those of the moment when the listing comes
    /// to it, or a little before. Memory: a key per node, and at most four arrays' chunks at a time, `4 * rank + 8`
    /// bytes each, because their order by coordinates is not that of their keys (`c/10`, `c/9`).
    ///
    /// # Errors
    /// In the stream: [`ZarrStoreError::InvalidPrefix`]; [`ZarrStoreError::Session`] if a manifest cannot be read.
    pub fn list_prefix(&self, prefix: &str) -> BoxStream<'static, Result<String, ZarrStoreError>> {
        let runs = match self.runs(prefix) {
            Ok(runs) => runs,
            Err(error) => return stream::once(future::ready(Err(error))).boxed(),
        };
        let store = self.clone();
        stream::iter(runs)
            .map(move |run| store.clone().keys_of(run))
            .buffered(ARRAYS_AHEAD)
            .map_ok(|keys| stream::iter(keys.map(Ok)))
            .try_flatten()
            .boxed()
    }

    /// Lists the keys and prefixes directly below a prefix, which is empty or ends with `/`.
    ///
    /// A prefix is listed only if it holds a key: `a/c/` of an array without chunks is not, a group without metadata of
    /// its own is. A prefix that does not exist has neither keys nor prefixes. Inside an array all its chunk references
    /// are visited, except for the question whether `a/c/` holds any.
    ///
    /// # Errors
    /// [`ZarrStoreError::InvalidPrefix`]; [`ZarrStoreError::Session`] if a manifest cannot be read.
    pub async fn list_dir(&self, prefix: &str) -> Result<DirListing, ZarrStoreError> {
        let prefix = Prefix::parse(prefix)?;
        let mut keys = BTreeSet::new();
        let mut prefixes: BTreeSet<String> = self
            .session
            .child_names(prefix.path())?
            .into_iter()
            .map(|name| format!("{}{name}/", prefix.as_str()))
            .collect();
        if self.session.node_kind(prefix.path())?.is_some() {
            keys.insert(metadata_key(prefix.path()));
        }
        for scope in self.scopes(&prefix)? {
            let whole = scope.array == *prefix.path();
            let mut chunks = chunks(&self.session, &scope)?;
            if let (true, Some(name)) = (whole, scope.keys.common_directory()) {
                if chunks.try_next().await?.is_some() {
                    prefixes.insert(format!("{}{name}", prefix.as_str()));
                }
                continue;
            }
            while let Some(chunk) = chunks.try_next().await? {
                let mut key = scope.key(&chunk.index);
                match key[prefix.as_str().len()..].find('/') {
                    None => keys.insert(key),
                    Some(at) => {
                        key.truncate(prefix.as_str().len() + at + 1);
                        prefixes.insert(key)
                    }
                };
            }
        }
        Ok(DirListing {
            keys: keys.into_iter().collect(),
            prefixes: prefixes.into_iter().collect(),
        })
    }

    /// Returns whether no key lies below a prefix, which is empty or ends with `/`.
    ///
    /// # Errors
    /// As [`ZarrStore::list_dir`].
    pub async fn is_empty(&self, prefix: &str) -> Result<bool, ZarrStoreError> {
        let prefix = Prefix::parse(prefix)?;
        if !self.session.nodes(prefix.path())?.is_empty() {
            return Ok(false);
        }
        for scope in self.scopes(&prefix)? {
            if chunks(&self.session, &scope)?.try_next().await?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the sum of the lengths in bytes of all values below a prefix, which is empty or ends with `/`.
    /// Reads no chunk bytes.
    ///
    /// # Errors
    /// As [`ZarrStore::list_dir`].
    pub async fn size_prefix(&self, prefix: &str) -> Result<u64, ZarrStoreError> {
        let prefix = Prefix::parse(prefix)?;
        let mut scopes: Vec<ChunkScope> = prefix
            .chunks_of_ancestor(&self.session)?
            .into_iter()
            .collect();
        let mut total: u64 = 0;
        for node in self.session.nodes(prefix.path())? {
            let document = self.session.metadata(&node.path)?;
            total = total.saturating_add(document.map_or(0, |document| document.len() as u64));
            if node.kind == NodeKind::Array
                && let Some(keys) = chunk_keys_of(&self.session, &node.path)?
            {
                scopes.push(ChunkScope::all(node.path, keys));
            }
        }
        let session = self.session.clone();
        let sizes = scopes.into_iter().map(move |scope| {
            let session = session.clone();
            async move {
                chunks(&session, &scope)?
                    .try_fold(0_u64, |sum, chunk| {
                        future::ready(Ok(sum.saturating_add(chunk.location.length())))
                    })
                    .await
            }
        });
        stream::iter(sizes)
            .buffer_unordered(self.concurrency)
            .try_fold(total, |sum, size| {
                future::ready(Ok(sum.saturating_add(size)))
            })
            .await
            .map_err(ZarrStoreError::from)
    }

    /// The chunks that have keys below a prefix and belong to no node below it, save one at the prefix itself.
    fn scopes(&self, prefix: &Prefix) -> Result<Vec<ChunkScope>, ZarrStoreError> {
        let own = prefix.chunks_of_node(&self.session)?;
        let above = prefix.chunks_of_ancestor(&self.session)?;
        Ok(own.into_iter().chain(above).collect())
    }

    /// Divides the keys below a prefix into runs, in order.
    fn runs(&self, prefix: &str) -> Result<Vec<Run>, ZarrStoreError> {
        let prefix = Prefix::parse(prefix)?;
        let mut items: Vec<(String, Option<ChunkScope>)> = Vec::new();
        for node in self.session.nodes(prefix.path())? {
            items.push((metadata_key(&node.path), None));
            if node.kind == NodeKind::Array
                && let Some(keys) = chunk_keys_of(&self.session, &node.path)?
            {
                items.push((
                    directory(&node.path),
                    Some(ChunkScope::all(node.path, keys)),
                ));
            }
        }
        if let Some(scope) = prefix.chunks_of_ancestor(&self.session)? {
            items.push((prefix.as_str().to_owned(), Some(scope)));
        }
        // A directory sorts before all that is below it.
        items.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(divide(items))
    }

    async fn keys_of(
        self,
        run: Run,
    ) -> Result<Box<dyn Iterator<Item = String> + Send>, ZarrStoreError> {
        Ok(match run {
            Run::Keys(keys) => Box::new(keys.into_iter()),
            Run::Chunks(scope, next) => {
                let chunks = SortedChunks::load(&self.session, scope).await?;
                Box::new(chunks.into_keys().chain(next))
            }
            Run::Mixed(items) => {
                let mut keys = BTreeSet::new();
                for (key, scope) in items {
                    match scope {
                        None => keys.extend([key]),
                        Some(scope) => {
                            keys.extend(
                                SortedChunks::load(&self.session, scope).await?.into_keys(),
                            );
                        }
                    }
                }
                Box::new(keys.into_iter())
            }
        })
    }
}

/// Divides sorted keys, and sorted directories of chunks, into runs.
fn divide(items: Vec<(String, Option<ChunkScope>)>) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut items = items.into_iter().peekable();
    while let Some((text, scope)) = items.next() {
        let Some(scope) = scope else {
            match runs.last_mut() {
                Some(Run::Keys(keys)) => keys.push(text),
                _ => runs.push(Run::Keys(vec![text])),
            }
            continue;
        };
        let own_metadata = metadata_key(&scope.array);
        let mut below = Vec::new();
        while let Some(item) = items.next_if(|(other, _)| other.starts_with(&text)) {
            below.push(item);
        }
        runs.push(match below.as_slice() {
            [] => Run::Chunks(scope, None),
            // Chunk keys go on with `c` or a digit, and `z` is behind both.
            [(key, None)] if *key == own_metadata => Run::Chunks(scope, Some(own_metadata)),
            _ => {
                below.push((text, Some(scope)));
                Run::Mixed(below)
            }
        });
    }
    runs
}

#[cfg(test)]
mod tests {
    use icefield_core::{ChunkKeyEncoding, NodePath};

    use super::*;
    use crate::chunk_keys::ChunkKeys;

    /// Items as `runs` makes them: keys, and directories of arrays, which end in `/` or are empty.
    fn divided(items: &[&str]) -> Vec<String> {
        let keys = ChunkKeys::new(ChunkKeyEncoding::COMMON, 1);
        let mut items: Vec<(String, Option<ChunkScope>)> = items
            .iter()
            .map(|text| {
                let array = match text.strip_suffix('/') {
                    Some(path) => NodePath::parse(&format!("/{path}")).ok(),
                    None => text.is_empty().then(NodePath::root),
                };
                let scope = array.map(|array| ChunkScope::all(array, keys));
                ((*text).to_owned(), scope)
            })
            .collect();
        items.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let name = |run: &Run| match run {
            Run::Keys(keys) => format!("{keys:?}"),
            Run::Chunks(scope, next) => format!("chunks of {}, {next:?}", scope.array),
            Run::Mixed(items) => format!("mix of {}", items.len()),
        };
        divide(items).iter().map(name).collect()
    }

    #[test]
    fn keys_and_arrays_take_turns() {
        assert_eq!(
            divided(&[
                "zarr.json",
                "a/zarr.json",
                "a-b/zarr.json",
                "a/",
                "b/zarr.json"
            ]),
            [
                "[\"a-b/zarr.json\"]",
                "chunks of /a, Some(\"a/zarr.json\")",
                "[\"b/zarr.json\", \"zarr.json\"]",
            ]
        );
    }

    #[test]
    fn a_root_array_is_one_run() {
        assert_eq!(
            divided(&["zarr.json", ""]),
            ["chunks of /, Some(\"zarr.json\")"]
        );
        assert_eq!(divided(&["a/"]), ["chunks of /a, None"]);
    }

    #[test]
    fn nodes_below_an_array_mix_with_its_chunks() {
        assert_eq!(
            divided(&[
                "a/zarr.json",
                "a/",
                "a/c/zarr.json",
                "a/c/",
                "b/",
                "b/zarr.json"
            ]),
            ["mix of 4", "chunks of /b, Some(\"b/zarr.json\")"]
        );
    }
}
