//! Whether there is a repository, and making one.

use std::sync::Arc;

use futures::StreamExt;
use icefield_format::{
    DecodeLimits, FileKind, FormatError, RepositoryConfig, Snapshot, SnapshotId, SpecVersion,
    Writer, initial_snapshot_in, initial_transaction_log, layout,
};
use icefield_storage::{
    Bytes, Clock, Compared, Entropy, Key, ListOptions, Prefix, PutMode, PutOutcome, Storage,
    StorageError, StorageExt,
};

use crate::ledger::Layout;
use crate::ref_files::ref_options;
use crate::spec_v2::RepoState;
use crate::{
    BranchName, EditOutcome, FetchError, Ledger, RefsError, SnapshotSource, StoredConfig, Tip,
};

/// The content of a place where a repository may be.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each repository that is opened, and it is taken apart at once"
)]
pub enum Existing {
    /// The place holds no repository.
    Nothing,
    /// The place holds a repository of a newer version of the format.
    Newer,
    /// A repository.
    Repository {
        /// Its ledger.
        ledger: Ledger,
        /// Where the branch stands that was asked for; none if there is no such branch.
        branch: Result<Option<Tip>, RefsError>,
        /// The stored configuration.
        config: Option<StoredConfig>,
    },
}

/// The components of a ledger.
#[derive(Clone, Debug)]
pub struct LedgerParts {
    /// The store.
    pub storage: Arc<dyn Storage>,
    /// The source of decoded snapshots.
    pub snapshots: Arc<dyn SnapshotSource>,
    /// The clock that dates the entries of the operations log.
    pub clock: Arc<dyn Clock>,
    /// The source of the random names of backups.
    pub entropy: Arc<dyn Entropy>,
    /// The writer that `repo` names.
    pub writer: Writer,
}

impl LedgerParts {
    /// Returns the ledger of a repository of a version; asks the store nothing.
    ///
    /// # Errors
    /// As [`Ledger::spec_v2`].
    pub fn ledger(self, version: SpecVersion) -> Result<Ledger, StorageError> {
        match version {
            SpecVersion::V1 => Ok(self.files()),
            _ => self.object(),
        }
    }

    fn files(self) -> Ledger {
        Ledger::spec_v1(self.storage, self.snapshots)
    }

    fn object(self) -> Result<Ledger, StorageError> {
        Ledger::spec_v2(
            self.storage,
            self.snapshots,
            self.clock,
            self.entropy,
            self.writer,
        )
    }
}

/// The content of a new repository.
#[derive(Clone, Debug)]
pub struct NewRepository {
    /// The time of its creation, in microseconds since 1970.
    pub created_at: u64,
    /// The writer that its files name.
    pub writer: Writer,
    /// The configuration, which spec version 2 stores with the rest of the state. `None` for the defaults.
    pub config: Option<RepositoryConfig>,
    /// The file of the first snapshot, if it is that of another repository.
    pub initial: Option<Bytes>,
    /// Permits objects whose keys no repository uses.
    pub among_others: bool,
}

/// The outcome of creating a repository.
#[derive(Debug)]
#[must_use = "there may be no repository"]
pub enum Creation {
    /// The repository was created, and this configuration with it. In spec version 1 the configuration is an edit of its own.
    Created(Option<Box<StoredConfig>>),
    /// The place holds a repository already.
    Exists,
    /// The place holds this object, which is in the way.
    NotEmpty(Key),
    /// The store gave no answer: the repository may have been created.
    Unknown(StorageError),
}

/// The outcome of writing a file of the first snapshot.
enum Placed {
    /// It is there as it was to be written.
    Written,
    /// Another one is there.
    There,
    /// It may be there.
    Unknown(StorageError),
}

impl Ledger {
    /// Looks for the repository, of either version of the format, and reads a branch and the configuration in the same
    /// round of requests.
    ///
    /// # Errors
    /// [`RefsError::Config`], [`RefsError::InvalidRepo`], and the errors of the store.
    pub async fn open(parts: LedgerParts, branch: &BranchName) -> Result<Existing, RefsError> {
        let (files, ledger) = (parts.clone().files(), parts.object()?);
        let (repo, tip, config) =
            futures::join!(ledger.read_repo(), files.branch(branch), files.config());
        // Where the ref can be read, so could the others, if they were there.
        let hides_missing = files.storage().capabilities().hides_missing;
        let readable = hides_missing && matches!(tip, Ok(Some(_)));
        let denied = |error: &RefsError| {
            matches!(
                error,
                RefsError::Storage(StorageError::PermissionDenied { .. })
            )
        };
        let (repo, tip) = match (repo, tip) {
            (Err(error), tip) if readable && denied(&error) => (None, tip),
            (
                Err(RefsError::InvalidRepo {
                    source: FormatError::NewerSpecVersion { .. },
                }),
                _,
            ) => return Ok(Existing::Newer),
            // Whether an object exists, S3 refuses to say without a reason. Refusing its bytes, it has one.
            (Err(error), Err(reason)) if denied(&error) => return Err(reason),
            (repo, tip) => (repo?, tip),
        };
        if let Some(state) = repo {
            // Files of version 1 were seen in the same round. Most repositories have none.
            let is_seen = |read: Result<bool, &RefsError>| {
                read.unwrap_or_else(|error| {
                    matches!(
                        error,
                        RefsError::InvalidRefFile { .. } | RefsError::Config { .. }
                    )
                })
            };
            if is_seen(tip.as_ref().map(Option::is_some))
                || is_seen(config.as_ref().map(Option::is_some))
            {
                ledger.require_all_here().await?;
            }
            return Ok(Existing::Repository {
                branch: ledger.branch_in(&state, branch).await,
                config: state.config()?,
                ledger,
            });
        }
        // A repository of version 1 exists if and only if its main branch does, damaged or not.
        let exists = match &tip {
            Ok(None) if branch.is_main() => false,
            Err(RefsError::Upgraded) => false,
            Ok(None) => match files.branch(&BranchName::main()).await {
                Err(RefsError::InvalidRefFile { .. }) => true,
                main => main?.is_some(),
            },
            _ => true,
        };
        if !exists {
            // An upgrade may have put it into `repo`, and removed its file, since that was looked for.
            return Ok(match ledger.read_repo().await {
                Ok(Some(state)) => Existing::Repository {
                    branch: ledger.branch_in(&state, branch).await,
                    config: state.config()?,
                    ledger,
                },
                Ok(None) => Existing::Nothing,
                Err(RefsError::InvalidRepo {
                    source: FormatError::NewerSpecVersion { .. },
                }) => Existing::Newer,
                // It was not there, and may not be asked for by a reader of less rights.
                Err(error) if denied(&error) => Existing::Nothing,
                Err(error) => return Err(error),
            });
        }
        let config = match config {
            Err(error) if readable && denied(&error) => None,
            config => config?,
        };
        Ok(Existing::Repository {
            ledger: files,
            branch: tip,
            config,
        })
    }

    async fn read_repo(&self) -> Result<Option<Arc<RepoState>>, RefsError> {
        match &self.layout {
            Layout::V1(_) => Ok(None),
            Layout::V2(object) => object.try_read().await,
        }
    }

    /// Returns whether another program has upgraded the repository to a newer version of the format since it was opened.
    ///
    /// # Errors
    /// The error of the store.
    pub async fn was_upgraded(&self) -> Result<bool, StorageError> {
        if let Layout::V2(_) = &self.layout {
            return Ok(false);
        }
        self.storage().exists(&Key::parse(layout::REPO)?).await
    }

    /// Creates the repository: its first snapshot, then its main branch, which decides among several that create it at once.
    /// Objects that an interrupted creation has left are taken over.
    ///
    /// # Errors
    /// [`RefsError::Fetch`] if the first snapshot that is there cannot be read, and the errors of the store.
    pub async fn create(&self, new: NewRepository) -> Result<Creation, RefsError> {
        let in_the_way = match new.among_others {
            true => self.own_keys().await?,
            false => self.any_keys().await?,
        };
        if let Some(in_the_way) = in_the_way {
            return Ok(in_the_way);
        }
        let version = self.spec_version();
        let file = match new.initial {
            Some(file) => file,
            None => initial_snapshot_in(version, new.created_at, &new.writer),
        };
        let id = SnapshotId::INITIAL;
        let (placed, placed_log) = futures::try_join!(
            self.put_first(FileKind::Snapshot, &file, &new.writer),
            self.put_first_log(&new.writer),
        )?;
        let first = match placed {
            Placed::Written => None,
            // The one that is there is adopted, if it can be read.
            Placed::There => Some(self.snapshots.snapshot(id).await?),
            Placed::Unknown(source) => return Ok(Creation::Unknown(source)),
        };
        if let Placed::Unknown(source) = placed_log {
            return Ok(Creation::Unknown(source));
        }
        self.storage().sync().await?;
        match &self.layout {
            Layout::V1(files) => Ok(match files.create_main(id).await? {
                EditOutcome::Done(_) => Creation::Created(None),
                EditOutcome::Refused(_) => Creation::Exists,
                EditOutcome::Unknown(source) => Creation::Unknown(source),
            }),
            Layout::V2(object) => {
                let first = match first {
                    Some(first) => first,
                    None => {
                        let limits = DecodeLimits::up_to(version);
                        let first = Snapshot::decode(&file, id, &limits);
                        Arc::new(first.map_err(FetchError::from)?)
                    }
                };
                object.create(&first, new.config).await
            }
        }
    }

    /// Writes the log of the first snapshot, which spec version 2 has.
    async fn put_first_log(&self, writer: &Writer) -> Result<Placed, RefsError> {
        match &self.layout {
            Layout::V1(_) => Ok(Placed::Written),
            Layout::V2(_) => {
                let log = initial_transaction_log(writer);
                self.put_first(FileKind::TransactionLog, &log, writer).await
            }
        }
    }

    /// Writes a file of the first snapshot, unless a creation that ran at the same time, or that was stopped, has written it.
    async fn put_first(
        &self,
        kind: FileKind,
        file: &Bytes,
        writer: &Writer,
    ) -> Result<Placed, RefsError> {
        let key = match kind {
            FileKind::TransactionLog => layout::transaction_log_key(SnapshotId::INITIAL),
            _ => layout::snapshot_key(SnapshotId::INITIAL),
        };
        let (storage, key) = (self.storage(), Key::parse(&key)?);
        let metadata = writer
            .object_metadata_in(self.spec_version(), kind)
            .into_iter();
        let options = metadata.fold(ref_options(PutMode::Create), |options, (name, value)| {
            options.with_user_metadata(name, &value)
        });
        Ok(
            match storage.put_immutable(&key, file.clone(), options).await? {
                PutOutcome::Written(_) => Placed::Written,
                PutOutcome::Refused => Placed::There,
                PutOutcome::Unknown(source) => match storage.compare(&key, file).await {
                    Ok(Compared::Same(_)) => Placed::Written,
                    Ok(Compared::Other) => Placed::There,
                    Ok(Compared::Absent) | Err(_) => Placed::Unknown(source),
                },
            },
        )
    }

    /// The keys that decide whether there is a repository, and those that a creation which was stopped may leave.
    fn deciding(&self) -> Result<([Key; 2], [String; 2]), RefsError> {
        let (main, repo) = (main_key()?, Key::parse(layout::REPO)?);
        let id = SnapshotId::INITIAL;
        let left = [layout::snapshot_key(id), layout::transaction_log_key(id)];
        Ok(([main, repo], left))
    }

    async fn exists_already(&self) -> Result<bool, RefsError> {
        let ([main, repo], _) = self.deciding()?;
        let storage = self.storage();
        let (main, repo) = futures::join!(storage.exists(&main), storage.exists(&repo));
        Ok(main? || repo?)
    }

    /// The root is empty if it holds nothing but what a creation that was stopped may leave.
    async fn any_keys(&self) -> Result<Option<Creation>, RefsError> {
        let mut objects = self.storage().list(ListOptions::default());
        let (deciding, left) = self.deciding()?;
        while let Some(object) = objects.next().await {
            let key = match object {
                Ok(object) => object.key,
                // A folder that was made in a console has one.
                Err(error) if error.is_directory_marker() => continue,
                Err(error) if error.is_unreadable_key() => match self.exists_already().await? {
                    true => return Ok(Some(Creation::Exists)),
                    false => return Err(error.into()),
                },
                Err(error) => return Err(error.into()),
            };
            if deciding.contains(&key) {
                return Ok(Some(Creation::Exists));
            }
            let ours = key.segments().next() == Some(layout::OWN);
            if !left.contains(&key.to_string()) && !ours {
                // The deciding object may still come: it sorts behind chunks and manifests.
                return Ok(Some(match self.exists_already().await? {
                    true => Creation::Exists,
                    false => Creation::NotEmpty(key),
                }));
            }
        }
        Ok(None)
    }

    /// Among other objects, nothing may be where a repository has its own but what a creation that was stopped may leave.
    async fn own_keys(&self) -> Result<Option<Creation>, RefsError> {
        let (storage, (_, left)) = (self.storage(), self.deciding()?);
        if self.exists_already().await? {
            return Ok(Some(Creation::Exists));
        }
        let config = Key::parse(layout::CONFIG)?;
        if storage.exists(&config).await? {
            return Ok(Some(Creation::NotEmpty(config)));
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
                if !left.contains(&key.to_string()) {
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
