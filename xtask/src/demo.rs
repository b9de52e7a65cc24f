//! `cargo xtask demo`: three NetCDF files of an ocean model become three commits, and every version is read back.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{process, workspace};

/// How far a mean may be off: the order in which 100 000 values are added, no more.
const TOLERANCE: f64 = 1e-9;

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

/// Builds the programs, runs the demo and checks its means.
///
/// # Errors
/// If a command fails, or a mean is not the one that `fixtures/nemo/expected.json` states.
pub fn run() -> Result<()> {
    workspace::build_programs()?;
    let location = workspace::scratch("demo")?.join("ocean");
    let demo = Demo {
        programs: workspace::programs()?,
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
    programs: workspace::Programs,
    location: String,
}

impl Demo {
    fn icefield(&self, args: &[&str]) -> Result<()> {
        self.run(&self.programs.icefield, args).map(|_| ())
    }

    fn import(&self, month: &str, options: &[&str]) -> Result<()> {
        let source = format!("fixtures/ocean/nemo_1m_{}_grid-T.nc", file_dates(month));
        self.icefield(&[&["import", &source, &self.location], options].concat())
    }

    fn mean(&self, reference: &str, variable: &str) -> Result<Mean> {
        let args = [&self.location, reference, variable];
        let printed = self.run(&self.programs.mean_sst, &args)?;
        parse_mean(&printed)
            .with_context(|| format!("`mean_sst` printed no `mean X over N values`: {printed}"))
    }

    /// Shows a command, runs it in the root of the workspace and shows what it prints.
    fn run(&self, program: &Path, args: &[&str]) -> Result<String> {
        let mut command = Command::new(program);
        command.args(args).current_dir(workspace::root());
        println!("\n$ {}", process::shown(&command));
        let printed = process::output(&mut command)?;
        print!("{printed}");
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

/// Finds `mean X over N values`.
fn parse_mean(printed: &str) -> Option<Mean> {
    let words: Vec<&str> = printed.split_whitespace().collect();
    words.windows(5).find_map(|window| match window {
        ["mean", mean, "over", values, rest] if rest.starts_with("values") => Some(Mean {
            mean: mean.parse().ok()?,
            values: values.parse().ok()?,
        }),
        _ => None,
    })
}

/// What the fixtures say.
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
    fn the_mean_is_found_in_a_sentence() {
        let printed = "tos at main: mean 14.25 over 65183 values, shape [1, 330, 360]\n";
        let mean = parse_mean(printed).unwrap();
        assert_eq!((mean.mean, mean.values), (14.25, 65183));
        assert!(parse_mean("mean of nothing").is_none());
    }

    #[test]
    fn the_fixtures_state_three_versions() {
        let expected = Expected::read().unwrap();
        assert!(expected.version(2).unwrap().values > expected.version(1).unwrap().values);
        let first = expected.months(&[0]).unwrap();
        assert_eq!(first.values, expected.version(0).unwrap().values);
    }
}
