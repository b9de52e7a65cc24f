//! Child processes: started in the workspace, shown before they run, failing with a readable error.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::root::root;

/// Returns a cargo command that runs in the workspace root.
pub fn cargo() -> Command {
    builder(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Returns a command that runs in the workspace root and calls cargo.
pub fn builder(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    // Cargo tells xtask about itself, and would tell its children. Some build scripts (that of `ring`) look at these
    // variables: a build from here and one by hand would throw each other's work away.
    for (name, _) in std::env::vars_os() {
        let of_xtask = ["CARGO_PKG_", "CARGO_MANIFEST_"];
        if (name.to_str()).is_some_and(|name| of_xtask.iter().any(|it| name.starts_with(it))) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs the command with its output passed through.
///
/// # Errors
/// If it cannot be started or does not succeed.
pub fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", shown(command));
    let status = command
        .status()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}", shown(command));
    }
    Ok(())
}

/// Runs the command with its output passed through, and returns what it wrote to stdout, too.
///
/// # Errors
/// If it cannot be started or does not succeed.
pub fn run_and_read(command: &mut Command) -> Result<String> {
    println!("$ {}", shown(command));
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("cannot start `{}`", shown(command)))?;
    let out = child.stdout.take().context("BUG: stdout is a pipe")?;
    let mut text = String::new();
    for line in BufReader::new(out).lines() {
        let line = line.with_context(|| format!("`{}` wrote no UTF-8", shown(command)))?;
        println!("{line}");
        text.push_str(&line);
        text.push('\n');
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`{}` failed: {status}", shown(command));
    }
    Ok(text)
}

/// Runs the command quietly and returns what it wrote to stdout.
///
/// # Errors
/// If it cannot be started, does not succeed (with its stderr in the message) or writes no UTF-8.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !output.status.success() {
        bail!(
            "`{}` failed: {}\n{}",
            shown(command),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` wrote something that is not UTF-8", shown(command)))
}

/// Returns the command as one would type it, paths inside the workspace shortened.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program());
    std::iter::once(program)
        .chain(command.get_args())
        .map(quoted)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns one word of a command line, quoted where a shell would need it.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let root = root();
    let word = match root.to_str() {
        Some(root) => word.replace(&format!("{root}/"), ""),
        None => word.into_owned(),
    };
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,@~+*".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word
    } else {
        format!("\"{}\"", word.replace('"', "\\\""))
    }
}
