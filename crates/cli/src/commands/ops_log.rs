//! `icefield ops-log`

use futures::StreamExt;
use icefield::format::{Update, UpdateKind};
use icefield::time_of_micros;
use serde::Serialize;

use super::Context;
use crate::args::OpsLog;
use crate::failure::Failure;
use crate::output::escape::printable;
use crate::output::{self, Output};

#[derive(Serialize)]
struct OpsLogFacts {
    location: String,
    operations: Vec<OperationFacts>,
    /// The reason if the log ends before the creation of the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    ends: Option<String>,
}

#[derive(Serialize)]
struct OperationFacts {
    at: String,
    #[serde(rename = "did")]
    text: String,
    /// The backup of `repo` with the state of the repository right after the operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
}

pub(super) async fn run(context: &Context, args: OpsLog) -> Result<(), Failure> {
    let repository = context.open(&args.location).await?;
    let mut log = repository.operations().await?;
    let limit = args.limit.unwrap_or(usize::MAX);
    let (mut operations, mut ends) = (Vec::new(), None);
    while operations.len() < limit
        && let Some(update) = log.next().await
    {
        match update {
            Ok(update) => operations.push(OperationFacts::of(update)),
            Err(error) if error.is_end_of_log() => {
                ends = Some(error.to_string());
            }
            Err(error) => return Err(error.into()),
        }
    }
    let facts = OpsLogFacts {
        location: output::location(&args.location),
        operations,
        ends,
    };
    Output::new(args.output).facts(&facts, |facts, out| {
        for operation in &facts.operations {
            writeln!(out, "{}  {}", operation.at, printable(&operation.text))?;
        }
        match &facts.ends {
            Some(why) => writeln!(out, "{}", printable(why)),
            None => Ok(()),
        }
    })
}

impl OperationFacts {
    fn of(update: Update) -> Self {
        Self {
            at: output::time(time_of_micros(update.updated_at)),
            text: operation_text(&update.kind),
            backup: update.backup,
        }
    }
}

fn operation_text(kind: &UpdateKind) -> String {
    match kind {
        UpdateKind::RepoInitialized => "created the repository".to_owned(),
        UpdateKind::RepoMigrated {
            from_version,
            to_version,
        } => format!("upgraded the repository from version {from_version} to {to_version}"),
        UpdateKind::ConfigChanged => "saved the configuration".to_owned(),
        UpdateKind::MetadataChanged => "saved the metadata of the repository".to_owned(),
        UpdateKind::TagCreated { name } => format!("created tag {name}"),
        UpdateKind::TagDeleted { name, previous } => {
            format!("deleted tag {name}, which was at {previous}")
        }
        UpdateKind::BranchCreated { name } => format!("created branch {name}"),
        UpdateKind::BranchDeleted { name, previous } => {
            format!("deleted branch {name}, which was at {previous}")
        }
        UpdateKind::BranchReset { name, previous } => {
            format!("reset branch {name}, which was at {previous}")
        }
        UpdateKind::NewCommit { branch, snapshot } => format!("committed {snapshot} to {branch}"),
        UpdateKind::CommitAmended {
            branch,
            previous,
            snapshot,
        } => format!("replaced {previous} with {snapshot} on {branch}"),
        UpdateKind::NewDetachedSnapshot { snapshot } => {
            format!("wrote {snapshot}, to which no ref points")
        }
        UpdateKind::GarbageCollected => "collected garbage".to_owned(),
        UpdateKind::Expired => "let snapshots expire".to_owned(),
        UpdateKind::FeatureFlagChanged {
            id,
            new_value,
            is_set,
        } => {
            let flag = icefield::format::FeatureFlag(*id);
            match (is_set, new_value) {
                (false, _) => format!("set the feature {flag:?} to its default"),
                (true, true) => format!("switched the feature {flag:?} on"),
                (true, false) => format!("switched the feature {flag:?} off"),
            }
        }
        UpdateKind::StatusChanged { status } => {
            format!(
                "set the status to {}",
                super::set_status::status_text(status)
            )
        }
        other => format!("did what this version does not know: {other:?}"),
    }
}
