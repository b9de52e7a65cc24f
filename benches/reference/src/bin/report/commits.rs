//! Commits of one chunk: many in a row, into many, and over a concurrent one.

use std::path::Path;

use anyhow::Result;
use bytes::Bytes;
use futures::FutureExt as _;
use icechunk::conflicts::detector::ConflictDetector;
use icefield::{BranchName, Detector, NodePath, Session, WriteMode};

use crate::sides::{Amount, Side, Stopwatch, array, copy, create, noise, open, open_theirs, store};
use crate::{Figures, Workload};

const SIDES: &[Side] = &[Side::Icefield, Side::Icechunk];
/// Bytes of a chunk: too many to lie in a manifest.
const CHUNK: usize = 1000;
/// Chunks of the array before anything is measured.
const CHUNKS: usize = 10_000;
/// Commits into it.
const INTO: usize = 100;
const REBASES: usize = 50;

pub(crate) fn workloads() -> Vec<Workload> {
    vec![
        Workload {
            name: "commits",
            sides: SIDES,
            prepare: |common, _| prepare(common, 0).boxed_local(),
            run: |side, common, own, amount| {
                let name = "commit one chunk, 1,000 times";
                commits(side, common, own, amount.of(1000, 5), name).boxed_local()
            },
        },
        Workload {
            name: "into",
            sides: SIDES,
            prepare: |common, amount| prepare(common, amount.of(CHUNKS, 50)).boxed_local(),
            run: |side, common, own, amount| {
                let name = "commit one chunk into 10,000";
                commits(side, common, own, amount.of(INTO, 5), name).boxed_local()
            },
        },
        Workload {
            name: "rebase",
            sides: SIDES,
            prepare: |common, _| prepare(common, 0).boxed_local(),
            run: |side, common, own, amount| rebase(side, common, own, amount).boxed_local(),
        },
    ]
}

fn path() -> Result<NodePath> {
    Ok(NodePath::parse("/a")?)
}

async fn prepare(common: &Path, chunks: usize) -> Result<()> {
    let arrays = [("/a".to_owned(), array(&[CHUNKS * CHUNK], &[CHUNK]))];
    let repository = create(common, Default::default(), &arrays).await?;
    let session = repository.write_session(BranchName::main()).await?;
    for index in 0..chunks {
        set(&session, index).await?;
    }
    if chunks > 0 {
        icefield::committed(session.commit("chunks").await?)?;
    }
    Ok(())
}

fn chunk(index: usize) -> Bytes {
    noise(index, CHUNK)
}

async fn set(session: &Session, index: usize) -> Result<()> {
    session
        .set_chunk(
            &path()?,
            &[index as u32],
            chunk(index),
            WriteMode::Overwrite,
        )
        .await?;
    Ok(())
}

/// Opens a session, sets a chunk and commits, again and again, and returns seconds for one.
async fn commits(
    side: Side,
    common: &Path,
    own: &Path,
    count: usize,
    name: &str,
) -> Result<Figures> {
    copy(common, own)?;
    let seconds = if side == Side::Icefield {
        let repository = open(own).await?;
        let watch = Stopwatch::start();
        for index in 0..count {
            let session = repository.write_session(BranchName::main()).await?;
            set(&session, index).await?;
            icefield::committed(session.commit("a chunk").await?)?;
        }
        watch.each(count)
    } else {
        let repository = open_theirs(own).await?;
        let watch = Stopwatch::start();
        for index in 0..count {
            let store = store(repository.writable_session("main").await?).await;
            store.set(&format!("a/c/{index}"), chunk(index)).await?;
            store
                .session()
                .write()
                .await
                .commit("a chunk")
                .execute()
                .await?;
        }
        watch.each(count)
    };
    Ok(vec![(name.to_owned(), seconds)])
}

/// Commits on a base that another commit has left behind: the rebase and the commit count.
async fn rebase(side: Side, common: &Path, own: &Path, amount: Amount) -> Result<Figures> {
    copy(common, own)?;
    let count = amount.of(REBASES, 2);
    let mut seconds = 0.0;
    if side == Side::Icefield {
        let repository = open(own).await?;
        for number in 0..count {
            let late = repository.write_session(BranchName::main()).await?;
            set(&late, 2 * number).await?;
            let early = repository.write_session(BranchName::main()).await?;
            set(&early, 2 * number + 1).await?;
            icefield::committed(early.commit("early").await?)?;
            let watch = Stopwatch::start();
            icefield::committed(
                late.commit("late")
                    .rebase_with(Detector::Compatible)
                    .await?,
            )?;
            seconds += watch.each(1);
        }
    } else {
        let repository = open_theirs(own).await?;
        for number in 0..count {
            let late = store(repository.writable_session("main").await?).await;
            late.set(&format!("a/c/{}", 2 * number), chunk(2 * number))
                .await?;
            let early = store(repository.writable_session("main").await?).await;
            early
                .set(&format!("a/c/{}", 2 * number + 1), chunk(2 * number + 1))
                .await?;
            early
                .session()
                .write()
                .await
                .commit("early")
                .execute()
                .await?;
            let session = late.session();
            let mut session = session.write().await;
            let watch = Stopwatch::start();
            session
                .commit("late")
                .rebase(&ConflictDetector, 10)
                .execute()
                .await?;
            seconds += watch.each(1);
        }
    }
    Ok(vec![(
        "rebase over one commit".to_owned(),
        seconds / count as f64,
    )])
}
