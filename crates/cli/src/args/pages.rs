//! `icefield completions`, `icefield man`

use std::path::PathBuf;

use clap::{Args as ArgGroup, ValueEnum};

#[derive(Debug, ArgGroup)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: ShellName,
}

/// A shell with completion scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShellName {
    Bash,
    Zsh,
    Fish,
    Powershell,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Man {
    /// The directory for the pages; created if it is missing.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}
