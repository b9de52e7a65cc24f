//! The directory that an export fills: made under a temporary name, put in its final place at the end. What is in it
//! is written as a tree.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use futures::TryStreamExt;
use icefield_core::SessionError;
use icefield_storage::{Entropy, SystemEntropy};
use icefield_zarr_fs::{
    DirectoryBuilder, DirectoryTree, Durability, ReadTree, TreeKey, TreePrefix, WriteTree,
};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::place::{check_free, is_within};
use crate::ExportError;

/// The documents that make a directory a hierarchy, whatever the format.
const DOCUMENTS: [&str; 6] = [
    "zarr.json",
    ".zgroup",
    ".zarray",
    ".zattrs",
    ".zmetadata",
    ".nczarr",
];

/// The start and the end of the name of the temporary directory. Short, whatever the destination is called: a
/// name has 255 bytes at most.
const TEMPORARY: (&str, &str) = (".icefield-", ".partial");

/// The extension of a temporary directory that is being removed.
const REMOVED: &str = "removed.partial";

/// How often the removal of a directory begins again that is written to meanwhile.
const REMOVALS: usize = 16;

/// A directory under its temporary name; removed when dropped before [`Target::finish`].
#[derive(Debug)]
pub(super) struct Target {
    /// It holds the directory, so that a write whose caller no longer waits is removed with the rest.
    tree: DirectoryTree,
    temporary: PathBuf,
    destination: PathBuf,
    place: Place,
    /// Answers, by an error, once the directory was removed or has its final name.
    gone: oneshot::Receiver<()>,
}

/// A new directory with a name of its own; what is in it goes with it, unless it was renamed or is left to others.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    is_left: bool,
    /// Dropped after everything else.
    _gone: oneshot::Sender<()>,
}

impl Temporary {
    fn create_in(parent: &Path, gone: oneshot::Sender<()>) -> io::Result<Self> {
        loop {
            let mut random = [0; 16];
            SystemEntropy.fill(&mut random);
            let random = u128::from_ne_bytes(random);
            let name = format!("{}{random:032x}{}", TEMPORARY.0, TEMPORARY.1);
            let path = parent.join(name);
            match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => {
                    return made.map(|()| Self {
                        path,
                        is_left: false,
                        _gone: gone,
                    });
                }
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_left {
            // After a rename there is nothing of this name, nor will there ever be again.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// A directory under its temporary name that several processes fill: where it is, to be sent to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Staged {
    temporary: PathBuf,
    destination: PathBuf,
    place: Place,
}

/// Where the temporary directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Place {
    /// Beside the destination, which does not exist yet.
    Beside,
    /// Inside the destination. To rename over a directory that exists would replace it, and fail where it is a
    /// mount point or its parent cannot be written.
    Inside,
}

/// Makes the temporary directory; none for a destination at or below `outside`.
fn made(
    destination: &Path,
    outside: Option<&Path>,
) -> Result<(Staged, Temporary, oneshot::Receiver<()>), ExportError> {
    // As an absolute path, so that `..` or `.` at its end still have a name and a parent.
    let destination = match fs::canonicalize(destination) {
        Ok(existing) => existing,
        Err(_) => destination.to_owned(),
    };
    let (parent, place) = match (destination.parent(), destination.file_name()) {
        _ if destination.is_dir() => (destination.as_path(), Place::Inside),
        (Some(parent), Some(_)) if parent.as_os_str().is_empty() => (Path::new("."), Place::Beside),
        (Some(parent), Some(_)) => (parent, Place::Beside),
        _ => return Err(ExportError::AlreadyExists { path: destination }),
    };
    if let Some(repository) = outside
        && is_within(parent, repository)
    {
        return Err(ExportError::InsideRepository {
            path: destination,
            repository: repository.to_owned(),
        });
    }
    check_free(&destination, None)?;
    let (sender, gone) = oneshot::channel();
    let temporary = match Temporary::create_in(parent, sender) {
        Ok(temporary) => temporary,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(ExportError::NoParent { path: destination });
        }
        Err(source) => {
            return Err(ExportError::Io {
                path: destination,
                source,
            });
        }
    };
    let staged = Staged {
        temporary: temporary.path.clone(),
        destination,
        place,
    };
    Ok((staged, temporary, gone))
}
impl Staged {
    /// Makes the temporary directory, for other processes to fill; none for a destination at or below `outside`.
    pub(super) async fn create(
        destination: &Path,
        outside: Option<&Path>,
    ) -> Result<Self, ExportError> {
        // Other processes work in other directories.
        let destination = std::path::absolute(destination).map_err(|source| ExportError::Io {
            path: destination.to_owned(),
            source,
        })?;
        let outside = outside.map(Path::to_owned);
        blocking(move || {
            let (staged, mut temporary, _) = made(&destination, outside.as_deref())?;
            temporary.is_left = true;
            Ok(staged)
        })
        .await
    }

    /// Opens the directory for one of several processes. A value is under its key once all of it is written, as often as it is.
    pub(super) fn shared(&self) -> Result<DirectoryTree, ExportError> {
        Ok(self.builder()?.open()?)
    }

    /// Removes what was written.
    pub(super) async fn remove(self) -> Result<(), ExportError> {
        self.check()?;
        blocking(move || {
            // An end of the export that is under way then finds nothing under the name that it renames.
            let removed = self.temporary.with_extension(REMOVED);
            match fs::rename(&self.temporary, &removed) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(source) => {
                    return Err(ExportError::Io {
                        path: self.temporary,
                        source,
                    });
                }
            }
            // Another process may write to it still.
            for _ in 0..REMOVALS {
                if fs::remove_dir_all(&removed).is_ok() {
                    break;
                }
            }
            match fs::symlink_metadata(&removed) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(source) => Err(ExportError::Io {
                    path: removed,
                    source,
                }),
                Ok(_) => Err(ExportError::Io {
                    path: removed,
                    source: io::ErrorKind::DirectoryNotEmpty.into(),
                }),
            }
        })
        .await
    }

    fn builder(&self) -> Result<DirectoryBuilder, ExportError> {
        self.check()?;
        Ok(DirectoryTree::builder(&self.temporary)
            .called(self.destination.display().to_string())
            .hold(true)
            .durability(Durability::None))
    }

    /// Fails for a directory that no export made: it may be removed.
    fn check(&self) -> Result<(), ExportError> {
        let name = self.temporary.file_name().and_then(|name| name.to_str());
        let is_ours = name.is_some_and(|name| {
            let rest = name.strip_prefix(TEMPORARY.0);
            rest.is_some_and(|rest| rest.ends_with(TEMPORARY.1))
        });
        match is_ours {
            true => Ok(()),
            false => Err(ExportError::Begun {
                problem: format!("{} is no place of an export", self.temporary.display()),
            }),
        }
    }
}

impl Target {
    /// Makes the temporary directory; none for a destination at or below `outside`.
    pub(super) async fn create(
        destination: &Path,
        outside: Option<&Path>,
    ) -> Result<Self, ExportError> {
        let destination = destination.to_owned();
        let outside = outside.map(Path::to_owned);
        blocking(move || {
            let (staged, temporary, gone) = made(&destination, outside.as_deref())?;
            Self::of(staged, temporary, gone)
        })
        .await
    }

    /// Opens what several processes have filled. What they left half written is removed.
    pub(super) async fn reopen(staged: &Staged) -> Result<Self, ExportError> {
        let tree = staged.builder()?.leftover_age(Duration::ZERO).open()?;
        let mut values = tree.list(&TreePrefix::all());
        while values.try_next().await?.is_some() {}
        drop(values);
        drop(tree);
        let (sender, gone) = oneshot::channel();
        let temporary = Temporary {
            path: staged.temporary.clone(),
            is_left: false,
            _gone: sender,
        };
        let staged = staged.clone();
        blocking(move || Self::of(staged, temporary, gone)).await
    }

    fn of(
        staged: Staged,
        temporary: Temporary,
        gone: oneshot::Receiver<()>,
    ) -> Result<Self, ExportError> {
        let tree = staged.builder()?.unseen(true).keep(temporary).open()?;
        Ok(Self {
            tree,
            temporary: staged.temporary,
            destination: staged.destination,
            place: staged.place,
            gone,
        })
    }

    /// Writes a value.
    pub(super) async fn write(&self, key: &TreeKey, bytes: Bytes) -> Result<(), ExportError> {
        Ok(self.tree.set(key, bytes).await?)
    }

    /// Removes what was written, once the writes whose callers no longer wait have ended.
    pub(super) async fn abandon(self) {
        drop(self.tree);
        let _ = self.gone.await;
    }

    /// Puts what was written in its final place.
    pub(super) async fn finish(self) -> Result<(), ExportError> {
        blocking(move || match self.place {
            Place::Beside => {
                check_free(&self.destination, None)?;
                self.rename(&self.temporary, &self.destination)
            }
            Place::Inside => {
                check_free(&self.destination, Some(&self.temporary))?;
                self.move_up()
            }
        })
        .await
    }

    /// Moves what is in the temporary directory up to the destination. If that fails half-way, what was moved is
    /// moved back, to be removed with the rest.
    fn move_up(&self) -> Result<(), ExportError> {
        let temporary = &self.temporary;
        let mut moved: Vec<OsString> = Vec::new();
        let all = names(temporary)
            .map_err(|source| self.failed(source))
            .and_then(|names| {
                for name in names {
                    self.rename(&temporary.join(&name), &self.destination.join(&name))?;
                    moved.push(name);
                }
                Ok(())
            });
        if all.is_err() {
            for name in moved {
                let _ = fs::rename(self.destination.join(&name), temporary.join(&name));
            }
        }
        all
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), ExportError> {
        fs::rename(from, to).map_err(|source| match source.kind() {
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => {
                ExportError::AlreadyExists {
                    path: self.destination.clone(),
                }
            }
            _ => self.failed(source),
        })
    }

    fn failed(&self, source: io::Error) -> ExportError {
        ExportError::Io {
            path: self.destination.clone(),
            source,
        }
    }
}

/// The names in a directory, those of the root's documents last: a hierarchy without them is not yet one.
fn names(directory: &Path) -> io::Result<Vec<OsString>> {
    let mut names = fs::read_dir(directory)?
        .map(|entry| Ok(entry?.file_name()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort_by_key(|name| name.to_str().is_some_and(|name| DOCUMENTS.contains(&name)));
    Ok(names)
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
