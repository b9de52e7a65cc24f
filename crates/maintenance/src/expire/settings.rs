//! An expiration as it is described.

use std::collections::BTreeSet;

use icefield_core::Interrupt;
use icefield_refs::BranchName;

use super::policy::Policy;

/// An expiration: the removal of old snapshots from histories. Released snapshots stay stored and readable by their ids
/// until a [collection](crate::Collect).
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::Repository;
/// use icefield_maintenance::{Expire, Policy};
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
/// let mut policy = Policy::default();
/// policy.last = 10;
/// let plan = Expire::new(policy).plan(&repository, &()).await?;
/// assert_eq!(plan.released(), 0, "the first snapshot always stays");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Expire {
    pub(super) policy: Policy,
    pub(super) branches: Option<BTreeSet<BranchName>>,
    pub(super) delete_branches: bool,
    pub(super) delete_tags: bool,
    pub(super) interrupt: Interrupt,
}

impl Expire {
    /// Returns an expiration by a policy, for all branches.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            branches: None,
            delete_branches: false,
            delete_tags: false,
            interrupt: Interrupt::new(),
        }
    }

    /// Limits the expiration to snapshots of these branches, without those that another branch has, too.
    #[must_use]
    pub fn branches(mut self, names: impl IntoIterator<Item = BranchName>) -> Self {
        self.branches = Some(names.into_iter().collect());
        self
    }

    /// Deletes branches whose tip is older than the bound of the policy, except `main`.
    #[must_use]
    pub fn delete_expired_branches(mut self, delete: bool) -> Self {
        self.delete_branches = delete;
        self
    }

    /// Deletes tags that point to a snapshot older than the bound of the policy. Their names stay taken.
    #[must_use]
    pub fn delete_expired_tags(mut self, delete: bool) -> Self {
        self.delete_tags = delete;
        self
    }

    /// Ends early, as [`ExpireError::Interrupted`](super::ExpireError::Interrupted), once `interrupt` is raised: before
    /// the next ref that is deleted or snapshot that is rewritten.
    #[must_use]
    pub fn interruptible(mut self, interrupt: &Interrupt) -> Self {
        self.interrupt = interrupt.clone();
        self
    }
}
