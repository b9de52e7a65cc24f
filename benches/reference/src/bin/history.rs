//! Ten thousand commits on one repository of spec version 2, ours and the reference's one after the other, on a local disk
//! without fsync: what a commit takes at the beginning and at the end, and what the repository takes after a collection.
//!
//! The reference keeps each earlier state of `repo`: the history of ten thousand takes gigabytes. `icefield` as an argument runs
//! ours alone, `--commits N` makes a history of another length, `--collect-every N` lets ours collect in between, `--json` prints
//! a line of JSON for each side.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use bytes::Bytes;
use icechunk::format::format_constants::SpecVersionBin;
use icechunk::ops::gc::{GCConfig, garbage_collect};
use tokio::sync::RwLock;

/// Our types, for the part that is shared with the benchmark of ours alone.
mod api {
    pub(crate) use icefield::format::SpecVersion;
    pub(crate) use icefield::maintenance::Collect;
    pub(crate) use icefield::storage::{Clock, SystemClock};
    pub(crate) use icefield::{
        BranchName, CommitOutcome, Fsync, LocalStorage, NodePath, Repository, WriteMode,
    };
}

#[path = "../../../shared/history.rs"]
mod history;

use history::{ARRAY, Figure, GROUP};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |wanted: &str| arguments.iter().any(|it| it == wanted);
    let number = |option: &str, default: usize| -> anyhow::Result<usize> {
        match arguments.iter().position(|it| it == option) {
            Some(at) => Ok(arguments
                .get(at + 1)
                .context("a number is missing")?
                .parse()?),
            None => Ok(default),
        }
    };
    let commits = number("--commits", 10_000)?;
    let collect_every = number("--collect-every", usize::MAX)?;
    let scratch = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let is_json = given("--json");
    let ours = runtime.block_on(history::ours(
        &scratch.path().join("icefield"),
        commits,
        collect_every,
    ));
    report("icefield", &ours, is_json);
    if given("icefield") {
        return Ok(());
    }
    let theirs = runtime.block_on(theirs(&scratch.path().join("icechunk"), commits))?;
    report("icechunk", &theirs, is_json);
    let less = theirs.total().1 as f64 / ours.total().1 as f64;
    if !is_json {
        println!("icefield takes {less:.1} times fewer bytes, target 10 of ten thousand commits");
    }
    Ok(())
}

fn report(side: &str, figure: &Figure, is_json: bool) {
    match is_json {
        true => println!(r#"{{"side":"{side}",{}}}"#, figure.json()),
        false => println!(
            "{side}: {figure} slower by {:.2} ms, target 5 of ten thousand",
            figure.slower_by()
        ),
    }
}

async fn theirs(folder: &Path, commits: usize) -> anyhow::Result<Figure> {
    let storage = icechunk_arrow_object_store::new_local_filesystem_storage(folder).await?;
    let repository = icechunk::Repository::create(storage);
    let repository = repository
        .spec_version(SpecVersionBin::V2)
        .execute()
        .await?;
    let session = repository.writable_session("main").await?;
    let store = icechunk::Store::from_session(Arc::new(RwLock::new(session))).await;
    store
        .set("zarr.json", Bytes::from_static(GROUP.as_bytes()))
        .await?;
    store
        .set("x/zarr.json", Bytes::from_static(ARRAY.as_bytes()))
        .await?;
    store
        .session()
        .write()
        .await
        .commit("an array")
        .execute()
        .await?;
    let mut times = Vec::with_capacity(commits);
    for number in 1..=commits as u64 {
        let begin = Instant::now();
        let session = repository.writable_session("main").await?;
        let store = icechunk::Store::from_session(Arc::new(RwLock::new(session))).await;
        store
            .set("x/c/0", Bytes::from(number.to_le_bytes().to_vec()))
            .await?;
        store
            .session()
            .write()
            .await
            .commit("a chunk")
            .execute()
            .await?;
        times.push(begin.elapsed());
    }
    let begin = Instant::now();
    let now = chrono::Utc::now();
    let some = |count: u16| count.try_into().context("not zero");
    let bytes = (64_usize << 20).try_into().context("not zero")?;
    let config = GCConfig::clean_all(
        now,
        now,
        None,
        some(50)?,
        bytes,
        bytes,
        some(500)?,
        some(100)?,
        some(100)?,
        None,
        false,
    );
    garbage_collect(Arc::clone(repository.asset_manager()), &config, None, 1000).await?;
    let collecting: Duration = begin.elapsed();
    Ok(Figure {
        times,
        collecting,
        objects: history::objects(folder)?,
    })
}
