//! `icefield amend`

use clap::Args as ArgGroup;
use icefield::{BranchName, Location};
use serde_json::Value;

use super::common::OutputFormat;
use super::parse::with_causes;

pub(super) const AMEND: &str = "\
A new snapshot with the same arrays replaces the last commit of the branch. Tags and other branches stay at the old snapshot,
which is readable by its id until `icefield gc` deletes it. The first snapshot of a repository cannot be amended.
Repositories of spec version 1 have no amended commits: `icefield upgrade LOCATION` upgrades one to version 2.";

/// One item of a commit's metadata.
pub(crate) type MetadataItem = (String, Value);

#[derive(Debug, ArgGroup)]
pub(crate) struct Amend {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The branch whose last commit is amended.
    #[arg(long, value_parser = with_causes(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// The new message of the commit; without it, the message stays.
    #[arg(short, long, required_unless_present = "metadata")]
    pub(crate) message: Option<String>,
    /// Set an item of the commit's metadata (repeatable); items that are not named stay. VALUE is JSON; any other text is a string.
    #[arg(long, value_name = "NAME=VALUE", value_parser = item)]
    pub(crate) metadata: Vec<MetadataItem>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

fn item(text: &str) -> Result<MetadataItem, String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => {
            let json = serde_json::from_str(value);
            let value = json.unwrap_or_else(|_| value.into());
            Ok((name.to_owned(), value))
        }
        _ => Err("an item of metadata has the form NAME=VALUE".to_owned()),
    }
}
