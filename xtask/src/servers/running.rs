//! A server that runs beside the tests, and never longer than they do.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process;

/// How long a server may take until it answers.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause between two looks at it.
const PAUSE: Duration = Duration::from_millis(50);
/// How often one is started that ends at once, perhaps because another process took its port.
const TRIES: u32 = 3;

/// Runs the server, and kills it when the input ends: when xtask closes it, or is gone, in whatever way. By its id,
/// and at once: what it holds is thrown away. A signal to the whole group must not end the one that watches first.
const LEASH: &str = r#"
exec 3<&0
"$@" 3<&- </dev/null &
server=$!
(trap '' HUP INT TERM; read -r _ <&3; kill -9 "$server") 2>/dev/null &
watch=$!
exec 3<&-
wait "$server"
code=$?
kill -9 "$watch" 2>/dev/null
exit "$code"
"#;

/// A running server. It is stopped when this is dropped.
#[derive(Debug)]
pub struct Running {
    leash: Child,
    log: PathBuf,
}

impl Running {
    /// Starts the server that `command` returns, and waits until `is_ready` says so. What it prints goes to `log`.
    /// The command is asked for anew at each try, with new ports.
    ///
    /// # Errors
    /// If it ends by itself or does not get ready.
    pub fn start<T>(
        log: &Path,
        command: impl Fn() -> Result<(Command, T)>,
        is_ready: impl Fn(&T) -> bool,
    ) -> Result<(Self, T)> {
        let mut tries = 0;
        loop {
            tries += 1;
            let (command, facts) = command()?;
            let mut running = Self::leashed(&command, log)?;
            match running.wait(|| is_ready(&facts)) {
                Ok(()) => return Ok((running, facts)),
                Err(error) if tries == TRIES => return Err(error),
                Err(error) => println!("{error:#}; it is started once more"),
            }
        }
    }

    fn leashed(command: &Command, log: &Path) -> Result<Self> {
        println!("$ {} &", process::shown(command));
        let out = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut leash = Command::new("/bin/sh");
        leash.args(["-c", LEASH, "sh"]);
        leash.arg(command.get_program()).args(command.get_args());
        if let Some(directory) = command.get_current_dir() {
            leash.current_dir(directory);
        }
        for (name, value) in command.get_envs() {
            leash.env(name, value.unwrap_or(OsStr::new("")));
        }
        leash.stdin(Stdio::piped());
        leash.stdout(out.try_clone()?).stderr(out);
        Ok(Self {
            leash: leash.spawn().context("cannot start a shell")?,
            log: log.to_owned(),
        })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a process of another program is waited for, by the clock on the wall"
    )]
    fn wait(&mut self, is_ready: impl Fn() -> bool) -> Result<()> {
        let begun = Instant::now();
        while !is_ready() {
            if let Some(status) = self.leash.try_wait()? {
                bail!("the server ended by itself, {status}:\n{}", self.said());
            }
            if begun.elapsed() > PATIENCE {
                bail!("the server does not get ready:\n{}", self.said());
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Returns the end of what it printed.
    pub fn said(&self) -> String {
        let said = std::fs::read(&self.log).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = said.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.leash.stdin.take());
        // The shell ends with the server. If it cannot be waited for, it is gone.
        let _gone = self.leash.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> PathBuf {
        let name = format!("icefield-{name}-{}", std::process::id());
        std::env::temp_dir().join(name)
    }

    /// Says whether a process is there.
    fn lives(id: &str) -> bool {
        let status = Command::new("kill")
            .args(["-0", id])
            .stderr(Stdio::null())
            .status();
        status.is_ok_and(|status| status.success())
    }

    #[test]
    fn a_server_ends_when_its_leash_is_let_go() {
        let (log, id) = (file("leash-log"), file("leash-id"));
        let command = || {
            let mut server = Command::new("/bin/sh");
            server.args(["-c", "echo $$ > \"$0\"; exec sleep 600"]);
            server.arg(&id);
            Ok((server, ()))
        };
        let read = || std::fs::read_to_string(&id).unwrap_or_default();
        let (running, ()) =
            Running::start(&log, command, |()| read().ends_with('\n')).expect("it starts");
        let server = read().trim().to_owned();
        assert!(lives(&server));
        drop(running);
        assert!(!lives(&server));
        for file in [log, id] {
            std::fs::remove_file(file).expect("ours");
        }
    }

    #[test]
    fn a_server_that_ends_at_once_says_why() {
        let log = file("end-log");
        let command = || {
            let mut server = Command::new("/bin/sh");
            server.args(["-c", "echo no port; exit 3"]);
            Ok((server, ()))
        };
        let error = Running::start(&log, command, |()| false).expect_err("it ends");
        let text = format!("{error:#}");
        assert!(
            text.contains("no port") && text.contains("exit status: 3"),
            "{text}"
        );
        std::fs::remove_file(log).expect("ours");
    }
}
