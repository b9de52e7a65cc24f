//! Reading a bundle into a repository.

mod fit;
mod report;
mod unpack;

use std::io::{self, Read};
use std::sync::Arc;

use icefield_core::{
    Clock, Entropy, Repository, RepositoryError, Settings, SnapshotInfo, SystemClock, SystemEntropy,
};
use icefield_refs::RepoSettings;
use icefield_storage::Storage;

use super::contents::Contents;
use super::file::bad;
use super::inspect::inspect;
use super::inspected::Inspected;
use crate::Progress;
use crate::copy::receive::{Brought, check_destination};
use crate::copy::refs::RefPlan;
use crate::copy::{CopyBounds, CopyError, call_created, put_config, release};

pub use report::UnbundleReport;

use fit::{BundledGraph, check_fit};
use unpack::Unpacking;

/// Bytes of cached metadata in the handle on a destination.
const CACHE: u64 = 16 << 20;

/// Reads a bundle into a repository. See [`BundleRepository`](crate::BundleRepository) for an example.
#[derive(Clone, Debug)]
pub struct Unbundle {
    force: bool,
    bounds: CopyBounds,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl Default for Unbundle {
    fn default() -> Self {
        Self {
            force: false,
            bounds: CopyBounds::default(),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
        }
    }
}

impl Unbundle {
    /// Returns the default way to read a bundle.
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves branches of the destination even if they have commits that the bundle does not have, and replaces a
    /// different configuration. Tags never move.
    #[must_use]
    pub fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Sets the bounds on memory and on requests.
    #[must_use]
    pub fn bounds(mut self, bounds: CopyBounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Sets the clock that dates a repository that is created.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the source of randomness from which ids are drawn.
    #[must_use]
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// Reads a bundle, which `open` opens from its beginning: one pass checks all of it, and another writes the checked
    /// objects. A bundle whose list of chunks exceeds the memory takes further passes. If there is no repository at the
    /// destination, one is created.
    ///
    /// # Errors
    /// The [`CopyError`] that says what is wrong. If the bundle is damaged or does not fit the destination, nothing is
    /// written.
    pub async fn run<R: Read + Send + 'static>(
        &self,
        open: impl Fn() -> io::Result<R>,
        destination: Arc<dyn Storage>,
        progress: &dyn Progress,
    ) -> Result<UnbundleReport, CopyError> {
        let open = || {
            open().map_err(|source| CopyError::File {
                action: "read",
                source,
            })
        };
        let inspection = inspect(open()?, &self.bounds, progress).await?;
        let (inspected, mut contents) = (inspection.inspected, inspection.contents);
        let spec = inspected.spec;
        let bounds = self.bounds.up_to(spec);
        let builder = Repository::builder(Arc::clone(&destination))
            .spec_version(spec)
            .settings(Settings::default().with_cache_bytes(CACHE))
            .clock(Arc::clone(&self.clock))
            .entropy(Arc::clone(&self.entropy));
        let there = match builder.clone().open().await {
            Ok(there) => Some(there),
            Err(RepositoryError::NotFound { .. }) => None,
            Err(error) => return Err(CopyError::Open(error)),
        };
        if let Some(there) = &there {
            check_destination(there, spec).await?;
        }
        let mut believed = check_fit(&inspected, there.as_ref()).await?;
        let created = there.is_none();
        let (there, changes) = match (there, &inspected.initial) {
            (Some(there), _) => {
                let decided = self.decide(&inspected, &there).await?;
                (there, decided.targets().next().is_some())
            }
            (None, Some(initial)) => {
                // Nothing but the bundle can have what it needs: it is known before anything is written.
                while contents.next_part() {
                    self.read_part(open()?, &inspected, &mut contents, progress)
                        .await?;
                }
                let new = builder.initial_snapshot(initial.clone());
                let there = new.open_or_create().await.map_err(CopyError::Open)?;
                check_destination(&there, spec).await?;
                (there, true)
            }
            (None, None) => return Err(bad("it has no initial snapshot")),
        };
        let mut report = UnbundleReport {
            bundled_from: inspected.index.source.clone(),
            created,
            spec_version: spec as u8,
            shortened: inspected.index.shortened.iter().copied().collect(),
            ..UnbundleReport::default()
        };
        // Objects that are there already, and those that are written before the refs, must not be taken for garbage.
        let hold = match changes {
            true => Some(there.hold_collections().await.map_err(CopyError::Open)?),
            false => None,
        };
        let written = async {
            if !created {
                if hold.is_some() {
                    // Objects that were there a moment ago may have been collected; from now on they stay.
                    believed = check_fit(&inspected, Some(&there)).await?;
                }
                loop {
                    contents.check_there(&*destination).await?;
                    if !contents.next_part() {
                        break;
                    }
                    self.read_part(open()?, &inspected, &mut contents, progress)
                        .await?;
                }
            }
            drop(contents);
            let unpacking = Unpacking {
                destination: &destination,
                bounds: &bounds,
                inspected: &inspected,
                believed: &believed,
                hold: hold.as_ref(),
                progress,
            };
            let mut seals = inspection.seals;
            loop {
                let next = unpacking.run(open()?, &seals, &mut report).await?;
                match next.is_empty() {
                    true => break,
                    false => seals = next,
                }
            }
            self.publish(&inspected, &there, &believed, &mut report, progress)
                .await
        }
        .await;
        release(hold, &written).await;
        written?;
        if created {
            report
                .snapshots
                .add(inspected.initial.map_or(0, |file| file.len() as u64));
            call_created(&mut report.refs);
        }
        Ok(report)
    }

    /// Reads the bundle once more, for another part of its chunks.
    async fn read_part<R: Read + Send + 'static>(
        &self,
        reader: R,
        inspected: &Inspected,
        contents: &mut Contents,
        progress: &dyn Progress,
    ) -> Result<(), CopyError> {
        let bounds = self.bounds.up_to(inspected.spec);
        let (sha256, limits) = (&inspected.end.sha256, &bounds.decode_limits);
        contents.read(reader, sha256, limits, progress).await?;
        contents.check(!inspected.index.requires.is_empty())
    }

    /// Writes what makes the objects visible.
    async fn publish(
        &self,
        inspected: &Inspected,
        there: &Repository,
        believed: &[[u8; 12]],
        report: &mut UnbundleReport,
        progress: &dyn Progress,
    ) -> Result<(), CopyError> {
        if let Some(repo) = &inspected.repo {
            progress.stage("writing refs", None);
            let decided = self.decide(inspected, there).await?;
            let settings = RepoSettings::of(repo).map_err(|error| bad(error.to_string()))?;
            let is_new = |info: &&SnapshotInfo| believed.binary_search(info.id.as_bytes()).is_err();
            let brought = Brought {
                snapshots: inspected.snapshots.iter().filter(is_new).cloned().collect(),
                shortened: inspected.index.shortened.clone(),
                settings: &settings,
                deleted: inspected,
                force: self.force,
            };
            let (refs, set) = brought.publish(decided, Some(there), false).await?;
            report.refs = refs;
            (report.config, report.metadata, report.flags) = (set.config, set.metadata, set.flags);
            return Ok(());
        }
        let config = inspected.config.clone();
        report.config = put_config(config, there.storage(), self.force, false).await?;
        progress.stage("writing refs", None);
        let decided = self.decide(inspected, there).await?;
        report.refs = decided.publish(there, inspected).await?;
        Ok(())
    }

    async fn decide(
        &self,
        inspected: &Inspected,
        there: &Repository,
    ) -> Result<RefPlan, CopyError> {
        let graph = BundledGraph { inspected, there };
        RefPlan::decide(&inspected.refs, &graph, Some(there), self.force).await
    }
}
