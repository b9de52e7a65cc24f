//! Merging forks back into the session that they were forked from.

mod fold;

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use icefield_format::SnapshotId;

use self::fold::Fold;
use super::answer::check_base;
use super::{Base, ForkError, Session};
use crate::change_set::ChangeSet;
use crate::rebase::{ChunkSets, VersionSelection, WrittenTwice, equal_chunks};
use crate::{Conflict, SessionError};

/// A fork that is merged back into its session.
#[derive(Clone, Copy, Debug)]
pub enum Returned<'a> {
    /// A session, made here or opened from its bytes.
    Fork(&'a Session),
    /// The bytes of [`Session::to_bytes`] or of [`Session::to_answer`]. They are decoded one fork at a time, which
    /// bounds the memory.
    Sent(&'a [u8]),
}

impl<'a> From<&'a Session> for Returned<'a> {
    fn from(fork: &'a Session) -> Self {
        Self::Fork(fork)
    }
}

impl<'a> From<&'a [u8]> for Returned<'a> {
    fn from(sent: &'a [u8]) -> Self {
        Self::Sent(sent)
    }
}

impl<'a> From<&'a Bytes> for Returned<'a> {
    fn from(sent: &'a Bytes) -> Self {
        Self::Sent(sent)
    }
}

/// A fork whose turn is to come.
enum Arrived<'a> {
    Open(&'a Session, OwnEdits),
    Packed(&'a [u8]),
}

/// The part of a fork that is merged: its edits as they were at one moment.
struct OwnEdits {
    changes: Arc<ChangeSet>,
    taken: BTreeSet<SnapshotId>,
}

impl OwnEdits {
    fn of(fork: &Session) -> Result<Self, SessionError> {
        let state = fork.state()?;
        Ok(Self {
            changes: Arc::clone(&state.changes),
            taken: state.taken.clone(),
        })
    }
}

/// The outcome of merging forks.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "the forks may not be merged"]
pub enum MergeOutcome {
    /// Their edits are edits of the session now.
    Merged,
    /// Forks collide with each other or with the session. The session is as before.
    Conflicts(Vec<Conflict>),
}

impl Session {
    /// Takes over the edits of forks of this session, or, into a fork, of forks made from the same state. A fork need not be
    /// opened for that: its bytes stand for it, and its answer does. The order and the grouping do not matter. A fork that was
    /// merged before adds nothing, unless the session has changed the same things since. What two sides did alike is done
    /// once: equal chunks are not a conflict. What they did differently is, unless `policy` says which of two chunks stays:
    /// `UseTheirs` is the one merged later. What is written to the session meanwhile comes before the forks.
    ///
    /// # Errors
    /// [`ForkError`], of the first that cannot be merged, for bytes the reasons of [`Session::open_answer`] and
    /// [`crate::Repository::open_fork`]; the session is as before.
    pub async fn merge_forks<'a>(
        &self,
        returned: impl IntoIterator<Item = impl Into<Returned<'a>>>,
        policy: VersionSelection,
    ) -> Result<MergeOutcome, ForkError> {
        // Writes that are in flight in them are part of it. Waited for before we hold anything ourselves: two
        // forks may be merging each other.
        let mut forks = Vec::new();
        for it in returned {
            forks.push(match it.into() {
                Returned::Fork(fork) => Arrived::Open(fork, fork.own_edits(self).await?),
                Returned::Sent(bytes) => Arrived::Packed(bytes),
            });
        }
        let _permit = self.begin_write().await?;
        // A commit that begins meanwhile waits for us, so all answers are to what is there now.
        let (base, mut start, known) = {
            let state = self.state()?;
            let (base, changes) = (Arc::clone(&state.base), Arc::clone(&state.changes));
            // Concurrent writes must not take the places of merged chunks.
            self.packer().pin();
            (base, changes, self.known_lineage())
        };
        let mut merged = Arc::clone(&start);
        let mut taken = BTreeSet::new();
        for it in forks {
            // Each may take a while in which there is nothing to wait for.
            tokio::task::yield_now().await;
            let unpacked;
            let (fork, own) = match it {
                Arrived::Open(fork, own) => (fork, own),
                Arrived::Packed(bytes) => {
                    unpacked = self.unpacked(bytes, known.as_ref(), &base)?;
                    (&unpacked, OwnEdits::of(&unpacked)?)
                }
            };
            taken.extend(own.taken);
            self.check_fork(fork, &base)?;
            let lineage = fork.lineage().ok_or(ForkError::NotAFork)?;
            match (self.folded(&base, &lineage.origin, &merged, &own.changes, policy)).await? {
                Ok(folded) => merged = folded,
                Err(conflicts) => return Ok(MergeOutcome::Conflicts(conflicts)),
            }
        }
        loop {
            let now = {
                let mut state = self.state_mut()?;
                state.phase.check_in_flight()?;
                if Arc::ptr_eq(&state.changes, &start) {
                    state.begin_with(merged);
                    state.taken.extend(taken);
                    return Ok(MergeOutcome::Merged);
                }
                self.packer().pin();
                Arc::clone(&state.changes)
            };
            // Another task has written to the session meanwhile.
            match self.folded(&base, &start, &now, &merged, policy).await? {
                Ok(folded) => (merged, start) = (folded, now),
                Err(conflicts) => return Ok(MergeOutcome::Conflicts(conflicts)),
            }
        }
    }

    /// The chunks that were written to a fork, stored and durable as far as a commit of `into` does not see to that.
    async fn own_edits(&self, into: &Self) -> Result<OwnEdits, ForkError> {
        let own = {
            let _all_writes_ended = self.in_flight().write().await;
            // A commit stores the packs of its own packer.
            match Arc::ptr_eq(self.packer(), into.packer()) {
                true => self.packer().pin(),
                false => self.store_needed().await?,
            }
            OwnEdits::of(self)?
        };
        // A commit makes durable what was written through its own handle, and no other.
        if !Arc::ptr_eq(self.shared(), into.shared()) {
            let sync = self.shared().storage.sync();
            sync.await.map_err(SessionError::from)?;
        }
        Ok(own)
    }

    /// Checks that a fork belongs here.
    fn check_fork(&self, fork: &Self, base: &Base) -> Result<(), ForkError> {
        let theirs = fork.lineage().ok_or(ForkError::NotAFork)?;
        let family = match self.lineage() {
            Some(ours) => Some(ours.family),
            None => self.last_fork().as_ref().map(|it| it.family),
        };
        if family != Some(theirs.family) {
            return Err(ForkError::OtherSession);
        }
        if self
            .lineage()
            .is_some_and(|ours| ours.origin_id != theirs.origin_id)
        {
            return Err(ForkError::OtherOrigin);
        }
        let snapshot = fork.state()?.base.snapshot().id();
        check_base(snapshot, base)
    }

    /// Folds two sides that both began with `origin`, or returns their collisions.
    async fn folded(
        &self,
        base: &Arc<Base>,
        origin: &ChangeSet,
        ours: &Arc<ChangeSet>,
        theirs: &Arc<ChangeSet>,
        policy: VersionSelection,
    ) -> Result<Result<Arc<ChangeSet>, Vec<Conflict>>, SessionError> {
        let fold = Fold {
            base,
            origin,
            ours,
            theirs,
        };
        let equal = self.equal_chunks(&fold, base, ours, theirs).await?;
        Ok(fold.run(&equal, policy).map(Arc::new))
    }

    /// Finds out which of the chunks that both sides wrote hold equal bytes.
    async fn equal_chunks(
        &self,
        fold: &Fold<'_>,
        base: &Arc<Base>,
        ours: &Arc<ChangeSet>,
        theirs: &Arc<ChangeSet>,
    ) -> Result<ChunkSets, SessionError> {
        let shared = self.shared();
        let ours_view = Self::view_of(shared, base, ours);
        let theirs_view = Self::view_of(shared, base, theirs);
        let written_twice = fold
            .double_writes()
            .into_iter()
            .filter_map(|(node, chunks)| Some((node, theirs.array_path(&node)?, chunks)))
            .flat_map(|(node, path, chunks)| {
                chunks.into_iter().map(move |index| WrittenTwice {
                    node,
                    index,
                    ours: path.clone(),
                    theirs: path.clone(),
                })
            })
            .collect();
        equal_chunks(&ours_view, &theirs_view, written_twice).await
    }
}
