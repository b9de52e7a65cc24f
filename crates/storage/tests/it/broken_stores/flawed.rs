//! A memory store that is broken in one way.

use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use icefield_storage::{
    Body, Bytes, Capabilities, Clock, CopyOptions, DeleteOutcome, Deletion, GetOptions, GetRange,
    Key, ListOptions, Object, ObjectMeta, Payload, PutMode, PutOptions, PutOutcome, Storage,
    StorageError, StorageExt, SystemClock, Version,
};
use icefield_storage_memory::MemoryStorage;

/// The way in which it is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    None,
    IgnoresUpdate,
    IgnoresCreate,
    /// Looks, lets others go ahead, then writes.
    ChecksThenWrites,
    UnorderedList,
    ListsOnePage,
    /// Leaves out what has a name that is no key.
    DropsUnreadable,
    /// Ends its lists at the first name that is no key.
    StopsAtUnreadable,
    /// `a/b` lists `a/bc`.
    ListsByText,
    /// A list that may end at `a/b` lacks `a/b-c`.
    EndsByText,
    /// The body ends early, the description is right.
    ShortBodies,
    /// A range past the end is cut instead of refused.
    CutsRanges,
    IgnoresReadConditions,
    /// Like an ETag that is a digest.
    VersionsFromContent,
    /// Stores what came before a stream broke, and believes no size.
    KeepsBrokenStreams,
    /// Others see the first half.
    WritesInTwoSteps,
    FailsToDeleteMissing,
    IgnoresDeleteCondition,
    DecodesPercent,
    FoldsCase,
    /// The blocking read is not the one that was asked for.
    BlockingReadsAll,
}

#[derive(Clone, Debug)]
pub(crate) struct Flawed {
    inner: MemoryStorage,
    flaw: Flaw,
}

impl Flawed {
    pub(crate) fn new(flaw: Flaw) -> Self {
        Self {
            inner: MemoryStorage::new(),
            flaw,
        }
    }

    /// Puts an object under a name that is no key.
    pub(crate) fn plant(&self, name: &[u8]) -> bool {
        self.inner.plant_unreadable(name, 0)
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }

    /// Returns the key under which the object really is.
    fn place(&self, key: &Key) -> Key {
        let place = match self.flaw {
            Flaw::DecodesPercent => Key::parse(&key.as_str().replace("%20", " ")),
            Flaw::FoldsCase => Key::parse(&key.as_str().to_lowercase()),
            _ => return key.clone(),
        };
        place.expect("still a key")
    }

    async fn content_version(&self, key: &Key) -> Option<Version> {
        let (bytes, _) = self.inner.try_read(key).await.expect("memory")?;
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        Some(Version::new(hasher.finish().to_string()))
    }

    async fn meta(&self, meta: ObjectMeta) -> ObjectMeta {
        match self.content_version(&meta.key).await {
            Some(version) if self.has(Flaw::VersionsFromContent) => ObjectMeta { version, ..meta },
            _ => meta,
        }
    }

    /// Returns the version by which the inner store knows a state, if it is the present one.
    async fn inner_version(&self, key: &Key, version: Version) -> Version {
        if self.has(Flaw::VersionsFromContent)
            && self.content_version(key).await == Some(version.clone())
        {
            return self
                .inner
                .head(key)
                .await
                .map_or(version, |meta| meta.version);
        }
        version
    }

    async fn payload(&self, key: &Key, payload: Payload) -> Result<Bytes, StorageError> {
        match payload {
            Payload::Stream { stream, .. } if self.has(Flaw::KeepsBrokenStreams) => {
                let parts = stream.take_while(|part| std::future::ready(part.is_ok()));
                let parts: Vec<Bytes> = parts.try_collect().await?;
                Ok(parts.concat().into())
            }
            payload => payload.collect(key).await,
        }
    }

    /// Returns whether the condition holds now. It may not any more when the write comes.
    async fn check(&self, key: &Key, mode: &PutMode) -> bool {
        let now = self.inner.head(key).await.ok().map(|meta| meta.version);
        match mode {
            PutMode::Overwrite => true,
            PutMode::Create => now.is_none(),
            PutMode::Update(version) => now.as_ref() == Some(version),
        }
    }

    async fn mode(&self, key: &Key, mode: PutMode) -> Option<PutMode> {
        Some(match mode {
            PutMode::Update(_) if self.has(Flaw::IgnoresUpdate) => PutMode::Overwrite,
            PutMode::Create if self.has(Flaw::IgnoresCreate) => PutMode::Overwrite,
            mode if self.has(Flaw::ChecksThenWrites) => {
                let holds = self.check(key, &mode).await;
                // Long enough for others to check, too, also where the machine is busy.
                SystemClock.sleep(Duration::from_millis(1)).await;
                return holds.then_some(PutMode::Overwrite);
            }
            PutMode::Update(version) => PutMode::Update(self.inner_version(key, version).await),
            mode => mode,
        })
    }

    fn read_options(&self, mut options: GetOptions, size: Option<u64>) -> GetOptions {
        if self.has(Flaw::IgnoresReadConditions) {
            options = GetOptions::range(options.range);
        }
        if self.has(Flaw::CutsRanges)
            && let Some(size) = size
        {
            options.range = match options.range {
                GetRange::Bounded(range) => {
                    GetRange::Bounded(range.start.min(size)..range.end.min(size))
                }
                GetRange::From(start) => GetRange::From(start.min(size)),
                GetRange::Suffix(length) => GetRange::Suffix(length.min(size)),
                GetRange::All => GetRange::All,
            };
        }
        options
    }

    async fn outcome(&self, key: &Key, outcome: PutOutcome) -> PutOutcome {
        match (outcome, self.content_version(key).await) {
            (PutOutcome::Written(_), Some(version)) if self.has(Flaw::VersionsFromContent) => {
                PutOutcome::written(version)
            }
            (outcome, _) => outcome,
        }
    }

    async fn delete_one(self, deletion: Deletion) -> Result<DeleteOutcome, StorageError> {
        let key = self.place(&deletion.key);
        if self.has(Flaw::FailsToDeleteMissing) {
            self.inner.head(&key).await?;
        }
        let version = match deletion.version {
            Some(_) if self.has(Flaw::IgnoresDeleteCondition) => None,
            Some(version) => Some(self.inner_version(&key, version).await),
            None => None,
        };
        self.inner.delete_one(Deletion { key, version }).await
    }

    async fn walk(self, options: ListOptions) -> Result<Vec<ObjectMeta>, StorageError> {
        let end = options.end_at.clone();
        let mut metas: Vec<ObjectMeta> = if self.has(Flaw::ListsByText) {
            let all = self.inner.list_objects(ListOptions::default());
            let all: Vec<ObjectMeta> = all.try_collect().await?;
            let after = |meta: &ObjectMeta| {
                options
                    .start_after
                    .as_ref()
                    .is_none_or(|after| meta.key > *after)
            };
            let below = |meta: &ObjectMeta| meta.key.as_str().starts_with(options.prefix.as_str());
            all.into_iter()
                .filter(|meta| after(meta) && below(meta))
                .collect()
        } else {
            self.inner.list_objects(options).try_collect().await?
        };
        if self.has(Flaw::UnorderedList) {
            // By directories, as a walk over a file system gives them.
            metas.sort_by(|a, b| a.key.segments().cmp(b.key.segments()));
            let third = metas.len() / 3;
            metas.rotate_left(third);
        }
        if let (Some(end), true) = (end, self.has(Flaw::EndsByText)) {
            metas.retain(|meta| meta.key.as_str() < end.as_str());
        }
        if self.has(Flaw::ListsOnePage) {
            metas.truncate(1000);
        }
        let mut described = Vec::new();
        for meta in metas {
            described.push(self.meta(meta).await);
        }
        Ok(described)
    }
}

impl fmt::Display for Flawed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "memory, {:?}", self.flaw)
    }
}

#[async_trait]
impl Storage for Flawed {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        let place = self.place(key);
        let size = self.inner.head(&place).await.ok().map(|meta| meta.size);
        let mut options = self.read_options(options, size);
        if self.has(Flaw::VersionsFromContent) {
            let object = self.inner.get(&place, GetOptions::default()).await?;
            let meta = self.meta(object.meta).await;
            options.check(&meta, None)?;
            (options.if_match, options.if_none_match) = (None, None);
        }
        let mut object = self.inner.get(&place, options).await?;
        object.meta = ObjectMeta {
            key: key.clone(),
            ..self.meta(object.meta).await
        };
        match object.body {
            Body::Bytes(bytes) if self.has(Flaw::ShortBodies) => {
                object.body = Body::Bytes(bytes.slice(..bytes.len() - bytes.len() / 4));
                if !bytes.is_empty() && bytes.len() < 4 {
                    object.body = Body::Bytes(bytes.slice(1..));
                }
            }
            body => object.body = body,
        }
        Ok(object)
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        let meta = self.inner.head(&self.place(key)).await?;
        Ok(ObjectMeta {
            key: key.clone(),
            ..self.meta(meta).await
        })
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        let key = &self.place(key);
        let bytes = self.payload(key, payload).await?;
        let Some(mode) = self.mode(key, options.mode.clone()).await else {
            return Ok(PutOutcome::Refused);
        };
        if self.has(Flaw::WritesInTwoSteps) && mode == PutMode::Overwrite {
            let half = bytes.slice(..bytes.len() / 2);
            let _ = self
                .inner
                .put(key, half.into(), PutOptions::default())
                .await?;
            SystemClock.sleep(Duration::from_millis(1)).await;
        }
        let options = PutOptions::mode(mode).with_class(options.class);
        let outcome = self.inner.put(key, bytes.into(), options).await?;
        Ok(self.outcome(key, outcome).await)
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        match self.flaw {
            Flaw::None => return self.inner.list(options),
            Flaw::StopsAtUnreadable => {
                let ended = |ended: &mut bool, item: Result<ObjectMeta, StorageError>| {
                    let before = std::mem::replace(ended, item.is_err());
                    std::future::ready((!before).then_some(item))
                };
                return self.inner.list(options).scan(false, ended).boxed();
            }
            _ => {}
        }
        let walk = self.clone().walk(options);
        stream::once(walk)
            .map_ok(|metas| stream::iter(metas.into_iter().map(Ok)))
            .try_flatten()
            .boxed()
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        let this = self.clone();
        deletions
            .then(move |deletion| {
                let (key, delete) = (deletion.key.clone(), this.clone().delete_one(deletion));
                async move { (key, delete.await) }
            })
            .boxed()
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        let (from, to) = (&self.place(from), &self.place(to));
        let Some(mode) = self.mode(to, options.mode).await else {
            return Ok(PutOutcome::Refused);
        };
        let mut inner = CopyOptions::mode(mode);
        if let Some(version) = options.source_version {
            inner = inner.with_source_version(self.inner_version(from, version).await);
        }
        let outcome = self.inner.copy(from, to, inner).await?;
        Ok(self.outcome(to, outcome).await)
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.inner.sync().await
    }

    fn try_get_blocking(
        &self,
        key: &Key,
        _options: &GetOptions,
    ) -> Option<Result<Object, StorageError>> {
        let reads_all = self.has(Flaw::BlockingReadsAll);
        reads_all.then(|| self.inner.try_get_blocking(key, &GetOptions::default()))?
    }
}
