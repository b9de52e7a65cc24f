//! The operations of a faulty store.

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

use super::decision::{Decision, Verb};
use super::inject::Begun;
use super::pending::Write;
use super::{FaultyStorage, history};
use crate::{
    Advice, Body, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions,
    Object, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError, StorageExt,
};

/// Takes bytes away from the end, or flips a bit, behind the back of the description.
fn damage(bytes: Bytes, decision: Decision) -> Bytes {
    let length = bytes.len() as u64;
    match decision {
        Decision::Short(missing) => bytes.slice(..length.saturating_sub(missing) as usize),
        Decision::Garble(at) if length > 0 => {
            let mut garbled = bytes.to_vec();
            garbled[(at % length) as usize] ^= 1;
            garbled.into()
        }
        _ => bytes,
    }
}

impl FaultyStorage {
    fn stale(&self, key: &Key, decision: Decision) -> Option<history::Content> {
        match decision {
            Decision::Stale(ago) => self.lock().history.earlier(key, ago),
            _ => None,
        }
    }

    /// Walks the store as decided.
    async fn list_decided(
        self,
        begun: Begun,
        options: ListOptions,
    ) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        let prefix = options.prefix.to_string();
        let fail = |error: StorageError| stream::iter([Err(error)]);
        if let Err(error) = self.before_read(&begun, &prefix).await {
            return fail(error).boxed();
        }
        match begun.decision {
            Decision::FailAfter => fail(begun.error(&prefix)).boxed(),
            Decision::ListError(n) => {
                let items = self.inner.list(options).take(n as usize);
                items.chain(fail(begun.error(&prefix))).boxed()
            }
            Decision::ListCut(n) => self.inner.list(options).take(n as usize).boxed(),
            Decision::Stale(ago) => {
                let entries = self.inner.list_entries(options.clone());
                match entries.try_collect::<Vec<_>>().await {
                    Ok(now) => {
                        let then = self.lock().history.list_as_of(ago, &options, now);
                        stream::iter(then).boxed()
                    }
                    Err(error) => fail(error).boxed(),
                }
            }
            _ => self.inner.list(options),
        }
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Storage for FaultyStorage {
    /// None: its faults are this handle's own, as if it were in another process.
    fn place(&self) -> Option<String> {
        None
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        let begun = self.begin(Verb::Get, key.as_str()).await?;
        self.before_read(&begun, key.as_str()).await?;
        if let Some(content) = self.stale(key, begun.decision) {
            return history::answer(key, content, &options);
        }
        let object = self.inner.get(key, options).await?;
        match begun.decision {
            Decision::FailAfter => Err(begun.error(key.as_str())),
            Decision::Short(_) | Decision::Garble(_) => {
                let (meta, range) = (object.meta.clone(), object.range.clone());
                let body = Body::Bytes(damage(object.bytes().await?, begun.decision));
                Ok(Object { meta, range, body })
            }
            _ => Ok(object),
        }
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        let begun = self.begin(Verb::Head, key.as_str()).await?;
        self.before_read(&begun, key.as_str()).await?;
        if let Some(content) = self.stale(key, begun.decision) {
            let missing = || StorageError::NotFound { key: key.clone() };
            return content.map(|(_, meta)| meta).ok_or_else(missing);
        }
        let meta = self.inner.head(key).await?;
        match begun.decision {
            Decision::FailAfter => Err(begun.error(key.as_str())),
            _ => Ok(meta),
        }
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        let begun = self.begin(Verb::Put, key.as_str()).await?;
        let bytes = payload.collect(key).await?;
        let outcome = self
            .write(begun, Write::Put(key.clone(), bytes, options))
            .await?;
        Ok(outcome.put())
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        let this = self.clone();
        let walk = async move {
            match this.begin(Verb::List, options.prefix.as_str()).await {
                Ok(begun) => this.list_decided(begun, options).await,
                Err(error) => stream::iter([Err(error)]).boxed(),
            }
        };
        stream::once(walk).flatten().boxed()
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        let this = self.clone();
        deletions
            .then(move |deletion| {
                let this = this.clone();
                async move {
                    let key = deletion.key.clone();
                    let write = Write::Delete(deletion);
                    let result = match this.begin(Verb::Delete, key.as_str()).await {
                        Ok(begun) => this.write(begun, write).await,
                        Err(error) => Err(error),
                    };
                    (key, result.map(super::pending::Outcome::delete))
                }
            })
            .boxed()
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        let begun = self.begin(Verb::Copy, to.as_str()).await?;
        let write = Write::Copy(from.clone(), to.clone(), options);
        Ok(self.write(begun, write).await?.put())
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        self.inner.advice().await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        let begun = self.begin(Verb::Sync, "").await?;
        self.before_read(&begun, "everything").await?;
        self.inner.sync().await?;
        match begun.decision {
            Decision::FailAfter => Err(begun.error("everything")),
            _ => Ok(()),
        }
    }

    /// An operation only if the inner store answers. It cannot wait: a delay passes, and where it would
    /// never return it has no answer, so that the caller goes on to [`Storage::get`].
    fn try_get_blocking(
        &self,
        key: &Key,
        options: &GetOptions,
    ) -> Option<Result<Object, StorageError>> {
        let answer = self.inner.try_get_blocking(key, options)?;
        let begun = match self.begin_now(Verb::Get, key.as_str()) {
            Ok(begun) => begun,
            Err(error) => return Some(Err(error)),
        };
        if let Some(content) = self.stale(key, begun.decision) {
            return Some(history::answer(key, content, options));
        }
        match begun.decision {
            Decision::FailBefore | Decision::FailAfter | Decision::Stop(_) => {
                Some(Err(begun.error(key.as_str())))
            }
            Decision::Cancel(_) => None,
            _ => Some(answer.map(|object| match object.body {
                Body::Bytes(bytes) => Object {
                    body: Body::Bytes(damage(bytes, begun.decision)),
                    ..object
                },
                Body::Stream(_) => object,
            })),
        }
    }
}
