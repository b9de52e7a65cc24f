//! The time of a store: the date that it gives a new object.
//!
//! The date of an object that was replaced says nothing. Local disks move it forward, so that no version returns, and one
//! wrong clock long ago is then handed on for ever. The `Date` of an answer may be that of a proxy. So the time is the
//! date of an object that was created under a name of its own, as heads and lists tell it: the clock that dates chunks.

use std::time::{Duration, SystemTime};

use icefield_format::ChunkId;
use icefield_storage::{
    Clock, Entropy, Key, ObjectClass, PutMode, PutOptions, PutOutcome, Storage, StorageError,
    StorageExt,
};

use super::object::own_key;

/// How far the store's clock and this machine's may be apart where something is deleted by age, and how far ahead of the
/// store's time a date may lie that is believed.
pub const CLOCK_TOLERANCE: Duration = Duration::from_secs(5 * 60);

/// The largest difference of the clocks of the machines that make up one store. Sessions and collections allow for it, each for
/// itself.
pub const CLOCK_MARGIN: Duration = Duration::from_secs(60);

/// The folder of the objects that are created for their dates.
const FOLDER: &str = "now";

/// Returns when the store wrote an object.
///
/// # Errors
/// The errors of the store.
pub async fn time_of(storage: &dyn Storage, key: &Key) -> Result<SystemTime, StorageError> {
    let meta = storage.head(key).await?;
    meta.last_modified.ok_or_else(|| StorageError::Unsupported {
        store: storage.to_string(),
        what: "telling when an object was written".to_owned(),
    })
}

/// Creates an object under a name that nothing ever had.
pub(super) async fn create(
    storage: &dyn Storage,
    key: &Key,
    bytes: Vec<u8>,
) -> Result<(), StorageError> {
    // Of this class, local disks write it under its name at once, with the date that the file system gives it.
    let options = PutOptions::mode(PutMode::Create)
        .with_class(ObjectClass::Chunk)
        .with_content_type("application/json");
    match storage.put(key, bytes.into(), options).await? {
        PutOutcome::Written(_) => Ok(()),
        PutOutcome::Refused => Err(StorageError::Failed {
            action: "create",
            target: key.to_string(),
            source: "its random name is taken".into(),
        }),
        PutOutcome::Unknown(source) => Err(source),
    }
}

/// Asks the store what time it is, by creating an object and deleting it again. One that stays behind does no harm: it is
/// never asked again, and a collection deletes it.
///
/// # Errors
/// The errors of the store, such as that it takes no writes.
pub async fn store_time(
    storage: &dyn Storage,
    entropy: &dyn Entropy,
) -> Result<SystemTime, StorageError> {
    let mut id = [0; 12];
    entropy.fill(&mut id);
    let key = own_key(&format!("{FOLDER}/{}", ChunkId::from_bytes(id)));
    create(storage, &key, b"{}".to_vec()).await?;
    let time = time_of(storage, &key).await;
    if let Err(error) = storage.delete_one(key.into()).await {
        tracing::debug!(%error, "an object that told the time stays until a collection");
    }
    time
}

/// The prefix of the objects that are created for their dates.
pub fn probes() -> String {
    format!("{}/{FOLDER}", icefield_format::layout::OWN)
}

/// The reason for which no time is known by which anything may be deleted.
#[derive(Debug, thiserror::Error)]
pub enum StoreTimeError {
    /// The store and this machine disagree.
    #[error(transparent)]
    ClocksApart(#[from] ClocksApart),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl StoreTimeError {
    /// Whether the store cannot be asked: it takes no writes, or not this one, or does not tell when it wrote something. It may
    /// take other writes all the same, so that only a dry run goes on.
    pub fn is_write_denied(&self) -> bool {
        matches!(
            self,
            Self::Storage(
                StorageError::ReadOnly { .. }
                    | StorageError::PermissionDenied { .. }
                    | StorageError::Unsupported { .. }
            )
        )
    }
}

/// The store's clock and this machine's are more than [`CLOCK_TOLERANCE`] apart, so that one of them is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the clock of {store} is {} this machine's, more than five minutes: nothing is deleted by age before the wrong one is set right",
    apart(*.store_time, *.host_time)
)]
pub struct ClocksApart {
    /// The store.
    pub store: String,
    /// The date that it gave a new object.
    pub store_time: SystemTime,
    /// The time of this machine's clock.
    pub host_time: SystemTime,
}

fn apart(store: SystemTime, host: SystemTime) -> String {
    let (apart, direction) = match store.duration_since(host) {
        Ok(ahead) => (ahead, "ahead of"),
        Err(behind) => (behind.duration(), "behind"),
    };
    let minutes = apart.as_secs() / 60;
    format!("{} h {} min {direction}", minutes / 60, minutes % 60)
}

/// Asks the store what time it is, as [`store_time`], and compares that with this machine's clock.
///
/// # Errors
/// [`StoreTimeError::ClocksApart`]; the errors of the store.
pub async fn agreed_time(
    storage: &dyn Storage,
    entropy: &dyn Entropy,
    clock: &dyn Clock,
) -> Result<SystemTime, StoreTimeError> {
    let before = clock.now();
    let store_time = store_time(storage, entropy).await?;
    let after = clock.now();
    // The object was dated at some moment between the two.
    let is_early = store_time + CLOCK_TOLERANCE < before.min(after);
    let is_late = store_time > before.max(after) + CLOCK_TOLERANCE;
    match is_early || is_late {
        true => Err(ClocksApart {
            store: storage.to_string(),
            store_time,
            host_time: after,
        }
        .into()),
        false => Ok(store_time),
    }
}
