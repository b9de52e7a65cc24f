//! Commits to a branch until it is done or killed; or creates a repository, reads it or collects its garbage.
//!
//! It begins when a line arrives on its standard input, so that a test can start many at once.

use std::io::BufRead;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use icefield::Location;
use icefield::format::SpecVersion;
use icefield_core::Repository;
use icefield_harness::torture::writer::Writer;
use icefield_harness::torture::{collector, reader};
use icefield_harness::work::{self, Work};

/// Opens a repository; again and again, if its store may fail.
async fn open(location: &str, is_patient: bool) -> anyhow::Result<Repository> {
    let location = Location::parse(location)?;
    loop {
        match icefield_harness::open(&location).await {
            Err(error) if is_patient => println!("! failed {error:#}"),
            opened => return opened,
        }
    }
}

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let wait = || -> anyhow::Result<()> {
        println!("ready");
        std::io::stdin().lock().read_line(&mut String::new())?;
        Ok(())
    };
    match arguments[..] {
        ["prepare", location] => {
            let location = Location::parse(location)?;
            let prepare = work::prepare(&location, SpecVersion::V1);
            println!("{}", runtime.block_on(prepare)?);
        }
        ["torture-write", location, patience, number, log, way] => {
            let writer = Writer {
                number: number.parse()?,
                log: PathBuf::from(log),
                rebase: way == "rebase",
                is_patient: patience == "patient",
            };
            runtime.block_on(async {
                let repository = open(location, writer.is_patient).await?;
                wait()?;
                writer.run(&repository).await
            })?;
        }
        ["torture-read", location, patience] => runtime.block_on(async {
            let is_patient = patience == "patient";
            let repository = open(location, is_patient).await?;
            wait()?;
            reader::run(&repository, is_patient).await
        })?,
        ["torture-collect", location, patience, floor_ms] => runtime.block_on(async {
            let is_patient = patience == "patient";
            let floor = Duration::from_millis(floor_ms.parse()?);
            let repository = open(location, is_patient).await?;
            wait()?;
            collector::run(&repository, floor, is_patient).await
        })?,
        [
            "commit" | "rebase",
            location,
            number,
            commits,
            log,
            chunk_bytes,
        ] => {
            let work = Work {
                number: number.parse()?,
                commits: commits.parse()?,
                log: PathBuf::from(log),
                chunk_bytes: chunk_bytes.parse()?,
                rebase: arguments[0] == "rebase",
            };
            let location = Location::parse(location)?;
            let refused = runtime.block_on(async {
                let repository = icefield_harness::open(&location).await?;
                wait()?;
                work.run(&repository).await
            })?;
            println!("{refused}");
        }
        ["create" | "open-or-create", location] => {
            wait()?;
            let or_open = arguments[0] == "open-or-create";
            let location = Location::parse(location)?;
            println!("{}", runtime.block_on(work::create(&location, or_open))?);
        }
        _ => bail!(
            "usage: icefield-worker prepare LOCATION | commit LOCATION NUMBER COMMITS LOG BYTES | rebase LOCATION NUMBER COMMITS LOG BYTES | create LOCATION | open-or-create LOCATION | torture-write LOCATION patient|strict NUMBER LOG rebase|again | torture-read LOCATION patient|strict | torture-collect LOCATION patient|strict MILLISECONDS"
        ),
    }
    Ok(())
}
