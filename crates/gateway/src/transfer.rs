//! The response that sends a value: conditions, ranges, compression, and the bytes themselves.

use std::ops::Range;
use std::sync::Arc;

use futures::stream;
use http::header::{
    ACCEPT_ENCODING, ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, RANGE, USER_AGENT, VARY,
};
use http::request::Parts;
use http::{Method, Response, StatusCode};

use crate::admission::{Admission, Caller};
use crate::body::{Body, BodyError};
use crate::conditions::{Verdict, allows_range, verdict};
use crate::failure::Failure;
use crate::object::{Object, Source};
use crate::ranges::{Wanted, wanted};
use crate::steps::step;

/// The status of a failure that was answered with 200.
const FAILURE: HeaderName = HeaderName::from_static("x-icefield-failure");

/// The tag of a value that has none: it equals no tag that a header can hold.
const UNTAGGED: &str = "\0";

/// Sends a value, or the part of it that the request asks for.
///
/// # Errors
/// A value that exists and cannot be read.
pub(crate) async fn send(
    object: Object,
    request: &Parts,
    caller: &Caller,
    admission: &Arc<Admission>,
) -> Result<Response<Body>, Failure> {
    let headers = &request.headers;
    let has_variants = object.packed.is_some();
    let object = chosen(object, headers);
    let mut response = Response::new(Body::empty());
    let fields = response.headers_mut();
    match &object.tag {
        Some(tag) => set(fields, ETAG, tag),
        // The bytes may change: neither this response nor the absence of a later one says anything of another time.
        None => set(fields, CACHE_CONTROL, "no-cache"),
    }
    if has_variants {
        set(fields, VARY, "Accept-Encoding");
    }
    let tag = object.tag.as_deref().unwrap_or(UNTAGGED);
    match verdict(headers, tag) {
        Verdict::Send => {}
        Verdict::NotModified => {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return Ok(response);
        }
        Verdict::Failed => {
            *response.status_mut() = StatusCode::PRECONDITION_FAILED;
            return Ok(response);
        }
    }
    set(fields, CONTENT_TYPE, object.content_type);
    if object.is_packed {
        set(fields, CONTENT_ENCODING, "gzip");
    } else {
        set(fields, ACCEPT_RANGES, "bytes");
    }
    let wanted = match request.method == Method::GET && allows_range(headers, tag) {
        true => wanted(text(headers, RANGE), object.length),
        false => Wanted::Whole,
    };
    let range = match wanted {
        Wanted::Whole => 0..object.length,
        Wanted::Part(range) => {
            let last = range.end - 1;
            let value = format!("bytes {}-{last}/{}", range.start, object.length);
            set(fields, CONTENT_RANGE, &value);
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            range
        }
        Wanted::Nothing => {
            set(fields, CONTENT_RANGE, &format!("bytes */{}", object.length));
            fields.remove(CONTENT_TYPE);
            *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            return Ok(response);
        }
    };
    let length = range.end - range.start;
    set(response.headers_mut(), CONTENT_LENGTH, &length.to_string());
    if request.method == Method::GET {
        let read = read(object.source, range, caller, admission);
        let read = step("read", read).await;
        *response.body_mut() = match read {
            Ok(body) => body,
            Err(failure) if is_misread(&failure, request) => {
                return Ok(undecodable(&failure, Some(object.length)));
            }
            Err(failure) => return Err(failure),
        };
    }
    Ok(response)
}

/// A response of one byte, or of two for an object of which is known that it has one. A client takes it for the chunk only if that has one
/// byte and its object was not found. It has no tag, nothing keeps it, and a header has the status.
pub(crate) fn undecodable(failure: &Failure, length: Option<u64>) -> Response<Body> {
    tracing::warn!(
        "a byte is sent instead of a chunk, {}: {}",
        failure.status,
        failure.message
    );
    let mut response = Response::new(Body::instead_of(failure, length));
    set(response.headers_mut(), CACHE_CONTROL, "no-store");
    set(response.headers_mut(), FAILURE, failure.status.as_str());
    response
}

/// Returns whether the client takes a chunk that is answered with this failure for one that was never written. GDAL up to 3.12
/// does, whatever the status, and often if the body ends before its length. A chunk that cannot be decoded is an error to it.
///
/// GDAL 3.6, which Debian 12 has, sends no `User-Agent`, and asks for a chunk without a range. So do other programs: they get the
/// status of a request that was wrong or had no token, which they can mend.
pub(crate) fn is_misread(failure: &Failure, request: &Parts) -> bool {
    let is_of_the_request = matches!(
        failure.status,
        StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED
    );
    failure.status != StatusCode::NOT_FOUND && !is_of_the_request && is_gdal(request)
}

fn is_gdal(request: &Parts) -> bool {
    let headers = &request.headers;
    let is_gdal = match headers.get(USER_AGENT) {
        None => !headers.contains_key(RANGE),
        Some(agent) => agent.as_bytes().starts_with(b"GDAL/"),
    };
    request.method == Method::GET && is_gdal
}

/// A value in the encoding that is sent.
struct Chosen {
    tag: Option<String>,
    length: u64,
    content_type: &'static str,
    source: Source,
    is_packed: bool,
}

fn chosen(object: Object, headers: &HeaderMap) -> Chosen {
    let packed = object
        .packed
        .filter(|_| !headers.contains_key(RANGE) && accepts_gzip(headers));
    match packed {
        Some(packed) => Chosen {
            tag: Some(packed.tag),
            length: packed.bytes.len() as u64,
            content_type: object.content_type,
            source: Source::Bytes(packed.bytes),
            is_packed: true,
        },
        None => Chosen {
            tag: object.tag,
            length: object.length,
            content_type: object.content_type,
            source: object.source,
            is_packed: false,
        },
    }
}

/// Whether a client takes gzip: it names it, or everything, and not with a weight of zero.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).into_iter();
    let codings = lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','));
    let mut accepts_any = false;
    for coding in codings {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
        let is_wanted = weight
            .trim()
            .parse::<f32>()
            .is_ok_and(|weight| weight > 0.0);
        match name.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => return is_wanted,
            "*" => accepts_any = is_wanted,
            _ => {}
        }
    }
    accepts_any
}

/// Reads a part of a value. The first piece is read before anything is sent, so that its failure has a status; the failure
/// of a later one cuts the body.
async fn read(
    source: Source,
    range: Range<u64>,
    caller: &Caller,
    admission: &Arc<Admission>,
) -> Result<Body, Failure> {
    if let Source::Bytes(_) = source {
        return source.read(range).await.map(Body::from);
    }
    let length = range.end - range.start;
    let piece = admission.limits().piece.max(1);
    let first_end = range.end.min(range.start.saturating_add(piece));
    let first = read_piece(&source, range.start..first_end, caller, admission).await?;
    if first_end == range.end {
        return Ok(first.into());
    }
    let (caller, admission) = (caller.clone(), Arc::clone(admission));
    let rest = stream::unfold(Some(first_end), move |next| {
        let (source, caller, admission) = (source.clone(), caller.clone(), Arc::clone(&admission));
        let end = range.end;
        async move {
            let start = next.filter(|start| *start < end)?;
            let stop = end.min(start.saturating_add(piece));
            match read_piece(&source, start..stop, &caller, &admission).await {
                Ok(bytes) => Some((Ok(bytes), Some(stop))),
                Err(failure) => Some((Err(BodyError(failure.message)), None)),
            }
        }
    });
    let first = stream::iter([Ok(first)]);
    Ok(Body::stream(length, futures::StreamExt::chain(first, rest)))
}

async fn read_piece(
    source: &Source,
    range: Range<u64>,
    caller: &Caller,
    admission: &Admission,
) -> Result<bytes::Bytes, Failure> {
    let turn = admission.turn(caller, range.end - range.start).await;
    let wanted = range.end - range.start;
    let bytes = source.read(range).await?;
    if bytes.len() as u64 != wanted {
        return Err(Failure::damage(format!(
            "{wanted} bytes were to be read, and {} came",
            bytes.len()
        )));
    }
    Ok(turn.hold(bytes))
}

/// Sets a header to a text that has no characters which headers cannot have; others are left out.
pub(crate) fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// Returns a header as text, if it is one.
pub(crate) fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_those_who_ask_for_it() {
        for (value, expected) in [
            ("gzip, deflate", true),
            ("GZIP;q=0.5", true),
            ("*", true),
            ("gzip;q=0, *", false),
            ("gzip; q=0", false),
            ("identity", false),
            ("br", false),
        ] {
            let headers =
                HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(value))]);
            assert_eq!(accepts_gzip(&headers), expected, "{value}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }
}
