//! A million references to chunks of foreign files: set, committed and read back, in a process that does nothing else.
//!
//! Its time counts as well as its memory, and a second time in one process would find memory that the first has left, so
//! that this is no matter for criterion. The benchmark starts itself anew for each run.

use std::env;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use futures::TryStreamExt;
use icefield_benches::files::scratch;
use icefield_benches::{Mode, fact, runtime, status};
use icefield_core::{
    BranchName, ChunkLocation, CommitOutcome, NodePath, Repository, RepositoryConfig, VirtualRefs,
    VirtualSource, WriteMode,
};
use icefield_format::config::{VirtualChunkContainer, VirtualChunkContainers, VirtualStore};
use icefield_storage::{Clock, SystemClock};
use icefield_storage_local::{Fsync, LocalStorage};

/// Seconds for all three, and bytes of memory for each reference.
const TARGETS: (f64, f64) = (1.5, 250.0);
/// Tells the second process that it is that.
const MEASURE: &str = "--measure";
/// Runs of which the median counts.
const RUNS: usize = 5;
/// Files that the chunks lie in, and chunks of each row of the grid.
const FILES: usize = 1000;
const CHUNK: u64 = 4096;

/// The columns of the references: in each file the same number, one after the other.
struct Columns {
    coordinates: Vec<u32>,
    sources: Vec<VirtualSource>,
    source: Vec<u32>,
    offsets: Vec<u64>,
    lengths: Vec<u64>,
}

impl Columns {
    fn new(count: usize) -> Self {
        let each = count / FILES;
        let locate = |file| {
            VirtualSource::new(&format!("s3://archive/year=2000/file-{file:05}.nc"))
                .expect("a location")
        };
        let rows = (0..FILES * each).map(|row| (row / each, row % each));
        Self {
            coordinates: rows
                .clone()
                .flat_map(|(file, at)| [file as u32, (at / 100) as u32, (at % 100) as u32])
                .collect(),
            sources: (0..FILES).map(locate).collect(),
            source: rows.clone().map(|(file, _)| file as u32).collect(),
            offsets: rows.clone().map(|(_, at)| at as u64 * CHUNK).collect(),
            lengths: rows.map(|_| CHUNK).collect(),
        }
    }

    fn refs(&self) -> VirtualRefs<'_> {
        VirtualRefs {
            coordinates: &self.coordinates,
            sources: &self.sources,
            source: &self.source,
            offsets: &self.offsets,
            lengths: &self.lengths,
        }
    }
}

async fn measure(count: usize) {
    let folder = scratch(env!("CARGO_TARGET_TMPDIR"));
    let storage = LocalStorage::builder(folder.path().join("r")).fsync(Fsync::None);
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
    let builder = Repository::builder(Arc::clone(&storage)).config(config);
    let repository = builder.create().await.expect("created");
    let path = NodePath::parse("/a").expect("a path");
    let rows = count / FILES / 100;
    let document = format!(
        r#"{{"zarr_format": 3, "node_type": "array", "shape": [{FILES}, {rows}, 100], "data_type": "int8",
        "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [1, 1, 1]}}}},
        "chunk_key_encoding": {{"name": "default"}}, "fill_value": 0, "codecs": [{{"name": "bytes"}}]}}"#
    );
    let columns = Columns::new(count);
    let before = status("VmRSS");
    let clock = SystemClock;
    let begun = clock.monotonic();
    let session = repository
        .write_session(BranchName::main())
        .await
        .expect("a session");
    let set = session.set_metadata(&path, document.into(), WriteMode::Overwrite);
    set.await.expect("set");
    session
        .set_virtual_refs(&path, columns.refs())
        .await
        .expect("set");
    let set = clock.monotonic() - begun;
    let outcome = session.commit("references").await.expect("committed");
    assert!(
        matches!(outcome, CommitOutcome::Committed(_)),
        "{outcome:?}"
    );
    let committed = clock.monotonic() - begun;
    drop(session);
    let again = Repository::open(storage).await.expect("opened");
    let session = again
        .read_session(BranchName::main())
        .await
        .expect("a session");
    let mut chunks = session.chunks(&path).expect("an array");
    let (mut found, mut bytes) = (0_usize, 0);
    while let Some(chunk) = chunks.try_next().await.expect("sound") {
        assert!(matches!(chunk.location, ChunkLocation::Virtual { .. }));
        found += 1;
        bytes += chunk.location.length();
    }
    let all = clock.monotonic() - begun;
    assert_eq!((found, bytes), (count, count as u64 * CHUNK));
    let peak = status("VmHWM")
        .zip(before)
        .map_or(0, |(peak, before)| peak.saturating_sub(before));
    println!(
        "{} {} {} {peak}",
        set.as_secs_f64(),
        committed.as_secs_f64(),
        all.as_secs_f64()
    );
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().collect();
    if let [_, measuring, count] = arguments.as_slice()
        && measuring == MEASURE
    {
        let count = count.parse().expect("the first process wrote it");
        runtime().block_on(measure(count));
        return ExitCode::SUCCESS;
    }
    let mode = Mode::of_command_line();
    let count: usize = mode.pick(1_000_000, 100_000);
    let mut runs: Vec<[f64; 4]> = (0..mode.pick(RUNS, 1))
        .map(|_| {
            let run = Command::new(env::current_exe().expect("it runs"))
                .args([MEASURE, &count.to_string()])
                .output()
                .expect("it starts");
            assert!(
                run.status.success(),
                "{}",
                String::from_utf8_lossy(&run.stderr)
            );
            let text = String::from_utf8(run.stdout).expect("numbers");
            let numbers = text
                .split_whitespace()
                .map(|it| it.parse().expect("a number"));
            let numbers: Vec<f64> = numbers.collect();
            numbers.try_into().expect("four numbers")
        })
        .collect();
    runs.sort_by(|one, other| one[2].total_cmp(&other[2]));
    let [set, committed, all, peak] = runs[runs.len() / 2];
    let each = peak / count as f64;
    let (seconds, bytes) = TARGETS;
    fact(
        format!("{count} virtual refs"),
        format_args!(
            "set {set:.3} s, committed {:.3} s, read back {:.3} s, {all:.3} s in all, target {seconds}; {each:.0} bytes \
             of memory each, target {bytes}",
            committed - set,
            all - committed
        ),
    );
    ExitCode::from(u8::from(
        mode != Mode::Test && (all > seconds || each > bytes),
    ))
}
