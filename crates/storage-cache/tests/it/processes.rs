//! Several processes on one directory, and processes that end in the middle.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::{env, fs};

use tempfile::TempDir;

use crate::directory::set_mode_of_folders;
use crate::support::{Bucket, bytes_of, cache_of, chunk, entries, files, pattern, read};

const ROLE: &str = "ICEFIELD_CACHE_TEST_ROLE";
const DIRECTORY: &str = "ICEFIELD_CACHE_TEST_DIRECTORY";
const MIB: u64 = 1 << 20;
/// Chunks that processes read.
const CHUNKS: u32 = 40;
const UNPRIVILEGED: u32 = 65534;

fn length(number: u32) -> usize {
    1000 + number as usize * 4000
}

async fn bucket() -> Bucket {
    let bucket = Bucket::new();
    for number in 0..CHUNKS {
        bucket
            .put(&chunk(number), pattern(length(number), number))
            .await;
    }
    bucket
}

/// Not a test: what another process does.
#[tokio::test]
async fn other_process() {
    let Ok(role) = env::var(ROLE) else { return };
    let directory = env::var(DIRECTORY).unwrap();
    let directory = Path::new(&directory);
    match role.as_str() {
        "reader" => read_on_and_on(directory, 300).await,
        "victim" => read_on_and_on(directory, u32::MAX).await,
        "small_files" => read_with_a_full_disk(directory).await,
        "read_only" => read_without_writing(directory).await,
        other => panic!("{other}"),
    }
}

/// Reads chunks in a scattered order, and says so before each.
async fn read_on_and_on(directory: &Path, times: u32) {
    let bucket = bucket().await;
    let storage = bucket.behind(&cache_of(directory, MIB)).await;
    let seed = std::process::id();
    for time in 0..times {
        let number = (time.wrapping_mul(17).wrapping_add(seed)) % CHUNKS;
        say("reads");
        let found = read(&storage, &chunk(number)).await;
        assert_eq!(found, pattern(length(number), number), "wrong bytes");
    }
}

/// The parent allows files of 32 KiB: longer entries break off in the middle, as on a disk that is full.
async fn read_with_a_full_disk(directory: &Path) {
    let bucket = bucket().await;
    let cache = cache_of(directory, 10 * MIB);
    let storage = bucket.behind(&cache).await;
    for number in [20, 21, 1] {
        let found = read(&storage, &chunk(number)).await;
        assert_eq!(found, pattern(length(number), number));
    }
    assert_eq!(cache.statistics().written, 0);
    assert_eq!(
        cache.statistics().not_written,
        3,
        "one broke off, the others were not tried"
    );
}

async fn read_without_writing(directory: &Path) {
    let bucket = bucket().await;
    let path = directory.join("cache");
    let storage = bucket.behind(&cache_of(&path, 10 * MIB)).await;
    read(&storage, &chunk(1)).await;
    set_mode_of_folders(&path, 0o500);
    // Another process, later.
    let cache = cache_of(&path, 10 * MIB);
    let storage = bucket.behind(&cache).await;
    for (number, asked) in [(1, 0), (2, 1), (2, 1)] {
        let found = read(&storage, &chunk(number)).await;
        assert_eq!(found, pattern(length(number), number));
        assert_eq!(bucket.gets(), asked);
    }
    assert_eq!(cache.statistics().not_written, 2);
    // And where there is no cache yet, it is an error.
    let error = icefield_storage_cache::DiskCache::open(path.join("none"), MIB);
    error.expect_err("not made");
    // Or it could not be deleted.
    set_mode_of_folders(&path, 0o700);
}

fn say(word: &str) {
    // Not `println!`: it must pass the capture of libtest, and at once.
    let mut out = std::io::stdout().lock();
    writeln!(out, "@ {word}")
        .and_then(|()| out.flush())
        .expect("the test listens");
}

fn command(program: &Path, role: &str, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--exact", "processes::other_process", "--nocapture"])
        .env(ROLE, role)
        .env(DIRECTORY, directory);
    command
}

fn start(role: &str, directory: &Path) -> Child {
    let mut command = command(&env::current_exe().unwrap(), role, directory);
    command
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test binary runs again")
}

#[tokio::test]
async fn processes_share_a_directory_and_its_bound() {
    let directory = TempDir::new().unwrap();
    let children = [0; 3].map(|_| start("reader", directory.path()));
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
        assert!(bytes_of(directory.path()) <= MIB + 3 * 4096);
    }
    let cache = cache_of(directory.path(), MIB);
    // Two that write the same entry count it twice until room is made: never too little.
    assert!(cache.used().unwrap() + 3 * 4096 >= bytes_of(directory.path()));
    assert!(!entries(directory.path()).is_empty());
}

#[tokio::test]
async fn a_process_killed_at_any_moment_leaves_a_sound_cache() {
    let directory = TempDir::new().unwrap();
    let bucket = bucket().await;
    for reads in [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 90, 91, 92, 93, 94, 95] {
        let mut child = start("victim", directory.path());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = lines.by_ref().map_while(Result::ok);
        let said = said.filter(|line| line.ends_with("@ reads")).take(reads);
        assert_eq!(said.count(), reads, "it reads until it is killed");
        child.kill().unwrap();
        child.wait().unwrap();
        // Not before: without a listener it would end by itself.
        drop(lines);
        assert!(bytes_of(directory.path()) <= MIB + 3 * 4096);

        let cache = cache_of(directory.path(), MIB);
        let storage = bucket.behind(&cache).await;
        for number in 0..CHUNKS {
            assert_eq!(
                read(&storage, &chunk(number)).await,
                pattern(length(number), number)
            );
        }
        // Every file that has its name is whole: it gets the name only then.
        assert_eq!(cache.statistics().damaged, 0);
        assert_eq!(cache.statistics().not_written, 0, "no lock is left behind");
    }
    // Half-written files go when room is made, which 40 chunks in a MiB did.
    assert!(files(&directory.path().join("icefield-cache-1/writing")).is_empty());
}

#[test]
fn a_disk_that_is_full_in_the_middle_of_an_entry_loses_nothing() {
    let directory = TempDir::new().unwrap();
    let program = env::current_exe().unwrap();
    let inner = command(&program, "small_files", directory.path());
    // 512 bytes are a block here; the signal that comes with the error is ignored.
    let script = r#"trap '' XFSZ; ulimit -f 64; exec "$@""#;
    let mut child = Command::new("sh");
    child
        .arg("-c")
        .arg(script)
        .arg("sh")
        .arg(program)
        .args(inner.get_args());
    for (name, value) in inner.get_envs() {
        child.env(name, value.expect("set"));
    }
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(entries(directory.path()).is_empty());
    assert!(files(&directory.path().join("icefield-cache-1/writing")).is_empty());
}

#[test]
fn a_cache_that_may_not_be_written_is_read() {
    let directory = TempDir::new().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    // A copy, because the unprivileged user may not look into the directory of this one.
    let program = directory.path().join("program");
    fs::copy(env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = command(&program, "read_only", directory.path());
    command.current_dir("/");
    if rustix::process::getuid().is_root() {
        command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
}
