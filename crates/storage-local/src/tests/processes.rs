//! Other processes: this test binary, run again with a role in its environment.
//!
//! They and the test tell each other how far they are through pipes; nothing waits for a time to pass.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};

use super::kit::run;
use super::{kills, races, unprivileged};

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

    pub(super) fn role(role: &str, root: &Path, argument: &str) -> Self {
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

    pub(super) fn kill(mut self) {
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
pub(super) fn say(word: &str) {
    // Not `println!`: it must pass the capture of libtest, and at once.
    let mut out = std::io::stdout().lock();
    writeln!(out, "@ {word}")
        .and_then(|()| out.flush())
        .expect("the test listens");
}

/// Waits for the test.
pub(super) fn listen() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("readable");
    line.trim_end().to_owned()
}

/// Stays until it is killed.
pub(super) fn stay() -> ! {
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
            "create" => races::create(&root, &argument).await,
            "count" => races::count(&root, &argument).await,
            "hold" => races::hold(&root),
            "overwrite" => kills::overwrite(&root).await,
            "stop" => kills::stop(&root, &argument).await,
            "few files" => races::few_files(&root).await,
            "unprivileged" => unprivileged::act(&root).await,
            "unreadable" => unprivileged::meet_a_closed_door(&root).await,
            other => panic!("{other}"),
        }
    });
}
