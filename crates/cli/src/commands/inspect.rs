//! `icefield inspect`

mod manifest;
mod snapshot;
mod transaction_log;

use icefield::{FetchError, ManifestId, RepositoryError};

use super::Context;
use crate::args::{FileKind, Inspect};
use crate::failure::{Exit, Failure};
use crate::output::Output;

pub(super) async fn run(context: &Context, args: Inspect) -> Result<(), Failure> {
    let repository = context.open(&args.location).await?;
    let mut out = Output::new(args.output);
    match args.kind {
        FileKind::Snapshot => {
            let file = repository.snapshot(args.id).await.map_err(absent)?;
            let parent = repository.snapshot_info(args.id).await?.parent_id;
            out.facts(
                &snapshot::SnapshotFileFacts::of(&file, parent)?,
                snapshot::text,
            )
        }
        FileKind::Manifest => {
            let id = ManifestId::from_bytes(*args.id.as_bytes());
            let file = repository.manifest(id).await.map_err(absent)?;
            out.facts(&manifest::ManifestFacts::of(&file), manifest::text)
        }
        FileKind::TransactionLog => {
            let file = repository.transaction_log(args.id).await.map_err(absent)?;
            out.facts(
                &transaction_log::TransactionLogFacts::of(args.id, &file),
                transaction_log::text,
            )
        }
    }
}

/// Returns the failure of a missing file: damage if an object refers to it, not found if the user gave its id.
fn absent(error: RepositoryError) -> Failure {
    match error {
        RepositoryError::Fetch(FetchError::Missing { what, id, .. }) => {
            Failure::new(Exit::NotFound, format!("there is no {what} {id} in this repository"))
                .hint("`icefield log` prints the ids of snapshots, `icefield inspect LOCATION snapshot ID` those of manifests")
        }
        error => error.into(),
    }
}
