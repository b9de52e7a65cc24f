//! Errors of the client, sorted by what may have happened.

use std::io;

use google_cloud_gax::error::Error;
use google_cloud_gax::error::rpc::Code;
use icefield_storage::remote::{Cause, Fault, FaultKind, Target};
use icefield_storage::{BoxError, StorageError};

/// The answer of the store, if it answered, whatever it was asked over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorAnswer {
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
pub(crate) fn answer_of(error: &Error) -> Option<ErrorAnswer> {
    if let Some(status) = error.http_status_code() {
        return Some(match status {
            304 => ErrorAnswer::NotModified,
            401 => ErrorAnswer::Unauthenticated,
            403 => ErrorAnswer::Denied,
            404 => ErrorAnswer::Missing,
            412 => ErrorAnswer::Precondition,
            416 => ErrorAnswer::Range,
            status => {
                ErrorAnswer::Kind(Fault::kind_of_status(status).unwrap_or(FaultKind::InDoubt))
            }
        });
    }
    Some(match error.status()?.code {
        Code::NotFound => ErrorAnswer::Missing,
        Code::FailedPrecondition => ErrorAnswer::Precondition,
        Code::Unauthenticated => ErrorAnswer::Unauthenticated,
        Code::PermissionDenied => ErrorAnswer::Denied,
        Code::ResourceExhausted => ErrorAnswer::Kind(FaultKind::Throttled),
        // Another client's change was under way: nothing was decided.
        Code::Aborted => ErrorAnswer::Kind(FaultKind::NotDone),
        Code::InvalidArgument | Code::OutOfRange | Code::Unimplemented | Code::AlreadyExists => {
            ErrorAnswer::Kind(FaultKind::Final)
        }
        // The client says `UNAVAILABLE` of a connection that broke, too, so that more may have been done.
        _ => ErrorAnswer::Kind(FaultKind::InDoubt),
    })
}

/// Returns whether it is the bucket that is missing.
pub(crate) fn says_no_bucket(error: &Error) -> bool {
    text_of(error)
        .to_lowercase()
        .contains("bucket does not exist")
}

/// Returns what was said, as a cause.
pub(crate) fn cause(error: &Error) -> BoxError {
    Cause::boxed(&text_of(error))
}

/// Sorts an error. A missing object is [`StorageError::NotFound`], a condition that did not hold
/// [`StorageError::PreconditionFailed`]: of a write, neither is an error, and both are decided before.
pub(crate) fn fault(target: Target<'_>, error: &Error) -> Fault {
    let text = text_of(error);
    let source = cause(error);
    let key = target.key.cloned();
    match (answer_of(error), key) {
        (Some(ErrorAnswer::Missing), _) if says_no_bucket(error) => target.no_bucket("bucket"),
        (Some(ErrorAnswer::Missing), _) => target.missing("bucket"),
        (Some(ErrorAnswer::Precondition), Some(key)) => {
            StorageError::PreconditionFailed { key }.into()
        }
        (Some(ErrorAnswer::NotModified), Some(key)) => StorageError::NotModified { key }.into(),
        (Some(ErrorAnswer::Precondition | ErrorAnswer::NotModified | ErrorAnswer::Range), _) => {
            target.of_kind(FaultKind::Final, source)
        }
        (Some(ErrorAnswer::Unauthenticated), _) => target.not_accepted().into(),
        (Some(ErrorAnswer::Denied), _) => target.denied(source).into(),
        (Some(ErrorAnswer::Kind(FaultKind::Final)), _) if text.contains("requester pays") => target
            .misconfigured(
                "user_project",
                "this bucket charges the requester, and no project is named",
            )
            .into(),
        (Some(ErrorAnswer::Kind(FaultKind::InDoubt)), _) if was_refused(error) => {
            target.of_kind(FaultKind::Unreachable, source)
        }
        (Some(ErrorAnswer::Kind(kind)), _) => target.of_kind(kind, source),
        (None, _) => unanswered(target, error, source),
    }
}

fn unanswered(target: Target<'_>, error: &Error, source: BoxError) -> Fault {
    if error.is_authentication() && !error.is_transient_and_before_rpc() {
        let problem = format!("there are none: {source}");
        return target.misconfigured("credentials", &problem).into();
    }
    let never_sent = error.is_transient_and_before_rpc() || was_refused(error);
    let kind = match error {
        _ if never_sent => FaultKind::Unreachable,
        // The request could not even be put together.
        error if error.is_binding() => FaultKind::Final,
        _ => FaultKind::InDoubt,
    };
    target.of_kind(kind, source)
}

/// Whether there was not even a connection.
fn was_refused(error: &Error) -> bool {
    Cause::chain(error).any(|cause| {
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

fn text_of(error: &Error) -> String {
    Cause::text(error)
}

#[cfg(test)]
mod tests {
    use google_cloud_gax::error::rpc::Status;
    use http::HeaderMap;
    use icefield_storage::Key;

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
        let kind = |error| fault(target(&key), &error).kind;
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
            assert!(fault(target(&key), &missing).error.is_not_found());
        }
        for missing in [
            http(404, "The specified bucket does not exist."),
            grpc(Code::NotFound, "The specified bucket does not exist."),
        ] {
            let error = fault(target(&key), &missing).error;
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
