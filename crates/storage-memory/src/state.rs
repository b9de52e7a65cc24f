//! The objects and the rules by which they change, without locks, clocks or futures.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::SystemTime;

use bytes::Bytes;
use icefield_storage::{
    Body, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions, Object, ObjectMeta,
    PutMode, PutOutcome, StorageError, UnreadableName, Version,
};

use crate::Attributes;

/// An item of a list.
type Item = Result<ObjectMeta, StorageError>;

/// One immutable object; a write replaces it as a whole.
#[derive(Clone)]
struct Stored {
    bytes: Bytes,
    attributes: Attributes,
    version: u64,
    last_modified: SystemTime,
}

impl Stored {
    fn version(&self) -> Version {
        Version::new(self.version.to_string())
    }

    fn meta(&self, key: &Key) -> ObjectMeta {
        ObjectMeta {
            key: key.clone(),
            size: self.bytes.len() as u64,
            version: self.version(),
            last_modified: Some(self.last_modified),
        }
    }

    fn is(&self, version: &Version) -> bool {
        self.version() == *version
    }
}

/// All objects of a store.
///
/// # Invariants
/// `writes` counts every write ever made, so no version is given twice. The time of an object never goes back; a new one
/// has the time of the clock.
#[derive(Clone, Default)]
pub(crate) struct StoreState {
    objects: BTreeMap<Key, Stored>,
    /// Names that are no keys, in byte order.
    unreadable: BTreeMap<Vec<u8>, UnreadableName>,
    writes: u64,
}

impl StoreState {
    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(crate) fn attributes(&self, key: &Key) -> Option<Attributes> {
        self.objects
            .get(key)
            .map(|stored| stored.attributes.clone())
    }

    fn find(&self, key: &Key) -> Result<&Stored, StorageError> {
        self.objects
            .get(key)
            .ok_or_else(|| StorageError::NotFound { key: key.clone() })
    }

    pub(crate) fn get(&self, key: &Key, options: &GetOptions) -> Result<Object, StorageError> {
        let stored = self.find(key)?;
        let meta = stored.meta(key);
        let range = options.check(&meta, Some(meta.version.as_str()))?;
        // Cannot truncate: the range lies within bytes that are in memory.
        let bytes = stored.bytes.slice(range.start as usize..range.end as usize);
        Ok(Object {
            meta,
            body: Body::Bytes(bytes),
            range,
        })
    }

    pub(crate) fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        Ok(self.find(key)?.meta(key))
    }

    fn allows(&self, key: &Key, mode: &PutMode) -> bool {
        match mode {
            PutMode::Overwrite => true,
            PutMode::Create => !self.objects.contains_key(key),
            PutMode::Update(version) => self
                .objects
                .get(key)
                .is_some_and(|stored| stored.is(version)),
        }
    }

    pub(crate) fn put(
        &mut self,
        key: &Key,
        bytes: Bytes,
        attributes: Attributes,
        mode: &PutMode,
        now: SystemTime,
    ) -> PutOutcome {
        if !self.allows(key, mode) {
            return PutOutcome::Refused;
        }
        self.writes += 1;
        let replaced = self.objects.get(key);
        let last_modified = replaced.map_or(now, |stored| stored.last_modified.max(now));
        let stored = Stored {
            bytes,
            attributes,
            version: self.writes,
            last_modified,
        };
        let written = icefield_storage::Written {
            version: stored.version(),
            store_time: Some(last_modified),
        };
        self.objects.insert(key.clone(), stored);
        PutOutcome::Written(written)
    }

    pub(crate) fn copy(
        &mut self,
        from: &Key,
        to: &Key,
        options: &CopyOptions,
        now: SystemTime,
    ) -> Result<PutOutcome, StorageError> {
        let source = self.find(from)?;
        if options
            .source_version
            .as_ref()
            .is_some_and(|version| !source.is(version))
        {
            return Ok(PutOutcome::Refused);
        }
        let (bytes, attributes) = (source.bytes.clone(), source.attributes.clone());
        Ok(self.put(to, bytes, attributes, &options.mode, now))
    }

    pub(crate) fn delete(&mut self, deletion: &Deletion) -> DeleteOutcome {
        let stored = self.objects.get(&deletion.key);
        let refused = deletion
            .version
            .as_ref()
            .is_some_and(|version| !stored.is_some_and(|stored| stored.is(version)));
        if refused {
            return DeleteOutcome::Refused;
        }
        self.objects.remove(&deletion.key);
        DeleteOutcome::Deleted
    }

    pub(crate) fn plant_unreadable(&mut self, name: &[u8], size: u64) -> bool {
        match UnreadableName::parse(name, size) {
            Ok(_) => false,
            Err(unreadable) => {
                self.unreadable.insert(name.to_vec(), unreadable);
                true
            }
        }
    }

    pub(crate) fn remove_unreadable(&mut self, name: &[u8]) -> bool {
        self.unreadable.remove(name).is_some()
    }

    /// Returns the first objects that `options` ask for, at most `limit`, with the names among them that are no keys, and
    /// the key after which the next page begins.
    pub(crate) fn list_page(
        &self,
        options: &ListOptions,
        limit: usize,
    ) -> (Vec<Item>, Option<Key>) {
        let objects = self.objects_of_page(options, limit);
        let last = objects.last().filter(|_| objects.len() == limit);
        let last = last.map(|last| last.key.clone());
        let first = options.start_after.as_ref();
        let belongs = |name: &&UnreadableName| {
            name.is_below(&options.prefix)
                && first.is_none_or(|first| name.is_after(first))
                && last.as_ref().is_none_or(|last| !name.is_after(last))
        };
        let mut unreadable = self.unreadable.values().filter(belongs).peekable();
        let mut page = Vec::with_capacity(objects.len());
        for object in objects {
            while let Some(name) = unreadable.next_if(|name| !name.is_after(&object.key)) {
                page.push(Err(name.clone().into()));
            }
            page.push(Ok(object));
        }
        page.extend(unreadable.map(|name| Err(name.clone().into())));
        (page, last)
    }

    /// Returns the first objects that `options` ask for, at most `limit`.
    fn objects_of_page(&self, options: &ListOptions, limit: usize) -> Vec<ObjectMeta> {
        // All keys below `a/b` lie between `a/b/` and `a/b0`: `0` follows `/` in ASCII.
        let prefix = options.prefix.as_str();
        let (first, end) = (format!("{prefix}/"), format!("{prefix}0"));
        let mut low = Bound::Unbounded;
        let mut high = Bound::Unbounded;
        if !options.prefix.is_all() {
            (low, high) = (
                Bound::Included(first.as_str()),
                Bound::Excluded(end.as_str()),
            );
        }
        if let Some(after) = &options.start_after {
            if !options.prefix.is_all() && after.as_str() >= end.as_str() {
                return Vec::new();
            }
            if options.prefix.is_all() || after.as_str() > first.as_str() {
                low = Bound::Excluded(after.as_str());
            }
        }
        self.objects
            .range::<str, _>((low, high))
            .take(limit)
            .map(|(key, stored)| stored.meta(key))
            .collect()
    }
}
