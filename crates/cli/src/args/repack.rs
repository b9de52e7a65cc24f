//! `icefield repack`

use clap::Args as ArgGroup;
use icefield::maintenance::{ChunkOrder, Repack as Repacking};
use icefield::{BranchName, Location, NodePath};

use super::common::OutputFormat;
use super::parse::{node_path, with_causes};

pub(super) const REPACK: &str = "\
Small chunks share objects, the packs. Bytes of a pack stay as long as something refers to any of its chunks, and chunks \
lie in it in the order in which they were written. This command copies chunks as they are into new packs, in one commit: of \
packs of which less than --fill is in use by the branch, with --small those in small objects, and with --order or --z-order \
all small chunks that lie in another order.

No array changes, and no concurrent commit collides with that. Earlier versions refer to the old objects, which `expire` and \
`gc` free.";

#[derive(Debug, ArgGroup)]
pub(crate) struct Repack {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// Repack the chunks of these arrays only.
    #[arg(value_name = "ARRAY", value_parser = with_causes(node_path))]
    pub(crate) arrays: Vec<NodePath>,
    /// Repack chunks in objects of which less than this part is in use, from 0 to 1.
    #[arg(long, value_name = "PART", default_value_t = 0.5)]
    pub(crate) fill: f64,
    /// Also repack small chunks in small objects, such as one of their own, if they are in fewer objects then.
    #[arg(long)]
    pub(crate) small: bool,
    /// Repack all small chunks that do not lie in the order of their coordinates along these dimensions, the slowest first:
    /// names, or numbers from 0 on. Other dimensions follow.
    #[arg(long, value_name = "DIM,…", value_delimiter = ',')]
    pub(crate) order: Vec<String>,
    /// Repack all small chunks that do not lie along a curve on which chunks that are near each other in every dimension are near
    /// each other.
    #[arg(long, conflicts_with = "order")]
    pub(crate) z_order: bool,
    /// Bytes from which on a chunk, or an object, is not small. Without it, the setting packed_chunk_threshold_bytes, else 1 MiB.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) below: Option<u64>,
    /// The branch to commit to.
    #[arg(long, value_parser = with_causes(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// Show what would be written anew; write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

impl Repack {
    /// Returns what is to be repacked, and how.
    pub(crate) fn repacking(&self) -> Repacking {
        let order = match (self.z_order, &self.order[..]) {
            (true, _) => ChunkOrder::ZOrder,
            (false, []) => ChunkOrder::AsWritten,
            (false, names) => ChunkOrder::Dimensions(names.to_vec()),
        };
        let mut repack = Repacking::new(self.branch.clone())
            .arrays(self.arrays.iter().cloned())
            .least_fill(self.fill)
            .small(self.small)
            .order(order)
            .dry_run(self.dry_run);
        if let Some(bytes) = self.below {
            repack = repack.below(bytes);
        }
        if let Some(message) = &self.message {
            repack = repack.message(message);
        }
        repack
    }
}
