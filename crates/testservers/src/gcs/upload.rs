//! Uploads over HTTP: in one request, or resumable in chunks.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use serde_json::Value;

use super::failure::Failure;
use super::request::{Ask, ChunkRange};
use super::resource;
use crate::body::{Response, empty, json};
use crate::world::{Condition, Draft};

/// Splits the body of a `multipart/related` upload into what is said about the object and its bytes. A third
/// part, with checksums that were not known before, is merged into the first.
pub(super) fn related(head: &Parts, body: &Bytes) -> Option<(Value, Bytes)> {
    let header = head.headers.get("content-type")?.to_str().ok()?;
    let boundary = header.split_once("boundary=")?.1;
    let boundary = boundary.split(';').next()?.trim().trim_matches('"');
    let edge = format!("\r\n--{boundary}");
    // The first edge has no line before it.
    let mut start = find(body, &edge.as_bytes()[2..], 0)? + edge.len() - 2;
    let mut parts = Vec::new();
    while let Some(end) = find(body, edge.as_bytes(), start) {
        parts.push(content(&body.slice(start..end))?);
        start = end + edge.len();
    }
    let mut said: Value = serde_json::from_slice(parts.first()?).ok()?;
    let later = parts.get(2).map(|part| serde_json::from_slice(part));
    if let Some(Ok(Value::Object(later))) = later {
        said.as_object_mut()?.extend(later);
    }
    Some((said, parts.get(1)?.clone()))
}

/// Returns what follows the headers of a part.
fn content(part: &Bytes) -> Option<Bytes> {
    let start = find(part, b"\r\n\r\n", 0)? + 4;
    Some(part.slice(start..))
}

fn find(bytes: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    let mut windows = bytes.get(from..)?.windows(wanted.len());
    let found = windows.position(|window| window == wanted);
    found.map(|at| at + from)
}

/// Makes a draft of what was uploaded, if the checksums that were sent with it are right.
pub(super) fn draft(said: &Value, bytes: Bytes) -> Result<Draft, Failure> {
    let sum = said["crc32c"].as_str();
    if sum.is_some_and(|sum| sum != resource::crc32c(crc32c::crc32c(&bytes))) {
        return Err(Failure::new(400, "invalid"));
    }
    Ok(Draft {
        bytes,
        attributes: resource::attributes(said),
        etag: None,
    })
}

/// The resumable uploads of a server.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<BTreeMap<String, Session>>);

#[derive(Debug)]
struct Session {
    ask: Ask,
    said: Value,
    bytes: BytesMut,
    /// The resource, once the upload is complete.
    done: Option<Value>,
}

/// The step that follows a chunk.
pub(super) enum Progress {
    /// Reply with this.
    Reply(Response),
    /// All bytes are there: write the object, and then tell [`Sessions::done`].
    Write(Box<Pending>),
}

/// An upload that has all its bytes and is not an object yet.
pub(super) struct Pending {
    pub(super) ask: Ask,
    pub(super) condition: Condition,
    pub(super) draft: Draft,
}

impl Sessions {
    /// Begins an upload and returns its id.
    pub(super) fn begin(&self, mut ask: Ask, said: Value) -> String {
        if let Some(name) = said["name"].as_str().filter(|name| !name.is_empty()) {
            ask.key = name.to_owned();
        }
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = format!("session-{:08}", sessions.len() + 1);
        let session = Session {
            ask,
            said,
            bytes: BytesMut::new(),
            done: None,
        };
        sessions.insert(id.clone(), session);
        id
    }

    /// Returns the key that an upload is for.
    pub(super) fn key(&self, id: &str) -> Option<String> {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.get(id).map(|session| session.ask.key.clone())
    }

    /// Takes one chunk, or tells how far an upload is.
    pub(super) fn take(&self, id: &str, head: &Parts, body: &Bytes) -> Result<Progress, Failure> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if head.method == Method::DELETE {
            let known = sessions.remove(id).is_some();
            return Err(Failure::new(if known { 499 } else { 404 }, "cancelled"));
        }
        let session = sessions.get_mut(id);
        let session = session.ok_or_else(|| Failure::new(404, "notFound"))?;
        if let Some(done) = &session.done {
            return Ok(Progress::Reply(json(done)));
        }
        let range = ChunkRange::of(head).unwrap_or(ChunkRange {
            first: Some(0),
            last: body.len().saturating_sub(1) as u64,
            total: Some(body.len() as u64),
        });
        if let Some(first) = range.first {
            let kept = session.bytes.len() as u64;
            // A chunk may begin again with bytes that are here, but leave no hole.
            let skip = kept.checked_sub(first);
            let skip = skip.ok_or_else(|| Failure::new(503, "backendError"))?;
            if let Some(new) = body.get(skip as usize..) {
                session.bytes.extend_from_slice(new);
            }
        }
        let complete = range.total == Some(session.bytes.len() as u64);
        if !complete {
            return Ok(Progress::Reply(incomplete(session.bytes.len())));
        }
        Ok(Progress::Write(Box::new(Pending {
            condition: session.ask.condition(false),
            ask: session.ask.clone(),
            draft: draft(&session.said, session.bytes.clone().freeze())?,
        })))
    }

    /// Notes the object that an upload has become, for clients that ask again.
    pub(super) fn done(&self, id: &str, resource: Value) {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.get_mut(id) {
            session.bytes = BytesMut::new();
            session.done = Some(resource);
        }
    }

    /// Returns how many uploads are not complete.
    pub(super) fn open(&self) -> usize {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.values().filter(|it| it.done.is_none()).count()
    }
}

fn incomplete(kept: usize) -> Response {
    let mut response = Response::new(empty());
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    if let Some(last) = kept.checked_sub(1) {
        let range = HeaderValue::from_str(&format!("bytes=0-{last}"));
        let range = range.expect("digits are valid in a header");
        response.headers_mut().insert("range", range);
    }
    response
}
