//! Python environments for the tests: interpreters found, environments made under the target directory, made only once.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{process, workspace};

/// One environment: an interpreter version and the file that pins what is installed in it.
#[derive(Debug, Clone, Copy)]
pub struct Environment {
    /// The directory below `target/python`, and the name of the test stages.
    pub name: &'static str,
    /// The interpreter it needs, as `major.minor`.
    pub version: &'static str,
    /// The list of packages that are installed, relative to the root.
    pub requirements: &'static str,
    /// Whether a machine without that interpreter fails the tests, or skips by name what needs it.
    pub required: bool,
}

/// The reference implementation's 1.x line, and its 2.x line, which knows both versions of the format.
pub const ENVIRONMENTS: [Environment; 2] = [
    Environment {
        name: "311",
        version: "3.11",
        requirements: "interop/requirements-311.txt",
        required: true,
    },
    Environment {
        name: "312",
        version: "3.12",
        requirements: "interop/requirements-312.txt",
        required: false,
    },
];

/// The packages that write and read archive files: the libraries of HDF5, NetCDF, kerchunk and VirtualiZarr, and the reference
/// implementation to read what was imported of them.
pub const ARCHIVES: Environment = Environment {
    name: "archives",
    version: "3.11",
    requirements: "interop/requirements-archives.txt",
    required: true,
};

/// The packages that make and judge wheels.
pub const WHEEL: Environment = Environment {
    name: "wheel",
    version: "3.11",
    requirements: "crates/python/requirements-wheel.txt",
    required: true,
};

/// The packages that build a release: zig, and the one that hands it to cargo.
pub const RELEASE: Environment = Environment {
    name: "release",
    version: "3.11",
    requirements: "crates/python/requirements-release.txt",
    required: true,
};

/// The programs that check spelling, dependencies and licences.
pub const CHECKS: Environment = Environment {
    name: "checks",
    version: "3.11",
    requirements: "xtask/requirements-checks.txt",
    required: false,
};

/// Where the wheel is installed and tested: the oldest Python it is for, and the one that today's zarr is for.
pub const PACKAGE: [Environment; 2] = [
    Environment {
        name: "package-311",
        version: "3.11",
        requirements: "crates/python/requirements-311.txt",
        required: true,
    },
    Environment {
        name: "package-312",
        version: "3.12",
        requirements: "crates/python/requirements-312.txt",
        required: false,
    },
];

impl Environment {
    /// Returns the environment's own interpreter.
    ///
    /// # Errors
    /// If cargo does not tell where the target directory is.
    pub fn python(&self) -> Result<PathBuf> {
        Ok(self.directory()?.join("bin/python"))
    }

    /// Returns where the environment is.
    ///
    /// # Errors
    /// If cargo does not tell where the target directory is.
    pub fn directory(&self) -> Result<PathBuf> {
        Ok(workspace::target()?.join("python").join(self.name))
    }

    /// Makes the environment unless it is there with the same interpreter and requirements. Returns
    /// `None` if it is not required and the machine has no such interpreter.
    ///
    /// # Errors
    /// If a required interpreter is missing, or installing fails.
    pub fn prepare(&self) -> Result<Option<PathBuf>> {
        let Some(interpreter) = find_interpreter(self.version) else {
            if self.required {
                bail!(
                    "no Python {} found; install it (with its `venv` module), or set {} to it",
                    self.version,
                    variable(self.version)
                );
            }
            return Ok(None);
        };
        let requirements = workspace::root().join(self.requirements);
        let wanted = std::fs::read_to_string(&requirements)
            .with_context(|| format!("cannot read {}", requirements.display()))?;
        let wanted = format!("{}\n{wanted}", interpreter.display());
        let directory = self.directory()?;
        let stamp = directory.join("icefield-stamp");
        let python = self.python()?;
        if python.exists() && std::fs::read_to_string(&stamp).is_ok_and(|had| had == wanted) {
            println!("Python {} is ready: {}", self.version, directory.display());
            return Ok(Some(python));
        }
        if directory.exists() {
            std::fs::remove_dir_all(&directory)
                .with_context(|| format!("cannot remove {}", directory.display()))?;
        }
        process::run(
            Command::new(&interpreter)
                .args(["-m", "venv"])
                .arg(&directory),
        )?;
        process::run(pip_install(&python).arg("--requirement").arg(&requirements))?;
        std::fs::write(&stamp, wanted)
            .with_context(|| format!("cannot write {}", stamp.display()))?;
        Ok(Some(python))
    }
}

/// Returns the command that installs something into the environment of an interpreter. Where one hash is given, pip
/// asks for one of everything.
pub fn pip_install(python: &Path) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet"]);
    pip.args(["--disable-pip-version-check", "--no-input"]);
    pip.env_remove("PYTHONPATH").env_remove("PYTHONHOME");
    pip
}

/// Returns an interpreter of one of the versions that the tests know, if this machine has one.
pub fn any_interpreter() -> Option<PathBuf> {
    ENVIRONMENTS
        .iter()
        .find_map(|environment| find_interpreter(environment.version))
}

/// Returns the environment variable that names the interpreter of a version.
fn variable(version: &str) -> String {
    format!("ICEFIELD_PYTHON_{}", version.replace('.', ""))
}

/// Finds an interpreter of exactly that `major.minor`: named by the environment, on the `PATH`, or among
/// the versions of pyenv, whose own shims refuse versions that are installed but not selected.
fn find_interpreter(version: &str) -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(variable(version)) {
        return real_interpreter(Path::new(&named), version);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let names = [format!("python{version}"), "python3".to_owned()];
    let on_path = directories
        .iter()
        .flat_map(|directory| names.iter().map(move |name| directory.join(name)));
    on_path
        .chain(pyenv_interpreters(&directories, version))
        .find_map(|candidate| real_interpreter(&candidate, version))
}

fn pyenv_interpreters(path: &[PathBuf], version: &str) -> Vec<PathBuf> {
    let named = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv"));
    let beside_shims = path
        .iter()
        .filter(|directory| directory.ends_with("shims"))
        .filter_map(|directory| directory.parent().map(Path::to_owned));
    let mut found = Vec::new();
    for root in named.into_iter().chain(home).chain(beside_shims) {
        let Ok(entries) = std::fs::read_dir(root.join("versions")) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(&format!("{version}.")) {
                found.push(entry.path().join(format!("bin/python{version}")));
            }
        }
    }
    found.sort();
    found
}

/// Returns the path of the interpreter that the candidate really runs, if it runs and is of that version.
fn real_interpreter(candidate: &Path, version: &str) -> Option<PathBuf> {
    if !candidate.exists() {
        return None;
    }
    let script = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2]); \
                  print(sys.executable)";
    let answer = process::output(Command::new(candidate).args(["-c", script])).ok()?;
    let (found, executable) = answer.trim_end().split_once('\n')?;
    (found == version).then(|| PathBuf::from(executable))
}

/// Returns a script of `crates/python/packaging`, to be run where wheels are made.
///
/// # Errors
/// If cargo does not tell where the target directory is.
pub fn script(name: &str) -> Result<Command> {
    let mut python = Command::new(WHEEL.python()?);
    python
        .arg(workspace::root().join("crates/python/packaging").join(name))
        .env("PYTHONUTF8", "1")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env_remove("PYTHONPATH")
        .env_remove("PYTHONHOME");
    Ok(python)
}
