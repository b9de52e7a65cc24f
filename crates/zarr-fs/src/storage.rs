//! A Zarr store on any storage backend: an object per key, below a prefix.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use icefield_storage::{
    DeleteOutcome, Deletion, GetOptions, GetRange, Key, ListOptions, ObjectMeta, Prefix, PutMode,
    PutOptions, PutOutcome, Storage, StorageError, StorageExt,
};

use crate::{
    Child, Entry, NameError, ReadTree, TEMPORARY, TreeError, TreeKey, TreePrefix, WriteTree,
};

/// The objects below a prefix of a storage backend as a Zarr store. Clones share the backend.
///
/// Objects whose keys are no keys of a Zarr store are invisible. A value and values below it can both exist, as in
/// buckets; on a backend of files they cannot.
///
/// ```
/// use std::sync::Arc;
/// use icefield_storage::Prefix;
/// use icefield_zarr_fs::{GetRange, ReadTree, StorageTree, TreeKey, WriteTree};
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tree = StorageTree::new(Arc::new(MemoryStorage::new()), Prefix::parse("data.zarr")?);
/// let key = TreeKey::parse("zarr.json")?;
/// tree.set(&key, "{}".into()).await?;
/// assert_eq!(tree.get(&key, GetRange::All).await?.as_deref(), Some(&b"{}"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct StorageTree {
    storage: Arc<dyn Storage>,
    prefix: Prefix,
}

impl StorageTree {
    /// Returns the objects below `prefix` as a store. Reads nothing.
    pub fn new(storage: Arc<dyn Storage>, prefix: Prefix) -> Self {
        Self { storage, prefix }
    }

    fn object(&self, key: &TreeKey) -> Result<Key, TreeError> {
        self.prefix
            .key(key.as_str())
            .map_err(|error| self.failed("address", key.as_str(), error.into()))
    }

    fn below(&self, prefix: &TreePrefix) -> Result<Prefix, TreeError> {
        let text = prefix.as_str();
        Prefix::parse(text.strip_suffix('/').unwrap_or(text))
            .and_then(|below| self.prefix.join(&below))
            .map_err(|error| self.failed("address", text, error.into()))
    }

    fn failed(&self, action: &'static str, name: &str, source: StorageError) -> TreeError {
        let store = self.to_string();
        match source {
            StorageError::ReadOnly { .. } => TreeError::ReadOnly { store },
            source => TreeError::Storage {
                action,
                store,
                name: name.to_owned(),
                source: Box::new(source),
            },
        }
    }

    async fn put(&self, key: &TreeKey, value: Bytes, mode: PutMode) -> Result<bool, TreeError> {
        // A directory beside it would never list such a key.
        let taken = key.segments().find(|name| name.starts_with(TEMPORARY));
        if let Some(segment) = taken {
            return Err(TreeError::Name {
                store: self.to_string(),
                key: key.to_string(),
                source: NameError::Temporary {
                    segment: segment.to_owned(),
                },
            });
        }
        let object = self.object(key)?;
        let outcome = self
            .storage
            .put(&object, value.into(), PutOptions::from(mode))
            .await
            .map_err(|error| self.failed("write", key.as_str(), error))?;
        match outcome {
            PutOutcome::Written(_) => Ok(true),
            PutOutcome::Refused => Ok(false),
            PutOutcome::Unknown(source) => Err(self.in_doubt(key.as_str(), source)),
        }
    }

    fn in_doubt(&self, name: &str, source: StorageError) -> TreeError {
        TreeError::InDoubt {
            store: self.to_string(),
            name: name.to_owned(),
            source: Box::new(source),
        }
    }
}

impl fmt::Display for StorageTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.prefix.is_all() {
            true => write!(f, "{}", self.storage),
            false => write!(f, "{}/{}", self.storage, self.prefix),
        }
    }
}

#[async_trait]
impl ReadTree for StorageTree {
    async fn get_ranges(
        &self,
        key: &TreeKey,
        ranges: &[GetRange],
    ) -> Result<Option<Vec<Bytes>>, TreeError> {
        let object = self.object(key)?;
        if ranges.is_empty() {
            return Ok(self.size(key).await?.map(|_| Vec::new()));
        }
        let mut values = Vec::with_capacity(ranges.len());
        let mut version = None;
        for range in ranges {
            let mut options = GetOptions::range(range.clone());
            if let Some(version) = &version {
                // All of one state.
                options = options.with_if_match(Clone::clone(version));
            }
            let read = match self.storage.get(&object, options).await {
                Ok(read) => read,
                Err(error) if is_absent(&error) => return Ok(None),
                Err(StorageError::RangeNotSatisfiable { size, .. }) => {
                    return Err(TreeError::Range {
                        store: self.to_string(),
                        key: key.clone(),
                        wanted: range.clone(),
                        size,
                    });
                }
                Err(error) => return Err(self.failed("read", key.as_str(), error)),
            };
            version.get_or_insert_with(|| read.meta.version.clone());
            let bytes = read.bytes().await;
            values.push(bytes.map_err(|error| self.failed("read", key.as_str(), error))?);
        }
        Ok(Some(values))
    }

    async fn size(&self, key: &TreeKey) -> Result<Option<u64>, TreeError> {
        match self.storage.head(&self.object(key)?).await {
            Ok(meta) => Ok(Some(meta.size)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(self.failed("read", key.as_str(), error)),
        }
    }

    /// Ends at the first name that is no key, unless it is a directory marker: it may be a chunk, and a chunk that is not
    /// listed would read as fill values.
    fn list(&self, prefix: &TreePrefix) -> BoxStream<'static, Result<Entry, TreeError>> {
        self.walk(prefix, |storage, options| storage.list_strict(options))
    }

    /// Walks over all that lies below: a backend has no list of one level. A name that is no key is no child.
    fn list_dir(&self, prefix: &TreePrefix) -> BoxStream<'static, Result<Child, TreeError>> {
        let (prefix, mut last) = (prefix.clone(), None::<TreePrefix>);
        self.walk(&prefix.clone(), |storage, options| {
            storage.list_objects(options)
        })
        .try_filter_map(move |entry| {
            let child = child(&prefix, entry, &mut last);
            futures::future::ready(child)
        })
        .boxed()
    }
}

/// The objects of a list.
type Objects = BoxStream<'static, Result<ObjectMeta, StorageError>>;

impl StorageTree {
    fn walk(
        &self,
        prefix: &TreePrefix,
        list: impl FnOnce(&dyn Storage, ListOptions) -> Objects,
    ) -> BoxStream<'static, Result<Entry, TreeError>> {
        let below = match self.below(prefix) {
            Ok(below) => below,
            Err(error) => return stream::iter([Err(error)]).boxed(),
        };
        let (tree, name) = (self.clone(), prefix.to_string());
        let options = ListOptions::prefix(below).without_versions();
        list(&*self.storage, options)
            .filter_map(move |object| {
                let entry = match object {
                    Err(error) => Some(Err(tree.failed("list", &name, error))),
                    // The segments of a key of a store are those of a tree.
                    Ok(meta) => meta
                        .key
                        .below(&tree.prefix)
                        .and_then(|key| TreeKey::parse(key).ok())
                        .map(|key| {
                            Ok(Entry {
                                key,
                                size: meta.size,
                            })
                        }),
                };
                futures::future::ready(entry)
            })
            .boxed()
    }
}

/// The meaning of a key directly below a prefix: itself, or a prefix that was not told yet.
pub(crate) fn child(
    prefix: &TreePrefix,
    entry: Entry,
    last: &mut Option<TreePrefix>,
) -> Result<Option<Child>, TreeError> {
    let rest = &entry.key.as_str()[prefix.as_str().len()..];
    let Some((name, _)) = rest.split_once('/') else {
        return Ok(Some(Child::Key(entry)));
    };
    let below = prefix.join(name)?;
    if last.as_ref() == Some(&below) {
        return Ok(None);
    }
    *last = Some(below.clone());
    Ok(Some(Child::Prefix(below)))
}

/// Nothing there, or no object: a directory of a backend of files.
fn is_absent(error: &StorageError) -> bool {
    matches!(
        error,
        StorageError::NotFound { .. }
            | StorageError::NotAnObject {
                found: "a directory",
                ..
            }
    )
}

#[async_trait]
impl WriteTree for StorageTree {
    async fn set(&self, key: &TreeKey, value: Bytes) -> Result<(), TreeError> {
        self.put(key, value, PutMode::Overwrite).await.map(|_| ())
    }

    async fn set_if_not_exists(&self, key: &TreeKey, value: Bytes) -> Result<bool, TreeError> {
        self.put(key, value, PutMode::Create).await
    }

    async fn erase(&self, key: &TreeKey) -> Result<(), TreeError> {
        let below = TreePrefix::parse(&format!("{key}/"))?;
        let object = self.object(key)?;
        match self.storage.delete_one(Deletion::from(object)).await {
            Ok(DeleteOutcome::Deleted | DeleteOutcome::Refused) => Ok(()),
            Ok(DeleteOutcome::Unknown(source)) => Err(self.in_doubt(key.as_str(), source)),
            Err(error) if is_absent(&error) => match self.list(&below).try_next().await? {
                None => Ok(()),
                Some(entry) => Err(TreeError::AboveKeys {
                    store: self.to_string(),
                    key: key.clone(),
                    below: entry.key.to_string(),
                }),
            },
            Err(error) => Err(self.failed("erase", key.as_str(), error)),
        }
    }

    async fn erase_prefix(&self, prefix: &TreePrefix) -> Result<(), TreeError> {
        let mut listed = self.list(prefix);
        let mut failed = None;
        // A list that fails ends the deletions, and is told.
        let (report, reported) = futures::channel::oneshot::channel();
        let mut report = Some(report);
        let base = self.prefix.clone();
        let deletions = stream::poll_fn(move |context| {
            use std::task::Poll;
            match futures::ready!(listed.poll_next_unpin(context)) {
                Some(Ok(entry)) => {
                    let object = base.key(entry.key.as_str());
                    Poll::Ready(object.ok().map(Deletion::from))
                }
                Some(Err(error)) => {
                    if let Some(report) = report.take() {
                        let _ = report.send(error);
                    }
                    Poll::Ready(None)
                }
                None => Poll::Ready(None),
            }
        });
        let mut outcomes = self.storage.delete(deletions.boxed());
        while let Some((key, outcome)) = outcomes.next().await {
            match outcome {
                Ok(DeleteOutcome::Deleted | DeleteOutcome::Refused) => {}
                Ok(DeleteOutcome::Unknown(source)) => {
                    failed.get_or_insert(self.in_doubt(key.as_str(), source));
                }
                Err(error) => {
                    failed.get_or_insert(self.failed("erase", key.as_str(), error));
                }
            }
        }
        drop(outcomes);
        if let Ok(error) = reported.await {
            return Err(error);
        }
        failed.map_or(Ok(()), Err)
    }
}
