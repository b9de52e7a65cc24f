//! `icefield gc`

use std::time::Duration;

use clap::Args as ArgGroup;
use icefield::Location;

use super::expire::age;
use super::{Facts, in_full};

pub(crate) const GC: &str = "\
Garbage is what no branch or tag reaches, and what the store wrote longer ago than --older-than. What an open session has
written stays: sessions that are older than a quarter of an hour say so in the repository. So does all that a snapshot
needs which is younger than that, although no ref reaches it any more.

Refs, tombstones, settings and objects of others are never deleted. Anything that cannot be read ends it before it
deletes. It can be stopped at any time, and goes on from what it remembers when it is run again.";

#[derive(Debug, ArgGroup)]
pub(crate) struct Gc {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// Spare what is younger than this age, by the clock of the store.
    #[arg(long, value_name = "AGE", value_parser = age, default_value = "24h")]
    pub(crate) older_than: Duration,
    /// Allow an age of less than an hour: only when nobody else uses the repository.
    #[arg(long)]
    pub(crate) force_age: bool,
    /// Delete at most so many objects in a second.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rate: Option<u32>,
    /// Read everything again instead of going on from what the last collection remembers.
    #[arg(long)]
    pub(crate) whole: bool,
    /// Show what would be deleted; write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) facts: Facts,
}
