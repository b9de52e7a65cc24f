//! How chunks are cut and encoded.

use std::collections::BTreeMap;

use clap::Args as ArgGroup;
use icefield::ingest::{ChunkLayout, ChunkLength, Compression, LayoutError, Shards};
use icefield::{BranchName, Location, NodePath};

use super::{Facts, in_full, node_path};

#[derive(Debug, Default, ArgGroup)]
pub(crate) struct Laid {
    /// Lengths of chunks along dimensions, as time=24,lat=all; others stay. A dimension without a name has its number.
    #[arg(long, value_name = "DIM=N,…", value_parser = in_full(ChunkLength::parse_each), allow_hyphen_values = true)]
    pub(crate) chunks: Option<BTreeMap<String, ChunkLength>>,
    /// Lengths of shards, in which chunks are stored together: multiples of theirs; or `none`.
    #[arg(long, value_name = "DIM=N,…|none", value_parser = in_full(shards), allow_hyphen_values = true)]
    pub(crate) shards: Option<Shards>,
    /// What compresses the chunks: `keep`, `none`, `zstd:LEVEL`, `gzip:LEVEL` or `blosc:NAME:LEVEL`.
    #[arg(long, value_name = "CODEC", value_parser = in_full(Compression::parse))]
    pub(crate) codec: Option<Compression>,
}

impl Laid {
    /// Returns it as an import is told.
    pub(crate) fn layout(&self) -> ChunkLayout {
        ChunkLayout::kept()
            .with_chunks(self.chunks.clone().unwrap_or_default())
            .with_shards(self.shards.clone().unwrap_or_default())
            .with_compression(self.codec.clone().unwrap_or_default())
    }
}

fn shards(text: &str) -> Result<Shards, LayoutError> {
    match text {
        "none" => Ok(Shards::None),
        lengths => ChunkLength::parse_each(lengths).map(Shards::Of),
    }
}

pub(super) const RECHUNK: &str = "\
Elements, attributes and names stay; chunks are decoded and encoded as a stream, in bounded memory, on all processors. What was \
never written stays so. Readers of earlier versions go on reading the chunks that the array had; `expire` and `gc` free them.

A commit of another writer that touches the array meanwhile is a conflict (exit code 3): run it again.";

/// `icefield rechunk`
#[derive(Debug, ArgGroup)]
pub(crate) struct Rechunk {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The array.
    #[arg(value_parser = in_full(node_path))]
    pub(crate) array: NodePath,
    #[command(flatten)]
    pub(crate) laid: Laid,
    /// The branch to commit to.
    #[arg(long, value_parser = in_full(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    /// Print what would be done, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) facts: Facts,
}
