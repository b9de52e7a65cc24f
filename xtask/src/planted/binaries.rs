//! The test programs that cargo builds, by package and target.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use super::claim::Claim;
use super::trial::{self, Trial};
use crate::{process, workspace};

/// The variable that names a fault.
const VARIABLE: &str = "ICEFIELD_PLANTED_BUG";

/// Test programs, by the names of package and target.
pub struct Binaries {
    programs: BTreeMap<(String, String), Program>,
    logs: PathBuf,
}

/// A test program, and the folder of its package, where cargo runs it.
struct Program {
    path: PathBuf,
    folder: PathBuf,
}

impl Binaries {
    /// Builds the tests of a selection of packages.
    ///
    /// # Errors
    /// If the build fails.
    pub fn build(selection: &[&str]) -> Result<Self> {
        let mut cargo = process::cargo();
        cargo.arg("test").args(selection);
        cargo.args(["--no-run", "--tests", "--message-format"]);
        cargo
            .arg("json-render-diagnostics")
            .stderr(Stdio::inherit());
        let messages = process::output(&mut cargo)?;
        let names = names()?;
        let programs = messages.lines().filter_map(|line| {
            let message: Value = serde_json::from_str(line).ok()?;
            let (manifest, target, path) = artifact(&message)?;
            let program = Program {
                path,
                folder: manifest.parent()?.to_owned(),
            };
            Some(((names.get(&manifest)?.clone(), target), program))
        });
        Ok(Self {
            programs: programs.collect(),
            logs: workspace::scratch("planted")?,
        })
    }

    /// Runs the test of a claim with a fault, or without any.
    ///
    /// # Errors
    /// If there is no such test program, or it cannot be started.
    pub fn run(&self, claim: &Claim, bug: Option<&str>) -> Result<Trial> {
        let key = (claim.package.clone(), claim.target.clone());
        let program = self
            .programs
            .get(&key)
            .with_context(|| format!("{} has no tests called {}", claim.package, claim.target))?;
        let mut test = Command::new(&program.path);
        test.current_dir(&program.folder);
        test.env("CARGO_MANIFEST_DIR", &program.folder);
        test.arg(&claim.filter);
        match bug {
            Some(bug) => test.env(VARIABLE, bug),
            None => test.env_remove(VARIABLE),
        };
        let sound = format!("sound-{}", claim.bug);
        trial::run(&mut test, &self.logs.join(bug.unwrap_or(&sound)))
    }
}

/// The manifest, the name of the target and the program of a message about tests that were built.
fn artifact(message: &Value) -> Option<(PathBuf, String, PathBuf)> {
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let path = message["executable"].as_str().filter(|_| is_test)?;
    let target = &message["target"];
    let is_unit = |kind: &Value| kind == "lib" || kind == "rlib" || kind == "cdylib";
    let name = match target["kind"].as_array()?.iter().any(is_unit) {
        true => "lib",
        false => target["name"].as_str()?,
    };
    let manifest = Path::new(message["manifest_path"].as_str()?);
    Some((manifest.to_owned(), name.to_owned(), path.into()))
}

/// The names of the packages, by their manifests.
fn names() -> Result<BTreeMap<PathBuf, String>> {
    let names = workspace::packages()?.iter().map(|package| {
        let manifest = package["manifest_path"].as_str();
        let name = package["name"].as_str();
        let (manifest, name) = manifest.zip(name).context("a package has no name")?;
        Ok((PathBuf::from(manifest), name.to_owned()))
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(kind: &str, test: bool) -> Value {
        json!({
            "reason": "compiler-artifact",
            "manifest_path": "/w/crates/core/Cargo.toml",
            "target": {"kind": [kind], "name": "it"},
            "profile": {"test": test},
            "executable": "/w/target/debug/deps/it-1",
        })
    }

    #[test]
    fn unit_tests_and_other_tests_are_told_apart() {
        let name = |kind| artifact(&message(kind, true)).map(|(_, name, _)| name);
        assert_eq!(name("lib").as_deref(), Some("lib"));
        assert_eq!(name("test").as_deref(), Some("it"));
        assert!(artifact(&message("bin", false)).is_none());
        assert!(artifact(&json!({"reason": "build-finished"})).is_none());
    }
}
