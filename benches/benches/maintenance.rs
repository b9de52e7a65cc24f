//! A thousand commits of a thousand chunks each: what collecting garbage costs the first time and after one more commit,
//! and what a check costs, each in a process that does nothing else. Every chunk is old enough to be deleted.
//!
//! Requests, bytes and memory count, not only time, so that this is no matter for criterion. The benchmark starts itself
//! anew for each step.

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use icefield_benches::files::scratch;
use icefield_benches::{Mode, fact, runtime, status};
use icefield_core::{BranchName, CommitOutcome, NodePath, Repository, Settings, WriteMode};
use icefield_maintenance::{Check, Collect};
use icefield_storage::wrap::CountingStorage;
use icefield_storage::{Clock, Storage, SystemClock};
use icefield_storage_local::{Fsync, LocalStorage};

/// Bytes of memory of a collection, and seconds of a check.
const TARGETS: (u64, f64) = (200_000_000, 60.0);
/// The second collection reads so many times less.
const LESS: f64 = 20.0;
/// The times of objects may be that much later than they say.
const ROUNDING: Duration = Duration::from_secs(1);
/// Tells a further process that it is that.
const STEP: &str = "--step";
/// Bytes of a chunk: more than a manifest takes.
const CHUNK: usize = 600;

fn open(folder: &Path) -> CountingStorage {
    let storage = LocalStorage::builder(folder).fsync(Fsync::None);
    CountingStorage::new(Arc::new(storage.open().expect("opened")))
}

/// Commits steps, of so many chunks each.
async fn build(repository: &Repository, steps: std::ops::Range<usize>, each: usize) {
    let path = NodePath::parse("/a").expect("a path");
    for step in steps {
        let session = repository.write_session(BranchName::main()).await;
        let session = session.expect("a session");
        let document = format!(
            r#"{{"zarr_format": 3, "node_type": "array", "shape": [{}, {each}], "data_type": "int8",
            "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [1, 1]}}}},
            "chunk_key_encoding": {{"name": "default"}}, "fill_value": 0, "codecs": [{{"name": "bytes"}}]}}"#,
            step + 1
        );
        let set = session.set_metadata(&path, document.into(), WriteMode::Overwrite);
        set.await.expect("set");
        for at in 0..each {
            let index = [step as u32, at as u32];
            let chunk = vec![step as u8; CHUNK].into();
            let set = session.set_chunk(&path, &index, chunk, WriteMode::Overwrite);
            set.await.expect("set");
        }
        let outcome = session.commit("a step").await.expect("committed");
        assert!(
            matches!(outcome, CommitOutcome::Committed(_)),
            "{outcome:?}"
        );
    }
}

/// Does one thing; prints its seconds, the most memory that this process had, and what it read beside lists.
async fn step(what: &str, folder: &Path, steps: usize, each: usize) {
    let counting = open(folder);
    let storage: Arc<dyn Storage> = Arc::new(counting.clone());
    let settings = Settings::default().with_cache_bytes(16 << 20);
    let builder = Repository::builder(storage).settings(settings);
    let repository = builder.open_or_create().await.expect("opened");
    let begun = SystemClock.monotonic();
    counting.reset();
    match what {
        "build" => build(&repository, 0..steps, each).await,
        "one more commit" => build(&repository, steps..steps + 1, each).await,
        "check" => {
            let check = Check::new(Arc::clone(repository.storage()));
            let report = check.run(&()).await.expect("checked");
            assert!(report.is_sound(), "{report:?}");
        }
        _ => {
            // So that every chunk is looked up, and none is spared for its age; times of objects may be cut to the second.
            let collect = Collect::default().floor(Duration::ZERO).force_floor();
            let report = collect.run(&repository).await.expect("collected");
            let second = what == "second collection";
            let chunks = (steps + usize::from(second)) * each;
            assert_eq!(report.total().deleted, 0);
            assert_eq!(report.chunks.kept, chunks as u64);
            assert_eq!(report.marking.incremental, second);
        }
    }
    let time = SystemClock.monotonic() - begun;
    let peak = status("VmHWM").unwrap_or(0);
    let total = counting.reset().total;
    println!(
        "{} {peak} {} {}",
        time.as_secs_f64(),
        total.get,
        total.bytes_read
    );
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().collect();
    if let [_, stepping, what, folder, steps, each] = arguments.as_slice()
        && stepping == STEP
    {
        let number = |text: &String| text.parse().expect("the first process wrote it");
        runtime().block_on(step(what, Path::new(folder), number(steps), number(each)));
        return ExitCode::SUCCESS;
    }
    let mode = Mode::of_command_line();
    let (steps, each): (usize, usize) = (mode.pick(1000, 5), mode.pick(1000, 20));
    let scratch = scratch(env!("CARGO_TARGET_TMPDIR"));
    let folder = scratch.path().join("r");
    let mut good = true;
    let mut first = None;
    for what in [
        "build",
        "first collection",
        "one more commit",
        "second collection",
        "check",
    ] {
        std::thread::sleep(ROUNDING);
        let run = Command::new(env::current_exe().expect("it runs"))
            .args([STEP, what])
            .arg(&folder)
            .args([steps.to_string(), each.to_string()])
            .output()
            .expect("it starts");
        let error = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{what}: {error}");
        let text = String::from_utf8(run.stdout).expect("numbers");
        let numbers: Vec<f64> = (text.split_whitespace())
            .map(|number| number.parse().expect("a number"))
            .collect();
        let [seconds, peak, gets, bytes] = numbers[..] else {
            panic!("four numbers, not {text}")
        };
        let (most_memory, most_seconds) = TARGETS;
        let name = format!("{} chunks in {steps} commits: {what}", steps * each);
        let said = format!("{seconds:.3} s, {gets} reads of {bytes} bytes, peak of memory {peak}");
        match (what, first) {
            ("second collection", Some((all_gets, all_bytes))) => {
                let (fewer, less): (f64, f64) = (all_gets / gets, all_bytes / bytes);
                fact(
                    name,
                    format_args!(
                        "{said}; {fewer:.1} times fewer reads and {less:.1} times fewer bytes than the first, target {LESS}"
                    ),
                );
                good &= mode == Mode::Test || (fewer >= LESS && less >= LESS);
            }
            ("first collection", _) => {
                fact(name, format_args!("{said}, target {most_memory} of memory"));
                first = Some((gets, bytes));
                good &= mode == Mode::Test || peak <= most_memory as f64;
            }
            ("check", _) => {
                fact(name, format_args!("{said}, target {most_seconds} s"));
                good &= mode == Mode::Test || seconds <= most_seconds;
            }
            _ => fact(name, &said),
        }
    }
    ExitCode::from(u8::from(!good))
}
