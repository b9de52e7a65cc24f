//! What went wrong, in one or two lines, and the exit code that tells a script.

use std::error::Error as _;
use std::io;
use std::process::ExitCode;

use icefield::{Error, ErrorKind, Unsettled};

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
}

impl Exit {
    /// The exit code for a kind of error.
    fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Conflict | ErrorKind::AlreadyExists => Self::Conflict,
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::Corrupt => Self::Damage,
            ErrorKind::OutcomeUnknown => Self::Unknown,
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

    /// Prints it, and returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        if self.exit != Exit::Closed {
            eprintln!("error: {}", printable(&self.message));
            if let Some(hint) = &self.hint {
                eprintln!("hint: {}", printable(hint));
            }
        }
        ExitCode::from(self.exit as u8)
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
    icefield::ingest::ExportError
);

/// Whether an argument of ours is what is wrong.
fn is_usage(error: &Error) -> bool {
    error.downcast_ref::<icefield::LocationError>().is_some()
        || error.downcast_ref::<icefield::RevisionError>().is_some()
        || matches!(
            error.downcast_ref(),
            Some(icefield::ZarrStoreError::InvalidKey { .. })
        )
}

/// The message and those of its causes, each once.
fn chain(error: &Error) -> String {
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

/// What to do, where the message does not say it.
fn hint(error: &Error) -> Option<&'static str> {
    if let Some(icefield::RepositoryError::NotFound { .. }) = error.downcast_ref() {
        return Some("`icefield init LOCATION` creates one");
    }
    if let Some(Unsettled::CommitUnknown { .. }) = error.downcast_ref() {
        return Some(
            "`icefield log LOCATION` shows the history; do not import again before you have looked",
        );
    }
    Some(match error.kind() {
        ErrorKind::Unavailable => "try again; nothing was changed",
        ErrorKind::Corrupt => {
            "an older snapshot may still be whole: `icefield log` lists them, --ref ID reads one"
        }
        ErrorKind::NotFound => match error.downcast_ref() {
            Some(icefield::RepositoryError::Refs(refs)) => return refs_hint(refs),
            _ => return None,
        },
        _ => return None,
    })
}

fn refs_hint(error: &icefield::RefsError) -> Option<&'static str> {
    match error {
        icefield::RefsError::BranchNotFound(name) if name.as_str().contains('@') => {
            Some("a time is written in full, as main@2015-03-01T00:00:00Z")
        }
        icefield::RefsError::BranchNotFound(_) | icefield::RefsError::TagNotFound(_) => {
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
