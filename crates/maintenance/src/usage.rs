//! Where the bytes are: what a repository stores, what of it is in use, and what each array, commit, ref and container
//! accounts for.
//!
//! An object with several users is counted once in every total, and in none of their *unique* shares: that of a ref is what deleting it
//! would free. Objects count with the sizes that the store lists. A chunk object that several chunks share parts of is one
//! object, a *pack*; bytes of it that nothing refers to are stored and not *live*. Inline chunks are part of their manifests;
//! virtual ones are stored elsewhere, and counted once for each range of a file.
//!
//! Each manifest is read once, unless the ids of chunks do not fit into memory ([`Usage::memory`]).

mod error;
mod marks;
mod report;
mod summary;
mod tables;
mod tally;

use icefield_core::Repository;
use icefield_format::{DecodeLimits, SpecVersion};

use crate::Progress;

pub use error::UsageError;
pub use report::{
    Amount, BackupUsage, GarbageUsage, PackUsage, UsageRow, UsageSummary, UsageTable,
};

use tally::Tallying;

/// Accounts for the bytes of a repository: stored, live, shared and unique ones. Each manifest is read once.
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::Repository;
/// use icefield_maintenance::Usage;
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
/// let summary = Usage::new().summary(&repository, &()).await?;
/// assert_eq!(summary.snapshots.count, 1);
/// assert_eq!(summary.garbage.total.count, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Usage {
    memory: usize,
    limits: DecodeLimits,
}

impl Default for Usage {
    fn default() -> Self {
        Self {
            memory: 64 << 20,
            limits: DecodeLimits::up_to(SpecVersion::LATEST),
        }
    }
}

impl Usage {
    /// Returns the default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the memory for the ids of chunks, in bytes. Default 64 MiB. With less, manifests are read more than once.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets the limits for decoding manifests.
    #[must_use]
    pub fn decode_limits(mut self, limits: DecodeLimits) -> Self {
        self.limits = limits;
        self
    }

    fn tallying<'a>(
        &'a self,
        repository: &'a Repository,
        progress: &'a dyn Progress,
    ) -> Tallying<'a> {
        Tallying {
            storage: &**repository.storage(),
            memory: self.memory,
            limits: &self.limits,
            progress,
        }
    }
}
