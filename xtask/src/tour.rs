//! The README's tour, and that of windows, as tests: every command in the `console` blocks of a page runs, in order, in one
//! directory.
//!
//! A line that starts with `$ ` is a command for `sh`. It must exit with 0, or with N if it ends in the
//! comment `# exit N`. The lines below it are what it prints: each must occur in its output, in that
//! order, white space squeezed, and `…` stands for anything. Output that the page leaves out is free.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace;

#[derive(Debug, PartialEq, Eq)]
struct Step {
    line: usize,
    command: String,
    exit: i32,
    prints: Vec<String>,
}

/// The pages whose commands are run, each in a directory of its own.
const PAGES: [&str; 2] = ["README.md", "docs/windows.md"];

/// Runs the tours of all pages.
///
/// # Errors
/// If a command exits otherwise than its page says, or prints something else.
pub fn run() -> Result<()> {
    for (number, page) in PAGES.iter().enumerate() {
        let directory = workspace::scratch(&format!("tour/{number}"))?;
        tour(page, &directory)?;
    }
    Ok(())
}

fn tour(page: &str, directory: &Path) -> Result<()> {
    let path = workspace::root().join(page);
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let steps = steps(&text);
    if steps.is_empty() {
        bail!("{page} has no `console` block");
    }
    let fixtures = directory.join("fixtures");
    std::os::unix::fs::symlink(workspace::root().join("fixtures"), &fixtures)
        .with_context(|| format!("cannot link {}", fixtures.display()))?;
    for step in &steps {
        walk(page, step, directory)?;
    }
    println!("{} commands of {page} did what it says", steps.len());
    Ok(())
}

fn walk(page: &str, step: &Step, directory: &Path) -> Result<()> {
    println!("$ {}", step.command);
    let programs = workspace::programs()?.icefield;
    let mut path = vec![programs.parent().unwrap_or(&programs).to_owned()];
    path.extend(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    ));
    let output = Command::new("sh")
        .args(["-c", &step.command])
        .current_dir(directory)
        .env("PATH", std::env::join_paths(path)?)
        .env("NO_COLOR", "1")
        .output()
        .context("cannot start sh")?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    print!("{stdout}{stderr}");
    if output.status.code() != Some(step.exit) {
        bail!(
            "{page}:{}: `{}` ended with {}, not with {}",
            step.line,
            step.command,
            output.status,
            step.exit
        );
    }
    let printed: Vec<&str> = stdout.lines().chain(stderr.lines()).collect();
    let mut rest = printed.iter();
    for wanted in &step.prints {
        if !rest.any(|line| matches(wanted, line)) {
            bail!(
                "{page}:{}: `{}` did not print `{wanted}`",
                step.line,
                step.command
            );
        }
    }
    Ok(())
}

/// Returns the commands of the `console` blocks with what they print.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    let mut continued = false;
    for (index, line) in page.lines().enumerate() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            inside = !inside && language == "console";
            continued = false;
        } else if !inside {
            continue;
        } else if continued {
            if let Some(step) = steps.last_mut() {
                continued = add(&mut step.command, line.trim_start());
            }
        } else if let Some(command) = line.strip_prefix("$ ") {
            let mut step = Step {
                line: index + 1,
                command: String::new(),
                exit: 0,
                prints: Vec::new(),
            };
            continued = add(&mut step.command, command);
            steps.push(step);
        } else if !["", "…"].contains(&line.trim())
            && let Some(step) = steps.last_mut()
        {
            step.prints.push(line.to_owned());
        }
    }
    for step in &mut steps {
        let comment = step.command.rsplit_once("# exit ");
        step.exit = comment
            .and_then(|(_, n)| n.trim().parse().ok())
            .unwrap_or(0);
    }
    steps
}

/// Adds one line to a command. Returns whether the next line belongs to it as well.
fn add(command: &mut String, line: &str) -> bool {
    match line.strip_suffix('\\') {
        Some(line) => {
            command.push_str(line);
            true
        }
        None => {
            command.push_str(line);
            false
        }
    }
}

/// Says whether a printed line is the one that the page shows.
fn matches(wanted: &str, printed: &str) -> bool {
    let wanted = squeezed(wanted);
    let printed = squeezed(printed);
    let mut pieces = wanted.split('…').map(str::trim);
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = printed.strip_prefix(first) else {
        return false;
    };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, middle)) = pieces.split_last() else {
        return rest.is_empty();
    };
    for piece in middle {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_what_they_print_are_found_in_console_blocks_only() {
        let readme = "text\n```sh\n$ not this\n```\n```console\n$ one \\\n    two\nout\n\
                      $ bad # exit 3\n```\n$ nor this\n";
        let found = steps(readme);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].command, "one two");
        assert_eq!((found[0].line, found[0].exit), (6, 0));
        assert_eq!(found[0].prints, ["out"]);
        assert_eq!(found[1].exit, 3);
    }

    #[test]
    fn an_ellipsis_stands_for_anything() {
        assert!(matches("a  b", "a b"));
        assert!(matches(
            "main  …  January 2015",
            "main   0ABC   January 2015"
        ));
        assert!(matches("… done", "all is done"));
        assert!(matches("a … c … e", "a b c d e"));
        assert!(!matches("a … c", "a b"));
        assert!(!matches("a", "a b"));
    }

    #[test]
    fn every_page_has_a_tour() {
        for page in PAGES {
            let text = fs::read_to_string(workspace::root().join(page)).unwrap();
            assert!(!steps(&text).is_empty(), "{page}");
        }
    }
}
