//! Where things are: the workspace, its target directory, its packages and its programs.

use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process;

pub use crate::root::root;

/// The crates and features that every build for tests, demo and interop selects. One selection means one feature set, so that
/// nothing is compiled twice: `cargo test` and [`build_programs`] share all that lies below them.
pub const SELECTION: &[&str] = &["--workspace", "--all-features"];

/// Returns the target directory that cargo uses, wherever it was told to have it.
///
/// # Errors
/// If `cargo metadata` fails.
pub fn target() -> Result<PathBuf> {
    let directory = metadata()?["target_directory"]
        .as_str()
        .context("`cargo metadata` names no target directory")?;
    Ok(PathBuf::from(directory))
}

/// Returns what `cargo metadata` says about the members of the workspace.
///
/// # Errors
/// If `cargo metadata` fails.
pub fn metadata() -> Result<&'static Value> {
    static METADATA: OnceLock<Value> = OnceLock::new();
    if let Some(metadata) = METADATA.get() {
        return Ok(metadata);
    }
    let args = ["metadata", "--format-version", "1", "--no-deps"];
    let text = process::output(process::cargo().args(args))?;
    let parsed = serde_json::from_str(&text).context("`cargo metadata` printed no JSON")?;
    Ok(METADATA.get_or_init(|| parsed))
}

/// Returns the packages of the workspace as `cargo metadata` describes them.
///
/// # Errors
/// If `cargo metadata` fails.
pub fn packages() -> Result<&'static [Value]> {
    metadata()?["packages"]
        .as_array()
        .map(Vec::as_slice)
        .context("`cargo metadata` lists no packages")
}

/// Says whether a package may be published.
pub fn published(package: &Value) -> bool {
    package["publish"]
        .as_array()
        .is_none_or(|to| !to.is_empty())
}

/// The programs that demo, tour, interop tests and those of archives run.
#[derive(Debug, Clone)]
pub struct Programs {
    /// The command line, `icefield`.
    pub icefield: PathBuf,
    /// `icefield-probe`, which reads and writes repositories for the tests.
    pub probe: PathBuf,
    /// `icefield-test-s3`, an S3 server.
    pub test_s3: PathBuf,
    /// The example `hdf5_dump` of the ingest crate.
    pub hdf5_dump: PathBuf,
    /// The example `dump_archive` of the ingest crate.
    pub dump_archive: PathBuf,
}

/// Builds every program, example and library of the workspace. Examples among them, the features of all that lies below
/// are those of `cargo test`; the libraries, for the sake of the one that Python loads and that no test needs.
///
/// # Errors
/// If the build fails.
pub fn build_programs() -> Result<()> {
    let mut cargo = process::cargo();
    cargo.arg("build").args(SELECTION);
    process::run(cargo.args(["--exclude", "xtask", "--lib", "--bins", "--examples"]))
}

/// Returns where [`build_programs`] puts the programs.
///
/// # Errors
/// If one is not there.
pub fn programs() -> Result<Programs> {
    let built = target()?.join("debug");
    let program = |path: &str| {
        let path = built.join(format!("{path}{}", std::env::consts::EXE_SUFFIX));
        if !path.is_file() {
            bail!("the program {} was not built", path.display());
        }
        Ok(path)
    };
    Ok(Programs {
        icefield: program("icefield")?,
        probe: program("icefield-probe")?,
        test_s3: program("icefield-test-s3")?,
        hdf5_dump: program("examples/hdf5_dump")?,
        dump_archive: program("examples/dump_archive")?,
    })
}

/// Returns the native module of the Python package, where [`build_programs`] puts it.
///
/// # Errors
/// If it is not there.
pub fn native_module() -> Result<PathBuf> {
    let path = target()?.join("debug").join(format!(
        "{}_native{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ));
    if !path.is_file() {
        bail!("the native module {} was not built", path.display());
    }
    Ok(path)
}

/// Returns an empty directory of that name below the target directory.
///
/// # Errors
/// If it cannot be emptied or made.
pub fn scratch(name: &str) -> Result<PathBuf> {
    let path = target()?.join(name);
    if path.exists() {
        std::fs::remove_dir_all(&path)
            .with_context(|| format!("cannot empty {}", path.display()))?;
    }
    std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
    Ok(path)
}
