//! Import of a Zarr hierarchy from a directory of the same disk, beside a plain copy of its files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, ensure};
use futures::FutureExt as _;
use icefield::ingest::{Import, ZarrDirectory};
use icefield::{BranchName, Repository};

use crate::sides::{GROUP, Side, Stopwatch, array, copy, disk, noise};
use crate::{Figures, Workload};

/// Small chunks, and bytes of each.
const SMALL: (usize, usize) = (20_000, 16 << 10);
/// Large chunks, and bytes of each: 1 GiB.
const LARGE: (usize, usize) = (256, 4 << 20);

pub(crate) fn workloads() -> Vec<Workload> {
    vec![
        Workload {
            name: "import-small",
            sides: &[Side::Icefield, Side::Floor],
            prepare: |common, amount| {
                prepare(common, amount.of(SMALL.0, 20), SMALL.1).boxed_local()
            },
            run: |side, common, own, amount| {
                import(
                    side,
                    common,
                    own,
                    amount.of(SMALL.0, 20),
                    "import 20,000 chunks of 16 KiB",
                )
                .boxed_local()
            },
        },
        Workload {
            name: "import-large",
            sides: &[Side::Icefield, Side::Floor],
            prepare: |common, amount| prepare(common, amount.of(LARGE.0, 2), LARGE.1).boxed_local(),
            run: |side, common, own, amount| {
                import(
                    side,
                    common,
                    own,
                    amount.of(LARGE.0, 2),
                    "import 1 GiB in chunks of 4 MiB",
                )
                .boxed_local()
            },
        },
    ]
}

/// Writes a hierarchy with one array, a file for each chunk.
async fn prepare(common: &Path, chunks: usize, bytes: usize) -> Result<()> {
    let folder = common.join("a");
    fs::create_dir_all(folder.join("c"))?;
    fs::write(common.join("zarr.json"), GROUP)?;
    fs::write(folder.join("zarr.json"), array(&[chunks * bytes], &[bytes]))?;
    for index in 0..chunks {
        fs::write(
            folder.join("c").join(index.to_string()),
            noise(index, bytes),
        )?;
    }
    Ok(())
}

async fn import(
    side: Side,
    common: &Path,
    own: &Path,
    chunks: usize,
    name: &str,
) -> Result<Figures> {
    let watch = Stopwatch::start();
    if side == Side::Icefield {
        let repository = Repository::create(disk(own)?).await?;
        let import = Import::new(Arc::new(ZarrDirectory::open(common)?));
        let imported = import
            .run(&repository, BranchName::main(), "import")
            .await?;
        let found = imported.report.chunks;
        ensure!(found == chunks as u64, "{found} chunks, not {chunks}");
    } else {
        copy(common, own)?;
    }
    Ok(vec![(name.to_owned(), watch.each(1))])
}
