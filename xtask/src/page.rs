//! Pages whose commands are run: everything in the `console` blocks of a page, in order, in one directory.
//!
//! A line that starts with `$ ` is a command for `sh`. It must exit with 0, or with N if it ends in the
//! comment `# exit N`. The lines below it are what it prints: each must occur in its output, in that
//! order, white space squeezed, and `…` stands for anything; one snapshot id is as good as another, and so is one time
//! at which a snapshot was written. Output that the page leaves out is free.
//!
//! A block of `sh` or `python` whose first line (behind `#!`) is `# NAME: …`, with a name that ends in `.sh` or `.py`, is a
//! program: it is saved under that name, for the commands below it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// The steps of a page, in order.
#[derive(Debug)]
pub struct Page {
    name: String,
    steps: Vec<Step>,
}

/// A part of a page, below a heading of the second level.
#[derive(Debug)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// The steps that are done there.
    pub page: Page,
}

/// The programs and variables that commands find beside the machine's own.
#[derive(Debug)]
pub struct Surroundings {
    /// Directories of programs, searched first.
    pub path: Vec<PathBuf>,
    /// Variables that are set, or taken away.
    pub variables: Vec<(&'static str, Option<OsString>)>,
}

#[derive(Debug, PartialEq, Eq)]
struct Step {
    line: usize,
    /// The last heading of the second level before it.
    section: String,
    action: Action,
}

#[derive(Debug, PartialEq, Eq)]
enum Action {
    Run {
        command: String,
        exit: i32,
        prints: Vec<String>,
    },
    Save {
        name: String,
        text: String,
    },
}

impl Surroundings {
    /// Returns those in which there is the program `icefield`.
    ///
    /// # Errors
    /// If it was not built.
    pub fn with_program() -> Result<Self> {
        let program = workspace::programs()?.icefield;
        let path = program.parent().unwrap_or(&program).to_owned();
        Ok(Self {
            path: vec![path],
            variables: vec![("NO_COLOR", Some("1".into()))],
        })
    }
}

impl Page {
    /// Reads a page of the repository.
    ///
    /// # Errors
    /// If it cannot be read, or has no command.
    pub fn read(name: &str) -> Result<Self> {
        let path = workspace::root().join(name);
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let page = Self {
            name: name.to_owned(),
            steps: steps(&text),
        };
        if page.commands() == 0 {
            bail!("{name} has no `console` block");
        }
        Ok(page)
    }

    /// Returns how many commands it runs.
    pub fn commands(&self) -> usize {
        let is_run = |step: &&Step| matches!(step.action, Action::Run { .. });
        self.steps.iter().filter(is_run).count()
    }

    /// Returns how many programs it saves.
    #[cfg(test)]
    pub fn programs(&self) -> usize {
        self.steps.len() - self.commands()
    }

    /// Returns the sections in which anything is done.
    pub fn sections(self) -> Vec<Section> {
        let mut sections: Vec<Section> = Vec::new();
        for step in self.steps {
            if sections.last().is_none_or(|it| it.title != step.section) {
                sections.push(Section {
                    title: step.section.clone(),
                    page: Self {
                        name: self.name.clone(),
                        steps: Vec::new(),
                    },
                });
            }
            if let Some(section) = sections.last_mut() {
                section.page.steps.push(step);
            }
        }
        sections
    }

    /// Does what the page says, in an empty directory, to which a link `fixtures` is added.
    ///
    /// # Errors
    /// If a command exits otherwise than the page says, or prints something else.
    pub fn walk(&self, directory: &Path, surroundings: &Surroundings) -> Result<()> {
        let fixtures = directory.join("fixtures");
        std::os::unix::fs::symlink(workspace::root().join("fixtures"), &fixtures)
            .with_context(|| format!("cannot link {}", fixtures.display()))?;
        for Step { line, action, .. } in &self.steps {
            let done = match action {
                Action::Save { name, text } => {
                    println!("saving {name}");
                    fs::write(directory.join(name), text)
                        .with_context(|| format!("cannot write {name}"))
                }
                Action::Run {
                    command,
                    exit,
                    prints,
                } => run(command, *exit, prints, directory, surroundings),
            };
            done.with_context(|| format!("{}:{line}", self.name))?;
        }
        Ok(())
    }
}

fn run(
    command: &str,
    exit: i32,
    prints: &[String],
    directory: &Path,
    surroundings: &Surroundings,
) -> Result<()> {
    println!("$ {command}");
    let mut path = surroundings.path.clone();
    path.extend(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    ));
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(directory);
    shell.env("PATH", std::env::join_paths(path)?);
    for (name, value) in &surroundings.variables {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let output = shell.output().context("cannot start sh")?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    print!("{stdout}{stderr}");
    if output.status.code() != Some(exit) {
        bail!("`{command}` ended with {}, not with {exit}", output.status);
    }
    let printed: Vec<&str> = stdout.lines().chain(stderr.lines()).collect();
    let mut rest = printed.iter();
    for wanted in prints {
        if !rest.any(|line| matches(wanted, line)) {
            bail!("`{command}` did not print `{wanted}`");
        }
    }
    Ok(())
}

/// Returns the commands of the `console` blocks with what they print, and the programs of other blocks.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut section = String::new();
    let mut lines = page.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        if let Some(title) = line.strip_prefix("## ") {
            title.clone_into(&mut section);
        }
        let Some(language) = line.trim_start().strip_prefix("```") else {
            continue;
        };
        let block = lines
            .by_ref()
            .take_while(|(_, line)| line.trim_start() != "```");
        let block: Vec<(usize, &str)> = block.collect();
        let actions = match language {
            "console" => commands(&block),
            "sh" | "python" => program(&block)
                .map(|it| (index + 2, it))
                .into_iter()
                .collect(),
            _ => Vec::new(),
        };
        steps.extend(actions.into_iter().map(|(line, action)| Step {
            line,
            section: section.clone(),
            action,
        }));
    }
    steps
}

/// Returns the commands of a block, each with its line.
fn commands(block: &[(usize, &str)]) -> Vec<(usize, Action)> {
    let mut found: Vec<(usize, String, Vec<String>)> = Vec::new();
    let mut continued = false;
    for (index, line) in block {
        if let Some((_, command, _)) = found.last_mut().filter(|_| continued) {
            continued = add(command, line.trim_start());
        } else if let Some(first) = line.strip_prefix("$ ") {
            let mut command = String::new();
            continued = add(&mut command, first);
            found.push((index + 1, command, Vec::new()));
        } else if !["", "…"].contains(&line.trim())
            && let Some((_, _, prints)) = found.last_mut()
        {
            prints.push((*line).to_owned());
        }
    }
    let actions = found.into_iter().map(|(line, command, prints)| {
        let comment = command.rsplit_once("# exit ");
        let exit = comment
            .and_then(|(_, n)| n.trim().parse().ok())
            .unwrap_or_default();
        let action = Action::Run {
            command,
            exit,
            prints,
        };
        (line, action)
    });
    actions.collect()
}

/// Adds one line to a command and says whether the next one belongs to it, too.
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

/// Returns the program of a block that says its name.
fn program(block: &[(usize, &str)]) -> Option<Action> {
    let mut first = block.iter().skip_while(|(_, line)| line.starts_with("#!"));
    let (name, _) = first.next()?.1.strip_prefix("# ")?.split_once(':')?;
    let name = name.split(' ').next()?;
    if !name.ends_with(".sh") && !name.ends_with(".py") || name.contains('/') {
        return None;
    }
    let text = block.iter().map(|(_, line)| format!("{line}\n")).collect();
    Some(Action::Save {
        name: name.to_owned(),
        text,
    })
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

/// Returns the words of a line with single blanks between them, those equal that are different in each run.
fn squeezed(line: &str) -> String {
    let words = line.split_whitespace().map(|word| match word {
        word if is_snapshot_id(word) => "SNAPSHOT",
        word if is_time_of_writing(word) => "TIME",
        word => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// 20 digits of Crockford's base 32.
fn is_snapshot_id(word: &str) -> bool {
    let is_digit =
        |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase() && !b"ILOU".contains(&byte);
    word.len() == 20 && word.bytes().all(is_digit)
}

/// To the microsecond, as in `2026-01-31T12:00:00.000000Z`: times of the data are not written like that.
fn is_time_of_writing(word: &str) -> bool {
    let form = "0000-00-00T00:00:00.000000Z".bytes();
    let is_like = |(form, byte): (u8, u8)| match form {
        b'0' => byte.is_ascii_digit(),
        form => byte == form,
    };
    word.len() == form.len() && form.zip(word.bytes()).all(is_like)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &str, exit: i32, prints: &[&str]) -> Action {
        Action::Run {
            command: command.to_owned(),
            exit,
            prints: prints.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn commands_and_what_they_print_are_found_in_console_blocks_only() {
        let page = "text\n```sh\n$ not this\n```\n```console\n$ one \\\n    two\nout\n\
                    $ bad # exit 3\n```\n$ nor this\n";
        let found = steps(page);
        let lines: Vec<usize> = found.iter().map(|step| step.line).collect();
        assert_eq!(lines, [6, 9]);
        assert_eq!(found[0].action, run("one two", 0, &["out"]));
        assert_eq!(found[1].action, run("bad # exit 3", 3, &[]));
    }

    #[test]
    fn programs_say_their_names() {
        let page = "```sh\n#!/bin/sh\n# a.sh X: does it\nset -e\n\n## no heading\n```\n\
                    ```python\n# b.py: does it, too\nprint()\n```\n\
                    ```sh\n# a remark: of no program\n```\n```python\n# ../c.py: is elsewhere\n```\n";
        let found: Vec<Action> = steps(page).into_iter().map(|it| it.action).collect();
        let save = |name: &str, text: &str| Action::Save {
            name: name.to_owned(),
            text: text.to_owned(),
        };
        let a = save(
            "a.sh",
            "#!/bin/sh\n# a.sh X: does it\nset -e\n\n## no heading\n",
        );
        assert_eq!(found, [a, save("b.py", "# b.py: does it, too\nprint()\n")]);
    }

    #[test]
    fn a_page_is_cut_at_its_headings() {
        let text = "# Page\n## One\n```console\n$ a\n$ b\n```\n### More\n```console\n$ c\n```\n\
                    ## Only words\n## Two\n```console\n$ d\n```\n";
        let page = Page {
            name: "page".to_owned(),
            steps: steps(text),
        };
        assert_eq!(page.commands(), 4);
        let sections = page.sections().into_iter();
        let found: Vec<(String, usize)> = sections
            .map(|section| (section.title, section.page.commands()))
            .collect();
        assert_eq!(found, [("One".to_owned(), 3), ("Two".to_owned(), 1)]);
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
    fn ids_and_times_of_snapshots_may_differ() {
        let shown = "EXW5D3WN56TFJ3ZSR0B0  2026-11-25T15:59:37.457372Z  (main) January 2015";
        let printed = "TDTT0NPVGGZWCM88FGT0 2031-02-01T00:00:00.000001Z (main) January 2015";
        assert!(matches(shown, printed));
        assert!(!matches(shown, &printed.replace("(main)", "(dev)")));
        assert!(!matches(shown, &printed.replace("TDTT0NP", "tdtt0np")));
        assert!(!matches("2015-01-01T00:00:00Z", "2015-01-02T00:00:00Z"));
    }

    #[test]
    fn what_a_command_prints_and_how_it_ends_must_be_what_the_page_says() {
        let directory = std::env::temp_dir();
        let surroundings = Surroundings {
            path: Vec::new(),
            variables: vec![("SAID", Some("two".into()))],
        };
        let say = |command: &str, exit, prints: &[&str]| {
            let prints: Vec<String> = prints.iter().map(ToString::to_string).collect();
            super::run(command, exit, &prints, &directory, &surroundings)
        };
        let command = "echo one; echo $SAID; exit 3";
        say(command, 3, &["one", "two"]).expect("it is so");
        say(command, 3, &["two"]).expect("the rest is free");
        for (exit, prints) in [
            (0, ["one", "two"]),
            (3, ["two", "one"]),
            (3, ["one", "three"]),
        ] {
            say(command, exit, &prints).expect_err("it is not so");
        }
    }
}
