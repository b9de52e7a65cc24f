//! A commit as its caller describes it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use icefield_format::{Extents, ManifestId, NodePath};
use serde_json::Value;

use super::arrays::ManifestRewrite;
use super::properties::SPLITTING_CONFIG;
use crate::Interrupt;
use crate::rebase::ConflictSolver;
use crate::session::{Publication, Session};

/// Attempts of a commit with rebase, unless the caller says otherwise.
const DEFAULT_TRIES: usize = 1000;

/// A commit that is being described: set what it needs, then `await` it.
#[derive(Debug)]
#[must_use = "nothing is committed before this is awaited"]
pub struct Commit {
    pub(super) session: Session,
    pub(super) publication: Publication,
    pub(super) message: String,
    pub(super) metadata: BTreeMap<String, Value>,
    pub(crate) allow_empty: bool,
    pub(super) rewrite: ManifestRewrite,
    pub(crate) lost: BTreeSet<ManifestId>,
    pub(crate) extents: BTreeMap<(NodePath, ManifestId), Extents>,
    pub(super) solver: Option<Arc<dyn ConflictSolver>>,
    pub(super) tries: usize,
    pub(super) interrupt: Interrupt,
}

impl Commit {
    /// Adds one item of metadata, which the history shows beside the message.
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }

    /// Allows a commit that changes nothing.
    pub fn allow_empty(mut self) -> Self {
        self.allow_empty = true;
        self
    }

    /// Also rewrites manifests that no edit touches: [`ManifestRewrite::Misplaced`] those of arrays that are not split as a new
    /// commit would split them, by the rules of `manifest.splitting` or by size; [`ManifestRewrite::All`] those of every array.
    /// Readers see no change, and the transaction log has the edits alone. The commit's metadata has the rules under
    /// [`SPLITTING_CONFIG`], as the reference implementation writes them.
    ///
    /// Without edits and with nothing to rewrite there is [`crate::CommitError::NothingToCommit`].
    pub fn rewrite_manifests(mut self, which: ManifestRewrite) -> Self {
        self.rewrite = which;
        if which == ManifestRewrite::No {
            return self;
        }
        let in_force = self.session.shared().configs.in_force();
        let manifest = in_force.config.manifest.as_ref();
        let rules = manifest
            .and_then(|manifest| manifest.splitting.as_ref()?.split_sizes.as_ref())
            .and_then(|rules| serde_json::to_value(rules).ok());
        let rules = serde_json::json!({ "split_sizes": rules });
        self.metadata(SPLITTING_CONFIG, rules)
    }

    /// When another commit was first, carries the edits over to it and tries again. Writers of one process
    /// take turns, so that each makes progress.
    pub fn rebase_with(mut self, solver: impl ConflictSolver + 'static) -> Self {
        self.solver = Some(Arc::new(solver));
        self
    }

    /// Limits the attempts of a commit with rebase; at least one. Default 1000.
    pub fn tries(mut self, tries: usize) -> Self {
        self.tries = tries.max(1);
        self
    }

    /// Ends early, as [`crate::CommitError::Interrupted`], once `interrupt` is raised, as long as the branch is not being moved:
    /// nothing was published then, and the session still has its edits. With [`rebase_with`](Self::rebase_with) it may
    /// stand on a newer snapshot, as after other outcomes.
    pub fn interruptible(mut self, interrupt: &Interrupt) -> Self {
        self.interrupt = interrupt.clone();
        self
    }
}

impl Session {
    /// Begins a commit of all edits to the session's branch.
    pub fn commit(&self, message: impl Into<String>) -> Commit {
        Commit {
            session: self.clone(),
            publication: Publication::Commit,
            message: message.into(),
            metadata: BTreeMap::new(),
            allow_empty: false,
            rewrite: ManifestRewrite::No,
            lost: BTreeSet::new(),
            extents: BTreeMap::new(),
            solver: None,
            tries: DEFAULT_TRIES,
            interrupt: Interrupt::new(),
        }
    }
}
