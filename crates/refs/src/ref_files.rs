//! Spec version 1: an object per ref, an empty object as the tombstone of a deleted tag.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use icefield_format::layout::{self, KeyForm};
use icefield_format::{SnapshotId, decode_ref, encode_ref, encode_ref_with_nonce};
use icefield_storage::{
    Bytes, Compared, DeleteOutcome, Deletion, Key, PlantedBug, PutMode, PutOptions, PutOutcome,
    Storage, StorageError, StorageExt, planted,
};

use crate::{BranchName, EditOutcome, RefsError, Refusal, TagName, TagState, Tip};

/// Most bytes of a ref file that are read; a good one has 35, or 67 after a reset.
pub(crate) const MAX_REF_LEN: u64 = 64 << 10;
/// Most bytes of `config.yaml` that are read, as many as decoding takes.
const MAX_CONFIG_LEN: u64 = 4 << 20;

/// The bytes that an upgrade to spec version 2 puts in the place of a ref file or of `config.yaml` before it deletes that: no writer's
/// condition holds then, and no reader takes it for a ref.
pub(crate) const SEAL: &[u8] = b"upgraded to spec version 2\n";

/// The layout's form of the store's key form: two crates that must not know each other name it.
pub(crate) fn key_form(storage: &dyn Storage) -> KeyForm {
    match storage.capabilities().key_form {
        icefield_storage::KeyForm::Raw => KeyForm::Raw,
        icefield_storage::KeyForm::ObjectStorePath => KeyForm::ObjectStorePath,
    }
}

/// Refs as spec version 1 stores them.
#[derive(Clone, Debug)]
pub(crate) struct RefFiles {
    storage: Arc<dyn Storage>,
    form: KeyForm,
}

impl RefFiles {
    pub(crate) fn new(storage: Arc<dyn Storage>) -> Self {
        let form = key_form(&*storage);
        Self { storage, form }
    }

    pub(crate) fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    pub(crate) fn shared_storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// The form in which the store spells names.
    pub(crate) fn form(&self) -> KeyForm {
        self.form
    }

    pub(crate) async fn read(&self, key: &Key) -> Result<Option<Tip>, RefsError> {
        let Some((bytes, version)) = self.storage.try_read_at_most(key, MAX_REF_LEN).await? else {
            return Ok(None);
        };
        if bytes == SEAL {
            return Err(RefsError::Upgraded);
        }
        let snapshot = decode_ref(&bytes).map_err(|source| RefsError::InvalidRefFile {
            key: key.clone(),
            source,
        })?;
        Ok(Some(Tip {
            snapshot,
            version,
            key: Some(key.clone()),
        }))
    }

    pub(crate) async fn branch(&self, name: &BranchName) -> Result<Option<Tip>, RefsError> {
        if self.form == KeyForm::Raw {
            // The name as it is comes first, and most of the time there is no more to ask.
            let own = self.read(&branch_key(name, self.form)?).await?;
            let second = layout::second_form(name.as_str(), self.form);
            return match (own, second) {
                (None, Some(second)) => self.read(&branch_key(name, second)?).await,
                (own, _) => Ok(own),
            };
        }
        let form = self.form_of_branch(name).await?;
        self.read(&branch_key(name, form)?).await
    }

    /// Where the branch stands now that a tip was read of: as [`RefFiles::branch`], but in a bucket only under the key that
    /// the tip has.
    pub(crate) async fn branch_of(
        &self,
        name: &BranchName,
        tip: &Tip,
    ) -> Result<Option<Tip>, RefsError> {
        self.read(&self.key_of(name, tip).await?).await
    }

    /// The key of the branch that a tip was read of. In a bucket it never changes: the other spelling is another branch, which
    /// may have the same bytes. Elsewhere a repair may have changed it.
    async fn key_of(&self, name: &BranchName, tip: &Tip) -> Result<Key, RefsError> {
        if self.form != KeyForm::Raw {
            return branch_key(name, self.form_of_branch(name).await?);
        }
        if let Some(second) = layout::second_form(name.as_str(), self.form) {
            let key = branch_key(name, second)?;
            if Some(&key) == tip.key.as_ref() {
                return Ok(key);
            }
        }
        branch_key(name, self.form)
    }

    /// Where a branch stands that is to be replaced or deleted, whatever its file holds. In a bucket, a name means no other one
    /// here: a request that is sent again after it succeeded must not find the next branch.
    pub(crate) async fn branch_to_replace(
        &self,
        name: &BranchName,
    ) -> Result<Option<Tip>, RefsError> {
        let form = match self.form {
            KeyForm::Raw => KeyForm::Raw,
            KeyForm::ObjectStorePath => self.form_of_branch(name).await?,
        };
        let key = branch_key(name, form)?;
        match self.read(&key).await {
            Err(
                RefsError::InvalidRefFile { .. }
                | RefsError::Storage(StorageError::ObjectTooLarge { .. }),
            ) => match self.storage.head(&key).await {
                Ok(found) => Ok(Some(Tip {
                    // It points nowhere; no snapshot has this id.
                    snapshot: SnapshotId::from_bytes([0; 12]),
                    version: found.version,
                    key: Some(key),
                })),
                Err(error) if error.is_not_found() => Ok(None),
                Err(error) => Err(error.into()),
            },
            tip => tip,
        }
    }

    pub(crate) async fn tag(&self, name: &TagName) -> Result<TagState, RefsError> {
        let second = layout::second_form(name.as_str(), self.form);
        let form = match (self.form, second) {
            (KeyForm::Raw, Some(second)) => {
                let own = self.tag_in(name, self.form).await?;
                return match own {
                    TagState::Absent => self.tag_in(name, second).await,
                    own => Ok(own),
                };
            }
            _ => self.form_of_tag(name).await?,
        };
        self.tag_in(name, form).await
    }

    async fn tag_in(&self, name: &TagName, form: KeyForm) -> Result<TagState, RefsError> {
        let (key, tombstone) = (tag_key(name, form)?, tombstone_key(name, form)?);
        let (tip, deleted) = futures::join!(self.read(&key), self.storage.exists(&tombstone));
        let (tip, hides_missing) = (tip?, self.storage.capabilities().hides_missing);
        let deleted = match deleted {
            Err(StorageError::PermissionDenied { .. }) if tip.is_some() && hides_missing => false,
            deleted => deleted?,
        };
        Ok(match (tip, deleted) {
            (None, false) => TagState::Absent,
            (Some(tip), false) => TagState::Present(tip.snapshot),
            (Some(tip), true) if planted(PlantedBug::TombstoneIgnored) => {
                TagState::Present(tip.snapshot)
            }
            (_, true) => TagState::Deleted,
        })
    }

    pub(crate) async fn create_branch(
        &self,
        name: &BranchName,
        target: SnapshotId,
    ) -> Result<EditOutcome, RefsError> {
        let key = branch_key(name, self.form)?;
        if self.form != KeyForm::Raw && self.form_of_branch(name).await? != self.form {
            return Ok(EditOutcome::Refused(Refusal::AlreadyExists));
        }
        let put = self.put_ref(&key, encode_ref(target), PutMode::Create, target);
        self.require_not_upgraded(put.await?).await
    }

    /// Creates the main branch of a new repository. Whether there is a `repo` is looked up in the same round: only a repository that
    /// another program created and upgraded since the place was found empty has one, and each later edit of this handle looks again.
    pub(crate) async fn create_main(&self, target: SnapshotId) -> Result<EditOutcome, RefsError> {
        let key = branch_key(&BranchName::main(), self.form)?;
        let repo = Key::parse(layout::REPO)?;
        let put = self.put_ref(&key, encode_ref(target), PutMode::Create, target);
        let (outcome, is_upgraded) = futures::join!(put, self.storage.exists(&repo));
        match (outcome?, is_upgraded) {
            (EditOutcome::Done(_), Ok(true)) => Err(RefsError::Upgraded),
            (EditOutcome::Done(_), Err(error)) => Ok(EditOutcome::Unknown(error)),
            (outcome, _) => Ok(outcome),
        }
    }

    /// Returns the file of a branch that is reset. Where conditions compare contents, no state of a branch may come back:
    /// a request on its way since would find what it expects. States of commits differ by their snapshots, and those of
    /// resets by what each replaces.
    pub(crate) fn reset_file(&self, target: SnapshotId, expected: &Tip) -> Bytes {
        if self.storage.capabilities().exact_versions {
            return encode_ref(target);
        }
        let mut hasher = DefaultHasher::new();
        expected.version.as_str().hash(&mut hasher);
        expected.snapshot.hash(&mut hasher);
        encode_ref_with_nonce(target, hasher.finish())
    }

    pub(crate) async fn move_branch(
        &self,
        name: &BranchName,
        target: SnapshotId,
        file: Bytes,
        expected: &Tip,
    ) -> Result<EditOutcome, RefsError> {
        let key = self.key_of(name, expected).await?;
        let mode = match planted(PlantedBug::BranchMovedUnconditionally) {
            true => PutMode::Overwrite,
            false => PutMode::Update(expected.version.clone()),
        };
        match self.put_ref(&key, file, mode, target).await? {
            EditOutcome::Refused(_) => match self.branch_of(name, expected).await {
                Ok(Some(tip)) => Ok(EditOutcome::Refused(Refusal::BranchMoved {
                    found: tip.snapshot,
                })),
                Err(RefsError::Upgraded) => Ok(EditOutcome::Refused(Refusal::Upgraded)),
                Ok(None) => match self.storage.exists(&Key::parse(layout::REPO)?).await {
                    Ok(true) => Ok(EditOutcome::Refused(Refusal::Upgraded)),
                    Ok(false) => Ok(EditOutcome::Refused(Refusal::BranchGone)),
                    Err(error) => Ok(EditOutcome::unread(layout::REPO.to_owned(), error.into())),
                },
                Err(error) => Ok(EditOutcome::unread(format!("branch {name}"), error)),
            },
            outcome => Ok(outcome),
        }
    }

    pub(crate) async fn delete_branch(
        &self,
        name: &BranchName,
        expected: &Tip,
    ) -> Result<EditOutcome, RefsError> {
        let key = self.key_of(name, expected).await?;
        if self.form == KeyForm::Raw && key != branch_key(name, self.form)? {
            // The tip is that of a branch with another name, which stands for a missing one only where nothing is deleted.
            return Ok(EditOutcome::Refused(Refusal::BranchGone));
        }
        let conditional = self.storage.capabilities().conditional_delete;
        if !conditional {
            // The nearest to a condition: what happens between this look and the delete is not noticed.
            match self.branch_of(name, expected).await? {
                None => return Ok(EditOutcome::Refused(Refusal::BranchGone)),
                Some(tip) if tip.version != expected.version => {
                    return Ok(EditOutcome::Refused(Refusal::BranchMoved {
                        found: tip.snapshot,
                    }));
                }
                Some(_) => {}
            }
        }
        let deletion = Deletion {
            key,
            version: (conditional && !planted(PlantedBug::BranchDeletedUnconditionally))
                .then(|| expected.version.clone()),
        };
        let outcome = match self.storage.delete_one(deletion).await? {
            DeleteOutcome::Deleted => EditOutcome::Done(None),
            DeleteOutcome::Refused => match self.branch_of(name, expected).await {
                Ok(Some(tip)) => EditOutcome::Refused(Refusal::BranchMoved {
                    found: tip.snapshot,
                }),
                Ok(None) => EditOutcome::Refused(Refusal::BranchGone),
                Err(error) => EditOutcome::unread(format!("branch {name}"), error),
            },
            // Gone is gone, whichever process did it; present in the same state, the delete may still come.
            DeleteOutcome::Unknown(source) => match self.branch_of(name, expected).await {
                Ok(None) => EditOutcome::Done(None),
                Ok(Some(tip)) if tip.version != expected.version && conditional => {
                    EditOutcome::Refused(Refusal::BranchMoved {
                        found: tip.snapshot,
                    })
                }
                _ => EditOutcome::Unknown(source),
            },
        };
        self.make_durable(outcome).await
    }

    pub(crate) async fn create_tag(
        &self,
        name: &TagName,
        target: SnapshotId,
    ) -> Result<EditOutcome, RefsError> {
        // A deleted tag keeps its ref file, so the create-only put alone refuses its name.
        let key = tag_key(name, self.form)?;
        let taken = |state| {
            EditOutcome::Refused(match state {
                TagState::Deleted => Refusal::NameTaken,
                _ => Refusal::AlreadyExists,
            })
        };
        if self.form != KeyForm::Raw && self.form_of_tag(name).await? != self.form {
            return Ok(taken(self.tag(name).await?));
        }
        let mode = match planted(PlantedBug::TagOverwritten) {
            true => PutMode::Overwrite,
            false => PutMode::Create,
        };
        let put = self.put_ref(&key, encode_ref(target), mode, target);
        match put.await? {
            EditOutcome::Refused(_) => Ok(match self.tag(name).await {
                Ok(state) => taken(state),
                Err(error) => EditOutcome::unread(format!("tag {name}"), error),
            }),
            outcome => self.require_not_upgraded(outcome).await,
        }
    }

    pub(crate) async fn delete_tag(&self, name: &TagName) -> Result<EditOutcome, RefsError> {
        // In a bucket, a name means no other one here, as of branches.
        let form = match self.form {
            KeyForm::Raw => KeyForm::Raw,
            KeyForm::ObjectStorePath => self.form_of_tag(name).await?,
        };
        match self.tag_in(name, form).await? {
            TagState::Present(_) => {}
            TagState::Absent | TagState::Deleted => {
                return Ok(EditOutcome::Refused(Refusal::NotFound));
            }
        }
        let key = tombstone_key(name, form)?;
        let outcome = match self
            .storage
            .put(&key, Bytes::new().into(), ref_options(PutMode::Create))
            .await?
        {
            PutOutcome::Written(written) => EditOutcome::Done(Some(written.version)),
            PutOutcome::Refused => EditOutcome::Refused(Refusal::NotFound),
            PutOutcome::Unknown(source) => match self.storage.exists(&key).await {
                Ok(true) => EditOutcome::Done(None),
                _ => EditOutcome::Unknown(source),
            },
        };
        let outcome = self.make_durable(outcome).await?;
        self.require_not_upgraded(outcome).await
    }

    /// Looks for `repo` after an edit whose condition holds also once the repository is upgraded, since no file says so any
    /// more: readers do not see what it wrote.
    ///
    /// # Errors
    /// [`RefsError::Upgraded`]. The file is there, and `icefield upgrade` takes over what it says.
    async fn require_not_upgraded(&self, outcome: EditOutcome) -> Result<EditOutcome, RefsError> {
        let EditOutcome::Done(_) = &outcome else {
            return Ok(outcome);
        };
        match self.storage.exists(&Key::parse(layout::REPO)?).await {
            Ok(false) => Ok(outcome),
            Ok(true) => Err(RefsError::Upgraded),
            Err(error) => Ok(EditOutcome::Unknown(error)),
        }
    }

    /// Writes a ref file. A refusal or an unknown outcome is settled by reading the file back, as far as
    /// that can settle it: our target there means that the write landed; another state than the expected
    /// one means that it never will.
    async fn put_ref(
        &self,
        key: &Key,
        bytes: Bytes,
        mode: PutMode,
        target: SnapshotId,
    ) -> Result<EditOutcome, RefsError> {
        let refused = || EditOutcome::Refused(Refusal::AlreadyExists);
        let outcome = match self
            .storage
            .put(key, bytes.into(), ref_options(mode.clone()))
            .await?
        {
            PutOutcome::Written(written) => EditOutcome::Done(Some(written.version)),
            PutOutcome::Refused => refused(),
            PutOutcome::Unknown(source) => match (self.read(key).await, mode) {
                (Ok(Some(tip)), _) if tip.snapshot == target => {
                    EditOutcome::Done(Some(tip.version))
                }
                (Ok(Some(_)), PutMode::Create) => refused(),
                // Whether the write landed before that of another writer, only the history can tell:
                // the caller walks it.
                (_, _) => EditOutcome::Unknown(source),
            },
        };
        self.make_durable(outcome).await
    }

    /// An edit is acknowledged when it is durable.
    pub(crate) async fn make_durable(
        &self,
        outcome: EditOutcome,
    ) -> Result<EditOutcome, RefsError> {
        match outcome {
            EditOutcome::Done(_) if planted(PlantedBug::RefNotSynced) => Ok(outcome),
            EditOutcome::Done(version) => Ok(match self.storage.sync().await {
                Ok(()) => EditOutcome::Done(version),
                Err(source) => EditOutcome::Unknown(source),
            }),
            outcome => Ok(outcome),
        }
    }

    /// Reads `config.yaml`, whatever it holds.
    pub(crate) async fn read_config(
        &self,
    ) -> Result<Option<(Bytes, icefield_storage::Version)>, RefsError> {
        Ok(self
            .storage
            .try_read_at_most(&config_key()?, MAX_CONFIG_LEN)
            .await?)
    }

    pub(crate) async fn write_config(
        &self,
        bytes: Bytes,
        mode: PutMode,
    ) -> Result<EditOutcome, RefsError> {
        let key = config_key()?;
        let options = ref_options(mode).with_content_type("application/yaml");
        let outcome = match self
            .storage
            .put(&key, bytes.clone().into(), options)
            .await?
        {
            PutOutcome::Written(written) => EditOutcome::Done(Some(written.version)),
            PutOutcome::Refused => EditOutcome::Refused(Refusal::AlreadyExists),
            PutOutcome::Unknown(source) => match self.storage.compare(&key, &bytes).await {
                Ok(Compared::Same(version)) => EditOutcome::Done(Some(version)),
                _ => EditOutcome::Unknown(source),
            },
        };
        let outcome = self.make_durable(outcome).await?;
        self.require_not_upgraded(outcome).await
    }
}

pub(crate) fn branch_key(name: &BranchName, form: KeyForm) -> Result<Key, RefsError> {
    name.require_spec_v1()?;
    Ok(Key::parse(&layout::branch_key(name.as_str(), form))?)
}

pub(crate) fn tag_key(name: &TagName, form: KeyForm) -> Result<Key, RefsError> {
    name.require_spec_v1()?;
    Ok(Key::parse(&layout::tag_key(name.as_str(), form))?)
}

pub(crate) fn tombstone_key(name: &TagName, form: KeyForm) -> Result<Key, RefsError> {
    name.require_spec_v1()?;
    Ok(Key::parse(&layout::tombstone_key(name.as_str(), form))?)
}

pub(crate) fn config_key() -> Result<Key, StorageError> {
    Ok(Key::parse(layout::CONFIG)?)
}

pub(crate) fn ref_options(mode: PutMode) -> PutOptions {
    PutOptions::mode(mode).with_content_type("application/octet-stream")
}
