//! `icefield gc`

use std::time::Duration;

use clap::Args as ArgGroup;
use icefield::Location;

use super::common::OutputFormat;
use super::expire::age;
use super::parse::with_causes;

pub(crate) const GC: &str = "\
Garbage is every object that no branch or tag reaches and that the store wrote longer ago than --older-than. Objects of
open sessions stay: sessions older than a quarter of an hour hold a lease in the repository. Objects of snapshots
younger than the bound stay, too, even if no ref reaches the snapshot any more.

A collection never deletes refs, tombstones, settings or objects of other programs. An unreadable object ends it before
it deletes anything. It can be stopped at any time; the next run continues from the record that it leaves.";

#[derive(Debug, ArgGroup)]
pub(crate) struct Gc {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// Keep objects younger than this age, by the clock of the store.
    #[arg(long, value_name = "AGE", value_parser = age, default_value = "24h")]
    pub(crate) older_than: Duration,
    /// Allow an age of less than an hour. Safe only when no other process uses the repository.
    #[arg(long)]
    pub(crate) force_age: bool,
    /// Delete at most N objects per second.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rate: Option<u32>,
    /// Read everything again instead of continuing from the record of the last collection.
    #[arg(long)]
    pub(crate) whole: bool,
    /// Show what would be deleted; write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}
