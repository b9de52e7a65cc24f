//! References to chunks of foreign files, ours and the reference's: set in one call, committed, read back.
//!
//! Each run is a process of its own, whose most resident memory counts. Both sides write spec version 1 to a local
//! directory, without fsync, and check each location against the container of the configuration. What is not timed:
//! the making of the arguments, in the form that each side takes.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use futures::TryStreamExt;
use icechunk::format::ChunkIndices;
use icechunk::format::manifest::{VirtualChunkLocation, VirtualChunkRef};
use icefield::format::config::{VirtualChunkContainer, VirtualChunkContainers, VirtualStore};
use icefield::{
    BranchName, Fsync, LocalStorage, NodePath, Repository, RepositoryConfig, VirtualRefs, VirtualSource, WriteMode,
};
use tokio::sync::RwLock;

const COUNT: usize = 1_000_000;
const FILES: usize = 1000;
const EACH: usize = COUNT / FILES;
const CHUNK: u64 = 4096;
const ROUNDS: usize = 5;

/// Seconds to set, to commit and to read back, and bytes of memory.
type Figures = [f64; 4];

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, side, folder] = arguments.as_slice() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let [set, committed, read, peak] = runtime.block_on(measure(side, Path::new(folder)))?;
        println!("{set} {committed} {read} {peak}");
        return Ok(());
    }
    let sides = ["icefield", "icechunk"];
    let mut figures: [Vec<Figures>; 2] = Default::default();
    for _ in 0..ROUNDS {
        // In turns, so that whatever else the machine does disturbs both.
        for (side, figures) in sides.iter().zip(&mut figures) {
            let folder = tempfile::tempdir()?;
            let run = Command::new(std::env::current_exe()?).arg(side).arg(folder.path()).output()?;
            anyhow::ensure!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
            let text = String::from_utf8(run.stdout)?;
            let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
            figures.push(numbers?.try_into().map_err(|_| anyhow::anyhow!("not four numbers"))?);
        }
    }
    println!("{COUNT} references, median of {ROUNDS}");
    for (side, mut figures) in sides.iter().zip(figures) {
        let all = |it: &Figures| it[0] + it[1] + it[2];
        figures.sort_by(|a, b| all(a).total_cmp(&all(b)));
        let [set, committed, read, peak] = figures[ROUNDS / 2];
        let (sum, each) = (set + committed + read, peak / COUNT as f64);
        println!("{side}  set {set:.3} s, commit {committed:.3} s, read {read:.3} s, {sum:.3} s in all, {each:.0} B each");
    }
    Ok(())
}

fn location(file: usize) -> String {
    format!("s3://archive/year=2000/file-{file:05}.nc")
}

fn index(file: usize, at: usize) -> [u32; 3] {
    [file as u32, (at / 100) as u32, (at % 100) as u32]
}

/// The most memory that was resident beyond what is now.
fn memory(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim_start_matches(':').trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.trim().parse::<f64>().ok()).unwrap_or(0.0) * 1024.0
}

async fn measure(side: &str, folder: &Path) -> anyhow::Result<Figures> {
    prepare(folder).await?;
    let before = memory("VmRSS");
    let [set, committed, read] = match side {
        "icefield" => ours(folder).await?,
        "icechunk" => theirs(folder).await?,
        other => anyhow::bail!("{other:?} is no side"),
    };
    Ok([set, committed, read, memory("VmHWM") - before])
}

async fn prepare(folder: &Path) -> anyhow::Result<()> {
    let storage = LocalStorage::builder(folder).fsync(Fsync::None).open()?;
    let container = VirtualChunkContainer {
        name: None,
        url_prefix: "s3://archive/".to_owned(),
        store: VirtualStore::S3(Default::default()),
        unknown: Default::default(),
    };
    let config = RepositoryConfig {
        virtual_chunk_containers: Some(VirtualChunkContainers::from_iter([container])),
        ..Default::default()
    };
    let repository = Repository::builder(Arc::new(storage)).config(config).create().await?;
    let session = repository.write_session(BranchName::main()).await?;
    let group = r#"{"zarr_format":3,"node_type":"group"}"#;
    let rows = EACH / 100;
    let array = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{FILES},{rows},100],"data_type":"int8","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[1,1,1]}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{{"name":"bytes"}}],"attributes":{{}}}}"#
    );
    session.set_metadata(&NodePath::root(), group.into(), WriteMode::Overwrite).await?;
    session.set_metadata(&NodePath::parse("/a")?, array.into(), WriteMode::Overwrite).await?;
    icefield::committed(session.commit("an array").await?)?;
    Ok(())
}

async fn ours(folder: &Path) -> anyhow::Result<[f64; 3]> {
    let path = NodePath::parse("/a")?;
    let rows = (0..COUNT).map(|row| (row / EACH, row % EACH));
    let coordinates: Vec<u32> = rows.clone().flat_map(|(file, at)| index(file, at)).collect();
    let sources = (0..FILES).map(|file| VirtualSource::new(&location(file)));
    let sources: Vec<VirtualSource> = sources.collect::<Result<_, _>>()?;
    let source: Vec<u32> = rows.clone().map(|(file, _)| file as u32).collect();
    let offsets: Vec<u64> = rows.map(|(_, at)| at as u64 * CHUNK).collect();
    let lengths = vec![CHUNK; COUNT];
    let refs = VirtualRefs {
        coordinates: &coordinates,
        sources: &sources,
        source: &source,
        offsets: &offsets,
        lengths: &lengths,
    };
    let repository = open(folder).await?;
    let session = repository.write_session(BranchName::main()).await?;
    let begin = Instant::now();
    session.set_virtual_refs(&path, refs).await?;
    let set = begin.elapsed().as_secs_f64();
    icefield::committed(session.commit("references").await?)?;
    let committed = begin.elapsed().as_secs_f64();
    drop((session, repository));
    let session = open(folder).await?.read_session(BranchName::main()).await?;
    let found = session.chunks(&path)?.try_fold(0, |count, _| async move { Ok(count + 1) }).await?;
    anyhow::ensure!(found == COUNT, "{found} references");
    let all = begin.elapsed().as_secs_f64();
    Ok([set, committed - set, all - committed])
}

async fn open(folder: &Path) -> anyhow::Result<Repository> {
    let storage = LocalStorage::builder(folder).fsync(Fsync::None).open()?;
    Ok(Repository::open(Arc::new(storage)).await?)
}

async fn theirs(folder: &Path) -> anyhow::Result<[f64; 3]> {
    let path = "/a".try_into()?;
    let mut refs = Vec::with_capacity(COUNT);
    for row in 0..COUNT {
        let (file, at) = (row / EACH, row % EACH);
        let reference = VirtualChunkRef {
            location: VirtualChunkLocation::from_url(&location(file))?,
            offset: at as u64 * CHUNK,
            length: CHUNK,
            checksum: None,
        };
        refs.push((ChunkIndices(index(file, at).to_vec()), reference));
    }
    let storage = icechunk_arrow_object_store::new_local_filesystem_storage(folder).await?;
    let repository = icechunk::Repository::open(storage).execute().await?;
    let session = repository.writable_session("main").await?;
    let store = icechunk::Store::from_session(Arc::new(RwLock::new(session))).await;
    let begin = Instant::now();
    store.set_virtual_refs(&path, true, refs).await?;
    let set = begin.elapsed().as_secs_f64();
    let session = store.session();
    session.write().await.commit("references").execute().await?;
    let committed = begin.elapsed().as_secs_f64();
    drop((session, store, repository));
    let storage = icechunk_arrow_object_store::new_local_filesystem_storage(folder).await?;
    let repository = icechunk::Repository::open(storage).execute().await?;
    let version = icechunk::repository::VersionInfo::BranchTipRef("main".to_owned());
    let session = repository.readonly_session(&version).await?;
    let chunks = session.array_chunk_iterator(&path).await;
    let found = chunks.try_fold(0, |count, _| async move { Ok(count + 1) }).await?;
    anyhow::ensure!(found == COUNT, "{found} references");
    let all = begin.elapsed().as_secs_f64();
    Ok([set, committed - set, all - committed])
}
