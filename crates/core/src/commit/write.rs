//! Writing the objects of a commit.
//!
//! Ids are drawn here, on one task, in the order of node paths, so that equal histories with equal sources
//! of ids give equal bytes. Then manifests are merged and encoded in parallel, and all objects go to the store
//! at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{NewSnapshot, NodeId, SnapshotId};
use icefield_refs::{SnapshotInfo, Tip, micros_of_time, time_of_micros};

use super::arrays::{ArrayPlan, ManifestRewrite, Split};
use super::blocking::run_blocking;
use super::encode::{encode_log, encode_snapshot};
use super::plan::{ArrayManifests, Description, Planner, manifest_files};
use super::properties::note_shifts;
use super::replaced::Replaced;
use super::run::run_jobs;
use super::shifted::{Before, MovedChunks, moved_chunks};
use super::store::{NewLog, Written, store};
use crate::change_set::{BaseView, ChangeSet};
use crate::objects::StoredManifest;
use crate::packs::SentPacks;
use crate::session::Session;
use crate::{CommitError, SessionError};

/// Arrays whose edits are sorted at a time.
const SORTERS: usize = 4;

/// Edits of an array that are sorted into cells in about the time that the way to another thread and back takes.
const EDITS_AT_ONCE: usize = 4096;

/// Moved chunks whose log is encoded in about that time, and worth to be remembered.
const LOG_AT_ONCE: usize = 4096;

/// Edits whose log is encoded beside the manifests. That of more takes memory that is better there after them.
const LOG_BESIDE: usize = 1 << 16;

/// Writes everything that a commit needs, all of it invisible. Without a tip, no branch is asked where it
/// stands, and the snapshot follows the session's base. The packs are stored when this returns.
#[tracing::instrument(name = "commit.plan", level = "debug", skip_all)]
pub(super) async fn write(
    session: &Session,
    tip: Option<&Tip>,
    description: Description<'_>,
    packs: &SentPacks,
) -> Result<Written, CommitError> {
    let (base, changes, relocations, mut metadata, newer_than) = {
        let state = session.state()?;
        let (base, changes) = (Arc::clone(&state.base), Arc::clone(&state.changes));
        let newer_than = state.newer_than.max(base.snapshot().flushed_at());
        let relocations = Arc::clone(&state.relocations);
        let metadata = state.metadata.clone();
        (base, changes, relocations, metadata, newer_than)
    };
    let rewrite = description.rewrite;
    let may_be_empty = description.allow_empty || !relocations.is_empty();
    if changes.is_empty() && !may_be_empty && rewrite == ManifestRewrite::No {
        return Err(CommitError::NothingToCommit);
    }
    metadata.extend(description.metadata.clone());
    note_shifts(&changes, &mut metadata);
    let replaced = description.replaced;
    if let Some(replaced) = replaced {
        replaced.note(&mut metadata);
    }
    let parent = replaced.map_or(base.snapshot().id(), Replaced::parent);
    let shared = session.shared();
    let mut arrays = Vec::new();
    let planner = Planner {
        session,
        base: &base,
        changes: &changes,
        rewrite,
        relocations: &relocations,
        lost: description.lost,
        extents: description.extents,
    };
    let nodes = planner.nodes(&mut arrays)?;
    // The log does not list one by one which of their chunks are gone or can be seen again.
    let mended: BTreeSet<NodeId> = (arrays.iter())
        .filter(|array| array.mended)
        .map(|array| array.node)
        .collect();
    let snapshot_id = SnapshotId::from_bytes(session.random());
    let before = Arc::new(Before::default());
    let make = async {
        let splits = split(session, &changes, arrays).await?;
        let (kept, jobs): (Vec<_>, Vec<_>) =
            splits.into_iter().map(|it| (it.kept, it.jobs)).unzip();
        if rewrite != ManifestRewrite::No
            && changes.is_empty()
            && !may_be_empty
            && jobs.iter().all(Vec::is_empty)
        {
            return Err(CommitError::NothingToCommit);
        }
        let new = run_jobs(session, &changes, &before, jobs.iter().flatten()).await?;
        Ok((kept, jobs, new))
    };
    let edits: usize = changes.chunks().values().map(|it| it.len()).sum();
    let is_shifted = changes.views().values().any(BaseView::is_shifted);
    let early_log = async {
        if is_shifted || edits > LOG_BESIDE || replaced.is_some() {
            return Ok(None);
        }
        let (writer, changes) = (shared.objects.writer().clone(), Arc::clone(&changes));
        let (base, mended) = (Arc::clone(&base), mended.clone());
        let none = BTreeMap::new();
        let encode = move || encode_log(&writer, snapshot_id, (&base, &changes), mended, &none);
        let file = run_blocking(edits <= EDITS_AT_ONCE, encode).await?;
        Ok(Some(file.map_err(SessionError::from)?))
    };
    let ((kept, jobs, new), early_log) = futures::try_join!(make, early_log)?;
    let moved = moved_chunks(session, &base, &changes, &before).await?;
    let mut results = new.iter();
    let arrays: Vec<ArrayManifests> = (kept.into_iter().zip(&jobs))
        .map(|(kept, jobs)| {
            let new = results.by_ref().take(jobs.len()).flatten().cloned();
            let new = new.collect();
            ArrayManifests { kept, new }
        })
        .collect();
    let flushed_at = micros_of_time(shared.clock.now()).max(newer_than.saturating_add(1));
    let snapshot = encode_snapshot(
        session,
        &base,
        &changes,
        &nodes,
        &arrays,
        NewSnapshot {
            id: snapshot_id,
            parent_id: Some(parent),
            flushed_at,
            message: description.message,
            metadata: &metadata,
            manifest_files: &manifest_files(&base, &nodes, &arrays)?,
        },
    )?;
    let files: Vec<StoredManifest> = (arrays.into_iter())
        .flat_map(|array| array.new)
        .filter_map(|new| Some((new.info.id, new.file?, new.decoded)))
        .collect();
    let moved_most = moved.values().map(MovedChunks::most).sum::<usize>();
    let log = {
        let (writer, changes) = (shared.objects.writer().clone(), Arc::clone(&changes));
        let base = Arc::clone(&base);
        let objects = Arc::clone(&shared.objects);
        let amended = replaced.map(|it| (it.clone(), snapshot.clone()));
        let encode = move || {
            let own = encode_log(&writer, snapshot_id, (&base, &changes), mended, &moved)?;
            match amended {
                Some((replaced, snapshot)) => {
                    replaced.log(&writer, (snapshot_id, &snapshot, &own), &objects)
                }
                None => Ok(own),
            }
        };
        NewLog {
            remembered: moved_most <= LOG_AT_ONCE,
            file: async move {
                match early_log {
                    Some(file) => Ok(file),
                    None => Ok(run_blocking(moved_most <= LOG_AT_ONCE, encode).await??),
                }
            },
        }
    };
    let info = SnapshotInfo {
        id: snapshot_id,
        parent_id: Some(parent),
        written_at: time_of_micros(flushed_at),
        message: description.message.to_owned(),
        metadata,
        pruned_logs: Vec::new(),
    };
    let files = (files, packs);
    let written = store(session, (info, parent), snapshot, log, files, tip).await?;
    session.note_written(|stored| {
        for (job, manifests) in jobs.iter().flatten().zip(&new) {
            stored.note(job, &changes, manifests);
        }
    })?;
    Ok(written)
}

/// Decides what of each array is rewritten.
async fn split(
    session: &Session,
    changes: &Arc<ChangeSet>,
    arrays: Vec<ArrayPlan>,
) -> Result<Vec<Split>, SessionError> {
    let shared = session.shared();
    stream::iter(arrays)
        .map(|array| async move {
            let edits = changes.chunks_of(&array.node).map_or(0, |it| it.len());
            let (changes, configs) = (Arc::clone(changes), shared.configs.in_force());
            let writer = shared.objects.writer().clone();
            let split = move || array.split(&changes, &configs.splits, writer.writer());
            Ok(run_blocking(edits <= EDITS_AT_ONCE, split).await??)
        })
        .buffered(SORTERS)
        .try_collect()
        .await
}
