//! Worker processes as the tests drive them.

use std::path::Path;

use icefield_core::SnapshotId;
use icefield_harness::history;
use icefield_harness::process::Process;

/// A worker process. Dropped, it is killed.
pub(crate) struct Worker(Process);

impl Worker {
    /// Starts a worker with these variables more in its environment; it does nothing before it is told to go.
    pub(crate) fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_icefield-worker"));
        Self(Process::start(program, arguments, environment).expect("the worker is built"))
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
        self.0.go().expect("the worker runs");
    }

    /// The next line that the worker says, `None` at its end.
    pub(crate) fn line(&mut self) -> Option<String> {
        self.0.line().expect("readable")
    }

    /// Kills the worker with SIGKILL and waits until it is dead.
    pub(crate) fn kill(self) {
        self.0.killer().kill();
        let status = self.0.wait().expect("killed");
        assert!(!status.success(), "the worker had ended: {status}");
    }

    /// Waits for the worker's end, and returns the last line that it said.
    pub(crate) fn finish(mut self) -> String {
        let mut last = String::new();
        while let Some(line) = self.line() {
            last = line;
        }
        let status = self.0.wait().expect("ended");
        assert!(status.success(), "the worker failed: {status}");
        last
    }
}

/// The log of acknowledged commits of a worker, beside the repository.
pub(crate) fn log_of(repository: &Path, number: u32) -> String {
    format!("{}.{number}.log", repository.display())
}

/// The commits that a worker has had acknowledged.
pub(crate) fn acknowledged(repository: &Path, number: u32) -> Vec<SnapshotId> {
    let log = log_of(repository, number);
    history::acknowledged(Path::new(&log)).expect("a log of ids")
}

/// Prepares a repository for workers.
pub(crate) fn prepare(repository: &Path) {
    let location = repository.to_string_lossy();
    Worker::start(&["prepare", &location], &[]).finish();
}
