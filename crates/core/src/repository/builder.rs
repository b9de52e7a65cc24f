//! Opening and creating.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use icefield_format::{RepositoryConfig, SnapshotId, Writer, initial_snapshot, layout};
use icefield_refs::{
    BranchName, EditOutcome, RefEdit, Refs, RefsError, SnapshotSource, StoredConfig, Tip,
    micros_of_time,
};
use icefield_storage::{
    Clock, Entropy, Key, ListOptions, Prefix, Storage, StorageError, StorageExt, SystemClock,
    SystemEntropy,
};

use super::in_force::Configs;
use super::{Repository, Revision, Shared, Start};
use crate::objects::Objects;
use crate::session::{CollectionHold, Session};
use crate::virtual_chunks::{VirtualAccess, VirtualStores};
use crate::{RepositoryError, SessionError, Settings};

/// How to open or create a repository: components given to it, settings that tune it.
#[derive(Clone, Debug)]
pub struct RepositoryBuilder {
    storage: Arc<dyn Storage>,
    settings: Settings,
    config: RepositoryConfig,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    access: VirtualAccess,
    among_others: bool,
}

impl RepositoryBuilder {
    pub(super) fn new(storage: Arc<dyn Storage>) -> Self {
        Self {
            storage,
            settings: Settings::default(),
            config: RepositoryConfig::default(),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            access: VirtualAccess::none(),
            among_others: false,
        }
    }

    /// Tunes this process.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets configuration that goes before what is stored; [`RepositoryBuilder::create`] stores it.
    #[must_use]
    pub fn config(mut self, config: RepositoryConfig) -> Self {
        self.config = config;
        self
    }

    /// Takes the time from `clock`.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Draws ids from `entropy`.
    #[must_use]
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// Lets the repository refer to foreign objects. Without it, virtual chunks cannot be read; all else can.
    #[must_use]
    pub fn virtual_access(mut self, access: VirtualAccess) -> Self {
        self.access = access;
        self
    }

    /// Lets [`RepositoryBuilder::create`] have company: objects whose keys are none of a repository's may be there. Those
    /// that a repository would take for its own are still in the way.
    #[must_use]
    pub fn among_other_objects(mut self) -> Self {
        self.among_others = true;
        self
    }

    fn location(&self) -> String {
        self.storage.to_string()
    }

    /// Opens the repository.
    ///
    /// # Errors
    /// [`RepositoryError::NotFound`], [`RepositoryError::NewerSpecVersion`], what the store says.
    pub async fn open(self) -> Result<Repository, RepositoryError> {
        let (repository, main) = self.open_with(&BranchName::main()).await?;
        // A damaged main can be reset; whoever reads it is told.
        exists(main)?;
        Ok(repository)
    }

    /// Opens the repository and a session that reads one revision of it, with one round of requests fewer
    /// than the two apart: the ref is read together with what opening must read.
    ///
    /// # Errors
    /// As [`RepositoryBuilder::open`] and [`Repository::read_session`].
    pub async fn open_session(
        self,
        revision: impl Into<Revision>,
    ) -> Result<(Repository, Session), RepositoryError> {
        let revision = revision.into();
        let Start::Branch(name) = &revision.start else {
            let repository = self.open().await?;
            let session = repository.read_session(revision).await?;
            return Ok((repository, session));
        };
        let (repository, tip) = self.open_with(name).await?;
        let tip = tip?.ok_or_else(|| RefsError::BranchNotFound(name.clone()))?;
        let id = repository.walk(tip.snapshot, &revision).await?;
        let session = repository.session_at(id, &revision).await?;
        Ok((repository, session))
    }

    /// As [`Repository::hold_collections`], of a repository that need not open: for work that mends it.
    ///
    /// # Errors
    /// [`RepositoryError::CollectionRunning`], what the store says.
    pub async fn hold_collections(self) -> Result<CollectionHold, RepositoryError> {
        self.repository(None).hold_collections().await
    }

    /// Opens the repository, and reads a branch in the same round.
    async fn open_with(
        self,
        branch: &BranchName,
    ) -> Result<(Repository, Result<Option<Tip>, RefsError>), RepositoryError> {
        let refs = self.refs(Arc::new(self.objects()));
        let repo_key = Key::parse(layout::REPO).map_err(StorageError::from)?;
        let (upgraded, tip, config) = futures::join!(
            self.storage.exists(&repo_key),
            refs.branch(branch),
            refs.config()
        );
        // Where the ref can be read, so could the others, if they were there.
        let readable = self.storage.capabilities().hides_missing && matches!(tip, Ok(Some(_)));
        let (upgraded, tip) = match (upgraded, tip) {
            (Err(StorageError::PermissionDenied { .. }), tip) if readable => (false, tip),
            // Whether an object exists, S3 refuses to say without a reason. Refusing its bytes, it has one.
            (Err(_), Err(reason)) => return Err(reason.into()),
            (upgraded, tip) => (upgraded?, tip),
        };
        if upgraded {
            return Err(RepositoryError::NewerSpecVersion {
                location: self.location(),
            });
        }
        // A repository exists if and only if its main branch does.
        let found = match &tip {
            Ok(None) if branch.is_main() => false,
            Ok(None) => exists(refs.branch(&BranchName::main()).await)?,
            _ => true,
        };
        if !found {
            return Err(RepositoryError::NotFound {
                location: self.location(),
            });
        }
        let config = match config {
            Err(RefsError::Storage(StorageError::PermissionDenied { .. })) if readable => None,
            config => config?,
        };
        Ok((self.repository(config), tip))
    }

    /// Creates the repository: its first snapshot, then its main branch, which decides among several that
    /// create it at once, then its configuration, if it is not all default.
    ///
    /// # Errors
    /// [`RepositoryError::AlreadyExists`], [`RepositoryError::NotEmpty`],
    /// [`RepositoryError::UnsafeStore`], [`RepositoryError::CreateUnknown`], what the store says.
    pub async fn create(self) -> Result<Repository, RepositoryError> {
        let capabilities = self.storage.capabilities();
        if !capabilities.writable {
            let store = self.location();
            return Err(StorageError::ReadOnly { store }.into());
        }
        if !capabilities.safe_commits() {
            return Err(RepositoryError::UnsafeStore {
                location: self.location(),
                reason: self.storage.why_unsafe().await,
            });
        }
        match self.among_others {
            true => self.check_own_keys().await?,
            false => self.check_empty().await?,
        }
        let objects = Arc::new(self.objects());
        let flushed_at = micros_of_time(self.clock.now());
        let file = initial_snapshot(flushed_at, objects.writer());
        match objects.put_snapshot(SnapshotId::INITIAL, file).await {
            Ok(_) => {}
            // Somebody else is creating it too, or was stopped: their first snapshot will do.
            Err(SessionError::IdCollision { .. }) => {
                objects.snapshot(SnapshotId::INITIAL).await?;
            }
            Err(SessionError::Storage(error)) => return Err(error.into()),
            Err(SessionError::WriteUnknown { source, .. }) => return Err(self.unknown(source)),
            Err(error) => {
                return Err(self.unknown(StorageError::Failed {
                    action: "create",
                    target: self.location(),
                    source: Box::new(error),
                }));
            }
        }
        self.storage.sync().await?;
        let refs = self.refs(objects);
        let edit = RefEdit::CreateBranch {
            name: BranchName::main(),
            target: SnapshotId::INITIAL,
        };
        match refs.publish(edit).await? {
            EditOutcome::Done(_) => {}
            EditOutcome::Refused(_) => {
                return Err(RepositoryError::AlreadyExists {
                    location: self.location(),
                });
            }
            EditOutcome::Unknown(source) => return Err(self.unknown(source)),
        }
        let stored = self.store_config(&refs).await?;
        Ok(self.repository(stored))
    }

    /// Opens the repository, or creates it if there is none; whoever else does the same at the same time.
    ///
    /// # Errors
    /// As [`RepositoryBuilder::open`] and [`RepositoryBuilder::create`].
    pub async fn open_or_create(self) -> Result<Repository, RepositoryError> {
        match self.clone().open().await {
            Err(RepositoryError::NotFound { .. }) => {}
            result => return result,
        }
        match self.clone().create().await {
            Err(RepositoryError::AlreadyExists { .. }) => self.open().await,
            result => result,
        }
    }

    /// The root is empty if it holds nothing but what a creation that was stopped may leave.
    async fn check_empty(&self) -> Result<(), RepositoryError> {
        let mut objects = self.storage.list(ListOptions::default());
        let initial = layout::snapshot_key(SnapshotId::INITIAL);
        let main = layout::branch_key("main", layout::KeyForm::Raw);
        let mut in_the_way = None;
        while let Some(object) = objects.next().await {
            let key = match object {
                Ok(object) => object.key,
                // A folder that was made in a console has one.
                Err(error) if error.is_directory_marker() => continue,
                Err(error) if error.is_unreadable_key() => {
                    let main = Key::parse(&main).map_err(StorageError::from)?;
                    if self.storage.exists(&main).await? {
                        return Err(RepositoryError::AlreadyExists {
                            location: self.location(),
                        });
                    }
                    return Err(error.into());
                }
                Err(error) => return Err(error.into()),
            };
            if key.as_str() == main {
                return Err(RepositoryError::AlreadyExists {
                    location: self.location(),
                });
            }
            let ours = key.segments().next() == Some(layout::OWN);
            if key.as_str() != initial && !ours && in_the_way.is_none() {
                // The main branch may still come: it sorts behind chunks and manifests.
                let main = Key::parse(&main).map_err(StorageError::from)?;
                if self.storage.exists(&main).await? {
                    return Err(RepositoryError::AlreadyExists {
                        location: self.location(),
                    });
                }
                in_the_way = Some(key);
                break;
            }
        }
        match in_the_way {
            Some(key) => Err(RepositoryError::NotEmpty {
                location: self.location(),
                key,
            }),
            None => Ok(()),
        }
    }

    /// Among other objects, nothing may be where a repository has its own but what a creation that was stopped may
    /// leave.
    async fn check_own_keys(&self) -> Result<(), RepositoryError> {
        let initial = layout::snapshot_key(SnapshotId::INITIAL);
        let main = Key::parse(&layout::branch_key("main", layout::KeyForm::Raw));
        if self
            .storage
            .exists(&main.map_err(StorageError::from)?)
            .await?
        {
            return Err(RepositoryError::AlreadyExists {
                location: self.location(),
            });
        }
        let in_the_way = |key: Key| RepositoryError::NotEmpty {
            location: self.location(),
            key,
        };
        for key in [layout::REPO, layout::CONFIG] {
            let key = Key::parse(key).map_err(StorageError::from)?;
            if self.storage.exists(&key).await? {
                return Err(in_the_way(key));
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
            let prefix = Prefix::parse(prefix).map_err(StorageError::from)?;
            let mut objects = self.storage.list_strict(prefix.into());
            while let Some(object) = objects.next().await {
                let key = object?.key;
                if key.as_str() != initial {
                    return Err(in_the_way(key));
                }
            }
        }
        Ok(())
    }

    async fn store_config(&self, refs: &Refs) -> Result<Option<StoredConfig>, RepositoryError> {
        if self.config.is_default() {
            return Ok(None);
        }
        let not_stored = |source: Box<dyn std::error::Error + Send + Sync>| {
            let location = self.location();
            RepositoryError::ConfigNotStored { location, source }
        };
        let stored = refs.publish_config(&self.config, None).await;
        match stored.map_err(|error| not_stored(error.into()))? {
            EditOutcome::Done(Some(version)) => Ok(Some(StoredConfig {
                config: self.config.clone(),
                version,
            })),
            EditOutcome::Done(None) | EditOutcome::Refused(_) => Ok(refs.config().await?),
            EditOutcome::Unknown(source) => Err(not_stored(source.into())),
        }
    }

    fn unknown(&self, source: StorageError) -> RepositoryError {
        RepositoryError::CreateUnknown {
            location: self.location(),
            source,
        }
    }

    fn objects(&self) -> Objects {
        let mut writer = Writer::default();
        if let Some(level) = self.config.compression_level() {
            writer.compression_level = Some(i32::from(level));
        }
        Objects::new(Arc::clone(&self.storage), self.settings.clone(), writer)
    }

    fn refs(&self, objects: Arc<Objects>) -> Refs {
        let source: Arc<dyn SnapshotSource> = objects;
        Refs::spec_v1(Arc::clone(&self.storage), source)
    }

    fn repository(self, stored: Option<StoredConfig>) -> Repository {
        let effective = match &stored {
            Some(stored) => self.config.merged_over(&stored.config),
            None => self.config.clone(),
        };
        let objects = {
            let with_stored = Self {
                config: effective,
                ..self.clone()
            };
            Arc::new(with_stored.objects())
        };
        Repository(Arc::new(Shared {
            refs: self.refs(Arc::clone(&objects)),
            storage: self.storage,
            objects,
            settings: self.settings,
            clock: self.clock,
            entropy: self.entropy,
            virtual_stores: VirtualStores::new(self.access),
            configs: Configs::new(self.config, stored),
            lost_races: Mutex::new(HashSet::new()),
            clock_ahead: std::sync::atomic::AtomicI64::new(0),
        }))
    }
}

/// Whether there is a ref, damaged or not.
fn exists(tip: Result<Option<Tip>, RefsError>) -> Result<bool, RefsError> {
    match tip {
        Err(RefsError::InvalidRefFile { .. }) => Ok(true),
        tip => Ok(tip?.is_some()),
    }
}
