//! Refusals in the words of GCS, over HTTP and over gRPC.

use http::{HeaderValue, StatusCode};
use serde_json::json;

use crate::Answer;
use crate::body::{Response, full};
use crate::switches::Behaviour;
use crate::world::Refusal;

/// Why a request failed.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) status: u16,
    pub(super) reason: String,
}

impl Failure {
    pub(super) fn new(status: u16, reason: &str) -> Self {
        let reason = reason.to_owned();
        Self { status, reason }
    }

    /// Words a refusal.
    pub(super) fn of(refusal: Refusal, behaviour: &Behaviour) -> Self {
        match refusal {
            Refusal::Missing if behaviour.missing_is_forbidden => Self::new(403, "forbidden"),
            // In the service's own words: only they tell a bucket from an object.
            Refusal::NoBucket => Self::new(404, "The specified bucket does not exist."),
            Refusal::Missing | Refusal::NoUpload => Self::new(404, "notFound"),
            Refusal::Failed => Self::new(412, "conditionNotMet"),
            Refusal::NotModified => Self::new(304, "notModified"),
            Refusal::TooSoon => Self::new(429, "rateLimitExceeded"),
            Refusal::BadPart | Refusal::PartOrder | Refusal::PartTooSmall | Refusal::TooMuch => {
                Self::new(400, "invalid")
            }
        }
    }

    /// Returns the failure as a reply over HTTP.
    pub(super) fn response(&self) -> Response {
        let status = self.status;
        let message = format!("{}: refused by the test server", self.reason);
        let error = json!({ "error": {
            "code": status,
            "message": message,
            "errors": [{ "message": message, "domain": "global", "reason": self.reason }],
        }});
        let bytes = if status == 304 {
            String::new()
        } else {
            error.to_string()
        };
        let mut response = Response::new(full(bytes));
        *response.status_mut() =
            StatusCode::from_u16(status).expect("a test asks for a status between 100 and 999");
        let json = HeaderValue::from_static("application/json; charset=UTF-8");
        response.headers_mut().insert("content-type", json);
        response
    }

    /// Returns the code of gRPC that Google's services use in place of the HTTP status.
    pub(super) fn grpc_code(&self) -> u32 {
        match self.status {
            400 | 416 => 3,
            401 => 16,
            403 => 7,
            404 => 5,
            408 | 504 => 4,
            409 | 304 => 10,
            412 => 9,
            429 => 8,
            501 => 12,
            502 | 503 => 14,
            _ => 13,
        }
    }
}

impl From<&Answer> for Failure {
    fn from(answer: &Answer) -> Self {
        // GCS says with 401 of credentials that have expired what S3 says with 403.
        let status = match answer.code.as_str() {
            "ExpiredToken" => 401,
            _ => answer.status,
        };
        Self::new(status, &answer.code)
    }
}
