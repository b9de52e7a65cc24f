//! Several processes on one tree, and processes that die: this test binary, run again with a role in its environment.
//!
//! They and the test tell each other how far they are through pipes; nothing waits for a time to pass.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures::TryStreamExt;
use icefield_storage::GetRange;
use tokio::runtime::Runtime;

use super::{DirectoryTree, Durability};
use crate::{ReadTree, TEMPORARY, TreeError, TreeKey, TreePrefix, WriteTree};

const ROLE: &str = "ICEFIELD_ZARR_FS_TEST_ROLE";
const BASE: &str = "ICEFIELD_ZARR_FS_TEST_BASE";
/// How often each process sets the key.
const WRITES: usize = 1000;
/// How many values each process tries to be the first to store.
const RACES: usize = 50;

/// Another process.
struct Other {
    process: Child,
    said: BufReader<ChildStdout>,
}

fn command(role: &str, base: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "directory::tests::other_process", "--nocapture"])
        .env(ROLE, role)
        .env(BASE, base);
    command
}

impl Other {
    fn start(mut command: Command) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(process.stdout.take().unwrap());
        Self { process, said }
    }

    /// Waits for the next thing that the process says.
    fn hear(&mut self) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.said.read_line(&mut line).unwrap();
            assert!(read > 0, "the other process ended without a word");
            // libtest may have begun the line.
            if let Some((_, word)) = line.split_once("@ ") {
                return word.trim_end().to_owned();
            }
        }
    }

    fn go(&mut self) {
        writeln!(self.process.stdin.as_mut().unwrap(), "go").unwrap();
    }

    fn end(mut self) {
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn say(word: &str) {
    // Not `println!`: it must pass the capture of libtest, and at once.
    let mut out = std::io::stdout().lock();
    writeln!(out, "@ {word}")
        .and_then(|()| out.flush())
        .unwrap();
}

fn listen() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

fn stay() {
    say("there");
    loop {
        std::thread::park();
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap()
}

fn key(text: &str) -> TreeKey {
    TreeKey::parse(text).unwrap()
}

fn scratch(base: &Path) -> DirectoryTree {
    let builder = DirectoryTree::builder(base).durability(Durability::None);
    builder.open().unwrap()
}

/// Values of different lengths, each of one letter.
fn value(writer: u8, at: usize) -> Bytes {
    vec![b'a' + writer; 1 + (at * 977) % 20_000 + usize::from(writer)].into()
}

fn is_one_value(bytes: &[u8]) -> bool {
    let Some(first) = bytes.first() else {
        return false;
    };
    let writer = first.wrapping_sub(b'a');
    let length = bytes.len().wrapping_sub(1 + usize::from(writer));
    bytes.iter().all(|byte| byte == first)
        && writer < 2
        && (0..WRITES).any(|at| (at * 977) % 20_000 == length)
}

/// Not a test: the entry of the other processes.
#[test]
fn other_process() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let base = PathBuf::from(std::env::var_os(BASE).unwrap());
    match role.as_str() {
        "write 0" => write(&base, 0),
        "write 1" => write(&base, 1),
        "read" => read(&base),
        "stop" => {
            let mut builder = DirectoryTree::builder(base);
            builder.before_rename = Some(stay);
            let tree = builder.open().unwrap();
            let _ = runtime().block_on(tree.set(&key("d/v"), "new value".into()));
        }
        "race 0" | "race 1" => race(&base),
        "churn" => churn(&base),
        "full" => full(&base, false),
        "full unseen" => full(&base, true),
        other => panic!("{other}"),
    }
}

fn write(base: &Path, writer: u8) {
    let tree = scratch(base);
    say("ready");
    listen();
    runtime().block_on(async {
        for at in 0..WRITES {
            tree.set(&key("d/v"), value(writer, at)).await.unwrap();
        }
    });
    say("done");
}

fn read(base: &Path) {
    let tree = scratch(base);
    let stop = Arc::new(AtomicBool::new(false));
    say("ready");
    listen();
    let told = Arc::clone(&stop);
    let ear = std::thread::spawn(move || {
        listen();
        told.store(true, Ordering::Relaxed);
    });
    let mut reads = 0;
    runtime().block_on(async {
        while !stop.load(Ordering::Relaxed) || reads == 0 {
            let parts = [GetRange::Bounded(0..1), GetRange::All];
            let read = tree.get_ranges(&key("d/v"), &parts).await.unwrap().unwrap();
            assert!(is_one_value(&read[1]), "{} bytes", read[1].len());
            assert_eq!(read[0], read[1].slice(..1), "of one state");
            reads += 1;
        }
    });
    ear.join().unwrap();
    say("done");
}

#[test]
fn fs17_two_processes_write_a_key_and_two_read_it() {
    let directory = tempfile::tempdir().unwrap();
    let tree = scratch(directory.path());
    runtime()
        .block_on(tree.set(&key("d/v"), value(0, 0)))
        .unwrap();
    let start = |role| Other::start(command(role, directory.path()));
    let mut writers = ["write 0", "write 1"].map(start);
    let mut readers = ["read", "read"].map(start);
    for other in writers.iter_mut().chain(&mut readers) {
        assert_eq!(other.hear(), "ready");
        other.go();
    }
    for mut writer in writers {
        assert_eq!(writer.hear(), "done");
        writer.end();
    }
    for mut reader in readers {
        reader.go();
        assert_eq!(reader.hear(), "done");
        reader.end();
    }
    assert_eq!(names(directory.path()), ["d", "d/v"]);
}

#[test]
fn fs18_a_writer_killed_before_the_rename_leaves_the_old_value() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = runtime();
    let tree = scratch(directory.path());
    runtime
        .block_on(tree.set(&key("d/v"), "old".into()))
        .unwrap();
    let mut other = Other::start(command("stop", directory.path()));
    assert_eq!(other.hear(), "there");
    // SIGKILL.
    drop(other);
    let left: Vec<_> = names(directory.path());
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(left[1].starts_with(&format!("d/{TEMPORARY}")), "{left:?}");
    runtime.block_on(async {
        let read = tree.get(&key("d/v"), GetRange::All).await.unwrap();
        assert_eq!(read.as_deref(), Some(&b"old"[..]));
        let list = |tree: &DirectoryTree| tree.list(&TreePrefix::all()).try_collect::<Vec<_>>();
        assert_eq!(list(&tree).await.unwrap().len(), 1);
        assert_eq!(names(directory.path()).len(), 3, "it may still be written");
        let builder = DirectoryTree::builder(directory.path());
        let later = builder
            .leftover_age(std::time::Duration::ZERO)
            .open()
            .unwrap();
        assert_eq!(list(&later).await.unwrap().len(), 1);
        assert_eq!(names(directory.path()), ["d", "d/v"]);
        tree.set(&key("d/v"), "new".into()).await.unwrap();
    });
}

fn race(base: &Path) {
    let tree = scratch(base);
    say("ready");
    listen();
    let won = runtime().block_on(async {
        let mut won = 0;
        for at in 0..RACES {
            let name = key(&format!("race/{at}"));
            won += usize::from(tree.set_if_not_exists(&name, "v".into()).await.unwrap());
        }
        won
    });
    say(&won.to_string());
}

#[test]
fn fs19_of_all_who_store_a_new_value_one_wins() {
    let directory = tempfile::tempdir().unwrap();
    let tree = scratch(directory.path());
    let wins = runtime().block_on(async {
        let tasks = (0..16).map(|at: u8| {
            let tree = tree.clone();
            tokio::spawn(async move {
                let value = Bytes::from(vec![at; 100]);
                tree.set_if_not_exists(&key("new/v"), value).await.unwrap()
            })
        });
        futures::future::join_all(tasks).await
    });
    assert_eq!(
        wins.into_iter()
            .filter(|won| *won.as_ref().unwrap())
            .count(),
        1
    );

    let mut others = ["race 0", "race 1"].map(|role| Other::start(command(role, directory.path())));
    for other in &mut others {
        assert_eq!(other.hear(), "ready");
        other.go();
    }
    let wins: usize = others
        .iter_mut()
        .map(|other| other.hear().parse::<usize>().unwrap())
        .sum();
    assert_eq!(wins, RACES);
}

fn churn(base: &Path) {
    let tree = scratch(base);
    say("ready");
    runtime().block_on(async {
        for at in 0_usize.. {
            let name = key(&format!("churn/{}/{}", at % 7, at % 31));
            tree.set(&name, "v".into()).await.unwrap();
            let gone = at.wrapping_mul(13);
            let name = key(&format!("churn/{}/{}", gone % 7, gone % 31));
            tree.erase(&name).await.unwrap();
            if at % 50 == 0 {
                let all = TreePrefix::parse("churn/3/").unwrap();
                tree.erase_prefix(&all).await.unwrap();
            }
        }
    });
}

#[test]
fn fs20_lists_meet_writers_and_erasers() {
    let directory = tempfile::tempdir().unwrap();
    let tree = scratch(directory.path());
    let runtime = runtime();
    let stay = ["a/0", "churn/stays", "churn/3.x", "z"];
    runtime.block_on(async {
        for name in stay {
            tree.set(&key(name), "v".into()).await.unwrap();
        }
    });
    let mut others = ["churn", "churn"].map(|role| Other::start(command(role, directory.path())));
    for other in &mut others {
        assert_eq!(other.hear(), "ready");
    }
    runtime.block_on(async {
        for _ in 0..100 {
            let list = tree.list(&TreePrefix::all());
            let listed: Vec<_> = list
                .map_ok(|e| e.key.to_string())
                .try_collect()
                .await
                .unwrap();
            assert!(
                listed.is_sorted_by(|a, b| a < b),
                "once each, in order: {listed:?}"
            );
            for name in stay {
                assert!(listed.iter().any(|key| key == name), "{name} in {listed:?}");
            }
            let children = tree.children(&TreePrefix::all()).await.unwrap();
            assert_eq!((children.keys.len(), children.prefixes.len()), (1, 2));
        }
    });
}

/// Runs with a limit on the size of files: the disk that is full in the middle of a value.
fn full(base: &Path, unseen: bool) {
    let builder = DirectoryTree::builder(base).durability(Durability::None);
    let tree = builder.unseen(unseen).open().unwrap();
    let runtime = runtime();
    let name = match unseen {
        true => {
            // The first value shows whether case matters; from then on they are written in their places.
            runtime
                .block_on(tree.set(&key("d/v"), "old".into()))
                .unwrap();
            "d/new"
        }
        false => "d/v",
    };
    let failed = runtime.block_on(tree.set(&key(name), vec![1; 1 << 20].into()));
    let Err(TreeError::Io { source, .. }) = failed else {
        panic!("{failed:?}");
    };
    assert_eq!(source.kind(), std::io::ErrorKind::FileTooLarge);
    say("full");
}

#[test]
fn fs16_a_disk_that_is_full_in_the_middle_of_a_value() {
    stays_whole_on_a_full_disk("full");
    stays_whole_on_a_full_disk("full unseen");
}

fn stays_whole_on_a_full_disk(role: &str) {
    let directory = tempfile::tempdir().unwrap();
    let tree = scratch(directory.path());
    runtime()
        .block_on(tree.set(&key("d/v"), "old".into()))
        .unwrap();
    let mut shell = Command::new("sh");
    // Without the signal the write fails, as it does on a disk without room.
    let script = "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\"";
    let other = command(role, directory.path());
    shell
        .args(["-c", script])
        .arg(other.get_program())
        .args(other.get_args());
    for (name, value) in other.get_envs() {
        shell.env(name, value.unwrap());
    }
    let mut other = Other::start(shell);
    assert_eq!(other.hear(), "full");
    other.end();
    let read = runtime()
        .block_on(tree.get(&key("d/v"), GetRange::All))
        .unwrap();
    assert_eq!(read.as_deref(), Some(&b"old"[..]));
    assert_eq!(
        names(directory.path()),
        ["d", "d/v"],
        "nothing left lying about"
    );
}

/// Every name below a directory.
fn names(directory: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(at) = left.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path.clone());
            }
            let name = path.strip_prefix(directory).unwrap();
            names.push(name.to_str().unwrap().to_owned());
        }
    }
    names.sort();
    names
}
