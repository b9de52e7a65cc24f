//! `shelf://NAME`: stores in this process, shared by all who know their name.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use icefield_storage::{
    Body, Bytes, Capabilities, Clock, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key,
    KeyForm, ListOptions, Object, ObjectMeta, Payload, PutMode, PutOptions, PutOutcome, Storage,
    StorageError, SystemClock, UnreadableName, Version, Written,
};

/// All shelves of this process.
static SHELVES: Mutex<Option<HashMap<String, Arc<Mutex<Shelf>>>>> = Mutex::new(None);

#[derive(Clone, Debug)]
struct Stored {
    bytes: Bytes,
    meta: ObjectMeta,
}

#[derive(Debug, Default)]
struct Shelf {
    objects: BTreeMap<Key, Stored>,
    /// Foreign entries under names that are no keys.
    unreadable: BTreeMap<Vec<u8>, UnreadableName>,
    /// Counts the writes: no version ever comes back.
    writes: u64,
}

/// One shelf.
#[derive(Clone, Debug)]
pub struct ShelfStorage {
    name: String,
    shelf: Arc<Mutex<Shelf>>,
}

impl ShelfStorage {
    /// Returns the shelf of this name, an empty one if it is new.
    pub fn named(name: &str) -> Self {
        let mut shelves = SHELVES.lock().unwrap_or_else(PoisonError::into_inner);
        let shelf = shelves
            .get_or_insert_default()
            .entry(name.to_owned())
            .or_default();
        Self {
            name: name.to_owned(),
            shelf: Arc::clone(shelf),
        }
    }

    /// Leaves something on the shelf as another program might, under a name that is no key; returns whether it is none.
    pub fn leave(&self, name: &[u8]) -> bool {
        let Err(unreadable) = UnreadableName::parse(name, 0) else {
            return false;
        };
        self.lock().unreadable.insert(name.to_vec(), unreadable);
        true
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, key: &Key) -> Result<Stored, StorageError> {
        let found = self.lock().objects.get(key).cloned();
        found.ok_or_else(|| StorageError::NotFound { key: key.clone() })
    }
}

impl Shelf {
    /// The condition and the write, under one lock.
    fn write(&mut self, key: &Key, bytes: Bytes, mode: &PutMode) -> PutOutcome {
        let current = self.objects.get(key).map(|stored| &stored.meta.version);
        let holds = match mode {
            PutMode::Overwrite => true,
            PutMode::Create => current.is_none(),
            PutMode::Update(version) => current == Some(version),
        };
        if !holds {
            return PutOutcome::Refused;
        }
        self.writes += 1;
        let now: SystemTime = SystemClock.now();
        let meta = ObjectMeta {
            key: key.clone(),
            size: bytes.len() as u64,
            version: Version::new(self.writes.to_string()),
            last_modified: Some(now),
        };
        let written = Written {
            version: meta.version.clone(),
            store_time: Some(now),
        };
        self.objects.insert(key.clone(), Stored { bytes, meta });
        PutOutcome::Written(written)
    }

    fn delete(&mut self, deletion: &Deletion) -> DeleteOutcome {
        let current = self
            .objects
            .get(&deletion.key)
            .map(|stored| &stored.meta.version);
        if deletion.version.is_some() && current != deletion.version.as_ref() {
            return DeleteOutcome::Refused;
        }
        self.objects.remove(&deletion.key);
        DeleteOutcome::Deleted
    }
}

impl fmt::Display for ShelfStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shelf://{}", self.name)
    }
}

#[async_trait]
impl Storage for ShelfStorage {
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::full(KeyForm::Raw);
        capabilities.user_metadata = false;
        capabilities.durable = false;
        capabilities
    }

    fn place(&self) -> Option<String> {
        Some(self.to_string())
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        let stored = self.find(key)?;
        let range = options.check(&stored.meta, None)?;
        let bytes = stored.bytes.slice(range.start as usize..range.end as usize);
        Ok(Object {
            meta: stored.meta,
            range,
            body: Body::Bytes(bytes),
        })
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        Ok(self.find(key)?.meta)
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        // All of it first: a stream that fails stores nothing.
        let bytes = payload.collect(key).await?;
        Ok(self.lock().write(key, bytes, &options.mode))
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        let shelf = self.lock();
        let listed = shelf.objects.values().map(|stored| &stored.meta);
        let listed = listed.filter(|meta| meta.key.is_below(&options.prefix));
        let after = |meta: &&ObjectMeta| {
            options
                .start_after
                .as_ref()
                .is_none_or(|after| meta.key > *after)
        };
        let objects = listed.filter(after);
        let mut listed: Vec<(Vec<u8>, Result<ObjectMeta, StorageError>)> = objects
            .map(|meta| (meta.key.as_str().into(), Ok(meta.clone())))
            .collect();
        // A list drops nothing: what cannot be given as an object is yielded by its name, in its place.
        let unreadable = shelf.unreadable.values().filter(|name| {
            let after = options.start_after.as_ref();
            name.is_below(&options.prefix) && after.is_none_or(|after| name.is_after(after))
        });
        listed.extend(unreadable.map(|name| (name.name().to_vec(), Err(name.clone().into()))));
        listed.sort_by(|(one, _), (other, _)| one.cmp(other));
        stream::iter(listed.into_iter().map(|(_, item)| item)).boxed()
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        let shelf = self.clone();
        let answer = move |deletion: Deletion| {
            let outcome = shelf.lock().delete(&deletion);
            (deletion.key, Ok(outcome))
        };
        deletions.map(answer).boxed()
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        let source = self.find(from)?;
        if options
            .source_version
            .is_some_and(|version| version != source.meta.version)
        {
            return Ok(PutOutcome::Refused);
        }
        Ok(self.lock().write(to, source.bytes, &options.mode))
    }

    async fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }
}
