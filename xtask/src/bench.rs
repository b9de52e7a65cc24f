//! `cargo xtask bench`, with and without `--peer`, and `cargo xtask bench-archives`: the benchmarks of `benches/`.

use anyhow::{Result, bail};

use crate::{package, process, python, wheel, workspace};

/// The case of `benches/archives` that needs the Python package.
const OF_PACKAGE: &str = "workers";

/// Runs the benchmarks with these arguments for criterion.
///
/// # Errors
/// If a benchmark fails.
pub fn run(args: &[String]) -> Result<()> {
    let mut cargo = process::cargo();
    cargo.args(["bench", "--package", "icefield-benches"]);
    if !args.is_empty() {
        cargo.arg("--").args(args);
    }
    process::run(&mut cargo)
}

/// Measures all workloads of the report, or those that are named, beside the reference implementation and plain files. A run of all of them
/// writes `docs/PERFORMANCE.md`, with its picture and `docs/performance.json`.
///
/// # Errors
/// If the reference implementation cannot be built, or a workload fails.
pub fn peer(only: &[String], args: &[String]) -> Result<()> {
    let manifest = workspace::root().join("benches/reference/Cargo.toml");
    let mut cargo = process::cargo();
    cargo.args([
        "run",
        "--locked",
        "--release",
        "--bin",
        "report",
        "--manifest-path",
    ]);
    cargo.arg(manifest).arg("--");
    for workload in only {
        cargo.args(["--only", workload]);
    }
    if only.is_empty() {
        let page = |name: &str| workspace::root().join("docs").join(name);
        cargo.arg("--markdown").arg(page("PERFORMANCE.md"));
        cargo.arg("--svg").arg(page("performance.svg"));
        cargo.arg("--json").arg(page("performance.json"));
    }
    process::run(cargo.args(args))
}

/// Measures imports of archives beside VirtualiZarr, xarray and dask, with these arguments for `benches/archives/run.py`. Makes
/// the environment of the peers, and the optimised program.
///
/// # Errors
/// If something cannot be made or built, or a measurement fails.
pub fn archives(args: &[String]) -> Result<()> {
    let environment = package::judge();
    if environment.prepare()?.is_none() {
        bail!(
            "VirtualiZarr, xarray and dask are measured on Python {}: install it",
            environment.version
        );
    }
    package::install_reference()?;
    let named = args.iter().any(|arg| arg == "--case");
    if !named || args.iter().any(|arg| arg == OF_PACKAGE) {
        python::WHEEL.prepare()?;
        workspace::build_programs()?;
        wheel::packed()?;
        package::install(environment)?;
    }
    let mut cargo = process::cargo();
    process::run(cargo.args([
        "build",
        "--locked",
        "--release",
        "--package",
        "icefield-cli",
    ]))?;
    let program = format!("release/icefield{}", std::env::consts::EXE_SUFFIX);
    let mut python = package::bench_of_archives()?;
    python.env("ICEFIELD", workspace::target()?.join(program));
    // The files are gigabytes, and the directory for temporary files may be memory.
    let directory = workspace::scratch("bench-archives")?;
    process::run(python.arg("--directory").arg(directory).args(args))
}
