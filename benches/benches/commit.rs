//! Commits: the latency of one that changes one chunk, beside plain files of the same sizes.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion};
use icefield_benches::files::{self, Durable, scratch};
use icefield_benches::{Filled, Mode, fact, fact_beside, medians, noise, run, runtime};
use icefield_storage::wrap::{CountingStorage, Counts};
use icefield_storage::{Clock, Storage, SystemClock};
use icefield_storage_local::{Fsync, LocalStorage};
use icefield_storage_memory::MemoryStorage;

/// Bytes of a chunk: enough to be an object of its own.
const CHUNK: usize = 4096;

/// How long two parts of one cycle took: all of it, and the commit alone.
#[derive(Clone, Copy, Default)]
struct Times {
    cycle: Duration,
    commit: Duration,
}

/// Opens a session, writes one chunk, and commits, some times over.
async fn commits(filled: &Filled, count: u64) -> Times {
    let mut times = Times::default();
    for number in 0..count {
        let bytes = noise(number, CHUNK);
        let start = SystemClock.monotonic();
        let session = filled.write_session().await;
        let index = (number % u64::from(filled.chunks)) as u32;
        filled.set(&session, index, bytes).await;
        let written = SystemClock.monotonic();
        filled.commit(&session).await;
        let end = SystemClock.monotonic();
        times.cycle += end - start;
        times.commit += end - written;
    }
    times
}

/// Returns what a commit asks of the store, the session and the chunk included.
async fn counted(chunks: u32) -> Counts {
    let counting = CountingStorage::new(Arc::new(MemoryStorage::new()));
    let filled = Filled::create(Arc::new(counting.clone()), chunks, CHUNK).await;
    commits(&filled, 1).await;
    counting.reset();
    commits(&filled, 1).await;
    counting.reset()
}

/// Writes files of the sizes that a commit writes, one after the other, each of them durable or none.
fn plain_commits(folder: &Path, counts: &Counts, count: u64, sync: bool) -> Duration {
    let names = ["chunks", "manifests", "snapshots", "transactions", "refs"];
    let contents = names.map(|name| (name, noise(1, counts.of(name).bytes_written as usize)));
    let folders = names.map(|name| folder.join(name));
    for folder in &folders {
        fs::create_dir_all(folder).expect("there is room");
    }
    let start = SystemClock.monotonic();
    for number in 0..count {
        for ((name, bytes), folder) in contents.iter().zip(&folders) {
            let file = match *name {
                "refs" => "ref.json".to_owned(),
                _ => number.to_string(),
            };
            let durable = if sync {
                Durable::FileAndName
            } else {
                Durable::No
            };
            files::replace(folder, &file, bytes, durable).expect("there is room");
        }
    }
    SystemClock.monotonic() - start
}

fn commit(criterion: &mut Criterion, mode: Mode) {
    let chunks = mode.pick(1000, 10);
    let runtime = runtime();
    let counts = runtime.block_on(counted(chunks));
    if mode == Mode::Measure {
        let subject = format_args!("session, chunk and commit, manifest of {chunks} refs");
        for (prefix, tally) in &counts.by_prefix {
            let requests = format!("{} get, {} head, {} put", tally.get, tally.head, tally.put);
            let bytes = format!(
                "{} bytes read, {} written",
                tally.bytes_read, tally.bytes_written
            );
            fact(
                format_args!("{subject}, {prefix}"),
                format_args!("{requests}, {bytes}"),
            );
        }
    }

    let scratch = scratch(env!("CARGO_TARGET_TMPDIR"));
    let local = |name: &str, fsync| -> Arc<dyn Storage> {
        let store = LocalStorage::builder(scratch.path().join(name)).fsync(fsync);
        Arc::new(store.open().expect("the directory is ours"))
    };
    let stores: [(&str, Arc<dyn Storage>); 3] = [
        ("memory", Arc::new(MemoryStorage::new())),
        ("local, fsync none", local("none", Fsync::None)),
        ("local, fsync commit", local("commit", Fsync::Commit)),
    ];
    let stores = stores.map(|(name, store)| {
        let filled = runtime.block_on(Filled::create(store, chunks, CHUNK));
        (name, filled)
    });
    let mut group = criterion.benchmark_group("one chunk");
    group.sample_size(20);
    group.warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(6));
    for (name, filled) in &stores {
        group.bench_function(BenchmarkId::new("commit", name), |bencher| {
            bencher
                .to_async(&runtime)
                .iter_custom(async |count| commits(filled, count).await.commit);
        });
        let cycle = BenchmarkId::new("session, chunk, commit", name);
        group.bench_function(cycle, |bencher| {
            bencher
                .to_async(&runtime)
                .iter_custom(async |count| commits(filled, count).await.cycle);
        });
    }
    let plain = [
        ("write, rename", false),
        ("write, fsync, rename, fsync", true),
    ]
    .map(|(name, sync)| (name, sync, scratch.path().join(name)));
    for (name, sync, folder) in &plain {
        group.bench_function(BenchmarkId::new("five plain files", name), |bencher| {
            bencher.iter_custom(|count| plain_commits(folder, &counts, count, *sync));
        });
    }
    group.finish();

    if mode == Mode::Measure {
        let cycle = |at: usize| runtime.block_on(commits(&stores[at].1, 1)).cycle;
        let files = |at: usize| plain_commits(&plain[at].2, &counts, 1, plain[at].1);
        let [memory, none, commit, unsafe_files, safe_files] = medians(
            101,
            [
                &mut || cycle(0),
                &mut || cycle(1),
                &mut || cycle(2),
                &mut || files(0),
                &mut || files(1),
            ],
        );
        fact("session, chunk and commit in memory", memory);
        for (ours, files, at) in [(none, unsafe_files, 0), (commit, safe_files, 1)] {
            let subject = format_args!("session, chunk and commit, {}", stores[at + 1].0);
            let name = format!("five plain files, {}", plain[at].0);
            fact_beside(subject, ("ours", ours), (&name, files), "");
        }
    }
}

fn main() {
    run(&[commit]);
}
