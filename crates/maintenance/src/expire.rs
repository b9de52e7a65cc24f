//! Expiration: taking old snapshots out of the histories, so that they can be collected later.
//!
//! Nothing is deleted but refs that were asked for. A snapshot that stays, and whose parent does not, gets its nearest
//! ancestor that stays as its parent; in the end that is the first snapshot of the repository. What is decided is decided
//! over all histories at once, since they share snapshots, and each of these is rewritten once.

mod error;
mod plan;
mod policy;
mod settings;

use futures::future::BoxFuture;
use icefield_core::collection::{StoreTimeError, agreed_time};
use icefield_core::{Repository, RepositoryError};
use icefield_format::{SnapshotId, SpecVersion};
use icefield_refs::{BranchName, Edit, EditOutcome, LedgerView, PutBackMark, RefsError, TagName};
use icefield_storage::with_causes;

pub use error::ExpireError;
pub use plan::{Fate, NewParent, Plan};
pub use policy::{Policy, Reason};
pub use settings::Expire;

use crate::Progress;

/// Times that everything is decided anew because another writer was at work.
const TRIES: usize = 10;

/// The report of an expiration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expired {
    /// The part of the plan that was carried out.
    pub plan: Plan,
    /// The number of times that the plan was made anew, because refs or histories changed.
    pub restarts: usize,
    /// The snapshots that keep a parent which should have been released.
    pub stuck: Vec<Stuck>,
}

/// A snapshot that keeps its parent, and with it all earlier ones, because objects are lost: its changes since an older
/// snapshot are not known, and a rebase from there would not see them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stuck {
    /// The id of the snapshot.
    pub id: SnapshotId,
    /// Its parent, which stays.
    pub parent: SnapshotId,
    /// The objects that are lost.
    pub reason: String,
}

/// The outcome of an attempt.
enum Tried {
    Done,
    /// Another program was first.
    Overtaken,
}

impl Expire {
    /// Decides what would expire, and changes nothing. With a bound of age it asks the store for the time, by an object that
    /// it creates and deletes; where the store cannot be asked, it goes by this machine's clock. Memory grows with the number
    /// of snapshots, by some hundred bytes each.
    ///
    /// # Errors
    /// [`ExpireError::NoRules`], [`ExpireError::NoBound`], [`ExpireError::FutureBound`], [`ExpireError::ClocksApart`]; refs and snapshots that cannot be
    /// read: where one cannot, it is not known what it keeps.
    pub async fn plan(
        &self,
        repository: &Repository,
        progress: &dyn Progress,
    ) -> Result<Plan, ExpireError> {
        self.check(repository, true).await?;
        self.require_all_refs(repository).await?;
        let view = self.interrupt.unless(repository.ledger().view());
        self.decide(&view.await??, progress).await
    }

    /// Reads and decides, which can be dropped at any time.
    async fn decide(
        &self,
        view: &LedgerView,
        progress: &dyn Progress,
    ) -> Result<Plan, ExpireError> {
        let plan = Plan::make(self, view, progress);
        self.interrupt.unless(plan).await?
    }

    /// Removes the snapshots from the histories. A snapshot whose changes are not known stays where it is, and the
    /// report names it.
    ///
    /// # Errors
    /// As [`Expire::plan`]; [`ExpireError::Busy`]; [`ExpireError::Unknown`]; the errors of the store, such as, with a
    /// bound of age, that it cannot be asked for the time. A part may be done then, and every history is complete.
    pub async fn run(
        &self,
        repository: &Repository,
        progress: &dyn Progress,
    ) -> Result<Expired, ExpireError> {
        self.boxed(repository, progress).await
    }

    // Boxed, it is compiled in this crate alone, and not wherever it is awaited.
    fn boxed<'a>(
        &'a self,
        repository: &'a Repository,
        progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<Expired, ExpireError>> {
        Box::pin(self.run_here(repository, progress))
    }

    async fn run_here(
        &self,
        repository: &Repository,
        progress: &dyn Progress,
    ) -> Result<Expired, ExpireError> {
        let storage = repository.storage();
        if !storage.capabilities().safe_commits() {
            let location = storage.to_string();
            return Err(RefsError::NoConditions { location }.into());
        }
        self.check(repository, false).await?;
        self.require_all_refs(repository).await?;
        // Refs that an overtaken try has deleted belong into the report.
        let (mut branches, mut tags) = (Vec::new(), Vec::new());
        let view = self.interrupt.unless(repository.ledger().view());
        let mut view = view.await??;
        for restarts in 0..TRIES {
            if restarts > 0 {
                self.interrupt.unless(view.refresh()).await??;
            }
            // Asked after the refs are read: the mark is there before a backup takes the place of `repo`.
            let is_v2 = repository.spec_version() != SpecVersion::V1;
            if is_v2 && PutBackMark::is_set(&**storage).await? {
                return Err(ExpireError::PutBack);
            }
            let mut plan = self.decide(&view, progress).await?;
            let mut stuck = Vec::new();
            let refs = (&mut branches, &mut tags);
            let doing = self.attempt(&plan, repository, progress, refs, &mut stuck);
            let tried = doing.await?;
            if let Tried::Done = tried {
                (plan.branches, plan.tags) = (branches, tags);
                let (edits, stuck): (Vec<_>, _) = stuck.into_iter().unzip();
                plan.take_back(&edits);
                return Ok(Expired {
                    plan,
                    restarts,
                    stuck,
                });
            }
            tracing::debug!(restarts, "expiration was overtaken");
        }
        Err(ExpireError::Busy { tries: TRIES })
    }

    /// A ref that a version-1 program has written beside `repo` may keep a snapshot.
    async fn require_all_refs(&self, repository: &Repository) -> Result<(), ExpireError> {
        let ledger = repository.ledger();
        if ledger.spec_version() == SpecVersion::V1 {
            // Each edit of such a ledger looks at the files that it changes.
            return Ok(());
        }
        Ok(self
            .interrupt
            .unless(ledger.require_carried_over())
            .await??)
    }

    /// Checks the rules, and that the clocks agree if something is to expire for its age.
    async fn check(&self, repository: &Repository, is_dry: bool) -> Result<(), ExpireError> {
        if !self.policy.has_rules() {
            return Err(ExpireError::NoRules);
        }
        let Some(bound) = self.policy.older_than else {
            return match self.delete_branches || self.delete_tags {
                true => Err(ExpireError::NoBound),
                false => Ok(()),
            };
        };
        let clock = &**repository.clock();
        let now = clock.now();
        if bound > now {
            let clock = "this machine's clock";
            return Err(ExpireError::FutureBound { bound, now, clock });
        }
        let (storage, entropy) = (&**repository.storage(), &**repository.entropy());
        match agreed_time(storage, entropy, clock).await {
            Ok(_) => Ok(()),
            // A plan changes nothing. A store that cannot be asked may take other writes all the same.
            Err(error) if is_dry && error.is_write_denied() => Ok(()),
            Err(StoreTimeError::ClocksApart(apart)) => Err(apart.into()),
            Err(StoreTimeError::Storage(error)) => Err(error.into()),
        }
    }

    /// Carries out the plan, as long as no other writer is at work.
    async fn attempt(
        &self,
        plan: &Plan,
        repository: &Repository,
        progress: &dyn Progress,
        (branches, tags): (&mut Vec<BranchName>, &mut Vec<TagName>),
        stuck: &mut Vec<(NewParent, Stuck)>,
    ) -> Result<Tried, ExpireError> {
        if repository.ledger().spec_version() != SpecVersion::V1 {
            return self
                .attempt_at_once(plan, repository, (branches, tags))
                .await;
        }
        // Refs go first: if a session commits to one of them, what it needs is still in its history.
        for name in &plan.branches {
            self.interrupt.check()?;
            match delete_branch(plan, repository, name).await? {
                Tried::Done => branches.push(name.clone()),
                Tried::Overtaken => return Ok(Tried::Overtaken),
            }
        }
        for name in &plan.tags {
            self.interrupt.check()?;
            let edit = Edit::DeleteTag { name: name.clone() };
            match outcome(repository.ledger().apply(edit).await?, || {
                format!("tag {name}")
            })? {
                Tried::Done => tags.push(name.clone()),
                Tried::Overtaken => return Ok(Tried::Overtaken),
            }
        }
        let refs = repository.ledger().list().await?;
        if refs.require_understood()? != plan.remaining() {
            return Ok(Tried::Overtaken);
        }
        progress.stage("rewriting snapshots", Some(plan.new_parents.len() as u64));
        // The oldest first: wherever this ends, the histories are those that an earlier bound would have left, and the newer
        // part of each, which is in use, is as it was.
        for edit in &plan.new_parents {
            self.interrupt.check()?;
            match rewrite(repository, edit).await {
                Ok(Tried::Done) => {}
                Ok(Tried::Overtaken) => return Ok(Tried::Overtaken),
                // It keeps its parent, and the others do not depend on it: each goes behind one that stays.
                Err(ExpireError::Repository(error @ RepositoryError::ChangesLost { .. })) => {
                    let (id, parent) = (edit.id, edit.before);
                    let reason = with_causes(&error);
                    stuck.push((*edit, Stuck { id, parent, reason }));
                }
                Err(error) => return Err(error),
            }
            progress.advance(1, 0);
        }
        Ok(Tried::Done)
    }
}

impl Expire {
    /// Does what was planned by one edit. What another writer has put a ref onto meanwhile stays.
    async fn attempt_at_once(
        &self,
        plan: &Plan,
        repository: &Repository,
        (branches, tags): (&mut Vec<BranchName>, &mut Vec<TagName>),
    ) -> Result<Tried, ExpireError> {
        self.interrupt.check()?;
        let released = plan.snapshots.iter().filter(|it| !it.stays());
        let tip = |name: &BranchName| {
            let tip = plan.pointers.branches.get(name)?;
            Some((name.clone(), *tip))
        };
        let edit = Edit::Expire {
            release: released.map(|it| it.id).collect(),
            branches: plan.branches.iter().filter_map(tip).collect(),
            tags: plan.tags.clone(),
        };
        let tried = outcome(repository.ledger().apply(edit).await?, || {
            "the expiration".to_owned()
        })?;
        if let Tried::Done = tried {
            branches.clone_from(&plan.branches);
            tags.clone_from(&plan.tags);
        }
        Ok(tried)
    }
}

async fn delete_branch(
    plan: &Plan,
    repository: &Repository,
    name: &BranchName,
) -> Result<Tried, ExpireError> {
    let refs = repository.ledger();
    let Some(tip) = refs.branch(name).await? else {
        return Ok(Tried::Overtaken);
    };
    if plan.pointers.branches.get(name) != Some(&tip.snapshot) {
        return Ok(Tried::Overtaken);
    }
    let edit = Edit::DeleteBranch {
        name: name.clone(),
        expected: tip,
    };
    outcome(refs.apply(edit).await?, || format!("branch {name}"))
}

/// Gives a snapshot its new parent, after its log tells what all commits in between did.
async fn rewrite(repository: &Repository, edit: &NewParent) -> Result<Tried, ExpireError> {
    // Behind the first snapshot nothing is hidden: it has no nodes, so that a log which does not name them all is known
    // to tell less.
    if !edit.is_first {
        let absorbed = repository.absorb_into_log(edit.id, edit.after).await?;
        let wrote = matches!(absorbed, EditOutcome::Done(Some(_)));
        let what = || format!("the transaction log of snapshot {}", edit.id);
        if let Tried::Overtaken = outcome(absorbed, what)? {
            return Ok(Tried::Overtaken);
        }
        if wrote {
            // A reader that finds the new parent must find what goes with it, also after a loss of power.
            repository.storage().sync().await?;
        }
    }
    let NewParent {
        id, before, after, ..
    } = *edit;
    let reparent = Edit::Reparent {
        snapshot: id,
        expected: before,
        parent: after,
    };
    outcome(repository.ledger().apply(reparent).await?, || {
        format!("snapshot {id}")
    })
}

fn outcome(outcome: EditOutcome, what: impl FnOnce() -> String) -> Result<Tried, ExpireError> {
    match outcome {
        EditOutcome::Done(_) => Ok(Tried::Done),
        EditOutcome::Refused(refusal) => {
            tracing::debug!(?refusal, what = what(), "refused");
            Ok(Tried::Overtaken)
        }
        EditOutcome::Unknown(source) => Err(ExpireError::Unknown {
            what: what(),
            source,
        }),
    }
}
