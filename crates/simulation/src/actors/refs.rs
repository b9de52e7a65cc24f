//! Actors that change refs and the configuration.

use icefield::format::config::RepositoryConfig;
use icefield::{BranchName, EditOutcome, Revision, TagName};

use crate::member::{Landing, Member, Round, Trouble, path, require, trouble};
use crate::rules::REGISTER;

/// Creates a tag, deletes one, or commits to a branch that goes again.
pub(super) async fn administrate(member: &Member, round: u64) -> Round {
    match member.dice.below(3) {
        0 => delete_tag(member).await,
        1 => use_branch(member, round).await,
        _ => create_tag(member).await,
    }
}

/// Names of tags: so few that processes ask for the same one.
const TAGS: u64 = 8;

async fn create_tag(member: &Member) -> Round {
    let repository = member.open().await?;
    let tip = repository
        .resolve(&Revision::from(Member::main()))
        .await
        .map_err(trouble)?;
    let name = format!("t{}", member.dice.below(TAGS));
    let outcome = repository.create_tag(&name, tip).await.map_err(trouble)?;
    if !matches!(outcome, EditOutcome::Done(_)) {
        return Ok(());
    }
    let mut known = member.facts.lock();
    let is_new = known.created_tags.insert(name.clone());
    require(is_new, || format!("tag {name} was created twice"))?;
    if !known.dropped_tags.contains(&name) {
        known.tags.insert(name, tip);
    }
    Ok(())
}

async fn delete_tag(member: &Member) -> Round {
    let repository = member.open().await?;
    let name = {
        let mut known = member.facts.lock();
        let Some(name) = known.tags.keys().next().cloned() else {
            return Ok(());
        };
        known.tags.remove(&name);
        known.dropped_tags.insert(name.clone());
        name
    };
    let name = TagName::parse(&name).map_err(|error| Trouble::Broken(error.to_string()))?;
    // Refused, or not known: the tag counts as deleted all the same, since its deletion was asked for.
    let _ = repository.delete_tag(&name).await.map_err(trouble)?;
    Ok(())
}

async fn use_branch(member: &Member, round: u64) -> Round {
    let repository = member.open().await?;
    let tip = repository
        .resolve(&Revision::from(Member::main()))
        .await
        .map_err(trouble)?;
    let name = format!("b{}-{round:x}", member.number);
    let created = repository
        .create_branch(&name, tip)
        .await
        .map_err(trouble)?;
    if !matches!(created, EditOutcome::Done(_)) {
        return Ok(());
    }
    let branch = BranchName::parse(&name).map_err(|error| Trouble::Broken(error.to_string()))?;
    let session = repository
        .write_session(branch.clone())
        .await
        .map_err(trouble)?;
    member.set(&session, &path(REGISTER)?, 1, round).await?;
    let outcome = session.commit("on a branch").await;
    if let Landing::Landed(_) = member.land(&session, outcome).await? {
        member.think().await;
    }
    if member.dice.below(2) == 0 {
        // A concurrent change of the branch keeps it, and its commits are judged.
        let _ = repository.delete_branch(&branch).await.map_err(trouble)?;
    }
    Ok(())
}

/// Stores another threshold for inline chunks.
pub(super) async fn configure(member: &Member) -> Round {
    let repository = member.open().await?;
    let config = RepositoryConfig {
        inline_chunk_threshold_bytes: Some([0, 128, 512, 4096][member.dice.below(4) as usize]),
        ..repository.stored_config()
    };
    // Another process may have been faster.
    let _ = repository.save_config(config).await.map_err(trouble)?;
    Ok(())
}
