//! Commits to a branch until it is done or killed; or creates a repository.
//!
//! It begins when a line arrives on its standard input, so that a test can start many at once.

use std::io::BufRead;
use std::path::PathBuf;

use anyhow::bail;
use icefield::Location;
use icefield_harness::work::{self, Work};

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
            let id = runtime.block_on(work::prepare(&Location::parse(location)?))?;
            println!("{id}");
        }
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
            "usage: icefield-worker prepare LOCATION | commit LOCATION NUMBER COMMITS LOG BYTES | rebase LOCATION NUMBER COMMITS LOG BYTES | create LOCATION | open-or-create LOCATION"
        ),
    }
    Ok(())
}
