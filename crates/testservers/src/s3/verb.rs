//! The purpose of an S3 request, seen from its method, path and query.

use bytes::Bytes;
use http::Method;
use http::request::Parts;
use percent_encoding::percent_decode_str;

use crate::Verb;

/// Returns the verb of a request, and the key that rules are matched with: an object's key, the prefix of a
/// list, the body of a batch.
pub(super) fn aim(head: &Parts, body: &Bytes) -> (Verb, String) {
    let path = head.uri.path().trim_start_matches('/');
    let key = path.split_once('/').map_or("", |(_, key)| key);
    let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
    let query: Vec<(String, String)> = pairs(head.uri.query().unwrap_or_default());
    let has = |name: &str| query.iter().any(|(key, _)| key == name);
    let value = |name: &str| {
        let found = query.iter().find(|(key, _)| key == name);
        found.map_or_else(String::new, |(_, value)| value.clone())
    };
    let method = &head.method;
    if key.is_empty() {
        return match *method {
            Method::GET if has("uploads") => (Verb::ListUploads, value("prefix")),
            Method::GET if ["location", "versioning", "lifecycle"].into_iter().any(has) => {
                (Verb::Bucket, key)
            }
            Method::GET => (Verb::List, value("prefix")),
            Method::POST if has("delete") => {
                (Verb::DeleteMany, String::from_utf8_lossy(body).into_owned())
            }
            Method::HEAD | Method::PUT => (Verb::Bucket, key),
            _ => (Verb::Other, key),
        };
    }
    let verb = match *method {
        _ if has("tagging") => Verb::Tags,
        Method::GET if has("uploadId") => Verb::ListUploads,
        Method::GET => Verb::Read,
        Method::HEAD => Verb::Head,
        Method::PUT if has("partNumber") => Verb::UploadPart,
        Method::PUT if head.headers.contains_key("x-amz-copy-source") => Verb::Copy,
        Method::PUT => Verb::Write,
        Method::POST if has("uploads") => Verb::BeginUpload,
        Method::POST if has("uploadId") => Verb::CompleteUpload,
        Method::DELETE if has("uploadId") => Verb::AbortUpload,
        Method::DELETE => Verb::Delete,
        _ => Verb::Other,
    };
    (verb, key)
}

/// Reads the pairs of a query or of a header in the form of one.
pub(super) fn pairs(text: &str) -> Vec<(String, String)> {
    let decode = |part: &str| {
        let part = part.replace('+', " ");
        percent_decode_str(&part).decode_utf8_lossy().into_owned()
    };
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        })
        .collect()
}
