//! Actors that keep the repository in order.

use std::sync::Arc;
use std::time::Duration;

use icefield::maintenance::{
    Check, Collect, CollectError, CopyRepository, Expire, ExpireError, Policy, Severity,
};
use icefield::{MemoryStorage, RepositoryError, UpgradeOptions};
use icefield_storage::{Clock as _, Storage};

use crate::judge::soundness;
use crate::member::{FLOOR, Member, Round, Trouble, chain, require, trouble};
use crate::rules;

/// Collects garbage that is older than the floor.
pub(super) async fn collect(member: &Member) -> Round {
    let repository = member.open().await?;
    let collect = match member.has_no_floor {
        // The planted bug of a collection that spares nothing.
        true => Collect::default().floor(Duration::ZERO).force_floor(),
        false => Collect::default().floor(FLOOR),
    };
    match collect.run(&repository).await {
        Ok(report) => {
            let mut known = member.facts.lock();
            known.figures.collections += 1;
            known.figures.deleted += report.total().deleted;
            Ok(())
        }
        Err(error) => Err(collection_trouble(error)),
    }
}

/// Sorts a failure of a collection.
fn collection_trouble(error: CollectError) -> Trouble {
    match error {
        CollectError::Running
        | CollectError::TakenOver
        | CollectError::ClocksApart(_)
        | CollectError::ClockWentBack { .. }
        | CollectError::Interrupted(_)
        | CollectError::Upgraded => Trouble::Later,
        CollectError::Refs(error) => trouble(error),
        CollectError::Snapshot { source, .. } | CollectError::Manifest(source) => trouble(*source),
        CollectError::Repository(error) => trouble(error),
        CollectError::Fetch(error) => trouble(RepositoryError::from(error)),
        CollectError::Storage(error) => trouble(RepositoryError::from(error)),
        other => Trouble::Broken(format!("a collection fails: {}", chain(&other))),
    }
}

/// Sorts a failure of an expiration.
fn expiration_trouble(error: ExpireError) -> Trouble {
    match error {
        ExpireError::Busy { .. }
        | ExpireError::ClocksApart(_)
        | ExpireError::FutureBound { .. }
        | ExpireError::Interrupted(_)
        | ExpireError::Unknown { .. } => Trouble::Later,
        ExpireError::Refs(error) => trouble(error),
        ExpireError::Repository(error) => trouble(error),
        ExpireError::Storage(error) => trouble(RepositoryError::from(error)),
        other => Trouble::Broken(format!("an expiration fails: {}", chain(&other))),
    }
}

/// Expires what is older than some hours.
pub(super) async fn expire(member: &Member) -> Round {
    let repository = member.open().await?;
    let older_than = member.clock.now() - Duration::from_secs(60 * member.dice.below(12 * 60));
    {
        // An expiration counts once it has begun, whether or not it ends.
        let mut known = member.facts.lock();
        known.expired_before = known.expired_before.max(Some(older_than));
    }
    let mut policy = Policy::default();
    policy.older_than = Some(older_than);
    Expire::new(policy)
        .run(&repository, &())
        .await
        .map_err(expiration_trouble)?;
    member.facts.lock().figures.expirations += 1;
    Ok(())
}

/// Copies the repository to another store, and checks the copy.
pub(super) async fn copy(member: &Member) -> Round {
    let repository = member.open().await?;
    let to: Arc<dyn Storage> = Arc::new(
        MemoryStorage::builder()
            .clock(Arc::new(member.world.clock(0)))
            .build(),
    );
    CopyRepository::new()
        .run(&repository, Arc::clone(&to), &())
        .await
        .map_err(trouble)?;
    let report = Check::new(Arc::clone(&to))
        .clock(Arc::new(member.clock.clone()))
        .run(&())
        .await;
    let report = report
        .map_err(|error| Trouble::Broken(format!("the copy is not checked: {}", chain(&error))))?;
    let damage = report
        .findings
        .iter()
        .find(|finding| finding.severity == Severity::Damage);
    require(damage.is_none(), || {
        format!("the copy is damaged: {damage:?}")
    })?;
    let copy = icefield::Repository::builder(to)
        .clock(Arc::new(member.clock.clone()))
        .open()
        .await
        .map_err(trouble)?;
    let session = copy.read_session(Member::main()).await.map_err(trouble)?;
    rules::check(&session).await?;
    member.facts.lock().figures.copies += 1;
    soundness(&report)
}

/// Upgrades the repository.
pub(super) async fn upgrade(member: &Member) -> Round {
    let builder = member.builder();
    builder
        .upgrade(&UpgradeOptions::default())
        .await
        .map_err(trouble)?;
    member.facts.lock().figures.upgrades += 1;
    Ok(())
}
