//! `icefield ncdump`, `icefield ncgen`

use std::ffi::OsString;

use clap::Args as ArgGroup;
use icefield::{BranchName, Location, NodePath};

use super::{At, Facts, in_full, node_path};

/// Lets `ncdump` have the `-v` that it has everywhere, which asks all other commands to say more.
pub(crate) fn as_written(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let (mut command, mut is_value) = (None, true);
    let one = |argument: OsString| {
        let Some(text) = argument.to_str() else {
            return argument;
        };
        match command {
            // The program itself, or what belongs to an option before the command.
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
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The header alone: dimensions, variables, attributes.
    #[arg(short = 'h', long)]
    pub(crate) header: bool,
    /// The values of coordinate variables alone.
    #[arg(short, long, conflicts_with = "header")]
    pub(crate) coordinates: bool,
    /// The values of these variables alone, by name or by path, with commas between them (repeatable); -v as well.
    #[arg(
        short = 'V',
        long,
        value_name = "VAR",
        value_delimiter = ',',
        conflicts_with = "header"
    )]
    pub(crate) variables: Vec<String>,
    /// The name of the dataset; that of the repository unless given.
    #[arg(short, long)]
    pub(crate) name: Option<String>,
    /// How variables are stored, as attributes such as _ChunkSizes.
    #[arg(short, long)]
    pub(crate) special: bool,
    #[command(flatten)]
    pub(crate) at: At,
    /// Print help.
    #[arg(long, action = clap::ArgAction::HelpLong)]
    help: Option<bool>,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Ncgen {
    /// The text; - is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: std::path::PathBuf,
    /// The repository; created if there is nothing.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The branch to commit to.
    #[arg(long, value_parser = in_full(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// The group that becomes the root of the dataset; created if it is missing.
    #[arg(long, value_name = "PATH", value_parser = in_full(node_path), default_value = "/")]
    pub(crate) group: NodePath,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v_names_variables_only_for_ncdump() {
        let of = |line: &str| {
            let words = as_written(line.split(' ').map(OsString::from));
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
