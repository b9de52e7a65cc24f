//! A window over time that rolls: the oldest slab of chunks leaves an array, all others move down by one, a new one comes.
//!
//! `shift` does it with [`Session::shift`]: the window stays at index 0, and every reference is written again. `grow` leaves
//! everything where it is: the array grows by the new slab, the oldest references are deleted, and manifests that hold one
//! slab each keep all others from being touched.
//!
//! Requests, bytes and memory count, not only time, so that this is no matter for criterion. The benchmark starts itself anew
//! for each roll. Chunks are forgotten as soon as they are counted: what a roll writes beside them is the subject.

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use futures::TryStreamExt;
use icefield_benches::files::scratch;
use icefield_benches::{Chunkless, Mode, fact, path, runtime, status};
use icefield_core::{BranchName, CommitOutcome, Repository, RepositoryConfig, Session, WriteMode};
use icefield_storage::wrap::CountingStorage;
use icefield_storage::{Bytes, Clock, SystemClock};
use icefield_storage_local::{Fsync, LocalStorage};

/// Slabs of the window.
const SLABS: u32 = 56;
/// Bytes of a chunk: more than a manifest takes.
const CHUNK: usize = 1024;
/// Of a shift: seconds with a million references and with ten thousand, bytes of memory, and bytes written for each
/// reference.
const SHIFT: (f64, f64, u64, f64) = (0.8, 0.2, 150 << 20, 25.0);
/// Bytes that any roll writes, however few references there are: the snapshot, and what compresses badly alone.
const FEW: f64 = 16_384.0;
/// Seconds of a roll that grows, for a slab of up to two thousand chunks.
const GROW: f64 = 0.02;
/// Growing takes so many times as long for each new chunk of a large window as of a small one.
const LESS: f64 = 2.0;
/// Tells a further process that it is that.
const STEP: &str = "--step";

/// A window by its name, chunks of a slab along its axes, and rolls.
type Size = (&'static str, [u32; 2], u32);

const SIZES: [Size; 3] = [
    ("S", [12, 15], 20),
    ("M", [40, 45], 10),
    ("L", [120, 150], 5),
];

/// What one roll took.
#[derive(Clone, Copy, Debug)]
struct Roll {
    seconds: f64,
    /// Bytes beyond what the process had before.
    peak: u64,
    /// All but those for chunks.
    requests: u64,
    lists: u64,
    manifests: u64,
    snapshots: u64,
    logs: u64,
    /// Bytes of chunks that were there before.
    rewritten: u64,
}

impl Roll {
    fn to_text(self) -> String {
        let Self {
            seconds,
            peak,
            requests,
            lists,
            manifests,
            snapshots,
            logs,
            rewritten,
        } = self;
        format!("{seconds} {peak} {requests} {lists} {manifests} {snapshots} {logs} {rewritten}")
    }

    fn parse(text: &str) -> Option<Self> {
        let (seconds, rest) = text.trim().split_once(' ')?;
        let numbers: Vec<u64> = rest.split(' ').map_while(|it| it.parse().ok()).collect();
        let [peak, requests, lists, manifests, snapshots, logs, rewritten] = numbers[..] else {
            return None;
        };
        let seconds = seconds.parse().ok()?;
        Some(Self {
            seconds,
            peak,
            requests,
            lists,
            manifests,
            snapshots,
            logs,
            rewritten,
        })
    }

    fn bytes(&self) -> u64 {
        self.manifests + self.snapshots + self.logs
    }
}

async fn open(folder: &Path, way: &str) -> (Repository, CountingStorage) {
    let storage = LocalStorage::builder(folder).fsync(Fsync::None);
    let storage = Chunkless::new(Arc::new(storage.open().expect("opened")));
    let counting = CountingStorage::new(Arc::new(storage));
    let rule = "[any_array, [{condition: !Axis 0, num_chunks: 1}]]";
    let rules = format!("manifest:\n  splitting:\n    split_sizes:\n    - {rule}\n");
    let config = match way {
        "grow" => RepositoryConfig::decode(rules.as_bytes()).expect("a configuration"),
        // What nobody configured.
        _ => RepositoryConfig::default(),
    };
    let builder = Repository::builder(Arc::new(counting.clone())).config(config);
    let repository = builder.open_or_create().await.expect("opened");
    (repository, counting)
}

async fn resize(session: &Session, slabs: u32, [y, x]: [u32; 2]) {
    let document = format!(
        r#"{{"zarr_format": 3, "node_type": "array", "shape": [{slabs}, {y}, {x}], "data_type": "int8",
        "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [1, 1, 1]}}}},
        "chunk_key_encoding": {{"name": "default"}}, "fill_value": 0, "codecs": [{{"name": "bytes"}}],
        "dimension_names": ["time", "y", "x"]}}"#
    );
    let path = path("/a");
    let set = session.set_metadata(&path, document.into(), WriteMode::Overwrite);
    set.await.expect("set");
}

fn places(slab: u32, [y, x]: [u32; 2]) -> impl Iterator<Item = [u32; 3]> {
    (0..y).flat_map(move |y| (0..x).map(move |x| [slab, y, x]))
}

async fn set(session: &Session, slab: u32, each: [u32; 2]) {
    let (path, bytes) = (path("/a"), Bytes::from_static(&[7; CHUNK]));
    for index in places(slab, each) {
        let set = session.set_chunk(&path, &index, bytes.clone(), WriteMode::Overwrite);
        set.await.expect("set");
    }
}

async fn session(repository: &Repository) -> Session {
    let session = repository.write_session(BranchName::main()).await;
    session.expect("a session")
}

async fn commit(session: &Session) {
    let outcome = session.commit("a roll").await.expect("committed");
    assert!(
        matches!(outcome, CommitOutcome::Committed(_)),
        "{outcome:?}"
    );
}

/// Fills the window, a few slabs at a time.
async fn build(way: &str, folder: &Path, slabs: u32, each: [u32; 2]) {
    let (repository, _) = open(folder, way).await;
    for slab in 0..slabs {
        let session = session(&repository).await;
        if slab == 0 {
            resize(&session, slabs, each).await;
        }
        set(&session, slab, each).await;
        commit(&session).await;
    }
}

/// Rolls once, after so many times.
async fn roll(way: &str, folder: &Path, slabs: u32, each: [u32; 2], before: u32) -> Roll {
    let (repository, counting) = open(folder, way).await;
    let session = session(&repository).await;
    let a = path("/a");
    counting.reset();
    let held = status("VmRSS").unwrap_or(0);
    let begun = SystemClock.monotonic();
    if way == "shift" {
        session.shift(&a, &[-1, 0, 0]).await.expect("shifted");
        set(&session, slabs - 1, each).await;
    } else {
        resize(&session, slabs + before + 1, each).await;
        set(&session, slabs + before, each).await;
        for index in places(before, each) {
            session.delete_chunk(&a, &index).await.expect("deleted");
        }
    }
    commit(&session).await;
    let seconds = (SystemClock.monotonic() - begun).as_secs_f64();
    let peak = status("VmHWM").unwrap_or(0).saturating_sub(held);
    let counts = counting.reset();
    let new = u64::from(each[0] * each[1]);
    // A file of one slab after another: every chunk is there.
    let session = repository.read_session(BranchName::main()).await;
    let chunks = session.expect("a session").chunks(&a).expect("an array");
    let count = chunks.try_fold(0, |count, _| async move { Ok(count + 1) });
    assert_eq!(count.await.expect("listed"), new * u64::from(slabs));
    Roll {
        seconds,
        peak,
        requests: counts.total.requests() - counts.of("chunks").requests(),
        lists: counts.total.list,
        manifests: counts.of("manifests").bytes_written,
        snapshots: counts.of("snapshots").bytes_written,
        logs: counts.of("transactions").bytes_written,
        rewritten: counts.of("chunks").bytes_written - new * CHUNK as u64,
    }
}

/// Does one step in a process of its own.
fn step(what: &str, way: &str, folder: &Path, numbers: [u32; 4]) -> String {
    let run = Command::new(env::current_exe().expect("it runs"))
        .args([STEP, what, way])
        .arg(folder)
        .args(numbers.map(|number| number.to_string()))
        .output()
        .expect("it starts");
    let error = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{what}: {error}");
    String::from_utf8(run.stdout).expect("numbers")
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().collect();
    if let [_, stepping, what, way, folder, numbers @ ..] = arguments.as_slice()
        && stepping == STEP
    {
        let numbers: Vec<u32> = numbers.iter().map_while(|it| it.parse().ok()).collect();
        let [slabs, y, x, before] = numbers[..] else {
            return ExitCode::FAILURE;
        };
        let (folder, each) = (Path::new(folder), [y, x]);
        if what == "build" {
            runtime().block_on(build(way, folder, slabs, each));
        } else {
            let roll = runtime().block_on(roll(way, folder, slabs, each, before));
            println!("{}", roll.to_text());
        }
        return ExitCode::SUCCESS;
    }
    let mode = Mode::of_command_line();
    let slabs = mode.pick(SLABS, 5);
    let sizes = mode.pick(&SIZES[..], &[("XS", [3, 4], 2)]);
    let scratch = scratch(env!("CARGO_TARGET_TMPDIR"));
    let mut good = true;
    for way in ["shift", "grow"] {
        let mut seconds_each = Vec::new();
        for (name, each, rolls) in sizes {
            let (folder, [y, x]) = (scratch.path().join(format!("{way}-{name}")), *each);
            step("build", way, &folder, [slabs, y, x, 0]);
            let rolls = (0..*rolls).map(|before| {
                let text = step("roll", way, &folder, [slabs, y, x, before]);
                Roll::parse(&text).expect("the other process wrote it")
            });
            let mut rolls: Vec<Roll> = rolls.collect();
            rolls.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
            let (best, median, worst) = (rolls[0], rolls[rolls.len() / 2], rolls[rolls.len() - 1]);
            let peak = rolls.iter().map(|roll| roll.peak).max().unwrap_or(0);
            let refs = u64::from(slabs * y * x);
            let new = u64::from(y * x);
            let per_ref = median.bytes() as f64 / refs as f64;
            seconds_each.push(median.seconds / new as f64);
            fact(
                format!("{way} {name}, {refs} refs, {new} of them new"),
                format_args!(
                    "{:.4} s (best {:.4}, worst {:.4}), peak of memory {peak} above the start, {} requests, bytes of \
                     manifests {}, snapshot {}, log {}: {per_ref:.1} for each ref; bytes of chunks rewritten {}",
                    median.seconds,
                    best.seconds,
                    worst.seconds,
                    median.requests,
                    median.manifests,
                    median.snapshots,
                    median.logs,
                    median.rewritten,
                ),
            );
            good &= rolls
                .iter()
                .all(|roll| roll.rewritten == 0 && roll.lists == 0);
            if mode == Mode::Test {
                continue;
            }
            let (of_million, of_few, memory, bytes_each) = SHIFT;
            good &= match way {
                "shift" => {
                    let most = if refs < 20_000 { of_few } else { of_million };
                    let bytes = bytes_each * refs as f64 + FEW;
                    median.seconds <= most && peak <= memory && median.bytes() as f64 <= bytes
                }
                // Nothing but the slabs at both ends is touched.
                _ => {
                    let in_time = new > 2000 || median.seconds <= GROW;
                    in_time && median.bytes() as f64 <= 100.0 * new as f64 + FEW
                }
            };
        }
        if let ("grow", [first, .., last]) = (way, &seconds_each[..]) {
            let ratio = last / first;
            fact(
                "grow L : S, for each new chunk",
                format_args!("{ratio:.2}, target {LESS}"),
            );
            good &= ratio <= LESS;
        }
    }
    ExitCode::from(u8::from(!good))
}
