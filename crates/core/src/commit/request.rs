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

/// A commit that is being described: set its options, then `await` it. See [`Session::commit`].
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
    /// Adds one item of metadata, a JSON value under a name, which the history shows beside the message. A second item
    /// of the same name replaces the first.
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }

    /// Allows a commit without edits, which records only a message and metadata.
    pub fn allow_empty(mut self) -> Self {
        self.allow_empty = true;
        self
    }

    /// Also rewrites manifests that no edit touches: [`ManifestRewrite::Misplaced`] those of arrays that are not split
    /// as a new commit would split them, by the rules of `manifest.splitting` or by size; [`ManifestRewrite::All`]
    /// those of every array. Readers see no change, and the transaction log has the edits alone. The commit's metadata
    /// has the rules under [`SPLITTING_CONFIG`], as the reference implementation writes them.
    ///
    /// Without edits and with nothing to rewrite, the commit ends as [`crate::CommitError::NothingToCommit`].
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

    /// Carries the edits over to the new tip and tries again, as often as another commit lands first. Writers of one
    /// process take turns, so that each makes progress. Conflicts go to the solver; those it leaves end the commit as
    /// [`CommitOutcome::Conflicts`](crate::CommitOutcome::Conflicts). [`Detector::Strict`](crate::Detector::Strict) is
    /// a solver that settles none.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use icefield_core::{BranchName, CommitOutcome, Detector, NodePath, Repository, WriteMode};
    /// # use icefield_storage_memory::MemoryStorage;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
    /// let (first, second) = (
    ///     repository.write_session(BranchName::main()).await?,
    ///     repository.write_session(BranchName::main()).await?,
    /// );
    /// let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
    /// first.set_metadata(&NodePath::parse("/a")?, group.into(), WriteMode::Overwrite).await?;
    /// second.set_metadata(&NodePath::parse("/b")?, group.into(), WriteMode::Overwrite).await?;
    ///
    /// let _ = first.commit("a").await?;
    /// let outcome = second.commit("b").rebase_with(Detector::Strict).await?;
    /// assert!(matches!(outcome, CommitOutcome::Committed(_)), "different nodes do not collide");
    /// # Ok(())
    /// # }
    /// ```
    pub fn rebase_with(mut self, solver: impl ConflictSolver + 'static) -> Self {
        self.solver = Some(Arc::new(solver));
        self
    }

    /// Limits the number of attempts of a commit with rebase; at least one. Default 1000. A commit that has used up its
    /// attempts ends as [`CommitOutcome::BranchMoved`](crate::CommitOutcome::BranchMoved).
    pub fn tries(mut self, tries: usize) -> Self {
        self.tries = tries.max(1);
        self
    }

    /// Ends the commit early, as [`crate::CommitError::Interrupted`], once `interrupt` is raised, unless the branch is
    /// being moved already. Nothing was published then, and the session keeps its edits. With
    /// [`rebase_with`](Self::rebase_with) it may be based on a newer snapshot, as after other outcomes.
    pub fn interruptible(mut self, interrupt: &Interrupt) -> Self {
        self.interrupt = interrupt.clone();
        self
    }
}

impl Session {
    /// Begins a commit of all edits to the session's branch. Nothing happens before the returned value is awaited.
    ///
    /// The commit waits for writes in flight and refuses later ones. It writes manifests, transaction log and snapshot,
    /// and then moves the branch with one conditional write, which succeeds only if the branch is where the session
    /// began. Afterwards the session is read-only at the new snapshot; open another one to go on writing.
    ///
    /// A caller may drop the future: the session then keeps its edits, and objects that were stored are garbage, which
    /// a collection deletes. If the branch was being moved at that moment, the outcome is unknown: [`Session::resolve`]
    /// finds out.
    ///
    /// # Errors
    /// `await` returns a [`CommitError`](crate::CommitError) if nothing was attempted or published:
    /// [`NothingToCommit`](crate::CommitError::NothingToCommit) without edits, [`SessionError`](crate::SessionError)
    /// for a session that takes no writes, and the errors of the store before the branch was touched. A store that
    /// fails while the branch moves is no error but [`CommitOutcome::Unknown`](crate::CommitOutcome::Unknown).
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
