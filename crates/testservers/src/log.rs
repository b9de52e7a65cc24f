//! The requests that a server was asked, in the order in which it was asked.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use http::HeaderMap;
use http::request::Parts;

use crate::Verb;

/// Header values that no log may show.
const SECRETS: [&str; 4] = [
    "authorization",
    "cookie",
    "proxy-authorization",
    "x-amz-security-token",
];

/// One request.
#[derive(Clone, Debug)]
pub struct LoggedRequest {
    /// Its purpose.
    pub verb: Verb,
    /// The object, the prefix of a list, empty otherwise. For a batch the body that names the keys.
    pub key: String,
    /// The HTTP method.
    pub method: String,
    /// Path and query as sent.
    pub target: String,
    /// All headers by lower-case name; secrets are blacked out.
    pub headers: BTreeMap<String, String>,
    /// Whether there was an `Authorization` header.
    pub authorized: bool,
    /// Whether there was a `Cookie` header.
    pub cookie: bool,
    /// Which faults met it.
    pub faults: Vec<String>,
    /// The status of its answer; `None` while it waits, and for ever if the connection was reset.
    pub status: Option<u16>,
}

impl LoggedRequest {
    /// Returns a header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// The requests of one server.
#[derive(Debug, Default)]
pub(crate) struct RequestLog(Mutex<Vec<LoggedRequest>>);

impl RequestLog {
    /// Notes a request and returns its number.
    pub(crate) fn begin(&self, head: &Parts, verb: Verb, key: &str, faults: Vec<String>) -> usize {
        let target = head.uri.path_and_query();
        let entry = LoggedRequest {
            verb,
            key: key.to_owned(),
            method: head.method.to_string(),
            target: target.map_or_else(String::new, ToString::to_string),
            headers: visible(&head.headers),
            authorized: head.headers.contains_key("authorization"),
            cookie: head.headers.contains_key("cookie"),
            faults,
            status: None,
        };
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.push(entry);
        log.len() - 1
    }

    /// Notes what a request was answered.
    pub(crate) fn end(&self, number: usize, status: u16) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = log.get_mut(number) {
            entry.status = Some(status);
        }
    }

    pub(crate) fn entries(&self) -> Vec<LoggedRequest> {
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.clone()
    }
}

fn visible(headers: &HeaderMap) -> BTreeMap<String, String> {
    let show = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        let name = name.as_str().to_owned();
        let value = if SECRETS.contains(&name.as_str()) {
            "***".to_owned()
        } else {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        };
        (name, value)
    };
    headers.iter().map(show).collect()
}
