//! Writing chunks anew that share objects, so that these hold little else, and in an order in which they are read.
//!
//! It copies the bytes of chunks as they are, one behind the other, into new packs, and commits manifests that refer to the copies:
//! readers see the same, no log names the chunks, and no other commit collides with that. Older snapshots refer to the old
//! objects; once they have expired, a collection deletes those.
//!
//! How full an object is, is said by the snapshot that is worked on: bytes that only older snapshots refer to count as dead. It
//! holds a reference to every chunk of that snapshot that is in an object of the repository in memory, about 100 bytes each.

mod copying;
mod error;
mod order;
mod report;
mod select;
mod settings;
mod survey;

use icefield_core::{BasicSolver, Repository};

use crate::Progress;

pub use error::RepackError;
pub use order::ChunkOrder;
pub use report::{RepackReport, RepackedArray};
pub use settings::Repack;

impl Repack {
    /// Copies the chunks, and commits their new places in one commit. On any error, and if it is interrupted, the
    /// branch is where it was; copies that were made in vain are garbage.
    ///
    /// # Errors
    /// [`RepackError`]; [`icefield_core::SessionError::ChunkMissing`] and related errors name a chunk that cannot be
    /// read.
    pub async fn run(
        &self,
        repository: &Repository,
        progress: &dyn Progress,
    ) -> Result<RepackReport, RepackError> {
        self.check()?;
        let session = repository.write_session(self.branch.clone()).await?;
        let interrupt = &self.interrupt;
        let look = survey::survey(&session, &**repository.storage(), &self.arrays, progress);
        let found = interrupt.unless(look).await??;
        let limits = select::Limits::of(self, repository);
        let selected = select::select(&found, self, &limits)?;
        let mut report = report::of(&found, &selected, &limits);
        if self.dry_run || selected.chunks.is_empty() {
            return Ok(report);
        }
        let copies = copying::copy(&session, &found, &selected, interrupt, progress).await?;
        report::note_copies(&mut report, &copies);
        let commit = session.commit(self.message.clone());
        let commit = commit.rebase_with(BasicSolver::default());
        report.outcome = Some(commit.interruptible(interrupt).await?);
        Ok(report)
    }
}
