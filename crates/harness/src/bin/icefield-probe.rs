//! Prints what a repository holds, or writes what a script says.

use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use icefield::Location;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let answer = match arguments[..] {
        ["dump", location] => runtime.block_on(async {
            let repository = icefield_harness::open(&Location::parse(location)?).await?;
            icefield_harness::dump::dump(&repository).await
        })?,
        ["write", location, script] => {
            let operations = serde_json::from_slice(&std::fs::read(script)?)?;
            let location = Location::parse(location)?;
            let applied =
                runtime.block_on(icefield_harness::script::apply(&location, operations))?;
            serde_json::to_value(applied)?
        }
        ["fork", location, fork, index, byte] => {
            let (location, fork) = (Location::parse(location)?, PathBuf::from(fork));
            let (index, byte) = (index.parse()?, byte.parse()?);
            let write = icefield_harness::script::write_fork(&location, &fork, index, byte);
            runtime.block_on(write)?;
            serde_json::json!({ "written": index })
        }
        ["tree", directory] => {
            runtime.block_on(icefield_harness::tree::serve(directory.as_ref()))?;
            return Ok(());
        }
        _ => bail!(
            "usage: icefield-probe dump LOCATION | write LOCATION SCRIPT.json | fork LOCATION FORK INDEX BYTE | tree DIRECTORY"
        ),
    };
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, &answer)?;
    writeln!(out)?;
    Ok(())
}
