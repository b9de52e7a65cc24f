//! Imports: the whole history of a repository of the alpha generation, made again in a new repository of today.
//!
//! 1. **Check**: every snapshot and manifest that a ref reaches is read and checked. Nothing is written until all are
//!    known to be sound.
//! 2. **Commits**, parents first, on a branch of the import's own. Each takes over what its snapshot changed since its
//!    parent; a chunk object that both have is copied once.
//! 3. **Refs**: branches, tags, and `main` last.

mod check;
mod commit;
mod containers;
mod difference;
mod error;
mod progress;
mod refs;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use icefield_core::{BranchName, Repository, RepositoryBuilder, RepositoryError, SnapshotId};

use self::check::Plan;
use self::difference::Loaded;
use crate::{AlphaId, AlphaRepository};

pub use self::error::ImportError;
pub use self::progress::Progress;

/// The item of a commit's metadata that names the imported snapshot: its `id`, the time when it was `written_at`, and
/// the time when its session was `started_at`. The time of a commit itself is that of the import.
pub const ALPHA: &str = "alpha";

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportReport {
    /// The number of commits that were made, without the initial snapshot.
    pub commits: u64,
    /// The number of branches, `main` included.
    pub branches: u64,
    /// The number of tags.
    pub tags: u64,
    /// The number of chunks that were copied, including those that went into manifests.
    pub chunks: u64,
    /// The bytes of the copied chunks.
    pub bytes: u64,
    /// The number of chunks outside the repository, which are referred to where they lie.
    pub virtual_chunks: u64,
    /// The number of chunks outside the grids of their arrays, which no reader could see, over all snapshots.
    pub hidden_chunks: u64,
    /// The keys among the refs that are no refs and were left out; one of them may be a ref with a damaged name.
    pub strays: Vec<String>,
    /// The snapshot that `main` points to.
    pub main: Option<SnapshotId>,
}

/// The bounds on the work of an import that is under way at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The number of chunks that are copied at the same time. Default 16.
    pub chunks: usize,
    /// The memory for chunks, in bytes. A larger chunk is copied alone. Default 32 MiB.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            chunks: 16,
            bytes: 32 << 20,
        }
    }
}

/// An import of a repository of the alpha generation: its whole history becomes one of a new repository.
#[must_use = "nothing is imported before it is run"]
pub struct Import {
    source: AlphaRepository,
    limits: Limits,
    progress: Arc<dyn Progress>,
}

impl fmt::Debug for Import {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Import")
            .field("source", &self.source)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Import {
    /// Returns an import of a repository with the default limits.
    pub fn new(source: AlphaRepository) -> Self {
        Self {
            source,
            limits: Limits::default(),
            progress: Arc::new(()),
        }
    }

    /// Sets the bounds on the work that is under way at the same time.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the receiver of progress reports.
    pub fn progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = progress;
        self
    }

    /// Imports into a place where there is nothing, or a repository without commits and refs of its own.
    ///
    /// # Errors
    /// Objects that are damaged or cannot be taken over, by key and rule: before anything is written, save for chunk objects,
    /// which are read when they are copied. [`ImportError::NotEmpty`]. Until the refs are written, the destination is an
    /// empty repository after a failure; then it is [`ImportError::Refs`].
    pub async fn run(
        self,
        destination: RepositoryBuilder,
    ) -> Result<(Repository, ImportReport), ImportError> {
        let plan = Plan::read(&self.source, &*self.progress).await?;
        let repository = empty(destination).await?;
        containers::add(&repository, &plan.folders).await?;
        let work = refs::work_branch(&plan)?;
        refs::settled(
            &work,
            repository
                .create_branch(work.as_str(), SnapshotId::INITIAL)
                .await?,
        )?;
        self.progress.commits(plan.steps.len() as u64);
        let mut report = ImportReport {
            hidden_chunks: plan.hidden_chunks,
            strays: plan.refs.strays.clone(),
            ..ImportReport::default()
        };
        let made = match self.commits(&repository, &plan, &work, &mut report).await {
            Ok(made) => made,
            Err(error) => {
                // After an unknown outcome the branch stays, for an operator to look into.
                if !error.is_unknown()
                    && let Err(error) = repository.delete_branch(&work).await
                {
                    tracing::warn!(%error, branch = %work, "the branch of the import stays");
                }
                return Err(error);
            }
        };
        let refs = refs::create(&repository, &plan, &made, &work, &mut report).await;
        refs.map_err(|source| ImportError::Refs {
            source: Box::new(source),
        })?;
        Ok((repository, report))
    }

    /// Makes all commits, and returns what became of each snapshot.
    async fn commits(
        &self,
        repository: &Repository,
        plan: &Plan,
        work: &BranchName,
        report: &mut ImportReport,
    ) -> Result<HashMap<AlphaId, SnapshotId>, ImportError> {
        let mut made = HashMap::new();
        let mut tip = SnapshotId::INITIAL;
        let mut before = Loaded::default();
        for step in &plan.steps {
            let child = Loaded::read(&self.source, step.id, &step.needed_by).await?;
            let Some(base) = step.parent.map_or(Some(SnapshotId::INITIAL), |parent| {
                made.get(&parent).copied()
            }) else {
                unreachable!("BUG: parents come first");
            };
            if before.id() != step.parent {
                before = match step.parent {
                    Some(parent) => Loaded::read(&self.source, parent, &step.needed_by).await?,
                    None => Loaded::default(),
                };
            }
            let id = if step.parent.is_none() && child.is_nothing() {
                base
            } else {
                if tip != base {
                    let moved = repository.reset_branch(work, base, Some(tip)).await?;
                    refs::settled(work, moved)?;
                }
                let copier = commit::Copier {
                    source: &self.source,
                    limits: self.limits,
                    progress: &*self.progress,
                };
                tip = copier
                    .commit(repository, work, &before, &child, report)
                    .await?;
                report.commits += 1;
                tip
            };
            self.progress.committed();
            made.insert(step.id, id);
            before = child;
        }
        Ok(made)
    }
}

/// Opens or creates the destination, which must have no history of its own.
async fn empty(destination: RepositoryBuilder) -> Result<Repository, ImportError> {
    let repository = match destination.clone().open().await {
        Ok(repository) => repository,
        Err(RepositoryError::NotFound { .. }) => return Ok(destination.create().await?),
        Err(error) => return Err(error.into()),
    };
    let refs = repository.refs().await?;
    let only_main = refs.tags.is_empty()
        && refs.deleted_tags.is_empty()
        && refs
            .branches
            .iter()
            .all(|(name, tip)| name.is_main() && matches!(tip, Ok(SnapshotId::INITIAL)));
    match only_main {
        true => Ok(repository),
        false => Err(ImportError::NotEmpty {
            location: repository.storage().to_string(),
        }),
    }
}
