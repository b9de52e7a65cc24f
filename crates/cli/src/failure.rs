//! Failures of a command: a message, a hint, and the exit code for scripts.

use std::io::{self, Write as _};
use std::path::Path;

use icefield::ingest::{ExportError, ImportError, PlanError, SourceError};
use icefield::maintenance::CopyError;
use icefield::storage::with_causes;
use icefield::{
    CommitError, Error, ErrorKind, RefsError, RepositoryError, SessionError, SnapshotId, Unsettled,
    VirtualChunkError, ZarrStoreError,
};

use crate::output::escape::printable;

/// The exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success: the reader of standard output has closed it.
    Closed = 0,
    /// Any failure without a code of its own.
    Failure = 1,
    /// The command line is wrong.
    Usage = 2,
    /// Another writer was first, or the name is taken.
    Conflict = 3,
    /// A named object does not exist.
    NotFound = 4,
    /// Stored data is damaged.
    Damage = 5,
    /// A write may or may not have happened.
    Unknown = 6,
    /// Interrupted by Ctrl-C: the code of programs that a signal ends.
    Interrupted = 130,
}

impl Exit {
    /// Returns the exit code for a kind of error.
    fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Conflict | ErrorKind::AlreadyExists => Self::Conflict,
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::Corrupt => Self::Damage,
            ErrorKind::OutcomeUnknown => Self::Unknown,
            ErrorKind::Interrupted => Self::Interrupted,
            _ => Self::Failure,
        }
    }
}

/// The failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    message: String,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            hint: None,
        }
    }

    /// Adds a hint at the next step, unless the failure has one.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert(hint.into());
        self
    }

    /// Adds the name of a file to the message.
    pub(crate) fn of_file(mut self, file: &Path) -> Self {
        self.message = format!("{}: {}", file.display(), self.message);
        self
    }

    #[cfg(test)]
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Prints the failure to standard error, and returns the exit code.
    pub(crate) fn report(self) -> u8 {
        if self.exit != Exit::Closed {
            // If standard error is closed, the exit code still reports the failure.
            let mut out = io::stderr().lock();
            let _ = writeln!(out, "error: {}", printable(&self.message));
            if let Some(hint) = &self.hint {
                let _ = writeln!(out, "hint: {}", printable(hint));
            }
        }
        self.exit as u8
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Exit::Closed, ""),
            _ => Self::new(Exit::Failure, error.to_string()),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = match is_usage(&error) {
            true => Exit::Usage,
            false => Exit::of(error.kind()),
        };
        let mut failure = Self::new(exit, with_causes(&error));
        failure.hint = hint(&error).map(str::to_owned);
        failure
    }
}

macro_rules! from_layers {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Error::from(error).into()
            }
        })*
    };
}

from_layers!(
    icefield::RepositoryError,
    icefield::RefsError,
    icefield::SessionError,
    icefield::ZarrStoreError,
    icefield::format::FormatError,
    icefield::ingest::SourceError,
    icefield::ingest::ImportError,
    icefield::ingest::ExportError,
    icefield::alpha::AlphaError,
    icefield::alpha::ImportError,
    icefield::maintenance::CopyError,
    icefield::rolling::RollingError
);

/// Returns whether an argument of the command line causes the error.
fn is_usage(error: &Error) -> bool {
    // A well-formed location that leads to a file is no usage error.
    let is_location = match error.downcast_ref() {
        Some(icefield::LocationError::NotADirectory { .. }) | None => false,
        Some(_) => true,
    };
    is_location
        || error.downcast_ref::<icefield::RevisionError>().is_some()
        || matches!(
            FailedLayer::of(error),
            Some(FailedLayer::Refs(RefsError::Name(_)))
        )
        || matches!(
            error.downcast_ref(),
            Some(icefield::ZarrStoreError::InvalidKey { .. })
        )
}

/// The error of the layer that failed, below the layers that pass it on.
enum FailedLayer<'a> {
    Refs(&'a RefsError),
    Repository(&'a RepositoryError),
    Session(&'a SessionError),
}

impl<'a> FailedLayer<'a> {
    /// Finds the failed layer by type: transparent errors do not appear in the chain of sources.
    fn of(error: &'a Error) -> Option<Self> {
        if let Some(error) = error.downcast_ref() {
            Some(Self::Refs(error))
        } else if let Some(error) = error.downcast_ref() {
            Some(Self::of_repository(error))
        } else if let Some(CommitError::Repository(error)) = error.downcast_ref() {
            Some(Self::of_repository(error))
        } else if let Some(error) = error.downcast_ref() {
            Some(Self::Session(error))
        } else if let Some(error) = error.downcast_ref() {
            Self::of_commit(error)
        } else if let Some(CopyError::SourceRefs(error) | CopyError::DestinationRefs(error)) =
            error.downcast_ref()
        {
            Some(Self::Refs(error))
        } else if let Some(ZarrStoreError::Session(error)) = error.downcast_ref() {
            Some(Self::Session(error))
        } else if let Some(ExportError::Session(error)) = error.downcast_ref() {
            Some(Self::Session(error))
        } else if let Some(error) = error.downcast_ref().map(ImportError::of_one_source) {
            match error {
                ImportError::Repository(error) => Some(Self::of_repository(error)),
                ImportError::Session(error) => Some(Self::Session(error)),
                ImportError::Commit(error) => Self::of_commit(error),
                _ => None,
            }
        } else {
            None
        }
    }

    fn of_commit(error: &'a CommitError) -> Option<Self> {
        match error {
            CommitError::Session(error) => Some(Self::Session(error)),
            CommitError::Refs(error) => Some(Self::Refs(error)),
            CommitError::Repository(error) => Some(Self::of_repository(error)),
            _ => None,
        }
    }

    fn of_repository(error: &'a RepositoryError) -> Self {
        match error {
            RepositoryError::Refs(error) => Self::Refs(error),
            error => Self::Repository(error),
        }
    }
}

/// Returns the id of the snapshot that does not exist, if that is the error.
pub(crate) fn missing_snapshot(error: &Error) -> Option<SnapshotId> {
    match FailedLayer::of(error) {
        Some(FailedLayer::Refs(RefsError::SnapshotNotFound(id))) => Some(*id),
        _ => None,
    }
}

/// Returns the hint for an error whose message does not say what to do.
fn hint(error: &Error) -> Option<&'static str> {
    let import = error.downcast_ref().map(ImportError::of_one_source);
    if let Some(ImportError::Labels { .. }) = import {
        return Some(
            "--overlap first or last keeps one of the overlapping elements, --order coordinate sorts the sources, and --unordered accepts coordinates in any order",
        );
    }
    if let Some(ImportError::Source(SourceError::Variable { path, .. })) = import
        && !path.is_root()
    {
        return Some(
            "--drop PATH leaves a node out, and --skip-unsupported leaves out all nodes that cannot be imported",
        );
    }
    if let Some(ImportError::Source(SourceError::Conversion { .. })) = import {
        return Some(
            "--drop PATH leaves out an array that is no coordinate along the dimension; a coordinate needs units that it can have, with --time-units or in the files",
        );
    }
    if let Some(ImportError::Plan(plan)) = import {
        return plan_hint(plan);
    }
    if let Some(Unsettled::CommitUnknown { .. }) = error.downcast_ref() {
        return Some(
            "check with `icefield log LOCATION` whether the commit is in the history before you import again",
        );
    }
    let layer = FailedLayer::of(error);
    if let Some(FailedLayer::Session(SessionError::VirtualChunk { source, .. })) = &layer
        && let VirtualChunkError::NotGranted { .. } = **source
    {
        return Some(
            "--grant PREFIX lets a command read files below that prefix: the container's prefix, or a longer one",
        );
    }
    match error.kind() {
        ErrorKind::Unsupported => match layer? {
            FailedLayer::Repository(RepositoryError::NeedsSpecVersion2 { .. }) => {
                Some("`icefield upgrade LOCATION` upgrades the repository to spec version 2")
            }
            _ => None,
        },
        ErrorKind::Unavailable => Some("try again; nothing was changed"),
        ErrorKind::Corrupt => damage_hint(layer?),
        ErrorKind::NotFound => match layer? {
            FailedLayer::Repository(RepositoryError::NotFound { .. }) => {
                Some("`icefield init LOCATION` creates one")
            }
            FailedLayer::Refs(error) => refs_hint(error),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a hint at the parts of a repository that may be intact besides a damaged one.
fn damage_hint(layer: FailedLayer<'_>) -> Option<&'static str> {
    Some(match layer {
        FailedLayer::Refs(RefsError::Config { object, .. })
            if *object == RefsError::CONFIG_IN_REPO =>
        {
            "earlier states of `repo` are in overwritten/; programs that cannot read it cannot replace it either"
        }
        FailedLayer::Refs(RefsError::Config { .. }) => {
            "restore a copy of config.yaml; a repository without one has the default settings"
        }
        FailedLayer::Refs(RefsError::InvalidRefFile { .. }) => {
            "other refs are not affected: `icefield branch list` and `tag list` show them, `branch reset` replaces the damaged one"
        }
        // The error says what to do; all refs are in the damaged object.
        FailedLayer::Refs(RefsError::InvalidRepo { .. }) => return None,
        // A damaged snapshot ends its history, also for `log`.
        FailedLayer::Refs(_) | FailedLayer::Repository(_) => {
            "the snapshots of other refs may be intact: `icefield branch list` and `icefield tag list` show them"
        }
        // The snapshot is readable; an object that it refers to is not.
        FailedLayer::Session(_) => {
            "an older snapshot may be intact: `icefield log` lists them, --ref ID reads one"
        }
    })
}

/// Attributes that no option chooses among.
const ENCODING: [&str; 5] = [
    "attributes.scale_factor",
    "attributes.add_offset",
    "attributes._FillValue",
    "attributes.missing_value",
    "attributes._Unsigned",
];

fn plan_hint(error: &PlanError) -> Option<&'static str> {
    match error {
        PlanError::AlreadyExists { .. } => {
            Some("import below another --group, or append along a dimension with --append DIM")
        }
        PlanError::GroupDiffers { .. } => Some("import below another --group"),
        PlanError::NotInTarget { .. } => Some(
            "fill the missing elements with --missing fill, or import the array by itself first",
        ),
        PlanError::ArrayDiffers { difference, .. } if ENCODING.contains(&&*difference.member) => {
            Some(
                "that attribute says how numbers are stored, and none of several is chosen: --drop PATH leaves the array out",
            )
        }
        PlanError::ArrayDiffers { difference, .. }
            if difference.member.starts_with("attributes") =>
        {
            Some(
                "--attributes first keeps the first value of each attribute, --attributes drop-conflicts leaves out attributes that differ",
            )
        }
        _ => None,
    }
}

fn refs_hint(error: &RefsError) -> Option<&'static str> {
    match error {
        RefsError::BranchNotFound(name) if name.as_str().contains('@') => {
            Some("write the time in full, as in main@2015-03-01T00:00:00Z")
        }
        RefsError::BranchNotFound(_) | RefsError::TagNotFound(_) => {
            Some("`icefield branch list` and `icefield tag list` show the existing ones")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use icefield::storage::StorageError;
    use icefield::{CommitOutcome, SnapshotId};

    use super::*;

    #[test]
    fn every_kind_has_its_exit_code() {
        for (kind, code) in [
            (ErrorKind::Conflict, 3),
            (ErrorKind::AlreadyExists, 3),
            (ErrorKind::NotFound, 4),
            (ErrorKind::Corrupt, 5),
            (ErrorKind::OutcomeUnknown, 6),
            (ErrorKind::Interrupted, 130),
            (ErrorKind::ReadOnly, 1),
            (ErrorKind::Unavailable, 1),
            (ErrorKind::Unsupported, 1),
            (ErrorKind::Invalid, 1),
            (ErrorKind::Io, 1),
            (ErrorKind::Other, 1),
        ] {
            assert_eq!(Exit::of(kind) as u8, code, "{kind:?}");
        }
    }

    #[test]
    fn an_unknown_commit_ends_with_6_and_names_its_snapshot() {
        let snapshot = SnapshotId::INITIAL;
        let outcome = CommitOutcome::Unknown {
            snapshot,
            source: StorageError::Unavailable {
                action: "put",
                target: "refs/branch.main/ref.json".to_owned(),
                source: "the connection was cut".into(),
            },
        };
        let failure: Failure = icefield::committed(outcome).expect_err("unknown").into();
        assert_eq!(failure.exit, Exit::Unknown);
        assert!(
            failure.message.contains(&snapshot.to_string()),
            "{}",
            failure.message
        );
        assert!(
            failure.message.ends_with("the connection was cut"),
            "{}",
            failure.message
        );
        assert!(failure.hint.is_some());
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(failure.exit as u8, 0);
    }
}
