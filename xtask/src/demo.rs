//! `cargo xtask demo`: three NetCDF files of an ocean model become three commits, and every version is read back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{process, workspace};

/// How far a mean may be off: the order in which 100 000 values are added, no more.
const TOLERANCE: f64 = 1e-9;
/// Space that the build takes, at most.
const NEEDED_MIB: u64 = 800;

/// The mean of all sea points of one version.
#[derive(Debug, Clone, Copy)]
struct Mean {
    mean: f64,
    values: u64,
}

/// One line of the closing table.
#[derive(Debug)]
struct Version {
    reference: &'static str,
    contents: &'static str,
    expected: Mean,
}

/// Builds the program, with nothing but what the demo needs, and runs the demo.
///
/// # Errors
/// As [`run`], and if the program cannot be built.
pub fn command() -> Result<()> {
    println!(
        "This builds the program icefield, for the local disk and NetCDF only, and runs it on three small files.\n\
         The first build takes about four minutes on two cores; the demo itself takes seconds.\n"
    );
    if !has_c_compiler() {
        bail!(
            "there is no C compiler, which the compression library zstd needs: install one \
             (`apt-get install gcc`, `dnf install gcc`, `xcode-select --install`), or name it in CC"
        );
    }
    let mut cargo = process::cargo();
    cargo.args(["build", "--locked", "--profile", "demo", "--package"]);
    cargo.args(["icefield-cli", "--no-default-features", "--features"]);
    let target = workspace::target()?;
    process::run(cargo.arg("local,netcdf")).map_err(|error| match free_mib(&target) {
        Some(free) if free < NEEDED_MIB => error.context(format!(
            "only {free} MiB are free where {} is, and the build takes up to {NEEDED_MIB}: free some, or name another \
             directory in CARGO_TARGET_DIR",
            target.display()
        )),
        _ => error,
    })?;
    let built = target.join("demo").join("icefield");
    run(&built.with_extension(std::env::consts::EXE_EXTENSION))
}

/// Returns how much space is left on the disk of a directory, if `df` says it.
fn free_mib(directory: &Path) -> Option<u64> {
    let printed = process::output(Command::new("df").arg("-Pk").arg(directory));
    parse_free_mib(&printed.ok()?)
}

/// Reads the fourth column of the last line, in KiB. Before it, there may be blanks in the name of the disk.
fn parse_free_mib(printed: &str) -> Option<u64> {
    let line = printed.lines().last()?;
    let (before, _) = line.rsplit_once('%')?;
    let free = before.split_whitespace().rev().nth(1)?;
    Some(free.parse::<u64>().ok()? / 1024)
}

/// Whether a compiler can be started that the build scripts of C libraries would find.
fn has_c_compiler() -> bool {
    let named = std::env::var("CC").ok().filter(|name| !name.is_empty());
    let names = named.map_or_else(
        || vec!["cc".to_owned(), "gcc".into(), "clang".into()],
        |it| vec![it],
    );
    names.iter().any(|name| {
        // `CC` may be a command with arguments, or start with a cache such as `ccache`.
        let program = name.split_whitespace().next().unwrap_or_default();
        let mut command = Command::new(program);
        command
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok()
    })
}

/// Runs the demo with a program that was built, and checks its means.
///
/// # Errors
/// If a command fails, or a mean is not the one that `fixtures/nemo/expected.json` states.
pub fn run(icefield: &Path) -> Result<()> {
    let location = workspace::scratch("demo-data")?.join("ocean");
    let demo = Demo {
        icefield: icefield.to_owned(),
        location: shortened(&location),
    };
    let expected = Expected::read()?;

    heading("One commit for each month");
    demo.icefield(&["init", &demo.location])?;
    demo.import("01", &["-m", "January 2015"])?;
    demo.icefield(&[
        "tag",
        "create",
        &demo.location,
        "first-month",
        "--ref",
        "main",
    ])?;
    for (month, message) in [("02", "February 2015"), ("03", "March 2015")] {
        demo.import(month, &["--append", "time_counter", "-m", message])?;
    }

    heading("A branch that never saw February");
    let branch = "without-february";
    demo.icefield(&[
        "branch",
        "create",
        &demo.location,
        branch,
        "--ref",
        "main~2",
    ])?;
    let onto = ["--branch", branch, "--append", "time_counter"];
    demo.import(
        "03",
        &[&onto[..], &["-m", "March 2015, after January"]].concat(),
    )?;

    heading("What there is");
    demo.icefield(&["branch", "list", &demo.location])?;
    demo.icefield(&["tag", "list", &demo.location])?;
    demo.icefield(&["log", &demo.location])?;
    demo.icefield(&["tree", &demo.location])?;
    demo.icefield(&["diff", &demo.location, "tag:first-month", "main"])?;

    heading("The mean sea-surface temperature of every version");
    let versions = [
        Version {
            reference: "tag:first-month",
            contents: "January",
            expected: expected.version(0)?,
        },
        Version {
            reference: "main~1",
            contents: "January and February",
            expected: expected.version(1)?,
        },
        Version {
            reference: "main",
            contents: "January to March",
            expected: expected.version(2)?,
        },
        Version {
            reference: "branch:without-february",
            contents: "January and March",
            expected: expected.months(&[0, 2])?,
        },
    ];
    let mut found = Vec::new();
    for version in &versions {
        found.push(demo.mean(version.reference, &expected.variable)?);
    }
    report(&versions, &found)
}

struct Demo {
    icefield: PathBuf,
    location: String,
}

impl Demo {
    fn icefield(&self, args: &[&str]) -> Result<()> {
        self.run(args, true).map(|_| ())
    }

    fn import(&self, month: &str, options: &[&str]) -> Result<()> {
        let source = format!("fixtures/ocean/nemo_1m_{}_grid-T.nc", file_dates(month));
        self.icefield(&[&["import", &source, &self.location], options].concat())
    }

    /// Shows the statistics of an array at one version, and returns its mean.
    fn mean(&self, reference: &str, variable: &str) -> Result<Mean> {
        let args = ["stats", &self.location, variable, "--ref", reference];
        self.icefield(&args)?;
        let printed = self.run(&[&args[..], &["--json"]].concat(), false)?;
        parse_mean(&printed)
            .with_context(|| format!("`icefield stats --json` printed no mean: {printed}"))
    }

    /// Runs a command in the root of the workspace. Unless it is to be quiet, it is shown with what it prints.
    fn run(&self, args: &[&str], shown: bool) -> Result<String> {
        let mut command = Command::new(&self.icefield);
        command.args(args).current_dir(workspace::root());
        if shown {
            println!("\n$ {}", process::shown(&command));
        }
        let printed = process::output(&mut command)?;
        if shown {
            print!("{printed}");
        }
        Ok(printed)
    }
}

/// The days at which the mean of a month begins and ends, as its file is named.
fn file_dates(month: &str) -> &'static str {
    match month {
        "01" => "20150101-20150201",
        "02" => "20150201-20150301",
        _ => "20150301-20150401",
    }
}

/// Reads the mean and the number of values of the statistics of an array.
fn parse_mean(printed: &str) -> Option<Mean> {
    let facts: Value = serde_json::from_str(printed).ok()?;
    Some(Mean {
        mean: facts["mean"].as_f64()?,
        values: facts["count"].as_u64()?,
    })
}

/// The contents of the fixtures.
struct Expected {
    variable: String,
    versions: Vec<Value>,
}

impl Expected {
    fn read() -> Result<Self> {
        let path = workspace::root().join("fixtures/nemo/expected.json");
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let all: Value = serde_json::from_str(&text)?;
        let temperature = &all["sea_surface_temperature"];
        Ok(Self {
            variable: temperature["variable"].as_str().context("variable")?.into(),
            versions: temperature["versions"]
                .as_array()
                .context("versions")?
                .clone(),
        })
    }

    fn version(&self, index: usize) -> Result<Mean> {
        self.mean(index, "mean", "valid")
    }

    /// Returns the mean over some of the months.
    fn months(&self, months: &[usize]) -> Result<Mean> {
        let mut sum = 0.0;
        let mut values = 0;
        for month in months {
            let month = self.mean(*month, "month_mean", "month_valid")?;
            sum += month.mean * month.values as f64;
            values += month.values;
        }
        Ok(Mean {
            mean: sum / values as f64,
            values,
        })
    }

    fn mean(&self, index: usize, mean: &str, values: &str) -> Result<Mean> {
        let version = self.versions.get(index).context("a version is missing")?;
        Ok(Mean {
            mean: version[mean].as_f64().context("no mean")?,
            values: version[values].as_u64().context("no number of values")?,
        })
    }
}

fn report(versions: &[Version], found: &[Mean]) -> Result<()> {
    println!(
        "\n{:<24} {:<21} {:>14} {:>12} {:>15}",
        "version", "months", "mean, °C", "sea points", "as xarray says"
    );
    let mut wrong = Vec::new();
    for (version, found) in versions.iter().zip(found) {
        let off = (found.mean - version.expected.mean).abs();
        let same = found.values == version.expected.values
            && off <= TOLERANCE * version.expected.mean.abs();
        println!(
            "{:<24} {:<21} {:>14.9} {:>12} {:>15}",
            version.reference,
            version.contents,
            found.mean,
            found.values,
            if same { "yes" } else { "NO" }
        );
        if !same {
            wrong.push(version.reference);
        }
    }
    if !wrong.is_empty() {
        bail!(
            "the mean differs from the expected one at {}",
            wrong.join(", ")
        );
    }
    Ok(())
}

fn heading(text: &str) {
    println!("\n--- {text} ---");
}

/// Returns a path as it is short to read from the root of the workspace.
fn shortened(path: &Path) -> String {
    let root = workspace::root();
    path.strip_prefix(&root)
        .unwrap_or(path)
        .display()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_found_among_the_facts() {
        let mean = parse_mean(r#"{ "count": 65183, "missing": 5, "mean": 14.25 }"#).unwrap();
        assert_eq!((mean.mean, mean.values), (14.25, 65183));
        assert!(parse_mean(r#"{ "count": 0, "mean": null }"#).is_none());
    }

    #[test]
    fn the_free_space_is_what_df_says() {
        let printed = "Filesystem 1024-blocks Used Available Capacity Mounted on\n\
            a disk 10240000 8192000 2048000 81% /a b\n";
        assert_eq!(parse_free_mib(printed), Some(2000));
        assert_eq!(parse_free_mib("df: no such file\n"), None);
    }

    #[test]
    fn the_fixtures_state_three_versions() {
        let expected = Expected::read().unwrap();
        assert!(expected.version(2).unwrap().values > expected.version(1).unwrap().values);
        let first = expected.months(&[0]).unwrap();
        assert_eq!(first.values, expected.version(0).unwrap().values);
    }
}
