//! `cargo xtask wheel`: the Python package as a wheel, one for Python 3.11 and all later versions.
//!
//! The wheel of the tests is packed from the native module that the build of the workspace leaves behind, so that it
//! costs seconds. The one of a release is packed in the same way from an optimised build for systems with an old glibc.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::built::Built;
use crate::python::{WHEEL, script};
use crate::{process, workspace};

/// The level of compression of what people download, and of what tests use.
pub const SMALLEST: &str = "9";
const QUICK: &str = "1";

/// Makes the wheel from scratch and says where it is.
///
/// # Errors
/// If it cannot be built, or asks for more than a wheel may.
pub fn command(release: bool) -> Result<()> {
    WHEEL.prepare()?;
    let wheel = if release {
        let built = Built::optimized(&["icefield-python"])?;
        pack(
            &built.module,
            &workspace::scratch("wheels/release")?,
            SMALLEST,
        )?
    } else {
        workspace::build_programs()?;
        packed()?
    };
    println!("{}", wheel.display());
    Ok(())
}

/// Packs and checks the wheel of the tests. The programs are built, and the environment of wheels is there.
///
/// # Errors
/// If the native module is missing, or asks for more than a wheel may.
pub fn packed() -> Result<PathBuf> {
    pack(
        &workspace::native_module()?,
        &workspace::scratch("wheels/tested")?,
        QUICK,
    )
}

/// Packs a native module into a wheel in that directory, with this level of compression, and checks it.
///
/// # Errors
/// If it asks for more than a wheel may.
pub fn pack(module: &Path, out: &Path, level: &str) -> Result<PathBuf> {
    let mut python = script("pack.py")?;
    python.arg("--library").arg(module);
    python.args(["--version", version()?, "--level", level]);
    process::run(python.arg("--out").arg(out))?;
    check(out)
}

/// Returns the wheel that [`packed`] has made.
///
/// # Errors
/// If there is none.
pub fn tested() -> Result<PathBuf> {
    only_wheel(&workspace::target()?.join("wheels/tested"))
}

/// Lets three judges look at the wheel: our own reading of the module, auditwheel on what a Linux of that tag has, and
/// abi3audit on which symbols of the interpreter are stable.
fn check(directory: &Path) -> Result<PathBuf> {
    let wheel = only_wheel(directory)?;
    process::run(script("native.py")?.arg(&wheel))?;
    let name = platform(&wheel)?;
    let mut auditwheel = Command::new(WHEEL.directory()?.join("bin/auditwheel"));
    let found = process::output(auditwheel.arg("show").arg(&wheel))?;
    // It knows some versions of glibc, and answers with the first of them that is enough: no less than the name, which
    // says what was read from the module.
    let found_glibc = found.split('"').find_map(glibc);
    if glibc(&name).is_none() || found_glibc < glibc(&name) {
        bail!("auditwheel finds another platform than {name}:\n{found}");
    }
    println!("auditwheel agrees with {name}");
    let mut abi3audit = Command::new(WHEEL.directory()?.join("bin/abi3audit"));
    process::run(abi3audit.args(["--strict", "--summary"]).arg(&wheel))?;
    Ok(wheel)
}

fn only_wheel(directory: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(directory)
        .with_context(|| format!("no wheel was made in {}", directory.display()))?;
    let mut wheels: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .collect();
    match (wheels.pop(), wheels.is_empty()) {
        (Some(wheel), true) => Ok(wheel),
        _ => bail!("there is not one wheel in {}", directory.display()),
    }
}

/// Returns the platform tag in the name of a wheel, which must say that one build is for all later versions.
fn platform(wheel: &Path) -> Result<String> {
    let name = wheel.file_stem().and_then(|name| name.to_str());
    let name = name.context("a wheel has a name")?;
    match name.split_once("-cp311-abi3-") {
        Some((_, platform)) => Ok(platform.to_owned()),
        None => bail!("the wheel {name} is not for Python 3.11 and later (cp311-abi3)"),
    }
}

/// Returns the version of glibc that a platform tag says.
fn glibc(platform: &str) -> Option<(u32, u32)> {
    let mut words = platform.strip_prefix("manylinux_")?.split('_');
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// Returns the version of the packages.
///
/// # Errors
/// If cargo knows none.
pub fn version() -> Result<&'static str> {
    let package = workspace::packages()?
        .iter()
        .find(|package| package["name"] == "icefield-python");
    package
        .and_then(|package| package["version"].as_str())
        .context("the workspace has no icefield-python")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_glibc_are_numbers() {
        assert!(glibc("manylinux_2_5_x86_64") < glibc("manylinux_2_34_x86_64"));
        assert_eq!(glibc("linux_x86_64"), None);
    }

    #[test]
    fn the_platform_is_what_follows_the_stable_abi() {
        let platform = |name: &str| platform(Path::new(name)).ok();
        assert_eq!(
            platform("icefield-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl").as_deref(),
            Some("manylinux_2_28_x86_64")
        );
        assert_eq!(
            platform("icefield-0.1.0-cp312-cp312-linux_x86_64.whl"),
            None
        );
    }
}
