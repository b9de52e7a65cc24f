//! Ten million references in one array: what a commit of one chunk, one of one more step, and a rewrite of all manifests
//! cost, each in a process that does nothing else.
//!
//! Bytes and memory count, not only time, so that this is no matter for criterion. The benchmark starts itself anew for
//! each step.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

use icefield_benches::files::scratch;
use icefield_benches::{Mode, fact, runtime, status};
use icefield_core::{
    BranchName, CommitOutcome, ManifestRewrite, NodePath, Repository, RepositoryConfig, Session,
    VirtualRefs, VirtualSource, WriteMode,
};
use icefield_format::config::{VirtualChunkContainer, VirtualChunkContainers, VirtualStore};
use icefield_storage::{Clock, SystemClock};
use icefield_storage_local::{Fsync, LocalStorage};

/// Of a commit of one chunk or one step: manifests, bytes of all that it writes, and bytes of memory.
const TARGETS: (usize, u64, u64) = (2, 1 << 20, 200_000_000);
/// Tells a further process that it is that.
const STEP: &str = "--step";
/// References of one step along the axis that grows, commits that build the array, and bytes of a chunk.
const EACH: usize = 1000;
const COMMITS: usize = 10;
const CHUNK: u64 = 4096;

async fn open(folder: &Path) -> Repository {
    let storage = LocalStorage::builder(folder).fsync(Fsync::None);
    let storage: Arc<dyn icefield_storage::Storage> = Arc::new(storage.open().expect("opened"));
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
    let builder = Repository::builder(storage).config(config);
    builder.open_or_create().await.expect("opened")
}

/// Appends steps to the array.
async fn append(session: &Session, path: &NodePath, from: usize, to: usize) {
    let document = format!(
        r#"{{"zarr_format": 3, "node_type": "array", "shape": [{to}, {EACH}], "data_type": "int8",
        "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [1, 1]}}}},
        "chunk_key_encoding": {{"name": "default"}}, "fill_value": 0, "codecs": [{{"name": "bytes"}}]}}"#
    );
    let set = session.set_metadata(path, document.into(), WriteMode::Overwrite);
    set.await.expect("set");
    let rows = from * EACH..to * EACH;
    let coordinates: Vec<u32> = rows
        .clone()
        .flat_map(|row| [(row / EACH) as u32, (row % EACH) as u32])
        .collect();
    let offsets: Vec<u64> = rows.clone().map(|row| row as u64 * CHUNK).collect();
    let refs = VirtualRefs {
        coordinates: &coordinates,
        offsets: &offsets,
        lengths: &vec![CHUNK; rows.len()],
        sources: &[VirtualSource::new("s3://archive/all.nc").expect("a location")],
        source: &vec![0; rows.len()],
    };
    session.set_virtual_refs(path, refs).await.expect("set");
}

/// Does one thing and commits it; prints its seconds and the most memory that this process had.
async fn step(what: &str, folder: &Path, steps: usize) {
    let repository = open(folder).await;
    let path = NodePath::parse("/a").expect("a path");
    let begun = SystemClock.monotonic();
    let commits = if what == "build" { COMMITS } else { 1 };
    for commit in 0..commits {
        let session = repository.write_session(BranchName::main()).await;
        let session = session.expect("a session");
        match what {
            "build" => {
                let part = steps / COMMITS;
                append(&session, &path, commit * part, (commit + 1) * part).await;
            }
            "chunk" => {
                let index = [steps as u32 / 2, 7];
                let set = session.set_chunk(&path, &index, vec![1].into(), WriteMode::Overwrite);
                set.await.expect("set");
            }
            "append" => append(&session, &path, steps, steps + 1).await,
            _ => {}
        }
        let commit = match what {
            "rewrite" => session.commit(what).rewrite_manifests(ManifestRewrite::All),
            _ => session.commit(what),
        };
        let outcome = commit.await.expect("committed");
        assert!(
            matches!(outcome, CommitOutcome::Committed(_)),
            "{outcome:?}"
        );
    }
    let time = SystemClock.monotonic() - begun;
    let peak = status("VmHWM").unwrap_or(0);
    println!("{} {peak}", time.as_secs_f64());
}

/// All files of a repository and their lengths.
fn files(folder: &Path) -> BTreeMap<PathBuf, u64> {
    let mut found = BTreeMap::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let entry = entry.expect("it is listed");
            let metadata = entry.metadata().expect("it is there");
            match metadata.is_dir() {
                true => pending.push(entry.path()),
                false => drop(found.insert(entry.path(), metadata.len())),
            }
        }
    }
    found
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().collect();
    if let [_, stepping, what, folder, steps] = arguments.as_slice()
        && stepping == STEP
    {
        let steps = steps.parse().expect("the first process wrote it");
        runtime().block_on(step(what, Path::new(folder), steps));
        return ExitCode::SUCCESS;
    }
    let mode = Mode::of_command_line();
    let mut steps: usize = mode.pick(10_000, 100);
    let scratch = scratch(env!("CARGO_TARGET_TMPDIR"));
    let folder = scratch.path().join("r");
    let mut good = true;
    for what in ["build", "chunk", "append", "rewrite"] {
        let before = files(&folder);
        let run = Command::new(env::current_exe().expect("it runs"))
            .args([STEP, what])
            .arg(&folder)
            .arg(steps.to_string())
            .output()
            .expect("it starts");
        let error = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{what}: {error}");
        let text = String::from_utf8(run.stdout).expect("numbers");
        let (seconds, peak) = text.trim().split_once(' ').expect("two numbers");
        let seconds: f64 = seconds.parse().expect("a number");
        let peak: u64 = peak.parse().expect("a number");
        let after = files(&folder);
        let new = after.iter().filter(|(file, _)| !before.contains_key(*file));
        let new: Vec<(&PathBuf, u64)> = new.map(|(file, length)| (file, *length)).collect();
        let bytes: u64 = new.iter().map(|(_, length)| length).sum();
        let is_manifest = |file: &Path| file.components().any(|it| it.as_os_str() == "manifests");
        let manifests = new.iter().filter(|(file, _)| is_manifest(file)).count();
        let (most_manifests, most_bytes, most_memory) = TARGETS;
        let small = ["chunk", "append"].contains(&what);
        let target = match small {
            true => format!(
                ", targets {most_manifests} manifests, {most_bytes} bytes, {most_memory} of memory"
            ),
            false => String::new(),
        };
        fact(
            format!("{} refs: {what}", steps * EACH),
            format_args!(
                "{manifests} manifests and {bytes} bytes written, {seconds:.3} s, peak of memory {peak}{target}"
            ),
        );
        let light = mode == Mode::Test || peak <= most_memory;
        good &= !small || (manifests <= most_manifests && bytes <= most_bytes && light);
        steps += usize::from(what == "append");
    }
    ExitCode::from(u8::from(!good))
}
