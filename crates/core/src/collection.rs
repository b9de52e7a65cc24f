//! What writers and the collection of garbage tell each other, as small objects under the prefix `icefield/`.
//!
//! ```text
//! icefield/leases/ID        a session older than a quarter of an hour; renewed while it is used
//! icefield/gc/state.json    the last or the running collection
//! ```
//! Chunks are in the store before a commit refers to them. A collection takes for garbage what nothing refers to and
//! what was written before its *cutoff*, and these rules keep the two apart:
//!
//! 1. A collection writes that it opens, with the cutoff that it would like; then it reads the leases, and writes that it
//!    runs, with the older of that cutoff and the start of every live lease. Only then does it look for garbage.
//! 2. A session that is older than a quarter of an hour renews its lease, and then reads that state, before it commits.
//!    If the cutoff is later than its start, then that collection did not see the lease: as long as it is not done,
//!    nothing is committed. If a cutoff of an earlier one is, then only once every chunk of the session was seen to
//!    exist.
//!
//! A collection that opens later finds the lease. Times are those of the store, and come from [fresh objects](store_time):
//! state and leases are replaced, and say in their content when that was. What lies ahead of the store's time is neither
//! believed nor waited for: it is dated anew, and then counts like what was written just now.

mod lease;
mod time;

use std::time::{Duration, SystemTime};

use icefield_format::layout;
use icefield_storage::{Key, ObjectMeta, PutMode, PutOptions, Storage, StorageError, StorageExt};
use serde::{Deserialize, Serialize};

pub use lease::Lease;
pub use time::{
    CLOCK_MARGIN, CLOCK_TOLERANCE, ClocksApart, StoreTimeError, agreed_time, probes, store_time,
    time_of,
};

use crate::micros_of_time;

/// A session of this age writes a lease, and renews it when it was last renewed as long ago.
pub const LEASED_AFTER: Duration = Duration::from_secs(15 * 60);

/// A collection that has not said for so long that it runs has stopped. It says so more often than that.
pub const STOPPED_AFTER: Duration = Duration::from_secs(60 * 60);

/// Most bytes of a state or lease that are read; a good one has some hundred.
const MAX_BYTES: u64 = 64 << 10;

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
    /// What the store says. A state that cannot be read is one of a newer program: it counts as a collection that
    /// runs and may delete everything.
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
    pub fn is_ahead(&self, now: u64) -> bool {
        let said = self.alive_at.unwrap_or(u64::MAX);
        self.phase != CollectionPhase::Done && said > now.saturating_add(micros(CLOCK_TOLERANCE))
    }

    /// Replaces a stored state that lies [ahead](Self::is_ahead) by one that says the same as of now: if its collection is
    /// dead, others wait for an hour, as for any that was stopped; if not, it finds out and stops. A state that was replaced
    /// meanwhile stays as it is.
    ///
    /// # Errors
    /// What the store says.
    pub async fn date_anew(
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

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn own_key(name: &str) -> Key {
    Key::parse(&format!("{}/{name}", layout::OWN))
        .unwrap_or_else(|_| unreachable!("BUG: names of our own make valid keys"))
}
