//! `icefield config`

use clap::{Args as ArgGroup, Subcommand};
use icefield::Location;

use super::{Facts, in_full};

/// Shows or changes the settings that are stored with a repository.
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Show all settings, those of one part, or one.
    Get(ConfigGet),
    /// Set one setting, or replace one part with all that is in it; the others stay, also those of other programs.
    Set(ConfigSet),
    /// Remove one setting or part: the default is in force again.
    Unset(ConfigUnset),
}

#[derive(Debug, ArgGroup)]
pub(crate) struct ConfigGet {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The setting, such as `compression.level`, or part, such as `compression`.
    #[arg(value_name = "KEY")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct ConfigSet {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The setting, such as `compression.level`.
    #[arg(value_name = "KEY")]
    pub(crate) name: String,
    /// Its value, in YAML (or JSON).
    #[arg(allow_hyphen_values = true)]
    pub(crate) value: String,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct ConfigUnset {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The setting, such as `compression.level`.
    #[arg(value_name = "KEY")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) facts: Facts,
}
