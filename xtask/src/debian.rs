//! Programs of Debian that tests need beside the Python packages: judges of NCZarr, the browser of the
//! explorer's tests, and what netCDF-C is built with.

use std::process::Command;

use anyhow::{Result, bail};

use crate::process;
use crate::stage::Outcome;

/// A program of Debian: its package, and a command that succeeds where it is installed.
struct Peer {
    package: &'static str,
    asks: &'static [&'static str],
}

/// The programs that judge what ours makes, where they are there. GDAL is that of the system's own Python.
const PEERS: [Peer; 5] = [
    Peer {
        package: "netcdf-bin",
        asks: &["sh", "-c", "command -v ncdump"],
    },
    Peer {
        package: "python3-gdal",
        asks: &[
            "/usr/bin/python3",
            "-I",
            "-c",
            "from osgeo import gdal; import numpy",
        ],
    },
    Peer {
        package: "chromium",
        asks: &[
            "sh",
            "-c",
            "command -v chromium || command -v chromium-headless-shell",
        ],
    },
    Peer {
        package: "cmake",
        asks: &["sh", "-c", "command -v cmake"],
    },
    Peer {
        package: "libcurl4-openssl-dev",
        asks: &[
            "sh",
            "-c",
            "echo '#include <curl/curl.h>' | cc -E - > /dev/null",
        ],
    },
];

/// Installs the peers of Debian that are missing, if that can be done here.
///
/// # Errors
/// None that a run should fail for: what stays missing is said by name.
pub fn packages() -> Result<Outcome> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(Outcome::Passed);
    }
    if let Err(error) = install(&missing) {
        println!("{error:#}");
    }
    let left: Vec<_> = self::missing();
    if left.is_empty() {
        return Ok(Outcome::Passed);
    }
    let packages = left.join(" and ");
    Ok(Outcome::Skipped(format!(
        "without {packages}, what they judge is left out; install them with apt-get"
    )))
}

fn missing() -> Vec<&'static str> {
    let is_missing = |peer: &&Peer| {
        let mut command = Command::new(peer.asks[0]);
        process::output(command.args(&peer.asks[1..])).is_err()
    };
    PEERS
        .iter()
        .filter(is_missing)
        .map(|peer| peer.package)
        .collect()
}

/// Tries to install each package. One that cannot be installed does not keep back the others.
fn install(packages: &[&str]) -> Result<()> {
    if process::output(Command::new("id").arg("-u"))?.trim() != "0" {
        bail!("only root can install {}", packages.join(" and "));
    }
    process::run(Command::new("apt-get").args(["update", "--quiet"]))?;
    // One call for each: apt-get installs none of its packages if it does not know one of them.
    for package in packages {
        let mut install = Command::new("apt-get");
        install.env("DEBIAN_FRONTEND", "noninteractive");
        install.args(["install", "--yes", "--quiet", "--no-install-recommends"]);
        if let Err(error) = process::run(install.arg(package)) {
            println!("{error:#}");
        }
    }
    Ok(())
}
