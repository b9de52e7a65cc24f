//! What went wrong, in one or two lines, and the exit code that tells a script.

use std::io::{self, Write as _};
use std::path::Path;

use icefield::ingest::{ExportError, ImportError, PlanError, SourceError};
use icefield::maintenance::CopyError;
use icefield::{
    CommitError, Error, ErrorKind, RefsError, RepositoryError, SessionError, SnapshotId, Unsettled,
    VirtualChunkError, ZarrStoreError,
};

use crate::output::escape::printable;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Nothing is wrong: whoever read our output has closed it.
    Closed = 0,
    /// Any failure that is none of the others.
    Failure = 1,
    /// The command itself is wrong.
    Usage = 2,
    /// Somebody was first, or the name is taken.
    Conflict = 3,
    /// What was named does not exist.
    NotFound = 4,
    /// What is stored is damaged.
    Damage = 5,
    /// A write may or may not have happened.
    Unknown = 6,
    /// Ctrl-C: what programs end with that a signal ended.
    Interrupted = 130,
}

impl Exit {
    /// The exit code for a kind of error.
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

/// Why the command did not do what it should.
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

    /// Says what to do next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert(hint.into());
        self
    }

    /// Says which file it is about.
    pub(crate) fn of_file(mut self, file: &Path) -> Self {
        self.message = format!("{}: {}", file.display(), self.message);
        self
    }

    #[cfg(test)]
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Prints it, and returns the exit code.
    pub(crate) fn report(self) -> u8 {
        if self.exit != Exit::Closed {
            // Where nobody can be told, the exit code still says it.
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
        let mut failure = Self::new(exit, chain(&error));
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

/// Whether an argument of ours is what is wrong.
fn is_usage(error: &Error) -> bool {
    // A location that is well-formed and leads to a file is none of those.
    let is_location = match error.downcast_ref() {
        Some(icefield::LocationError::NotADirectory { .. }) | None => false,
        Some(_) => true,
    };
    is_location
        || error.downcast_ref::<icefield::RevisionError>().is_some()
        || matches!(Layer::of(error), Some(Layer::Refs(RefsError::Name(_))))
        || matches!(
            error.downcast_ref(),
            Some(icefield::ZarrStoreError::InvalidKey { .. })
        )
}

/// The message of an error and those of its causes, each once.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !message.ends_with(&text) {
            message = format!("{message}: {text}");
        }
        cause = error.source();
    }
    message
}

/// The layer that failed, whatever passed its error on.
enum Layer<'a> {
    Refs(&'a RefsError),
    Repository(&'a RepositoryError),
    Session(&'a SessionError),
}

impl<'a> Layer<'a> {
    /// Errors that are passed on as they are have no place in the chain of sources: they are looked for by type.
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

/// The snapshot that was asked for, if what failed is that there is none.
pub(crate) fn missing_snapshot(error: &Error) -> Option<SnapshotId> {
    match Layer::of(error) {
        Some(Layer::Refs(RefsError::SnapshotNotFound(id))) => Some(*id),
        _ => None,
    }
}

/// What to do, where the message does not say it.
fn hint(error: &Error) -> Option<&'static str> {
    let import = error.downcast_ref().map(ImportError::of_one_source);
    if let Some(ImportError::Labels { .. }) = import {
        return Some(
            "--overlap first or last keeps one of what overlaps, --order coordinate puts sources in order, and --unordered takes coordinates as they come",
        );
    }
    if let Some(ImportError::Source(SourceError::Variable { path, .. })) = import
        && !path.is_root()
    {
        return Some(
            "--drop PATH leaves a node out, and --skip-unsupported all that cannot be imported",
        );
    }
    if let Some(ImportError::Plan(plan)) = import {
        return plan_hint(plan);
    }
    if let Some(Unsettled::CommitUnknown { .. }) = error.downcast_ref() {
        return Some(
            "`icefield log LOCATION` shows the history; do not import again before you have looked",
        );
    }
    let layer = Layer::of(error);
    if let Some(Layer::Session(SessionError::VirtualChunk { source, .. })) = &layer
        && let VirtualChunkError::NotGranted { .. } = **source
    {
        return Some(
            "--grant PREFIX lets a command read what lies below it: of the container, or of a part of it",
        );
    }
    match error.kind() {
        ErrorKind::Unsupported => match layer? {
            Layer::Repository(RepositoryError::NeedsSpecVersion2 { .. }) => {
                Some("`icefield upgrade LOCATION` makes it a repository of spec version 2")
            }
            _ => None,
        },
        ErrorKind::Unavailable => Some("try again; nothing was changed"),
        ErrorKind::Corrupt => damage_hint(layer?),
        ErrorKind::NotFound => match layer? {
            Layer::Repository(RepositoryError::NotFound { .. }) => {
                Some("`icefield init LOCATION` creates one")
            }
            Layer::Refs(error) => refs_hint(error),
            _ => None,
        },
        _ => None,
    }
}

/// What may still be whole depends on what is damaged.
fn damage_hint(layer: Layer<'_>) -> Option<&'static str> {
    Some(match layer {
        Layer::Refs(RefsError::Config { object, .. }) if *object == RefsError::CONFIG_IN_REPO => {
            "earlier states of `repo` are in overwritten/; programs that cannot read it cannot replace it either"
        }
        Layer::Refs(RefsError::Config { .. }) => {
            "put back a copy of config.yaml; a repository without one has the default settings"
        }
        Layer::Refs(RefsError::InvalidRefFile { .. }) => {
            "the other refs are not touched by this: `icefield branch list` and `tag list` show them, `branch reset` replaces it"
        }
        // The error says what to do, and all refs are in it.
        Layer::Refs(RefsError::InvalidRepo { .. }) => return None,
        // A snapshot: its history cannot be followed any further, not even by `log`.
        Layer::Refs(_) | Layer::Repository(_) => {
            "what another ref points to may still be whole: `icefield branch list` and `icefield tag list` show them"
        }
        // The snapshot was read, and something that it refers to was not.
        Layer::Session(_) => {
            "an older snapshot may still be whole: `icefield log` lists them, --ref ID reads one"
        }
    })
}

fn plan_hint(error: &PlanError) -> Option<&'static str> {
    match error {
        PlanError::AlreadyExists { .. } => {
            Some("import below another --group, or append along a dimension with --append DIM")
        }
        PlanError::GroupDiffers { .. } => Some("import below another --group"),
        PlanError::NotInTarget { .. } => {
            Some("fill it where it is missing, with --missing fill, or import it by itself first")
        }
        PlanError::ArrayDiffers { difference, .. }
            if difference.member.starts_with("attributes") =>
        {
            Some(
                "--attributes first keeps those that come first, --attributes drop-conflicts leaves out those that differ",
            )
        }
        _ => None,
    }
}

fn refs_hint(error: &RefsError) -> Option<&'static str> {
    match error {
        RefsError::BranchNotFound(name) if name.as_str().contains('@') => {
            Some("a time is written in full, as main@2015-03-01T00:00:00Z")
        }
        RefsError::BranchNotFound(_) | RefsError::TagNotFound(_) => {
            Some("`icefield branch list` and `icefield tag list` show what there is")
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
