//! `icefield squash`

use super::refs::{self, RefEditFacts};
use super::{Context, dangling};
use crate::args::Squash;
use crate::failure::Failure;

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
    let edited = RefEditFacts::new(&args.location, "created", ("branch", &args.name), Some(id));
    refs::print(outcome, &edited, args.output)
}
