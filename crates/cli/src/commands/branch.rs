//! `icefield branch`

use icefield::{EditOutcome, Refusal};
use serde::Serialize;

use super::found::FoundRepository;
use super::refs::{self, RefEditFacts, RefFacts, StrayFiles};
use super::{Context, dangling};
use crate::args::{Branch, ListRefs};
use crate::failure::{Exit, Failure};
use crate::output::{self, Output};

const KIND: &str = "branch";

#[derive(Serialize)]
struct Branches {
    location: String,
    branches: Vec<RefFacts>,
    /// Keys below `refs/` that are not understood.
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
            output,
        } => {
            let (repository, id) = context.open_at(&location, &at.revision).await?;
            let outcome = repository
                .create_branch(name.as_str(), id)
                .await
                .map_err(|error| dangling(&at.revision, error))?;
            let edited = RefEditFacts::new(&location, "created", (KIND, &name), Some(id));
            refs::print(outcome, &edited, output)
        }
        Branch::Delete {
            location,
            name,
            output,
        } => {
            let repository = context.open(&location).await?;
            let outcome = repository.delete_branch(&name).await?;
            let edited = RefEditFacts::new(&location, "deleted", (KIND, &name), None);
            refs::print(outcome, &edited, output)
        }
        Branch::Reset {
            location,
            name,
            revision,
            expect,
            output,
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
            let edited = RefEditFacts::new(&location, "reset", (KIND, &name), Some(id));
            refs::print(outcome, &edited, output)
        }
    }
}

async fn list(context: &Context, args: ListRefs) -> Result<(), Failure> {
    let (branches, strays) = match context.open_any(&args.location).await? {
        FoundRepository::Today(repository) => {
            let found = repository.refs().await?;
            let strays = StrayFiles::of(&found);
            (refs::list(found.branches), strays)
        }
        FoundRepository::Alpha(repository) => {
            let tips = repository.tips().await?;
            (refs::list(tips.branches), StrayFiles::default())
        }
    };
    let branches = Branches {
        location: output::location(&args.location),
        branches,
        stray_files: strays.names(),
    };
    strays.warn();
    Output::new(args.output).facts(&branches, |facts, out| refs::table(&facts.branches, out))?;
    refs::check(&branches.branches)
}
