//! Leases: what keeps the chunks of old sessions from being collected.

use std::time::SystemTime;

use futures::TryStreamExt;
use icefield_format::{ChunkId, layout};
use icefield_storage::{
    Entropy, Key, ListOptions, ObjectMeta, Prefix, PutMode, PutOptions, PutOutcome, Storage,
    StorageError, StorageExt,
};
use serde::{Deserialize, Serialize};

use super::object::{MAX_BYTES, micros, own_key};
use super::time::{CLOCK_TOLERANCE, create};
use icefield_refs::micros_of_time;

/// Leases read at a time.
const LEASES_AHEAD: usize = 16;

/// A lease as a collection finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The object.
    pub object: ObjectMeta,
    /// When its session began, by the store's clock, in microseconds since 1970; 0 if the lease does not tell, cannot be
    /// read, or makes no sense: it holds back everything.
    pub started: u64,
    /// When it was last renewed, by the store's clock, in microseconds since 1970.
    pub renewed: u64,
}

/// The contents of a lease.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LeaseFile {
    started: u64,
    /// None in one that was created and never renewed: its own date tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    renewed: Option<u64>,
    /// Random. No two states of a lease have the same bytes. So one that was renewed is never deleted for the dead one that was
    /// listed, wherever a store deletes on a condition; also where versions are digests.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    nonce: String,
}

impl Lease {
    /// Returns the key of a lease.
    pub(crate) fn key(id: [u8; 12]) -> Key {
        own_key(&format!("leases/{}", ChunkId::from_bytes(id)))
    }

    /// Lists all leases, the dead ones too, in the order of their keys.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn list(storage: &dyn Storage) -> Result<Vec<Self>, StorageError> {
        let prefix = Prefix::parse(&format!("{}/leases", layout::OWN))?;
        // A lease that is left out does not protect its session.
        let objects = storage.list_strict(ListOptions::prefix(prefix));
        let leases = objects.map_ok(|object| async move {
            let read = storage.try_read_at_most(&object.key, MAX_BYTES).await?;
            // One that is gone is that of a session that has just committed.
            Ok(read.map(|(bytes, _)| Self::of(object, &bytes)))
        });
        let leases = leases.try_buffered(LEASES_AHEAD);
        leases
            .try_filter_map(futures::future::ok)
            .try_collect()
            .await
    }

    fn of(object: ObjectMeta, bytes: &[u8]) -> Self {
        let dated = object.last_modified.map_or(u64::MAX, micros_of_time);
        let (started, renewed) = match serde_json::from_slice::<LeaseFile>(bytes) {
            Ok(file) => (file.started, file.renewed.unwrap_or(dated)),
            Err(_) => (0, dated),
        };
        // No session begins after its lease was renewed.
        let started = if started > renewed { 0 } else { started };
        Self {
            object,
            started,
            renewed,
        }
    }

    /// Whether it was renewed when the store's clock stood ahead of a time in microseconds. What it says of its session is
    /// not to be believed then.
    pub fn is_from_future(&self, now: u64) -> bool {
        self.renewed > now.saturating_add(micros(CLOCK_TOLERANCE))
    }

    /// Creates a lease that holds back everything, under a name of its own.
    pub(crate) async fn create(
        storage: &dyn Storage,
        entropy: &dyn Entropy,
    ) -> Result<Key, StorageError> {
        let key = Self::draw_key(entropy);
        Self::create_at(storage, &key).await?;
        Ok(key)
    }

    /// Returns a key of which no other lease knows.
    pub(crate) fn draw_key(entropy: &dyn Entropy) -> Key {
        let mut id = [0; 12];
        entropy.fill(&mut id);
        Self::key(id)
    }

    /// Creates a lease that holds back everything, at a key that was drawn.
    pub(crate) async fn create_at(storage: &dyn Storage, key: &Key) -> Result<(), StorageError> {
        let file = LeaseFile {
            started: 0,
            renewed: None,
            nonce: String::new(),
        };
        create(storage, key, file.encode()).await
    }

    /// Writes or renews a lease at a time of the store.
    pub(crate) async fn renew(
        storage: &dyn Storage,
        entropy: &dyn Entropy,
        key: &Key,
        started: u64,
        now: SystemTime,
    ) -> Result<(), StorageError> {
        put(storage, entropy, key, started, now, PutMode::Overwrite)
            .await
            .map(drop)
    }

    /// Renews a lease that is [from the future](Self::is_from_future) for its session, which may be dead: for one floor it holds back
    /// everything, and not until the date that it gives. One that its session renews meanwhile stays as it is.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn correct_date(
        &self,
        storage: &dyn Storage,
        entropy: &dyn Entropy,
        now: SystemTime,
    ) -> Result<(), StorageError> {
        let (key, version) = (&self.object.key, self.object.version.clone());
        put(storage, entropy, key, 0, now, PutMode::Update(version))
            .await
            .map(drop)
    }
}

impl LeaseFile {
    fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

async fn put(
    storage: &dyn Storage,
    entropy: &dyn Entropy,
    key: &Key,
    started: u64,
    now: SystemTime,
    mode: PutMode,
) -> Result<bool, StorageError> {
    let mut nonce = [0; 12];
    entropy.fill(&mut nonce);
    let file = LeaseFile {
        started,
        renewed: Some(micros_of_time(now)),
        nonce: ChunkId::from_bytes(nonce).to_string(),
    };
    let options = PutOptions::mode(mode).with_content_type("application/json");
    match storage.put(key, file.encode().into(), options).await? {
        PutOutcome::Written(_) => Ok(true),
        PutOutcome::Refused => Ok(false),
        PutOutcome::Unknown(source) => Err(source),
    }
}
