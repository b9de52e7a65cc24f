//! The objects behind every server: one map under one lock.
//!
//! A condition is checked and the object stored under one hold of the lock, after all its bytes have
//! arrived: of any number of writers with the same condition exactly one wins. Former versions are kept, so
//! that a server can answer with what was there before.

mod condition;
mod list;
mod object;
mod open_upload;
mod upload;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use icefield_storage::{Clock, SystemClock};

pub use condition::{Condition, Refusal};
pub use list::{Cursor, ListQuery, Listing};
pub use object::{Attributes, Draft, EtagStyle, StoredObject};
pub(crate) use object::{hex, md5};
pub use open_upload::{OpenUpload, PartLimits, UploadedPart};

/// Buckets of objects. Servers share one by its `Arc`.
pub struct World {
    state: Mutex<WorldState>,
    clock: Arc<dyn Clock>,
}

/// How a write treats its condition, and what else it must heed.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteRules {
    /// How the condition is treated.
    pub conditions: Conditions,
    /// How the entity tag is made.
    pub etags: EtagStyle,
    /// Refuse a write less than a second after the one before.
    pub one_a_second: bool,
}

/// How conditions are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conditions {
    /// They hold, atomically.
    #[default]
    Honoured,
    /// They are not looked at.
    Ignored,
    /// They are looked at first, and the write follows so much later, whatever happened in between.
    Racy(Duration),
}

#[derive(Default)]
struct WorldState {
    buckets: BTreeMap<String, Bucket>,
    uploads: BTreeMap<String, OpenUpload>,
    uploads_begun: u64,
    generations: u64,
    ahead: Duration,
    behind: Duration,
}

#[derive(Default)]
struct Bucket {
    objects: BTreeMap<String, Arc<StoredObject>>,
    /// The object that was there before each change, oldest first.
    changes: Vec<(String, Option<Arc<StoredObject>>)>,
    last_write: BTreeMap<String, SystemTime>,
}

impl World {
    /// Returns an empty world on the clock of the operating system.
    pub fn new() -> Arc<Self> {
        Self::with_clock(Arc::new(SystemClock))
    }

    /// Returns an empty world on this clock.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            clock,
        })
    }

    /// Returns the time that objects are stamped with.
    pub fn now(&self) -> SystemTime {
        self.now_in(&self.lock())
    }

    /// Moves this world's clock forward against the injected one.
    pub fn move_clock_forward(&self, by: Duration) {
        self.lock().ahead += by;
    }

    /// Moves this world's clock back against the injected one.
    pub fn move_clock_back(&self, by: Duration) {
        self.lock().behind += by;
    }

    /// Waits for `duration` of the injected clock.
    pub(crate) async fn sleep(&self, duration: Duration) {
        self.clock.sleep(duration).await;
    }

    /// Creates a bucket; returns whether it is new.
    pub fn create_bucket(&self, bucket: &str) -> bool {
        let mut state = self.lock();
        let new = !state.buckets.contains_key(bucket);
        state.buckets.entry(bucket.to_owned()).or_default();
        new
    }

    /// Tells whether there is such a bucket.
    pub fn has_bucket(&self, bucket: &str) -> bool {
        self.lock().buckets.contains_key(bucket)
    }

    /// Stores an object whatever is there, in a bucket that is created if need be: for setting up a test.
    pub fn put(&self, bucket: &str, key: &str, draft: Draft) -> Arc<StoredObject> {
        self.create_bucket(bucket);
        let mut state = self.lock();
        let now = self.now_in(&state);
        let rules = WriteRules::default();
        state
            .write(bucket, key, draft, &Condition::default(), rules, now)
            .expect("BUG: nothing is demanded of this write")
    }

    /// Stores an object if `condition` holds.
    ///
    /// # Errors
    /// [`Refusal`]; nothing has changed then.
    pub async fn write(
        &self,
        bucket: &str,
        key: &str,
        draft: Draft,
        condition: &Condition,
        rules: WriteRules,
    ) -> Result<Arc<StoredObject>, Refusal> {
        self.pause_if_racy(bucket, key, condition, rules).await?;
        let mut state = self.lock();
        let now = self.now_in(&state);
        state.write(bucket, key, draft, condition, rules, now)
    }

    /// Replaces the attributes of an object in place.
    ///
    /// # Errors
    /// [`Refusal::NoBucket`] and [`Refusal::Missing`].
    pub fn amend(
        &self,
        bucket: &str,
        key: &str,
        change: impl FnOnce(&mut Attributes),
    ) -> Result<Arc<StoredObject>, Refusal> {
        let mut state = self.lock();
        let objects = &mut state.bucket(bucket)?.objects;
        let object = Arc::make_mut(objects.get_mut(key).ok_or(Refusal::Missing)?);
        change(&mut object.attributes);
        object.metageneration += 1;
        Ok(Arc::new(object.clone()))
    }

    /// Removes an object if `condition` holds; returns what was there.
    ///
    /// # Errors
    /// [`Refusal`]; nothing has changed then. That there is no object is no error in itself.
    pub async fn remove(
        &self,
        bucket: &str,
        key: &str,
        condition: &Condition,
        rules: WriteRules,
    ) -> Result<Option<Arc<StoredObject>>, Refusal> {
        self.pause_if_racy(bucket, key, condition, rules).await?;
        let mut state = self.lock();
        let bucket = state.bucket(bucket)?;
        if rules.conditions == Conditions::Honoured {
            condition.check_write(bucket.objects.get(key).map(Arc::as_ref))?;
        }
        let removed = bucket.objects.remove(key);
        if removed.is_some() {
            bucket.changes.push((key.to_owned(), removed.clone()));
        }
        Ok(removed)
    }

    /// Returns an object, `None` if there is none.
    pub fn get(&self, bucket: &str, key: &str) -> Option<Arc<StoredObject>> {
        self.read(bucket, key, 0).ok()
    }

    /// Returns an object as it was `back` changes of it ago.
    ///
    /// # Errors
    /// [`Refusal::NoBucket`] and [`Refusal::Missing`].
    pub fn read(&self, bucket: &str, key: &str, back: usize) -> Result<Arc<StoredObject>, Refusal> {
        let mut state = self.lock();
        let bucket = state.bucket(bucket)?;
        let present = bucket.objects.get(key).cloned();
        let mut past = bucket.changes.iter().rev().filter(|(of, _)| of == key);
        let found = match back.checked_sub(1) {
            None => present,
            // Before the first version the answer is the oldest known one, not an absence.
            Some(back) => match past.nth(back) {
                Some((_, before)) => before.clone().or(present),
                None => present,
            },
        };
        found.ok_or(Refusal::Missing)
    }

    /// Returns how many writes have taken effect so far, in all buckets. A write that lands twice counts twice.
    pub fn writes(&self) -> u64 {
        self.lock().generations
    }

    /// Returns the keys of a bucket, in byte order.
    pub fn keys(&self, bucket: &str) -> Vec<String> {
        let mut state = self.lock();
        let bucket = state.bucket(bucket);
        bucket.map_or_else(|_| Vec::new(), |it| it.objects.keys().cloned().collect())
    }

    /// Lists one page of a bucket as it was `back` changes ago.
    ///
    /// # Errors
    /// [`Refusal::NoBucket`].
    pub fn list(&self, bucket: &str, query: &ListQuery, back: usize) -> Result<Listing, Refusal> {
        let mut state = self.lock();
        let bucket = state.bucket(bucket)?;
        if back == 0 {
            return Ok(list::page(&bucket.objects, query));
        }
        let mut objects = bucket.objects.clone();
        for (key, before) in bucket.changes.iter().rev().take(back) {
            match before {
                Some(object) => objects.insert(key.clone(), Arc::clone(object)),
                None => objects.remove(key),
            };
        }
        Ok(list::page(&objects, query))
    }

    fn lock(&self) -> MutexGuard<'_, WorldState> {
        // Nothing leaves the state half changed, so a panic elsewhere under the lock is harmless.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_in(&self, state: &WorldState) -> SystemTime {
        self.clock.now() + state.ahead - state.behind
    }

    /// Does the separate check and the wait of a racy write; nothing for any other.
    async fn pause_if_racy(
        &self,
        bucket: &str,
        key: &str,
        condition: &Condition,
        rules: WriteRules,
    ) -> Result<(), Refusal> {
        if let Conditions::Racy(gap) = rules.conditions {
            let present = self.get(bucket, key);
            condition.check_write(present.as_deref())?;
            self.sleep(gap).await;
        }
        Ok(())
    }
}

impl WorldState {
    fn bucket(&mut self, bucket: &str) -> Result<&mut Bucket, Refusal> {
        self.buckets.get_mut(bucket).ok_or(Refusal::NoBucket)
    }

    fn write(
        &mut self,
        bucket: &str,
        key: &str,
        draft: Draft,
        condition: &Condition,
        rules: WriteRules,
        now: SystemTime,
    ) -> Result<Arc<StoredObject>, Refusal> {
        // Like the microseconds that GCS uses: large, growing, and without a meaning.
        let generation = 1_700_000_000_000_000 + self.generations;
        let bucket = self.bucket(bucket)?;
        let present = bucket.objects.get(key);
        if rules.conditions == Conditions::Honoured {
            condition.check_write(present.map(Arc::as_ref))?;
        }
        if rules.one_a_second
            && let Some(last) = bucket.last_write.get(key)
            && now < *last + Duration::from_secs(1)
        {
            return Err(Refusal::TooSoon);
        }
        let md5 = draft.etag.unwrap_or_else(|| hex(&md5(&draft.bytes)));
        let object = Arc::new(StoredObject {
            etag: rules.etags.tag(&md5, generation),
            bytes: draft.bytes,
            generation,
            metageneration: 1,
            last_modified: now,
            attributes: draft.attributes,
            sums: OnceLock::new(),
        });
        let before = bucket.objects.insert(key.to_owned(), Arc::clone(&object));
        bucket.changes.push((key.to_owned(), before));
        bucket.last_write.insert(key.to_owned(), now);
        self.generations += 1;
        Ok(object)
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        let sizes = state
            .buckets
            .iter()
            .map(|(name, bucket)| (name, bucket.objects.len()));
        f.debug_map().entries(sizes).finish()
    }
}
