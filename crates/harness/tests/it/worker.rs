//! Starting, reading and killing worker processes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use icefield_core::SnapshotId;

/// A worker process. Dropped, it is killed.
pub(crate) struct Worker {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Worker {
    /// Starts a worker with these variables more in its environment; it does nothing before it is told to go.
    pub(crate) fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_icefield-worker"));
        command
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("the worker is built");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self {
            child,
            input,
            output,
        }
    }

    /// Starts a worker that commits.
    pub(crate) fn committer(
        repository: &Path,
        number: u32,
        commits: usize,
        announce: bool,
    ) -> Self {
        let (repository, log) = (repository.to_string_lossy(), log_of(repository, number));
        let (number, commits) = (number.to_string(), commits.to_string());
        // Every other worker writes chunks of their own objects, the others inline ones.
        let bytes = if number.ends_with(['0', '2', '4', '6', '8']) {
            "1"
        } else {
            "600"
        };
        let arguments = ["commit", &repository, &number, &commits, &log, bytes];
        let announced = [("ICEFIELD_ANNOUNCE", "1")];
        Self::start(&arguments, if announce { &announced } else { &[] })
    }

    /// Waits until the worker is ready.
    pub(crate) fn wait_ready(&mut self) {
        while self.line().expect("the worker runs") != "ready" {}
    }

    /// Tells the worker to go.
    pub(crate) fn go(&mut self) {
        self.input.write_all(b"go\n").expect("the worker runs");
    }

    /// The next line that the worker says, `None` at its end.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.output.read_line(&mut line).expect("readable");
        (read > 0).then(|| line.trim_end().to_owned())
    }

    /// Kills the worker with SIGKILL and waits until it is dead.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("the worker runs");
        self.child.wait().expect("killed");
    }

    /// Waits for the worker's end, and returns the last line that it said.
    pub(crate) fn finish(mut self) -> String {
        let mut last = String::new();
        while let Some(line) = self.line() {
            last = line;
        }
        let status = self.child.wait().expect("ended");
        assert!(status.success(), "the worker failed: {status}");
        last
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The log of acknowledged commits of a worker, beside the repository.
pub(crate) fn log_of(repository: &Path, number: u32) -> String {
    format!("{}.{number}.log", repository.display())
}

/// The commits that a worker has had acknowledged. A last line without an end was being written when the
/// worker was killed; whether that commit counts as acknowledged is not known.
pub(crate) fn acknowledged(repository: &Path, number: u32) -> Vec<SnapshotId> {
    let text = std::fs::read_to_string(log_of(repository, number)).unwrap_or_default();
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    complete
        .lines()
        .map(|line| line.parse().expect("an id"))
        .collect()
}

/// Prepares a repository for workers.
pub(crate) fn prepare(repository: &Path) {
    let location = repository.to_string_lossy();
    Worker::start(&["prepare", &location], &[]).finish();
}
