//! Directories that cannot hold a cache, or not any more.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use icefield_storage_cache::{CacheError, DiskCache};
use tempfile::TempDir;

use crate::support::{
    Bucket, cache, cache_of, cache_with_clock, chunk, entries, files, pattern, read,
};

#[test]
fn what_cannot_hold_a_cache_is_named() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "mine").unwrap();
    for path in [file.clone(), file.join("below")] {
        let error = DiskCache::open(&path, 1 << 20).expect_err("a file");
        assert!(matches!(error, CacheError::Unusable { .. }), "{error:?}");
        assert!(
            error.to_string().contains("choose another directory"),
            "{error}"
        );
    }
    assert_eq!(fs::read(&file).unwrap(), b"mine");
    let error = DiskCache::open(directory.path(), (1 << 20) - 1).expect_err("too small");
    assert!(matches!(error, CacheError::TooSmall { .. }));
}

#[test]
fn a_folder_that_others_may_write_is_refused() {
    let directory = TempDir::new().unwrap();
    cache(&directory);
    let folder = directory.path().join("icefield-cache-1");
    assert_eq!(
        fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
        0o700
    );
    for mode in [0o720, 0o702, 0o777] {
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        let error = DiskCache::open(directory.path(), 1 << 20).expect_err("open to others");
        assert!(matches!(error, CacheError::Unsafe { .. }), "{error:?}");
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    cache(&directory);
}

#[test]
fn a_directory_in_which_others_may_rename_is_refused() {
    let directory = TempDir::new().unwrap();
    let named = directory.path().join("named");
    fs::create_dir(&named).unwrap();
    let own = named.join("icefield-cache-1");
    for mode in [0o720, 0o702, 0o777] {
        fs::set_permissions(&named, fs::Permissions::from_mode(mode)).unwrap();
        let error = DiskCache::open(&named, 1 << 20).expect_err("open to others");
        assert!(matches!(error, CacheError::Unsafe { .. }), "{error:?}");
        assert!(!own.exists(), "nothing is made there");
    }
    // In one that is sticky, as `/tmp`, they may not.
    fs::set_permissions(&named, fs::Permissions::from_mode(0o1777)).unwrap();
    cache_of(&named, 1 << 20);
}

#[test]
fn a_link_in_the_place_of_the_caches_own_folder_is_refused() {
    let directory = TempDir::new().unwrap();
    let (named, other) = (
        directory.path().join("named"),
        directory.path().join("other"),
    );
    fs::create_dir(&named).unwrap();
    fs::create_dir(&other).unwrap();
    symlink(&other, named.join("icefield-cache-1")).unwrap();
    let error = DiskCache::open(&named, 1 << 20).expect_err("a link");
    assert!(error.to_string().contains("is a link"), "{error}");
    assert!(files(&other).is_empty());
    // The directory that is named may be one.
    let link = directory.path().join("link");
    symlink(&other, &link).unwrap();
    cache_of(&link, 1 << 20);
}

#[tokio::test]
async fn a_directory_that_is_deleted_while_in_use_is_made_again() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    let path = directory.path().join("a/cache");
    let cache = cache_of(&path, 10 << 20);
    let storage = bucket.behind(&cache).await;
    bucket.put(&chunk(1), pattern(9000, 1)).await;
    for _ in 0..3 {
        assert_eq!(read(&storage, &chunk(1)).await, pattern(9000, 1));
        assert_eq!(bucket.gets(), 1);
        assert_eq!(read(&storage, &chunk(1)).await, pattern(9000, 1));
        assert_eq!(bucket.gets(), 0);
        fs::remove_dir_all(directory.path().join("a")).unwrap();
    }
    // Parts of it, too.
    for part in ["entries", "writing", "lock", "usage"] {
        read(&storage, &chunk(1)).await;
        let part = path.join("icefield-cache-1").join(part);
        match part.is_dir() {
            true => fs::remove_dir_all(part).unwrap(),
            false => fs::remove_file(part).unwrap(),
        }
        read(&storage, &chunk(1)).await;
        bucket.gets();
        read(&storage, &chunk(1)).await;
        assert_eq!(bucket.gets(), 0);
    }
}

/// `/proc` takes no files from any user.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_disk_that_takes_nothing_is_left_alone_for_a_minute() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    let (cache, clock) = cache_with_clock(&directory, 10 << 20);
    let storage = bucket.behind(&cache).await;
    let writing = directory.path().join("icefield-cache-1/writing");
    fs::remove_dir(&writing).unwrap();
    symlink("/proc", &writing).unwrap();
    for number in 1..4 {
        bucket.put(&chunk(number), pattern(9000, number)).await;
        assert_eq!(read(&storage, &chunk(number)).await, pattern(9000, number));
    }
    assert_eq!(cache.statistics().not_written, 3);
    assert_eq!(
        cache.used().unwrap_or_default(),
        0,
        "what was not written does not count"
    );
    fs::remove_file(&writing).unwrap();
    fs::create_dir(&writing).unwrap();
    read(&storage, &chunk(1)).await;
    assert_eq!(cache.statistics().written, 0, "not tried so soon");
    clock.advance(Duration::from_secs(61));
    read(&storage, &chunk(1)).await;
    assert_eq!(cache.statistics().written, 1);
    assert_eq!(files(&writing), Vec::<std::path::PathBuf>::new());
}

#[tokio::test]
async fn other_versions_and_other_files_are_left_alone() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    let others = [
        "icefield-cache-0/entries/a",
        "icefield-cache-2/entries/b",
        "notes.txt",
    ];
    for other in others {
        let path = directory.path().join(other);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, other).unwrap();
    }
    let cache = cache_of(directory.path(), 1 << 20);
    let storage = bucket.behind(&cache).await;
    for number in 0..30 {
        bucket.put(&chunk(number), pattern(100_000, number)).await;
        read(&storage, &chunk(number)).await;
    }
    assert!(entries(directory.path()).len() < 11, "some were deleted");
    for other in others {
        assert_eq!(
            fs::read_to_string(directory.path().join(other)).unwrap(),
            other
        );
    }
}

/// The directory that is named may be one with other files, such as a home.
#[test]
fn backups_leave_out_the_folder_of_the_cache_alone() {
    let directory = TempDir::new().unwrap();
    cache(&directory);
    assert!(!directory.path().join("CACHEDIR.TAG").exists());
    let path = directory.path().join("icefield-cache-1/CACHEDIR.TAG");
    let tag = fs::read_to_string(&path).unwrap();
    assert!(tag.starts_with("Signature: 8a477f597d28d172789f06886806bc55"));
    // An existing file is left as it is, and a link is not followed.
    let elsewhere = directory.path().join("elsewhere");
    fs::remove_file(&path).unwrap();
    symlink(&elsewhere, &path).unwrap();
    cache(&directory);
    assert!(!elsewhere.exists());
}

/// As a process that was stopped in the middle holds it.
#[tokio::test]
async fn a_count_that_is_not_given_back_is_not_waited_for() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    let cache = cache(&directory);
    let storage = bucket.behind(&cache).await;
    bucket.put(&chunk(1), pattern(9000, 1)).await;
    let usage = directory.path().join("icefield-cache-1/usage");
    let held = fs::File::create(usage).unwrap();
    held.lock().unwrap();
    let object = chunk(1);
    let reading = read(&storage, &object);
    let found = tokio::time::timeout(Duration::from_secs(20), reading).await;
    // Before anything is asserted, or a reader that waits for it would do so for ever.
    held.unlock().unwrap();
    assert_eq!(found.expect("read meanwhile"), pattern(9000, 1));
    let statistics = cache.statistics();
    assert_eq!((statistics.written, statistics.not_written), (0, 1));
    read(&storage, &chunk(1)).await;
    assert_eq!(cache.statistics().written, 1);
}

/// Odd things in the place of files: each read is right.
#[tokio::test]
async fn things_that_are_no_entries_do_no_harm() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    let cache = cache(&directory);
    let storage = bucket.behind(&cache).await;
    bucket.put(&chunk(1), pattern(9000, 1)).await;
    read(&storage, &chunk(1)).await;
    let path = entries(directory.path()).pop().unwrap();
    let is_right = async |what: &str| {
        assert_eq!(read(&storage, &chunk(1)).await, pattern(9000, 1), "{what}");
    };
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    is_right("a folder").await;
    fs::remove_dir(&path).unwrap();
    symlink("/nowhere", &path).unwrap();
    is_right("a link to nothing").await;
    fs::remove_file(&path).unwrap();
    symlink(directory.path(), &path).unwrap();
    is_right("a link to a folder").await;
    fs::remove_file(&path).unwrap();
    // A folder of ranges with names that are none.
    fs::create_dir_all(path.with_extension("parts")).unwrap();
    for name in ["x", "1-", "-", "5-2", "0-99999999999999999999", "0-9000"] {
        fs::write(path.with_extension("parts").join(name), name).unwrap();
    }
    assert_eq!(
        crate::support::read_range(&storage, &chunk(1), 1..2).await,
        pattern(9000, 1).slice(1..2)
    );
}

/// Sets the mode of a folder and of all below it.
pub(crate) fn set_mode_of_folders(folder: &Path, mode: u32) {
    let set = |mode| fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
    set(0o700);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            set_mode_of_folders(&path, mode);
        }
    }
    set(mode);
}
