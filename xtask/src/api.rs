//! `cargo xtask api`: the public API of each published library, one item a line, compared with `docs/api`.
//!
//! The lists come from the JSON of rustdoc, which only a nightly compiler writes unasked: `RUSTC_BOOTSTRAP` lets the pinned one
//! write it, and is set for rustdoc alone, because build scripts that see it would run again, and all above them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::schedule::Outcome;
use crate::{process, workspace};

/// The committed lists.
const LISTS: &str = "docs/api";

/// Compares the lists with the committed ones, and says so where that cannot be done.
///
/// # Errors
/// If they differ.
pub fn command() -> Result<()> {
    if let Outcome::Skipped(why) = check()? {
        bail!(why);
    }
    Ok(())
}

/// Compares the lists with the committed ones.
///
/// # Errors
/// If they differ: each line that is new or gone is printed, with the command that accepts it.
pub fn check() -> Result<Outcome> {
    let lister = match build_lister() {
        Ok(lister) => lister,
        Err(error) => {
            return Ok(Outcome::Skipped(format!(
                "the lister cannot be built: {error:#}"
            )));
        }
    };
    let made = list(&lister)?;
    let mut differing = Vec::new();
    for (name, text) in &made {
        let path = workspace::root().join(LISTS).join(name);
        let accepted = fs::read_to_string(&path).unwrap_or_default();
        let changes = difference(&accepted, text);
        if !changes.is_empty() {
            println!("{LISTS}/{name}:\n{}", changes.join("\n"));
            differing.push(name.as_str());
        }
    }
    for name in accepted_lists()? {
        if !made.contains_key(&name) {
            println!("{LISTS}/{name}: there is no such published library");
            differing.push("a list too many");
        }
    }
    if !differing.is_empty() {
        bail!(
            "the public API differs from {LISTS} ({}): `cargo xtask api --accept` writes it anew; commit that with the change",
            differing.join(", ")
        );
    }
    Ok(Outcome::Passed)
}

/// Writes the lists to `docs/api`.
///
/// # Errors
/// If they cannot be made or written.
pub fn accept() -> Result<()> {
    let made = list(&build_lister()?)?;
    let folder = workspace::root().join(LISTS);
    fs::create_dir_all(&folder)?;
    for name in accepted_lists()? {
        fs::remove_file(folder.join(name))?;
    }
    for (name, text) in made {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Builds the program that reads the JSON of rustdoc, and returns where it is.
fn build_lister() -> Result<PathBuf> {
    let target = workspace::target()?.join("api");
    let mut cargo = process::cargo();
    cargo.args([
        "build",
        "--locked",
        "--manifest-path",
        "xtask/api/Cargo.toml",
        "--target-dir",
    ]);
    process::run(cargo.arg(&target))?;
    Ok(target
        .join("debug")
        .join(format!("icefield-api{}", std::env::consts::EXE_SUFFIX)))
}

/// Makes the lists of all published libraries, by the names of their files. The features are those of all other builds, so that
/// nothing is compiled again but the docs.
fn list(lister: &Path) -> Result<BTreeMap<String, String>> {
    let scratch = workspace::scratch("api-lists")?;
    let mut cargo = process::cargo();
    cargo.env("RUSTDOC", rustdoc_with_json(&scratch)?);
    cargo.env("RUSTDOCFLAGS", "-Zunstable-options --output-format json");
    cargo.arg("doc").args(workspace::SELECTION);
    process::run(cargo.args(["--no-deps", "--lib"]))?;
    let mut lists = BTreeMap::new();
    for library in libraries()? {
        let json = workspace::target()?
            .join("doc")
            .join(format!("{library}.json"));
        let text = scratch.join("list");
        process::run(Command::new(lister).args([&json, &text]))?;
        lists.insert(format!("{library}.txt"), fs::read_to_string(&text)?);
    }
    Ok(lists)
}

/// Writes a program that calls rustdoc with unstable options allowed, and returns its path.
fn rustdoc_with_json(folder: &Path) -> Result<PathBuf> {
    let path = folder.join("rustdoc");
    fs::write(&path, "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n")?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(path)
}

/// Returns the names of all published libraries, as code spells them.
fn libraries() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for package in workspace::packages()?
        .iter()
        .filter(|it| workspace::published(it))
    {
        let targets = package["targets"]
            .as_array()
            .context("a package has no targets")?;
        let library = targets.iter().find(|target| target["kind"][0] == "lib");
        if let Some(library) = library {
            let name = library["name"].as_str().context("a library has no name")?;
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// Returns the names of the committed lists.
fn accepted_lists() -> Result<Vec<String>> {
    let Ok(folder) = fs::read_dir(workspace::root().join(LISTS)) else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for entry in folder {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_some_and(|it| it == "txt") {
            names.push(name);
        }
    }
    Ok(names)
}

/// Returns the lines that are gone, after a minus, and those that are new, after a plus, in the order of the alphabet.
fn difference(old: &str, new: &str) -> Vec<String> {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for line in old.lines() {
        *counts.entry(line).or_default() -= 1;
    }
    for line in new.lines() {
        *counts.entry(line).or_default() += 1;
    }
    let changed = counts.into_iter().filter(|(_, count)| *count != 0);
    changed
        .map(|(line, count)| format!("{} {line}", if count < 0 { '-' } else { '+' }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_went_and_came_are_told_and_their_order_is_not() {
        let old = "pub fn a()\npub fn b(u32)\npub fn c()\n";
        assert_eq!(
            difference(old, "pub fn c()\npub fn a()\npub fn b(u32)\n"),
            [""; 0]
        );
        assert_eq!(
            difference(old, "pub fn a()\npub fn b(u64)\npub fn c()\n"),
            ["- pub fn b(u32)", "+ pub fn b(u64)"]
        );
        assert_eq!(difference("", "pub mod x\n"), ["+ pub mod x"]);
    }

    #[test]
    fn every_published_library_has_a_list() {
        let mut lists = accepted_lists().unwrap();
        let mut expected: Vec<_> = (libraries().unwrap().iter())
            .map(|name| format!("{name}.txt"))
            .collect();
        lists.sort();
        expected.sort();
        assert_eq!(lists, expected);
    }
}
