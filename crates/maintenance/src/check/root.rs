//! Which version of the format a root is of, and what of it a check goes by.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::TryStreamExt;
use icefield_format::layout::{self, IdKey};
use icefield_format::{DecodeLimits, RepoInfo, Snapshot, SnapshotId, SpecVersion};
use icefield_refs::{NewestBackup, PutBackMark, RepoBackup, RepoBackups, RepoContent, StoredRepo};
use icefield_storage::{Key, ListOptions, Prefix, Storage, StorageError, StorageExt, with_causes};

use super::error::CheckError;
use super::finding::FindingKind;

/// The state of a root.
#[derive(Debug)]
pub(super) enum Root {
    /// Its refs are files, of spec version 1; or there is no repository.
    Files,
    /// Its state is one object, of spec version 2.
    Object(Box<ObjectRoot>),
}

/// A root of spec version 2.
#[derive(Debug)]
pub(super) struct ObjectRoot {
    pub(super) stored: StoredRepo,
    /// The problem of the root as a whole.
    pub(super) wrong: Option<Wrong>,
    /// The state that the check goes by: the stored one or, if that is wrong, the newest backup that is sound.
    pub(super) info: Option<Arc<RepoInfo>>,
    /// The backup that is to take the place of what is stored.
    pub(super) earlier: Option<RepoBackup>,
    /// All backups.
    pub(super) backups: RepoBackups,
    /// Whether something lies below `refs/`.
    pub(super) has_refs: bool,
    /// Whether `repo` was put back from a backup, and it is not settled what becomes of what was committed after that.
    pub(super) unsettled: bool,
}

/// Why `repo` is not what a check goes by.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) kind: FindingKind,
    pub(super) rule: String,
}

impl Wrong {
    fn foreign(rule: &str) -> Option<Self> {
        Some(Self {
            kind: FindingKind::RepoForeign,
            rule: rule.to_owned(),
        })
    }
}

impl Root {
    /// Reads what a store has at its root.
    pub(super) async fn read(storage: &Arc<dyn Storage>) -> Result<Self, CheckError> {
        let stored = StoredRepo::read(&**storage).await?;
        let wrong = match &stored.content {
            RepoContent::Newer => {
                let location = storage.to_string();
                return Err(CheckError::NewerSpecVersion { location });
            }
            RepoContent::Sound(info) => foreign(storage, info).await?,
            RepoContent::Damaged(error) => Some(Wrong {
                kind: FindingKind::RepoDamaged,
                rule: with_causes(error),
            }),
            RepoContent::Absent => Some(Wrong {
                kind: FindingKind::RepoMissing,
                rule: "it does not exist, and overwritten/ has backups of it".to_owned(),
            }),
        };
        let is_absent = matches!(stored.content, RepoContent::Absent);
        let backups = RepoBackups::list(&**storage).await?;
        if is_absent && backups.all.is_empty() {
            return Ok(Self::Files);
        }
        let has_refs = has_any(storage, layout::REFS).await?;
        let mut earlier = None;
        if let Some(wrong) = &wrong {
            let there = match wrong.kind {
                FindingKind::RepoForeign => Some(snapshots(storage).await?),
                _ => None,
            };
            let is_ours = |info: &RepoInfo| match &there {
                None => true,
                Some(there) => info
                    .snapshots()
                    .snapshots()
                    .any(|it| is_one_of(&it.id(), there)),
            };
            earlier = match backups.newest_sound(&**storage, &is_ours).await? {
                NewestBackup::Sound(found) => Some(*found),
                NewestBackup::None => None,
                NewestBackup::Newer => {
                    let location = storage.to_string();
                    return Err(CheckError::NewerSpecVersion { location });
                }
            };
        }
        let sound = match &stored.content {
            RepoContent::Sound(info) => Some(info),
            _ => None,
        };
        // Beside refs of version 1, and without a sound backup, nothing tells that it ever was a repository's.
        if sound.is_none() && earlier.is_none() && has_refs {
            return Ok(Self::Files);
        }
        let info = match (&earlier, sound) {
            (Some(earlier), _) => Some(Arc::new(earlier.info.clone())),
            (None, Some(info)) => Some(Arc::new(RepoInfo::clone(info))),
            (None, None) => None,
        };
        // Of another repository, but there is no state of this one.
        let wrong = wrong.filter(|_| earlier.is_some() || sound.is_none());
        Ok(Self::Object(Box::new(ObjectRoot {
            stored,
            wrong,
            info,
            earlier,
            backups,
            has_refs,
            unsettled: PutBackMark::is_set(&**storage).await?,
        })))
    }

    /// Returns the limits to decode objects with.
    pub(super) fn limits(&self, limits: DecodeLimits) -> DecodeLimits {
        match self {
            Self::Files => limits,
            Self::Object(_) => DecodeLimits {
                latest: SpecVersion::LATEST,
                ..limits
            },
        }
    }

    pub(super) fn version(&self) -> SpecVersion {
        match self {
            Self::Files => SpecVersion::V1,
            Self::Object(_) => SpecVersion::V2,
        }
    }
}

fn is_one_of(id: &SnapshotId, there: &BTreeSet<SnapshotId>) -> bool {
    *id != SnapshotId::INITIAL && there.contains(id)
}

/// Says why a state is that of another repository. All repositories have a first snapshot of one id; that of another one has
/// another time. Of any other snapshot, a file must be there.
async fn foreign(storage: &Arc<dyn Storage>, info: &RepoInfo) -> Result<Option<Wrong>, CheckError> {
    let listed = info.snapshots();
    if listed.snapshots().all(|it| it.id() == SnapshotId::INITIAL) {
        let Some(first) = listed.get(&SnapshotId::INITIAL) else {
            return Ok(None);
        };
        let key = Key::parse(&layout::snapshot_key(first.id())).map_err(StorageError::from)?;
        let limits = DecodeLimits::up_to(SpecVersion::LATEST);
        let read = storage.try_read_at_most(&key, limits.max_file()).await;
        let bytes = match read {
            Ok(Some((bytes, _))) => bytes,
            // It is damaged, and tells no time.
            Ok(None) | Err(StorageError::ObjectTooLarge { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let file = Snapshot::decode(&bytes, first.id(), &limits);
        return Ok(
            match file.is_ok_and(|it| it.flushed_at() != first.flushed_at()) {
                true => Wrong::foreign(
                    "its first snapshot is of another time than the one that is there",
                ),
                false => None,
            },
        );
    }
    // Most often, the first one that is asked for is there.
    let mut tips: BTreeSet<SnapshotId> = info.branches().map(|(_, tip)| tip).collect();
    tips.remove(&SnapshotId::INITIAL);
    for tip in tips {
        let key = Key::parse(&layout::snapshot_key(tip)).map_err(StorageError::from)?;
        if storage.exists(&key).await? {
            return Ok(None);
        }
    }
    let there = snapshots(storage).await?;
    Ok(
        match listed.snapshots().any(|it| is_one_of(&it.id(), &there)) {
            true => None,
            false => Wrong::foreign("none of the snapshots that it lists is there"),
        },
    )
}

/// The ids of all snapshots that are stored.
async fn snapshots(storage: &Arc<dyn Storage>) -> Result<BTreeSet<SnapshotId>, CheckError> {
    let prefix = Prefix::parse(layout::SNAPSHOTS).map_err(StorageError::from)?;
    let mut objects = storage.list_objects(ListOptions::prefix(prefix));
    let mut found = BTreeSet::new();
    while let Some(object) = objects.try_next().await? {
        if let Some(IdKey::Snapshot(id)) = layout::parse_id_key(object.key.as_str()) {
            found.insert(id);
        }
    }
    Ok(found)
}

/// Returns whether any object lies below a prefix.
pub(super) async fn has_any(storage: &Arc<dyn Storage>, prefix: &str) -> Result<bool, CheckError> {
    let prefix = Prefix::parse(prefix).map_err(StorageError::from)?;
    let mut objects = storage.list_objects(ListOptions::prefix(prefix));
    Ok(objects.try_next().await?.is_some())
}
