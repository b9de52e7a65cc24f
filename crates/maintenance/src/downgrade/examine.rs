//! Finding out, before anything is written, what version 1 has no place for.

use std::collections::{BTreeMap, BTreeSet};

use futures::TryStreamExt;
use futures::stream::{self, StreamExt};
use icefield_core::{Containers, FetchError, Repository, RepositoryError};
use icefield_format::{
    Availability, ChunkRef, Manifest, ManifestId, Snapshot, SnapshotId, SpecVersion,
    TransactionLog, layout,
};
use icefield_refs::NameError;

use super::manifests::Locations;
use super::report::{NotCarried, NotCarriedKind};
use crate::Progress;
use crate::copy::plan::{Plan, SourceRefs, manifests_of, repository_error};
use crate::copy::{CopyError, spec_v1};

/// Files on their way at a time: they may be large.
const FILES: usize = 4;

/// The findings in the files of a plan.
#[derive(Debug, Default)]
pub(super) struct Examined {
    /// By snapshot: what is in its own file, its log, and the manifests that it names first.
    found: BTreeMap<SnapshotId, Vec<NotCarried>>,
    /// Snapshots that version 1 cannot hold, for what they have or what comes before them.
    refused: BTreeSet<SnapshotId>,
}

impl Examined {
    /// Reads the files of a plan.
    pub(super) async fn of(
        source: &Repository,
        containers: &Containers,
        plan: &Plan,
        progress: &dyn Progress,
    ) -> Result<Self, CopyError> {
        let mut manifests = examine_manifests(source, containers, plan, progress).await?;
        let mut examined = Self::default();
        progress.stage("looking at snapshots", Some(plan.steps.len() as u64));
        let mut files = stream::iter(&plan.steps)
            .map(|step| async move {
                let (snapshot, log) =
                    futures::join!(source.snapshot(step.id), stored_log(source, step.id));
                Ok::<_, CopyError>((step, snapshot.map_err(repository_error)?, log?))
            })
            .buffered(FILES)
            .boxed();
        while let Some((step, snapshot, log)) = files.try_next().await? {
            let mut found = Vec::new();
            let mut is_refused = false;
            for id in manifests_of(&snapshot) {
                let Some(of_manifest) = manifests.get_mut(&id) else {
                    continue;
                };
                is_refused |= of_manifest.is_refused;
                found.append(&mut of_manifest.found);
            }
            examine_snapshot(&snapshot, &mut found);
            if let Some(log) = log {
                examine_log(&log, &mut found);
            }
            is_refused |= found.iter().any(|it| it.kind.changes_reading());
            // Parents come before their children.
            let parent = step.parent.filter(|_| !step.shortened);
            if is_refused || parent.is_some_and(|parent| examined.refused.contains(&parent)) {
                examined.refused.insert(step.id);
            }
            if !found.is_empty() {
                examined.found.insert(step.id, found);
            }
            progress.advance(1, 0);
        }
        Ok(examined)
    }

    /// Takes the refs away that lead to what version 1 cannot hold. Returns which.
    pub(super) fn leave_out(&self, refs: &mut SourceRefs) -> Vec<String> {
        let mut left_out = Vec::new();
        refs.branches.retain(|name, id| {
            let stays = !self.refused.contains(id);
            if !stays {
                left_out.push(format!("branch {name}"));
            }
            stays
        });
        refs.tags.retain(|name, id| {
            let stays = !self.refused.contains(id);
            if !stays {
                left_out.push(format!("tag {name}"));
            }
            stays
        });
        left_out
    }

    /// Returns what is refused.
    pub(super) fn refusals(&self) -> Vec<NotCarried> {
        let found = self.found.values().flatten();
        let refused = found.filter(|it| it.kind.changes_reading());
        refused.cloned().collect()
    }

    /// Returns what was found, of what is refused all, and of the rest what belongs to a plan.
    pub(super) fn of_plan(self, plan: &Plan) -> Vec<NotCarried> {
        let carried: BTreeSet<_> = plan.steps.iter().map(|step| step.id).collect();
        let found = self.found.into_iter();
        let found = found.flat_map(|(id, found)| found.into_iter().map(move |it| (id, it)));
        found
            .filter(|(id, it)| it.kind.changes_reading() || carried.contains(id))
            .map(|(_, it)| it)
            .collect()
    }
}

/// Takes the refs away whose names version 1 refuses. Returns them.
pub(super) fn refuse_names(refs: &mut SourceRefs) -> Vec<NotCarried> {
    let mut refused = Vec::new();
    let mut refuse = |object: String, error: NameError| {
        refused.push(NotCarried {
            kind: NotCarriedKind::RefName,
            object,
            detail: error.to_string(),
        });
    };
    refs.branches
        .retain(|name, _| match name.require_spec_v1() {
            Ok(()) => true,
            Err(error) => {
                refuse(format!("branch {name}"), error);
                false
            }
        });
    refs.tags.retain(|name, _| match name.require_spec_v1() {
        Ok(()) => true,
        Err(error) => {
            refuse(format!("tag {name}"), error);
            false
        }
    });
    // No tag of version 1 can ever take such a name.
    refs.deleted_tags
        .retain(|name| name.require_spec_v1().is_ok());
    refused
}

/// Returns what the repository says of itself and version 1 has no place for.
pub(super) async fn settings(source: &Repository) -> Result<Vec<NotCarried>, CopyError> {
    let ledger = source.ledger();
    let status = ledger.status().await.map_err(CopyError::SourceRefs)?;
    let settings = ledger.settings().await.map_err(CopyError::SourceRefs)?;
    let has_extra = ledger.has_extra().await.map_err(CopyError::SourceRefs)?;
    let mut found = Vec::new();
    if has_extra {
        found.push(extra(layout::REPO.to_owned()));
    }
    let mut push = |kind, object: String, detail: &str| {
        let detail = detail.to_owned();
        found.push(NotCarried {
            kind,
            object,
            detail,
        });
    };
    if status.availability != Availability::Online {
        let said = format!("the status {:?}", status.availability);
        push(NotCarriedKind::Status, said, "the copy takes writes");
    }
    for (flag, value) in settings.flags.set() {
        let object = format!("{flag:?} = {value}");
        push(
            NotCarriedKind::FeatureFlag,
            object,
            "version 1 has no feature flags",
        );
    }
    for key in settings.metadata.into_keys() {
        push(
            NotCarriedKind::Metadata,
            key,
            "version 1 has no metadata of the repository",
        );
    }
    push(
        NotCarriedKind::OperationsLog,
        layout::REPO.to_owned(),
        "version 1 has no operations log",
    );
    Ok(found)
}

/// Returns the snapshots that the repository lists and that no ref of it reaches.
pub(super) async fn detached(source: &Repository) -> Result<Vec<NotCarried>, CopyError> {
    let reached = crate::copy::reachable(source).await?;
    let listed = source.ledger().listed().await;
    let listed = listed.map_err(CopyError::SourceRefs)?.into_keys();
    let detached = listed.filter(|id| reached.binary_search(id.as_bytes()).is_err());
    let named = detached.map(|id| NotCarried {
        kind: NotCarriedKind::DetachedSnapshot,
        object: id.to_string(),
        detail: "a copy has what refs reach".to_owned(),
    });
    Ok(named.collect())
}

/// Reads a log as it is stored; none if it is missing.
async fn stored_log(
    source: &Repository,
    id: SnapshotId,
) -> Result<Option<std::sync::Arc<TransactionLog>>, CopyError> {
    match source.transaction_log(id).await {
        Ok(log) => Ok(Some(log)),
        Err(RepositoryError::Fetch(FetchError::Missing { .. })) => Ok(None),
        Err(error) => Err(repository_error(error)),
    }
}

fn extra(object: String) -> NotCarried {
    NotCarried {
        kind: NotCarriedKind::Extra,
        object,
        detail: "a field `extra` has something that this release does not know".to_owned(),
    }
}

fn examine_snapshot(snapshot: &Snapshot, found: &mut Vec<NotCarried>) {
    if snapshot.spec_version() == SpecVersion::V1 {
        return;
    }
    let id = snapshot.id();
    let mut files = snapshot.manifest_files();
    let has_extra = snapshot.extra().is_some()
        || snapshot.nodes().any(|node| node.extra().is_some())
        || files.any(|file| snapshot.manifest_file_extra(&file.id).is_some());
    if has_extra {
        found.push(extra(layout::snapshot_key(id)));
    }
    for node in snapshot.nodes() {
        let Some(array) = node.array() else { continue };
        if let Err(problem) = spec_v1::with_chunk_lengths(array, node.user_data()) {
            found.push(NotCarried {
                kind: NotCarriedKind::ChunkGrid,
                object: format!("array {} in snapshot {id}", node.path()),
                detail: problem.to_string(),
            });
        }
    }
}

fn examine_log(log: &TransactionLog, found: &mut Vec<NotCarried>) {
    if log.spec_version() == SpecVersion::V1 {
        return;
    }
    let moved = log.moved_nodes();
    let first = moved
        .len()
        .checked_sub(1)
        .and_then(|_| log.moved_nodes().next());
    if let Some(first) = first {
        found.push(NotCarried {
            kind: NotCarriedKind::Move,
            object: format!("snapshot {}", log.id()),
            detail: format!(
                "{} moved, the first from {} to {}",
                nodes(moved.len()),
                first.from(),
                first.to()
            ),
        });
    }
    if log.extra().is_some() {
        found.push(extra(layout::transaction_log_key(log.id())));
    }
}

fn nodes(count: usize) -> String {
    match count {
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    }
}

/// The findings of a manifest, until the first snapshot that names it reports them.
#[derive(Debug, Default)]
struct OfManifest {
    found: Vec<NotCarried>,
    is_refused: bool,
}

async fn examine_manifests(
    source: &Repository,
    containers: &Containers,
    plan: &Plan,
    progress: &dyn Progress,
) -> Result<BTreeMap<[u8; 12], OfManifest>, CopyError> {
    progress.stage("looking at manifests", Some(plan.manifests.len() as u64));
    let mut all = BTreeMap::new();
    let mut locations = Locations::of(containers);
    let mut files = stream::iter(&plan.manifests)
        .map(|id| source.manifest(ManifestId::from_bytes(*id)))
        .buffered(FILES)
        .boxed();
    while let Some(manifest) = files.try_next().await.map_err(repository_error)? {
        let found = examine_manifest(&manifest, &mut locations)?;
        if !found.is_empty() {
            let is_refused = found.iter().any(|it| it.kind.changes_reading());
            let id = *manifest.id().as_bytes();
            all.insert(id, OfManifest { found, is_refused });
        }
        progress.advance(1, 0);
    }
    Ok(all)
}

fn examine_manifest(
    manifest: &Manifest,
    locations: &mut Locations<'_>,
) -> Result<Vec<NotCarried>, CopyError> {
    let mut found = Vec::new();
    if manifest.spec_version() == SpecVersion::V1 {
        return Ok(found);
    }
    let key = layout::manifest_key(manifest.id());
    let mut push = |kind, detail| {
        let object = key.clone();
        found.push(NotCarried {
            kind,
            object,
            detail,
        });
    };
    let mut has_extra = manifest.extra().is_some();
    let (mut named, mut refused) = (0_u64, 0_u64);
    let mut first: Option<String> = None;
    for array in manifest.arrays() {
        has_extra |= array.extra().is_some();
        for record in array.refs() {
            has_extra |= record.extra().is_some();
            let ChunkRef::Virtual { location, .. } = record.chunk_ref()? else {
                continue;
            };
            match locations.spelt(location) {
                Ok(_) => named += u64::from(is_relative(location)),
                Err(reason) => {
                    refused += 1;
                    first.get_or_insert_with(|| format!("{location}: {reason}"));
                }
            }
        }
    }
    if let Some(first) = first {
        let detail =
            format!("version 1 cannot spell the locations of {refused} chunks, such as {first}");
        push(NotCarriedKind::Location, detail);
    }
    if named > 0 {
        let detail = format!("the locations of {named} chunks name their container");
        push(NotCarriedKind::ContainerName, detail);
    }
    if manifest.location_dictionary().is_some() {
        let detail = "version 1 has no compressed locations".to_owned();
        push(NotCarriedKind::CompressedLocation, detail);
    }
    if has_extra {
        found.push(extra(key));
    }
    Ok(found)
}

fn is_relative(location: &str) -> bool {
    let scheme = location.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("vcc"))
}
