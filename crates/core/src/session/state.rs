//! The data of a session, and its accessors. What sessions do is in the other files of this folder.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;
use icefield_format::{NodePath, SnapshotId};
use icefield_refs::{BranchName, Tip};
use icefield_storage::Entropy;
use serde_json::Value;

use super::{Base, Moment, Node, Phase, SessionLease};
use crate::SessionError;
use crate::change_set::{ChangeSet, NodeChange};
use crate::commit::WrittenManifests;
use crate::packs::Packer;
use crate::relocation::Relocations;
use crate::repository::Shared;

/// A view of one snapshot, and, if the session is writable, uncommitted edits on top of it. A cheap handle: clones are
/// the same session, and tasks may read and write through them at the same time.
///
/// Reads see the session's own edits first, and never those of other sessions. A session that has been committed is
/// read-only; open another one to go on writing.
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::{BranchName, ByteRange, NodePath, Repository, WriteMode};
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
/// let session = repository.write_session(BranchName::main()).await?;
/// let path = NodePath::parse("/depth")?;
/// let document = r#"{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int8",
///     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
///     "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}"#;
/// session.set_metadata(&path, document.into(), WriteMode::Overwrite).await?;
/// session.set_chunk(&path, &[1], vec![20, 21].into(), WriteMode::Overwrite).await?;
///
/// assert_eq!(session.chunk(&path, &[1], ByteRange::All).await?.as_deref(), Some(&[20, 21][..]));
/// assert_eq!(session.chunk(&path, &[0], ByteRange::All).await?, None, "never written: the fill value");
/// assert!(session.has_changes()?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Session(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    branch: Option<BranchName>,
    state: RwLock<SessionState>,
    /// Where it comes from, if it is a fork.
    lineage: Option<Lineage>,
    /// The origin that the last fork of it was given.
    last_fork: Mutex<Option<Lineage>>,
    /// Ids of nodes and chunks are drawn from it.
    entropy: Arc<dyn Entropy>,
    /// Shared with its forks in this process.
    lease: Arc<SessionLease>,
    /// Shared with its forks in this process.
    packer: Arc<Packer>,
    /// Nothing but moves are allowed in it.
    rearranges: bool,
    /// Held shared by writes while their chunk is on its way; a commit takes it whole.
    in_flight: tokio::sync::RwLock<()>,
}

/// Where a fork comes from.
#[derive(Clone, Debug)]
pub(crate) struct Lineage {
    /// The session at the root of all its forks.
    pub(crate) family: [u8; 12],
    /// The state of that session from which the fork began.
    pub(crate) origin_id: [u8; 12],
    /// That state.
    pub(crate) origin: Arc<ChangeSet>,
}

/// The state of a session; reads and edits of it are short and never wait for storage.
#[derive(Debug)]
pub(crate) struct SessionState {
    pub(crate) base: Arc<Base>,
    pub(crate) changes: Arc<ChangeSet>,
    pub(crate) phase: Phase,
    /// Facts that the commit is to record beside what its caller says.
    pub(crate) metadata: BTreeMap<String, Value>,
    /// The commit is to be newer than this, in microseconds since 1970.
    pub(crate) newer_than: u64,
    /// Snapshots whose chunks were taken over; refs may not reach them.
    pub(crate) taken: BTreeSet<SnapshotId>,
    /// Chunks of the base that the commit is to find elsewhere.
    pub(crate) relocations: Arc<Relocations>,
    /// How often a commit of these edits was tried.
    pub(crate) attempts: u32,
    /// The manifests that earlier attempts to commit these edits have stored.
    pub(super) written: WrittenManifests,
}

impl Inner {
    fn new(
        shared: Arc<Shared>,
        branch: Option<BranchName>,
        state: SessionState,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        let lease = SessionLease::opened_at(Moment::now(&*shared.clock));
        let packer = Packer::new(&shared.objects, &shared.unwritten);
        Self {
            lease: Arc::new(lease),
            packer: Arc::new(packer),
            shared,
            branch,
            state: RwLock::new(state),
            lineage: None,
            last_fork: Mutex::new(None),
            entropy,
            rearranges: false,
            in_flight: tokio::sync::RwLock::new(()),
        }
    }
}

impl SessionState {
    fn new(base: Arc<Base>, changes: Arc<ChangeSet>, phase: Phase) -> Self {
        Self {
            base,
            changes,
            phase,
            metadata: BTreeMap::new(),
            newer_than: 0,
            taken: BTreeSet::new(),
            relocations: Arc::default(),
            attempts: 0,
            written: WrittenManifests::default(),
        }
    }

    /// Puts edits in place that were not made of those before.
    pub(crate) fn begin_with(&mut self, changes: Arc<ChangeSet>) {
        self.changes = changes;
        // Revisions of new edits begin anew, so that what was stored for the old ones would be taken for theirs.
        self.written = WrittenManifests::default();
    }

    /// Forgets what earlier attempts to commit have stored.
    pub(crate) fn forget_written(&mut self) {
        self.written = WrittenManifests::default();
    }

    /// The `zarr.json` of a node, whatever is in it.
    pub(crate) fn document(&self, path: &NodePath) -> Option<Bytes> {
        match self.changes.node(path) {
            NodeChange::Written(node) => Some(node.document.clone()),
            NodeChange::Deleted => None,
            NodeChange::Unchanged => {
                let record = self.base.record(self.base.position(path)?);
                Some(Bytes::copy_from_slice(record.user_data()))
            }
        }
    }

    /// Finds a node under the session's edits.
    pub(crate) fn node(&self, path: &NodePath) -> Result<Option<Node>, SessionError> {
        Ok(match self.changes.node(path) {
            NodeChange::Written(node) => Some(Node {
                id: node.id,
                metadata: Arc::clone(&node.metadata),
                base_position: match self.changes.created().contains_key(path) {
                    true => self
                        .changes
                        .moved_from(&node.id)
                        .and_then(|from| self.base.position(from)),
                    false => self.base.position(path),
                },
            }),
            NodeChange::Deleted => None,
            NodeChange::Unchanged => self.base.node(path)?,
        })
    }
}

impl Session {
    pub(crate) fn read_only(shared: Arc<Shared>, base: Base, branch: Option<BranchName>) -> Self {
        Self::new(shared, base, branch, Phase::ReadOnly)
    }

    pub(crate) fn writable(shared: Arc<Shared>, base: Base, branch: BranchName, tip: Tip) -> Self {
        Self::new(shared, base, Some(branch), Phase::Open { tip })
    }

    /// A writable session that gives nodes other paths, and does nothing else.
    pub(crate) fn rearranging(
        shared: Arc<Shared>,
        base: Base,
        branch: BranchName,
        tip: Tip,
    ) -> Self {
        let entropy = Arc::clone(&shared.entropy);
        let state = Self::state_of(base, Phase::Open { tip });
        Self(Arc::new(Inner {
            rearranges: true,
            ..Inner::new(shared, Some(branch), state, entropy)
        }))
    }

    pub(crate) fn detached(shared: Arc<Shared>, base: Base) -> Self {
        Self::new(shared, base, None, Phase::Detached)
    }

    /// A view of edits on a snapshot, to read only.
    pub(crate) fn view_of(
        shared: &Arc<Shared>,
        base: &Arc<Base>,
        changes: &Arc<ChangeSet>,
    ) -> Self {
        let state = SessionState::new(Arc::clone(base), Arc::clone(changes), Phase::ReadOnly);
        Self::with_state(Arc::clone(shared), None, state)
    }

    fn new(shared: Arc<Shared>, base: Base, branch: Option<BranchName>, phase: Phase) -> Self {
        Self::with_state(shared, branch, Self::state_of(base, phase))
    }

    fn state_of(base: Base, phase: Phase) -> SessionState {
        SessionState::new(Arc::new(base), Arc::default(), phase)
    }

    /// A writable session that shares the lease of one that ended.
    pub(crate) fn continued(
        shared: Arc<Shared>,
        base: Base,
        branch: BranchName,
        tip: Tip,
        lease: SessionLease,
    ) -> Self {
        let entropy = Arc::clone(&shared.entropy);
        let state = Self::state_of(base, Phase::Open { tip });
        Self(Arc::new(Inner {
            lease: Arc::new(lease),
            ..Inner::new(shared, Some(branch), state, entropy)
        }))
    }

    /// A writable session on no branch, with edits. A fork that was made here has the packer of its session.
    pub(crate) fn forked(
        shared: &Arc<Shared>,
        base: &Arc<Base>,
        changes: Arc<ChangeSet>,
        lineage: Lineage,
        (lease, taken): (Arc<SessionLease>, BTreeSet<SnapshotId>),
        packer: Option<&Arc<Packer>>,
    ) -> Self {
        let state = SessionState {
            taken,
            ..SessionState::new(Arc::clone(base), changes, Phase::Detached)
        };
        let entropy = shared.entropy.derive();
        let new = Inner::new(Arc::clone(shared), None, state, entropy);
        let packer = packer.map_or_else(|| Arc::clone(&new.packer), Arc::clone);
        Self(Arc::new(Inner {
            lineage: Some(lineage),
            lease,
            packer,
            ..new
        }))
    }

    fn with_state(shared: Arc<Shared>, branch: Option<BranchName>, state: SessionState) -> Self {
        let entropy = Arc::clone(&shared.entropy);
        Self(Arc::new(Inner::new(shared, branch, state, entropy)))
    }

    pub(crate) fn lease(&self) -> &Arc<SessionLease> {
        &self.0.lease
    }

    pub(crate) fn packer(&self) -> &Arc<Packer> {
        &self.0.packer
    }

    pub(crate) fn lineage(&self) -> Option<&Lineage> {
        self.0.lineage.as_ref()
    }

    pub(crate) fn last_fork(&self) -> MutexGuard<'_, Option<Lineage>> {
        let last = self.0.last_fork.lock();
        last.unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.entropy.fill(&mut bytes);
        bytes
    }

    /// A source of randomness of its own, for work that is done elsewhere.
    pub(crate) fn derive_entropy(&self) -> Arc<dyn Entropy> {
        self.0.entropy.derive()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }

    /// Reads the state. A panic in another task while it changed the state is an error from then on, not a
    /// second panic and not a half-made edit that gets committed.
    pub(crate) fn state(&self) -> Result<RwLockReadGuard<'_, SessionState>, SessionError> {
        self.0.state.read().map_err(|_| aborted())
    }

    pub(crate) fn state_mut(&self) -> Result<RwLockWriteGuard<'_, SessionState>, SessionError> {
        self.0.state.write().map_err(|_| aborted())
    }

    pub(crate) fn written_manifests(&self) -> Result<WrittenManifests, SessionError> {
        Ok(self.state()?.written.clone())
    }

    pub(crate) fn note_written(
        &self,
        note: impl FnOnce(&mut WrittenManifests),
    ) -> Result<(), SessionError> {
        note(&mut self.state_mut()?.written);
        Ok(())
    }

    pub(crate) fn in_flight(&self) -> &tokio::sync::RwLock<()> {
        &self.0.in_flight
    }

    /// Returns the branch that the session was opened on; `None` for a session at a tag or snapshot, and for a fork.
    pub fn branch(&self) -> Option<&BranchName> {
        self.0.branch.as_ref()
    }

    /// Returns the snapshot that the session reads: its base, or after a commit the new snapshot.
    ///
    /// # Errors
    /// [`SessionError::Aborted`] after a panic inside the session.
    pub fn snapshot_id(&self) -> Result<SnapshotId, SessionError> {
        Ok(self.state()?.base.snapshot().id())
    }

    /// Returns whether the session will never take writes again: it was opened read-only, or it was committed.
    pub fn is_read_only(&self) -> bool {
        !self
            .state()
            .is_ok_and(|state| !matches!(state.phase, Phase::ReadOnly | Phase::Committed { .. }))
    }

    /// Returns whether the session takes no edits but moves
    /// ([`Repository::rearrange_session`](crate::Repository::rearrange_session)).
    pub fn is_rearranging(&self) -> bool {
        self.0.rearranges
    }

    /// Refuses edits other than moves where only those are allowed.
    pub(super) fn check_edits(&self) -> Result<(), SessionError> {
        match self.0.rearranges {
            true => Err(SessionError::RearrangesOnly),
            false => Ok(()),
        }
    }

    /// Returns the number of attempts of all commits of the session: one, and one more after each lost race.
    ///
    /// # Errors
    /// [`SessionError::Aborted`] after a panic inside the session.
    pub fn commit_attempts(&self) -> Result<u32, SessionError> {
        Ok(self.state()?.attempts)
    }
}

fn aborted() -> SessionError {
    SessionError::Aborted("an earlier edit panicked; open a new session and write again".to_owned())
}
