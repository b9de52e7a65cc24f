//! The least work of a store on a local disk, with `std::fs` alone.

use std::fs::{self, File};
use std::io::{Result, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use tempfile::TempDir;

/// Makes a directory that is deleted in the end. Benchmarks give the target directory, because the usual place for
/// temporary files may be memory.
///
/// # Panics
/// If there is no writing there.
pub fn scratch(parent: &str) -> TempDir {
    TempDir::with_prefix_in("bench-", parent).expect("the target directory is writable")
}

/// Whether a write survives a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// No.
    No,
    /// The file is flushed before it gets its name.
    File,
    /// So is its directory afterwards.
    FileAndName,
}

/// Writes a file under another name first, so that no reader sees half of it.
///
/// # Errors
/// What the file system says.
pub fn replace(folder: &Path, name: &str, bytes: &[u8], durable: Durable) -> Result<()> {
    let temporary = folder.join("temporary");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    if durable != Durable::No {
        file.sync_all()?;
    }
    fs::rename(temporary, folder.join(name))?;
    if durable == Durable::FileAndName {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Reads a file of a known length.
///
/// # Errors
/// What the file system says.
pub fn read_known(path: &Path, length: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    File::open(path)?.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}
