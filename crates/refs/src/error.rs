//! Errors of reading and editing refs.

use std::time::SystemTime;

use icefield_format::{Availability, FeatureFlag, FormatError, RepoEditError, SnapshotId, layout};
use icefield_storage::{BoxError, Key, StorageError};

use crate::{BranchName, FetchError, NameError, Remainder, Stray, TagName};

/// Strays that an error names.
const NAMED: usize = 3;

/// The reason why refs could not be read or edited. An edit that was refused, or whose outcome is unknown, is not an
/// error but an [`EditOutcome`](crate::EditOutcome). Each message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RefsError {
    /// The text is no name of a ref.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is no such branch.
    #[error("branch {0} does not exist")]
    BranchNotFound(BranchName),
    /// There is no such tag.
    #[error("tag {0} does not exist")]
    TagNotFound(TagName),
    /// The tag was deleted; its name stays taken.
    #[error("tag {0} was deleted")]
    TagDeleted(TagName),
    /// The branch `main` cannot be deleted.
    #[error("branch main cannot be deleted: every repository has it")]
    MainIsPermanent,
    /// The ref would point to a snapshot that does not exist.
    #[error("snapshot {0} does not exist in this repository")]
    SnapshotNotFound(SnapshotId),
    /// The file of a ref breaks the rules of the format.
    #[error("{key} is not a valid ref file")]
    InvalidRefFile {
        /// The file.
        key: Key,
        /// The problem.
        source: FormatError,
    },
    /// Two objects are the same ref in two spellings, as after a copy over another repository, or a renaming that was
    /// interrupted.
    #[error(
        "{own} and {other} spell the name of one ref: `icefield fsck --repair` drops the second if both say the same; otherwise move away the one that is wrong"
    )]
    SpelledTwice {
        /// The key in the store's own spelling.
        own: Key,
        /// The key in the other spelling.
        other: Key,
    },
    /// An object below `refs/` is not understood. It may be a ref and protect snapshots, so nothing is deleted or
    /// rewritten.
    #[error(
        "{}: what they keep is not known, and nothing was changed; `icefield fsck` names all of them, `fsck --repair` mends what it can, and what is foreign must be moved out of refs/",
        named_strays(.strays)
    )]
    NotUnderstood {
        /// All of them; refs that cannot be read are named `branch NAME` or `tag NAME`.
        strays: Vec<Stray>,
    },
    /// The history of the snapshot leads back to it.
    #[error("snapshot {0} is its own ancestor: the history is damaged")]
    Cycle(SnapshotId),
    /// A history does not contain a snapshot that should be in it.
    #[error(
        "snapshot {base} is not in the history of {tip}: the branch was reset, or the history was rewritten"
    )]
    NotInHistory {
        /// The object that was looked for.
        base: SnapshotId,
        /// Where the history begins.
        tip: SnapshotId,
    },
    /// A snapshot of the history cannot be read.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The store takes no conditional writes, so that two writers could overwrite each other.
    #[error(
        "{location} is read-only, or cannot decide which of two writers was first: no history is changed there"
    )]
    NoConditions {
        /// The store.
        location: String,
    },
    /// The handle reads a past state, on which no edit may depend.
    #[error(
        "this handle reads one past state of the repository and edits nothing: use the handle that it was made of"
    )]
    Pinned,
    /// The configuration is not valid.
    #[error("{object} is not a valid configuration")]
    Config {
        /// The object that holds it: [`CONFIG_FILE`](Self::CONFIG_FILE), or in spec version 2
        /// [`CONFIG_IN_REPO`](Self::CONFIG_IN_REPO).
        object: &'static str,
        /// The problem.
        source: FormatError,
    },
    /// The object that holds the whole state of a repository is gone.
    #[error(
        "{location} has no object `repo` any more: `icefield fsck --repair` restores it from overwritten/, if its backups are there"
    )]
    RepoMissing {
        /// The store.
        location: String,
    },
    /// The object that holds the whole state of a repository is not what the format says.
    #[error(
        "`repo` is damaged: `icefield fsck --repair` restores it from overwritten/, if its backups are there"
    )]
    InvalidRepo {
        /// The problem.
        source: FormatError,
    },
    /// An earlier state of `repo`, in which the operations log goes on, is gone.
    #[error(
        "the operations log ends here: overwritten/{page}, in which it goes on, does not exist"
    )]
    LogPageMissing {
        /// Its name.
        page: String,
    },
    /// The operations log goes on in an earlier state of `repo` that it was in before.
    #[error(
        "the operations log ends here: it goes on in overwritten/{page}, which it has been in before, so that it has no beginning"
    )]
    LogRepeats {
        /// Its name.
        page: String,
    },
    /// The newest entry of the operations log lies ahead of the clock.
    #[error(
        "the newest entry of the operations log is from {}, and this clock shows {}: set the clock that is wrong, or wait",
        humantime(*.newest), humantime(*.now)
    )]
    LogAhead {
        /// The time of the entry.
        newest: SystemTime,
        /// The time by the clock of this process.
        now: SystemTime,
    },
    /// The status of the repository forbids writes.
    #[error(
        "the repository is {}{}: `icefield set-status LOCATION online` allows writes again",
        status_word(*.availability), because(.reason)
    )]
    NotOnline {
        /// Its status.
        availability: Availability,
        /// Why.
        reason: Option<String>,
    },
    /// A feature flag of the repository forbids the operation.
    #[error("the feature {flag:?} is switched off in this repository")]
    FeatureDisabled {
        /// The feature.
        flag: FeatureFlag,
    },
    /// The first snapshot of a repository has nothing to take its place from.
    #[error("snapshot {0} is the first of its repository and cannot be amended: commit instead")]
    NoAmendOfFirst(SnapshotId),
    /// Other writers were first in every attempt.
    #[error(
        "{tries} attempts to replace `repo` lost against other writers: try again when fewer write"
    )]
    RacesLost {
        /// The number of tries.
        tries: u32,
    },
    /// The repository was upgraded since it was opened.
    #[error(
        "the repository was upgraded to spec version 2 since it was opened: open it again; if it lacks a ref or a configuration that was written just now, `icefield upgrade LOCATION` takes that over"
    )]
    Upgraded,
    /// There is nothing to upgrade.
    #[error("{location} has spec version 2 already: there is nothing to upgrade")]
    AlreadyUpgraded {
        /// The store.
        location: String,
    },
    /// An upgrade has begun, and not ended.
    #[error(
        "the upgrade of this repository from spec version 1 has not ended, and until then nothing else is written: `icefield upgrade LOCATION` goes on with it"
    )]
    UpgradeNotEnded,
    /// The store did not answer in the middle of an upgrade, or other programs were always first.
    #[error("the upgrade stopped halfway: `icefield upgrade LOCATION` goes on with it")]
    UpgradeStopped {
        /// Why.
        source: BoxError,
    },
    /// Files of spec version 1 are beside `repo`, and say what it does not.
    #[error(
        "a version-1 program wrote to this repository after its upgrade had begun, and `repo` does not have {}: `icefield upgrade LOCATION` takes it over",
        remaining(.remains)
    )]
    NotCarriedOver {
        /// The refs and settings that `repo` does not have.
        remains: Vec<Remainder>,
    },
    /// Repositories of spec version 1 have nothing of that kind.
    #[error("{edit} needs a repository of spec version 2: `icefield upgrade` makes one of this")]
    OnlySpecV2 {
        /// The edit or query that was asked for.
        edit: &'static str,
    },
    /// Repositories of spec version 2 have nothing of that kind.
    #[error("{edit}: only for repositories of spec version 1 so far")]
    OnlySpecV1 {
        /// The edit or query that was asked for.
        edit: &'static str,
    },
    /// The change does not fit the state of the repository.
    #[error(transparent)]
    RepoEdit {
        /// The error of the change.
        source: RepoEditError,
    },
    /// The store failed; nothing was changed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl RefsError {
    /// The object of a configuration in spec version 1.
    pub const CONFIG_FILE: &str = layout::CONFIG;
    /// Where spec version 2 keeps a configuration.
    pub const CONFIG_IN_REPO: &str = "the field `config` of `repo`";

    /// Returns whether the error tells where an operations log ends that cannot be followed to its beginning. What was read of it
    /// until then holds.
    #[must_use]
    pub fn is_end_of_log(&self) -> bool {
        matches!(self, Self::LogPageMissing { .. } | Self::LogRepeats { .. })
    }

    pub(crate) fn config_file(source: FormatError) -> Self {
        let object = Self::CONFIG_FILE;
        Self::Config { object, source }
    }

    pub(crate) fn config_in_repo(source: FormatError) -> Self {
        let object = Self::CONFIG_IN_REPO;
        Self::Config { object, source }
    }

    /// Returns the error as one of the store, for callers that know of no others.
    pub(crate) fn into_storage(self, key: &Key) -> StorageError {
        match self {
            Self::Storage(error) => error,
            error => StorageError::Failed {
                action: "read",
                target: key.to_string(),
                source: error.into(),
            },
        }
    }
}

impl From<icefield_storage::KeyError> for RefsError {
    fn from(error: icefield_storage::KeyError) -> Self {
        Self::Storage(error.into())
    }
}

/// The first of what remains, and how much more there is.
fn remaining(remains: &[Remainder]) -> String {
    let named: Vec<String> = remains
        .iter()
        .take(NAMED)
        .map(ToString::to_string)
        .collect();
    match remains.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{}, and {more} more", named.join(", ")),
    }
}

/// The first of some strays, and how many more there are.
fn named_strays(strays: &[Stray]) -> String {
    let named: Vec<String> = strays.iter().take(NAMED).map(ToString::to_string).collect();
    let more = match strays.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!(
        "below refs/ is what is not understood: {}{more}",
        named.join("; ")
    )
}

fn status_word(availability: Availability) -> &'static str {
    match availability {
        Availability::ReadOnly => "read-only",
        Availability::Offline => "offline",
        _ => "in a status that this version does not know",
    }
}

fn because(reason: &Option<String>) -> String {
    reason
        .as_ref()
        .map_or_else(String::new, |it| format!(" ({it})"))
}

/// A time as seconds since 1970, for a message: this crate formats no dates.
fn humantime(time: SystemTime) -> String {
    let micros = crate::micros_of_time(time);
    format!(
        "{}.{:06} s since 1970",
        micros / 1_000_000,
        micros % 1_000_000
    )
}
