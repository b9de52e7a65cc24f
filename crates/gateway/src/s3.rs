//! Read-only S3, on a port of its own, for programs that read Zarr from buckets only.
//!
//! A bucket is a repository, `NAME-v2` its view in Zarr v2; a key is `REF/path`. Paths are in path style, requests may be
//! unsigned, and signatures are ignored: a server that asks for tokens has no S3.

mod listing;
mod pages;
mod xml;

use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LAST_MODIFIED};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use percent_encoding::percent_decode_str;

use listing::{ListRequest, list};
use xml::{buckets, document, error, page};

use crate::admission::Caller;
use crate::body::Body;
use crate::data::{self, DataRequest};
use crate::decoration;
use crate::failure::Failure;
use crate::guard;
use crate::mount::Mount;
use crate::observation::Observation;
use crate::route::View;
use crate::state::State;
use crate::target::Target;
use crate::transfer::{is_misread, set, undecodable};

/// The end of the name of a bucket that shows Zarr v2.
pub(crate) const V2: &str = "-v2";

/// Answers a request in the protocol of S3.
pub(crate) async fn answer(
    state: &State,
    request: &Parts,
    caller: &Caller,
) -> (Response<Body>, Observation) {
    let mut observation = Observation::begin(request, caller, &*state.clock);
    let _running = state.metrics.running();
    observation.route = "s3";
    let answer = match guard::check(request, caller, &state.settings) {
        Ok(()) => respond(state, request, caller, &mut observation).await,
        Err(failure) => Err(failure),
    };
    let mut response = answer.unwrap_or_else(|mut failure| {
        if failure.status == StatusCode::METHOD_NOT_ALLOWED {
            failure.status = StatusCode::FORBIDDEN;
        }
        match is_chunk_path(request) && is_misread(&failure, request) {
            true => undecodable(&failure, None),
            false => failed(&failure),
        }
    });
    decoration::finish(request, &mut response, &state.settings);
    if request.method == Method::HEAD {
        let length = response.body().length();
        let fields = response.headers_mut();
        fields
            .entry(CONTENT_LENGTH)
            .or_insert_with(|| HeaderValue::from(length));
        *response.body_mut() = Body::empty();
    }
    observation.end(&response, &*state.clock);
    state.metrics.record(&observation);
    state.log.record(&observation);
    (response, observation)
}

async fn respond(
    state: &State,
    request: &Parts,
    caller: &Caller,
    observation: &mut Observation,
) -> Result<Response<Body>, Failure> {
    if request.method == Method::OPTIONS {
        return Ok(decoration::options());
    }
    // In the query of this protocol, a plus is a space, and the sign itself is encoded.
    let query = request.uri.query().map(|query| query.replace('+', "%20"));
    let target = Target::parse(request.uri.path(), query.as_deref());
    let target = target.map_err(|error| Failure::bad_request(error.to_string()))?;
    let path = request.uri.path().trim_start_matches('/');
    let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
    let bucket = percent_decode_str(bucket).decode_utf8_lossy();
    if bucket.is_empty() {
        let names = state
            .mounts
            .iter()
            .flat_map(|mount| [mount.name.clone(), format!("{}{V2}", mount.name)]);
        return Ok(document(&buckets(names)));
    }
    let (mount, view) = find_bucket(state, &bucket)?;
    if key.is_empty() {
        return list_bucket(mount, view, &bucket, &target, request).await;
    }
    // A key that ends with a slash is that of a directory, which is no object.
    let segments: Vec<String> = key
        .split('/')
        .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
        .collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let [version, rest @ ..] = segments.as_slice() else {
        return Err(Failure::not_found("no such key"));
    };
    if rest.is_empty() || rest.contains(&"") {
        return Err(Failure::not_found("no such key"));
    }
    let wanted = DataRequest {
        mount,
        view,
        version,
        key: rest,
        is_directory: false,
    };
    // Clients of S3 take the length for that of the value.
    let mut plain = request.clone();
    plain.headers.remove(ACCEPT_ENCODING);
    let answer = data::answer(state, wanted, &plain, caller).await;
    observation.snapshot = answer.snapshot;
    let mut response = answer.response;
    if let (Some(id), true) = (answer.snapshot, response.status().is_success()) {
        let time = mount.written_at(id).await;
        set(
            response.headers_mut(),
            LAST_MODIFIED,
            &httpdate::fmt_http_date(time),
        );
    }
    match response.status() {
        StatusCode::NOT_FOUND => Err(Failure::not_found("no such key")),
        status if status.is_client_error() || status.is_server_error() => Ok(as_error(
            response,
            &error(status, "the object cannot be read"),
        )),
        _ => Ok(response),
    }
}

fn find_bucket<'a>(state: &'a State, name: &str) -> Result<(&'a Mount, View), Failure> {
    let mut mounts = state.mounts.iter();
    if let Some(mount) = mounts.find(|mount| mount.name == name) {
        return Ok((mount, View::V3));
    }
    let plain = name.strip_suffix(V2);
    let mount = plain.and_then(|name| state.mounts.iter().find(|mount| mount.name == name));
    let missing = || Failure::not_found(format!("there is no bucket {name:?} here"));
    Ok((mount.ok_or_else(missing)?, View::V2))
}

async fn list_bucket(
    mount: &Mount,
    view: View,
    bucket: &str,
    target: &Target,
    request: &Parts,
) -> Result<Response<Body>, Failure> {
    if request.method == Method::HEAD {
        return Ok(Response::new(Body::empty()));
    }
    if target.parameter("location").is_some() {
        return Ok(document(xml::LOCATION));
    }
    let wanted = ListRequest::of(target)?;
    let found = list(mount, view, &wanted).await?;
    Ok(document(&page(bucket, &wanted, &found)))
}

/// Returns whether a path may be that of a chunk.
fn is_chunk_path(request: &Parts) -> bool {
    let path = request.uri.path();
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    segments.count() > 2 && !data::is_opened(path, path.ends_with('/'))
}

fn failed(failure: &Failure) -> Response<Body> {
    let mut response = document(&error(failure.status, &failure.message));
    *response.status_mut() = failure.status;
    response
}

/// A response with another body, and the headers that say of which snapshot it is.
fn as_error(mut response: Response<Body>, text: &str) -> Response<Body> {
    *response.body_mut() = Body::from(text.to_owned());
    let fields = response.headers_mut();
    fields.remove(CONTENT_LENGTH);
    set(fields, CONTENT_TYPE, "application/xml");
    response
}
