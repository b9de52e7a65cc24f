//! Commits per second of many writers on one branch of a local directory, ours and the reference's.
//!
//! Both sides write one chunk of one array per commit, in spec version 1, each writer through a handle of its own, with
//! rebase, without fsync. What counts is the number of commits that are in the final history, over the time until the
//! last writer has ended.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::try_join_all;
use futures::TryStreamExt;
use icechunk::conflicts::detector::ConflictDetector;
use icefield::{BranchName, CommitOutcome, Detector, Fsync, LocalStorage, NodePath, WriteMode};
use tokio::sync::RwLock;

const COMMITS: u32 = 25;
const CHUNK: usize = 1000;
const ROUNDS: usize = 5;
/// Tries of the reference before a commit counts as refused.
const TRIES: u16 = 1000;

fn main() -> anyhow::Result<()> {
    let sides = match std::env::args().nth(1).as_deref() {
        None => vec![Side::Icefield, Side::Icechunk],
        Some("icefield") => vec![Side::Icefield],
        Some(other) => anyhow::bail!("{other:?} is no side to be run alone: only `icefield` is"),
    };
    // Kept until the end: file systems are slow to hand out again what was deleted a moment ago.
    let scratch = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    println!("writers  side       commits/s (median of {ROUNDS})  in the history, of those tried");
    for writers in [2, 8, 32] {
        let mut figures = vec![Vec::new(); sides.len()];
        for _ in 0..ROUNDS {
            // In turns, so that whatever else the machine does disturbs both.
            for (side, figures) in sides.iter().zip(&mut figures) {
                figures.push(runtime.block_on(round(scratch.path(), writers, *side))?);
            }
        }
        let medians = sides.iter().zip(figures);
        let medians: Vec<f64> = medians.map(|(side, it)| median(side.name(), writers, it)).collect();
        if let [ours, theirs] = medians[..] {
            println!("{writers:>7}  ratio      {:.2}", ours / theirs);
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    Icefield,
    Icechunk,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Icefield => "icefield",
            Self::Icechunk => "icechunk",
        }
    }
}

/// Commits per second, and how many landed of how many.
type Figure = (f64, usize, u32);

fn median(name: &str, writers: u32, mut figures: Vec<Figure>) -> f64 {
    figures.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (rate, ..) = figures[figures.len() / 2];
    let landed: usize = figures.iter().map(|figure| figure.1).sum();
    let tried: u32 = figures.iter().map(|figure| figure.2).sum();
    println!("{writers:>7}  {name}   {rate:>8.1}                   {landed} of {tried}");
    rate
}

async fn round(scratch: &Path, writers: u32, side: Side) -> anyhow::Result<Figure> {
    let folder = tempfile::tempdir_in(scratch)?.keep();
    prepare(&folder, writers * COMMITS).await?;
    let begin = Instant::now();
    let tasks = (0..writers).map(|number| {
        let path = folder.clone();
        tokio::spawn(async move {
            match side {
                Side::Icefield => ours(&path, number * COMMITS).await,
                Side::Icechunk => theirs(&path, number * COMMITS).await,
            }
        })
    });
    for task in try_join_all(tasks).await? {
        task?;
    }
    let elapsed = begin.elapsed();
    let repository = open(&folder).await?;
    let tip = repository.resolve(&BranchName::main().into()).await?;
    let history: Vec<_> = repository.ancestry(tip).try_collect().await?;
    // Without the first snapshot and the preparation.
    let landed = history.len() - 2;
    Ok((landed as f64 / elapsed.as_secs_f64(), landed, writers * COMMITS))
}

async fn open(path: &Path) -> anyhow::Result<icefield::Repository> {
    let storage = LocalStorage::builder(path).fsync(Fsync::None).open()?;
    Ok(icefield::Repository::open(Arc::new(storage)).await?)
}

async fn prepare(path: &Path, chunks: u32) -> anyhow::Result<()> {
    let storage = LocalStorage::builder(path).fsync(Fsync::None).open()?;
    let repository = icefield::Repository::create(Arc::new(storage)).await?;
    let session = repository.write_session(BranchName::main()).await?;
    let group = r#"{"zarr_format":3,"node_type":"group"}"#;
    let array = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{chunks}],"data_type":"uint8","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[1]}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{{"name":"bytes"}}],"attributes":{{}}}}"#
    );
    session.set_metadata(&NodePath::root(), group.into(), WriteMode::Overwrite).await?;
    session.set_metadata(&NodePath::parse("/x")?, array.into(), WriteMode::Overwrite).await?;
    icefield::committed(session.commit("an array").await?)?;
    Ok(())
}

async fn ours(path: &Path, first: u32) -> anyhow::Result<()> {
    let repository = open(path).await?;
    let array = NodePath::parse("/x")?;
    for index in first..first + COMMITS {
        let session = repository.write_session(BranchName::main()).await?;
        let bytes = Bytes::from(vec![index as u8; CHUNK]);
        session.set_chunk(&array, &[index], bytes, WriteMode::Overwrite).await?;
        let outcome = session.commit("a chunk").rebase_with(Detector::Compatible).await?;
        anyhow::ensure!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
    }
    Ok(())
}

async fn theirs(path: &Path, first: u32) -> anyhow::Result<()> {
    let storage = icechunk_arrow_object_store::new_local_filesystem_storage(path).await?;
    let repository = icechunk::Repository::open(storage).execute().await?;
    for index in first..first + COMMITS {
        let session = repository.writable_session("main").await?;
        let store = icechunk::Store::from_session(Arc::new(RwLock::new(session))).await;
        let bytes = Bytes::from(vec![index as u8; CHUNK]);
        store.set(&format!("x/c/{index}"), bytes).await?;
        let session = store.session();
        let mut session = session.write().await;
        // A refused commit is none; the history is what counts.
        let limit = Duration::from_secs(60);
        let commit = session.commit("a chunk").rebase(&ConflictDetector, TRIES).execute();
        let _refused = tokio::time::timeout(limit, commit).await;
    }
    Ok(())
}
