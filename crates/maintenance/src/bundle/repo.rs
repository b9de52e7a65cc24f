//! The state of a repository of spec version 2 in a bundle.

use std::collections::{BTreeMap, BTreeSet};

use icefield_core::{BranchName, Repository, SnapshotInfo, TagName};
use icefield_format::{
    NewRepoInfo, NewSnapshotInfo, OpsLog, RepoEditError, RepoInfo, RepoStatus, SnapshotId,
    UpdateKind, Writer,
};
use icefield_refs::{RefsError, RepoSettings, micros_of_time};
use icefield_storage::Bytes;

use super::file::bad;
use super::inspected::Inspected;
use crate::copy::CopyError;
use crate::copy::plan::{Plan, SourceRefs};
use crate::copy::receive::infos;

/// Makes the object `repo` of a bundle. The same source gives the same bytes: its time is that of the newest snapshot.
pub(super) async fn of_bundle(
    source: &Repository,
    refs: &SourceRefs,
    plan: &Plan,
    since: Option<SnapshotId>,
) -> Result<Bytes, CopyError> {
    let inside: BTreeSet<_> = plan.steps.iter().map(|step| step.id).collect();
    // Refs and parents must be snapshots of the object. What the bundle builds on has no parent in it.
    let named = refs.tips().into_iter().chain(since);
    let named = named.chain(plan.bases.iter().copied());
    let outside: BTreeSet<_> = named.chain([SnapshotId::INITIAL]).collect();
    let mut snapshots = Vec::new();
    for id in outside.difference(&inside) {
        snapshots.push(SnapshotInfo {
            parent_id: None,
            pruned_logs: Vec::new(),
            ..source.ledger().snapshot(*id).await?
        });
    }
    snapshots.extend(infos(source, &plan.steps).await?);
    let times = snapshots.iter().map(|it| micros_of_time(it.written_at));
    let at = times.max().unwrap_or_default();
    let settings = source.ledger().settings().await;
    let settings = settings.map_err(CopyError::SourceRefs)?;
    let branches = refs.branches.iter();
    let branches = branches.map(|(name, tip)| (name.to_string(), *tip));
    let main = (BranchName::main().to_string(), SnapshotId::INITIAL);
    let tags = refs.tags.iter();
    let made = || {
        let info = RepoInfo::new(NewRepoInfo {
            snapshots: snapshots.iter().map(listed).collect(),
            // Every repository has the branch, also one of which another branch was chosen.
            branches: [main].into_iter().chain(branches).collect(),
            tags: tags.map(|(name, id)| (name.to_string(), *id)).collect(),
            deleted_tags: refs.deleted_tags.iter().map(ToString::to_string).collect(),
            status: RepoStatus::online(at),
            metadata: settings.metadata,
            config: settings.config,
            log: OpsLog::new([(UpdateKind::RepoInitialized, at)])?,
        })?;
        let writer = Writer::default();
        Ok::<_, RepoEditError>(info.with_flags(settings.flags).encode(&writer)?)
    };
    made().map_err(|source| CopyError::SourceRefs(RefsError::RepoEdit { source }))
}

fn listed(info: &SnapshotInfo) -> NewSnapshotInfo<'_> {
    NewSnapshotInfo {
        id: info.id,
        parent: info.parent_id,
        flushed_at: micros_of_time(info.written_at),
        message: &info.message,
        metadata: &info.metadata,
        pruned_ancestor_tx_logs: &info.pruned_logs,
    }
}

/// Takes over what `repo` says of the snapshots and refs of a bundle, as far as both agree.
pub(super) fn believe(inspected: &mut Inspected) -> Result<(), CopyError> {
    let Some(repo) = &inspected.repo else {
        return Err(bad("it has no object `repo`"));
    };
    // A configuration that cannot be read is not copied.
    RepoSettings::of(repo).map_err(|error| bad(error.to_string()))?;
    let graph = repo.snapshots();
    for info in &mut inspected.snapshots {
        let id = info.id;
        let Some(listed) = graph.get(&id) else {
            return Err(bad(format!("its `repo` does not list snapshot {id}")));
        };
        if listed.flushed_at() != micros_of_time(info.written_at)
            || listed.message() != info.message
        {
            return Err(bad(format!(
                "its `repo` says something else of snapshot {id} than the file"
            )));
        }
        info.parent_id = listed.parent_id();
        info.pruned_logs = listed.pruned_ancestor_tx_logs().collect();
        let parents = &mut inspected.parents;
        if let Some(parent) = info.parent_id
            && parent != SnapshotId::INITIAL
            && !parents.contains_key(&parent)
            && !inspected.index.requires.contains(&parent)
        {
            return Err(bad(format!(
                "the parent of snapshot {id} does not come before it"
            )));
        }
        if parents.insert(id, info.parent_id).is_some() {
            return Err(bad(format!("snapshot {id} is in it twice")));
        }
    }
    let index = &inspected.index;
    let said: BTreeMap<_, _> = repo.branches().collect();
    for (name, tip) in &index.branches {
        if said.get(name.as_str()) != Some(tip) {
            return Err(bad(format!("its `repo` has another branch {name}")));
        }
        let name = BranchName::parse(name).map_err(|error| bad(error.to_string()))?;
        inspected.refs.branches.insert(name, *tip);
    }
    let is_main = |name: &str, id| name == BranchName::main().as_str() && id == SnapshotId::INITIAL;
    let mut others = said.into_iter();
    if let Some((name, _)) =
        others.find(|(name, id)| !index.branches.contains_key(*name) && !is_main(name, *id))
    {
        return Err(bad(format!("its index has no branch {name}")));
    }
    for (name, target) in repo.tags() {
        if index.tags.get(name) != Some(&target) {
            return Err(bad(format!("its index has another tag {name}")));
        }
        let name = TagName::parse(name).map_err(|error| bad(error.to_string()))?;
        inspected.refs.tags.insert(name, target);
    }
    for name in repo.deleted_tags() {
        let name = TagName::parse(name).map_err(|error| bad(error.to_string()))?;
        inspected.refs.deleted_tags.insert(name);
    }
    match repo.tags().len() == index.tags.len() {
        true => Ok(()),
        false => Err(bad("its `repo` lacks a tag of its index")),
    }
}
