//! `icefield branch`

use icefield::{EditOutcome, Refusal};
use serde::Serialize;

use super::found::Found;
use super::refs::{self, Edited, RefFacts, Strays};
use super::{Context, dangling};
use crate::args::{Branch, ListRefs};
use crate::failure::{Exit, Failure};
use crate::output::{self, Output};

const KIND: &str = "branch";

#[derive(Serialize)]
struct Branches {
    location: String,
    branches: Vec<RefFacts>,
    /// What is among the refs and is not understood.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stray_files: Vec<String>,
}

pub(super) async fn run(context: &Context, args: Branch) -> Result<(), Failure> {
    match args {
        Branch::List(args) => list(context, args).await,
        Branch::Create {
            location,
            name,
            at,
            facts,
        } => {
            let (repository, id) = context.open_at(&location, &at.revision).await?;
            let outcome = repository
                .create_branch(name.as_str(), id)
                .await
                .map_err(|error| dangling(&at.revision, error))?;
            refs::landed(outcome, KIND, name.as_str())?;
            refs::print(
                &Edited {
                    location: output::location(&location),
                    edit: "created",
                    kind: KIND,
                    name: name.to_string(),
                    snapshot_id: Some(id),
                },
                facts,
            )
        }
        Branch::Delete {
            location,
            name,
            facts,
        } => {
            let repository = context.open(&location).await?;
            let outcome = repository.delete_branch(&name).await?;
            refs::landed(outcome, KIND, name.as_str())?;
            refs::print(
                &Edited {
                    location: output::location(&location),
                    edit: "deleted",
                    kind: KIND,
                    name: name.to_string(),
                    snapshot_id: None,
                },
                facts,
            )
        }
        Branch::Reset {
            location,
            name,
            revision,
            expect,
            facts,
        } => {
            let (repository, id) = context.open_at(&location, &revision).await?;
            let expected = match expect {
                Some(expect) => Some(context.find(&repository, &expect).await?),
                None => None,
            };
            let outcome = repository
                .reset_branch(&name, id, expected)
                .await
                .map_err(|error| dangling(&revision, error))?;
            if let (Some(expected), EditOutcome::Refused(Refusal::BranchMoved { found })) =
                (expected, &outcome)
            {
                let message = format!("branch {name} points to {found}, not to {expected}");
                return Err(Failure::new(Exit::Conflict, message));
            }
            refs::landed(outcome, KIND, name.as_str())?;
            refs::print(
                &Edited {
                    location: output::location(&location),
                    edit: "reset",
                    kind: KIND,
                    name: name.to_string(),
                    snapshot_id: Some(id),
                },
                facts,
            )
        }
    }
}

async fn list(context: &Context, args: ListRefs) -> Result<(), Failure> {
    let (branches, strays) = match context.open_any(&args.location).await? {
        Found::Today(repository) => {
            let found = repository.refs().await?;
            let strays = Strays::of(&found);
            (refs::list(found.branches), strays)
        }
        Found::Alpha(repository) => {
            let tips = repository.tips().await?;
            (refs::list(tips.branches), Strays::default())
        }
    };
    let branches = Branches {
        location: output::location(&args.location),
        branches,
        stray_files: strays.names(),
    };
    strays.warn();
    Output::new(args.facts).facts(&branches, |facts, out| refs::table(&facts.branches, out))?;
    refs::check(&branches.branches)
}
