//! Whether there is a repository, and making one.

use futures::StreamExt;
use icefield_format::{FileKind, SnapshotId, Writer, initial_snapshot, layout};
use icefield_storage::{
    Bytes, Key, ListOptions, Prefix, PutMode, PutOutcome, StorageError, StorageExt,
};

use crate::ref_files::ref_options;
use crate::{BranchName, Edit, EditOutcome, Ledger, RefsError, StoredConfig, Tip};

/// What is at a place.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each repository that is opened, and it is taken apart at once"
)]
pub enum Existing {
    /// No repository.
    Nothing,
    /// One of a newer version of the format.
    Newer,
    /// A repository.
    Repository {
        /// Where the branch stands that was asked for; none if there is no such branch.
        branch: Result<Option<Tip>, RefsError>,
        /// The stored configuration.
        config: Option<StoredConfig>,
    },
}

/// What is needed to create a repository.
#[derive(Clone, Debug)]
pub struct NewRepository {
    /// When it is created, in microseconds since 1970.
    pub created_at: u64,
    /// Who writes its files.
    pub writer: Writer,
    /// The file of its first snapshot, if it is to have that of another repository.
    pub initial: Option<Bytes>,
    /// Objects whose keys are none of a repository's may be there.
    pub among_others: bool,
}

/// What became of creating a repository.
#[derive(Debug)]
#[must_use = "there may be no repository"]
pub enum Creation {
    /// It was created.
    Created,
    /// There was one already.
    Exists,
    /// An object is in the way.
    NotEmpty(Key),
    /// It may have been created, or not.
    Unknown(StorageError),
}

impl Ledger {
    /// Looks for the repository, and reads a branch and the configuration in the same round.
    ///
    /// # Errors
    /// [`RefsError::Config`] and what the store says.
    pub async fn open(&self, branch: &BranchName) -> Result<Existing, RefsError> {
        let (upgraded, tip, config) =
            futures::join!(self.was_upgraded(), self.branch(branch), self.config());
        // Where the ref can be read, so could the others, if they were there.
        let hides_missing = self.storage().capabilities().hides_missing;
        let readable = hides_missing && matches!(tip, Ok(Some(_)));
        let (upgraded, tip) = match (upgraded, tip) {
            (Err(StorageError::PermissionDenied { .. }), tip) if readable => (false, tip),
            // Whether an object exists, S3 refuses to say without a reason. Refusing its bytes, it has one.
            (Err(_), Err(reason)) => return Err(reason),
            (upgraded, tip) => (upgraded?, tip),
        };
        if upgraded {
            return Ok(Existing::Newer);
        }
        // A repository exists if and only if its main branch does, damaged or not.
        let exists = match &tip {
            Ok(None) if branch.is_main() => false,
            Ok(None) => match self.branch(&BranchName::main()).await {
                Err(RefsError::InvalidRefFile { .. }) => true,
                main => main?.is_some(),
            },
            _ => true,
        };
        if !exists {
            return Ok(Existing::Nothing);
        }
        let config = match config {
            Err(RefsError::Storage(StorageError::PermissionDenied { .. })) if readable => None,
            config => config?,
        };
        Ok(Existing::Repository {
            branch: tip,
            config,
        })
    }

    /// Returns whether another program has upgraded the repository to a newer version of the format since it was opened.
    ///
    /// # Errors
    /// What the store says.
    pub async fn was_upgraded(&self) -> Result<bool, StorageError> {
        self.storage().exists(&Key::parse(layout::REPO)?).await
    }

    /// Creates the repository: its first snapshot, then its main branch, which decides among several that create it at once.
    /// What a creation that was stopped has left is taken over.
    ///
    /// # Errors
    /// [`RefsError::Fetch`] if the first snapshot that is there cannot be read, and what the store says.
    pub async fn create(&self, new: NewRepository) -> Result<Creation, RefsError> {
        let in_the_way = match new.among_others {
            true => self.own_keys().await?,
            false => self.any_keys().await?,
        };
        if let Some(in_the_way) = in_the_way {
            return Ok(in_the_way);
        }
        let file = match new.initial {
            Some(file) => file,
            None => initial_snapshot(new.created_at, &new.writer),
        };
        if let Some(source) = self.put_initial(file, &new.writer).await? {
            return Ok(Creation::Unknown(source));
        }
        self.storage().sync().await?;
        let edit = Edit::CreateBranch {
            name: BranchName::main(),
            target: SnapshotId::INITIAL,
        };
        Ok(match self.apply(edit).await? {
            EditOutcome::Done(_) => Creation::Created,
            EditOutcome::Refused(_) => Creation::Exists,
            EditOutcome::Unknown(source) => Creation::Unknown(source),
        })
    }

    /// Writes the first snapshot, or makes sure that the one that is there can be read. Returns why neither is known.
    async fn put_initial(
        &self,
        file: Bytes,
        writer: &Writer,
    ) -> Result<Option<StorageError>, RefsError> {
        let (storage, id) = (self.storage(), SnapshotId::INITIAL);
        let key = Key::parse(&layout::snapshot_key(id))?;
        let metadata = writer.object_metadata(FileKind::Snapshot).into_iter();
        let options = metadata.fold(ref_options(PutMode::Create), |options, (name, value)| {
            options.with_user_metadata(name, &value)
        });
        match storage.put_immutable(&key, file.clone(), options).await? {
            PutOutcome::Written(_) => return Ok(None),
            // A concurrent creation, or one that stopped, wrote the first snapshot: this one adopts it.
            PutOutcome::Refused => {}
            PutOutcome::Unknown(source) => match storage.try_read(&key).await {
                Ok(Some((stored, _))) if stored == file => return Ok(None),
                Ok(Some(_)) => {}
                _ => return Ok(Some(source)),
            },
        }
        self.snapshots.snapshot(id).await?;
        Ok(None)
    }

    /// The root is empty if it holds nothing but what a creation that was stopped may leave.
    async fn any_keys(&self) -> Result<Option<Creation>, RefsError> {
        let mut objects = self.storage().list(ListOptions::default());
        let (initial, main) = (layout::snapshot_key(SnapshotId::INITIAL), main_key()?);
        while let Some(object) = objects.next().await {
            let key = match object {
                Ok(object) => object.key,
                // A folder that was made in a console has one.
                Err(error) if error.is_directory_marker() => continue,
                Err(error) if error.is_unreadable_key() => {
                    match self.storage().exists(&main).await? {
                        true => return Ok(Some(Creation::Exists)),
                        false => return Err(error.into()),
                    }
                }
                Err(error) => return Err(error.into()),
            };
            if key == main {
                return Ok(Some(Creation::Exists));
            }
            let ours = key.segments().next() == Some(layout::OWN);
            if key.as_str() != initial && !ours {
                // The main branch may still come: it sorts behind chunks and manifests.
                return Ok(Some(match self.storage().exists(&main).await? {
                    true => Creation::Exists,
                    false => Creation::NotEmpty(key),
                }));
            }
        }
        Ok(None)
    }

    /// Among other objects, nothing may be where a repository has its own but what a creation that was stopped may leave.
    async fn own_keys(&self) -> Result<Option<Creation>, RefsError> {
        let (storage, initial) = (self.storage(), layout::snapshot_key(SnapshotId::INITIAL));
        if storage.exists(&main_key()?).await? {
            return Ok(Some(Creation::Exists));
        }
        for key in [layout::REPO, layout::CONFIG] {
            let key = Key::parse(key)?;
            if storage.exists(&key).await? {
                return Ok(Some(Creation::NotEmpty(key)));
            }
        }
        for prefix in [
            layout::REFS,
            layout::SNAPSHOTS,
            layout::MANIFESTS,
            layout::TRANSACTIONS,
            layout::CHUNKS,
            layout::OVERWRITTEN,
        ] {
            let mut objects = storage.list_strict(Prefix::parse(prefix)?.into());
            while let Some(object) = objects.next().await {
                let key = object?.key;
                if key.as_str() != initial {
                    return Ok(Some(Creation::NotEmpty(key)));
                }
            }
        }
        Ok(None)
    }
}

fn main_key() -> Result<Key, RefsError> {
    Ok(Key::parse(&layout::branch_key(
        "main",
        layout::KeyForm::Raw,
    ))?)
}
