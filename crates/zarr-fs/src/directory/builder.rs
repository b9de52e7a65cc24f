//! The builder that opens a directory.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{fmt, io};

use icefield_storage::{Clock, Entropy, SystemClock, SystemEntropy};

use super::base::Base;
use super::buffers::Buffers;
use super::settings::{Durability, Links, Skipped};
use super::{DirectoryTree, files};
use crate::TreeError;
use crate::blocking::Threads;

impl DirectoryTree {
    /// Opens a directory for reading and writing. Writes nothing: one that does not exist is an empty store, and is
    /// made at the first write. The path itself may lead over symbolic links.
    ///
    /// # Errors
    /// As [`DirectoryBuilder::open`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, TreeError> {
        Self::builder(path).open()
    }

    /// Returns a builder, to choose the settings.
    pub fn builder(path: impl Into<PathBuf>) -> DirectoryBuilder {
        DirectoryBuilder::new(path.into())
    }
}

/// Opens a [`DirectoryTree`]; made by [`DirectoryTree::builder`].
#[derive(Clone)]
#[must_use = "nothing is opened until `open`"]
pub struct DirectoryBuilder {
    path: PathBuf,
    name: String,
    links: Links,
    durability: Durability,
    read_only: bool,
    must_exist: bool,
    hold: bool,
    unseen: bool,
    leftover_age: Duration,
    ignores_case: bool,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    skipped: Arc<dyn Fn(&Skipped) + Send + Sync>,
    kept: Option<Arc<dyn Any + Send + Sync>>,
    #[cfg(test)]
    pub(super) before_rename: Option<fn()>,
}

impl fmt::Debug for DirectoryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectoryBuilder")
            .field("path", &self.path)
            .field("links", &self.links)
            .field("durability", &self.durability)
            .field("read_only", &self.read_only)
            .finish_non_exhaustive()
    }
}

impl DirectoryBuilder {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            name: path.display().to_string(),
            path,
            links: Links::default(),
            durability: Durability::default(),
            read_only: false,
            must_exist: false,
            hold: false,
            unseen: false,
            leftover_age: Duration::from_secs(24 * 60 * 60),
            ignores_case: false,
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            skipped: Arc::new(
                |skipped| tracing::warn!(name = skipped.name, why = %skipped.why, "skipped"),
            ),
            kept: None,
            #[cfg(test)]
            before_rename: None,
        }
    }

    /// Sets the name of the store in messages; the path unless set.
    pub fn called(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the treatment of symbolic links; [`Links::Refuse`] unless set.
    pub fn links(mut self, links: Links) -> Self {
        self.links = links;
        self
    }

    /// Sets the part of a write that survives a loss of power; [`Durability::File`] unless set.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Refuses every write; off unless set.
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Makes a missing base an error instead of an empty store; off unless set, so that a write creates the base.
    pub fn must_exist(mut self, must_exist: bool) -> Self {
        self.must_exist = must_exist;
        self
    }

    /// Keeps the base open, which must exist: every operation takes place in the directory that it is now, whatever
    /// happens to its name and to links that lead to it. Off unless set: each operation looks the base up.
    pub fn hold(mut self, hold: bool) -> Self {
        self.hold = hold;
        self
    }

    /// Writes new values in their places, without a temporary file beside each: for a directory that no reader looks into
    /// before all of it is written, and in which each new key has one writer: one that fails removes what stands under its
    /// key. Off unless set: then a value that is half written is never seen.
    pub fn unseen(mut self, unseen: bool) -> Self {
        self.unseen = unseen;
        self
    }

    /// Sets the age from which a temporary file counts as left behind by a writer that died: a day unless set. Lists of
    /// a handle that may write remove such files.
    pub fn leftover_age(mut self, age: Duration) -> Self {
        self.leftover_age = age;
        self
    }

    /// Sets whether the file system ignores case. Unless set, a probe at the first write finds out.
    pub fn ignores_case(mut self, ignores_case: bool) -> Self {
        self.ignores_case = ignores_case;
        self
    }

    /// Sets the clock by which temporary files age.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the source of the random names of temporary files.
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// Sets the function that receives the entries that lists leave out; a warning in the log unless set.
    pub fn on_skipped(mut self, report: impl Fn(&Skipped) + Send + Sync + 'static) -> Self {
        self.skipped = Arc::new(report);
        self
    }

    /// Keeps a value until the last handle is gone and no work is under way any more, including writes whose callers
    /// are gone: a guard that removes the directory when it is dropped, for instance.
    pub fn keep(mut self, value: impl Any + Send + Sync) -> Self {
        self.kept = Some(Arc::new(value));
        self
    }

    /// Opens the directory. Writes nothing.
    ///
    /// # Errors
    /// [`TreeError::NotADirectory`]; [`TreeError::Missing`] if it must exist or is held; [`TreeError::Io`].
    pub fn open(self) -> Result<DirectoryTree, TreeError> {
        let name = self.name;
        // The working directory may change before a missing base is made.
        let path = std::path::absolute(&self.path).map_err(|source| TreeError::Io {
            action: "open",
            name: name.clone(),
            store: name.clone(),
            source,
        })?;
        let must_exist = self.must_exist || self.hold;
        check(&path, &name, must_exist)?;
        let held = self.hold.then(|| files::open_base(&path)).transpose();
        let held = held.map_err(|errno| TreeError::Io {
            action: "open",
            name: name.clone(),
            store: name.clone(),
            source: errno.into(),
        })?;
        let case_matters = OnceLock::new();
        if self.ignores_case {
            let _ = case_matters.set(false);
        }
        Ok(DirectoryTree(Arc::new(Base {
            path,
            name,
            held,
            links: self.links,
            durability: self.durability,
            read_only: self.read_only,
            must_exist,
            unseen: self.unseen,
            leftover_age: self.leftover_age,
            clock: self.clock,
            entropy: self.entropy,
            skipped: self.skipped,
            _kept: self.kept,
            threads: Threads::default(),
            buffers: Buffers::default(),
            case_matters,
            #[cfg(test)]
            before_rename: self.before_rename,
        })))
    }
}

fn check(path: &Path, name: &str, must_exist: bool) -> Result<(), TreeError> {
    let store = name.to_owned();
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(TreeError::NotADirectory { store }),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !must_exist => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(TreeError::Missing { store }),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(TreeError::NotADirectory { store })
        }
        Err(source) => Err(TreeError::Io {
            action: "open",
            name: name.to_owned(),
            store,
            source,
        }),
    }
}
