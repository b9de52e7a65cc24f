//! 2, 8 and 32 writers with 25 commits each on one repository of spec version 2, ours and the reference's in turns: all on one
//! branch with rebase, and each on its own; through one handle and through one each; on a local disk without fsync, and in
//! memory.
//!
//! What counts is the number of commits in the final histories, over the time until the last writer has ended. Attempts are
//! writes of `repo`: ours are counted at the store, the reference's by the backups that it leaves, one for each attempt.
//! `icefield` as an argument runs ours alone, `--json` prints a line of JSON for each case and side, `--rounds N`
//! does fewer or more rounds, `--writers N` lets only so many writers write.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use bytes::Bytes;
use futures::TryStreamExt;
use futures::future::try_join_all;
use icechunk::conflicts::detector::ConflictDetector;
use icechunk::format::format_constants::SpecVersionBin;
use icechunk::repository::VersionInfo;
use tokio::sync::RwLock;

/// Our types, for the part that is shared with the benchmark of ours alone.
mod api {
    pub(crate) use icefield::format::SpecVersion;
    pub(crate) use icefield::{
        BranchName, ByteRange, CommitOutcome, Detector, Fsync, LocalStorage, MemoryStorage,
        NodePath, Repository, WriteMode,
    };
    pub(crate) use icefield_storage::wrap::CountingStorage;
    pub(crate) use icefield_storage::{Clock, Storage, SystemClock};
}

#[path = "../../../shared/contention.rs"]
mod contention;

use contention::{CHUNK, Case, Figure, median, ours};

type Storage = Arc<dyn icechunk::Storage + Send + Sync>;

const ROUNDS: usize = 5;
const WRITERS: [u32; 3] = [2, 8, 32];
const COMMITS: u32 = 25;
/// Tries of the reference before a commit counts as refused.
const TRIES: u16 = 1000;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |wanted: &str| arguments.iter().any(|it| it == wanted);
    let (alone, is_json) = (given("icefield"), given("--json"));
    let number = |option: &str| -> anyhow::Result<Option<u32>> {
        let Some(at) = arguments.iter().position(|it| it == option) else {
            return Ok(None);
        };
        let number = arguments
            .get(at + 1)
            .with_context(|| format!("{option} needs a number"))?;
        Ok(Some(number.parse()?))
    };
    let rounds = number("--rounds")?.map_or(ROUNDS, |it| it.max(1) as usize);
    let writers = number("--writers")?.map_or(WRITERS.to_vec(), |it| vec![it]);
    // Kept until the end: file systems are slow to hand out again what was deleted a moment ago.
    let scratch = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    if !is_json {
        println!(
            "storage  layout        handles  writers  side      commits/s (median of {rounds})  landed of acknowledged  attempts"
        );
    }
    for (at, case) in Case::all(&writers, COMMITS).into_iter().enumerate() {
        let mut figures = [Vec::new(), Vec::new()];
        for round in 0..rounds {
            // In turns, so that whatever else the machine does disturbs both.
            let folder = scratch.path().join(format!("{at}-{round}"));
            figures[0].push(runtime.block_on(ours(&folder.join("icefield"), case)));
            if !alone {
                figures[1].push(runtime.block_on(theirs(&folder.join("icechunk"), case))?);
            }
        }
        // Commits that the reference acknowledges and loses, as it may on a local disk, are printed and not counted.
        for figure in &figures[0] {
            anyhow::ensure!(
                figure.landed >= figure.acknowledged,
                "lost commits: {figure:?} of {case:?}"
            );
        }
        let [ours, theirs] = figures;
        let ours = report(case, "icefield", ours, is_json);
        if !alone {
            let theirs = report(case, "icechunk", theirs, is_json);
            let (ratio, target) = (ours / theirs, if case.own_branches { 5 } else { 3 });
            if !is_json {
                println!(
                    "{:<7}  {:<12}  {:<7}  {:>7}  ratio     {ratio:.2}, target {target}",
                    case.storage(),
                    case.layout(),
                    case.handles(),
                    case.writers
                );
            }
        }
    }
    Ok(())
}

/// Prints the middle one of some rounds, and returns its rate.
fn report(case: Case, side: &str, figures: Vec<Figure>, is_json: bool) -> f64 {
    let middle = median(figures);
    let Figure {
        landed,
        acknowledged,
        attempts,
        ..
    } = middle;
    let rate = middle.rate();
    let (storage, layout, handles) = (case.storage(), case.layout(), case.handles());
    let (writers, tried) = (case.writers, case.tried());
    if is_json {
        println!(
            r#"{{"storage":"{storage}","layout":"{layout}","handles":"{handles}","writers":{writers},"side":"{side}","tried":{tried},"acknowledged":{acknowledged},"landed":{landed},"attempts":{attempts},"per_second":{rate:.1}}}"#
        );
    } else {
        println!(
            "{storage:<7}  {layout:<12}  {handles:<7}  {writers:>7}  {side}  {rate:>9.1}                {landed:>6} of {acknowledged:<12}  {attempts:>8}"
        );
    }
    rate
}

async fn theirs(folder: &Path, case: Case) -> anyhow::Result<Figure> {
    let storage: Storage = match case.on_disk {
        true => icechunk_arrow_object_store::new_local_filesystem_storage(folder).await?,
        false => icechunk_arrow_object_store::new_in_memory_storage().await?,
    };
    let repository = icechunk::Repository::create(Arc::clone(&storage));
    let repository = repository
        .spec_version(SpecVersionBin::V2)
        .execute()
        .await?;
    let session = repository.writable_session("main").await?;
    let store = icechunk::Store::from_session(Arc::new(RwLock::new(session))).await;
    store
        .set(
            "zarr.json",
            Bytes::from_static(br#"{"zarr_format":3,"node_type":"group"}"#),
        )
        .await?;
    store.set("x/zarr.json", case.array().into()).await?;
    let tip = store
        .session()
        .write()
        .await
        .commit("an array")
        .execute()
        .await?;
    for branch in case.branches().iter().filter(|it| *it != "main") {
        repository.create_branch(branch, &tip).await?;
    }
    let backups = async || -> anyhow::Result<u64> {
        let listed = repository
            .asset_manager()
            .list_overwritten_objects()
            .await?;
        Ok(listed
            .try_fold(0, |count, _| async move { Ok(count + 1) })
            .await?)
    };
    let before = backups().await?;
    let shared = Arc::new(
        icechunk::Repository::open(Arc::clone(&storage))
            .execute()
            .await?,
    );
    let begin = Instant::now();
    let writers = (0..case.writers).map(|writer| {
        let (storage, shared) = (Arc::clone(&storage), Arc::clone(&shared));
        tokio::spawn(async move {
            if case.one_handle {
                return write(&shared, case, writer).await;
            }
            let own = icechunk::Repository::open(storage).execute().await?;
            write(&own, case, writer).await
        })
    });
    let mut acknowledged = 0;
    for written in try_join_all(writers).await? {
        acknowledged += written?;
    }
    let seconds = begin.elapsed().as_secs_f64();
    let attempts = backups().await? - before;
    let mut landed = 0;
    let fresh = icechunk::Repository::open(storage).execute().await?;
    for branch in case.branches() {
        let history = fresh.ancestry(&VersionInfo::BranchTipRef(branch)).await?;
        let history: Vec<_> = history.try_collect().await?;
        // Without the first snapshot and the preparation.
        landed += history.len() - 2;
    }
    Ok(Figure {
        seconds,
        acknowledged,
        landed,
        attempts,
    })
}

/// Returns how many commits were acknowledged: one that is refused is none.
async fn write(
    repository: &icechunk::Repository,
    case: Case,
    writer: u32,
) -> anyhow::Result<usize> {
    let mut acknowledged = 0;
    for index in case.chunks(writer) {
        let session = repository.writable_session(&case.branch(writer)).await?;
        let store = icechunk::Store::from_session(Arc::new(RwLock::new(session))).await;
        store
            .set(
                &format!("x/c/{index}"),
                Bytes::from(vec![index as u8; CHUNK]),
            )
            .await?;
        let session = store.session();
        let mut session = session.write().await;
        let limit = Duration::from_secs(60);
        let commit = match case.own_branches {
            true => session.commit("a chunk").execute().await.is_ok(),
            false => {
                let commit = session
                    .commit("a chunk")
                    .rebase(&ConflictDetector, TRIES)
                    .execute();
                tokio::time::timeout(limit, commit)
                    .await
                    .is_ok_and(|it| it.is_ok())
            }
        };
        acknowledged += usize::from(commit);
    }
    Ok(acknowledged)
}
