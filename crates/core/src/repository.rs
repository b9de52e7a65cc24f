//! Repositories: opening and creating them, their refs and history, and the sessions on them.

mod builder;
mod in_force;
mod revision;
mod state;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use futures::stream::BoxStream;
use icefield_format::{RepositoryConfig, SnapshotId, SpecVersion};
use icefield_refs::{
    BranchName, Edit, EditOutcome, Ledger, RefList, RefsError, SnapshotInfo, StoredConfig, TagName,
    Tip,
};
use icefield_storage::{Clock, Entropy, Key, Storage, StorageExt};

pub use builder::RepositoryBuilder;
pub use revision::{Revision, Start};

use self::in_force::Configs;
use crate::objects::{CacheStatistics, Objects};
use crate::session::{Base, Session};
use crate::virtual_chunks::{VirtualAccess, VirtualSource, VirtualStores};
use crate::{Diff, RepositoryError, Settings, VirtualChunkError};

/// Seconds by which our clock and the store's may differ before it is worth a word.
const CLOCK_TOLERANCE: u64 = 600;

/// What all handles and sessions of one open repository share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) objects: Arc<Objects>,
    pub(crate) ledger: Ledger,
    pub(crate) settings: Settings,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) virtual_stores: Arc<VirtualStores>,
    pub(crate) configs: Arc<Configs>,
    lost_races: Mutex<HashSet<BranchName>>,
    /// In seconds, as of the last commit.
    clock_ahead: AtomicI64,
}

impl Shared {
    pub(crate) fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.entropy.fill(&mut bytes);
        bytes
    }

    /// Longest chunk in bytes that is kept in its manifest.
    pub(crate) fn inline_threshold(&self) -> usize {
        usize::from(self.configs.in_force().config.inline_chunk_threshold())
    }

    /// Compares our clock with that of the store, which said when it stored something.
    pub(crate) fn compare_clocks(&self, store_time: SystemTime) {
        let now = self.clock.now();
        let ahead = match now.duration_since(store_time) {
            Ok(ahead) => i64::try_from(ahead.as_secs()).unwrap_or(i64::MAX),
            Err(behind) => i64::try_from(behind.duration().as_secs()).map_or(i64::MIN, |it| -it),
        };
        self.clock_ahead.store(ahead, Ordering::Relaxed);
        if ahead.unsigned_abs() > CLOCK_TOLERANCE {
            tracing::warn!(
                ahead,
                "this clock and the store's are more than ten minutes apart"
            );
        }
    }

    /// Remembers that another writer was first on a branch: from then on the tip is read before writing.
    pub(crate) fn note_lost_race(&self, branch: &BranchName) {
        self.lost_races
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(branch.clone());
    }

    pub(crate) fn has_lost_race(&self, branch: &BranchName) -> bool {
        self.lost_races
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(branch)
    }
}

/// An open repository. A cheap shared handle.
#[derive(Clone, Debug)]
pub struct Repository(Arc<Shared>);

impl Repository {
    /// Returns a handle that goes on reading the refs and the graph as they are stored now, whatever is edited meanwhile. It
    /// edits nothing ([`RefsError::Pinned`](icefield_refs::RefsError::Pinned)). A repository of spec version 1 keeps its state in many objects, of which each is
    /// read as it is.
    ///
    /// # Errors
    /// [`RefsError::RepoMissing`], [`RefsError::InvalidRepo`], and what the store says.
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
            lost_races: Mutex::default(),
            clock_ahead: AtomicI64::new(shared.clock_ahead.load(Ordering::Relaxed)),
        })))
    }

    /// The repository that a session belongs to.
    pub(crate) fn of(shared: &Arc<Shared>) -> Self {
        Self(Arc::clone(shared))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    /// Begins to open or create the repository at a store.
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

    /// Returns whether there is a repository at a store.
    ///
    /// # Errors
    /// What the store says.
    pub async fn exists(storage: Arc<dyn Storage>) -> Result<bool, RepositoryError> {
        match Self::open(storage).await {
            Ok(_) | Err(RepositoryError::NewerSpecVersion { .. }) => Ok(true),
            Err(RepositoryError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the store.
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

    /// Returns the ledger, for those who need the states that edits are conditional on, or walk over histories.
    pub fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    /// Returns what this handle lets the repository refer to.
    pub fn virtual_access(&self) -> &VirtualAccess {
        self.0.virtual_stores.access()
    }

    /// Returns the configuration in force: the caller's settings over the stored ones over the defaults.
    pub fn config(&self) -> RepositoryConfig {
        self.0.configs.in_force().config.clone()
    }

    /// Returns the prefix of the container that the location of a virtual chunk lies in, as the configuration in force
    /// spells it.
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

    /// Finds the store and the key of a foreign object, if a container of the configuration in force and a grant cover
    /// its location. Nothing is asked of the object.
    ///
    /// # Errors
    /// [`VirtualChunkError`] without those about the object itself.
    pub async fn foreign_object(
        &self,
        location: &str,
    ) -> Result<(Arc<dyn Storage>, Key), VirtualChunkError> {
        let in_force = self.0.configs.in_force();
        let target = self.0.virtual_stores.find(&in_force.containers, location);
        let target = target.await?;
        Ok((target.storage, target.key))
    }

    /// Returns the configuration that is stored, without what this handle was opened with.
    pub fn stored_config(&self) -> RepositoryConfig {
        let stored = self.0.configs.stored();
        stored.map(|stored| stored.config).unwrap_or_default()
    }

    /// Returns whether a configuration is stored, as far as this handle has read.
    pub fn has_stored_config(&self) -> bool {
        self.0.configs.stored().is_some()
    }

    /// Stores a configuration, unless another writer has changed the stored one since this handle read it.
    ///
    /// # Errors
    /// [`RefsError::Config`] if it cannot be encoded, and what the store says.
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
    /// [`RefsError::Config`] and what the store says; the configuration in force stays.
    pub async fn reload_config(&self) -> Result<RepositoryConfig, RepositoryError> {
        self.0.configs.store(self.0.ledger.config().await?);
        Ok(self.config())
    }

    /// Returns how many seconds this machine's clock was ahead of the store's at the last commit, if they were
    /// more than ten minutes apart. The times in the history are those of this clock.
    pub fn clock_ahead(&self) -> Option<i64> {
        let seconds = self.0.clock_ahead.load(Ordering::Relaxed);
        (seconds.unsigned_abs() > CLOCK_TOLERANCE).then_some(seconds)
    }

    /// Returns what the cache of decoded objects holds.
    pub fn cache_statistics(&self) -> CacheStatistics {
        self.0.objects.statistics()
    }

    /// Opens a session that reads one snapshot.
    ///
    /// # Errors
    /// A ref, snapshot or time that does not exist; an object that cannot be read.
    pub async fn read_session(
        &self,
        revision: impl Into<Revision>,
    ) -> Result<Session, RepositoryError> {
        let revision = revision.into();
        let id = self.resolve(&revision).await?;
        self.session_at(id, &revision).await
    }

    async fn session_at(
        &self,
        id: SnapshotId,
        revision: &Revision,
    ) -> Result<Session, RepositoryError> {
        let base = self.base(id).await?;
        let branch = match &revision.start {
            Start::Branch(name) => Some(name.clone()),
            _ => None,
        };
        Ok(Session::read_only(Arc::clone(&self.0), base, branch).begin_preload())
    }

    /// Opens a session that writes to a branch.
    ///
    /// # Errors
    /// [`RefsError::BranchNotFound`]; [`RefsError::NotOnline`]; [`RepositoryError::UnsafeStore`] if the store cannot decide
    /// races; an object that cannot be read.
    pub async fn write_session(
        &self,
        branch: impl Into<BranchName>,
    ) -> Result<Session, RepositoryError> {
        let branch = branch.into();
        let tip = self.writable_tip(&branch).await?;
        let base = self.base(tip.snapshot).await?;
        Ok(Session::writable(Arc::clone(&self.0), base, branch, tip).begin_preload())
    }

    /// Opens a session that writes to a branch, and takes no edits but moves. Ordinary sessions take moves beside other edits.
    ///
    /// # Errors
    /// [`RepositoryError::NeedsSpecVersion2`], and as [`Repository::write_session`].
    pub async fn rearrange_session(
        &self,
        branch: impl Into<BranchName>,
    ) -> Result<Session, RepositoryError> {
        let found = self.spec_version();
        if found < SpecVersion::V2 {
            let what = "a session that only moves nodes";
            return Err(RepositoryError::NeedsSpecVersion2 { what, found });
        }
        let branch = branch.into();
        let tip = self.writable_tip(&branch).await?;
        let base = self.base(tip.snapshot).await?;
        Ok(Session::rearranging(Arc::clone(&self.0), base, branch, tip))
    }

    /// Returns where a branch stands, if it can be committed to.
    pub(crate) async fn writable_tip(&self, branch: &BranchName) -> Result<Tip, RepositoryError> {
        if !self.0.storage.capabilities().safe_commits() {
            return Err(RepositoryError::UnsafeStore {
                location: self.0.storage.to_string(),
                reason: self.0.storage.why_unsafe().await,
            });
        }
        Ok(self.0.ledger.branch_to_write(branch).await?)
    }

    /// Opens a writable session that belongs to no branch. It can be flushed, not committed.
    ///
    /// # Errors
    /// An object that cannot be read.
    pub async fn write_session_at(&self, id: SnapshotId) -> Result<Session, RepositoryError> {
        let base = self.base(id).await?;
        Ok(Session::detached(Arc::clone(&self.0), base).begin_preload())
    }

    pub(crate) async fn base(&self, id: SnapshotId) -> Result<Base, RepositoryError> {
        Ok(Base::new(self.0.objects.snapshot(id).await?))
    }

    /// Lists branches and tags.
    ///
    /// # Errors
    /// What the store says.
    pub async fn refs(&self) -> Result<RefList, RepositoryError> {
        Ok(self.0.ledger.list().await?)
    }

    /// Walks a history, newest first.
    ///
    /// # Errors
    /// In the stream: [`RefsError::Fetch`], [`RefsError::Cycle`].
    pub fn ancestry(
        &self,
        start: SnapshotId,
    ) -> BoxStream<'static, Result<SnapshotInfo, RefsError>> {
        self.0.ledger.ancestry(start)
    }

    /// Creates a branch.
    ///
    /// # Errors
    /// A name that is not allowed for new refs, [`RefsError::SnapshotNotFound`], what the store says.
    pub async fn create_branch(
        &self,
        name: &str,
        target: SnapshotId,
    ) -> Result<EditOutcome, RepositoryError> {
        let name = BranchName::parse_new(name).map_err(RefsError::from)?;
        let edit = Edit::CreateBranch { name, target };
        let put = async { Ok(self.0.ledger.apply(edit).await?) };
        self.put_ref(target, put).await
    }

    /// Moves a branch to any snapshot. With `expected`, only if it points there now.
    ///
    /// # Errors
    /// [`RefsError::BranchNotFound`], [`RefsError::SnapshotNotFound`], what the store says.
    pub async fn reset_branch(
        &self,
        name: &BranchName,
        target: SnapshotId,
        expected: Option<SnapshotId>,
    ) -> Result<EditOutcome, RepositoryError> {
        let put = async {
            let tip = match expected {
                Some(_) => self.0.ledger.resolve_branch(name).await?,
                None => self.0.ledger.branch_to_replace(name).await?,
            };
            if expected.is_some_and(|expected| expected != tip.snapshot) {
                return Ok(EditOutcome::Refused(icefield_refs::Refusal::BranchMoved {
                    found: tip.snapshot,
                }));
            }
            let edit = Edit::Reset {
                name: name.clone(),
                target,
                expected: tip,
            };
            Ok(self.0.ledger.apply(edit).await?)
        };
        self.put_ref(target, put).await
    }

    /// Deletes a branch; its snapshots stay until they are collected.
    ///
    /// # Errors
    /// [`RefsError::MainIsPermanent`], [`RefsError::BranchNotFound`], what the store says.
    pub async fn delete_branch(&self, name: &BranchName) -> Result<EditOutcome, RepositoryError> {
        if name.is_main() {
            return Err(RefsError::MainIsPermanent.into());
        }
        let expected = self.0.ledger.branch_to_replace(name).await?;
        let edit = Edit::DeleteBranch {
            name: name.clone(),
            expected,
        };
        Ok(self.0.ledger.apply(edit).await?)
    }

    /// Creates a tag.
    ///
    /// # Errors
    /// A name that is not allowed for new refs, [`RefsError::SnapshotNotFound`], what the store says.
    pub async fn create_tag(
        &self,
        name: &str,
        target: SnapshotId,
    ) -> Result<EditOutcome, RepositoryError> {
        let name = TagName::parse_new(name).map_err(RefsError::from)?;
        let edit = Edit::CreateTag { name, target };
        let put = async { Ok(self.0.ledger.apply(edit).await?) };
        self.put_ref(target, put).await
    }

    /// Deletes a tag; its name stays taken.
    ///
    /// # Errors
    /// What the store says.
    pub async fn delete_tag(&self, name: &TagName) -> Result<EditOutcome, RepositoryError> {
        let edit = Edit::DeleteTag { name: name.clone() };
        Ok(self.0.ledger.apply(edit).await?)
    }

    /// Compares two snapshots, whatever their histories.
    ///
    /// # Errors
    /// Objects that cannot be read.
    pub async fn diff(&self, from: SnapshotId, to: SnapshotId) -> Result<Diff, RepositoryError> {
        Diff::between(&self.0.objects, from, to).await
    }

    /// Reads and decodes one manifest.
    ///
    /// # Errors
    /// An object that cannot be read.
    pub async fn manifest(
        &self,
        id: icefield_format::ManifestId,
    ) -> Result<Arc<icefield_format::Manifest>, RepositoryError> {
        Ok(self.0.objects.manifest(id).await?)
    }

    /// Reads and decodes one snapshot.
    ///
    /// # Errors
    /// An object that cannot be read.
    pub async fn snapshot(
        &self,
        id: SnapshotId,
    ) -> Result<Arc<icefield_format::Snapshot>, RepositoryError> {
        Ok(self.0.objects.snapshot(id).await?)
    }

    /// Forgets a snapshot: its next use reads what is stored. Expiration gives snapshots other parents.
    pub fn forget_snapshot(&self, id: SnapshotId) {
        icefield_refs::SnapshotSource::forget(&*self.0.objects, id);
    }

    /// Reads and decodes the transaction log of one snapshot.
    ///
    /// # Errors
    /// An object that cannot be read.
    pub async fn transaction_log(
        &self,
        id: SnapshotId,
    ) -> Result<Arc<icefield_format::TransactionLog>, RepositoryError> {
        Ok(self.0.objects.stored_log(id).await?)
    }
}
