//! Requests for many small chunks in a store that is far away, with packs and without.

use super::*;

const CHUNKS: u32 = 10_000;
const LENGTH: usize = 4096;

/// The requests of writing, committing and reading back many small chunks.
struct Requests {
    puts: u64,
    gets: u64,
    /// The bytes of all responses for chunks.
    read: u64,
}

fn chunk(index: u32) -> Vec<u8> {
    pattern(u64::from(index), LENGTH)
}

/// Writes 64 chunks at a time to a store 20 ms away, commits them, and reads them in the order of their coordinates with nothing
/// cached.
async fn requests(spec: SpecVersion, packs: PackSettings) -> Requests {
    let memory = Arc::new(MemoryStorage::builder().remote().build());
    let far = LatencyStorage::new(memory, Duration::from_millis(20));
    let counting = CountingStorage::new(Arc::new(far));
    let storage: Arc<dyn Storage> = Arc::new(counting.clone());
    let repository = repository(&storage, spec, packs, u64::from(CHUNKS)).await;
    let session = writer(&repository).await;
    let before = counting.snapshot().total.put;
    stream::iter(0..CHUNKS)
        .for_each_concurrent(64, |i| {
            let session = session.clone();
            async move { write(&session, "/a", &[i], chunk(i)).await }
        })
        .await;
    commit(&session, "chunks").await;
    let puts = counting.snapshot().total.put - before;
    let session = reopened(&storage).await;
    let before = counting.snapshot().of("chunks");
    let reads = (0..CHUNKS).map(|i| ChunkRead::whole(path("/a"), vec![i]));
    let mut read = session.get_many(reads.collect());
    let mut found = 0;
    while let Some((position, bytes)) = read.try_next().await.expect("readable") {
        assert!(
            bytes.as_deref() == Some(&chunk(position as u32)[..]),
            "{position}"
        );
        found += 1;
    }
    assert_eq!(found, CHUNKS);
    let after = counting.snapshot().of("chunks");
    Requests {
        puts,
        gets: after.get - before.get,
        read: after.bytes_read - before.bytes_read,
    }
}

/// By the settings that a bucket has by default.
#[tokio::test(start_paused = true)]
async fn ten_thousand_small_chunks_take_a_few_requests() {
    for spec in VERSIONS {
        let packed = requests(spec, PackSettings::default()).await;
        let alone = requests(spec, PackSettings::off()).await;
        let (puts, gets) = (packed.puts, packed.gets);
        println!(
            "{spec:?}: {puts} puts and {gets} gets; without packs {} and {}",
            alone.puts, alone.gets
        );
        assert!(alone.puts >= u64::from(CHUNKS), "{} puts", alone.puts);
        assert!(puts * 20 <= alone.puts, "{puts} puts");
        assert!(gets * 10 <= alone.gets, "{gets} gets");
        assert_eq!(packed.read, alone.read, "nothing is read in vain");
    }
}
