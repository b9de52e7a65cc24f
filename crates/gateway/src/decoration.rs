//! The headers of every response, also of failures: a browser that may not see a 404 takes it for a broken server.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL,
    CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, VARY, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{Response, StatusCode};

use crate::body::Body;
use crate::guard::{allowed_origin, is_by_script};
use crate::settings::{Origins, Settings};
use crate::transfer::set;

const METHODS: &str = "GET, HEAD, OPTIONS";
/// Headers that scripts may read.
const EXPOSED: &str = "ETag, Content-Range, Accept-Ranges, Content-Encoding, X-Icefield-Snapshot, X-Icefield-Consolidated";
/// Headers that scripts may send.
const ALLOWED: &str = "Range, If-Match, If-None-Match, If-Range, Authorization, Cache-Control";
/// Data are no page, whatever their bytes look like.
const DATA_POLICY: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The response to a question for options.
pub(crate) fn options() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    set(response.headers_mut(), ALLOW, METHODS);
    response
}

/// Sets the headers that every response has.
pub(crate) fn finish(request: &Parts, response: &mut Response<Body>, settings: &Settings) {
    let status = response.status();
    let is_options = request.method == http::Method::OPTIONS;
    let fields = response.headers_mut();
    fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if !fields.contains_key(CONTENT_SECURITY_POLICY) {
        set(fields, CONTENT_SECURITY_POLICY, DATA_POLICY);
    }
    if !fields.contains_key(CACHE_CONTROL) {
        set(fields, CACHE_CONTROL, "no-store");
    }
    if status == StatusCode::METHOD_NOT_ALLOWED {
        set(fields, ALLOW, METHODS);
    }
    if status == StatusCode::UNAUTHORIZED {
        // To `Basic`, a browser shows a dialogue, in the middle of what a page does.
        let challenge = match is_by_script(&request.headers) {
            true => "Bearer realm=\"icefield\"",
            false => "Basic realm=\"icefield\", charset=\"UTF-8\"",
        };
        set(fields, WWW_AUTHENTICATE, challenge);
    }
    if settings.origins == Origins::None {
        set(fields, RESOURCE_POLICY, "same-origin");
        return;
    }
    if let Origins::Only(_) = settings.origins {
        fields.append(VARY, HeaderValue::from_static("Origin"));
    }
    let Some(origin) = allowed_origin(&request.headers, &settings.origins) else {
        set(fields, RESOURCE_POLICY, "same-origin");
        return;
    };
    set(fields, RESOURCE_POLICY, "cross-origin");
    set(fields, ACCESS_CONTROL_ALLOW_ORIGIN, &origin);
    set(fields, ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    if is_options {
        set(fields, ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        set(fields, ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED);
        set(fields, ACCESS_CONTROL_MAX_AGE, "7200");
    }
}
