//! Whether an export may go where it should.

use std::fs;
use std::io;
use std::path::Path;

use crate::ExportError;

/// Returns whether a directory is another one or lies below it, whatever links lead there.
pub(super) fn is_within(directory: &Path, above: &Path) -> bool {
    match (fs::canonicalize(directory), fs::canonicalize(above)) {
        (Ok(directory), Ok(above)) => directory.starts_with(above),
        // One of them does not exist.
        _ => false,
    }
}

/// Fails if there is anything but an empty directory, or one with nothing in it but `ours`.
pub(super) fn check_free(destination: &Path, ours: Option<&Path>) -> Result<(), ExportError> {
    let taken = || ExportError::AlreadyExists {
        path: destination.to_owned(),
    };
    let fail = |source| ExportError::Io {
        path: destination.to_owned(),
        source,
    };
    match fs::symlink_metadata(destination) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(fail(error)),
        Ok(metadata) if metadata.is_dir() => {
            for entry in fs::read_dir(destination).map_err(fail)? {
                if ours != Some(&entry.map_err(fail)?.path()) {
                    return Err(taken());
                }
            }
            Ok(())
        }
        Ok(_) => Err(taken()),
    }
}
