//! What the client says, sorted by what may have happened.

use std::error::Error as StdError;
use std::{fmt, io};

use google_cloud_gax::error::Error;
use google_cloud_gax::error::rpc::Code;
use icefield_storage::remote::{Fault, FaultKind};
use icefield_storage::{BoxError, Key, StorageError};

/// The longest text of a cause that is kept.
const LONGEST: usize = 600;

/// What the store answered, if it answered, whatever it was asked over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// 404, `NOT_FOUND`: the object, unless [`says_no_bucket`].
    Missing,
    /// 412, `FAILED_PRECONDITION`.
    Precondition,
    /// 304.
    NotModified,
    /// 416.
    Range,
    /// 401, `UNAUTHENTICATED`.
    Unauthenticated,
    /// 403, `PERMISSION_DENIED`.
    Denied,
    /// Anything else that has a kind of its own.
    Kind(FaultKind),
}

/// Returns what the store answered: the HTTP status before the code of gRPC, which is made up where there is both.
pub(crate) fn said(error: &Error) -> Option<Said> {
    if let Some(status) = error.http_status_code() {
        return Some(match status {
            304 => Said::NotModified,
            401 => Said::Unauthenticated,
            403 => Said::Denied,
            404 => Said::Missing,
            412 => Said::Precondition,
            416 => Said::Range,
            status => Said::Kind(Fault::kind_of_status(status).unwrap_or(FaultKind::InDoubt)),
        });
    }
    Some(match error.status()?.code {
        Code::NotFound => Said::Missing,
        Code::FailedPrecondition => Said::Precondition,
        Code::Unauthenticated => Said::Unauthenticated,
        Code::PermissionDenied => Said::Denied,
        Code::ResourceExhausted => Said::Kind(FaultKind::Throttled),
        // Somebody else's change was under way: nothing was decided.
        Code::Aborted => Said::Kind(FaultKind::NotDone),
        Code::InvalidArgument | Code::OutOfRange | Code::Unimplemented | Code::AlreadyExists => {
            Said::Kind(FaultKind::Final)
        }
        // The client says `UNAVAILABLE` of a connection that broke, too, so that more may have been done.
        _ => Said::Kind(FaultKind::InDoubt),
    })
}

/// Returns whether it is the bucket that is missing.
pub(crate) fn says_no_bucket(error: &Error) -> bool {
    text_of(error)
        .to_lowercase()
        .contains("bucket does not exist")
}

/// Where a request went, for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) action: &'static str,
    pub(crate) store: &'a str,
    pub(crate) key: Option<&'a Key>,
}

impl Target<'_> {
    fn name(&self) -> String {
        self.key
            .map_or_else(|| self.store.to_owned(), Key::to_string)
    }

    pub(crate) fn misconfigured(&self, setting: &'static str, problem: &str) -> StorageError {
        StorageError::Misconfigured {
            target: self.store.to_owned(),
            setting,
            problem: problem.to_owned(),
        }
    }

    pub(crate) fn no_bucket(&self) -> Fault {
        self.misconfigured("bucket", "there is no such bucket")
            .into()
    }

    /// Returns the fault of a kind with its cause.
    pub(crate) fn of_kind(&self, kind: FaultKind, source: BoxError) -> Fault {
        let (action, target) = (self.action, self.name());
        let error = match kind {
            FaultKind::Final => StorageError::Failed {
                action,
                target,
                source,
            },
            FaultKind::Throttled => StorageError::Throttled {
                action,
                target,
                source,
            },
            _ => StorageError::Unavailable {
                action,
                target,
                source,
            },
        };
        Fault::new(kind, error)
    }

    /// Returns what was said, as a cause.
    pub(crate) fn cause(&self, error: &Error) -> BoxError {
        Box::new(Redacted(shortened(&text_of(error))))
    }

    /// Sorts an error. A missing object is [`StorageError::NotFound`], a condition that did not hold
    /// [`StorageError::PreconditionFailed`]: of a write, neither is an error, and both are decided before.
    pub(crate) fn fault(&self, error: &Error) -> Fault {
        let text = text_of(error);
        let source = self.cause(error);
        match said(error) {
            Some(Said::Missing) if says_no_bucket(error) => self.no_bucket(),
            Some(Said::Missing) => match self.key {
                Some(key) => StorageError::NotFound { key: key.clone() }.into(),
                None => self.no_bucket(),
            },
            Some(Said::Precondition) => match self.key {
                Some(key) => StorageError::PreconditionFailed { key: key.clone() }.into(),
                None => self.of_kind(FaultKind::Final, source),
            },
            Some(Said::NotModified) => match self.key {
                Some(key) => StorageError::NotModified { key: key.clone() }.into(),
                None => self.of_kind(FaultKind::Final, source),
            },
            Some(Said::Range) => self.of_kind(FaultKind::Final, source),
            Some(Said::Unauthenticated) => self
                .misconfigured("credentials", "the store does not accept the credentials")
                .into(),
            Some(Said::Denied) => StorageError::PermissionDenied {
                action: self.action,
                target: self.name(),
                source,
            }
            .into(),
            Some(Said::Kind(FaultKind::Final)) if text.contains("requester pays") => self
                .misconfigured(
                    "user_project",
                    "whoever asks this bucket pays, and no project is named",
                )
                .into(),
            Some(Said::Kind(FaultKind::InDoubt)) if was_refused(error) => {
                self.of_kind(FaultKind::Unreachable, source)
            }
            Some(Said::Kind(kind)) => self.of_kind(kind, source),
            None => self.unanswered(error, source),
        }
    }

    fn unanswered(&self, error: &Error, source: BoxError) -> Fault {
        if error.is_authentication() && !error.is_transient_and_before_rpc() {
            let problem = format!("there are none: {source}");
            return self.misconfigured("credentials", &problem).into();
        }
        let never_sent = error.is_transient_and_before_rpc() || was_refused(error);
        let kind = match error {
            _ if never_sent => FaultKind::Unreachable,
            // The request could not even be put together.
            error if error.is_binding() => FaultKind::Final,
            _ => FaultKind::InDoubt,
        };
        self.of_kind(kind, source)
    }
}

/// Whether there was not even a connection.
fn was_refused(error: &Error) -> bool {
    chain(error).any(|cause| {
        let refused = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        matches!(
            refused,
            Some(
                io::ErrorKind::ConnectionRefused
                    | io::ErrorKind::HostUnreachable
                    | io::ErrorKind::NetworkUnreachable
            )
        ) || cause.to_string().contains("dns error")
    })
}

/// What was said, as text: the client's own `Debug` shows headers.
#[derive(Debug)]
struct Redacted(String);

impl fmt::Display for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for Redacted {}

fn text_of(error: &Error) -> String {
    let mut text = String::new();
    for cause in chain(error) {
        let said = cause.to_string();
        if !text.contains(&said) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&said);
        }
    }
    text
}

fn chain(error: &Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    let first: &(dyn StdError + 'static) = error;
    std::iter::successors(Some(first), |cause| (*cause).source())
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use google_cloud_gax::error::rpc::Status;
    use http::HeaderMap;

    use super::*;

    fn target(key: &Key) -> Target<'_> {
        Target {
            action: "read",
            store: "gs://bucket",
            key: Some(key),
        }
    }

    fn http(status: u16, text: &'static str) -> Error {
        Error::http(status, HeaderMap::new(), text.into())
    }

    fn grpc(code: Code, text: &str) -> Error {
        Error::service(Status::default().set_code(code).set_message(text))
    }

    #[test]
    fn both_interfaces_follow_one_table() {
        let key = Key::parse("a/b").expect("a key");
        let kind = |error| target(&key).fault(&error).kind;
        for (error, wanted) in [
            (http(429, ""), FaultKind::Throttled),
            (http(503, ""), FaultKind::InDoubt),
            (grpc(Code::ResourceExhausted, ""), FaultKind::Throttled),
            (http(500, ""), FaultKind::InDoubt),
            (http(408, ""), FaultKind::InDoubt),
            (grpc(Code::Unavailable, ""), FaultKind::InDoubt),
            (grpc(Code::Internal, ""), FaultKind::InDoubt),
            (grpc(Code::DeadlineExceeded, ""), FaultKind::InDoubt),
            (Error::io("reset"), FaultKind::InDoubt),
            (Error::timeout("late"), FaultKind::InDoubt),
            (http(409, ""), FaultKind::NotDone),
            (grpc(Code::Aborted, ""), FaultKind::NotDone),
            (Error::connect("refused"), FaultKind::Unreachable),
            (http(400, ""), FaultKind::Final),
            (grpc(Code::InvalidArgument, ""), FaultKind::Final),
        ] {
            let shown = error.to_string();
            assert_eq!(kind(error), wanted, "{shown}");
        }
    }

    #[test]
    fn missing_is_the_object_or_the_bucket() {
        let key = Key::parse("a/b").expect("a key");
        for missing in [http(404, "No such object"), grpc(Code::NotFound, "none")] {
            assert!(target(&key).fault(&missing).error.is_not_found());
        }
        for missing in [
            http(404, "The specified bucket does not exist."),
            grpc(Code::NotFound, "The specified bucket does not exist."),
        ] {
            let error = target(&key).fault(&missing).error;
            assert!(
                matches!(
                    &error,
                    StorageError::Misconfigured {
                        setting: "bucket",
                        ..
                    }
                ),
                "{error:?}"
            );
        }
    }
}
