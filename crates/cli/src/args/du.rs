//! Where the bytes are.

use clap::{Args as ArgGroup, ValueEnum};
use icefield::Location;

use super::{At, Facts, in_full};

#[derive(Debug, ArgGroup)]
pub(crate) struct Du {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// Count by what; without it, all that is stored.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) by: Option<By>,
    /// The version whose arrays, or the history whose commits are counted.
    #[command(flatten)]
    pub(crate) at: At,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

/// What bytes are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// What each array uses, at one version.
    Array,
    /// What each commit of a history added.
    Commit,
    /// What each branch and tag reaches, and what only it does: the cost of keeping it.
    Ref,
    /// Which containers virtual chunks lie in.
    Container,
}
