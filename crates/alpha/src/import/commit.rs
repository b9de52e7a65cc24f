//! One commit of an import: what a snapshot changed, in a session of today.

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_core::{
    BranchName, CommitOutcome, NodePath, Repository, Session, SnapshotId, VirtualRefs,
    VirtualSource, WriteMode,
};
use serde_json::json;

use super::difference::{Loaded, NodeEdits};
use super::{ALPHA, ImportError, ImportReport, Limits, Progress};
use crate::layout::ObjectKind;
use crate::{AlphaError, AlphaRepository, ChunkEntry, Payload, Rule};

/// Virtual refs that are set at once.
const ROWS: usize = 1 << 16;

pub(super) struct Copier<'a> {
    pub(super) source: &'a AlphaRepository,
    pub(super) limits: Limits,
    pub(super) progress: &'a dyn Progress,
}

impl Copier<'_> {
    /// Commits to the branch what `child` changed since `parent`, which is its tip.
    pub(super) async fn commit(
        &self,
        repository: &Repository,
        branch: &BranchName,
        parent: &Loaded,
        child: &Loaded,
        report: &mut ImportReport,
    ) -> Result<SnapshotId, ImportError> {
        let Some(snapshot) = child.snapshot() else {
            unreachable!("BUG: a step has a snapshot");
        };
        let needed_by = self.source.name_of(ObjectKind::Snapshot, snapshot.id)?;
        let session = repository.write_session(branch.clone()).await?;
        let difference = child.since(parent, self.source)?;
        for path in &difference.deleted {
            session.delete_node(path).await?;
        }
        for edits in &difference.nodes {
            self.node(&session, edits, &needed_by, report).await?;
        }
        let mut name = ALPHA.to_owned();
        while snapshot.properties.contains_key(&name) {
            name.push('_');
        }
        let origin = json!({
            "id": snapshot.id.to_string(),
            "written_at": snapshot.written_at,
            "started_at": snapshot.started_at,
        });
        let mut commit = session.commit(&snapshot.message).allow_empty();
        for (name, value) in &snapshot.properties {
            commit = commit.metadata(name, value.clone());
        }
        match commit.metadata(name, origin).await? {
            CommitOutcome::Committed(id) => Ok(id),
            CommitOutcome::Unknown { source, .. } => Err(ImportError::Unknown {
                name: format!("the commit of {needed_by}"),
                source,
            }),
            _ => Err(ImportError::Disturbed {
                branch: branch.to_string(),
            }),
        }
    }

    async fn node(
        &self,
        session: &Session,
        edits: &NodeEdits<'_>,
        needed_by: &str,
        report: &mut ImportReport,
    ) -> Result<(), ImportError> {
        let path = &edits.node.path;
        // Before the metadata: a chunk outside a smaller grid would come back when it grows again.
        for index in &edits.removed {
            session.delete_chunk(path, index).await?;
        }
        if edits.document {
            let document = edits.node.document.clone();
            let mode = WriteMode::Overwrite;
            session.set_metadata(path, document, mode).await?;
        }
        let is_virtual = |entry: &&ChunkEntry| matches!(entry.payload, Payload::Virtual { .. });
        let (elsewhere, here): (Vec<_>, Vec<_>) = edits.set.iter().copied().partition(is_virtual);
        for rows in elsewhere.chunks(ROWS) {
            self.refer(session, path, rows).await?;
            report.virtual_chunks += rows.len() as u64;
        }
        self.copy(session, path, &here, needed_by, report).await
    }

    /// Copies chunks, as many at a time as the limits allow for the longest of them.
    async fn copy(
        &self,
        session: &Session,
        path: &NodePath,
        entries: &[&ChunkEntry],
        needed_by: &str,
        report: &mut ImportReport,
    ) -> Result<(), ImportError> {
        let longest = entries.iter().map(|it| length(it)).max().unwrap_or(1);
        let fit = usize::try_from(self.limits.bytes / longest.max(1)).unwrap_or(usize::MAX);
        let at_once = fit.min(self.limits.chunks).max(1);
        let copies = entries.iter().map(|entry| async move {
            let bytes = self.source.chunk(&entry.payload, needed_by).await?;
            let Some(bytes) = bytes else { return Ok(0) };
            let length = bytes.len() as u64;
            let mode = WriteMode::Overwrite;
            session.set_chunk(path, &entry.index, bytes, mode).await?;
            Ok::<u64, ImportError>(length)
        });
        // Collected first: a closure that borrows makes the whole future not `Send`.
        let copies: Vec<_> = copies.collect();
        let mut copies = stream::iter(copies).buffer_unordered(at_once);
        while let Some(length) = copies.try_next().await? {
            report.chunks += 1;
            report.bytes = report.bytes.saturating_add(length);
            self.progress.chunk(length);
        }
        Ok(())
    }

    async fn refer(
        &self,
        session: &Session,
        path: &NodePath,
        entries: &[&ChunkEntry],
    ) -> Result<(), ImportError> {
        let mut sources: Vec<VirtualSource> = Vec::new();
        let mut positions = std::collections::HashMap::new();
        let (mut coordinates, mut source) = (Vec::new(), Vec::new());
        let (mut offsets, mut lengths) = (Vec::new(), Vec::new());
        for entry in entries {
            let Payload::Virtual {
                location,
                offset,
                length,
            } = &entry.payload
            else {
                continue;
            };
            let position = match positions.get(location) {
                Some(position) => *position,
                None => {
                    let found = VirtualSource::new(location).map_err(|source| {
                        let location = location.to_string();
                        AlphaError::unsupported(path, Rule::Location { location, source })
                    })?;
                    let position = u32::try_from(sources.len()).unwrap_or(u32::MAX);
                    sources.push(found);
                    positions.insert(location, position);
                    position
                }
            };
            coordinates.extend_from_slice(&entry.index);
            source.push(position);
            offsets.push(*offset);
            lengths.push(*length);
        }
        let refs = VirtualRefs {
            coordinates: &coordinates,
            sources: &sources,
            source: &source,
            offsets: &offsets,
            lengths: &lengths,
        };
        Ok(session.set_virtual_refs(path, refs).await?)
    }
}

fn length(entry: &ChunkEntry) -> u64 {
    match &entry.payload {
        // In memory already.
        Payload::Inline(_) => 0,
        Payload::Native { length, .. } | Payload::Virtual { length, .. } => *length,
    }
}
