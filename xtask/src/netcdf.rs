//! netCDF-C with S3, built once: no package of Debian or PyPI has it.
//!
//! The source is that of the crate `netcdf-src`, which `interop/netcdf-c/Cargo.lock` pins. Cargo fetches it and keeps it; nothing of it is
//! compiled by cargo.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::once::once;
use crate::stage::Outcome;
use crate::{process, workspace};

/// The variable that names the library to the tests of the gateway. A value that the caller has set stays.
pub const VARIABLE: &str = "ICEFIELD_NETCDF_S3";

/// Where it is built, below the target directory.
const DIRECTORY: &str = "netcdf-c";
const LIBRARY: &str = "libnetcdf.so";
const MANIFEST: &str = "interop/netcdf-c/Cargo.toml";
const CRATE: &str = "netcdf-src";

/// Zarr and S3, and nothing that needs another library than curl.
const OPTIONS: [&str; 15] = [
    "CMAKE_BUILD_TYPE=Release",
    "CMAKE_C_FLAGS=-O1 -w",
    "BUILD_SHARED_LIBS=ON",
    "NETCDF_BUILD_UTILITIES=OFF",
    "NETCDF_ENABLE_DAP=OFF",
    "NETCDF_ENABLE_EXAMPLES=OFF",
    "NETCDF_ENABLE_HDF5=OFF",
    "NETCDF_ENABLE_LIBXML2=OFF",
    "NETCDF_ENABLE_NCZARR_ZIP=OFF",
    "NETCDF_ENABLE_PLUGINS=OFF",
    "NETCDF_ENABLE_S3=ON",
    "NETCDF_ENABLE_S3_INTERNAL=ON",
    "NETCDF_ENABLE_BYTERANGE=ON",
    "NETCDF_ENABLE_TESTS=OFF",
    "NETCDF_ENABLE_UNIT_TESTS=OFF",
];

/// Builds the library, unless it is there or another one is named.
///
/// # Errors
/// If the target directory cannot be written.
pub fn built() -> Result<Outcome> {
    if is_named() {
        return Ok(Outcome::Passed);
    }
    let (source, version) = match source() {
        Ok(found) => found,
        Err(error) => return Ok(skipped(&format!("its source cannot be had: {error:#}"))),
    };
    let wanted = format!("{CRATE} {version} with {}", OPTIONS.join(" "));
    Ok(
        match once(DIRECTORY, &wanted, |directory| build(&source, directory))? {
            Ok(_) => Outcome::Passed,
            Err(why) => skipped(&why),
        },
    )
}

/// Returns the library that [`built`] has made, if it has, and unless another one is named.
///
/// # Errors
/// If cargo does not tell where the target directory is.
pub fn with_s3() -> Result<Option<PathBuf>> {
    let made = workspace::target()?.join(DIRECTORY).join(LIBRARY);
    Ok((!is_named() && made.exists()).then_some(made))
}

fn is_named() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|library| !library.is_empty())
}

fn skipped(why: &str) -> Outcome {
    Outcome::Skipped(format!(
        "netCDF-C does not read from `icefield serve`: {why}"
    ))
}

/// Returns the directory of the source, which cargo fetches unless it has it, and the version of the crate.
fn source() -> Result<(PathBuf, String)> {
    let mut cargo = process::cargo();
    cargo.args(["metadata", "--locked", "--format-version", "1"]);
    let text = process::output(cargo.args(["--manifest-path", MANIFEST]))?;
    let metadata: Value =
        serde_json::from_str(&text).context("`cargo metadata` printed no JSON")?;
    let packages = metadata["packages"].as_array();
    let package = packages
        .and_then(|packages| packages.iter().find(|package| package["name"] == CRATE))
        .with_context(|| format!("{MANIFEST} does not name {CRATE}"))?;
    let text = |name: &str| {
        package[name]
            .as_str()
            .with_context(|| format!("{CRATE} has no {name}"))
    };
    let folder = Path::new(text("manifest_path")?).with_file_name("source");
    Ok((folder, text("version")?.to_owned()))
}

/// Builds the source in a directory.
fn build(source: &Path, directory: &Path) -> Result<()> {
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(source).arg("-B").arg(directory);
    configure.args(OPTIONS.map(|option| format!("-D{option}")));
    process::run(&mut configure)?;
    let mut make = Command::new("cmake");
    make.arg("--build").arg(directory);
    process::run(make.args(["--target", "netcdf", "--parallel", "2"]))?;
    ensure!(
        directory.join(LIBRARY).exists(),
        "the build made no {LIBRARY}"
    );
    Ok(())
}
