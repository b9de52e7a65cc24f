//! The folder of objects that an import leaves to go on.

use futures::TryStreamExt;
use icefield_core::LeasePass;
use icefield_storage::{
    DeleteOutcome, Deletion, Key, ListOptions, ObjectMeta, Prefix, PutMode, PutOptions, PutOutcome,
    Storage, StorageError, StorageExt,
};
use serde::{Deserialize, Serialize};

use crate::ImportError;

/// The version of the layout that this program writes, and reads.
pub(super) const VERSION: u32 = 1;

/// The object `begin.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct BeginRecord {
    pub(super) version: u32,
    /// For people.
    pub(super) about: String,
    pub(super) run: String,
    pub(super) lease: String,
    pub(super) branch: String,
    /// Where the branch stood.
    pub(super) base: String,
    /// A digest of the sources' names: the same words may stand for other files by the next time.
    #[serde(default)]
    pub(super) sources: String,
}

pub(super) fn begin_key(folder: &str) -> Result<Key, ImportError> {
    let key = Key::parse(&format!("{folder}/begin.json"));
    key.map_err(StorageError::from).map_err(store)
}

pub(super) fn read_begin(
    folder: &str,
    bytes: &[u8],
) -> Result<(BeginRecord, LeasePass), ImportError> {
    let unknown = || ImportError::NotResumed {
        place: folder.to_owned(),
    };
    let begin: BeginRecord = serde_json::from_slice(bytes).map_err(|_| unknown())?;
    let pass = LeasePass::parse(&begin.lease).filter(|_| begin.version <= VERSION);
    Ok((begin, pass.ok_or_else(unknown)?))
}

pub(super) async fn put_begin(
    storage: &dyn Storage,
    folder: &str,
    begin: &BeginRecord,
    mode: PutMode,
) -> Result<(), ImportError> {
    let bytes = serde_json::to_vec(begin).unwrap_or_default();
    let options = PutOptions::mode(mode).with_content_type("application/json");
    let key = begin_key(folder)?;
    let put = storage.put(&key, bytes.into(), options);
    match put.await.map_err(store)? {
        PutOutcome::Written(_) => Ok(()),
        PutOutcome::Refused => Err(ImportError::TakenOver {
            about: begin.about.clone(),
        }),
        PutOutcome::Unknown(error) => Err(store(error)),
    }
}

pub(super) async fn below(
    storage: &dyn Storage,
    folder: &str,
) -> Result<Vec<ObjectMeta>, ImportError> {
    let prefix = Prefix::parse(folder).map_err(StorageError::from);
    let options = ListOptions::prefix(prefix.map_err(store)?);
    storage
        .list_objects(options)
        .try_collect()
        .await
        .map_err(store)
}

/// Removes a folder. What says that there is one goes last.
pub(super) async fn remove(storage: &dyn Storage, folder: &str) -> Result<(), ImportError> {
    let begin = begin_key(folder)?;
    let mut keys: Vec<Key> = below(storage, folder)
        .await?
        .into_iter()
        .map(|it| it.key)
        .collect();
    keys.sort_by_key(|key| *key == begin);
    for key in keys {
        match storage
            .delete_one(Deletion::from(key))
            .await
            .map_err(store)?
        {
            DeleteOutcome::Deleted | DeleteOutcome::Refused => {}
            DeleteOutcome::Unknown(error) => return Err(store(error)),
        }
    }
    Ok(())
}

pub(super) fn store(error: StorageError) -> ImportError {
    icefield_core::SessionError::from(error).into()
}
