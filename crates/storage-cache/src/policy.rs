//! The objects that a cache keeps, and the reads that they serve.

use icefield_format::SnapshotId;
use icefield_format::layout::{self, IdKey};
use icefield_storage::{Key, StorageError};

/// The known state of the repository: whether it has the object `repo`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SeenSpec {
    /// It was not asked for yet.
    #[default]
    Unknown = 0,
    /// There is none: spec version 1.
    V1 = 1,
    /// There is one: spec version 2.
    V2 = 2,
}

impl SeenSpec {
    pub(crate) fn of_number(number: u8) -> Self {
        match number {
            1 => Self::V1,
            2 => Self::V2,
            _ => Self::Unknown,
        }
    }

    /// Returns what an answer to a read of `repo` shows; `None` if it shows nothing.
    pub(crate) fn shown_by<T>(
        answer: &Result<T, StorageError>,
        hides_missing: bool,
    ) -> Option<Self> {
        match answer {
            Ok(_) | Err(StorageError::NotModified { .. }) => Some(Self::V2),
            Err(StorageError::NotFound { .. }) => Some(Self::V1),
            // Opening has the same rule: where the ref can be read, what is denied is not there.
            Err(StorageError::PermissionDenied { .. }) if hides_missing => Some(Self::V1),
            Err(_) => None,
        }
    }
}

/// How far an entry is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The object never changes: the entry is the answer.
    Always,
    /// Something may replace the object: the store is asked whether it has changed.
    IfUnchanged,
}

/// Returns whether this is the object by which the spec versions differ.
pub(crate) fn is_repo(key: &Key) -> bool {
    key.as_str() == layout::REPO
}

/// Returns how far an entry of this object is believed; `None` if there may be none.
///
/// Chunks and manifests never change under their random id. A snapshot of spec version 1 gets another parent by an
/// expiration; in version 2 the parents are in `repo`. A repair or an expiration writes transaction logs anew. The initial
/// snapshot has the same id in all repositories, and other bytes in each.
pub(crate) fn trust(key: &Key, spec: SeenSpec) -> Option<Trust> {
    if spec == SeenSpec::Unknown {
        return None;
    }
    match layout::parse_id_key(key.as_str())? {
        IdKey::Chunk(_) | IdKey::Manifest(_) => Some(Trust::Always),
        IdKey::Snapshot(SnapshotId::INITIAL) | IdKey::TransactionLog(SnapshotId::INITIAL) => None,
        IdKey::Snapshot(_) if spec == SeenSpec::V2 => Some(Trust::Always),
        IdKey::Snapshot(_) | IdKey::TransactionLog(_) => Some(Trust::IfUnchanged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_with_ids_of_their_own_are_kept() {
        let id = "0G0KZ2RT4W2MZ4Q7XKXG";
        let trust = |key: &str, spec| trust(&Key::parse(key).expect(key), spec);
        for (spec, snapshot) in [
            (SeenSpec::V1, Trust::IfUnchanged),
            (SeenSpec::V2, Trust::Always),
        ] {
            assert_eq!(trust(&format!("chunks/{id}"), spec), Some(Trust::Always));
            assert_eq!(trust(&format!("manifests/{id}"), spec), Some(Trust::Always));
            assert_eq!(trust(&format!("snapshots/{id}"), spec), Some(snapshot));
            let log = trust(&format!("transactions/{id}"), spec);
            assert_eq!(log, Some(Trust::IfUnchanged));
            for key in [
                "repo",
                "config.yaml",
                "refs/branch.main/ref.json",
                "refs/branch.chunks/ref.json",
                "overwritten/repo.1.2",
                "icefield/config.yaml",
                "chunks/x",
                "snapshots/1CECHNKREP0F1RSTCMT0",
                "transactions/1CECHNKREP0F1RSTCMT0",
                &format!("chunks/{}", id.to_lowercase()),
                &format!("chunks/{id}/c"),
                &format!("x/chunks/{id}"),
            ] {
                assert_eq!(trust(key, spec), None, "{key}");
            }
        }
        assert_eq!(trust(&format!("chunks/{id}"), SeenSpec::Unknown), None);
    }
}
