//! Every state that every object has had, as far as it went through the wrapper.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::{Body, GetOptions, Key, ListOptions, Listed, Object, ObjectMeta, StorageError};

/// One state of an object; `None` if it did not exist.
pub(super) type Content = Option<(Bytes, ObjectMeta)>;

#[derive(Debug)]
struct ObjectState {
    /// How many writes there had been when this state began.
    since: u64,
    content: Content,
}

#[derive(Debug, Default)]
pub(super) struct History {
    writes: u64,
    keys: BTreeMap<Key, Vec<ObjectState>>,
}

impl History {
    pub(super) fn knows(&self, key: &Key) -> bool {
        self.keys.contains_key(key)
    }

    /// Notes what the store held before the first write to a key.
    pub(super) fn begin(&mut self, key: &Key, content: Content) {
        self.keys
            .entry(key.clone())
            .or_insert_with(|| vec![ObjectState { since: 0, content }]);
    }

    /// Notes the state that a write made.
    pub(super) fn push(&mut self, key: &Key, content: Content) {
        self.writes += 1;
        let since = self.writes;
        self.keys
            .entry(key.clone())
            .or_default()
            .push(ObjectState { since, content });
    }

    pub(super) fn states(&self, key: &Key) -> Vec<Option<Bytes>> {
        let states = self.keys.get(key).map_or(&[][..], Vec::as_slice);
        states
            .iter()
            .map(|state| state.content.as_ref().map(|(bytes, _)| bytes.clone()))
            .collect()
    }

    /// Returns the state so many states ago, at most the oldest; `None` if no earlier one is known.
    pub(super) fn earlier(&self, key: &Key, ago: u64) -> Option<Content> {
        let (_, earlier) = self.keys.get(key)?.split_last()?;
        let index = earlier.len().checked_sub(1)?;
        let back = usize::try_from(ago).unwrap_or(usize::MAX).max(1) - 1;
        Some(earlier[index.saturating_sub(back)].content.clone())
    }

    /// Turns a list as it is now into the list as so many writes ago. Objects that were never written
    /// through the wrapper stay as they are, and so does what is no object.
    pub(super) fn list_as_of(
        &self,
        ago: u64,
        options: &ListOptions,
        now: Vec<Listed>,
    ) -> Vec<Result<ObjectMeta, StorageError>> {
        let then = self.writes.saturating_sub(ago);
        let mut metas = BTreeMap::new();
        let mut unreadable = Vec::new();
        for entry in now {
            match entry {
                Listed::Object(meta) => drop(metas.insert(meta.key.clone(), meta)),
                Listed::Unreadable { raw, problem } => unreadable.push((raw, problem)),
            }
        }
        let asked = |key: &Key| {
            key.is_below(&options.prefix)
                && options.start_after.as_ref().is_none_or(|after| key > after)
        };
        for (key, states) in self.keys.iter().filter(|(key, _)| asked(key)) {
            let state = states.iter().rfind(|state| state.since <= then);
            match state.and_then(|state| state.content.as_ref()) {
                Some((_, meta)) => metas.insert(key.clone(), meta.clone()),
                None => metas.remove(key),
            };
        }
        let metas = metas.into_iter();
        let mut list: Vec<_> = metas
            .map(|(key, meta)| (key.to_string(), Ok(meta)))
            .collect();
        list.extend(unreadable.into_iter().map(|(raw, problem)| {
            let name = raw.clone();
            (name, Err(StorageError::UnreadableKey { raw, problem }))
        }));
        list.sort_by(|(one, _), (other, _)| one.cmp(other));
        list.into_iter().map(|(_, item)| item).collect()
    }
}

/// Answers a read from a remembered state.
pub(super) fn answer(
    key: &Key,
    content: Content,
    options: &GetOptions,
) -> Result<Object, StorageError> {
    let (bytes, meta) = content.ok_or_else(|| StorageError::NotFound { key: key.clone() })?;
    let range = options.check(&meta, Some(meta.version.as_str()))?;
    let bytes = bytes.slice(range.start as usize..range.end as usize);
    Ok(Object {
        meta,
        range,
        body: Body::Bytes(bytes),
    })
}
