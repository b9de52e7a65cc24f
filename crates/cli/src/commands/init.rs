//! `icefield init`

use icefield::{Repository, SnapshotId};
use serde::Serialize;

use super::{Context, found};
use crate::args::Init;
use crate::failure::Failure;
use crate::output::escape::printable;
use crate::output::{self, Output};

#[derive(Serialize)]
struct Created {
    location: String,
    branch: &'static str,
    snapshot_id: SnapshotId,
}

pub(super) async fn run(context: &Context, args: Init) -> Result<(), Failure> {
    let storage = context.storage(&args.location).await?;
    found::no_alpha(&args.location, &*storage).await?;
    Repository::create(storage).await?;
    let created = Created {
        location: output::location(&args.location),
        branch: "main",
        snapshot_id: SnapshotId::INITIAL,
    };
    Output::new(args.facts).facts(&created, |created, out| {
        writeln!(
            out,
            "created an empty repository at {}",
            printable(&created.location)
        )
    })
}
