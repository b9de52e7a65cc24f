//! `icefield config`

use clap::{Args as ArgGroup, Subcommand};
use icefield::Location;

use super::common::OutputFormat;
use super::parse::with_causes;

/// Shows or changes the settings that are stored with a repository.
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Show all settings, the settings of one part, or one setting.
    Get(ConfigGet),
    /// Set one setting, or replace one part; all other settings stay, including those of other programs.
    Set(ConfigSet),
    /// Remove one setting or part, so that its default applies.
    Unset(ConfigUnset),
}

#[derive(Debug, ArgGroup)]
pub(crate) struct ConfigGet {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The setting, such as `compression.level`, or the part, such as `compression`.
    #[arg(value_name = "KEY")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct ConfigSet {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The setting, such as `compression.level`.
    #[arg(value_name = "KEY")]
    pub(crate) name: String,
    /// Its value, in YAML (or JSON).
    #[arg(allow_hyphen_values = true)]
    pub(crate) value: String,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct ConfigUnset {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The setting, such as `compression.level`.
    #[arg(value_name = "KEY")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}
