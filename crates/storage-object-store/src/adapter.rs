//! Implements [`Remote`] on top of `object_store`.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use icefield_storage::remote::{
    Answer, Deleted, Fault, FaultKind, Limits, Page, Remote, Stored, Target, WriteRequest,
};
use icefield_storage::{
    Capabilities, DeleteOutcome, Deletion, GetOptions, Key, ListOptions, Object, ObjectMeta,
    StorageError,
};
use object_store::ObjectStore;
use object_store::path::Path;

use crate::AdapterOptions;
use crate::fault::{fault, path_in};
use crate::state;

/// A store of `object_store` and what is known of it.
pub(crate) struct Adapter {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// Lists it page by page, in byte order.
    #[cfg(feature = "azure")]
    pub(crate) pages: Option<Arc<dyn object_store::list::PaginatedListStore>>,
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
            #[cfg(feature = "azure")]
            pages: None,
            options,
            name,
            place,
        }
    }

    pub(crate) fn target<'a>(&'a self, action: &'static str, key: Option<&'a Key>) -> Target<'a> {
        Target {
            action,
            store: &self.name,
            key,
        }
    }

    /// Sorts an error of a request.
    pub(crate) fn fault(&self, target: Target<'_>, error: object_store::Error) -> Fault {
        fault(target, self.options.address, error)
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

    /// Returns the part of a path below the prefix; `None` for another one.
    pub(crate) fn below<'a>(&self, path: &'a str) -> Option<&'a str> {
        match self.options.prefix.is_all() {
            true => Some(path),
            false => path
                .strip_prefix(self.options.prefix.as_str())?
                .strip_prefix('/'),
        }
    }

    pub(crate) fn meta(&self, key: Key, meta: &object_store::ObjectMeta) -> ObjectMeta {
        ObjectMeta {
            key,
            size: meta.size,
            version: state::version(&self.options, meta),
            // Of a server that does not say it, the crate makes it the beginning of time.
            last_modified: Some(meta.last_modified.into()).filter(|it| *it > UNIX_EPOCH),
        }
    }
}

/// The outcomes of deletions, by path: the trait promises no order.
#[derive(Default)]
struct Said(BTreeMap<Path, VecDeque<Result<(), object_store::Error>>>);

impl Said {
    fn sort(answers: Vec<object_store::Result<Path>>, wanted: &[Path]) -> Self {
        let mut said = Self::default();
        for answer in answers {
            let (path, answer) = match answer {
                Ok(path) => (path, Ok(())),
                Err(error) => match path_in(&error, wanted) {
                    Some(path) => (path.clone(), Err(error)),
                    None => {
                        tracing::warn!("a deletion failed, and the store does not say which");
                        continue;
                    }
                },
            };
            said.0.entry(path).or_default().push_back(answer);
        }
        said
    }

    /// Takes one of the answers for a path.
    fn take(&mut self, path: &Path) -> Option<Result<(), object_store::Error>> {
        self.0.get_mut(path)?.pop_front()
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
        if let Some(version) = &deletion.version {
            // The trait has no condition for it. A state that is another already is kept, at least; what is written
            // between this look and the deletion is lost, which is why `conditional_delete` is not promised.
            match self.describe(&deletion.key).await {
                Ok(stored) if stored.meta.version == *version => {}
                Ok(_) => return Ok(DeleteOutcome::Refused),
                Err(fault) if fault.error.is_not_found() => return Ok(DeleteOutcome::Refused),
                Err(fault) => return Err(fault),
            }
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
        let wanted: Vec<Path> = paths.iter().flatten().cloned().collect();
        let mut answers: Vec<_> = self
            .store
            .delete_stream(stream::iter(wanted.clone()).map(Ok).boxed())
            .collect()
            .await;
        if let [Err(error)] = answers.as_slice()
            && path_in(error, &wanted).is_none()
            && let Some(Err(error)) = answers.pop()
        {
            // It stands for the whole request.
            let only = keys.first().filter(|_| keys.len() == 1);
            return Err(self.fault(self.target("delete", only), error));
        }
        let mut said = Said::sort(answers, &wanted);
        let sorted = keys.iter().zip(paths).map(|(key, path)| {
            if path.is_err() {
                // An object that cannot be stored is not there.
                return Ok(DeleteOutcome::Deleted);
            }
            let target = self.target("delete", Some(key));
            match path.ok().and_then(|path| said.take(&path)) {
                Some(Ok(())) => Ok(DeleteOutcome::Deleted),
                Some(Err(error)) => match self.fault(target, error) {
                    fault if fault.error.is_not_found() => Ok(DeleteOutcome::Deleted),
                    fault => Err(fault),
                },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_to_deletions_are_told_apart_by_path_in_any_order() {
        let [one, two, three] = ["a/1", "a/2", "a/3"].map(|it| Path::parse(it).expect("a path"));
        let paths = [one.clone(), two.clone(), three.clone(), one.clone()];
        let denied = object_store::Error::PermissionDenied {
            path: two.to_string(),
            source: "no".into(),
        };
        let unnamed = object_store::Error::Generic {
            store: "test",
            source: "reset".into(),
        };
        let answers = vec![Err(denied), Ok(one.clone()), Err(unnamed), Ok(one.clone())];
        let mut said = Said::sort(answers, &paths);
        assert!(matches!(said.take(&one), Some(Ok(()))));
        assert!(matches!(
            said.take(&two),
            Some(Err(object_store::Error::PermissionDenied { .. }))
        ));
        assert!(said.take(&three).is_none(), "in doubt");
        assert!(matches!(said.take(&one), Some(Ok(()))));
        assert!(said.take(&one).is_none());
    }
}
