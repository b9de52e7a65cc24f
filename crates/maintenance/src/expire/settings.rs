//! An expiration as it is described.

use std::collections::BTreeSet;

use icefield_core::Interrupt;
use icefield_refs::BranchName;

use super::policy::Policy;

/// An expiration to be planned or done.
#[derive(Clone, Debug)]
pub struct Expire {
    pub(super) policy: Policy,
    pub(super) branches: Option<BTreeSet<BranchName>>,
    pub(super) delete_branches: bool,
    pub(super) delete_tags: bool,
    pub(super) interrupt: Interrupt,
}

impl Expire {
    /// Begins with a policy for all branches.
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

    /// Releases only snapshots of these branches, and none that another branch has, too.
    #[must_use]
    pub fn branches(mut self, names: impl IntoIterator<Item = BranchName>) -> Self {
        self.branches = Some(names.into_iter().collect());
        self
    }

    /// Deletes branches whose tip is older than the bound, but for `main`.
    #[must_use]
    pub fn delete_expired_branches(mut self, delete: bool) -> Self {
        self.delete_branches = delete;
        self
    }

    /// Deletes tags that point to a snapshot older than the bound. Their names stay taken.
    #[must_use]
    pub fn delete_expired_tags(mut self, delete: bool) -> Self {
        self.delete_tags = delete;
        self
    }

    /// Ends early, as [`ExpireError::Interrupted`](super::ExpireError::Interrupted), once `interrupt` is raised: before the next ref that it deletes or
    /// snapshot that it rewrites.
    #[must_use]
    pub fn interruptible(mut self, interrupt: &Interrupt) -> Self {
        self.interrupt = interrupt.clone();
        self
    }
}
