//! Arguments that several commands have.

use clap::Args as ArgGroup;
use icefield::RevisionSpec;

use super::parse::with_causes;

/// The format of a command's output.
#[derive(Clone, Copy, Debug, ArgGroup)]
pub(crate) struct OutputFormat {
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The version that a command reads.
#[derive(Clone, Debug, ArgGroup)]
pub(crate) struct AtRevision {
    /// The version.
    #[arg(long = "ref", value_name = "REF", value_parser = with_causes(RevisionSpec::parse), default_value = "main")]
    pub(crate) revision: RevisionSpec,
}
