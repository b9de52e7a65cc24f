//! `icefield amend`

use clap::Args as ArgGroup;
use icefield::{BranchName, Location};
use serde_json::Value;

use super::{Facts, in_full};

pub(super) const AMEND: &str = "\
A new snapshot with the same arrays takes the place of the last commit. Tags and other branches on the old one stay there,
and it is readable by its id until `icefield gc` deletes it. The first snapshot of a repository cannot be amended.
Repositories of spec version 1 have no amended commits: `icefield upgrade LOCATION` makes one of version 2.";

/// One item of a commit's metadata.
pub(crate) type Item = (String, Value);

#[derive(Debug, ArgGroup)]
pub(crate) struct Amend {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The branch whose last commit is amended.
    #[arg(long, value_parser = in_full(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// The message of the commit from now on; without it, the message stays.
    #[arg(short, long, required_unless_present = "metadata")]
    pub(crate) message: Option<String>,
    /// Set an item of the commit's metadata (repeatable); items that are not named stay. VALUE is JSON, or else a text.
    #[arg(long, value_name = "NAME=VALUE", value_parser = item)]
    pub(crate) metadata: Vec<Item>,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

fn item(text: &str) -> Result<Item, String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => {
            let json = serde_json::from_str(value);
            let value = json.unwrap_or_else(|_| value.into());
            Ok((name.to_owned(), value))
        }
        _ => Err("an item of metadata is written NAME=VALUE".to_owned()),
    }
}
