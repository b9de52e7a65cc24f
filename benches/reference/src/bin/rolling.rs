//! A window over time that rolls by one slab of chunks, ours and the reference's: all references of an array move by one
//! along the first axis, a new slab is set, and both are committed.
//!
//! Each roll is a process of its own, on a copy of one repository, whose most resident memory counts beyond what it had before.
//! Both sides work on spec version 1 in a local directory, without fsync, with one manifest for each slab. Chunks are not
//! stored on either side: the references alone are the subject. What is timed: from the shift to the end of the commit.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use futures::TryStreamExt;
use futures::stream::BoxStream;
use icechunk::format::manifest::{ChunkPayload, ChunkRef};
use icechunk::format::{ChunkId, ChunkIndices};
use icefield::{BranchName, Fsync, LocalStorage, NodePath, Repository, RepositoryConfig, Session, WriteMode};
use icefield_storage::{
    Bytes, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions, Object, ObjectClass,
    ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError, Version,
};

const SLABS: u32 = 56;
/// Windows by their names, with the chunks of a slab along two axes.
const SIZES: [(&str, [u32; 2]); 3] = [("S", [12, 15]), ("M", [40, 45]), ("L", [120, 150])];
const CHUNK: usize = 1024;
const ROUNDS: usize = 3;
const SIDES: [&str; 2] = ["icefield", "icechunk"];
/// How many times as fast ours is meant to be.
const TARGET: f64 = 8.0;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, side, folder, y, x] = arguments.as_slice() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let roll = runtime.block_on(measure(side, Path::new(folder), [y.parse()?, x.parse()?]))?;
        println!("{} {}", roll[0], roll[1]);
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let scratch = tempfile::tempdir()?;
    for (name, each) in SIZES {
        let window = scratch.path().join(name);
        runtime.block_on(build(&window, each))?;
        let mut figures: [Vec<[f64; 2]>; 2] = Default::default();
        for round in 0..ROUNDS {
            // In turns, so that whatever else the machine does disturbs both.
            for (side, figures) in SIDES.iter().zip(&mut figures) {
                let folder = scratch.path().join(format!("{name}-{side}-{round}"));
                copy(&window, &folder)?;
                let run = Command::new(std::env::current_exe()?)
                    .arg(side)
                    .arg(&folder)
                    .args(each.map(|count| count.to_string()))
                    .output()?;
                anyhow::ensure!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
                let text = String::from_utf8(run.stdout)?;
                let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
                figures.push(numbers?.try_into().map_err(|_| anyhow::anyhow!("not two numbers"))?);
                fs::remove_dir_all(folder)?;
            }
        }
        let refs = SLABS * each[0] * each[1];
        println!("{name}: {refs} references, {} of them new, median of {ROUNDS}", each[0] * each[1]);
        let mut medians = Vec::new();
        for (side, mut figures) in SIDES.iter().zip(figures) {
            figures.sort_by(|a, b| a[0].total_cmp(&b[0]));
            let [seconds, peak] = figures[ROUNDS / 2];
            println!("  {side}  {seconds:.4} s, {:.0} MiB above the start", peak / f64::from(1 << 20));
            medians.push(seconds);
        }
        println!("  icefield is {:.1} times as fast, target {TARGET} with a million", medians[1] / medians[0]);
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => drop(fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}

/// Bytes of memory.
fn memory(name: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim_start_matches(':').trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.trim().parse::<f64>().ok()).unwrap_or(0.0) * 1024.0
}

async fn open(folder: &Path) -> anyhow::Result<Repository> {
    let storage = LocalStorage::builder(folder).fsync(Fsync::None).open()?;
    let storage = Arc::new(Chunkless(Arc::new(storage)));
    // Stored with the repository, so that the reference splits alike.
    let rule = "[any_array, [{condition: !Axis 0, num_chunks: 1}]]";
    let config = format!("manifest:\n  splitting:\n    split_sizes:\n    - {rule}\n");
    let config = RepositoryConfig::decode(config.as_bytes())?;
    Ok(Repository::builder(storage).config(config).open_or_create().await?)
}

async fn set(session: &Session, slab: u32, [y, x]: [u32; 2]) -> anyhow::Result<()> {
    let (path, bytes) = (NodePath::parse("/a")?, Bytes::from_static(&[7; CHUNK]));
    for y in 0..y {
        for x in 0..x {
            session.set_chunk(&path, &[slab, y, x], bytes.clone(), WriteMode::Overwrite).await?;
        }
    }
    Ok(())
}

async fn build(folder: &Path, each: [u32; 2]) -> anyhow::Result<()> {
    let repository = open(folder).await?;
    let session = repository.write_session(BranchName::main()).await?;
    let group = r#"{"zarr_format":3,"node_type":"group"}"#;
    let [y, x] = each;
    let array = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{SLABS},{y},{x}],"data_type":"int8","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[1,1,1]}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{{"name":"bytes"}}],"attributes":{{}}}}"#
    );
    session.set_metadata(&NodePath::root(), group.into(), WriteMode::Overwrite).await?;
    session.set_metadata(&NodePath::parse("/a")?, array.into(), WriteMode::Overwrite).await?;
    for slab in 0..SLABS {
        set(&session, slab, each).await?;
    }
    icefield::committed(session.commit("a window").await?)?;
    Ok(())
}

/// Seconds and bytes of memory.
async fn measure(side: &str, folder: &Path, each: [u32; 2]) -> anyhow::Result<[f64; 2]> {
    let (seconds, before) = match side {
        "icefield" => ours(folder, each).await?,
        "icechunk" => theirs(folder, each).await?,
        other => anyhow::bail!("{other:?} is no side"),
    };
    let peak = memory("VmHWM") - before;
    // Ours reads it, whichever wrote it: everything is where it should be.
    let session = open(folder).await?.read_session(BranchName::main()).await?;
    let found = session.chunks(&NodePath::parse("/a")?)?;
    let found = found.try_fold(0, |count, _| async move { Ok(count + 1) }).await?;
    anyhow::ensure!(found == SLABS * each[0] * each[1], "{found} references");
    Ok([seconds, peak])
}

async fn ours(folder: &Path, each: [u32; 2]) -> anyhow::Result<(f64, f64)> {
    let session = open(folder).await?.write_session(BranchName::main()).await?;
    let (before, begin) = (memory("VmRSS"), Instant::now());
    session.shift(&NodePath::parse("/a")?, &[-1, 0, 0]).await?;
    set(&session, SLABS - 1, each).await?;
    icefield::committed(session.commit("a roll").await?)?;
    Ok((begin.elapsed().as_secs_f64(), before))
}

async fn theirs(folder: &Path, [y, x]: [u32; 2]) -> anyhow::Result<(f64, f64)> {
    let storage = icechunk_arrow_object_store::new_local_filesystem_storage(folder).await?;
    // One manifest for each slab on this side, too.
    let config = icechunk::RepositoryConfig {
        manifest: Some(icechunk::config::ManifestConfig {
            splitting: Some(splitting()),
            ..Default::default()
        }),
        ..Default::default()
    };
    let repository = icechunk::Repository::open(storage).config(config).execute().await?;
    let mut session = repository.writable_session("main").await?;
    let path: icechunk::format::Path = "/a".try_into()?;
    let (before, begin) = (memory("VmRSS"), Instant::now());
    session.shift_array(&path, &[-1, 0, 0]).await?;
    for y in 0..y {
        for x in 0..x {
            let reference = ChunkRef { id: ChunkId::random(), offset: 0, length: CHUNK as u64 };
            let index = ChunkIndices(vec![SLABS - 1, y, x]);
            session.set_chunk_ref(path.clone(), index, Some(ChunkPayload::Ref(reference))).await?;
        }
    }
    session.commit("a roll").execute().await?;
    Ok((begin.elapsed().as_secs_f64(), before))
}

fn splitting() -> icechunk::config::ManifestSplittingConfig {
    use icechunk::config::{
        ManifestSplitCondition, ManifestSplitDim, ManifestSplitDimCondition, ManifestSplittingConfig,
    };
    let dim = ManifestSplitDim { condition: ManifestSplitDimCondition::Axis(0), num_chunks: 1 };
    ManifestSplittingConfig { split_sizes: Some(vec![(ManifestSplitCondition::AnyArray, vec![dim])]) }
}

/// Another store, in which chunks count as written and are not there.
#[derive(Debug)]
struct Chunkless(Arc<dyn Storage>);

impl fmt::Display for Chunkless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, without chunks", self.0)
    }
}

#[async_trait]
impl Storage for Chunkless {
    fn place(&self) -> Option<String> {
        self.0.place()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        self.0.get(key, options).await
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        self.0.head(key).await
    }

    async fn put(&self, key: &Key, payload: Payload, options: PutOptions) -> Result<PutOutcome, StorageError> {
        if options.class == ObjectClass::Chunk {
            return Ok(PutOutcome::written(Version::new("chunk")));
        }
        self.0.put(key, payload, options).await
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        self.0.list(options)
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        self.0.delete(deletions)
    }

    async fn copy(&self, from: &Key, to: &Key, options: CopyOptions) -> Result<PutOutcome, StorageError> {
        self.0.copy(from, to, options).await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.0.sync().await
    }
}
