//! What the SDK says, sorted by what may have happened.

use std::error::Error;
use std::io;

use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use icefield_storage::remote::{Fault, FaultKind};
use icefield_storage::{BoxError, Key, StorageError};

use crate::bucket::Bucket;
use crate::credentials::CredentialError;

/// An error answer of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) code: String,
}

/// Returns what the store answered, if it answered.
pub(crate) fn said<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> Option<Said> {
    match error {
        SdkError::ServiceError(inner) => {
            let code = error.code().unwrap_or_default().to_owned();
            let status = meant(inner.raw().status().as_u16(), &code);
            Some(Said { status, code })
        }
        _ => None,
    }
}

/// Returns the status that an error stands for. Of work that takes long, a store says "200" before it knows, and then
/// sends an error in the body.
fn meant(status: u16, code: &str) -> u16 {
    match (status, code) {
        (400.., _) | (300..=399, _) => status,
        (_, "PreconditionFailed") => 412,
        (_, "ConditionalRequestConflict" | "OperationAborted") => 409,
        (_, "NoSuchKey" | "NoSuchUpload" | "NoSuchBucket") => 404,
        (_, "AccessDenied") => 403,
        (_, "InvalidPart" | "InvalidPartOrder" | "EntityTooSmall" | "EntityTooLarge") => 400,
        _ => 500,
    }
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

    fn misconfigured(&self, setting: &'static str, problem: &str) -> Fault {
        StorageError::Misconfigured {
            target: self.store.to_owned(),
            setting,
            problem: problem.to_owned(),
        }
        .into()
    }

    /// Sorts an error.
    pub(crate) fn fault<E>(&self, error: SdkError<E, HttpResponse>) -> Fault
    where
        E: ProvideErrorMetadata + Error + Send + Sync + 'static,
    {
        if let Some(said) = said(&error) {
            let message = error.message().unwrap_or_default();
            let text = format!("the store said {} {} {message}", said.status, said.code);
            return self.answered(&said, Box::new(Redacted(words(&text))));
        }
        let source = Redacted::of(&error);
        let kind = match &error {
            SdkError::ConstructionFailure(_) => FaultKind::Final,
            _ if was_never_sent(&error) => FaultKind::Unreachable,
            _ => FaultKind::InDoubt,
        };
        if let Some(problem) = credential_problem(&error) {
            let fault = self.misconfigured("credentials", &problem);
            return Fault::new(FaultKind::Final, fault.error);
        }
        Fault::new(kind, self.unavailable(kind, source))
    }

    fn unavailable(&self, kind: FaultKind, source: BoxError) -> StorageError {
        let (action, target) = (self.action, self.name());
        match kind {
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
        }
    }

    fn answered(&self, said: &Said, source: BoxError) -> Fault {
        match (said.status, said.code.as_str()) {
            (_, "NoSuchBucket") => self.misconfigured("bucket", "there is no such bucket"),
            (_, "NoSuchUpload") => Fault::new(
                FaultKind::Vanished,
                self.unavailable(FaultKind::Vanished, source),
            ),
            (404, _) => match self.key {
                Some(key) => StorageError::NotFound { key: key.clone() }.into(),
                None => self.misconfigured("bucket", "there is no such bucket"),
            },
            (301 | 307, _)
            | (400, "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException") => self
                .misconfigured(
                    "region",
                    "the bucket is in another region, or behind another endpoint",
                ),
            (_, "RequestTimeTooSkewed") => self.misconfigured(
                "clock",
                "the store refuses the request because the clock of this machine is wrong",
            ),
            (_, "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired") => Fault::new(
                FaultKind::NotDone,
                StorageError::Misconfigured {
                    target: self.store.to_owned(),
                    setting: "credentials",
                    problem: "the credentials have expired".to_owned(),
                },
            ),
            (
                _,
                "InvalidAccessKeyId" | "SignatureDoesNotMatch" | "InvalidToken" | "NotSignedUp",
            ) => self.misconfigured("credentials", "the store does not accept the credentials"),
            (401 | 403, _) => StorageError::PermissionDenied {
                action: self.action,
                target: self.name(),
                source,
            }
            .into(),
            (_, "SlowDown" | "Throttling" | "ThrottlingException" | "RequestLimitExceeded") => {
                Fault::new(
                    FaultKind::Throttled,
                    self.unavailable(FaultKind::Throttled, source),
                )
            }
            (400, "RequestTimeout") => Fault::new(
                FaultKind::InDoubt,
                self.unavailable(FaultKind::InDoubt, source),
            ),
            (409, code)
                if !matches!(code, "ConditionalRequestConflict" | "OperationAborted" | "") =>
            {
                Fault::new(FaultKind::Final, self.unavailable(FaultKind::Final, source))
            }
            (status, _) => {
                let kind = Fault::kind_of_status(status).unwrap_or(FaultKind::Final);
                Fault::new(kind, self.unavailable(kind, source))
            }
        }
    }
}

impl Bucket {
    /// The fault of one key of a delete request of many.
    pub(crate) fn refused_delete(&self, key: &Key, code: &str) -> Fault {
        let kind = match code {
            "SlowDown" => FaultKind::Throttled,
            "InternalError" | "ServiceUnavailable" => FaultKind::InDoubt,
            _ => FaultKind::Final,
        };
        let (action, target) = ("delete", key.to_string());
        let source: BoxError = format!("the store said {code}").into();
        let error = match code {
            "AccessDenied" => StorageError::PermissionDenied {
                action,
                target,
                source,
            },
            _ if kind == FaultKind::Final => StorageError::Failed {
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
}

/// What the SDK said, as text: its own `Debug` shows whole requests.
#[derive(Debug)]
struct Redacted(String);

impl Redacted {
    fn of(error: &(dyn Error + 'static)) -> BoxError {
        let mut text = String::new();
        let mut next = Some(error);
        while let Some(error) = next {
            let said = error.to_string();
            if !text.ends_with(&said) {
                if !text.is_empty() {
                    text.push_str(": ");
                }
                text.push_str(&said);
            }
            next = error.source();
        }
        Box::new(Self(text))
    }
}

impl std::fmt::Display for Redacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Redacted {}

/// A text with one blank between words, and none at its end; a long one is cut.
fn words(text: &str) -> String {
    const LONGEST: usize = 600;
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(LONGEST).collect()
}

/// Whether there was not even a connection.
fn was_never_sent(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|error| {
        let refused = error.downcast_ref::<io::Error>();
        // That a host cannot be reached may also be said of a connection that there is.
        refused.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
            || ["dns error", "tcp connect error"]
                .iter()
                .any(|text| error.to_string().contains(text))
    })
}

fn credential_problem(error: &(dyn Error + 'static)) -> Option<String> {
    chain(error)
        .find_map(|error| error.downcast_ref::<CredentialError>())
        .map(ToString::to_string)
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| Error::source(*error))
}
