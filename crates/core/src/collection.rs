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
//! A collection that opens later finds the lease. Times are those of the store: of the objects themselves.

use std::time::{Duration, SystemTime};

use futures::TryStreamExt;
use icefield_format::{ChunkId, layout};
use icefield_storage::{
    Entropy, Key, ListOptions, ObjectMeta, Prefix, PutMode, PutOptions, PutOutcome, Storage,
    StorageError, StorageExt,
};
use serde::{Deserialize, Serialize};

use crate::micros_of_time;

/// A session of this age writes a lease, and renews it when it was last renewed as long ago.
pub const LEASED_AFTER: Duration = Duration::from_secs(15 * 60);

/// A collection that has not said for so long that it runs has stopped. It says so more often than that.
pub const STOPPED_AFTER: Duration = Duration::from_secs(60 * 60);

/// Leases read at a time.
const LEASES_AHEAD: usize = 16;

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
        let state = match serde_json::from_slice::<Self>(&bytes) {
            Ok(state) if state.version <= STATE_VERSION => state,
            _ => Self {
                version: STATE_VERSION,
                phase: CollectionPhase::Running,
                cutoff: u64::MAX,
                earlier: u64::MAX,
                beats: 0,
                run: String::new(),
            },
        };
        if state.phase != CollectionPhase::Done && meta.last_modified.is_none() {
            meta.last_modified = Some(time_of(storage, &key).await?);
        }
        Ok(Some((state, meta)))
    }
}

/// A lease as a collection finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The object.
    pub object: ObjectMeta,
    /// When its session began, by the store's clock, in microseconds since 1970; 0 if the lease does not tell yet, or
    /// cannot be read.
    pub started: u64,
}

/// What is in a lease.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LeaseFile {
    started: u64,
}

impl Lease {
    /// Returns the key of a lease.
    pub(crate) fn key(id: [u8; 12]) -> Key {
        own_key(&format!("leases/{}", ChunkId::from_bytes(id)))
    }

    /// Lists all leases, the dead ones too, in the order of their keys.
    ///
    /// # Errors
    /// What the store says.
    pub async fn list(storage: &dyn Storage) -> Result<Vec<Self>, StorageError> {
        let prefix = Prefix::parse(&format!("{}/leases", layout::OWN))?;
        // A lease that is left out does not protect its session.
        let objects = storage.list_strict(ListOptions::prefix(prefix));
        let leases = objects.map_ok(|object| async move {
            let read = storage.try_read_at_most(&object.key, MAX_BYTES).await?;
            // One that is gone is that of a session that has just committed.
            Ok(read.map(|(bytes, _)| {
                let file = serde_json::from_slice::<LeaseFile>(&bytes);
                let started = file.map_or(0, |file| file.started);
                Self { object, started }
            }))
        });
        let leases = leases.try_buffered(LEASES_AHEAD);
        leases
            .try_filter_map(futures::future::ok)
            .try_collect()
            .await
    }

    /// Returns the key of a lease that nobody else has.
    pub(crate) fn fresh_key(entropy: &dyn Entropy) -> Key {
        let mut id = [0; 12];
        entropy.fill(&mut id);
        Self::key(id)
    }

    /// Writes or renews a lease; returns the store's time of the write.
    pub(crate) async fn write(
        storage: &dyn Storage,
        key: &Key,
        started: u64,
    ) -> Result<SystemTime, StorageError> {
        let file = serde_json::to_vec(&LeaseFile { started }).unwrap_or_default();
        let options = PutOptions::mode(PutMode::Overwrite).with_content_type("application/json");
        match storage.put(key, file.into(), options).await? {
            PutOutcome::Written(written) => match written.store_time {
                Some(time) => Ok(time),
                None => time_of(storage, key).await,
            },
            PutOutcome::Refused => unreachable!("BUG: an unconditional put is not refused"),
            PutOutcome::Unknown(source) => Err(source),
        }
    }
}

/// Returns when the store wrote an object.
///
/// # Errors
/// What the store says.
pub async fn time_of(storage: &dyn Storage, key: &Key) -> Result<SystemTime, StorageError> {
    let meta = storage.head(key).await?;
    meta.last_modified.ok_or_else(|| StorageError::Unsupported {
        store: storage.to_string(),
        what: "telling when an object was written".to_owned(),
    })
}

/// Returns whether a collection may still delete something at a time of the store.
pub(crate) fn may_delete(state: &CollectionState, meta: &ObjectMeta, now: SystemTime) -> bool {
    let said = meta.last_modified.map_or(u64::MAX, micros_of_time);
    let stopped = said.saturating_add(STOPPED_AFTER.as_micros() as u64);
    state.phase != CollectionPhase::Done && micros_of_time(now) < stopped
}

fn own_key(name: &str) -> Key {
    Key::parse(&format!("{}/{name}", layout::OWN))
        .unwrap_or_else(|_| unreachable!("BUG: names of our own make valid keys"))
}
