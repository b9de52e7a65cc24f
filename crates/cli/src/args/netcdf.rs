//! `icefield ncdump`, `icefield ncgen`

use std::ffi::OsString;

use clap::Args as ArgGroup;
use icefield::{BranchName, Location, NodePath};

use super::common::{AtRevision, OutputFormat};
use super::parse::{node_path, with_causes};

/// Rewrites `-v` of `ncdump`, which selects variables as in netCDF's own `ncdump`; for all other commands it means verbose.
pub(crate) fn with_ncdump_variables(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let (mut command, mut is_value) = (None, true);
    let one = |argument: OsString| {
        let Some(text) = argument.to_str() else {
            return argument;
        };
        match command {
            // The program itself, or the value of an option before the command.
            None if is_value => is_value = false,
            None if text.starts_with('-') => is_value = matches!(text, "--grant" | "--fsync"),
            None => command = Some(text == "ncdump"),
            Some(_) => {}
        }
        match text.strip_prefix("-v") {
            Some(rest) if command == Some(true) => format!("-V{rest}").into(),
            _ => argument,
        }
    };
    arguments.map(one).collect()
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Ncdump {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// Print only the header: dimensions, variables, attributes.
    #[arg(short = 'h', long)]
    pub(crate) header: bool,
    /// Print the values of coordinate variables only.
    #[arg(short, long, conflicts_with = "header")]
    pub(crate) coordinates: bool,
    /// Print the values of these variables only, by name or path, separated by commas (repeatable). -v is the same.
    #[arg(
        short = 'V',
        long,
        value_name = "VAR",
        value_delimiter = ',',
        conflicts_with = "header"
    )]
    pub(crate) variables: Vec<String>,
    /// The name of the dataset [default: the name of the repository].
    #[arg(short, long)]
    pub(crate) name: Option<String>,
    /// Print the storage of variables as attributes such as _ChunkSizes.
    #[arg(short, long)]
    pub(crate) special: bool,
    #[command(flatten)]
    pub(crate) at: AtRevision,
    /// Print help.
    #[arg(long, action = clap::ArgAction::HelpLong)]
    help: Option<bool>,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Ncgen {
    /// The CDL file; - is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: std::path::PathBuf,
    /// The repository; created if it does not exist.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The branch to commit to.
    #[arg(long, value_parser = with_causes(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// The group that becomes the root of the dataset; created if it is missing.
    #[arg(long, value_name = "PATH", value_parser = with_causes(node_path), default_value = "/")]
    pub(crate) group: NodePath,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v_names_variables_only_for_ncdump() {
        let of = |line: &str| {
            let words = with_ncdump_variables(line.split(' ').map(OsString::from));
            words
                .join(std::ffi::OsStr::new(" "))
                .into_string()
                .expect("UTF-8")
        };
        assert_eq!(of("icefield -v ls ncdump -v"), "icefield -v ls ncdump -v");
        assert_eq!(
            of("icefield --grant x ncdump -v y z"),
            "icefield --grant x ncdump -V y z"
        );
        assert_eq!(
            of("icefield -v ncdump -v a,b x -vc"),
            "icefield -v ncdump -V a,b x -Vc"
        );
    }
}
