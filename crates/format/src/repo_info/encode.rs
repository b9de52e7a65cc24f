//! Writing `repo`.

use std::collections::BTreeMap;

use bytes::Bytes;
use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, UnionWIPOffset, Vector, WIPOffset};

use super::metadata::Metadata;
use super::ops_log::{Update, UpdateKind};
use super::status::{FeatureFlag, RepoStatus};
use super::{RepoInfo, RepoRoot};
use crate::envelope::{FileKind, IDENTIFIER, SpecVersion, Writer};
use crate::error::{FormatError, FormatFile};
use crate::generated as fb;
use crate::id::SnapshotId;
use crate::limits;
use crate::text::Text;
use crate::verified::Root;

const FILE: FormatFile = FormatFile::RepoInfo;
/// Bytes of a table with its vtable and its place in a list, at most.
const TABLE: usize = 96;

type Builder = FlatBufferBuilder<'static>;
type Tables<T> = WIPOffset<Vector<'static, ForwardsUOffset<T>>>;

impl RepoInfo {
    /// Returns the object. The same state gives the same bytes.
    ///
    /// # Errors
    /// `TooLarge`; `TooManyTables` if readers with the reference's limits would refuse it; `UnknownUpdate` if an entry of
    /// the log is of an unknown kind, which no state has that [`RepoInfo::edit`] made.
    pub fn encode(&self, writer: &Writer) -> Result<Bytes, FormatError> {
        for (position, update) in self.log.updates().enumerate() {
            if let UpdateKind::Unknown { tag } = update.kind {
                return Err(FormatError::UnknownUpdate {
                    file: FILE,
                    position,
                    tag,
                });
            }
        }
        let (tables, bytes) = self.size();
        let limit = RepoRoot::MAX_TABLES;
        if tables > limit {
            let found = tables;
            return Err(FormatError::TooManyTables {
                file: FILE,
                found,
                limit,
            });
        }
        let mut builder = Builder::with_capacity(bytes.min(64 << 20));
        limits::check_room(&builder, FILE, bytes)?;
        let root = self.root(&mut builder);
        builder.finish(root, Some(IDENTIFIER));
        let body = builder.finished_data();
        limits::check_readable::<RepoRoot>(body, 0, FILE)?;
        writer.seal(FILE, SpecVersion::V2, FileKind::RepoInfo, body)
    }

    /// Returns the number of tables and at least the bytes that the body has.
    fn size(&self) -> (usize, usize) {
        let (mut tables, mut bytes) = (2, 0);
        let mut add = |count: usize, text: usize| {
            tables += count;
            bytes += count * TABLE + text;
        };
        let items = |metadata: &Metadata| {
            let text = metadata
                .0
                .iter()
                .map(|(name, value)| name.byte_len() + value.len());
            (metadata.0.len(), text.sum::<usize>())
        };
        for name in self.branches.keys().chain(self.tags.keys()) {
            add(1, name.byte_len());
        }
        // Names of deleted tags are strings and no tables, which a reader counts, too.
        for name in &self.deleted_tags {
            add(1, name.byte_len());
        }
        for entry in self.snapshots.entries.iter() {
            let (count, text) = items(&entry.details.metadata);
            let details = &entry.details;
            add(
                1 + count,
                text + details.message.byte_len() + details.pruned.len(),
            );
        }
        for update in self.log.updates() {
            let backup = update.backup.as_ref().map_or(0, String::len);
            add(3, backup + text_of(&update.kind));
        }
        let (count, text) = items(&self.metadata);
        add(count, text);
        let reason = self.status.reason.as_ref().map_or(0, String::len);
        let others = [&self.config, &self.extra]
            .into_iter()
            .flatten()
            .map(Bytes::len);
        let flags = 2 * (self.flags.enabled.len() + self.flags.disabled.len());
        let before = self.log.continues_in().map_or(0, str::len);
        add(4, reason + others.sum::<usize>() + flags + before);
        (tables, bytes)
    }

    fn root(&self, builder: &mut Builder) -> WIPOffset<fb::Repo<'static>> {
        let deleted: Vec<_> = self
            .deleted_tags
            .iter()
            .map(|name| name.write(builder))
            .collect();
        let args = fb::RepoArgs {
            spec_version: SpecVersion::V2 as u8,
            tags: Some(self.refs(builder, &self.tags)),
            branches: Some(self.refs(builder, &self.branches)),
            deleted_tags: Some(builder.create_vector(&deleted)),
            snapshots: Some(self.snapshot_tables(builder)),
            status: Some(status(builder, &self.status)),
            metadata: metadata(builder, &self.metadata),
            latest_updates: Some(self.updates(builder)),
            repo_before_updates: self
                .log
                .continues_in()
                .map(|name| builder.create_string(name)),
            config: self.config.as_ref().map(|it| builder.create_vector(it)),
            enabled_feature_flags: flags(builder, &self.flags.enabled),
            disabled_feature_flags: flags(builder, &self.flags.disabled),
            extra: self.extra.as_ref().map(|it| builder.create_vector(it)),
        };
        fb::Repo::create(builder, &args)
    }

    fn refs(
        &self,
        builder: &mut Builder,
        refs: &BTreeMap<Text, SnapshotId>,
    ) -> Tables<fb::Ref<'static>> {
        let table = |(name, id): (&Text, &SnapshotId)| {
            let at = self.snapshots.position(id);
            let args = fb::RefArgs {
                name: Some(name.write(builder)),
                snapshot_index: at.expect("BUG: every ref is a snapshot of the graph") as u32,
            };
            fb::Ref::create(builder, &args)
        };
        let tables: Vec<_> = refs.iter().map(table).collect();
        builder.create_vector(&tables)
    }

    fn snapshot_tables(&self, builder: &mut Builder) -> Tables<fb::SnapshotInfo<'static>> {
        let mut tables = Vec::with_capacity(self.snapshots.len());
        for entry in self.snapshots.entries.iter() {
            let details = &entry.details;
            let pruned: Vec<_> = (details.pruned.as_chunks().0.iter())
                .map(|id| fb::ObjectId12(*id))
                .collect();
            let id = fb::ObjectId12(*details.id.as_bytes());
            let args = fb::SnapshotInfoArgs {
                id: Some(&id),
                parent_offset: entry.parent.map_or(-1, u32::cast_signed),
                flushed_at: details.flushed_at,
                message: Some(details.message.write(builder)),
                metadata: metadata(builder, &details.metadata),
                // Absent, never an empty list.
                pruned_ancestor_tx_logs: (!pruned.is_empty())
                    .then(|| builder.create_vector(&pruned)),
            };
            tables.push(fb::SnapshotInfo::create(builder, &args));
        }
        builder.create_vector(&tables)
    }

    fn updates(&self, builder: &mut Builder) -> Tables<fb::Update<'static>> {
        let table = |update: &Update| {
            let (update_type_type, value) = kind(builder, &update.kind);
            let backup = update.backup.as_ref();
            let args = fb::UpdateArgs {
                update_type_type,
                update_type: Some(value),
                updated_at: update.updated_at,
                backup_path: backup.map(|it| builder.create_string(it)),
            };
            fb::Update::create(builder, &args)
        };
        let tables: Vec<_> = self.log.updates().map(table).collect();
        builder.create_vector(&tables)
    }
}

fn text_of(kind: &UpdateKind) -> usize {
    match kind {
        UpdateKind::TagCreated { name }
        | UpdateKind::TagDeleted { name, .. }
        | UpdateKind::BranchCreated { name }
        | UpdateKind::BranchDeleted { name, .. }
        | UpdateKind::BranchReset { name, .. }
        | UpdateKind::NewCommit { branch: name, .. }
        | UpdateKind::CommitAmended { branch: name, .. } => name.len(),
        UpdateKind::StatusChanged { status } => status.reason.as_ref().map_or(0, String::len),
        _ => 0,
    }
}

fn status(builder: &mut Builder, status: &RepoStatus) -> WIPOffset<fb::RepoStatus<'static>> {
    let reason = status.reason.as_ref();
    let args = fb::RepoStatusArgs {
        availability: status.availability.to_byte(),
        set_at: status.set_at,
        limited_availability_reason: reason.map(|reason| builder.create_string(reason)),
    };
    fb::RepoStatus::create(builder, &args)
}

/// Writes metadata; an empty one is left out.
fn metadata(
    builder: &mut Builder,
    metadata: &Metadata,
) -> Option<Tables<fb::MetadataItem<'static>>> {
    if metadata.0.is_empty() {
        return None;
    }
    let item = |(name, value): &(Text, Bytes)| {
        let args = fb::MetadataItemArgs {
            name: Some(name.write(builder)),
            value: Some(builder.create_vector(value)),
        };
        fb::MetadataItem::create(builder, &args)
    };
    let tables: Vec<_> = metadata.0.iter().map(item).collect();
    Some(builder.create_vector(&tables))
}

fn flags(
    builder: &mut Builder,
    flags: &std::collections::BTreeSet<FeatureFlag>,
) -> Option<WIPOffset<Vector<'static, u16>>> {
    let flags: Vec<u16> = flags.iter().map(|flag| flag.0).collect();
    (!flags.is_empty()).then(|| builder.create_vector(&flags))
}

fn kind(builder: &mut Builder, kind: &UpdateKind) -> (fb::UpdateType, WIPOffset<UnionWIPOffset>) {
    use fb::UpdateType as Tag;
    let id = |id: &SnapshotId| fb::ObjectId12(*id.as_bytes());
    macro_rules! table {
        ($table:ident, $args:ident { $($field:ident: $value:expr),* $(,)? }) => {{
            let args = fb::$args { $($field: $value),* };
            (Tag::$table, fb::$table::create(builder, &args).as_union_value())
        }};
    }
    match kind {
        UpdateKind::RepoInitialized => {
            table!(RepoInitializedUpdate, RepoInitializedUpdateArgs {})
        }
        UpdateKind::RepoMigrated {
            from_version,
            to_version,
        } => table!(
            RepoMigratedUpdate,
            RepoMigratedUpdateArgs {
                from_version: *from_version,
                to_version: *to_version
            }
        ),
        UpdateKind::ConfigChanged => table!(ConfigChangedUpdate, ConfigChangedUpdateArgs {}),
        UpdateKind::MetadataChanged => table!(MetadataChangedUpdate, MetadataChangedUpdateArgs {}),
        UpdateKind::TagCreated { name } => {
            let name = Some(builder.create_string(name));
            table!(TagCreatedUpdate, TagCreatedUpdateArgs { name: name })
        }
        UpdateKind::TagDeleted { name, previous } => {
            let (name, previous) = (Some(builder.create_string(name)), id(previous));
            table!(
                TagDeletedUpdate,
                TagDeletedUpdateArgs {
                    name: name,
                    previous_snap_id: Some(&previous)
                }
            )
        }
        UpdateKind::BranchCreated { name } => {
            let name = Some(builder.create_string(name));
            table!(BranchCreatedUpdate, BranchCreatedUpdateArgs { name: name })
        }
        UpdateKind::BranchDeleted { name, previous } => {
            let (name, previous) = (Some(builder.create_string(name)), id(previous));
            table!(
                BranchDeletedUpdate,
                BranchDeletedUpdateArgs {
                    name: name,
                    previous_snap_id: Some(&previous)
                }
            )
        }
        UpdateKind::BranchReset { name, previous } => {
            let (name, previous) = (Some(builder.create_string(name)), id(previous));
            table!(
                BranchResetUpdate,
                BranchResetUpdateArgs {
                    name: name,
                    previous_snap_id: Some(&previous)
                }
            )
        }
        UpdateKind::NewCommit { branch, snapshot } => {
            let (branch, snapshot) = (Some(builder.create_string(branch)), id(snapshot));
            table!(
                NewCommitUpdate,
                NewCommitUpdateArgs {
                    branch: branch,
                    new_snap_id: Some(&snapshot)
                }
            )
        }
        UpdateKind::CommitAmended {
            branch,
            previous,
            snapshot,
        } => {
            let branch = Some(builder.create_string(branch));
            let (previous, snapshot) = (id(previous), id(snapshot));
            table!(
                CommitAmendedUpdate,
                CommitAmendedUpdateArgs {
                    branch: branch,
                    previous_snap_id: Some(&previous),
                    new_snap_id: Some(&snapshot)
                }
            )
        }
        UpdateKind::NewDetachedSnapshot { snapshot } => {
            let snapshot = id(snapshot);
            table!(
                NewDetachedSnapshotUpdate,
                NewDetachedSnapshotUpdateArgs {
                    new_snap_id: Some(&snapshot)
                }
            )
        }
        UpdateKind::GarbageCollected => table!(GCRanUpdate, GCRanUpdateArgs {}),
        UpdateKind::Expired => table!(ExpirationRanUpdate, ExpirationRanUpdateArgs {}),
        UpdateKind::FeatureFlagChanged {
            id,
            new_value,
            is_set,
        } => table!(
            FeatureFlagChangedUpdate,
            FeatureFlagChangedUpdateArgs {
                id: *id,
                new_value: *new_value,
                is_set: *is_set
            }
        ),
        UpdateKind::StatusChanged { status: it } => {
            let status = Some(status(builder, it));
            table!(
                RepoStatusChangedUpdate,
                RepoStatusChangedUpdateArgs { status: status }
            )
        }
        UpdateKind::Unknown { .. } => unreachable!("BUG: a log with such an entry is not written"),
    }
}
