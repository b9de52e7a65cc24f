//! The marks that a collection keeps for the next one, as one object: `icefield/gc/marks.bin`.

use std::collections::BTreeMap;
use std::io::Read;

use icefield_format::{ManifestId, SnapshotId};
use icefield_storage::{Key, PutMode, PutOutcome, Storage, StorageError, StorageExt};
use serde::{Deserialize, Serialize};

use super::table::{Table, pack};

const VERSION: u32 = 2;
const COMPRESSION_LEVEL: i32 = 3;
/// Most bytes of the object, and of what is in it: a million snapshots.
const MAX_PACKED: u64 = 1 << 30;
const MAX_BYTES: usize = 4 << 30;

/// A snapshot that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MarkedSnapshot {
    pub(super) parent: Option<[u8; 12]>,
    /// The object that said so: its bytes, and when it was written. Expiration rewrites snapshots in place; one that goes
    /// unnoticed keeps more than it must, never less.
    pub(super) size: u64,
    pub(super) modified: u64,
    /// Positions among the manifests.
    pub(super) manifests: Vec<u32>,
}

/// The marks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Remembered {
    pub(super) snapshots: BTreeMap<[u8; 12], MarkedSnapshot>,
    /// The manifests that the table counts, ascending.
    pub(super) manifests: Vec<[u8; 12]>,
    pub(super) table: Table,
    /// All chunks that were written before this time, in microseconds, and that the table does not count, were deleted.
    /// None while that is not certain.
    pub(super) settled: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct File(u32, Remembered);

impl Remembered {
    fn key() -> Result<Key, StorageError> {
        Ok(Key::parse("icefield/gc/marks.bin")?)
    }

    /// Reads what is remembered; nothing if it cannot be read, so that everything is marked anew.
    pub(super) async fn read(storage: &dyn Storage) -> Result<Option<Self>, StorageError> {
        let (packed, _) = match storage.try_read_at_most(&Self::key()?, MAX_PACKED).await {
            Ok(Some(read)) => read,
            Ok(None) | Err(StorageError::ObjectTooLarge { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Self::decode(&packed)
            .inspect_err(|error| tracing::warn!(error, "everything is marked anew"))
            .ok())
    }

    fn decode(packed: &[u8]) -> Result<Self, String> {
        let mut reader =
            zstd::stream::read::Decoder::new(packed).map_err(|error| error.to_string())?;
        // To the end, where the checksum is.
        let mut bytes = Vec::new();
        (&mut reader)
            .take(MAX_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| error.to_string())?;
        if bytes.len() > MAX_BYTES {
            return Err("it is too large".to_owned());
        }
        let File(version, remembered) =
            rmp_serde::from_slice(&bytes).map_err(|error| error.to_string())?;
        match version {
            VERSION if remembered.table.is_sound() => Ok(remembered),
            VERSION => Err("its table makes no sense".to_owned()),
            other => Err(format!("version {other} is not known")),
        }
    }

    pub(super) async fn write(&self, storage: &dyn Storage) -> Result<(), StorageError> {
        let failed = |error: &dyn std::fmt::Display| StorageError::Failed {
            action: "encode",
            target: "icefield/gc/marks.bin".to_owned(),
            source: error.to_string().into(),
        };
        let file = File(VERSION, self.clone());
        let bytes = rmp_serde::to_vec(&file).map_err(|error| failed(&error))?;
        let packed = pack(&bytes, COMPRESSION_LEVEL).map_err(|error| failed(&error))?;
        let key = Self::key()?;
        let put = storage.put(&key, packed.into(), PutMode::Overwrite.into());
        match put.await? {
            PutOutcome::Written(_) => Ok(()),
            PutOutcome::Refused => unreachable!("BUG: an unconditional put is not refused"),
            PutOutcome::Unknown(source) => Err(source),
        }
    }

    /// Forgets everything, so that the next collection marks anew. What cannot be deleted is found to be damaged again.
    pub(super) async fn forget(storage: &dyn Storage) -> Result<(), StorageError> {
        drop(storage.delete_one(Self::key()?.into()).await);
        Ok(())
    }

    pub(super) fn has_manifest(&self, id: &ManifestId) -> bool {
        self.manifests.binary_search(id.as_bytes()).is_ok()
    }

    pub(super) fn has_snapshot(&self, id: &SnapshotId) -> bool {
        self.snapshots.contains_key(id.as_bytes())
    }
}
