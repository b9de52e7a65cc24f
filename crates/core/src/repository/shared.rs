//! The data of an open repository, which its handles and sessions share.

use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use icefield_refs::{BranchName, Ledger};
use icefield_storage::{Clock, Entropy, Storage, StorageExt};

use super::in_force::Configs;
use crate::objects::Objects;
use crate::packs::{PackRules, Unwritten};
use crate::virtual_chunks::VirtualStores;
use crate::{RepositoryError, Settings};

/// Seconds by which our clock and the store's may differ before it is worth a word.
pub(super) const CLOCK_TOLERANCE: u64 = 600;

/// The state that all handles and sessions of one open repository share.
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
    /// The packs of all sessions that are not stored yet.
    pub(crate) unwritten: Arc<Unwritten>,
    pub(super) lost_races: Mutex<HashSet<BranchName>>,
    /// In seconds, as of the last commit.
    pub(super) clock_skew: AtomicI64,
}

impl Shared {
    pub(crate) fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.entropy.fill(&mut bytes);
        bytes
    }

    /// Where chunks are put, by their length.
    pub(crate) fn pack_rules(&self) -> PackRules {
        let in_force = self.configs.in_force();
        let is_remote = self.storage.capabilities().remote;
        PackRules::new(&in_force.config, &self.settings.packs, is_remote)
    }

    /// Compares our clock with that of the store, which said when it stored something.
    pub(crate) fn compare_clocks(&self, store_time: SystemTime) {
        let now = self.clock.now();
        let ahead = match now.duration_since(store_time) {
            Ok(ahead) => i64::try_from(ahead.as_secs()).unwrap_or(i64::MAX),
            Err(behind) => i64::try_from(behind.duration().as_secs()).map_or(i64::MIN, |it| -it),
        };
        self.clock_skew.store(ahead, Ordering::Relaxed);
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

    /// Refuses stores that cannot decide which of two writers was first.
    pub(super) async fn check_safe_commits(storage: &dyn Storage) -> Result<(), RepositoryError> {
        if storage.capabilities().safe_commits() {
            return Ok(());
        }
        Err(RepositoryError::UnsafeStore {
            location: storage.to_string(),
            reason: storage.why_unsafe().await,
        })
    }
}
