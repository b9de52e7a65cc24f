//! What `icefield rewrite-manifests` can be asked.

use clap::Args as ArgGroup;
use icefield::{BranchName, Location};

use super::{Facts, in_full};

#[derive(Debug, ArgGroup)]
pub(crate) struct RewriteManifests {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The branch to commit to.
    #[arg(long, value_parser = in_full(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// Also those of arrays that are split as they should be.
    #[arg(long)]
    pub(crate) all: bool,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) facts: Facts,
}
