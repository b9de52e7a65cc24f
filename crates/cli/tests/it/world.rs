//! A directory to run the program in, and trees to feed it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_icefield");

/// The result of a run of the program.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A directory with repositories and Zarr trees in it.
pub(crate) struct World(TempDir);

impl World {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    /// A world with the repository `r`: two commits on main (`one`, `two`), the first tagged `v1`.
    pub(crate) fn with_history() -> Self {
        Self::with_history_in("1")
    }

    /// The same in a spec version.
    pub(crate) fn with_history_in(spec: &str) -> Self {
        let world = Self::new();
        world.tree("one", 4, 1);
        world.tree("two", 2, 2);
        world.ok(&["init", "r", "--spec", spec]);
        world.ok(&["import", "one", "r", "-m", "one"]);
        world.ok(&["tag", "create", "r", "v1"]);
        world.ok(&["import", "two", "r", "--append", "t", "-m", "two"]);
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(args)
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .env_remove("ICEFIELD_LOG")
            // No keys of the user, and no request to the machine for any.
            .env("AWS_CONFIG_FILE", self.path("no config"))
            .env("AWS_SHARED_CREDENTIALS_FILE", self.path("no keys"))
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env_remove("NO_COLOR");
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Run {
        Run::of(self.command(args).output().unwrap())
    }

    /// Runs a command that must succeed, and returns what it printed.
    pub(crate) fn ok<S: AsRef<OsStr> + std::fmt::Debug>(&self, args: &[S]) -> String {
        let run = self.run(args);
        assert_eq!(run.code, 0, "{args:?}: {run:?}");
        assert_eq!(run.stderr, "", "{args:?}");
        run.stdout
    }

    /// Runs a command with `--json` that must succeed, and returns its facts.
    pub(crate) fn facts(&self, args: &[&str]) -> Value {
        facts(&self.ok(&[args, &["--json"]].concat()))
    }

    /// Runs a command that must fail with this code, print nothing else, and say so in one or two lines.
    pub(crate) fn fails<S: AsRef<OsStr> + std::fmt::Debug>(&self, code: i32, args: &[S]) -> String {
        let run = self.run(args);
        assert_eq!(run.code, code, "{args:?}: {run:?}");
        let lines: Vec<&str> = run.stderr.lines().collect();
        assert!(
            lines
                .first()
                .is_some_and(|line| line.starts_with("error: ")),
            "{run:?}"
        );
        if code != 2 {
            assert!(lines.len() <= 2, "{args:?}: {run:?}");
            assert!(
                lines.get(1).is_none_or(|line| line.starts_with("hint: ")),
                "{run:?}"
            );
        }
        run.stderr
    }

    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Copies all files of a folder into one of this world.
    pub(crate) fn copy(&self, from: &Path, to: &str) {
        for (name, bytes) in files(from) {
            self.file(&format!("{to}/{name}"), bytes);
        }
    }

    pub(crate) fn json(&self, name: &str, value: &Value) {
        self.file(name, serde_json::to_vec_pretty(value).unwrap());
    }

    /// A tree with an array `x` of so many steps along `t`, and one without.
    pub(crate) fn tree(&self, name: &str, steps: u64, value: u8) {
        self.json(
            &format!("{name}/zarr.json"),
            &group(json!({"title": "a tree"})),
        );
        self.json(
            &format!("{name}/x/zarr.json"),
            &array(&[steps, 3], &[2, 3], &["t", "y"]),
        );
        self.json(
            &format!("{name}/below/y/zarr.json"),
            &array(&[3], &[3], &["y"]),
        );
        self.file(&format!("{name}/below/y/c/0"), [1, 2, 3]);
        for chunk in 0..steps.div_ceil(2) {
            self.file(&format!("{name}/x/c/{chunk}/0"), vec![value; 700]);
        }
    }

    /// All files below a directory with their bytes.
    pub(crate) fn files(&self, root: &str) -> BTreeMap<String, Vec<u8>> {
        files(&self.path(root))
    }

    /// The objects of a repository on a disk, without what the disk needs beside them.
    pub(crate) fn objects(&self, root: &str) -> BTreeMap<String, Vec<u8>> {
        let mut found = self.files(root);
        found.retain(|name, _| !name.starts_with(".icefield-local/"));
        found
    }

    /// The ids of main's history, newest first.
    pub(crate) fn history(&self, repository: &str) -> Vec<String> {
        let log = self.facts(&["log", repository]);
        let snapshots = log["snapshots"].as_array().unwrap();
        snapshots
            .iter()
            .map(|it| it["id"].as_str().unwrap().to_owned())
            .collect()
    }
}

pub(crate) fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => pending.push(path),
                false => {
                    let name = path
                        .strip_prefix(root)
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .to_owned();
                    found.insert(name, fs::read(&path).unwrap());
                }
            }
        }
    }
    found
}

/// Parses a JSON document of the program, and checks its version.
pub(crate) fn facts(stdout: &str) -> Value {
    let facts: Value = serde_json::from_str(stdout).unwrap();
    assert_eq!(facts["schema_version"], 1, "{stdout}");
    facts
}

pub(crate) fn group(attributes: Value) -> Value {
    json!({"zarr_format": 3, "node_type": "group", "attributes": attributes})
}

pub(crate) fn array(shape: &[u64], chunks: &[u64], names: &[&str]) -> Value {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0, "codecs": [{"name": "bytes"}], "dimension_names": names,
    })
}
