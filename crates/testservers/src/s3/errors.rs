//! Refusals in the words of S3.

use http::{HeaderValue, StatusCode};
use s3s::{S3Error, S3ErrorCode, s3_error};

use crate::body::{Response, full};
use crate::world::Refusal;
use crate::{Answer, switches::Behaviour};

/// Words a refusal of a write or a read of one object.
pub(super) fn refusal(refusal: Refusal, behaviour: &Behaviour) -> S3Error {
    match refusal {
        Refusal::NoBucket => s3_error!(NoSuchBucket, "The specified bucket does not exist"),
        Refusal::Missing if behaviour.missing_is_forbidden => {
            s3_error!(AccessDenied, "Access Denied")
        }
        Refusal::Missing => s3_error!(NoSuchKey, "The specified key does not exist."),
        Refusal::Failed => s3_error!(
            PreconditionFailed,
            "At least one of the pre-conditions you specified did not hold"
        ),
        Refusal::NotModified => {
            let mut error = S3Error::new(S3ErrorCode::NotModified);
            error.set_status_code(StatusCode::NOT_MODIFIED);
            error
        }
        Refusal::TooSoon => s3_error!(SlowDown, "Please reduce your request rate."),
        Refusal::NoUpload => s3_error!(NoSuchUpload, "The specified upload does not exist."),
        Refusal::BadPart => s3_error!(
            InvalidPart,
            "One or more of the specified parts could not be found."
        ),
        Refusal::PartOrder => s3_error!(
            InvalidPartOrder,
            "The list of parts was not in ascending order."
        ),
        Refusal::PartTooSmall => s3_error!(
            EntityTooSmall,
            "Your proposed upload is smaller than the minimum allowed size"
        ),
        Refusal::TooMuch => s3_error!(
            EntityTooLarge,
            "Your proposed upload exceeds the maximum allowed size"
        ),
    }
}

/// Like [`refusal`], for a write: a missing object is then one that `If-Match` demands.
pub(super) fn write_refusal(why: Refusal, behaviour: &Behaviour) -> S3Error {
    if why == Refusal::Missing && behaviour.if_match_on_missing_is_412 {
        return refusal(Refusal::Failed, behaviour);
    }
    refusal(why, behaviour)
}

/// Returns an answer as the service would send it.
pub(super) fn answer(answer: &Answer, key: &str) -> Response {
    let escaped = key
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{code}</Code>\
         <Message>{code}, as the test asked</Message><Resource>{escaped}</Resource>\
         <RequestId>0</RequestId></Error>",
        code = answer.code,
    );
    let mut response = Response::new(full(text));
    *response.status_mut() =
        StatusCode::from_u16(answer.status).expect("a test asks for a status between 100 and 999");
    let headers = response.headers_mut();
    headers.insert("content-type", HeaderValue::from_static("application/xml"));
    if answer.code == "PermanentRedirect" {
        headers.insert(
            "x-amz-bucket-region",
            HeaderValue::from_static("eu-elsewhere-1"),
        );
    }
    response
}
