//! The state of the last or the running collection, and when a session tells collections of itself.

use std::time::{Duration, SystemTime};

use icefield_refs::micros_of_time;
use icefield_storage::{Key, ObjectMeta, PutMode, PutOptions, Storage, StorageError, StorageExt};
use serde::{Deserialize, Serialize};

use super::object::{MAX_BYTES, micros, own_key};
use super::time::{CLOCK_TOLERANCE, time_of};

/// A session of this age writes a lease, and renews it when it was last renewed as long ago.
pub const LEASED_AFTER: Duration = Duration::from_secs(15 * 60);

/// A collection whose state was not renewed for so long has stopped. A running one renews it more often.
pub const STOPPED_AFTER: Duration = Duration::from_secs(60 * 60);

/// How far a collection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollectionPhase {
    /// It has not read the leases yet.
    Opening,
    /// It may delete.
    Running,
    /// It deletes nothing any more.
    Done,
}

/// The object `icefield/gc/state.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionState {
    /// The version of this layout.
    pub version: u32,
    /// How far it is.
    pub phase: CollectionPhase,
    /// Nothing that was written at this time of the store or later is deleted; microseconds since 1970.
    pub cutoff: u64,
    /// The latest cutoff of all collections before.
    #[serde(default)]
    pub earlier: u64,
    /// Random, another one for each collection.
    pub run: String,
    /// How often it was written, so that no two states are alike.
    #[serde(default)]
    pub beats: u64,
    /// When it last said that it runs, by the store's clock, in microseconds since 1970. Programs of before did not say;
    /// [`CollectionState::read`] then takes the date of the object.
    #[serde(default)]
    pub alive_at: Option<u64>,
}

/// The version of the layout that this program writes, and reads.
pub const STATE_VERSION: u32 = 1;

impl CollectionState {
    /// Returns the key of the object.
    pub fn key() -> Key {
        own_key("gc/state.json")
    }

    /// Reads the state; none if nothing was ever collected.
    ///
    /// # Errors
    /// The errors of the store. A state that cannot be decoded is one of a newer program: it counts as a collection
    /// that runs and may delete everything.
    pub async fn read(storage: &dyn Storage) -> Result<Option<(Self, ObjectMeta)>, StorageError> {
        let key = Self::key();
        let (bytes, mut meta) = match storage.read_at_most(&key, MAX_BYTES).await {
            Ok(read) => read,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut state = match serde_json::from_slice::<Self>(&bytes) {
            Ok(state) if state.version <= STATE_VERSION => state,
            _ => Self {
                version: STATE_VERSION,
                phase: CollectionPhase::Running,
                cutoff: u64::MAX,
                earlier: u64::MAX,
                beats: 0,
                run: String::new(),
                alive_at: None,
            },
        };
        if state.phase != CollectionPhase::Done && state.alive_at.is_none() {
            if meta.last_modified.is_none() {
                meta.last_modified = Some(time_of(storage, &key).await?);
            }
            state.alive_at = meta.last_modified.map(micros_of_time);
        }
        Ok(Some((state, meta)))
    }

    /// Whether that collection may still delete something at a time of the store, in microseconds.
    pub fn may_delete(&self, now: u64) -> bool {
        let said = self.alive_at.unwrap_or(u64::MAX);
        self.phase != CollectionPhase::Done && now < said.saturating_add(micros(STOPPED_AFTER))
    }

    /// Whether that collection last spoke when the store's clock stood ahead of a time in microseconds. It would seem to run
    /// until then.
    pub fn is_from_future(&self, now: u64) -> bool {
        let said = self.alive_at.unwrap_or(u64::MAX);
        self.phase != CollectionPhase::Done && said > now.saturating_add(micros(CLOCK_TOLERANCE))
    }

    /// Replaces a stored state that is [from the future](Self::is_from_future) by one that says the same as of now: if its collection is
    /// dead, others wait for an hour, as for any that was stopped; if not, it finds out and stops. A state that was replaced
    /// meanwhile stays as it is.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn correct_date(
        self,
        storage: &dyn Storage,
        stored: &ObjectMeta,
        now: SystemTime,
    ) -> Result<(), StorageError> {
        let state = Self {
            alive_at: Some(micros_of_time(now)),
            beats: self.beats.saturating_add(1),
            ..self
        };
        let options = PutOptions::mode(PutMode::Update(stored.version.clone()))
            .with_content_type("application/json");
        let bytes = serde_json::to_vec(&state).unwrap_or_default();
        let key = Self::key();
        storage.put(&key, bytes.into(), options).await.map(drop)
    }
}
