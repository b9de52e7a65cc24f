//! The documents of S3.

use std::fmt::Write;

use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::listing::{Entry, ListRequest, Page, token_of};
use crate::body::Body;
use crate::transfer::set;

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
const NAMESPACE: &str = "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";
/// The region of a bucket: the one that has no name.
pub(crate) const LOCATION: &str =
    "<LocationConstraint xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"/>";
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'/');

/// A response with a document.
pub(crate) fn document(text: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(format!("{HEAD}{text}")));
    set(response.headers_mut(), CONTENT_TYPE, "application/xml");
    response
}

/// The document of a failure.
pub(crate) fn error(status: StatusCode, message: &str) -> String {
    let code = match status {
        StatusCode::NOT_FOUND if message.contains("bucket") => "NoSuchBucket",
        StatusCode::NOT_FOUND => "NoSuchKey",
        // Clients take each code that they know for what it means to them: none of the following means absence.
        StatusCode::GONE => "VersionGone",
        StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED | StatusCode::METHOD_NOT_ALLOWED => {
            "AccessDenied"
        }
        StatusCode::PRECONDITION_FAILED => "PreconditionFailed",
        StatusCode::RANGE_NOT_SATISFIABLE => "InvalidRange",
        StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailable",
        StatusCode::BAD_REQUEST => "InvalidArgument",
        StatusCode::NOT_IMPLEMENTED => "NotImplemented",
        StatusCode::BAD_GATEWAY => "BadGateway",
        _ => "InternalError",
    };
    format!(
        "<Error><Code>{code}</Code><Message>{}</Message></Error>",
        escaped(message)
    )
}

/// The document that lists buckets.
pub(crate) fn buckets(names: impl Iterator<Item = String>) -> String {
    let mut text =
        format!("<ListAllMyBucketsResult {NAMESPACE}><Owner><ID>icefield</ID></Owner><Buckets>");
    for name in names {
        let _ = write!(
            text,
            "<Bucket><Name>{}</Name><CreationDate>1970-01-01T00:00:00.000Z</CreationDate></Bucket>",
            escaped(&name)
        );
    }
    text + "</Buckets></ListAllMyBucketsResult>"
}

/// The document of a page of keys.
pub(crate) fn page(bucket: &str, wanted: &ListRequest, page: &Page) -> String {
    let shown = |text: &str| match wanted.is_encoded {
        true => utf8_percent_encode(text, ENCODED).to_string(),
        false => escaped(text),
    };
    let mut text = format!(
        "<ListBucketResult {NAMESPACE}><Name>{}</Name>",
        escaped(bucket)
    );
    let mut element = |name: &str, value: &str| {
        let _ = write!(text, "<{name}>{value}</{name}>");
    };
    element("Prefix", &shown(&wanted.prefix));
    element("MaxKeys", &wanted.max_keys.to_string());
    if wanted.has_delimiter {
        element("Delimiter", "/");
    }
    if wanted.is_encoded {
        element("EncodingType", "url");
    }
    element(
        "IsTruncated",
        if page.next.is_some() { "true" } else { "false" },
    );
    match (wanted.is_v2, &page.next) {
        (true, next) => {
            element("KeyCount", &page.entries.len().to_string());
            if let Some(token) = &wanted.token {
                element("ContinuationToken", &token_of(token));
            }
            if let Some(next) = next {
                element("NextContinuationToken", &token_of(next));
            }
        }
        (false, next) => {
            element("Marker", &shown(&wanted.after));
            if let Some(next) = next {
                element("NextMarker", &shown(next));
            }
        }
    }
    for entry in &page.entries {
        let _ = match entry {
            Entry::Object {
                key,
                size,
                tag,
                modified,
            } => write!(
                text,
                "<Contents><Key>{}</Key><LastModified>{modified}</LastModified><ETag>{}</ETag><Size>{size}</Size><StorageClass>STANDARD</StorageClass></Contents>",
                shown(key),
                escaped(tag)
            ),
            Entry::Prefix(prefix) => {
                write!(
                    text,
                    "<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>",
                    shown(prefix)
                )
            }
        };
    }
    text + "</ListBucketResult>"
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML has no spelling for other control characters, and for these two.
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            character if character.is_control() && !matches!(character, '\t' | '\n' | '\r') => {
                escaped.push('\u{fffd}')
            }
            character => escaped.push(character),
        }
    }
    escaped
}
