//! Reading `repo`.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use flatbuffers::{ForwardsUOffset, Vector};

use super::graph::{Entry, SnapshotDetails, SnapshotGraph};
use super::metadata::Metadata;
use super::ops_log::{OpsLog, Update, UpdateKind};
use super::status::{Availability, FeatureFlag, FeatureFlags, RepoStatus};
use super::{MAIN_BRANCH, RepoInfo, RepoRoot};
use crate::budget::Budget;
use crate::envelope::{self, DecodeLimits, FileKind, SpecVersion};
use crate::error::{FormatError, FormatFile, SortedList};
use crate::generated as fb;
use crate::id::SnapshotId;
use crate::order::{self, ascending};
use crate::text::Text;
use crate::verified::Verified;

const FILE: FormatFile = FormatFile::RepoInfo;
/// Bytes that an item of metadata takes in a file, at least.
const ITEM: usize = 8;

type Tables<'a, T> = Vector<'a, ForwardsUOffset<T>>;

impl RepoInfo {
    /// Decodes and checks `repo`, or an earlier version of it out of `overwritten/`.
    ///
    /// # Errors
    /// Names the first rule that the object breaks. [`FormatError::NewerSpecVersion`] also where only the body says so.
    pub fn decode(file: &[u8], limits: &DecodeLimits) -> Result<Self, FormatError> {
        let (version, body) = envelope::open(file, FILE, FileKind::RepoInfo, limits)?;
        let found = version as u8;
        if version != SpecVersion::V2 {
            return Err(FormatError::InvalidSpecVersion { file: FILE, found });
        }
        let verified = Verified::<RepoRoot>::new(body.clone())
            .map_err(|error| FormatError::malformed(FILE, error))?;
        let root = verified.root();
        match root.spec_version() {
            2 => {}
            found @ ..2 => return Err(FormatError::InvalidSpecVersion { file: FILE, found }),
            found => {
                let (file, supported) = (FILE, SpecVersion::LATEST);
                return Err(FormatError::NewerSpecVersion {
                    file,
                    found,
                    supported,
                });
            }
        }
        let mut reader = Reader {
            body: &body,
            items: body.len() / ITEM,
            budget: Budget::new(limits.max_metadata.saturating_add(2 * body.len() as u64)),
            limit: limits.max_metadata,
        };
        reader.repo(root)
    }
}

struct Reader<'a> {
    body: &'a Bytes,
    /// Items of metadata that may still come. Snapshots may share the list of them, and each has its own copy here.
    items: usize,
    /// For the texts of the log, which are copied.
    budget: Budget,
    limit: u64,
}

impl Reader<'_> {
    fn repo(&mut self, root: fb::Repo<'_>) -> Result<RepoInfo, FormatError> {
        let snapshots = self.snapshots(root.snapshots())?;
        let branches = self.refs(root.branches(), &snapshots, SortedList::Branches)?;
        if !branches.contains_key(MAIN_BRANCH.as_bytes()) {
            return Err(FormatError::NoMainBranch { file: FILE });
        }
        let tags = self.refs(root.tags(), &snapshots, SortedList::Tags)?;
        let deleted = root.deleted_tags();
        ascending(deleted.len(), FILE, SortedList::DeletedTags, |at| {
            deleted.get(at).as_bytes()
        })?;
        let deleted = deleted.iter().map(|name| Text::within(self.body, name));
        let flags = FeatureFlags {
            enabled: flags(root.enabled_feature_flags())?,
            disabled: flags(root.disabled_feature_flags())?,
        };
        Ok(RepoInfo {
            branches,
            tags,
            deleted_tags: deleted.collect(),
            snapshots,
            status: self.status(root.status())?,
            flags,
            metadata: self.metadata(root.metadata())?,
            config: root.config().map(|config| self.slice(config.bytes())),
            log: self.log(root)?,
            extra: root.extra().map(|extra| self.slice(extra.bytes())),
        })
    }

    fn slice(&self, bytes: &[u8]) -> Bytes {
        // An empty list may lie just behind the end.
        match bytes.is_empty() {
            true => Bytes::new(),
            false => self.body.slice_ref(bytes),
        }
    }

    /// Copies a text that counts.
    fn copied(&self, text: &str) -> Result<String, FormatError> {
        match self.budget.spend(text.len()) {
            true => Ok(text.to_owned()),
            false => Err(self.too_large()),
        }
    }

    fn too_large(&self) -> FormatError {
        let (file, limit) = (FILE, self.limit);
        FormatError::MetadataTooLarge { file, limit }
    }

    fn snapshots(
        &mut self,
        list: Tables<'_, fb::SnapshotInfo<'_>>,
    ) -> Result<SnapshotGraph, FormatError> {
        ascending(list.len(), FILE, SortedList::Snapshots, |at| {
            &list.get(at).id().0
        })?;
        let mut entries = Vec::with_capacity(list.len());
        for (position, info) in list.iter().enumerate() {
            let parent = match info.parent_offset() {
                -1 => None,
                offset => match u32::try_from(offset) {
                    Ok(parent) if (parent as usize) < list.len() => Some(parent),
                    _ => {
                        return Err(FormatError::DanglingSnapshot {
                            file: FILE,
                            list: SortedList::Snapshots,
                            position,
                            found: i64::from(offset),
                        });
                    }
                },
            };
            let details = SnapshotDetails {
                id: SnapshotId::from_bytes(info.id().0),
                flushed_at: info.flushed_at(),
                message: Text::within(self.body, info.message()),
                metadata: self.metadata(info.metadata())?,
                pruned: match info.pruned_ancestor_tx_logs() {
                    Some(ids) => self.slice(ids.bytes()),
                    None => Bytes::new(),
                },
            };
            let details = Arc::new(details);
            entries.push(Entry { parent, details });
        }
        let entries = Arc::new(entries);
        let graph = SnapshotGraph { entries };
        match graph.cycle() {
            Some(at) => Err(FormatError::OwnAncestor {
                file: FILE,
                snapshot: graph.entries[at].details.id,
            }),
            None => Ok(graph),
        }
    }

    fn refs(
        &self,
        list: Tables<'_, fb::Ref<'_>>,
        snapshots: &SnapshotGraph,
        kind: SortedList,
    ) -> Result<BTreeMap<Text, SnapshotId>, FormatError> {
        ascending(list.len(), FILE, kind, |at| list.get(at).name().as_bytes())?;
        let tip = |(position, found): (usize, fb::Ref<'_>)| {
            let at = found.snapshot_index();
            match snapshots.entries.get(at as usize) {
                Some(entry) => Ok((Text::within(self.body, found.name()), entry.details.id)),
                None => Err(FormatError::DanglingSnapshot {
                    file: FILE,
                    list: kind,
                    position,
                    found: i64::from(at),
                }),
            }
        };
        list.iter().enumerate().map(tip).collect()
    }

    fn metadata(
        &mut self,
        list: Option<Tables<'_, fb::MetadataItem<'_>>>,
    ) -> Result<Metadata, FormatError> {
        let Some(list) = list else {
            return Ok(Metadata::default());
        };
        let left = self.items.checked_sub(list.len());
        self.items = left.ok_or_else(|| self.too_large())?;
        ascending(list.len(), FILE, SortedList::Metadata, |at| {
            list.get(at).name().as_bytes()
        })?;
        let item = |item: fb::MetadataItem<'_>| {
            let name = Text::within(self.body, item.name());
            (name, self.slice(item.value().bytes()))
        };
        Ok(Metadata(list.iter().map(item).collect()))
    }

    fn status(&self, status: fb::RepoStatus<'_>) -> Result<RepoStatus, FormatError> {
        let reason = status.limited_availability_reason();
        Ok(RepoStatus {
            availability: Availability::from_byte(status.availability()),
            set_at: status.set_at(),
            reason: reason.map(|reason| self.copied(reason)).transpose()?,
        })
    }

    fn log(&self, root: fb::Repo<'_>) -> Result<OpsLog, FormatError> {
        let list = root.latest_updates();
        if list.is_empty() {
            return Err(FormatError::NoUpdates { file: FILE });
        }
        let before = root.repo_before_updates();
        let update = |(position, update): (usize, fb::Update<'_>)| {
            let backup = update.backup_path();
            Ok(Arc::new(Update {
                kind: self.kind(update, position)?,
                updated_at: update.updated_at(),
                backup: backup.map(|backup| self.copied(backup)).transpose()?,
            }))
        };
        Ok(OpsLog {
            updates: list
                .iter()
                .enumerate()
                .map(update)
                .collect::<Result<_, _>>()?,
            before: before.map(|before| self.copied(before)).transpose()?,
        })
    }

    fn kind(&self, update: fb::Update<'_>, position: usize) -> Result<UpdateKind, FormatError> {
        use fb::UpdateType as Tag;
        let id = |id: &fb::ObjectId12| SnapshotId::from_bytes(id.0);
        // The verifier has seen a table of the right kind wherever the tag is known.
        let absent = || FormatError::InvalidUpdate {
            file: FILE,
            position,
        };
        if !self.budget.spend(0) {
            return Err(self.too_large());
        }
        Ok(match update.update_type_type() {
            Tag::NONE => return Err(absent()),
            Tag::RepoInitializedUpdate => UpdateKind::RepoInitialized,
            Tag::RepoMigratedUpdate => {
                let it = update.update_type_as_repo_migrated_update();
                let it = it.ok_or_else(absent)?;
                UpdateKind::RepoMigrated {
                    from_version: it.from_version(),
                    to_version: it.to_version(),
                }
            }
            Tag::ConfigChangedUpdate => UpdateKind::ConfigChanged,
            Tag::MetadataChangedUpdate => UpdateKind::MetadataChanged,
            Tag::TagCreatedUpdate => {
                let it = update.update_type_as_tag_created_update();
                let name = self.copied(it.ok_or_else(absent)?.name())?;
                UpdateKind::TagCreated { name }
            }
            Tag::TagDeletedUpdate => {
                let it = update.update_type_as_tag_deleted_update();
                let it = it.ok_or_else(absent)?;
                UpdateKind::TagDeleted {
                    name: self.copied(it.name())?,
                    previous: id(it.previous_snap_id()),
                }
            }
            Tag::BranchCreatedUpdate => {
                let it = update.update_type_as_branch_created_update();
                let name = self.copied(it.ok_or_else(absent)?.name())?;
                UpdateKind::BranchCreated { name }
            }
            Tag::BranchDeletedUpdate => {
                let it = update.update_type_as_branch_deleted_update();
                let it = it.ok_or_else(absent)?;
                UpdateKind::BranchDeleted {
                    name: self.copied(it.name())?,
                    previous: id(it.previous_snap_id()),
                }
            }
            Tag::BranchResetUpdate => {
                let it = update.update_type_as_branch_reset_update();
                let it = it.ok_or_else(absent)?;
                UpdateKind::BranchReset {
                    name: self.copied(it.name())?,
                    previous: id(it.previous_snap_id()),
                }
            }
            Tag::NewCommitUpdate => {
                let it = update.update_type_as_new_commit_update();
                let it = it.ok_or_else(absent)?;
                UpdateKind::NewCommit {
                    branch: self.copied(it.branch())?,
                    snapshot: id(it.new_snap_id()),
                }
            }
            Tag::CommitAmendedUpdate => {
                let it = update.update_type_as_commit_amended_update();
                let it = it.ok_or_else(absent)?;
                UpdateKind::CommitAmended {
                    branch: self.copied(it.branch())?,
                    previous: id(it.previous_snap_id()),
                    snapshot: id(it.new_snap_id()),
                }
            }
            Tag::NewDetachedSnapshotUpdate => {
                let it = update.update_type_as_new_detached_snapshot_update();
                let snapshot = id(it.ok_or_else(absent)?.new_snap_id());
                UpdateKind::NewDetachedSnapshot { snapshot }
            }
            Tag::GCRanUpdate => UpdateKind::GarbageCollected,
            Tag::ExpirationRanUpdate => UpdateKind::Expired,
            Tag::FeatureFlagChangedUpdate => {
                let it = update.update_type_as_feature_flag_changed_update();
                let it = it.ok_or_else(absent)?;
                UpdateKind::FeatureFlagChanged {
                    id: it.id(),
                    new_value: it.new_value(),
                    is_set: it.is_set(),
                }
            }
            Tag::RepoStatusChangedUpdate => {
                let it = update.update_type_as_repo_status_changed_update();
                let status = self.status(it.ok_or_else(absent)?.status())?;
                UpdateKind::StatusChanged { status }
            }
            other => UpdateKind::Unknown { tag: other.0 },
        })
    }
}

fn flags(
    list: Option<Vector<'_, u16>>,
) -> Result<std::collections::BTreeSet<FeatureFlag>, FormatError> {
    let list: Vec<u16> = list.iter().flat_map(Vector::iter).collect();
    for (before, pair) in list.windows(2).enumerate() {
        let (order, list) = (pair[0].cmp(&pair[1]), SortedList::FeatureFlags);
        order::check(order, FILE, list, before + 1)?;
    }
    Ok(list.into_iter().map(FeatureFlag).collect())
}
