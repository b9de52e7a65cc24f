//! Errors of a store of `object_store`, sorted by what may have happened.
//!
//! Its errors keep the status of an answer in their text only, so that is where it is looked for.

use icefield_storage::StorageError;
use icefield_storage::remote::{Cause, Fault, FaultKind, Target};
use object_store::Error;
use object_store::path::Path;

/// Sorts an error. Conditions that did not hold are answers, and decided before. `address`: the setting that says where
/// the store is.
pub(crate) fn fault(target: Target<'_>, address: &'static str, error: Error) -> Fault {
    let text = text_of(&error);
    if says_no_container(&text) {
        return target.no_bucket("container");
    }
    if says_not_authenticated(&text) {
        return target.not_accepted().into();
    }
    if let Some(status) = redirect_in(&error, &text) {
        let problem = format!(
            "the server answers {status}, a redirect, which is not followed: give the address that it leads to"
        );
        return target.misconfigured(address, &problem).into();
    }
    let source = Cause::boxed(&text);
    match (&error, target.key.cloned()) {
        (Error::NotFound { .. }, _) => target.missing("container"),
        (Error::NotModified { .. }, Some(key)) => StorageError::NotModified { key }.into(),
        (Error::Precondition { .. }, Some(key)) => StorageError::PreconditionFailed { key }.into(),
        // 409: another client's write was under way.
        (Error::AlreadyExists { .. }, _) => target.of_kind(FaultKind::NotDone, source),
        (Error::PermissionDenied { .. }, _) => target.denied(source).into(),
        (Error::Unauthenticated { .. }, _) => target.not_accepted().into(),
        (
            Error::NotSupported { .. } | Error::NotImplemented { .. } | Error::InvalidPath { .. },
            _,
        ) => StorageError::Unsupported {
            store: target.store.to_owned(),
            what: format!("this {}: {source}", target.action),
        }
        .into(),
        (
            Error::Precondition { .. }
            | Error::NotModified { .. }
            | Error::UnknownConfigurationKey { .. },
            _,
        ) => target.of_kind(FaultKind::Final, source),
        (error, key) if does_not_say_the_size(error) => {
            let name = key.map_or_else(|| target.store.to_owned(), |key| key.to_string());
            StorageError::Unsupported {
                store: target.store.to_owned(),
                what: format!("reading {name}: it does not say how large it is"),
            }
            .into()
        }
        _ => match status_in(&text) {
            Some(401) => target.not_accepted().into(),
            Some(403) => target.denied(source).into(),
            Some(status) => {
                let kind = Fault::kind_of_status(status).unwrap_or(FaultKind::InDoubt);
                target.of_kind(kind, source)
            }
            None if never_sent(&error) => target.of_kind(FaultKind::Unreachable, source),
            None => target.of_kind(FaultKind::InDoubt, source),
        },
    }
}

/// Returns whether an error may say that a range does not fit the object: stores have no error for that.
pub(crate) fn may_be_about_the_range(error: &Error) -> bool {
    let generic = matches!(error, Error::Generic { .. });
    let status = status_in(&text_of(error));
    generic && matches!(status, None | Some(400 | 416)) && !is_transport(error)
}

/// Returns whether a server has answered with the whole object although a range was asked for.
pub(crate) fn ignored_the_range(error: &Error) -> bool {
    text_of(error).contains("non-partial response")
}

/// Returns whether an answer does not say how large the object is.
pub(crate) fn does_not_say_the_size(error: &Error) -> bool {
    text_of(error).contains("Content-Length Header missing")
}

fn says_no_container(text: &str) -> bool {
    ["ContainerNotFound", "NoSuchBucket"]
        .iter()
        .any(|code| text.contains(code))
}

/// Returns whether it is the signature that is wrong, which Azure answers like a missing permission, with 403.
fn says_not_authenticated(text: &str) -> bool {
    [
        "AuthenticationFailed",
        "InvalidAuthenticationInfo",
        "failed to authenticate the request",
    ]
    .iter()
    .any(|said| text.contains(said))
}

/// Returns whether an error, which `object_store` makes of every 409 to a create, is about an object that is there.
/// Others say that a lease is held, that a container is on its way out, or that another write is under way.
pub(crate) fn says_it_is_there(error: &Error) -> bool {
    let text = text_of(error);
    status_in(&text) != Some(409) || text.contains("BlobAlreadyExists")
}

/// Returns which of these paths an error is about, if it names one.
pub(crate) fn path_in<'a>(error: &Error, paths: &'a [Path]) -> Option<&'a Path> {
    let named = match error {
        Error::NotFound { path, .. }
        | Error::AlreadyExists { path, .. }
        | Error::Precondition { path, .. }
        | Error::PermissionDenied { path, .. }
        | Error::Unauthenticated { path, .. } => Some(path),
        _ => None,
    };
    if let Some(named) = named {
        return paths.iter().find(|path| path.as_ref() == named);
    }
    // One of a batch of Azure.
    let text = text_of(error);
    let is_of = |path: &&Path| text.contains(&format!(" failed for key {path}: "));
    paths.iter().find(is_of)
}

/// Returns the HTTP status that an error mentions.
fn status_in(text: &str) -> Option<u16> {
    // The second is how one of a batch is told.
    let marks = ["status code: ", " (code: "];
    let found = marks.iter().find_map(|mark| text.split_once(mark));
    found?.1.get(..3)?.parse().ok()
}

/// Returns the status of an answer that sends the client elsewhere.
fn redirect_in(error: &Error, text: &str) -> Option<u16> {
    // 304, which has an error of its own, sends the client nowhere.
    if matches!(error, Error::NotModified { .. }) {
        return None;
    }
    status_in(text).filter(|status| matches!(status, 300..=303 | 305..=399))
}

#[cfg(any(feature = "azure", feature = "http"))]
fn transport(error: &Error) -> Option<object_store::client::HttpErrorKind> {
    Cause::chain(error)
        .find_map(|cause| cause.downcast_ref::<object_store::client::HttpError>())
        .map(object_store::client::HttpError::kind)
}

/// Whether there was not even a connection.
#[cfg(any(feature = "azure", feature = "http"))]
fn never_sent(error: &Error) -> bool {
    transport(error) == Some(object_store::client::HttpErrorKind::Connect)
}

#[cfg(not(any(feature = "azure", feature = "http")))]
fn never_sent(error: &Error) -> bool {
    Cause::chain(error)
        .find_map(|cause| cause.downcast_ref::<std::io::Error>())
        .is_some_and(|io| io.kind() == std::io::ErrorKind::ConnectionRefused)
}

#[cfg(any(feature = "azure", feature = "http"))]
fn is_transport(error: &Error) -> bool {
    transport(error).is_some()
}

#[cfg(not(any(feature = "azure", feature = "http")))]
fn is_transport(_error: &Error) -> bool {
    false
}

fn text_of(error: &Error) -> String {
    Cause::text(error)
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use icefield_storage::Key;

    use super::*;

    fn generic(text: &str) -> Error {
        Error::Generic {
            store: "Test",
            source: text.to_owned().into(),
        }
    }

    fn fault(error: Error) -> Fault {
        let key = Key::parse("a/b").expect("a key");
        let target = Target {
            action: "read",
            store: "test",
            key: Some(&key),
        };
        super::fault(target, "endpoint", error)
    }

    #[test]
    fn statuses_are_found_in_the_text() {
        let said = |status: &str| {
            fault(generic(&format!(
                "Server returned non-2xx status code: {status}: <xml>"
            )))
        };
        assert_eq!(said("503 Service Unavailable").kind, FaultKind::InDoubt);
        assert_eq!(said("429 Too Many Requests").kind, FaultKind::Throttled);
        assert_eq!(said("500 Internal").kind, FaultKind::InDoubt);
        assert_eq!(said("409 Conflict").kind, FaultKind::NotDone);
        assert_eq!(said("400 Bad Request").kind, FaultKind::Final);
        assert_eq!(fault(generic("connection reset")).kind, FaultKind::InDoubt);
        let denied = said("403 Forbidden");
        assert!(matches!(
            denied.error,
            StorageError::PermissionDenied { .. }
        ));
    }

    #[test]
    fn a_missing_container_is_a_wrong_setting() {
        let source = "404: ContainerNotFound".to_owned().into();
        let path = "a/b".to_owned();
        let found = fault(Error::NotFound { path, source });
        let setting = |error| match error {
            StorageError::Misconfigured { setting, .. } => setting,
            other => panic!("{other:?}"),
        };
        assert_eq!(setting(found.error), "container");
    }

    #[test]
    fn not_every_conflict_says_that_an_object_is_there() {
        let said = |text: &str| {
            let (path, source) = ("a/b".to_owned(), text.to_owned().into());
            says_it_is_there(&Error::AlreadyExists { path, source })
        };
        let answer = |text: &str| said(&format!("Server returned non-2xx status code: {text}"));
        assert!(said("Object already exists at that location: a/b"));
        assert!(answer("412 Precondition Failed: "));
        assert!(answer(
            "409 Conflict: <Error><Code>BlobAlreadyExists</Code></Error>"
        ));
        assert!(!answer("409 Conflict: "));
        assert!(!answer(
            "409 Conflict: <Error><Code>ContainerBeingDeleted</Code></Error>"
        ));
    }

    #[test]
    fn one_of_a_batch_is_told_by_its_path() {
        let paths = ["a", "a/b"].map(|path| Path::parse(path).expect("a path"));
        let told = |code: &str| {
            generic(&format!(
                "Bulk delete request failed for key a/b: Said (code: {code})"
            ))
        };
        assert_eq!(path_in(&told("429"), &paths), Some(&paths[1]));
        assert_eq!(fault(told("429")).kind, FaultKind::Throttled);
        assert!(matches!(
            fault(told("403")).error,
            StorageError::PermissionDenied { .. }
        ));
        assert_eq!(path_in(&generic("connection reset"), &paths), None);
    }

    #[test]
    fn a_redirect_is_a_wrong_address() {
        for status in ["301 Moved Permanently", "307 Temporary Redirect"] {
            let text = format!("Server returned non-2xx status code: {status}: ");
            let found = fault(generic(&text));
            assert_eq!(found.kind, FaultKind::Final);
            match found.error {
                StorageError::Misconfigured {
                    setting: "endpoint",
                    problem,
                    ..
                } => assert!(problem.contains(&status[..3]), "{problem}"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_wrong_key_is_not_a_missing_permission() {
        let said = |source: &str| {
            let (path, source) = ("a/b".to_owned(), source.to_owned().into());
            fault(Error::PermissionDenied { path, source }).error
        };
        let wrong = said("403: Server failed to authenticate the request.");
        assert!(
            matches!(
                wrong,
                StorageError::Misconfigured {
                    setting: "credentials",
                    ..
                }
            ),
            "{wrong:?}"
        );
        let denied = said("403: AuthorizationPermissionMismatch");
        assert!(
            matches!(denied, StorageError::PermissionDenied { .. }),
            "{denied:?}"
        );
    }

    #[test]
    fn signatures_are_not_shown() {
        let error = generic("GET https://x.blob/c/a?sv=1&sig=SECRET in 2ms - reset");
        let fault = fault(error);
        let shown = format!(
            "{:?} {:?}",
            fault,
            fault.error.source().map(ToString::to_string)
        );
        assert!(!shown.contains("SECRET"), "{shown}");
        assert!(shown.contains("https://x.blob/c/a?…"), "{shown}");
    }
}
