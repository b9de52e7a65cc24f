//! Work on whole repositories: listing keys, collecting garbage, checking.

use std::num::{NonZeroU16, NonZeroUsize};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::{FutureExt as _, TryStreamExt as _};
use icechunk::ops::gc::{GCConfig, garbage_collect};
use icefield::maintenance::{Check, Collect};
use icefield::{BranchName, NodePath, WriteMode, ZarrStore};

use crate::sides::{
    Amount, Side, Stopwatch, array, create, disk, files, noise, open, open_theirs, read,
    read_theirs, store,
};
use crate::{Figures, Workload};

const ARRAYS: usize = 2000;
/// Chunks of each array.
const EACH: usize = 100;
/// Chunks that are collected or checked, and bytes of each: more than a manifest takes.
const CHUNKS: usize = 100_000;
const CHUNK: usize = 600;

pub(crate) fn workloads() -> Vec<Workload> {
    vec![
        Workload {
            name: "list",
            sides: &[Side::Icefield, Side::Icechunk],
            prepare: |common, amount| arrays(common, amount).boxed_local(),
            run: |side, common, _, amount| list(side, common, amount).boxed_local(),
        },
        Workload {
            name: "collect",
            sides: &[Side::Icefield, Side::Icechunk],
            prepare: |_, _| async { Ok(()) }.boxed_local(),
            run: |side, _, own, amount| collect(side, own, amount).boxed_local(),
        },
        Workload {
            name: "check",
            sides: &[Side::Icefield, Side::Floor],
            prepare: |common, amount| chunks(common, amount, true).boxed_local(),
            run: |side, common, _, amount| check(side, common, amount).boxed_local(),
        },
    ]
}

async fn arrays(common: &Path, amount: Amount) -> Result<()> {
    let count = amount.of(ARRAYS, 3);
    let documents: Vec<_> = (0..count)
        .map(|at| (format!("/a{at}"), array(&[EACH], &[1])))
        .collect();
    let repository = create(common, Default::default(), &documents).await?;
    let session = repository.write_session(BranchName::main()).await?;
    for (path, _) in &documents {
        let path = NodePath::parse(path)?;
        for index in 0..EACH {
            session
                .set_chunk(
                    &path,
                    &[index as u32],
                    noise(index, 1),
                    WriteMode::Overwrite,
                )
                .await?;
        }
    }
    icefield::committed(session.commit("chunks").await?)?;
    Ok(())
}

async fn list(side: Side, common: &Path, amount: Amount) -> Result<Figures> {
    let wanted = amount.of(ARRAYS, 3) * (EACH + 1) + 1;
    let watch = Stopwatch::start();
    let found = if side == Side::Icefield {
        let store = ZarrStore::new(read(common).await?);
        store
            .list_prefix("")
            .try_fold(0, |count, _| async move { Ok(count + 1) })
            .await?
    } else {
        let store = store(read_theirs(common).await?).await;
        let listed = store.list_prefix("").await?;
        listed
            .try_fold(0, |count, _| async move { Ok(count + 1) })
            .await?
    };
    ensure!(found == wanted, "{found} keys, not {wanted}");
    Ok(vec![(
        "list 200,000 keys of 2,000 arrays".to_owned(),
        watch.each(1),
    )])
}

/// Makes a repository with chunks that a commit names, or that none does.
async fn chunks(folder: &Path, amount: Amount, committed: bool) -> Result<()> {
    let count = amount.of(CHUNKS, 20);
    let arrays = [("/a".to_owned(), array(&[count * CHUNK], &[CHUNK]))];
    let repository = create(folder, Default::default(), &arrays).await?;
    let session = repository.write_session(BranchName::main()).await?;
    let path = NodePath::parse("/a")?;
    for index in 0..count {
        session
            .set_chunk(
                &path,
                &[index as u32],
                noise(index, CHUNK),
                WriteMode::Overwrite,
            )
            .await?;
    }
    if committed {
        icefield::committed(session.commit("chunks").await?)?;
    }
    Ok(())
}

async fn collect(side: Side, own: &Path, amount: Amount) -> Result<Figures> {
    chunks(own, amount, false).await?;
    let wanted = amount.of(CHUNKS, 20) as u64;
    // The times of files may be cut to the second.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let (seconds, deleted) = if side == Side::Icefield {
        let repository = open(own).await?;
        let collect = Collect::default().floor(Duration::ZERO).force_floor();
        let watch = Stopwatch::start();
        let report = collect.run(&repository).await?;
        (watch.each(1), report.chunks.deleted)
    } else {
        let repository = open_theirs(own).await?;
        let now = chrono::Utc::now();
        let some = |number: u16| NonZeroU16::new(number).context("not zero");
        let bytes = NonZeroUsize::new(512 << 20).context("not zero")?;
        let config = GCConfig::clean_all(
            now,
            now,
            None,
            some(50)?,
            bytes,
            bytes,
            some(500)?,
            some(20)?,
            some(5)?,
            None,
            false,
        );
        let manager = Arc::clone(repository.asset_manager());
        let watch = Stopwatch::start();
        let summary = garbage_collect(manager, &config, None, 100).await?;
        (watch.each(1), summary.chunks_deleted)
    };
    ensure!(deleted == wanted, "{deleted} chunks deleted, not {wanted}");
    Ok(vec![("collect 100,000 chunks".to_owned(), seconds)])
}

async fn check(side: Side, common: &Path, amount: Amount) -> Result<Figures> {
    let wanted = amount.of(CHUNKS, 20);
    let watch = Stopwatch::start();
    if side == Side::Icefield {
        let report = Check::new(disk(common)?).run(&()).await?;
        ensure!(report.is_sound(), "{report:?}");
    } else {
        let mut found = 0;
        // Other objects may be as long as a chunk.
        for file in files(&common.join("chunks"))? {
            found += usize::from(file.metadata()?.len() == CHUNK as u64);
        }
        ensure!(found == wanted, "{found} chunks, not {wanted}");
    }
    Ok(vec![("check 100,000 chunks".to_owned(), watch.each(1))])
}
