//! The chunk layout of arrays: chunks, shards and codecs.

use std::collections::BTreeMap;

use clap::Args as ArgGroup;
use icefield::ingest::{ChunkLayout, ChunkLength, Compression, LayoutError, Shards};
use icefield::{BranchName, Location, NodePath};

use super::common::OutputFormat;
use super::parse::{node_path, with_causes};

#[derive(Debug, Default, ArgGroup)]
pub(crate) struct ChunkLayoutArgs {
    /// Lengths of chunks by dimension, such as time=24,lat=all; others stay. A dimension without a name goes by its number.
    #[arg(long, value_name = "DIM=N,…", value_parser = with_causes(ChunkLength::parse_each), allow_hyphen_values = true)]
    pub(crate) chunks: Option<BTreeMap<String, ChunkLength>>,
    /// Lengths of shards, which store chunks together: multiples of the lengths of chunks; or `none`.
    #[arg(long, value_name = "DIM=N,…|none", value_parser = with_causes(shards), allow_hyphen_values = true)]
    pub(crate) shards: Option<Shards>,
    /// The codec that compresses chunks: `keep`, `none`, `zstd:LEVEL`, `gzip:LEVEL` or `blosc:NAME:LEVEL`.
    #[arg(long, value_name = "CODEC", value_parser = with_causes(Compression::parse))]
    pub(crate) codec: Option<Compression>,
}

impl ChunkLayoutArgs {
    /// Returns the layout for an import.
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
Elements, attributes and names stay. Chunks are decoded and encoded as a stream, in bounded memory, on all processors. Chunks \
that were never written stay unwritten. Earlier versions keep the old chunks, which `expire` and `gc` free.

A concurrent commit that touches the array is a conflict (exit code 3): run the command again.";

/// `icefield rechunk`
#[derive(Debug, ArgGroup)]
pub(crate) struct Rechunk {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The array.
    #[arg(value_parser = with_causes(node_path))]
    pub(crate) array: NodePath,
    #[command(flatten)]
    pub(crate) laid: ChunkLayoutArgs,
    /// The branch to commit to.
    #[arg(long, value_parser = with_causes(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    /// Print the plan; write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}
