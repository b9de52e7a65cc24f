//! Refs, last of all: branches, tags, and `main` behind them.

use std::collections::HashMap;

use icefield_core::{BranchName, EditOutcome, NameError, Repository, SnapshotId};

use super::check::Plan;
use super::{ImportError, ImportReport};
use crate::{AlphaError, AlphaId, Rule};

/// The branch that the commits are made on.
const WORK: &str = "alpha-import";

/// A name that no branch of the source has.
pub(super) fn work_branch(plan: &Plan) -> Result<BranchName, ImportError> {
    let mut name = WORK.to_owned();
    while plan.refs.branches.contains_key(&name) {
        name.push('-');
    }
    let no_name = |source: NameError| {
        let rule = Rule::Name {
            name: name.clone(),
            source,
        };
        AlphaError::unsupported("the branch of the import", rule)
    };
    Ok(BranchName::parse_new(&name).map_err(no_name)?)
}

/// Turns what is not done into an error.
pub(super) fn settled(name: impl ToString, outcome: EditOutcome) -> Result<(), ImportError> {
    let name = name.to_string();
    match outcome {
        EditOutcome::Done(_) => Ok(()),
        EditOutcome::Refused(refusal) => Err(ImportError::RefRefused { name, refusal }),
        EditOutcome::Unknown(source) => Err(ImportError::Unknown { name, source }),
    }
}

/// Makes all refs, and takes the import's own branch away.
pub(super) async fn create(
    repository: &Repository,
    plan: &Plan,
    made: &HashMap<AlphaId, SnapshotId>,
    work: &BranchName,
    report: &mut ImportReport,
) -> Result<(), ImportError> {
    let target = |id: AlphaId| match made.get(&id) {
        Some(id) => *id,
        None => unreachable!("BUG: all that refs point to was imported"),
    };
    let mut main = SnapshotId::INITIAL;
    for (name, files) in &plan.refs.branches {
        let Some(newest) = files.last() else { continue };
        let tip = target(newest.file.snapshot);
        report.branches += 1;
        match name.as_str() {
            "main" => main = tip,
            _ => settled(name, repository.create_branch(name, tip).await?)?,
        }
    }
    for (name, (_, tag)) in &plan.refs.tags {
        let tag = repository.create_tag(name, target(tag.snapshot)).await?;
        settled(name, tag)?;
        report.tags += 1;
    }
    if main != SnapshotId::INITIAL {
        let name = BranchName::main();
        let expected = Some(SnapshotId::INITIAL);
        settled(&name, repository.reset_branch(&name, main, expected).await?)?;
    }
    report.main = Some(main);
    settled(work, repository.delete_branch(work).await?)
}
