//! Small responses.

use http::Response;
use http::header::{CONTENT_TYPE, HeaderName};
use http::request::Parts;

use crate::body::Body;
use crate::failure::Failure;
use crate::transfer::{is_misread, set, undecodable};

/// The header that names the snapshot that a response was read from.
pub(crate) const SNAPSHOT: HeaderName = HeaderName::from_static("x-icefield-snapshot");

/// A response before the headers that all have.
pub(crate) type Answer = Result<Response<Body>, Failure>;

/// The response of a failure.
pub(crate) fn plain(failure: &Failure) -> Response<Body> {
    let mut response = text(&format!("{}\n", failure.message));
    *response.status_mut() = failure.status;
    response
}

/// The response of a failure of something that is no document and no list. To a client that takes any status for absence
/// it is a chunk that cannot be decoded.
pub(crate) fn failed(failure: &Failure, request: &Parts) -> Response<Body> {
    match is_misread(failure, request) {
        true => undecodable(failure, None),
        false => plain(failure),
    }
}

/// A response of text.
pub(crate) fn text(text: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(text.to_owned()));
    set(
        response.headers_mut(),
        CONTENT_TYPE,
        "text/plain; charset=utf-8",
    );
    response
}

/// A response of JSON.
pub(crate) fn json(document: &serde_json::Value) -> Response<Body> {
    let mut response = Response::new(Body::from(document.to_string()));
    set(
        response.headers_mut(),
        CONTENT_TYPE,
        "application/json; charset=utf-8",
    );
    response
}
