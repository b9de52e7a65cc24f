//! The handle of an open repository: what it was opened with, and its configuration.

use std::borrow::Cow;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use icefield_format::RepositoryConfig;
use icefield_refs::{Edit, EditOutcome, Ledger, StoredConfig};
use icefield_storage::{Clock, Entropy, Storage};

use super::shared::{CLOCK_TOLERANCE, Shared};
use crate::objects::CacheStatistics;
use crate::virtual_chunks::{VirtualAccess, VirtualSource};
use crate::{RepositoryError, VirtualChunkError};

/// An open repository. A cheap handle: clones share the cache of decoded objects, the configuration and the settings.
///
/// ```
/// use std::sync::Arc;
/// use futures::TryStreamExt;
/// use icefield_core::{BranchName, EditOutcome, Repository};
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
/// let tip = repository.resolve(&BranchName::main().into()).await?;
/// let outcome = repository.create_branch("experiment", tip).await?;
/// assert!(matches!(outcome, EditOutcome::Done(_)));
///
/// let history: Vec<_> = repository.ancestry(tip).try_collect().await?;
/// assert_eq!(history.len(), 1, "the initial snapshot");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Repository(pub(super) Arc<Shared>);

impl Repository {
    /// The repository that a session belongs to.
    pub(crate) fn of(shared: &Arc<Shared>) -> Self {
        Self(Arc::clone(shared))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    /// Returns the store that this handle reads and writes.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.0.storage
    }

    /// Returns the clock that this handle was given.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.clock
    }

    /// Returns the source of randomness that this handle was given.
    pub fn entropy(&self) -> &Arc<dyn Entropy> {
        &self.0.entropy
    }

    /// Returns the ledger, for callers that need the states on which edits are conditional, or that walk over
    /// histories.
    pub fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    /// Returns the grants that this handle was opened with: the places outside the repository that its chunk refs may
    /// lead to.
    pub fn virtual_access(&self) -> &VirtualAccess {
        self.0.virtual_stores.access()
    }

    /// Returns the prefix of the container that covers the location of a virtual chunk, as the configuration in force
    /// spells it; `None` if no container does.
    pub fn container_of(&self, location: &str) -> Option<String> {
        let in_force = self.0.configs.in_force();
        let location = in_force.containers.resolve(location).ok()?;
        let container = in_force.containers.find(&location)?;
        Some(container.url_prefix.clone())
    }

    /// Reads the location of a foreign object as repositories of this version spell it: in version 1 a URL, in version 2 also
    /// `vcc://NAME/…`, in the container of that name, and keys with nothing encoded.
    ///
    /// # Errors
    /// [`VirtualChunkError::Location`], [`VirtualChunkError::NeedsSpecVersion2`], [`VirtualChunkError::NoContainerNamed`].
    pub fn virtual_source(&self, location: &str) -> Result<VirtualSource, VirtualChunkError> {
        self.0.configs.in_force().containers.source(location)
    }

    /// Returns the location of a virtual chunk, as sessions of this repository tell it, with the prefix of its container in place
    /// of the container's name, if it has one; itself if the configuration in force has no container of that name.
    pub fn absolute_location<'a>(&self, location: &'a str) -> Cow<'a, str> {
        self.0.configs.in_force().containers.absolute(location)
    }

    /// Returns whether a container of the configuration in force and a grant cover the location of a virtual chunk. Sends no
    /// request for the object.
    pub async fn is_granted(&self, location: &str) -> bool {
        let in_force = self.0.configs.in_force();
        let found = self.0.virtual_stores.find(&in_force.containers, location);
        found.await.is_ok()
    }

    /// Returns how many seconds this machine's clock was ahead of the store's at the last commit, negative if it was
    /// behind; `None` if the two were at most ten minutes apart. The times in the history are those of this machine's
    /// clock.
    pub fn clock_skew(&self) -> Option<i64> {
        let seconds = self.0.clock_skew.load(Ordering::Relaxed);
        (seconds.unsigned_abs() > CLOCK_TOLERANCE).then_some(seconds)
    }

    /// Returns how many objects the cache of decoded objects holds, and how many bytes.
    pub fn cache_statistics(&self) -> CacheStatistics {
        self.0.objects.statistics()
    }

    /// Returns a handle that goes on reading the refs and the graph as they are stored now, whatever is edited meanwhile. It
    /// edits nothing ([`icefield_refs::RefsError::Pinned`]). A repository of spec version 1 keeps its state in many objects, of which each is
    /// read as it is.
    ///
    /// # Errors
    /// [`icefield_refs::RefsError::RepoMissing`], [`icefield_refs::RefsError::InvalidRepo`], and the errors of the store.
    pub async fn pinned(&self) -> Result<Self, RepositoryError> {
        let shared = &self.0;
        Ok(Self(Arc::new(Shared {
            storage: Arc::clone(&shared.storage),
            objects: Arc::clone(&shared.objects),
            ledger: shared.ledger.pinned().await?,
            settings: shared.settings.clone(),
            clock: Arc::clone(&shared.clock),
            entropy: Arc::clone(&shared.entropy),
            virtual_stores: Arc::clone(&shared.virtual_stores),
            configs: Arc::clone(&shared.configs),
            unwritten: Arc::clone(&shared.unwritten),
            lost_races: Mutex::default(),
            clock_skew: AtomicI64::new(shared.clock_skew.load(Ordering::Relaxed)),
        })))
    }

    /// Returns the configuration in force: the caller's values take precedence over the stored ones, and those over the
    /// defaults.
    pub fn config(&self) -> RepositoryConfig {
        self.0.configs.in_force().config.clone()
    }

    /// Returns the bytes of a full pack that this handle writes: as the configuration and the
    /// [settings](crate::PackSettings) say, and at most half of what these let wait in memory.
    pub fn pack_size(&self) -> u64 {
        self.0.pack_rules().size() as u64
    }

    /// Returns the stored configuration, without the values that this handle was opened with.
    pub fn stored_config(&self) -> RepositoryConfig {
        let stored = self.0.configs.stored();
        stored.map(|stored| stored.config).unwrap_or_default()
    }

    /// Returns whether a configuration is stored, as of this handle's last read of it.
    pub fn has_stored_config(&self) -> bool {
        self.0.configs.stored().is_some()
    }

    /// Stores a configuration in place of the stored one, under the condition that no other writer has changed it since
    /// this handle read it. From then on it is in force in this handle; others see it when they open the repository or
    /// call [`Repository::reload_config`].
    ///
    /// # Errors
    /// [`icefield_refs::RefsError::Config`] if it cannot be encoded, and the errors of the store.
    pub async fn save_config(
        &self,
        config: RepositoryConfig,
    ) -> Result<EditOutcome, RepositoryError> {
        let expected = self.0.configs.stored().map(|stored| stored.version);
        let edit = Edit::SetConfig {
            config: Box::new(config.clone()),
            expected,
        };
        let outcome = self.0.ledger.apply(edit).await?;
        if let EditOutcome::Done(Some(version)) = &outcome {
            let version = version.clone();
            self.0.configs.store(Some(StoredConfig { config, version }));
        }
        Ok(outcome)
    }

    /// Reads the stored configuration again, after another handle has changed it.
    ///
    /// # Errors
    /// [`icefield_refs::RefsError::Config`] and the errors of the store; the configuration in force stays.
    pub async fn reload_config(&self) -> Result<RepositoryConfig, RepositoryError> {
        self.0.configs.store(self.0.ledger.config().await?);
        Ok(self.config())
    }
}
