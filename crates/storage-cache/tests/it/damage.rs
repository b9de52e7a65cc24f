//! Entries that are not what was written.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use icefield_storage::Storage;
use icefield_storage_cache::DiskCache;
use tempfile::TempDir;

use crate::support::{Bucket, cache, chunk, entries, pattern, read, read_range};

struct Damaged {
    bucket: Bucket,
    _directory: TempDir,
    cache: DiskCache,
    storage: Arc<dyn Storage>,
    /// The file of the one entry, and what is in it.
    path: PathBuf,
    sound: Vec<u8>,
}

/// A chunk of so many bytes, which is in the cache.
async fn kept(length: usize) -> Damaged {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    bucket.put(&chunk(1), pattern(length, 1)).await;
    let cache = cache(&directory);
    let storage = bucket.behind(&cache).await;
    read(&storage, &chunk(1)).await;
    let path = entries(directory.path()).pop().expect("kept");
    let sound = fs::read(&path).unwrap();
    bucket.gets();
    Damaged {
        bucket,
        _directory: directory,
        cache,
        storage,
        path,
        sound,
    }
}

impl Damaged {
    /// Puts other bytes into the entry and reads the chunk: it must come from the store, and be kept again.
    async fn is_noticed(&self, damaged: &[u8], what: &str) {
        let before = self.cache.statistics();
        fs::write(&self.path, damaged).unwrap();
        let found = read(&self.storage, &chunk(1)).await;
        assert_eq!(
            found,
            read(&self.bucket.storage(), &chunk(1)).await,
            "{what}"
        );
        assert_eq!(self.bucket.gets(), 1, "{what}");
        assert_eq!(
            self.cache.statistics().damaged,
            before.damaged + 1,
            "{what}"
        );
        assert_eq!(fs::read(&self.path).unwrap(), self.sound, "{what}");
    }
}

impl Bucket {
    fn storage(&self) -> Arc<dyn Storage> {
        Arc::new(self.memory.clone())
    }
}

#[tokio::test]
async fn every_byte_of_an_entry_is_checked() {
    let it = kept(300).await;
    for at in 0..it.sound.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut damaged = it.sound.clone();
            damaged[at] ^= change;
            it.is_noticed(&damaged, &format!("byte {at}")).await;
        }
    }
}

#[tokio::test]
async fn every_length_but_the_right_one_is_noticed() {
    let it = kept(300).await;
    for length in 0..it.sound.len() {
        it.is_noticed(&it.sound[..length], &format!("cut off at {length}"))
            .await;
    }
    let mut longer = it.sound.clone();
    longer.push(0);
    it.is_noticed(&longer, "longer").await;
    it.is_noticed(&[it.sound.clone(), it.sound.clone()].concat(), "twice")
        .await;
}

/// A loss of power may leave this of a file that was not flushed.
#[tokio::test]
async fn zeros_in_the_place_of_bytes_are_noticed() {
    let it = kept(200_000).await;
    let length = it.sound.len();
    it.is_noticed(&vec![0; length], "all").await;
    for start in (0..length).step_by(4096) {
        let mut damaged = it.sound.clone();
        damaged[start..length.min(start + 4096)].fill(0);
        it.is_noticed(&damaged, &format!("page at {start}")).await;
    }
}

#[tokio::test]
async fn a_read_of_a_range_checks_what_it_reads() {
    let it = kept(200_000).await;
    let mut damaged = it.sound.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    fs::write(&it.path, &damaged).unwrap();
    let of = |range: std::ops::Range<usize>| pattern(200_000, 1).slice(range);
    // The damage is in the last block: others are as they were.
    assert_eq!(
        read_range(&it.storage, &chunk(1), 0..100_000).await,
        of(0..100_000)
    );
    assert_eq!(it.bucket.gets(), 0);
    assert_eq!(
        read_range(&it.storage, &chunk(1), 199_000..200_000).await,
        of(199_000..200_000)
    );
    assert_eq!(it.bucket.gets(), 1);
    assert_eq!(it.cache.statistics().damaged, 1);
}

#[tokio::test]
async fn the_entry_of_another_object_is_noticed() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    let cache = cache(&directory);
    let storage = bucket.behind(&cache).await;
    for number in [1, 2] {
        bucket.put(&chunk(number), pattern(5000, number)).await;
        read(&storage, &chunk(number)).await;
    }
    let paths = entries(directory.path());
    let [first, second] = &paths[..] else {
        panic!("{paths:?}");
    };
    // Both are sound, and lie in each other's place.
    let swapped = (fs::read(first).unwrap(), fs::read(second).unwrap());
    fs::write(first, swapped.1).unwrap();
    fs::write(second, swapped.0).unwrap();
    bucket.gets();
    for number in [1, 2] {
        assert_eq!(read(&storage, &chunk(number)).await, pattern(5000, number));
    }
    assert_eq!(bucket.gets(), 2);
    assert_eq!(cache.statistics().damaged, 2);
}

/// A range under the name of another one, as a renamed file has it.
#[tokio::test]
async fn a_range_under_another_name_is_what_it_says_inside() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    let cache = cache(&directory);
    let storage = bucket.behind(&cache).await;
    bucket.put(&chunk(1), pattern(9000, 1)).await;
    read_range(&storage, &chunk(1), 1000..2000).await;
    let path = entries(directory.path()).pop().unwrap();
    fs::rename(&path, path.with_file_name("3000-4000")).unwrap();
    bucket.gets();
    let expected = pattern(9000, 1).slice(3000..4000);
    assert_eq!(read_range(&storage, &chunk(1), 3000..4000).await, expected);
    assert_eq!(bucket.gets(), 1);
}
