//! Commits to a branch until it is done or killed; or creates a repository.
//!
//! It begins when a line arrives on its standard input, so that a test can start many at once.

use std::io::BufRead;
use std::path::PathBuf;

use anyhow::bail;
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
            let id = runtime.block_on(work::prepare(&PathBuf::from(location)))?;
            println!("{id}");
        }
        ["commit", location, number, commits, log, chunk_bytes] => {
            let work = Work {
                number: number.parse()?,
                commits: commits.parse()?,
                log: PathBuf::from(log),
                chunk_bytes: chunk_bytes.parse()?,
            };
            let location = PathBuf::from(location);
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
            let location = PathBuf::from(location);
            println!("{}", runtime.block_on(work::create(&location, or_open))?);
        }
        _ => bail!(
            "usage: icefield-worker prepare LOCATION | commit LOCATION NUMBER COMMITS LOG BYTES | create LOCATION | open-or-create LOCATION"
        ),
    }
    Ok(())
}
