//! A repacking as it is described.

use icefield_core::{BranchName, Interrupt, NodePath};

use super::{ChunkOrder, RepackError};

/// The choice of chunks to repack, and their order.
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
    /// Begins with all arrays of a branch.
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

    /// Repacks these arrays only. Their chunks are taken out of objects that they share with others, which stay there.
    #[must_use]
    pub fn arrays(mut self, paths: impl IntoIterator<Item = NodePath>) -> Self {
        self.arrays = paths.into_iter().collect();
        self
    }

    /// Writes chunks anew that lie in objects of which less than this part is in use, from 0 to 1. Default 0.5.
    #[must_use]
    pub fn least_fill(mut self, part: f64) -> Self {
        self.least_fill = part;
        self
    }

    /// Writes all small chunks of the arrays anew, in this order, unless they are in it. Default: the order in which they lie,
    /// of those that are written anew for another reason.
    #[must_use]
    pub fn order(mut self, order: ChunkOrder) -> Self {
        self.order = order;
        self
    }

    /// Also writes small chunks in small objects anew, be it one of their own or a pack, if they are in fewer objects then.
    #[must_use]
    pub fn small(mut self, small: bool) -> Self {
        self.small = small;
        self
    }

    /// Sets the bytes from which on a chunk, or an object, is not small. Default: as the repository's configuration says, else 1 MiB.
    #[must_use]
    pub fn below(mut self, bytes: u64) -> Self {
        self.below = Some(bytes);
        self
    }

    /// Only counts.
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

    /// Ends early, as [`RepackError::Interrupted`], once `interrupt` is raised, as long as the branch is not being moved.
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
