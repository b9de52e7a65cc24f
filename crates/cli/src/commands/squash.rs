//! `icefield squash`

use super::refs::{self, RefEditFacts};
use super::{Context, dangling};
use crate::args::Squash;
use crate::failure::Failure;
use crate::output;

pub(super) async fn run(context: &Context, args: Squash) -> Result<(), Failure> {
    let (repository, from) = context.open_at(&args.location, &args.from).await?;
    let to = context.find(&repository, &args.to).await?;
    let message = match args.message {
        Some(message) => message,
        None => format!("Squash {} to {}", args.from, args.to),
    };
    let squashed = repository
        .squash(from, to, args.name.as_str(), &message)
        .await
        .map_err(|error| dangling(&args.to, error))?;
    let (id, outcome) = squashed;
    refs::landed(outcome, "branch", args.name.as_str())?;
    refs::print(
        &RefEditFacts {
            location: output::location(&args.location),
            edit: "created",
            kind: "branch",
            name: args.name.to_string(),
            snapshot_id: Some(id),
        },
        args.output,
    )
}
