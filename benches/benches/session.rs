//! Sessions: reading chunks through one beside plain reads of the same files.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use icefield_benches::files::{read_known, scratch};
use icefield_benches::{
    Filled, Mode, OBJECT_SIZES, elapsed, fact, fact_beside, medians, run, runtime,
};
use icefield_core::{BranchName, ByteRange, ChunkLocation, Repository};
use icefield_format::layout;
use icefield_storage::Storage;
use icefield_storage::wrap::CountingStorage;
use icefield_storage_local::{Fsync, LocalStorage};
use icefield_storage_memory::MemoryStorage;
use tokio::runtime::Runtime;

/// Chunks that are read in turns.
const CHUNKS: u32 = 16;

/// Prints what a session asks of the store, from opening the repository to the first chunk and then for each.
fn requests(runtime: &Runtime) {
    let store: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    runtime.block_on(async {
        let filled = Filled::create(Arc::clone(&store), CHUNKS, 4096).await;
        let counting = CountingStorage::new(store);
        let builder = Repository::builder(Arc::new(counting.clone()));
        let opened = builder.open_session(BranchName::main()).await;
        let (_, session) = opened.expect("the repository is there");
        for what in ["open to first chunk", "second chunk"] {
            let chunk = session.chunk(&filled.array, &[1], ByteRange::All).await;
            assert!(chunk.expect("it is readable").is_some());
            let total = counting.reset().total;
            let requests = format!("{} get, {} in all", total.get, total.requests());
            fact(
                what,
                format_args!("{requests}, {} bytes read", total.bytes_read),
            );
        }
    });
}

fn chunks(criterion: &mut Criterion, mode: Mode) {
    let runtime = runtime();
    if mode == Mode::Measure {
        requests(&runtime);
    }
    let scratch = scratch(env!("CARGO_TARGET_TMPDIR"));
    for (name, size) in OBJECT_SIZES {
        let root = scratch.path().join(size.to_string());
        let local = LocalStorage::builder(&root).fsync(Fsync::None).open();
        let local: Arc<dyn Storage> = Arc::new(local.expect("the directory is ours"));
        let memory: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let mut group = criterion.benchmark_group("session chunk");
        group.throughput(Throughput::Bytes(size as u64));
        group.warm_up_time(Duration::from_millis(500));
        group.measurement_time(Duration::from_secs(2));
        group.sample_size(30);
        for (backend, store) in [("memory", memory), ("local", local)] {
            let filled = runtime.block_on(Filled::create(store, CHUNKS, size));
            let session = runtime.block_on(filled.read_session());
            let array = &filled.array;
            let first = runtime.block_on(session.chunk(array, &[0], ByteRange::All));
            assert_eq!(first.expect("it is readable"), Some(filled.bytes(0)));
            group.bench_function(
                BenchmarkId::new(format!("{backend}, get"), name),
                |bencher| {
                    let mut indices = (0..CHUNKS).cycle();
                    bencher.to_async(&runtime).iter(|| {
                        let index = [indices.next().expect("it goes round")];
                        let session = &session;
                        async move {
                            let chunk = session.chunk(array, &index, ByteRange::All).await;
                            chunk.expect("it is readable").expect("it exists")
                        }
                    });
                },
            );
            if backend != "local" {
                continue;
            }
            group.bench_function(BenchmarkId::new("local, get blocking", name), |bencher| {
                let mut indices = (0..CHUNKS).cycle();
                bencher.iter(|| {
                    let index = [indices.next().expect("it goes round")];
                    let chunk = session.try_chunk_blocking(array, &index, ByteRange::All);
                    let chunk = chunk.expect("a local disk is no network");
                    chunk.expect("it is readable").expect("it exists")
                });
            });
            let files: Vec<PathBuf> = runtime.block_on(async {
                let mut files = Vec::new();
                for index in 0..CHUNKS {
                    let location = session.chunk_location(array, &[index]).await;
                    let Ok(Some(ChunkLocation::Native { id, .. })) = location else {
                        panic!("not an object of its own: {location:?}");
                    };
                    files.push(root.join(layout::chunk_key(id)));
                }
                files
            });
            group.bench_function(BenchmarkId::new("std open, pread", name), |bencher| {
                let mut files = files.iter().cycle();
                bencher.iter(|| {
                    let file = files.next().expect("it goes round");
                    read_known(file, size).expect("it is there")
                });
            });
            if mode == Mode::Measure {
                let get = || runtime.block_on(session.chunk(array, &[0], ByteRange::All));
                let blocking = || session.try_chunk_blocking(array, &[0], ByteRange::All);
                let plain = || read_known(&files[0], size);
                let [get, blocking, plain] = medians(
                    501,
                    [&mut || elapsed(get), &mut || elapsed(blocking), &mut || {
                        elapsed(plain)
                    }],
                );
                let subject = format!("session chunk of {name}, local");
                for ours in [("get", get), ("get blocking", blocking)] {
                    fact_beside(&subject, ours, ("open, pread", plain), "");
                }
            }
        }
        group.finish();
    }
}

fn main() {
    run(&[chunks]);
}
