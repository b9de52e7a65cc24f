//! Starting, reading and killing other processes.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A process that talks over pipes. Dropped, it is killed.
#[derive(Debug)]
pub struct Process {
    child: Arc<Mutex<Child>>,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// Kills a process, from any thread.
#[derive(Clone, Debug)]
pub struct Killer(Arc<Mutex<Child>>);

impl Killer {
    /// Kills the process with SIGKILL, unless it has ended.
    pub fn kill(&self) {
        // An error says that it has ended.
        let _ended = lock(&self.0).kill();
    }
}

fn lock(child: &Mutex<Child>) -> MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Process {
    /// Starts a program with these variables more in its environment.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(
        program: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> io::Result<Self> {
        let mut child = Command::new(program)
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let piped = || io::Error::other("the process has no pipes");
        let input = child.stdin.take().ok_or_else(piped)?;
        let output = BufReader::new(child.stdout.take().ok_or_else(piped)?);
        Ok(Self {
            child: Arc::new(Mutex::new(child)),
            input,
            output,
        })
    }

    /// Tells the process to go.
    ///
    /// # Errors
    /// If it has ended.
    pub fn go(&mut self) -> io::Result<()> {
        self.input.write_all(b"go\n")
    }

    /// Returns the next line that the process says, `None` at its end. A line that the end cut off does not count.
    ///
    /// # Errors
    /// If the pipe cannot be read.
    pub fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.strip_suffix('\n').map(str::to_owned))
    }

    /// Returns what kills it, for another thread.
    #[must_use]
    pub fn killer(&self) -> Killer {
        Killer(Arc::clone(&self.child))
    }

    /// Waits for the end of the process, whose output has ended or no longer matters.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub fn wait(&self) -> io::Result<ExitStatus> {
        lock(&self.child).wait()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut child = lock(&self.child);
        let _ended = child.kill();
        let _ended = child.wait();
    }
}
