//! The directory and how it is used.

use std::any::Any;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use icefield_storage::{Clock, Entropy};

use super::buffers::Buffers;
use super::settings::{Durability, Links, Skipped};
use crate::blocking::Threads;

/// The directory and how it is used.
pub(super) struct Base {
    pub(super) path: PathBuf,
    pub(super) name: String,
    /// The base itself, if another that takes its name is not to be gone into.
    pub(super) held: Option<OwnedFd>,
    pub(super) links: Links,
    pub(super) durability: Durability,
    pub(super) read_only: bool,
    pub(super) must_exist: bool,
    /// Whether values are written in their places.
    pub(super) unseen: bool,
    pub(super) leftover_age: Duration,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) entropy: Arc<dyn Entropy>,
    pub(super) skipped: Arc<dyn Fn(&Skipped) + Send + Sync>,
    /// The value that must not be dropped while the tree is in use.
    pub(super) _kept: Option<Arc<dyn Any + Send + Sync>>,
    pub(super) threads: Threads,
    pub(super) buffers: Buffers,
    /// Whether the file system tells `a` from `A`: known after the first write.
    pub(super) case_matters: OnceLock<bool>,
    /// The hook of tests between the last byte of a temporary file and its renaming.
    #[cfg(test)]
    pub(super) before_rename: Option<fn()>,
}
