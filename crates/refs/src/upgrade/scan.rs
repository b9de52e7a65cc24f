//! The refs and the configuration that a repository of spec version 1 keeps in files, each with the state in which it was read.

use std::collections::BTreeMap;

use futures::StreamExt;
use icefield_format::layout::{self, RefKey};
use icefield_format::{RepositoryConfig, SnapshotId, decode_ref};
use icefield_storage::{Bytes, Key, ListOptions, Prefix, StorageError, StorageExt, Version};

use crate::list::{READS, is_system_file};
use crate::ref_files::{MAX_REF_LEN, RefFiles, SEAL, config_key};
use crate::{BranchName, RefsError, Stray, StrayProblem, TagName};

/// The refs and the configuration of a repository, and the files that hold them.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) branches: BTreeMap<BranchName, SnapshotId>,
    /// Tags that are not deleted.
    pub(crate) tags: BTreeMap<TagName, SnapshotId>,
    /// Deleted tags, with what they pointed to where their file is there.
    pub(crate) deleted_tags: BTreeMap<TagName, Option<SnapshotId>>,
    pub(crate) config: Option<RepositoryConfig>,
    /// In the order in which they may go. `main` is the first, so that no older program opens the repository any more. The file
    /// of a deleted tag goes before its tombstone, without which the tag would seem to live.
    pub(crate) files: Vec<ScannedFile>,
}

/// One of the files.
#[derive(Clone, Debug)]
pub(crate) struct ScannedFile {
    pub(crate) key: Key,
    pub(crate) version: Version,
    pub(crate) kind: FileState,
}

/// How a file can be replaced or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileState {
    /// Writers replace it, under the condition that it is as they read it.
    Replaceable,
    /// An upgrade has replaced it, so that no writer's condition holds any more.
    Sealed,
    /// It is the file of a tag, which is never replaced.
    Tag,
    /// It is that of a deleted tag, as long as the tag has a file.
    Tombstone,
}

/// A file below `refs/` as it was read.
struct Read {
    key: Key,
    name: RefKey,
    bytes: Bytes,
    version: Version,
}

impl RefFiles {
    /// Reads all refs and the configuration.
    ///
    /// # Errors
    /// [`RefsError::NotUnderstood`], [`RefsError::SpelledTwice`], [`RefsError::Config`], and the errors of the store.
    pub(crate) async fn scan(&self) -> Result<Scan, RefsError> {
        let (read, config) = futures::join!(self.read_all(), self.read_config());
        let mut scan = Scan::of(read?)?;
        if let Some((bytes, version)) = config? {
            let kind = state_of(&bytes, FileState::Replaceable);
            if kind != FileState::Sealed {
                let config = RepositoryConfig::decode(&bytes);
                scan.config = Some(config.map_err(RefsError::config_file)?);
            }
            let key = config_key()?;
            scan.files.push(ScannedFile { key, version, kind });
        }
        Ok(scan)
    }

    async fn read_all(&self) -> Result<Vec<Read>, RefsError> {
        let (mut keys, mut strays) = (Vec::new(), Vec::new());
        let options = ListOptions::prefix(Prefix::parse(layout::REFS)?);
        let mut objects = self.storage().list(options);
        while let Some(object) = objects.next().await {
            let key = match object {
                Ok(object) => object.key,
                Err(StorageError::UnreadableKey { raw, problem }) => {
                    let problem = StrayProblem::Unreadable(problem);
                    strays.push(Stray { name: raw, problem });
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let stray = |problem| Stray {
                name: key.to_string(),
                problem,
            };
            match layout::read_ref_key(key.as_str(), self.form()) {
                Some((name, _)) => match require_spec_v1(&name) {
                    Ok(()) => keys.push((key, name)),
                    Err(error) => strays.push(stray(StrayProblem::Name(error))),
                },
                None if is_system_file(&key) => {}
                None => strays.push(stray(StrayProblem::NotARef)),
            }
        }
        if !strays.is_empty() {
            return Err(RefsError::NotUnderstood { strays });
        }
        let mut objects = futures::stream::iter(keys)
            .map(|(key, name)| async move {
                let read = self.storage().try_read_at_most(&key, MAX_REF_LEN).await?;
                Ok::<_, RefsError>(read.map(|(bytes, version)| Read {
                    key,
                    name,
                    bytes,
                    version,
                }))
            })
            .buffered(READS);
        let mut all = Vec::new();
        while let Some(read) = objects.next().await {
            // One that is gone since it was listed is no ref any more.
            all.extend(read?);
        }
        Ok(all)
    }
}

fn require_spec_v1(name: &RefKey) -> Result<(), crate::NameError> {
    match name {
        RefKey::Branch(name) => BranchName::parse_spec_v1(name).map(drop),
        RefKey::Tag(name) | RefKey::Tombstone(name) => TagName::parse_spec_v1(name).map(drop),
    }
}

fn state_of(bytes: &[u8], otherwise: FileState) -> FileState {
    match bytes == SEAL {
        true => FileState::Sealed,
        false => otherwise,
    }
}

impl Scan {
    fn of(read: Vec<Read>) -> Result<Self, RefsError> {
        let mut scan = Self::default();
        let mut owners: BTreeMap<RefKey, Key> = BTreeMap::new();
        let mut tag_files: BTreeMap<TagName, Bytes> = BTreeMap::new();
        let (mut branch_files, mut tag_objects, mut tombstones) =
            (Vec::new(), Vec::new(), Vec::new());
        let mut strays = Vec::new();
        for Read {
            key,
            name,
            bytes,
            version,
        } in read
        {
            if let Some(other) = owners.insert(name.clone(), key.clone()) {
                return Err(RefsError::SpelledTwice {
                    own: other,
                    other: key,
                });
            }
            let file = |kind| ScannedFile {
                key: key.clone(),
                version: version.clone(),
                kind,
            };
            match name {
                RefKey::Branch(name) => {
                    let name = BranchName::parse_spec_v1(&name)?;
                    let kind = state_of(&bytes, FileState::Replaceable);
                    branch_files.push((!name.is_main(), file(kind)));
                    if kind == FileState::Sealed {
                        continue;
                    }
                    match decode_ref(&bytes) {
                        Ok(tip) => drop(scan.branches.insert(name, tip)),
                        Err(source) => {
                            let error = RefsError::InvalidRefFile { key, source };
                            strays.push(Stray::damaged(format!("branch {name}"), &error));
                        }
                    }
                }
                RefKey::Tag(name) => {
                    tag_objects.push(file(FileState::Tag));
                    tag_files.insert(TagName::parse_spec_v1(&name)?, bytes);
                }
                RefKey::Tombstone(name) => {
                    tombstones.push(file(FileState::Tombstone));
                    scan.deleted_tags
                        .insert(TagName::parse_spec_v1(&name)?, None);
                }
            }
        }
        for (name, bytes) in tag_files {
            let target = decode_ref(&bytes);
            if let Some(deleted) = scan.deleted_tags.get_mut(&name) {
                *deleted = target.ok();
                continue;
            }
            match target {
                Ok(target) => drop(scan.tags.insert(name, target)),
                Err(source) => {
                    let key = owners.remove(&RefKey::Tag(name.to_string()));
                    let said = match key {
                        Some(key) => RefsError::InvalidRefFile { key, source },
                        None => RefsError::TagNotFound(name.clone()),
                    };
                    strays.push(Stray::damaged(format!("tag {name}"), &said));
                }
            }
        }
        if !strays.is_empty() {
            return Err(RefsError::NotUnderstood { strays });
        }
        branch_files.sort_by_key(|(is_other, _)| *is_other);
        scan.files = branch_files.into_iter().map(|(_, file)| file).collect();
        scan.files.extend(tag_objects);
        scan.files.extend(tombstones);
        Ok(scan)
    }

    /// The snapshots that branches and tags point to.
    pub(crate) fn targets(&self) -> impl Iterator<Item = SnapshotId> {
        self.branches.values().chain(self.tags.values()).copied()
    }
}
