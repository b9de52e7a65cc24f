//! The cookbook as tests: each recipe of the page runs in a directory of its own, with the programs that it shows, the
//! command line, the Python package as a wheel, and a bucket.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::page::{Page, Section, Surroundings};
use crate::{package, workspace};

const PAGE: &str = "docs/cookbook.md";

/// Runs all recipes.
///
/// # Errors
/// Those that did not do what the page says, after all have run.
pub fn run() -> Result<()> {
    let environment = package::judge();
    let bucket = Bucket::start()?;
    let mut surroundings = Surroundings::with_program()?;
    surroundings.path.push(environment.directory()?.join("bin"));
    surroundings.variables.extend(bucket.variables()?);
    surroundings
        .variables
        .push(("PYTHONUTF8", Some("1".into())));
    let mut failed = Vec::new();
    for (number, Section { title, page }) in Page::read(PAGE)?.sections().iter().enumerate() {
        println!("\n--- {title}");
        let directory = workspace::scratch(&format!("cookbook/{number}"))?;
        match page.walk(&directory, &surroundings) {
            Ok(()) => println!("{} commands did what the page says", page.commands()),
            Err(error) => {
                eprintln!("{error:#}");
                failed.push(format!("`{title}`"));
            }
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!("{} failed", failed.join(", "))
}

/// A server on loopback with one bucket, `bucket`. It ends when its input does: when this is dropped, or xtask is gone.
#[derive(Debug)]
struct Bucket {
    server: Child,
    /// The facts that it prints about itself.
    facts: Value,
}

impl Bucket {
    fn start() -> Result<Self> {
        let mut server = Command::new(workspace::programs()?.test_s3);
        server.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = server.spawn().context("cannot start the S3 server")?;
        let out = server.stdout.take().context("BUG: stdout is a pipe")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let facts = serde_json::from_str(&line).context("the S3 server said no JSON")?;
        Ok(Self { server, facts })
    }

    /// Returns what programs find it by, and nothing else that the machine says of clouds.
    fn variables(&self) -> Result<Vec<(&'static str, Option<OsString>)>> {
        let mut variables = vec![
            ("AWS_REGION", Some("us-east-1".into())),
            ("AWS_CONFIG_FILE", Some("/dev/null".into())),
            ("AWS_SHARED_CREDENTIALS_FILE", Some("/dev/null".into())),
            ("AWS_ENDPOINT_URL_S3", None),
            ("AWS_PROFILE", None),
            ("AWS_SESSION_TOKEN", None),
        ];
        for (variable, fact) in [
            ("AWS_ENDPOINT_URL", "endpoint"),
            ("AWS_ACCESS_KEY_ID", "access_key"),
            ("AWS_SECRET_ACCESS_KEY", "secret_key"),
        ] {
            let said = self.facts[fact].as_str();
            let said = said.with_context(|| format!("the S3 server does not say its {fact}"))?;
            variables.push((variable, Some(said.into())));
        }
        Ok(variables)
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        drop(self.server.stdin.take());
        // If it cannot be waited for, it is gone.
        let _gone = self.server.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_six_recipes_each_with_a_program() {
        let sections = Page::read(PAGE).expect("it is there").sections();
        assert_eq!(sections.len(), 6);
        for section in sections {
            assert!(section.page.programs() > 0, "{}", section.title);
        }
    }
}
