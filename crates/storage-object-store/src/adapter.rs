//! The requests of `object_store`, as [`Remote`] wants them.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use icefield_storage::remote::{
    Answer, Deleted, Fault, FaultKind, Limits, Page, Remote, Stored, WriteRequest,
};
use icefield_storage::{
    Capabilities, DeleteOutcome, Deletion, GetOptions, Key, ListOptions, Object, ObjectMeta,
    StorageError,
};
use object_store::ObjectStore;
use object_store::path::Path;

use crate::AdapterOptions;
use crate::fault::Target;
use crate::state;

/// A store of `object_store` and what is known of it.
pub(crate) struct Adapter {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) options: AdapterOptions,
    pub(crate) name: String,
    place: String,
}

impl Adapter {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, options: AdapterOptions) -> Self {
        let name = options.name.clone().unwrap_or_else(|| store.to_string());
        let place = options.place.clone().unwrap_or_else(|| {
            let address = Arc::as_ptr(&store).cast::<()>();
            format!("object-store:{address:p}/{}", options.prefix)
        });
        Self {
            store,
            options,
            name,
            place,
        }
    }

    pub(crate) fn target<'a>(&'a self, action: &'static str, key: Option<&'a Key>) -> Target<'a> {
        Target {
            action,
            store: &self.name,
            address: self.options.address,
            key,
        }
    }

    /// Returns the path of a key, verbatim: `Path::from` would encode it once more.
    pub(crate) fn path(&self, key: &str) -> Result<Path, StorageError> {
        let text = match (self.options.prefix.is_all(), key) {
            (true, _) => key.to_owned(),
            (false, "") => self.options.prefix.to_string(),
            (false, _) => format!("{}/{key}", self.options.prefix),
        };
        let unsupported = |problem: String| StorageError::Unsupported {
            store: self.name.clone(),
            what: format!("the key {key:?}: {problem}"),
        };
        if !self.options.backslashes && key.contains('\\') {
            return Err(unsupported(
                "it would make a slash of the backslash".to_owned(),
            ));
        }
        Path::parse(text).map_err(|error| unsupported(error.to_string()))
    }

    /// Returns the key of a path; `None` for what is no key of ours.
    pub(crate) fn key(&self, path: &Path) -> Option<Key> {
        let text = path.as_ref();
        let text = match self.options.prefix.is_all() {
            true => text,
            false => text
                .strip_prefix(self.options.prefix.as_str())?
                .strip_prefix('/')?,
        };
        Key::parse(text).ok()
    }

    pub(crate) fn meta(&self, key: Key, meta: &object_store::ObjectMeta) -> ObjectMeta {
        ObjectMeta {
            key,
            size: meta.size,
            version: state::version(&self.options, meta),
            last_modified: Some(meta.last_modified.into()),
        }
    }
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The store itself may show what it signs with.
        f.debug_struct("Adapter")
            .field("store", &self.name)
            .field("prefix", &self.options.prefix)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Remote for Adapter {
    fn capabilities(&self) -> Capabilities {
        self.options.capabilities()
    }

    fn place(&self) -> String {
        self.place.clone()
    }

    fn limits(&self) -> Limits {
        // Parts are the business of `put_multipart`, which knows no conditions: to the layer above there are none.
        Limits::whole(self.options.put_bytes).with_delete_keys(self.options.delete_keys)
    }

    fn is_known_to_honour_conditions(&self) -> bool {
        self.options.known_conditions
    }

    async fn get(
        &self,
        key: &Key,
        options: &GetOptions,
        at_most: Option<u64>,
    ) -> Result<Object, Fault> {
        self.read(key, options, at_most).await
    }

    async fn head(&self, key: &Key) -> Result<Stored, Fault> {
        self.describe(key).await
    }

    async fn put(&self, key: &Key, bytes: Bytes, write: &WriteRequest) -> Result<Answer, Fault> {
        self.write(key, bytes, write).await
    }

    async fn put_stream(
        &self,
        key: &Key,
        size: Option<u64>,
        parts: BoxStream<'static, Result<Bytes, StorageError>>,
        write: &WriteRequest,
    ) -> Result<Answer, Fault> {
        self.write_stream(key, size, parts, write).await
    }

    async fn delete(&self, deletion: &Deletion) -> Deleted {
        if deletion.version.is_some() {
            let what = "deleting an object only if it is in a given state";
            return Err(self.cannot(what).into());
        }
        let mut answers = self
            .delete_keys(std::slice::from_ref(&deletion.key))
            .await?;
        match answers.pop() {
            Some(answer) => answer,
            None => unreachable!("BUG: there is an answer for each key"),
        }
    }

    async fn delete_keys(&self, keys: &[Key]) -> Result<Vec<Deleted>, Fault> {
        let paths = keys.iter().map(|key| self.path(key.as_str()));
        let paths: Vec<_> = paths.collect();
        let wanted: Vec<_> = paths.iter().flatten().cloned().map(Ok).collect();
        let answers: Vec<_> = self
            .store
            .delete_stream(stream::iter(wanted).boxed())
            .collect()
            .await;
        let mut answers = answers.into_iter();
        let sorted = keys.iter().zip(paths).map(|(key, path)| {
            if path.is_err() {
                // What cannot be stored is not there.
                return Ok(DeleteOutcome::Deleted);
            }
            let target = self.target("delete", Some(key));
            match answers.next() {
                Some(Ok(_)) => Ok(DeleteOutcome::Deleted),
                Some(Err(error)) => match target.fault(error) {
                    fault if fault.error.is_not_found() => Ok(DeleteOutcome::Deleted),
                    fault => Err(fault),
                },
                // One error stood for the whole request.
                None => Err(target.of_kind(
                    FaultKind::InDoubt,
                    "the store did not say what became of it".into(),
                )),
            }
        });
        Ok(sorted.collect())
    }

    async fn list(&self, options: &ListOptions, token: Option<&str>) -> Result<Page, Fault> {
        self.page(options, token).await
    }
}
