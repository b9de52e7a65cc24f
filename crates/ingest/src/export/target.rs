//! The directory that an export fills: made beside its final place, renamed there at the end.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use icefield_core::{NodePath, SessionError};
use tempfile::TempDir;

use crate::ExportError;

/// The document of a node.
const DOCUMENT: &str = "zarr.json";

/// A directory under its temporary name; removed when dropped before [`Target::finish`].
#[derive(Debug)]
pub(super) struct Target {
    temporary: TempDir,
    destination: PathBuf,
}

impl Target {
    /// Makes the temporary directory.
    pub(super) async fn create(destination: &Path) -> Result<Self, ExportError> {
        let destination = destination.to_owned();
        blocking(move || Self::create_blocking(&destination)).await
    }

    fn create_blocking(destination: &Path) -> Result<Self, ExportError> {
        // As an absolute path, so that `..` or `.` at its end still have a name and a parent.
        let destination = match fs::canonicalize(destination) {
            Ok(existing) => existing,
            Err(_) => destination.to_owned(),
        };
        check_free(&destination)?;
        let (parent, name) = match (destination.parent(), destination.file_name()) {
            (Some(parent), Some(name)) if parent.as_os_str().is_empty() => (Path::new("."), name),
            (Some(parent), Some(name)) => (parent, name),
            _ => return Err(ExportError::AlreadyExists { path: destination }),
        };
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(name);
        prefix.push(".");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".partial");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As any directory that a program makes; the process's mask takes away from it.
            builder.permissions(fs::Permissions::from_mode(0o777));
        }
        match builder.tempdir_in(parent) {
            Ok(temporary) => Ok(Self {
                temporary,
                destination,
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(ExportError::NoParent { path: destination })
            }
            Err(source) => Err(ExportError::Io {
                path: destination,
                source,
            }),
        }
    }

    /// The place of a node's document.
    pub(super) fn document(&self, path: &NodePath) -> Result<PathBuf, ExportError> {
        Ok(self.node(path)?.join(DOCUMENT))
    }

    /// The place of a chunk.
    pub(super) fn chunk(&self, path: &NodePath, key: &str) -> Result<PathBuf, ExportError> {
        Ok(self.node(path)?.join(key))
    }

    /// The directory of a node: below ours, whatever the repository says.
    fn node(&self, path: &NodePath) -> Result<PathBuf, ExportError> {
        let mut directory = self.temporary.path().to_owned();
        for name in path.as_str().split('/').filter(|name| !name.is_empty()) {
            let mut components = Path::new(name).components();
            let plain = matches!(
                (components.next(), components.next()),
                (Some(Component::Normal(_)), None)
            );
            if !plain || name == DOCUMENT || name.contains('\0') {
                return Err(ExportError::NodeName {
                    path: path.clone(),
                    name: name.to_owned(),
                });
            }
            directory.push(name);
        }
        Ok(directory)
    }

    /// Writes a new file, and the directories that lead to it.
    pub(super) async fn write(
        target: &Arc<Self>,
        file: PathBuf,
        bytes: Bytes,
    ) -> Result<(), ExportError> {
        let target = Arc::clone(target);
        blocking(move || {
            write_new(&file, &bytes).map_err(|source| ExportError::Io {
                path: target.shown(&file),
                source,
            })
        })
        .await
    }

    /// What messages call a file: its final place.
    fn shown(&self, file: &Path) -> PathBuf {
        match file.strip_prefix(self.temporary.path()) {
            Ok(relative) => self.destination.join(relative),
            Err(_) => file.to_owned(),
        }
    }

    /// Gives the directory its final name.
    pub(super) async fn finish(target: Arc<Self>) -> Result<(), ExportError> {
        blocking(move || {
            check_free(&target.destination)?;
            // Over an empty directory, or over nothing.
            fs::rename(target.temporary.path(), &target.destination).map_err(|source| match source
                .kind()
            {
                io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => {
                    ExportError::AlreadyExists {
                        path: target.destination.clone(),
                    }
                }
                _ => ExportError::Io {
                    path: target.destination.clone(),
                    source,
                },
            })
        })
        .await
    }
}

/// Fails if there is anything but an empty directory.
fn check_free(destination: &Path) -> Result<(), ExportError> {
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
            match fs::read_dir(destination).map_err(fail)?.next() {
                None => Ok(()),
                Some(_) => Err(taken()),
            }
        }
        Ok(_) => Err(taken()),
    }
}

fn write_new(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let create = || OpenOptions::new().write(true).create_new(true).open(file);
    let mut opened = match create() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(parent) = file.parent() {
                fs::create_dir_all(parent)?;
            }
            create()?
        }
        result => result?,
    };
    opened.write_all(bytes)
}

/// Runs file access on a thread that may wait for it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ExportError> + Send + 'static,
) -> Result<T, ExportError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(SessionError::Aborted(error.to_string()).into()),
    }
}
