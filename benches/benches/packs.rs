//! Many small chunks to a store that is far away: packed, and each in an object of its own.

use std::sync::Arc;
use std::time::Duration;

use criterion::Criterion;
use futures::{StreamExt, TryStreamExt, stream};
use icefield_benches::{Mode, elapsed, fact, medians, noise, path, run, runtime};
use icefield_core::{
    BranchName, ChunkRead, CommitOutcome, PackSettings, Repository, Settings, WriteMode,
};
use icefield_storage::wrap::{CountingStorage, LatencyStorage};
use icefield_storage::{Bytes, Storage};
use icefield_storage_memory::MemoryStorage;

/// Bytes of a chunk.
const CHUNK: usize = 4096;
/// Writes at a time.
const IN_FLIGHT: usize = 64;
/// How far away the store is.
const LATENCY: Duration = Duration::from_millis(20);

/// The requests that the store got.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    puts: u64,
    gets: u64,
}

async fn store(packs: &PackSettings) -> (CountingStorage, Repository) {
    let far = LatencyStorage::new(Arc::new(MemoryStorage::builder().remote().build()), LATENCY);
    let counting = CountingStorage::new(Arc::new(far));
    let storage: Arc<dyn Storage> = Arc::new(counting.clone());
    let repository = Repository::builder(storage)
        .settings(Settings::default().with_packs(packs.clone()))
        .create()
        .await
        .expect("nothing is there yet");
    (counting, repository)
}

/// Writes and commits so many chunks.
async fn write(repository: &Repository, chunks: u32, bytes: &Bytes) {
    let array = path("/a");
    let session = repository.write_session(BranchName::main()).await;
    let session = session.expect("the branch exists");
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{chunks}],"data_type":"uint8",
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[1]}}}},
        "chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{{"name":"bytes"}}]}}"#
    );
    let set = session.set_metadata(&array, document.into(), WriteMode::Overwrite);
    set.await.expect("the document is valid");
    stream::iter(0..chunks)
        .for_each_concurrent(IN_FLIGHT, |index| {
            let (session, array) = (&session, &array);
            async move {
                let set = session
                    .set_chunk(array, &[index], bytes.clone(), WriteMode::Overwrite)
                    .await;
                assert!(set.expect("the chunk is in the grid"));
            }
        })
        .await;
    match session.commit("chunks").await {
        Ok(CommitOutcome::Committed(_)) => {}
        other => panic!("not committed: {other:?}"),
    }
}

/// Reads all chunks in the order of their coordinates.
async fn read(repository: &Repository, chunks: u32) {
    let session = repository.read_session(BranchName::main()).await;
    let session = session.expect("the branch exists");
    let reads = (0..chunks).map(|index| ChunkRead::whole(path("/a"), vec![index]));
    let found = session.get_many(reads.collect());
    let count = found.try_fold(0, async |sum, (_, bytes)| {
        Ok(sum + u32::from(bytes.is_some()))
    });
    assert_eq!(count.await.expect("they are readable"), chunks);
}

fn packs(_: &mut Criterion, mode: Mode) {
    let runtime = runtime();
    let chunks = mode.pick(10_000, 200);
    let bytes = noise(1, CHUNK);
    // By default, a store that is far away gets packs.
    let settings = [PackSettings::off(), PackSettings::default()];
    let asked = settings.each_ref().map(|packs| {
        runtime.block_on(async {
            let (counting, repository) = store(packs).await;
            write(&repository, chunks, &bytes).await;
            let puts = counting.reset().of("chunks").put;
            read(&repository, chunks).await;
            let gets = counting.reset().of("chunks").get;
            Asked { puts, gets }
        })
    });
    assert!(asked[1].puts < asked[0].puts && asked[1].gets < asked[0].gets);
    if mode != Mode::Measure {
        return;
    }
    let written = |packs: &PackSettings| {
        elapsed(|| {
            runtime.block_on(async {
                let (_, repository) = store(packs).await;
                write(&repository, chunks, &bytes).await;
            })
        })
    };
    let repositories = settings.each_ref().map(|packs| {
        runtime.block_on(async {
            let (_, repository) = store(packs).await;
            write(&repository, chunks, &bytes).await;
            repository
        })
    });
    let back = |repository: &Repository| elapsed(|| runtime.block_on(read(repository, chunks)));
    let [alone, together] = medians(
        5,
        [&mut || written(&settings[0]), &mut || written(&settings[1])],
    );
    let [alone_back, together_back] = medians(
        5,
        [&mut || back(&repositories[0]), &mut || {
            back(&repositories[1])
        }],
    );
    for (what, alone, together, requests) in [
        ("write and commit", alone, together, asked.map(|it| it.puts)),
        (
            "read back in order",
            alone_back,
            together_back,
            asked.map(|it| it.gets),
        ),
    ] {
        let ratio = alone.median.as_secs_f64() / together.median.as_secs_f64();
        fact(
            format!("{what}, {chunks} x 4 KiB at 20 ms"),
            format_args!(
                "alone {:?} and {} requests, packed {:?} and {} requests: {ratio:.1} times faster",
                alone.median, requests[0], together.median, requests[1]
            ),
        );
    }
}

fn main() {
    run(&[packs]);
}
