//! Cases 1, 65, 66, 73 and 105: several processes, some of them killed.
//!
//! The other processes are this test binary, run again with a role in its environment. They and the test
//! tell each other how far they are through pipes; nothing waits for a time to pass.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use icefield_storage::{
    Body, Clock, GetOptions, ManualClock, ObjectClass, Payload, PutMode, PutOutcome, Storage,
    StorageExt, SystemClock,
};
use tempfile::TempDir;

use super::kit::{REF, Speak, key, open, open_twin, run, temporary, written};
use crate::lock::KeyLock;
use crate::sys::habits::Habits;
use crate::sys::twin::Twin;
use crate::{Fsync, LocalStorage};

const ROLE: &str = "ICEFIELD_LOCAL_TEST_ROLE";
const ROOT: &str = "ICEFIELD_LOCAL_TEST_ROOT";
const ARGUMENT: &str = "ICEFIELD_LOCAL_TEST_ARGUMENT";

/// Another process.
pub(super) struct Child {
    process: std::process::Child,
    said: BufReader<ChildStdout>,
}

/// Returns the command that runs this binary in a role.
pub(super) fn command(program: &Path, role: &str, root: &Path, argument: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--exact", "tests::processes::other_process", "--nocapture"])
        .env(ROLE, role)
        .env(ROOT, root)
        .env(ARGUMENT, argument);
    command
}

impl Child {
    pub(super) fn start(mut command: Command) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the test binary runs again");
        let said = BufReader::new(process.stdout.take().expect("piped"));
        Self { process, said }
    }

    fn role(role: &str, root: &Path, argument: &str) -> Self {
        let program = std::env::current_exe().expect("known");
        Self::start(command(&program, role, root, argument))
    }

    /// Waits for the next thing that the process says.
    pub(super) fn hears(&mut self) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.said.read_line(&mut line).expect("readable");
            assert!(read > 0, "the other process ended without a word");
            // libtest may have begun the line.
            if let Some((_, word)) = line.split_once("@ ") {
                return word.trim_end().to_owned();
            }
        }
    }

    pub(super) fn tell(&mut self, word: &str) {
        let pipe = self.process.stdin.as_mut().expect("piped");
        writeln!(pipe, "{word}").expect("the other process listens");
    }

    fn kill(mut self) {
        self.process.kill().expect("killed");
        self.process.wait().expect("waited for");
    }

    pub(super) fn ends_well(mut self) {
        let status = self.process.wait().expect("waited for");
        assert!(status.success(), "{status}");
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Says something to the test.
fn say(word: &str) {
    // Not `println!`: it must pass the capture of libtest, and at once.
    let mut out = std::io::stdout().lock();
    writeln!(out, "@ {word}")
        .and_then(|()| out.flush())
        .expect("the test listens");
}

/// Waits for the test.
fn listen() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("readable");
    line.trim_end().to_owned()
}

/// Stays until it is killed.
fn stay() -> ! {
    loop {
        std::thread::park();
    }
}

/// Not a test: the entry of the other processes.
#[test]
fn other_process() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let root = std::path::PathBuf::from(std::env::var_os(ROOT).expect("set"));
    let argument = std::env::var(ARGUMENT).expect("set");
    run(async {
        match role.as_str() {
            "create" => create(&root, &argument).await,
            "count" => count(&root, &argument).await,
            "hold" => hold(&root),
            "overwrite" => overwrite(&root).await,
            "stop" => stop(&root, &argument).await,
            "few files" => few_files(&root).await,
            "unprivileged" => super::unprivileged::act(&root).await,
            "unreadable" => super::unprivileged::meet_a_closed_door(&root).await,
            other => panic!("{other}"),
        }
    });
}

async fn create(root: &Path, argument: &str) {
    let class = match argument.contains("chunk") {
        true => ObjectClass::Chunk,
        false => ObjectClass::Metadata,
    };
    let store = open(root);
    say("ready");
    listen();
    let text = Bytes::copy_from_slice(argument.as_bytes());
    match store
        .try_put("a/b", text, PutMode::Create, class)
        .await
        .expect("answered")
    {
        PutOutcome::Written(_) => say("won"),
        PutOutcome::Refused => say("lost"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn e66_of_sixteen_processes_that_create_one_key_one_wins() {
    for class in ["metadata", "chunk"] {
        let dir = TempDir::new().expect("a temporary directory");
        // Also the directories and the hidden directory are made in the race.
        let root = dir.path().join("root");
        let mut children: Vec<_> = (0..16)
            .map(|i| Child::role("create", &root, &format!("{class} {i}")))
            .collect();
        for child in &mut children {
            assert_eq!(child.hears(), "ready");
        }
        for child in &mut children {
            child.tell("go");
        }
        let winners: Vec<_> = (0..16).filter(|i| children[*i].hears() == "won").collect();
        assert_eq!(winners.len(), 1, "{class}: {winners:?}");
        children.into_iter().for_each(Child::ends_well);
        let there = run(open(&root).text("a/b"));
        assert_eq!(there, Some(format!("{class} {}", winners[0])));
        assert!(temporary(&root).is_empty());
    }
}

async fn count(root: &Path, argument: &str) {
    let store = open(root);
    say("ready");
    listen();
    for _ in 0..argument.parse::<u32>().expect("a number") {
        loop {
            let (bytes, version) = store
                .try_read(&key(REF))
                .await
                .expect("read")
                .expect("there");
            let number: u32 = std::str::from_utf8(&bytes)
                .expect("text")
                .parse()
                .expect("a number");
            let (next, mode) = ((number + 1).to_string(), PutMode::Update(version));
            match store
                .try_put(REF, next, mode, ObjectClass::Metadata)
                .await
                .expect("answered")
            {
                PutOutcome::Written(_) => break,
                PutOutcome::Refused => {}
                other => panic!("{other:?}"),
            }
        }
    }
    say("done");
}

#[test]
fn e66_four_processes_count_together_without_losing_one() {
    let dir = TempDir::new().expect("a temporary directory");
    run(open(dir.path()).write(REF, "0", PutMode::Create));
    let mut children: Vec<_> = (0..4)
        .map(|_| Child::role("count", dir.path(), "100"))
        .collect();
    for child in &mut children {
        assert_eq!(child.hears(), "ready");
    }
    for child in &mut children {
        child.tell("go");
    }
    for child in &mut children {
        assert_eq!(child.hears(), "done");
    }
    children.into_iter().for_each(Child::ends_well);
    assert_eq!(run(open(dir.path()).text(REF)).as_deref(), Some("400"));
}

fn hold(root: &Path) {
    let store = open(root);
    let _lock = KeyLock::acquire(&store.0, &key(REF), false).expect("locked");
    say("held");
    stay();
}

#[test]
fn e66_a_lock_dies_with_its_owner() {
    let dir = TempDir::new().expect("a temporary directory");
    run(async {
        let store = open(dir.path());
        let mut version = store.write(REF, "0", PutMode::Create).await;
        for round in 0..5 {
            let mut holder = Child::role("hold", dir.path(), "");
            assert_eq!(holder.hears(), "held");
            // Readers do not care.
            assert!(store.text(REF).await.is_some());
            assert_eq!(store.keys().await, [REF]);
            let bytes = Bytes::from(round.to_string());
            let mode = PutMode::Update(version.clone());
            let update = store.try_put(REF, bytes, mode, ObjectClass::Metadata);
            futures::pin_mut!(update);
            for _ in 0..100 {
                assert!(
                    futures::poll!(&mut update).is_pending(),
                    "the lock keeps nobody out"
                );
                tokio::task::yield_now().await;
            }
            // A reader that comes while a writer of this process waits.
            assert!(store.text(REF).await.is_some());
            holder.kill();
            let outcome = tokio::time::timeout(Duration::from_secs(60), update).await;
            version = written(outcome.expect("not stuck").expect("answered"));
        }
    });
}

/// Returns the text of a round: one letter, as often as the letter says.
fn pattern(round: usize) -> String {
    let letter = round % 26;
    char::from(b'a' + u8::try_from(letter).expect("a letter"))
        .to_string()
        .repeat(1 + letter * 997)
}

fn is_whole(bytes: &[u8]) -> bool {
    bytes
        .first()
        .is_some_and(|first| bytes == pattern(usize::from(first - b'a')).as_bytes())
}

async fn overwrite(root: &Path) {
    let store = open(root);
    for round in 0.. {
        store.write(REF, &pattern(round), PutMode::Overwrite).await;
        if round == 50 {
            say("writing");
        }
    }
}

#[test]
fn e65_a_torn_reference_is_never_seen() {
    let dir = TempDir::new().expect("a temporary directory");
    run(async {
        let store = open(dir.path());
        store.write(REF, &pattern(0), PutMode::Create).await;
        for _ in 0..4 {
            let mut writers: Vec<_> = (0..2)
                .map(|_| Child::role("overwrite", dir.path(), ""))
                .collect();
            for writer in &mut writers {
                assert_eq!(writer.hears(), "writing");
            }
            let readers = (0..3).map(|i| {
                let (store, path) = (store.clone(), dir.path().join(REF));
                tokio::task::spawn_blocking(move || {
                    for _ in 0..500 {
                        let bytes = match i {
                            // Another program.
                            0 => std::fs::read(&path).expect("there"),
                            _ => {
                                let object = store.0.get(&key(REF), &GetOptions::default());
                                match object.expect("there").body {
                                    Body::Bytes(bytes) => bytes.to_vec(),
                                    Body::Stream(_) => panic!("a small object is read at once"),
                                }
                            }
                        };
                        assert!(is_whole(&bytes), "torn: {} bytes", bytes.len());
                    }
                })
            });
            for reader in futures::future::join_all(readers).await {
                reader.expect("nothing torn");
            }
            // In mid-write, as like as not.
            writers.into_iter().for_each(Child::kill);
            let bytes = std::fs::read(dir.path().join(REF)).expect("there");
            assert!(is_whole(&bytes), "torn by the kill: {} bytes", bytes.len());
        }
    });
}

/// Performs one operation and stops before the system call with the given number.
async fn stop(root: &Path, argument: &str) {
    let (operation, number) = argument.split_once(' ').expect("two words");
    let number: usize = number.parse().expect("a number");
    let twin = Twin::new(Habits::default());
    let store = open_twin(root, &twin, |builder| builder);
    store.write("warm", "x", PutMode::Overwrite).await;
    twin.reset();
    twin.hook(move |now, _| {
        if now == number {
            say("stopped");
            stay();
        }
    });
    let bytes = Bytes::from_static(b"new");
    let metadata = ObjectClass::Metadata;
    match operation {
        "update" => {
            let (_, version) = store
                .try_read(&key(REF))
                .await
                .expect("read")
                .expect("there");
            store.write(REF, "new", PutMode::Update(version)).await;
        }
        "create" => drop(store.write("created", "new", PutMode::Create).await),
        "stream" => {
            let parts = stream::iter([Ok(bytes.slice(..1)), Ok(bytes.slice(1..))]).boxed();
            let payload = Payload::Stream {
                size: Some(3),
                stream: parts,
            };
            written(
                store
                    .try_put(REF, payload, PutMode::Overwrite, metadata)
                    .await
                    .expect("put"),
            );
        }
        "chunk" => {
            store.chunk("chunks/1", bytes).await;
            store.sync().await.expect("flushed");
        }
        "delete" => {
            let _ = store.delete_one(key(REF).into()).await.expect("deleted");
        }
        other => panic!("{other}"),
    }
    say("done");
}

#[test]
fn e105_killed_before_any_system_call_the_state_is_old_or_new_and_nothing_is_stuck() {
    for operation in ["update", "create", "stream", "chunk", "delete"] {
        run(async {
            let dir = TempDir::new().expect("a temporary directory");
            let store = open(dir.path());
            for number in 0.. {
                store.write(REF, "old", PutMode::Overwrite).await;
                for at in ["created", "chunks/1"] {
                    let _ = store.delete_one(key(at).into()).await.expect("deleted");
                }
                let argument = format!("{operation} {number}");
                let mut child = Child::role("stop", dir.path(), &argument);
                let heard = child.hears();
                child.kill();
                let (reference, created, chunk) = (
                    store.text(REF).await,
                    store.text("created").await,
                    store.text("chunks/1").await,
                );
                let done = heard == "done";
                let fine = match operation {
                    "update" | "stream" => {
                        reference.as_deref() == Some("new")
                            || !done && reference.as_deref() == Some("old")
                    }
                    "create" => created.as_deref() == Some("new") || !done && created.is_none(),
                    "delete" => reference.is_none() || !done && reference.as_deref() == Some("old"),
                    // In place: torn is allowed under a name that nothing refers to.
                    _ => !done || chunk.as_deref() == Some("new"),
                };
                assert!(
                    fine,
                    "{argument}: {heard} {reference:?} {created:?} {chunk:?}"
                );
                if done {
                    assert!(number > 5, "{operation} made only {number} calls");
                    break;
                }
            }
            // What the dead left is out of sight, and gone a day later.
            store.write("after", "x", PutMode::Create).await;
            let listed = store.keys().await;
            assert!(listed.iter().all(|at| !at.starts_with('.')), "{listed:?}");
            let clock = ManualClock::new(SystemClock.now() + Duration::from_secs(25 * 3600));
            let later = LocalStorage::builder(dir.path())
                .clock(Arc::new(clock))
                .open();
            later
                .expect("opened")
                .write("later", "x", PutMode::Create)
                .await;
            assert!(temporary(dir.path()).is_empty());
        });
    }
}

async fn few_files(root: &Path) {
    let store = LocalStorage::builder(root)
        .fsync(Fsync::Commit)
        .open()
        .expect("opened");
    let chunks = (0..300).map(|i| {
        let store = store.clone();
        async move { store.chunk(&format!("chunks/{i}"), vec![b'x'; 100]).await }
    });
    futures::future::join_all(chunks).await;
    let objects = (0..100).map(|i| {
        let store = store.clone();
        async move {
            store
                .write(&format!("o/{i}/p"), "x", PutMode::Overwrite)
                .await
        }
    });
    futures::future::join_all(objects).await;
    store.sync().await.expect("flushed");
    let reads = (0..300).map(|i| {
        let store = store.clone();
        async move {
            store
                .text(&format!("chunks/{i}"))
                .await
                .expect("there")
                .len()
        }
    });
    let read: usize = futures::future::join_all(reads).await.into_iter().sum();
    assert_eq!(read, 30_000);
    let lists = futures::future::join_all((0..10).map(|_| store.keys())).await;
    assert!(lists.iter().all(|list| list.len() == 400));
    let deletions = (0..300).map(|i| key(&format!("chunks/{i}")).into());
    let deleted: Vec<_> = store
        .delete(stream::iter(deletions).boxed())
        .collect()
        .await;
    assert!(
        deleted.iter().all(|(_, result)| result.is_ok()),
        "{deleted:?}"
    );
    say("done");
}

#[test]
fn e73_sixty_four_descriptors_are_enough() {
    let dir = TempDir::new().expect("a temporary directory");
    let program = std::env::current_exe().expect("known");
    let inner = command(&program, "few files", dir.path(), "");
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
        .arg(inner.get_program());
    shell.args(inner.get_args());
    for (name, value) in inner.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    let mut child = Child::start(shell);
    assert_eq!(child.hears(), "done");
    child.ends_well();
}
