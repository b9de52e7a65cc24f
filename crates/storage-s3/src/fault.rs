//! Errors of the SDK, sorted by what may have happened.

use std::error::Error;
use std::io;

use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use icefield_storage::BoxError;
use icefield_storage::remote::{Cause, Fault, FaultKind, NoSecret, Target};

/// An error answer of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ErrorAnswer {
    pub(crate) status: u16,
    pub(crate) code: String,
}

/// Returns what the store answered, if it answered.
pub(crate) fn answer_of<E: ProvideErrorMetadata>(
    error: &SdkError<E, HttpResponse>,
) -> Option<ErrorAnswer> {
    match error {
        SdkError::ServiceError(inner) => {
            let code = error.code().unwrap_or_default().to_owned();
            let status = meant(inner.raw().status().as_u16(), &code);
            Some(ErrorAnswer { status, code })
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

/// Sorts an error.
pub(crate) fn fault<E>(target: Target<'_>, error: SdkError<E, HttpResponse>) -> Fault
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    if let Some(answer) = answer_of(&error) {
        let message = error.message().unwrap_or_default();
        let text = format!("the store said {} {} {message}", answer.status, answer.code);
        return answered(target, &answer, Cause::boxed(&text));
    }
    if let Some(problem) = credential_problem(&error) {
        let problem = format!("the credentials could not be renewed: {problem}");
        return target.misconfigured("credentials", &problem).into();
    }
    let kind = match &error {
        SdkError::ConstructionFailure(_) => FaultKind::Final,
        _ if was_never_sent(&error) => FaultKind::Unreachable,
        _ => FaultKind::InDoubt,
    };
    target.of_kind(kind, Cause::boxed(&Cause::text(&error)))
}

fn answered(target: Target<'_>, answer: &ErrorAnswer, source: BoxError) -> Fault {
    match (answer.status, answer.code.as_str()) {
        (_, "NoSuchBucket") => target.no_bucket("bucket"),
        (_, "NoSuchUpload") => target.of_kind(FaultKind::Vanished, source),
        (404, _) => target.missing("bucket"),
        (301 | 307, _)
        | (400, "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException") => target
            .misconfigured(
                "region",
                "the bucket is in another region, or behind another endpoint",
            )
            .into(),
        (_, "RequestTimeTooSkewed") => target
            .misconfigured(
                "clock",
                "the store refuses the request because the clock of this machine is wrong",
            )
            .into(),
        (_, "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired") => Fault::new(
            FaultKind::NotDone,
            target.misconfigured("credentials", "the credentials have expired"),
        ),
        (_, "InvalidAccessKeyId" | "SignatureDoesNotMatch" | "InvalidToken" | "NotSignedUp") => {
            target.not_accepted().into()
        }
        (401 | 403, _) => target.denied(source).into(),
        (_, "SlowDown" | "Throttling" | "ThrottlingException" | "RequestLimitExceeded") => {
            target.of_kind(FaultKind::Throttled, source)
        }
        (400, "RequestTimeout") => target.of_kind(FaultKind::InDoubt, source),
        (409, code) if !matches!(code, "ConditionalRequestConflict" | "OperationAborted" | "") => {
            target.of_kind(FaultKind::Final, source)
        }
        (status, _) => {
            let kind = Fault::kind_of_status(status).unwrap_or(FaultKind::Final);
            target.of_kind(kind, source)
        }
    }
}

/// Whether there was not even a connection.
fn was_never_sent(error: &(dyn Error + 'static)) -> bool {
    Cause::chain(error).any(|error| {
        let refused = error.downcast_ref::<io::Error>();
        // That a host cannot be reached may also be said of a connection that there is.
        refused.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
            || ["dns error", "tcp connect error"]
                .iter()
                .any(|text| error.to_string().contains(text))
    })
}

fn credential_problem(error: &(dyn Error + 'static)) -> Option<String> {
    Cause::chain(error)
        .find_map(|error| error.downcast_ref::<NoSecret>())
        .map(ToString::to_string)
}
