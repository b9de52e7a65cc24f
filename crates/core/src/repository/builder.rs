//! Opening and creating.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use icefield_format::{RepositoryConfig, SpecVersion, Writer};
use icefield_refs::{
    BranchName, Creation, Edit, EditOutcome, Existing, Ledger, LedgerParts, NewRepository,
    RefsError, SnapshotSource, StoredConfig, Tip, micros_of_time,
};
use icefield_storage::{Bytes, Clock, Entropy, Storage, StorageError, SystemClock, SystemEntropy};

use super::in_force::Configs;
use super::{Repository, Revision, Shared, Start};
use crate::file_writer::FileWriter;
use crate::objects::Objects;
use crate::session::{CollectionHold, Session};
use crate::virtual_chunks::{VirtualAccess, VirtualStores};
use crate::{RepositoryError, Settings};

/// The components and settings with which a repository is opened or created. See [`Repository::builder`].
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::{Repository, RepositoryConfig, Settings};
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut config = RepositoryConfig::default();
/// config.inline_chunk_threshold_bytes = Some(1024);
/// let repository = Repository::builder(Arc::new(MemoryStorage::new()))
///     .settings(Settings::default().with_cache_bytes(64 << 20))
///     .config(config)
///     .create()
///     .await?;
/// assert_eq!(repository.stored_config().inline_chunk_threshold_bytes, Some(1024));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RepositoryBuilder {
    pub(super) storage: Arc<dyn Storage>,
    settings: Settings,
    config: RepositoryConfig,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    access: VirtualAccess,
    initial: Option<Bytes>,
    among_others: bool,
    spec_version: SpecVersion,
}

impl RepositoryBuilder {
    fn new(storage: Arc<dyn Storage>) -> Self {
        Self {
            storage,
            settings: Settings::default(),
            config: RepositoryConfig::default(),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            access: VirtualAccess::none(),
            initial: None,
            among_others: false,
            spec_version: SpecVersion::V1,
        }
    }

    /// Sets the settings of this process, such as the size of the cache. They are not stored.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets configuration that takes precedence over the stored one. [`RepositoryBuilder::create`] stores it;
    /// [`RepositoryBuilder::open`] does not.
    #[must_use]
    pub fn config(mut self, config: RepositoryConfig) -> Self {
        self.config = config;
        self
    }

    /// Sets the clock that dates commits and measures the age of sessions; the system's unless set. Tests set one that
    /// they can move.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the source of randomness from which ids and pauses are drawn; the system's unless set. Two handles with the
    /// same seed draw the same ids: only tests may do that.
    #[must_use]
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// Grants the repository access to objects outside of it. Without grants, virtual chunks cannot be read; everything
    /// else can.
    #[must_use]
    pub fn virtual_access(mut self, access: VirtualAccess) -> Self {
        self.access = access;
        self
    }

    /// Sets the version of the format of a repository that [`RepositoryBuilder::create`] makes. Default 1, which every
    /// reader opens. A repository that is opened keeps its own version.
    #[must_use]
    pub fn spec_version(mut self, version: SpecVersion) -> Self {
        self.spec_version = version;
        self
    }

    /// Lets [`RepositoryBuilder::create`] accept a store that contains objects whose keys no repository uses. Objects
    /// that a repository would take for its own are refused all the same.
    #[must_use]
    pub fn among_other_objects(mut self) -> Self {
        self.among_others = true;
        self
    }

    /// Sets the first snapshot of a new repository: the file of another repository's, as it is stored there. Copies use
    /// it.
    #[must_use]
    pub fn initial_snapshot(mut self, file: Bytes) -> Self {
        self.initial = Some(file);
        self
    }

    /// Refuses stores that a repository cannot be written to.
    pub(super) async fn check_store(&self) -> Result<(), RepositoryError> {
        if !self.storage.capabilities().writable {
            let store = self.location();
            return Err(StorageError::ReadOnly { store }.into());
        }
        Shared::check_safe_commits(&*self.storage).await
    }

    pub(super) fn location(&self) -> String {
        self.storage.to_string()
    }

    /// Opens the repository. Costs one round of requests, and writes nothing.
    ///
    /// # Errors
    /// - [`RepositoryError::NotFound`]: the store holds no repository.
    /// - [`RepositoryError::NewerSpecVersion`]: the repository has a version of the format later than 2.
    /// - Otherwise the errors of the store.
    pub async fn open(self) -> Result<Repository, RepositoryError> {
        let (repository, main) = self.open_with(&BranchName::main()).await?;
        // A damaged main can be reset; reading it is an error.
        exists(main)?;
        Ok(repository)
    }

    /// Opens the repository and a session that reads one revision of it. This takes one round of requests fewer than
    /// the two apart, because the ref is read together with the objects that opening needs.
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

    /// As [`Repository::hold_collections`], for a repository that cannot be opened: repairs use it.
    ///
    /// # Errors
    /// [`RepositoryError::CollectionRunning`], and the errors of the store.
    pub async fn hold_collections(self) -> Result<CollectionHold, RepositoryError> {
        let ledger = self.ledger()?;
        self.repository(ledger, None).hold_collections().await
    }

    /// Opens the repository, and reads a branch in the same round.
    async fn open_with(
        self,
        branch: &BranchName,
    ) -> Result<(Repository, Result<Option<Tip>, RefsError>), RepositoryError> {
        let parts = self.parts(Arc::new(self.objects(SpecVersion::LATEST)));
        let location = self.location();
        match Ledger::open(parts, branch).await? {
            Existing::Nothing => Err(RepositoryError::NotFound { location }),
            Existing::Newer => Err(RepositoryError::NewerSpecVersion { location }),
            Existing::Repository {
                ledger,
                branch,
                config,
            } => Ok((self.repository(ledger, config), branch)),
        }
    }

    /// Creates the repository: first the initial snapshot, then the branch `main`, whose conditional write decides
    /// among several processes that create it at once, then the configuration, if it is not all default.
    ///
    /// # Errors
    /// - [`RepositoryError::AlreadyExists`]: the store holds a repository.
    /// - [`RepositoryError::NotEmpty`]: the store holds other objects; the message names one.
    /// - [`RepositoryError::UnsafeStore`]: the store cannot decide which of two writers was first.
    /// - [`RepositoryError::CreateUnknown`] and [`RepositoryError::ConfigNotStored`]: the store gave no answer; open
    ///   the repository to find out.
    /// - Otherwise the errors of the store.
    pub async fn create(self) -> Result<Repository, RepositoryError> {
        self.check_store().await?;
        let ledger = self.ledger()?;
        let config = (!self.config.is_default()).then(|| self.config.clone());
        let new = NewRepository {
            created_at: micros_of_time(self.clock.now()),
            writer: self.writer(),
            config,
            initial: self.initial.clone(),
            among_others: self.among_others,
        };
        let location = self.location();
        let created = ledger.create(new).await.map_err(|error| match error {
            RefsError::Storage(error) => error.into(),
            RefsError::Fetch(error) => error.into(),
            error => RepositoryError::from(error),
        });
        let mut stored = match created? {
            Creation::Created(stored) => stored.map(|stored| *stored),
            Creation::Exists => return Err(RepositoryError::AlreadyExists { location }),
            Creation::NotEmpty(key) => return Err(RepositoryError::NotEmpty { location, key }),
            Creation::Unknown(source) => {
                return Err(RepositoryError::CreateUnknown { location, source });
            }
        };
        if ledger.spec_version() == SpecVersion::V1 {
            stored = self.store_config(&ledger).await?;
        }
        Ok(self.repository(ledger, stored))
    }

    /// Opens the repository, or creates it if there is none. Any number of processes may call this at the same time.
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

    async fn store_config(&self, ledger: &Ledger) -> Result<Option<StoredConfig>, RepositoryError> {
        if self.config.is_default() {
            return Ok(None);
        }
        let not_stored = |source: Box<dyn std::error::Error + Send + Sync>| {
            let location = self.location();
            RepositoryError::ConfigNotStored { location, source }
        };
        let edit = Edit::SetConfig {
            config: Box::new(self.config.clone()),
            expected: None,
        };
        let stored = ledger.apply(edit).await;
        match stored.map_err(|error| not_stored(error.into()))? {
            EditOutcome::Done(Some(version)) => Ok(Some(StoredConfig {
                config: self.config.clone(),
                version,
            })),
            EditOutcome::Done(None) | EditOutcome::Refused(_) => Ok(ledger.config().await?),
            EditOutcome::Unknown(source) => Err(not_stored(source.into())),
        }
    }

    fn writer(&self) -> Writer {
        let mut writer = Writer::default();
        if let Some(level) = self.config.compression_level() {
            writer.compression_level = Some(i32::from(level));
        }
        writer
    }

    pub(super) fn objects(&self, version: SpecVersion) -> Objects {
        let writer = FileWriter::new(version, self.writer())
            .compressing_locations(self.config.location_compression());
        Objects::new(Arc::clone(&self.storage), self.settings.clone(), writer)
    }

    /// The ledger of a repository of the chosen version.
    fn ledger(&self) -> Result<Ledger, StorageError> {
        let version = self.spec_version;
        self.parts(Arc::new(self.objects(version))).ledger(version)
    }

    pub(super) fn parts(&self, objects: Arc<Objects>) -> LedgerParts {
        LedgerParts {
            storage: Arc::clone(&self.storage),
            snapshots: objects,
            clock: Arc::clone(&self.clock),
            entropy: Arc::clone(&self.entropy),
            writer: self.writer(),
        }
    }

    fn repository(self, ledger: Ledger, stored: Option<StoredConfig>) -> Repository {
        let effective = match &stored {
            Some(stored) => self.config.merged_over(&stored.config),
            None => self.config.clone(),
        };
        let version = ledger.spec_version();
        let objects = {
            let with_stored = Self {
                config: effective,
                ..self.clone()
            };
            Arc::new(with_stored.objects(version))
        };
        Repository(Arc::new(Shared {
            ledger: ledger.with_snapshots(Arc::clone(&objects) as Arc<dyn SnapshotSource>),
            storage: self.storage,
            objects,
            settings: self.settings,
            clock: self.clock,
            entropy: self.entropy,
            virtual_stores: Arc::new(VirtualStores::new(self.access)),
            configs: Arc::new(Configs::new(self.config, stored, version)),
            unwritten: Arc::default(),
            lost_races: Mutex::new(HashSet::new()),
            clock_skew: std::sync::atomic::AtomicI64::new(0),
        }))
    }
}

impl Repository {
    /// Returns a builder that opens or creates the repository at a store.
    pub fn builder(storage: Arc<dyn Storage>) -> RepositoryBuilder {
        RepositoryBuilder::new(storage)
    }

    /// Creates a repository with default settings.
    ///
    /// # Errors
    /// As [`RepositoryBuilder::create`].
    pub async fn create(storage: Arc<dyn Storage>) -> Result<Self, RepositoryError> {
        Self::builder(storage).create().await
    }

    /// Opens a repository with default settings.
    ///
    /// # Errors
    /// As [`RepositoryBuilder::open`].
    pub async fn open(storage: Arc<dyn Storage>) -> Result<Self, RepositoryError> {
        Self::builder(storage).open().await
    }

    /// Opens a repository with default settings, or creates it if there is none.
    ///
    /// # Errors
    /// As [`RepositoryBuilder::open_or_create`].
    pub async fn open_or_create(storage: Arc<dyn Storage>) -> Result<Self, RepositoryError> {
        Self::builder(storage).open_or_create().await
    }

    /// Returns whether a store holds a repository, of whatever version. Reads, and writes nothing.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn exists(storage: Arc<dyn Storage>) -> Result<bool, RepositoryError> {
        match Self::open(storage).await {
            Ok(_) | Err(RepositoryError::NewerSpecVersion { .. }) => Ok(true),
            Err(RepositoryError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Whether there is a ref, damaged or not.
fn exists(tip: Result<Option<Tip>, RefsError>) -> Result<bool, RefsError> {
    match tip {
        Err(RefsError::InvalidRefFile { .. }) => Ok(true),
        tip => Ok(tip?.is_some()),
    }
}
