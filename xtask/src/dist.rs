//! `cargo xtask dist`: what a release consists of, made and then tried where nothing of this workspace can be found.
//!
//! The program and the Python module come out of one optimised build against the symbols of an old glibc, for which zig
//! is the C compiler and the linker. The tests make the same packages of the programs that they have built anyway.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::built::{Built, host};
use crate::python::{self, WHEEL};
use crate::{process, wheel, workspace};

/// Makes the packages of a release in `target/dist` and tries them.
///
/// # Errors
/// If one cannot be made, or does not work by itself.
pub fn command() -> Result<()> {
    WHEEL.prepare()?;
    let built = Built::optimized(&["icefield-cli", "icefield-python"])?;
    let out = workspace::scratch("dist")?;
    let wheel = wheel::pack(&built.module, &out, wheel::SMALLEST)?;
    try_wheel(&wheel)?;
    packages(&built, &out, &["--level", wheel::SMALLEST])?;
    process::run(python::script("checksums.py")?.arg(&out))?;
    println!("\nThe packages are in {}:", out.display());
    for entry in fs::read_dir(&out)? {
        let entry = entry?;
        let size = entry.metadata()?.len();
        println!("{size:>11} bytes  {}", entry.file_name().to_string_lossy());
    }
    Ok(())
}

/// Makes archive and source distribution of the programs of the tests, and tries them. The wheel has stages of its own.
///
/// # Errors
/// As [`command`].
pub fn rehearse() -> Result<()> {
    let built = Built {
        program: workspace::programs()?.icefield,
        module: workspace::native_module()?,
        target: host()?,
    };
    let out = workspace::scratch("dist-rehearsal")?;
    packages(&built, &out, &["--level", "1"])
}

fn packages(built: &Built, out: &Path, archive: &[&str]) -> Result<()> {
    let mut python = python::script("archive.py")?;
    python.arg("--program").arg(&built.program);
    python.args(["--version", wheel::version()?]);
    python.args(["--target", &built.target]).args(archive);
    process::run(python.arg("--out").arg(out))?;
    let name = format!("icefield-{}", wheel::version()?);
    try_archive(&out.join(format!("{name}-{}.tar.gz", built.target)))?;
    let mut maturin = Command::new(WHEEL.directory()?.join("bin/maturin"));
    maturin.current_dir(workspace::root());
    maturin.args(["sdist", "--manifest-path", "crates/python/Cargo.toml"]);
    process::run(maturin.arg("--out").arg(out))?;
    try_source(&out.join(format!("{name}.tar.gz")))
}

/// A directory to be a stranger in: an empty home, and of the environment only where the programs of the system are.
#[derive(Debug)]
struct Elsewhere(PathBuf);

impl Elsewhere {
    fn new(name: &str) -> Result<Self> {
        let directory = workspace::scratch(&format!("dist-tried/{name}"))?;
        fs::create_dir(directory.join("home"))?;
        Ok(Self(directory))
    }

    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.0).env_clear();
        command
            .env("HOME", self.0.join("home"))
            .env("PATH", "/usr/bin:/bin");
        command
    }

    /// Runs a command and returns what it printed.
    fn said(&self, program: &[&OsStr], args: &[&str]) -> Result<String> {
        let (program, first) = program.split_first().context("BUG: there is a program")?;
        process::output(self.command(program).args(first).args(args))
    }

    /// Makes a repository with one import in it, and looks at it.
    fn tour(&self, program: &[&OsStr]) -> Result<()> {
        let version = self.said(program, &["--version"])?;
        let expected = format!("icefield {}\n", wheel::version()?);
        ensure!(version == expected, "--version says {version:?}");
        let sea = workspace::root().join("fixtures/nemo/nemo-2015-01.zarr");
        let sea = sea.to_str().context("the workspace has a name in UTF-8")?;
        self.said(program, &["init", "sea"])?;
        self.said(program, &["import", sea, "sea", "-m", "January"])?;
        let log = self.said(program, &["log", "sea"])?;
        ensure!(log.contains("January"), "the log has no import: {log}");
        let missing = self
            .command(program[0])
            .args(&program[1..])
            .args(["log", "no"])
            .output()?;
        let code = missing.status.code();
        ensure!(
            code == Some(4),
            "no repository is exit code {code:?}, not 4"
        );
        fs::remove_dir_all(self.0.join("sea"))?;
        Ok(())
    }
}

/// Unpacks the archive and uses the program.
fn try_archive(archive: &Path) -> Result<()> {
    let elsewhere = Elsewhere::new("archive")?;
    let mut unpack = elsewhere.command(WHEEL.python()?);
    unpack.args(["-m", "tarfile", "--extract"]).arg(archive);
    process::run(&mut unpack)?;
    let name = archive.file_name().and_then(OsStr::to_str);
    let name = name.and_then(|name| name.strip_suffix(".tar.gz"));
    let unpacked = elsewhere.0.join(name.context("an archive has a name")?);
    let program = unpacked.join("icefield");
    elsewhere.tour(&[program.as_os_str()])?;
    for file in [
        "README.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "completions/_icefield",
        "man/man1/icefield-import.1",
    ] {
        ensure!(unpacked.join(file).is_file(), "the archive has no {file}");
    }
    let script = elsewhere.said(&[program.as_os_str()], &["completions", "bash"])?;
    let packed = fs::read_to_string(unpacked.join("completions/icefield.bash"))?;
    ensure!(
        script == packed,
        "the completions are not those of the program"
    );
    println!("{} works by itself", archive.display());
    Ok(())
}

/// Installs the wheel alone into a fresh environment and uses its command.
fn try_wheel(wheel: &Path) -> Result<()> {
    let elsewhere = Elsewhere::new("wheel")?;
    let mut venv = elsewhere.command(WHEEL.python()?);
    process::run(venv.args(["-m", "venv", "environment"]))?;
    let bin = elsewhere.0.join("environment/bin");
    let mut pip = elsewhere.command(bin.join("python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    // The command needs nothing else; the suites run the package beside zarr.
    process::run(pip.args(["--no-index", "--no-deps"]).arg(wheel))?;
    let (command, python) = (bin.join("icefield"), bin.join("python"));
    elsewhere.tour(&[command.as_os_str()])?;
    elsewhere.tour(&[python.as_os_str(), "-m".as_ref(), "icefield".as_ref()])?;
    println!("{} works by itself", wheel.display());
    Ok(())
}

/// Looks into the source distribution, and lets its own build back end describe it.
fn try_source(source: &Path) -> Result<()> {
    let mut contents = python::script("sdist.py")?;
    contents.arg(source).args(["--version", wheel::version()?]);
    process::run(&mut contents)?;
    let elsewhere = Elsewhere::new("source")?;
    let mut unpack = elsewhere.command(WHEEL.python()?);
    unpack.args(["-m", "tarfile", "--extract"]).arg(source);
    process::run(&mut unpack)?;
    let name = format!("icefield-{}", wheel::version()?);
    // Here cargo is needed, and no crate but those that the lock file names.
    let mut maturin = Command::new(WHEEL.directory()?.join("bin/maturin"));
    maturin.current_dir(elsewhere.0.join(&name));
    maturin.args([
        "pep517",
        "write-dist-info",
        "--metadata-directory",
        "described",
    ]);
    maturin.arg("--interpreter").arg(WHEEL.python()?);
    process::output(&mut maturin)?;
    let info = elsewhere
        .0
        .join(&name)
        .join("described")
        .join(format!("{name}.dist-info"));
    let metadata = fs::read_to_string(info.join("METADATA"))?;
    for line in [
        "Name: icefield",
        "Requires-Python: >=3.11",
        "Requires-Dist: zarr>=3.1.3",
    ] {
        if !metadata.lines().any(|it| it == line) {
            bail!("the metadata of the source distribution does not say `{line}`:\n{metadata}");
        }
    }
    let scripts = fs::read_to_string(info.join("entry_points.txt"))?;
    ensure!(
        scripts.contains("icefield=icefield._command:main"),
        "no command: {scripts}"
    );
    println!("{} can be described", source.display());
    Ok(())
}
