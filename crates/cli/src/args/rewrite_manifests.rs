//! `icefield rewrite-manifests`

use clap::Args as ArgGroup;
use icefield::{BranchName, Location};

use super::common::OutputFormat;
use super::parse::with_causes;

#[derive(Debug, ArgGroup)]
pub(crate) struct RewriteManifests {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The branch to commit to.
    #[arg(long, value_parser = with_causes(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// Also rewrite the manifests of arrays that are already split by the rules.
    #[arg(long)]
    pub(crate) all: bool,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}
