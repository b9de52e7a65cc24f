//! `cargo xtask fuzz`: builds the targets of `fuzz/` and runs each for a while.
//!
//! Coverage feedback comes from a pass of LLVM that the stable compiler can be told to run, so neither
//! nightly nor cargo-fuzz is needed. The targets seed their corpora from the fixtures by themselves.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{process, workspace};

const TARGETS: &[&str] = &[
    "envelope",
    "snapshot",
    "manifest",
    "manifest_translate",
    "transaction_log",
    "repo_info",
    "flexbuffers",
    "location_dictionary",
    "ref_json",
    "config",
    "path_key",
    "storage_key",
    "zarr_key",
    "zarr_metadata",
    "location_revision",
    "cdl",
    "nczarr",
    "alpha",
    "commit",
];

/// The flags that make libFuzzer see which code an input reaches, and with what it was compared.
const FLAGS: &[&str] = &[
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
];

/// Targets that run at the same time.
const AT_ONCE: usize = 2;
/// Memory that one input may take, in MiB.
const MEMORY_LIMIT: u32 = 512;

/// Builds all targets and runs each for that many seconds.
///
/// # Errors
/// If the build fails, or if a target finds an input that crashes it, takes too long or too much memory.
pub fn run(seconds: u32) -> Result<()> {
    let host = host()?;
    let target = workspace::target()?.join("fuzz");
    let mut cargo = process::cargo();
    cargo.args([
        "build",
        "--release",
        "--locked",
        "--manifest-path",
        "fuzz/Cargo.toml",
    ]);
    cargo
        .args(["--target", &host])
        .arg("--target-dir")
        .arg(&target);
    // A variable of its own instead of RUSTFLAGS, in which words cannot contain spaces. With `--target`,
    // the flags do not reach build scripts.
    process::run(cargo.env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}")))?;
    let programs = target.join(host).join("release");
    let mut failed = Vec::new();
    for names in TARGETS.chunks(AT_ONCE) {
        let started = names
            .iter()
            .map(|name| Ok((*name, start(name, &programs, &target, seconds)?)));
        for (name, child) in started.collect::<Result<Vec<_>>>()? {
            let output = child.wait_with_output()?;
            let log = String::from_utf8_lossy(&output.stderr);
            if output.status.success() {
                let runs = statistic(&log, "number_of_executed_units").unwrap_or("?");
                let peak = statistic(&log, "peak_rss_mb").unwrap_or("?");
                println!("fuzz {name}: {runs} runs, {peak} MiB at most, nothing found");
            } else {
                println!("{}", last_lines(&log, 40));
                failed.push(name);
            }
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!("found something, see fuzz/artifacts: {}", failed.join(", "))
}

/// Returns the triple that the compiler builds for by default.
fn host() -> Result<String> {
    let version = process::output(
        Command::new("rustc")
            .current_dir(workspace::root())
            .arg("-vV"),
    )?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("`rustc -vV` names no host")
}

fn start(name: &str, programs: &Path, target: &Path, seconds: u32) -> Result<std::process::Child> {
    let corpus = target.join("corpus").join(name);
    let artifacts = workspace::root().join("fuzz/artifacts").join(name);
    std::fs::create_dir_all(&corpus)?;
    std::fs::create_dir_all(&artifacts)?;
    let mut fuzzer = Command::new(programs.join(name));
    fuzzer.env(
        "ICEFIELD_FUZZ_SEEDS_FROM",
        workspace::root().join("fixtures/vectors"),
    );
    fuzzer.env("ICEFIELD_FUZZ_SEEDS_TO", &corpus);
    fuzzer
        .arg(&corpus)
        .arg(format!("-artifact_prefix={}/", artifacts.display()));
    fuzzer
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-rss_limit_mb={MEMORY_LIMIT}"));
    fuzzer.args(["-timeout=10", "-max_len=65536", "-print_final_stats=1"]);
    fuzzer
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    fuzzer
        .spawn()
        .with_context(|| format!("cannot start the fuzz target {name}"))
}

/// Returns one of the figures that libFuzzer prints at its end.
fn statistic<'a>(log: &'a str, name: &str) -> Option<&'a str> {
    let line = log
        .lines()
        .find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name))?;
    Some(line.trim_start_matches(':').trim())
}

fn last_lines(log: &str, count: usize) -> String {
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
