//! Publishing a copy in a repository of spec version 2: all refs, the graph and the settings in one edit.

use std::collections::BTreeSet;

use icefield_core::{Repository, SnapshotInfo};
use icefield_format::{Availability, SnapshotId, SpecVersion, decode_ref, layout};
use icefield_refs::{Edit, EditOutcome, Received, ReceivedBranch, RefsError, RepoSettings};

use super::CopyError;
use super::plan::Step;
use super::refs::{Change, CopiedRef, DeletedTags, RefPlan};
use super::settings::SettingsPlan;

/// Refuses a destination of another version of the format, or one that takes no writes.
pub(crate) async fn check_destination(
    there: &Repository,
    version: SpecVersion,
) -> Result<(), CopyError> {
    let found = there.spec_version();
    if found != version {
        return Err(CopyError::OtherVersion {
            location: there.storage().to_string(),
            found: found as u8,
            wanted: version as u8,
        });
    }
    if version == SpecVersion::V1 {
        return Ok(());
    }
    let status = there.ledger().status().await;
    let status = status.map_err(CopyError::DestinationRefs)?;
    match status.availability {
        Availability::Online => Ok(()),
        availability => Err(CopyError::DestinationRefs(RefsError::NotOnline {
            availability,
            reason: status.reason,
        })),
    }
}

/// Returns what the graph of the source says of some snapshots, with the parents that they have in the copy.
pub(crate) async fn infos(
    source: &Repository,
    steps: &[Step],
) -> Result<Vec<SnapshotInfo>, CopyError> {
    let mut infos = Vec::with_capacity(steps.len());
    for step in steps {
        let mut info = source.ledger().snapshot(step.id).await?;
        info.parent_id = step.parent;
        if step.shortened {
            // Its own log does not tell its change since the first snapshot, nor would those before it.
            info.parent_id = Some(SnapshotId::INITIAL);
            info.pruned_logs = Vec::new();
        }
        infos.push(info);
    }
    Ok(infos)
}

/// The snapshots and settings that come to the destination with its refs.
pub(crate) struct Brought<'a> {
    /// Parents before their children.
    pub(crate) snapshots: Vec<SnapshotInfo>,
    /// Those whose ancestors are left behind.
    pub(crate) shortened: BTreeSet<SnapshotId>,
    pub(crate) settings: &'a RepoSettings,
    pub(crate) deleted: &'a dyn DeletedTags,
    /// Replaces other settings.
    pub(crate) force: bool,
}

impl Brought<'_> {
    /// Makes the edit, or says what it would do to a destination that is not there, or that is not to be written.
    pub(crate) async fn publish(
        self,
        decided: RefPlan,
        there: Option<&Repository>,
        dry_run: bool,
    ) -> Result<(Vec<CopiedRef>, SettingsPlan), CopyError> {
        let found = match there {
            Some(there) => there.ledger().settings().await,
            None => Ok(RepoSettings::default()),
        };
        let found = found.map_err(CopyError::DestinationRefs)?;
        let mut set = SettingsPlan::decide(self.settings, found, self.force);
        let Some(there) = there.filter(|_| !dry_run) else {
            return Ok((decided.refs, set));
        };
        let mut received = self.refs(decided.edits).await?;
        received.settings = set.change.take();
        received.snapshots = self.snapshots;
        received.shortened = self.shortened;
        let is_empty = received.branches.is_empty()
            && received.tags.is_empty()
            && received.deleted_tags.is_empty()
            && received.settings.is_none();
        if !is_empty {
            apply(there, received).await?;
        }
        Ok((decided.refs, set))
    }

    async fn refs(&self, edits: Vec<(String, Change)>) -> Result<Received, CopyError> {
        let mut received = Received::default();
        for (_, change) in edits {
            match change {
                Change::Apply(Edit::CreateBranch { name, target }) => {
                    received.branches.push(ReceivedBranch {
                        name,
                        target,
                        expected: None,
                    });
                }
                Change::Apply(Edit::Reset {
                    name,
                    target,
                    expected,
                }) => received.branches.push(ReceivedBranch {
                    name,
                    target,
                    expected: Some(expected.snapshot),
                }),
                Change::Apply(Edit::CreateTag { name, target }) => {
                    received.tags.push((name, target));
                }
                Change::Apply(other) => unreachable!("BUG: a copy does not decide on {other:?}"),
                Change::Tombstone(tag) => {
                    let file = self.deleted.target(&tag).await?;
                    let target = file.and_then(|file| decode_ref(&file).ok());
                    received.deleted_tags.push((tag, target));
                }
            }
        }
        Ok(received)
    }
}

async fn apply(there: &Repository, received: Received) -> Result<(), CopyError> {
    let edit = Edit::Receive(Box::new(received.clone()));
    let outcome = there.ledger().apply(edit).await;
    match outcome.map_err(CopyError::DestinationRefs)? {
        EditOutcome::Done(_) => Ok(()),
        EditOutcome::Unknown(source) => Err(CopyError::RefUnknown {
            name: layout::REPO.to_owned(),
            source,
        }),
        EditOutcome::Refused(_) => Err(CopyError::RefChanged {
            name: changed(there, &received).await?,
        }),
    }
}

/// Returns what is not as the edit expected it.
async fn changed(there: &Repository, received: &Received) -> Result<String, CopyError> {
    let found = there.refs().await.map_err(CopyError::Open)?;
    let branches = received.branches.iter().filter(|branch| {
        let tip = found.branches.get(&branch.name);
        let tip = tip.and_then(|tip| tip.as_ref().ok()).copied();
        tip != branch.expected && tip != Some(branch.target)
    });
    let branches = branches.map(|branch| format!("branch {}", branch.name));
    let is_taken = |name| found.tags.contains_key(name) || found.deleted_tags.contains(name);
    let tags = received.tags.iter().map(|(name, _)| name);
    let tags = tags.chain(received.deleted_tags.iter().map(|(name, _)| name));
    let tags = tags.filter(|name| is_taken(name));
    let mut changed = branches.chain(tags.map(|name| format!("tag {name}")));
    Ok(changed
        .next()
        .unwrap_or_else(|| "the configuration".to_owned()))
}
