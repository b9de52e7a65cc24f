//! A repacking as it is described.

use icefield_core::{BranchName, Interrupt, NodePath};

use super::{ChunkOrder, RepackError};

/// A repacking: copies chunks into new packs, in one commit, so that fewer and fuller objects hold them. Readers see no
/// change.
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::{BranchName, Repository};
/// use icefield_maintenance::Repack;
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
/// let repack = Repack::new(BranchName::main()).least_fill(0.8).dry_run(true);
/// let report = repack.run(&repository, &()).await?;
/// assert_eq!(report.chunks.count, 0, "there are no chunks");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Repack {
    pub(super) branch: BranchName,
    pub(super) arrays: Vec<NodePath>,
    pub(super) least_fill: f64,
    pub(super) order: ChunkOrder,
    pub(super) small: bool,
    pub(super) below: Option<u64>,
    pub(super) dry_run: bool,
    pub(super) message: String,
    pub(super) interrupt: Interrupt,
}

impl Repack {
    /// Returns a repacking of all arrays at the tip of a branch.
    #[must_use]
    pub fn new(branch: BranchName) -> Self {
        Self {
            branch,
            arrays: Vec::new(),
            least_fill: 0.5,
            order: ChunkOrder::AsWritten,
            small: false,
            below: None,
            dry_run: false,
            message: "Repack chunks".to_owned(),
            interrupt: Interrupt::new(),
        }
    }

    /// Limits the repacking to these arrays. Their chunks are copied out of objects that they share with others, which
    /// stay there.
    #[must_use]
    pub fn arrays(mut self, paths: impl IntoIterator<Item = NodePath>) -> Self {
        self.arrays = paths.into_iter().collect();
        self
    }

    /// Sets the part, from 0 to 1, of an object that must be in use; chunks in emptier objects are copied. Default 0.5.
    #[must_use]
    pub fn least_fill(mut self, part: f64) -> Self {
        self.least_fill = part;
        self
    }

    /// Copies all small chunks of the arrays into this order, unless they are in it. Default: the present order, of
    /// chunks that are copied for another reason.
    #[must_use]
    pub fn order(mut self, order: ChunkOrder) -> Self {
        self.order = order;
        self
    }

    /// Also copies small chunks that lie in small objects, be it one of their own or a pack, if fewer objects hold them
    /// then.
    #[must_use]
    pub fn small(mut self, small: bool) -> Self {
        self.small = small;
        self
    }

    /// Sets the number of bytes from which a chunk, or an object, is not small. Default: as the repository's
    /// configuration says, else 1 MiB.
    #[must_use]
    pub fn below(mut self, bytes: u64) -> Self {
        self.below = Some(bytes);
        self
    }

    /// Only counts; nothing is written.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Sets the message of the commit.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Ends early, as [`RepackError::Interrupted`], once `interrupt` is raised, unless the branch is being moved
    /// already.
    #[must_use]
    pub fn interruptible(mut self, interrupt: &Interrupt) -> Self {
        self.interrupt = interrupt.clone();
        self
    }

    pub(super) fn check(&self) -> Result<(), RepackError> {
        match (0.0..=1.0).contains(&self.least_fill) {
            true => Ok(()),
            false => Err(RepackError::Fill {
                part: self.least_fill,
            }),
        }
    }
}
