//! The judgement of a run, when all actors have ended and every write has arrived.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;

use futures::TryStreamExt as _;
use icefield::maintenance::{Check, CheckReport, FindingKind, Severity};
use icefield::{
    BranchName, Repository, RepositoryError, Revision, SnapshotId, TagName, UpgradeOptions,
};
use icefield_storage::{
    Key, KeyError, ListOptions, Prefix, Storage, StorageError, StorageExt as _,
};

use crate::facts::Facts;
use crate::member::{Round, Trouble, chain, require, trouble};
use crate::rules;
use crate::time::WorldClock;

/// Requires that a check has found no damage.
pub(crate) fn soundness(report: &CheckReport) -> Round {
    let damage = report.findings.iter().find(|finding| {
        finding.severity == Severity::Damage && finding.kind != FindingKind::NodeWithoutParent
    });
    require(damage.is_none(), || format!("damage: {damage:?}"))
}

/// Judges a run by what the store holds.
///
/// # Errors
/// The first rule that does not hold.
pub(crate) async fn judge(store: Arc<dyn Storage>, clock: WorldClock, facts: &Facts) -> Round {
    let clock = Arc::new(clock);
    let report = Check::new(Arc::clone(&store))
        .clock(Arc::<WorldClock>::clone(&clock))
        .run(&())
        .await;
    let report =
        report.map_err(|error| Trouble::Broken(format!("not checked: {}", chain(&error))))?;
    soundness(&report)?;
    finish_upgrade(&store, &clock).await?;
    let repository = Repository::builder(store)
        .clock(Arc::<WorldClock>::clone(&clock))
        .open()
        .await
        .map_err(trouble)?;
    let refs = repository.refs().await.map_err(trouble)?;
    let mut seen = BTreeSet::new();
    for name in refs.branches.keys() {
        judge_history(&repository, &Revision::from(name.clone()), &mut seen).await?;
    }
    for name in refs.tags.keys() {
        judge_history(&repository, &Revision::from(name.clone()), &mut seen).await?;
    }
    judge_tags(&repository, facts).await?;
    judge_main(&repository, facts).await?;
    let mut known = facts.lock();
    known.figures.judged += seen.len() as u64;
    rules::check_register(&known.register)
}

/// Upgrades a repository whose upgrade was begun, as the error tells the user who meets a ref that moved meanwhile: the write of
/// `repo` may arrive long after the process that sent it has ended, behind commits of version 1.
async fn finish_upgrade(store: &Arc<dyn Storage>, clock: &Arc<WorldClock>) -> Round {
    let (refs, repo) = (Prefix::parse("refs"), Key::parse("repo"));
    let broken = |error: KeyError| Trouble::Broken(error.to_string());
    let (refs, repo) = (refs.map_err(broken)?, repo.map_err(broken)?);
    let unread = |error: StorageError| trouble(RepositoryError::from(error));
    let of_version_1 = store.list(ListOptions::prefix(refs));
    let is_begun = store.exists(&repo).await.map_err(unread)?
        && pin!(of_version_1)
            .try_next()
            .await
            .map_err(unread)?
            .is_some();
    if is_begun {
        let builder = Repository::builder(Arc::clone(store)).clock(Arc::<WorldClock>::clone(clock));
        let upgraded = builder.upgrade(&UpgradeOptions::default()).await;
        upgraded.map_err(trouble)?;
    }
    Ok(())
}

/// Checks every snapshot of a ref.
async fn judge_history(
    repository: &Repository,
    of: &Revision,
    seen: &mut BTreeSet<SnapshotId>,
) -> Round {
    let tip = repository.resolve(of).await.map_err(trouble)?;
    let history: Vec<_> = repository
        .ancestry(tip)
        .try_collect()
        .await
        .map_err(trouble)?;
    for snapshot in history {
        if seen.insert(snapshot.id) {
            let session = repository
                .read_session(snapshot.id)
                .await
                .map_err(trouble)?;
            rules::check(&session).await?;
        }
    }
    Ok(())
}

/// Checks that tags point where they were created, unless their deletion was asked for.
async fn judge_tags(repository: &Repository, facts: &Facts) -> Round {
    let tags = facts.lock().tags.clone();
    for (name, target) in tags {
        let tag = TagName::parse(&name).map_err(|error| Trouble::Broken(error.to_string()))?;
        let found = repository.resolve(&Revision::from(tag)).await;
        let found =
            found.map_err(|error| Trouble::Broken(format!("tag {name}: {}", chain(&error))))?;
        require(found == target, || {
            format!("tag {name} is at {found}, not at {target}")
        })?;
    }
    Ok(())
}

/// Checks that `main` has every commit that was acknowledged and that no expiration may have dropped, and all of the ledger.
async fn judge_main(repository: &Repository, facts: &Facts) -> Round {
    let tip = repository
        .resolve(&Revision::from(BranchName::main()))
        .await
        .map_err(trouble)?;
    let history: Vec<_> = repository
        .ancestry(tip)
        .try_collect()
        .await
        .map_err(trouble)?;
    let ids: BTreeSet<_> = history.iter().map(|it| it.id).collect();
    require(ids.len() == history.len(), || {
        "a snapshot is twice in the history of main".to_owned()
    })?;
    let session = repository
        .read_session(BranchName::main())
        .await
        .map_err(trouble)?;
    let ledger = rules::ledger(&session).await?;
    let known = facts.lock();
    rules::check_ledger(&ledger, &known.appended)?;
    let distinct: BTreeSet<_> = known.commits.iter().collect();
    require(distinct.len() == known.commits.len(), || {
        "a commit was acknowledged twice".to_owned()
    })?;
    if known.expired_before.is_none() {
        let lost = known.commits.iter().find(|id| !ids.contains(id));
        require(lost.is_none(), || {
            format!("commit {lost:?} was acknowledged and is not in the history of main")
        })?;
    }
    Ok(())
}
