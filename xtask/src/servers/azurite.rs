//! Azurite, for Azure Blob Storage.

use std::process::Command;

use anyhow::Result;

use super::running::Running;
use super::{http, install, ports};
use crate::stage::Outcome;
use crate::{process, workspace};

const PACKAGE: &str = "azurite@3.35.0";
const CONTAINER: &str = "container";
const ACCOUNT: &str = "account";
/// An account of these tests alone, in base 64.
const KEY: &str = "aWNlZmllbGQtdGVzdHMtaWNlZmllbGQtdGVzdHM=";
/// Tests below modules of that name, at the least: the conformance suite, sessions, strays, and doctor.
const TESTS: usize = 81;

/// Runs the tests on it.
///
/// # Errors
/// If one fails, or the server does.
pub fn run() -> Result<Outcome> {
    let directory = match install::from_npm("azurite", PACKAGE)? {
        Ok(directory) => directory,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let work = workspace::scratch("servers/azurite-work")?;
    let command = || {
        let [port] = ports::free()?;
        let mut server = Command::new("node");
        server.current_dir(&work);
        server.arg(directory.join("node_modules/azurite/dist/src/blob/main.js"));
        server.args(["--blobHost", "127.0.0.1", "--blobPort", &port.to_string()]);
        server.args(["--inMemoryPersistence", "--skipApiVersionCheck", "--silent"]);
        // Unless told otherwise it reports home.
        server.arg("--disableTelemetry");
        server.env("AZURITE_ACCOUNTS", format!("{ACCOUNT}:{KEY}"));
        Ok((server, port))
    };
    let (_running, port) = Running::start(&work.join("log"), command, |port| {
        http::status("GET", *port, "/", "").is_ok()
    })?;
    let endpoint = format!("http://127.0.0.1:{port}/{ACCOUNT}");
    let mut script = Command::new("node");
    script.args(["--eval", include_str!("azurite/container.js")]);
    process::output(script.args([&endpoint, ACCOUNT, KEY, CONTAINER]))?;
    let variables = [
        ("TEST_AZURE_ENDPOINT", &*endpoint),
        ("TEST_AZURE_ACCOUNT", ACCOUNT),
        ("TEST_AZURE_CONTAINER", CONTAINER),
        ("TEST_AZURE_KEY", KEY),
        // Where `az:` locations take it from.
        ("AZURE_STORAGE_KEY", KEY),
    ];
    super::tests("azurite", &variables, TESTS).map(|()| Outcome::Passed)
}
