//! The facts of a request that the log and the metrics record, and the last requests.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use http::Response;
use http::header::USER_AGENT;
use http::request::Parts;
use icefield::SnapshotId;
use icefield::storage::Clock;
use serde::Serialize;

use crate::admission::Caller;
use crate::body::Body;
use crate::transfer::text;

/// Requests that are remembered.
const REMEMBERED: usize = 1000;
/// Bytes of a path that are kept.
const PATH: usize = 1 << 10;
/// Bytes of a name of a program that are kept.
const AGENT: usize = 128;

/// The facts of a request that are known when its response begins.
#[derive(Clone, Debug)]
pub(crate) struct Observation {
    /// The time of its arrival.
    pub(crate) at: SystemTime,
    pub(crate) method: &'static str,
    /// Path and query, without tokens.
    pub(crate) path: String,
    /// The kind of path, for metrics: one of few words.
    pub(crate) route: &'static str,
    pub(crate) remote: IpAddr,
    pub(crate) agent: Option<String>,
    pub(crate) snapshot: Option<SnapshotId>,
    pub(crate) status: u16,
    /// The bytes that the response promises.
    pub(crate) bytes: u64,
    /// From the arrival to the beginning of the response.
    pub(crate) took: Duration,
    begun: Duration,
}

impl Observation {
    pub(crate) fn begin(request: &Parts, caller: &Caller, clock: &dyn Clock) -> Self {
        let agent = text(&request.headers, USER_AGENT);
        Self {
            at: clock.now(),
            method: match request.method {
                http::Method::GET => "GET",
                http::Method::HEAD => "HEAD",
                http::Method::OPTIONS => "OPTIONS",
                _ => "other",
            },
            path: shown(request),
            route: "refused",
            remote: caller.remote,
            agent: agent.map(|agent| cut(agent, AGENT).to_owned()),
            snapshot: None,
            status: 0,
            bytes: 0,
            took: Duration::ZERO,
            begun: clock.monotonic(),
        }
    }

    pub(crate) fn end(&mut self, response: &Response<Body>, clock: &dyn Clock) {
        // To some clients, a failure is a byte instead of a chunk.
        let failure = response.body().failure();
        self.status = failure.unwrap_or(response.status()).as_u16();
        self.bytes = match failure {
            Some(_) => 0,
            None => response.body().length(),
        };
        self.took = clock.monotonic().saturating_sub(self.begun);
    }

    /// Returns the line of the access log.
    pub(crate) fn line(&self) -> String {
        let line = AccessLine {
            time: time(self.at),
            remote: self.remote,
            method: self.method,
            path: &self.path,
            status: self.status,
            bytes: self.bytes,
            micros: u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX),
            snapshot: self.snapshot.map(|id| id.to_string()),
            agent: self.agent.as_deref(),
        };
        // A struct of texts and numbers is always JSON.
        serde_json::to_string(&line).unwrap_or_default()
    }
}

#[derive(Serialize)]
struct AccessLine<'a> {
    time: String,
    remote: IpAddr,
    method: &'a str,
    path: &'a str,
    status: u16,
    bytes: u64,
    micros: u64,
    snapshot: Option<String>,
    agent: Option<&'a str>,
}

/// Returns a time as RFC 3339 in microseconds.
pub(crate) fn time(time: SystemTime) -> String {
    match jiff::Timestamp::try_from(time) {
        Ok(time) => format!("{time:.6}"),
        Err(_) => "beyond the calendar".to_owned(),
    }
}

/// Path and query, without what may be a token.
fn shown(request: &Parts) -> String {
    let mut shown = request.uri.path().to_owned();
    for (at, pair) in request
        .uri
        .query()
        .into_iter()
        .flat_map(|query| query.split('&'))
        .enumerate()
    {
        shown.push(if at == 0 { '?' } else { '&' });
        match pair.split_once('=') {
            Some((name, _)) if name.to_ascii_lowercase().contains("token") => {
                shown.push_str(name);
                shown.push_str("=…");
            }
            _ => shown.push_str(pair),
        }
    }
    cut(&shown, PATH).to_owned()
}

/// The beginning of a text, of at most so many bytes.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The last requests, each with its number.
#[derive(Debug, Default)]
pub(crate) struct RequestLog(Mutex<(u64, VecDeque<(u64, Observation)>)>);

impl RequestLog {
    pub(crate) fn record(&self, observation: &Observation) {
        // The page that shows the log asks for it all the time.
        if observation.route == "requests" {
            return;
        }
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.0 += 1;
        let number = log.0;
        log.1.push_front((number, observation.clone()));
        log.1.truncate(REMEMBERED);
    }

    /// Returns the number of the last request, and those after a number, newest first.
    pub(crate) fn after(&self, number: u64, limit: usize) -> (u64, Vec<(u64, Observation)>) {
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let newer = log.1.iter().take_while(|(at, _)| *at > number);
        (log.0, newer.take(limit).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_in_addresses_are_not_logged_and_texts_are_cut() {
        let request = http::Request::get("/main/a?token=s3cret&x=1&Access_Token=s")
            .body(())
            .unwrap();
        assert_eq!(
            shown(&request.into_parts().0),
            "/main/a?token=…&x=1&Access_Token=…"
        );
        assert_eq!(cut("üü", 3), "ü");
    }
}
