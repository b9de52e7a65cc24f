//! Operations of higher crates on a repository between the steps of sessions.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use icefield_storage::{BoxError, ManualClock, Storage};

use crate::{Repository, SnapshotId, TagName};

/// Expiration and collection, which crates above this one know.
#[async_trait]
pub trait Upkeep: fmt::Debug + Send + Sync {
    /// The clock of the store and of all repositories at it. The interleaving lets it go on.
    fn clock(&self) -> &ManualClock;

    /// How old garbage is before it is collected.
    fn floor(&self) -> Duration;

    /// Lets all commits that are older than a time expire, but for those that refs point to.
    ///
    /// # Errors
    /// The failure, which ends the test.
    async fn expire(&self, repository: &Repository, older_than: SystemTime)
    -> Result<(), BoxError>;

    /// Collects garbage, and returns how many objects were deleted.
    ///
    /// # Errors
    /// The failure, which ends the test.
    async fn collect(&self, repository: &Repository) -> Result<u64, BoxError>;

    /// Returns what is wrong with the repository at a store.
    async fn damage(&self, storage: &Arc<dyn Storage>) -> Vec<String>;
}

/// The expected entries of the operations log.
#[derive(Clone, Debug, Default)]
pub(super) struct Acknowledged {
    pub(super) commits: BTreeSet<SnapshotId>,
    pub(super) amends: BTreeSet<SnapshotId>,
    pub(super) tags: BTreeSet<TagName>,
    pub(super) expirations: usize,
    pub(super) collections: usize,
    pub(super) migrations: usize,
}
