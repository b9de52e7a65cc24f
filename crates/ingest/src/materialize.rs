//! Virtual chunks become native ones: their bytes are copied into the repository, as they are.

use std::fmt;
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_core::{
    BranchName, ChunkIndex, ChunkLocation, ChunkRead, CommitOutcome, Interrupt, NodeKind, NodePath,
    Repository, Session, SessionError, WriteMode,
};

use crate::grid_part::{GridPart, place_of};
use crate::limits::Budget;
use crate::operation::{self, operation_methods};
use crate::{ImportError, Limits, Progress};

/// Chunks that are listed before their bytes are read together.
const BATCH: usize = 1024;

/// The number of virtual chunks that were copied into the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MaterializeReport {
    /// The number of arrays that had virtual chunks.
    pub arrays: u64,
    /// The number of chunks that were copied.
    pub chunks: u64,
    /// The bytes of these chunks.
    pub bytes: u64,
}

/// Copies the virtual chunks at and below a path into the repository.
#[must_use = "nothing is copied before it is run"]
pub struct Materialize {
    path: NodePath,
    part: GridPart,
    limits: Limits,
    progress: Arc<dyn Progress>,
    interrupt: Interrupt,
}

impl fmt::Debug for Materialize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Materialize")
            .field("path", &self.path)
            .field("part", &self.part)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Materialize {
    /// Returns the copying of all virtual chunks at and below a path.
    pub fn new(path: NodePath) -> Self {
        Self {
            path,
            part: GridPart::WHOLE,
            limits: Limits::default(),
            progress: Arc::new(()),
            interrupt: Interrupt::new(),
        }
    }

    /// Copies only one of several parts, by its number from 0 on: the chunks of a run of places in the grids of the
    /// arrays. [`Materialize::stage`] of each part in a fork of one session, all merged, has the same result as the
    /// whole.
    pub fn part(mut self, number: u32, of: u32) -> Self {
        self.part = GridPart::new(number, of);
        self
    }

    operation_methods!("ImportError", "the branch is not being moved");

    /// Copies on a branch, in one commit. The commit is `None` if there is no virtual chunk. On any error, and if it is
    /// stopped, the branch is where it was.
    ///
    /// # Errors
    /// [`SessionError::NodeNotFound`]; the first chunk that cannot be read, by name.
    pub async fn run(
        &self,
        repository: &Repository,
        branch: BranchName,
        message: &str,
    ) -> Result<(MaterializeReport, Option<CommitOutcome>), ImportError> {
        let session = repository.write_session(branch).await?;
        let report = self.stage(&session).await?;
        if report.chunks == 0 {
            return Ok((report, None));
        }
        let commit = session.commit(message);
        let commit = operation::commit(commit, &*self.progress, &self.interrupt).await?;
        Ok((report, commit))
    }

    /// Puts the copies into a writable session without committing them. After an error the session holds a part of
    /// them: discard it.
    ///
    /// # Errors
    /// As [`Materialize::run`].
    pub async fn stage(&self, session: &Session) -> Result<MaterializeReport, ImportError> {
        // Whatever is dropped leaves uncommitted edits and garbage.
        self.interrupt.unless(self.stage_all(session)).await?
    }

    async fn stage_all(&self, session: &Session) -> Result<MaterializeReport, ImportError> {
        let mut arrays: Vec<NodePath> = session
            .nodes(&self.path)?
            .into_iter()
            .filter(|node| node.kind == NodeKind::Array)
            .map(|node| node.path)
            .collect();
        match session.node_kind(&self.path)? {
            Some(NodeKind::Array) if !arrays.contains(&self.path) => arrays.push(self.path.clone()),
            Some(_) => {}
            None => {
                let path = self.path.clone();
                return Err(SessionError::NodeNotFound { path }.into());
            }
        }
        let grids = arrays.into_iter().map(|path| {
            let counts = session.array(&path)?.chunk_counts;
            Ok((path, counts))
        });
        let grids: Vec<(NodePath, Vec<u32>)> = grids.collect::<Result<_, SessionError>>()?;
        let counts: Vec<&[u32]> = grids.iter().map(|(_, counts)| &counts[..]).collect();
        let own = self.part.in_grids(&counts);
        let mut report = MaterializeReport::default();
        for ((array, counts), own) in grids.iter().zip(own) {
            if own.is_empty() {
                continue;
            }
            self.progress.array(array);
            let is_own = |index: &[u32]| own.contains(&place_of(index, counts));
            let chunks = self.array(session, array, is_own, &mut report).await?;
            report.arrays += u64::from(chunks > 0);
            report.chunks += chunks;
        }
        Ok(report)
    }

    async fn array(
        &self,
        session: &Session,
        path: &NodePath,
        is_own: impl Fn(&[u32]) -> bool,
        report: &mut MaterializeReport,
    ) -> Result<u64, ImportError> {
        // Listed to the end first: what is written changes what is listed.
        let chunks = session.chunks(path)?;
        let is_virtual =
            |location: &ChunkLocation| matches!(location, ChunkLocation::Virtual { .. });
        let virtual_ones: Vec<ChunkIndex> = chunks
            .try_filter_map(|chunk| {
                let found = is_virtual(&chunk.location) && is_own(&chunk.index);
                std::future::ready(Ok(found.then_some(chunk.index)))
            })
            .try_collect()
            .await?;
        self.progress.expected(virtual_ones.len() as u64);
        let (budget, total) = (
            Budget::new(self.limits.of_each_step()),
            virtual_ones.len() as u64,
        );
        let limits = session.read_settings();
        let limits = limits.with_in_flight(self.limits.chunks, self.limits.of_each_step().bytes);
        let batches: Vec<Vec<ChunkIndex>> = virtual_ones.chunks(BATCH).map(<[_]>::to_vec).collect();
        let mut copied = stream::iter(batches)
            .flat_map(|batch| {
                let reads = batch.iter();
                let reads = reads.map(|index| ChunkRead::whole(path.clone(), index.clone()));
                let found = session.get_many_within(reads.collect(), limits.clone());
                found.map_ok(move |(at, bytes)| (batch[at].clone(), bytes))
            })
            .map_err(ImportError::from)
            .and_then(|(index, bytes)| async {
                let length = bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
                let held = budget.hold(length).await;
                Ok((index, bytes, held))
            })
            .map_ok(|(index, bytes, held)| async move {
                let _held = held;
                let Some(bytes) = bytes else {
                    return Ok(0);
                };
                let length = bytes.len() as u64;
                session
                    .set_chunk(path, &index, bytes, WriteMode::Overwrite)
                    .await?;
                self.progress.chunk(length);
                Ok::<_, ImportError>(length)
            })
            .try_buffer_unordered(self.limits.chunks.max(1))
            .boxed();
        while let Some(length) = copied.try_next().await? {
            report.bytes += length;
        }
        Ok(total)
    }
}
