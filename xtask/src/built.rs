//! The optimised build of a release, against the symbols of an old glibc.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::python::{self, RELEASE};
use crate::{process, workspace};

/// The glibc whose symbols a release is built against: the oldest that Rust's own library runs with.
pub const GLIBC: &str = "2.17";

/// Returns this machine, as Rust names it.
pub fn host() -> Result<String> {
    let said = process::output(Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host
        .context("rustc does not say what it runs on")?
        .to_owned())
}

fn with_first(directory: &Path) -> Result<std::ffi::OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(directory.to_owned()).chain(std::env::split_paths(&path));
    Ok(std::env::join_paths(all)?)
}

/// The files that a build has left for the packages.
#[derive(Debug)]
pub struct Built {
    /// The command line.
    pub program: PathBuf,
    /// The module of the Python package.
    pub module: PathBuf,
    /// The machine that they are for, as Rust names it.
    pub target: String,
}

impl Built {
    /// Builds packages of the workspace as a release has them.
    ///
    /// # Errors
    /// If zig cannot be had, the build fails, or asks for a newer glibc.
    pub fn optimized(packages: &[&str]) -> Result<Self> {
        RELEASE.prepare().context(
            "a release is built with zig, for systems with an old glibc; zig comes from the Python package index, which \
             must be within reach the first time (`cargo build --release` builds for this system, without it)",
        )?;
        let tools = RELEASE.directory()?.join("bin");
        let target = host()?;
        let mut zig = process::builder(tools.join("cargo-zigbuild"));
        zig.args(["zigbuild", "--release", "--locked", "--target"]);
        zig.arg(format!("{target}.{GLIBC}"));
        for package in packages {
            zig.args(["--package", package]);
        }
        // zig is a module of the interpreter that is found first.
        zig.env("PATH", with_first(&tools)?);
        // A compiler of the caller's choice, or one behind a cache, is not zig.
        for name in ["CC", "CXX", "AR", "RUSTC_WRAPPER"] {
            zig.env_remove(name);
        }
        process::run(&mut zig)?;
        let directory = workspace::target()?.join(&target).join("release");
        let built = Self {
            program: directory.join("icefield"),
            module: directory.join("lib_native.so"),
            target,
        };
        for file in [&built.program, &built.module] {
            if file.exists() {
                let mut native = python::script("native.py")?;
                process::run(native.args(["--at-most", GLIBC]).arg(file))?;
            }
        }
        Ok(built)
    }
}
