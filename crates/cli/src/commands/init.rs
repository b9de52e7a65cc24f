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
    spec_version: u8,
    branch: &'static str,
    snapshot_id: SnapshotId,
}

pub(super) async fn run(context: &Context, args: Init) -> Result<(), Failure> {
    let storage = context.storage(&args.location).await?;
    found::no_alpha(&args.location, &*storage).await?;
    let builder = Repository::builder(storage).spec_version(args.spec);
    builder.create().await?;
    let created = Created {
        location: output::location(&args.location),
        spec_version: args.spec as u8,
        branch: "main",
        snapshot_id: SnapshotId::INITIAL,
    };
    Output::new(args.output).facts(&created, |created, out| {
        writeln!(
            out,
            "created an empty repository at {}",
            printable(&created.location)
        )
    })
}
