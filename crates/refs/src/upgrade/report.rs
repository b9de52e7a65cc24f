//! The options of an upgrade, and its report.

use std::fmt;

use icefield_format::RepoInfo;

/// The progress of an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpgradeStep {
    /// A snapshot was read.
    SnapshotRead,
    /// A file of version 1 was removed.
    FileRemoved,
}

/// The options of an upgrade.
#[derive(Clone, Copy)]
pub struct UpgradeOptions<'a> {
    /// Keeps the files of version 1, as the reference implementation can. Programs of version 1 can then go on writing
    /// there, which is an error the next time the repository is opened.
    pub keep_files: bool,
    /// A function that is called with each step.
    pub on_step: &'a (dyn Fn(UpgradeStep) + Send + Sync),
}

impl Default for UpgradeOptions<'_> {
    fn default() -> Self {
        Self {
            keep_files: false,
            on_step: &|_| {},
        }
    }
}

impl fmt::Debug for UpgradeOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpgradeOptions")
            .field("keep_files", &self.keep_files)
            .finish_non_exhaustive()
    }
}

/// The report of an upgrade, or of its plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpgradeReport {
    /// Whether `repo` existed before: the upgrade continued one that was stopped, or tidied up after version-1
    /// programs.
    pub resumed: bool,
    /// The number of snapshots that `repo` lists.
    pub snapshots: u64,
    /// The number of branches.
    pub branches: u64,
    /// The number of tags that are not deleted.
    pub tags: u64,
    /// The number of names of deleted tags.
    pub deleted_tags: u64,
    /// Whether the repository has a configuration.
    pub has_config: bool,
    /// The changes by version-1 programs after `repo` was made, one sentence each.
    pub carried_over: Vec<String>,
    /// The number of files of version 1 that were removed.
    pub files: u64,
}

impl UpgradeReport {
    pub(super) fn of(info: &RepoInfo) -> Self {
        Self {
            snapshots: info.snapshots().len() as u64,
            branches: info.branches().count() as u64,
            tags: info.tags().count() as u64,
            deleted_tags: info.deleted_tags().count() as u64,
            has_config: info.config_bytes().is_some(),
            ..Self::default()
        }
    }
}
