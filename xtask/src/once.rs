//! Directories below the target directory that are made once, and anew when they should hold something else.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace;

/// Where a thing is, or why it cannot be had on this machine.
pub type Installed = Result<PathBuf, String>;

/// Has `install` fill the directory of that name, unless it holds what `wanted` names already.
///
/// # Errors
/// If the target directory cannot be written.
pub fn once(
    name: &str,
    wanted: &str,
    install: impl FnOnce(&Path) -> Result<()>,
) -> Result<Installed> {
    let directory = workspace::target()?.join(name);
    let stamp = directory.join("icefield-stamp");
    if std::fs::read_to_string(&stamp).is_ok_and(|had| had == wanted) {
        println!("{name} is ready: {}", directory.display());
        return Ok(Ok(directory));
    }
    workspace::scratch(name)?;
    if let Err(error) = install(&directory) {
        return Ok(Err(format!("{wanted} cannot be made: {error:#}")));
    }
    std::fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(Ok(directory))
}
