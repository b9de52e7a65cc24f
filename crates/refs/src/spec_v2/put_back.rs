//! The mark that `repo` was put back from a backup. What was committed after the backup, files alone prove then: while the mark is
//! there, nothing that may be of acknowledged commits is collected or expired.

use icefield_format::layout;
use icefield_storage::{
    Bytes, DeleteOutcome, Key, PutMode, PutOutcome, Storage, StorageError, StorageExt,
};

/// Its name, below our own prefix.
const NAME: &str = "damaged/unsettled";

/// The mark of a `repo` that was put back.
#[derive(Clone, Copy, Debug)]
pub struct PutBackMark;

impl PutBackMark {
    /// Returns its key.
    ///
    /// # Errors
    /// None that a caller can cause.
    pub fn key() -> Result<Key, StorageError> {
        Ok(Key::parse(&format!("{}/{NAME}", layout::OWN))?)
    }

    /// Returns whether a put-back is not settled. A caller that goes by a state of `repo` asks this after it read that state: the
    /// mark is written before the backup is put in its place.
    ///
    /// # Errors
    /// The error of the store.
    pub async fn is_set(storage: &dyn Storage) -> Result<bool, StorageError> {
        storage.exists(&Self::key()?).await
    }

    /// Sets it, durably. It holds the name of the backup.
    ///
    /// # Errors
    /// The error of the store; the mark may be there then.
    pub(super) async fn set(storage: &dyn Storage, backup: &str) -> Result<(), StorageError> {
        let (key, bytes) = (Self::key()?, Bytes::copy_from_slice(backup.as_bytes()));
        match storage
            .put_immutable(&key, bytes, PutMode::Create.into())
            .await?
        {
            // A mark of an earlier put-back does as well.
            PutOutcome::Written(_) | PutOutcome::Refused => {}
            PutOutcome::Unknown(source) => {
                if !Self::is_set(storage).await? {
                    return Err(source);
                }
            }
        }
        storage.sync().await
    }

    /// Takes it away: nothing is left to be settled.
    ///
    /// # Errors
    /// The error of the store; the mark may be there or not then.
    pub async fn clear(storage: &dyn Storage) -> Result<(), StorageError> {
        match storage.delete_one(Self::key()?.into()).await? {
            DeleteOutcome::Deleted | DeleteOutcome::Refused => storage.sync().await,
            DeleteOutcome::Unknown(source) => Err(source),
        }
    }
}
