//! A folder of a store as a store of its own.

use std::collections::VecDeque;
use std::fmt;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

use crate::{
    Advice, Body, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, KeyError,
    ListOptions, Object, ObjectMeta, Payload, Prefix, PutOptions, PutOutcome, Storage,
    StorageError,
};

/// The objects of another store below a prefix. Keys going in and coming out are relative to it, in errors
/// too wherever an error names a key; where one names a place (`target`), it stays the real one.
///
/// ```
/// use std::sync::Arc;
/// use icefield_storage::{Key, Prefix, PutMode, Storage, StorageExt, wrap::PrefixStorage};
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let whole = Arc::new(MemoryStorage::new());
/// let folder = PrefixStorage::new(whole.clone(), Prefix::parse("my/repository")?);
/// let _ = folder.put(&Key::parse("config.yaml")?, "a: 1".into(), PutMode::Create.into()).await?;
/// assert!(whole.exists(&Key::parse("my/repository/config.yaml")?).await?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PrefixStorage {
    inner: Arc<dyn Storage>,
    prefix: Prefix,
}

impl PrefixStorage {
    /// Returns the part of `inner` below `prefix`.
    pub fn new(inner: Arc<dyn Storage>, prefix: Prefix) -> Self {
        Self { inner, prefix }
    }

    fn full(&self, key: &Key) -> Result<Key, KeyError> {
        self.prefix.key(key.as_str())
    }

    fn full_options(&self, options: ListOptions) -> Result<ListOptions, KeyError> {
        let start_after = options.start_after.map(|after| self.full(&after));
        let end_at = options.end_at.map(|end| self.prefix.join(&end));
        Ok(ListOptions {
            prefix: self.prefix.join(&options.prefix)?,
            start_after: start_after.transpose()?,
            end_at: end_at.transpose()?,
            ..options
        })
    }
}

impl fmt::Display for PrefixStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, below {:?}", self.inner, self.prefix)
    }
}

/// Returns the key relative to `prefix`, or as it is if it does not lie below.
fn relative(prefix: &Prefix, key: Key) -> Key {
    match key.below(prefix).map(Key::parse) {
        Some(Ok(short)) => short,
        _ => key,
    }
}

fn relative_error(prefix: &Prefix, mut error: StorageError) -> StorageError {
    match &mut error {
        StorageError::NotFound { key }
        | StorageError::PreconditionFailed { key }
        | StorageError::NotModified { key }
        | StorageError::RangeNotSatisfiable { key, .. }
        | StorageError::ObjectTooLarge { key, .. }
        | StorageError::WrongLength { key, .. } => *key = relative(prefix, key.clone()),
        StorageError::UnreadableKey { raw, .. } => {
            let rest = raw.strip_prefix(prefix.as_str());
            if let Some(short) = rest.and_then(|rest| rest.strip_prefix('/')) {
                *raw = short.to_owned();
            }
        }
        _ => {}
    }
    error
}

fn relative_meta(prefix: &Prefix, mut meta: ObjectMeta) -> ObjectMeta {
    meta.key = relative(prefix, meta.key);
    meta
}

fn relative_object(prefix: &Prefix, object: Object) -> Object {
    let body = match object.body {
        Body::Stream(parts) => {
            let prefix = prefix.clone();
            Body::Stream(
                parts
                    .map_err(move |error| relative_error(&prefix, error))
                    .boxed(),
            )
        }
        bytes => bytes,
    };
    Object {
        meta: relative_meta(prefix, object.meta),
        range: object.range,
        body,
    }
}

fn relative_outcome(prefix: &Prefix, outcome: PutOutcome) -> PutOutcome {
    match outcome {
        PutOutcome::Unknown(error) => PutOutcome::Unknown(relative_error(prefix, error)),
        known => known,
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Storage for PrefixStorage {
    fn place(&self) -> Option<String> {
        Some(format!("{}, below {:?}", self.inner.place()?, self.prefix))
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        match self.inner.get(&self.full(key)?, options).await {
            Ok(object) => Ok(relative_object(&self.prefix, object)),
            Err(error) => Err(relative_error(&self.prefix, error)),
        }
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        match self.inner.head(&self.full(key)?).await {
            Ok(meta) => Ok(relative_meta(&self.prefix, meta)),
            Err(error) => Err(relative_error(&self.prefix, error)),
        }
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        match self.inner.put(&self.full(key)?, payload, options).await {
            Ok(outcome) => Ok(relative_outcome(&self.prefix, outcome)),
            Err(error) => Err(relative_error(&self.prefix, error)),
        }
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        let options = match self.full_options(options) {
            Ok(options) => options,
            Err(error) => return stream::iter([Err(error.into())]).boxed(),
        };
        let prefix = self.prefix.clone();
        self.inner
            .list(options)
            .map(move |item| match item {
                Ok(meta) => Ok(relative_meta(&prefix, meta)),
                Err(error) => Err(relative_error(&prefix, error)),
            })
            .boxed()
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        // Keys that become too long below the prefix never reach the inner store, and still have their
        // place in the order of the answers. So remember what was asked, in order.
        type Asked = VecDeque<(Key, Option<KeyError>)>;
        let asked = Arc::new(Mutex::new(Asked::new()));
        let this = self.clone();
        let note = Arc::clone(&asked);
        let valid = deletions.filter_map(move |Deletion { key, version }| {
            let full = this.full(&key);
            let mut asked = note.lock().unwrap_or_else(PoisonError::into_inner);
            asked.push_back((key, full.as_ref().err().cloned()));
            ready(full.ok().map(|key| Deletion { key, version }))
        });
        let prefix = self.prefix.clone();
        self.inner
            .delete(valid.boxed())
            .map(|(_, result)| Some(result))
            .chain(stream::iter([None]))
            .flat_map(move |mut answer| {
                let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
                let mut answers = Vec::new();
                while let Some((key, error)) = asked.pop_front() {
                    match error {
                        Some(error) => answers.push((key, Err(error.into()))),
                        None => {
                            answers.extend(answer.take().map(|result| (key, result)));
                            break;
                        }
                    }
                }
                stream::iter(answers)
            })
            .map(move |(key, result)| match result {
                Ok(DeleteOutcome::Unknown(error)) => (
                    key,
                    Ok(DeleteOutcome::Unknown(relative_error(&prefix, error))),
                ),
                Ok(outcome) => (key, Ok(outcome)),
                Err(error) => (key, Err(relative_error(&prefix, error))),
            })
            .boxed()
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        match self
            .inner
            .copy(&self.full(from)?, &self.full(to)?, options)
            .await
        {
            Ok(outcome) => Ok(relative_outcome(&self.prefix, outcome)),
            Err(error) => Err(relative_error(&self.prefix, error)),
        }
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        self.inner.advice().await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.inner.sync().await
    }

    fn try_get_blocking(
        &self,
        key: &Key,
        options: &GetOptions,
    ) -> Option<Result<Object, StorageError>> {
        let full = match self.full(key) {
            Ok(full) => full,
            Err(error) => return Some(Err(error.into())),
        };
        Some(match self.inner.try_get_blocking(&full, options)? {
            Ok(object) => Ok(relative_object(&self.prefix, object)),
            Err(error) => Err(relative_error(&self.prefix, error)),
        })
    }
}
