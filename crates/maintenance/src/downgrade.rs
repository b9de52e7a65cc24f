//! Making a copy of spec version 1 of a repository of version 2.
//!
//! It is a [copy](crate::CopyRepository) whose metadata files are written anew, with the ids that they have; chunk objects are
//! copied byte for byte. Data that version 1 cannot express fall into two groups, by their effect on readers:
//!
//! - What a reader would miss is refused: chunk grids that are rectilinear or cannot be read, locations of virtual chunks that
//!   version 1 cannot spell, names of refs with a slash. Nothing is written then. On request, the refs that lead there are left out.
//! - Everything else is reported and left out of the copy: that nodes were moved and not created, the status,
//!   feature flags, the metadata of the repository, the operations log.
//!
//! All of it is found out before anything is written, for which manifests are read once more than a copy reads them.

mod examine;
mod logs;
mod manifests;
mod report;
mod rewriter;

use std::sync::Arc;

use icefield_core::{Containers, Repository, SnapshotId};
use icefield_format::SpecVersion;
use icefield_storage::Storage;

use crate::Progress;
use crate::copy::plan::{Plan, SourceRefs};
use crate::copy::{
    CopyBounds, CopyError, CopyRepository, RefChoice, Target, check_places, open, reachable,
    receive,
};

use examine::Examined;

pub use report::{DowngradeReport, NotCarried, NotCarriedKind};
pub(crate) use rewriter::Rewriter;

/// A copy of spec version 1 of a repository of version 2. Its metadata files are written anew, and the report lists the
/// features that version 1 cannot hold.
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::Repository;
/// use icefield_format::SpecVersion;
/// use icefield_maintenance::DowngradeRepository;
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let builder = Repository::builder(Arc::new(MemoryStorage::new()));
/// let source = builder.spec_version(SpecVersion::V2).create().await?;
/// let destination = Arc::new(MemoryStorage::new());
/// let report = DowngradeRepository::new().run(&source, destination, &()).await?;
/// assert_eq!(report.copy.spec_version, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct DowngradeRepository {
    copy: CopyRepository,
    leave_out: bool,
}

impl DowngradeRepository {
    /// Returns a downgrade of all refs and everything that they reach.
    pub fn new() -> Self {
        Self::default()
    }

    /// As [`CopyRepository::refs`].
    #[must_use]
    pub fn refs(mut self, chosen: impl IntoIterator<Item = RefChoice>) -> Self {
        self.copy = self.copy.refs(chosen);
        self
    }

    /// As [`CopyRepository::depth`].
    #[must_use]
    pub fn depth(mut self, snapshots: usize) -> Self {
        self.copy = self.copy.depth(snapshots);
        self
    }

    /// As [`CopyRepository::force`].
    #[must_use]
    pub fn force(mut self, force: bool) -> Self {
        self.copy = self.copy.force(force);
        self
    }

    /// Leaves out refs that version 1 cannot hold, because of their names or of what they lead to, instead of refusing
    /// all. If `main` is one of them, that of a new copy is at the initial snapshot.
    #[must_use]
    pub fn leave_out(mut self, leave_out: bool) -> Self {
        self.leave_out = leave_out;
        self
    }

    /// Writes nothing; the report counts what would be written.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.copy = self.copy.dry_run(dry_run);
        self
    }

    /// As [`CopyRepository::bounds`].
    #[must_use]
    pub fn bounds(mut self, bounds: CopyBounds) -> Self {
        self.copy = self.copy.bounds(bounds);
        self
    }

    /// Makes the copy. If there is no repository at the destination, one of version 1 is created; one that is there must be of
    /// version 1, and is brought up to date as a copy brings it. The same release of this crate writes the same bytes again, so
    /// that a downgrade that was stopped goes on.
    ///
    /// # Concurrency
    /// As [`CopyRepository::run`].
    ///
    /// # Errors
    /// [`CopyError::IsVersion1`] of a source of version 1; [`CopyError::NotInVersion1`] where version 1 cannot hold what readers
    /// read, before anything is written; and as [`CopyRepository::run`].
    pub async fn run(
        &self,
        source: &Repository,
        destination: Arc<dyn Storage>,
        progress: &dyn Progress,
    ) -> Result<DowngradeReport, CopyError> {
        check_places(source, &*destination)?;
        progress.stage("reading refs", None);
        let source = &source.pinned().await.map_err(CopyError::Repository)?;
        if source.spec_version() == SpecVersion::V1 {
            return Err(CopyError::IsVersion1);
        }
        let mut refs = SourceRefs::read(source, self.copy.chosen()).await?;
        let there = open(source, &destination).await?;
        let is_there = match &there {
            Some(there) => {
                receive::check_destination(there, SpecVersion::V1).await?;
                reachable(there).await?
            }
            None => Vec::new(),
        };
        let mut report = DowngradeReport::default();
        report.not_carried = examine::refuse_names(&mut refs);
        report.left_out = (report.not_carried.iter())
            .map(|it| it.object.clone())
            .collect();
        let is_there = |id: &SnapshotId| is_there.binary_search(id.as_bytes()).is_ok();
        let depth = self.copy.chosen_depth();
        let plan = Plan::read(source, refs.tips(), depth, &is_there).await?;
        let settings = source.ledger().settings().await;
        let config = settings.map_err(CopyError::SourceRefs)?.config;
        let containers = Containers::of(&config.unwrap_or_default(), source.spec_version());
        let examined = Examined::of(source, &containers, &plan, progress).await?;
        let mut refused = report.not_carried.clone();
        refused.extend(examined.refusals());
        if !refused.is_empty() && !self.leave_out {
            let problems = refused.iter().map(ToString::to_string);
            return Err(CopyError::NotInVersion1 {
                problems: problems.collect(),
            });
        }
        let left_out = examined.leave_out(&mut refs);
        let plan = match left_out.is_empty() {
            true => plan,
            false => Plan::read(source, refs.tips(), depth, &is_there).await?,
        };
        report.left_out.extend(left_out);
        report.not_carried.extend(examined.of_plan(&plan));
        report.not_carried.extend(examine::settings(source).await?);
        if self.copy.chosen().is_empty() {
            report.not_carried.extend(examine::detached(source).await?);
        }
        report.not_carried.sort();
        let limits = self.copy.limits_of(source);
        let rewriter = Rewriter::new(source, &containers, &limits);
        let target = Target {
            version: SpecVersion::V1,
            rewriter: Some(&rewriter),
        };
        let copied = self
            .copy
            .run_to(source, &refs, destination, there, target, progress);
        report.copy = copied.await?;
        Ok(report)
    }
}
