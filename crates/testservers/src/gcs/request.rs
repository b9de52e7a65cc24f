//! The purpose of a request over HTTP, and its demands.

use http::Method;
use http::request::Parts;
use percent_encoding::percent_decode_str;

use crate::Verb;
use crate::world::Condition;

/// A request over HTTP, taken apart.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) kind: RequestKind,
    pub(super) bucket: String,
    pub(super) key: String,
    query: Vec<(String, String)>,
}

/// The kinds of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    Upload,
    BeginUpload,
    /// A request about the resumable upload of this id.
    Session(String),
    Media,
    Metadata,
    List,
    Delete,
    /// A copy to this bucket and key.
    Rewrite(String, String),
    Unknown,
}

impl Ask {
    pub(super) fn of(head: &Parts) -> Self {
        let query = pairs(head.uri.query().unwrap_or_default());
        let value = |name: &str| {
            let found = query.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.clone())
        };
        let parts: Vec<&str> = head.uri.path().trim_matches('/').split('/').collect();
        let decode = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
        let mut bucket = String::new();
        let mut key = value("name").unwrap_or_default();
        let kind = match parts.as_slice() {
            ["upload", "storage", "v1", "b", it, "o"] => {
                bucket = decode(it);
                match (value("upload_id"), value("uploadType").as_deref()) {
                    (Some(id), _) => RequestKind::Session(id),
                    (None, Some("resumable")) => RequestKind::BeginUpload,
                    (None, _) => RequestKind::Upload,
                }
            }
            ["storage", "v1", "b", it, "o"] if head.method == Method::GET => {
                bucket = decode(it);
                key = value("prefix").unwrap_or_default();
                RequestKind::List
            }
            [
                "storage",
                "v1",
                "b",
                from,
                "o",
                name,
                "rewriteTo",
                "b",
                to,
                "o",
                new,
            ] => {
                (bucket, key) = (decode(from), decode(name));
                RequestKind::Rewrite(decode(to), decode(new))
            }
            ["storage", "v1", "b", it, "o", name] => {
                (bucket, key) = (decode(it), decode(name));
                match head.method {
                    Method::GET if value("alt").as_deref() == Some("media") => RequestKind::Media,
                    Method::GET => RequestKind::Metadata,
                    Method::DELETE => RequestKind::Delete,
                    _ => RequestKind::Unknown,
                }
            }
            _ => RequestKind::Unknown,
        };
        Self {
            kind,
            bucket,
            key,
            query,
        }
    }

    /// Returns a parameter of the query.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns what is demanded of the object; `source` for the source of a copy.
    pub(super) fn condition(&self, source: bool) -> Condition {
        let number = |name: &str| {
            let name = if source {
                format!("ifSource{}", &name[2..])
            } else {
                name.to_owned()
            };
            self.value(&name)?.parse().ok()
        };
        Condition {
            if_generation: number("ifGenerationMatch"),
            if_generation_not: number("ifGenerationNotMatch"),
            if_metageneration: number("ifMetagenerationMatch"),
            if_metageneration_not: number("ifMetagenerationNotMatch"),
            ..Condition::default()
        }
    }

    pub(super) fn verb(&self, head: &Parts) -> Verb {
        match &self.kind {
            RequestKind::Upload => Verb::Write,
            RequestKind::BeginUpload => Verb::BeginUpload,
            RequestKind::Session(_) if head.method == Method::DELETE => Verb::AbortUpload,
            RequestKind::Session(_) => match ChunkRange::of(head) {
                Some(ChunkRange {
                    first: None,
                    total: None,
                    ..
                }) => Verb::ListUploads,
                Some(range) if !range.is_last() => Verb::UploadPart,
                _ => Verb::CompleteUpload,
            },
            RequestKind::Media => Verb::Read,
            RequestKind::Metadata => Verb::Head,
            RequestKind::List => Verb::List,
            RequestKind::Delete => Verb::Delete,
            RequestKind::Rewrite(..) => Verb::Copy,
            RequestKind::Unknown => Verb::Other,
        }
    }
}

/// The `Content-Range` of a chunk of a resumable upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkRange {
    /// Where the chunk begins; `None` if there are no bytes in it.
    pub(super) first: Option<u64>,
    /// Its last byte.
    pub(super) last: u64,
    /// How large the object will be, if that is known.
    pub(super) total: Option<u64>,
}

impl ChunkRange {
    /// Reads the header, `None` if there is none that makes sense.
    pub(super) fn of(head: &Parts) -> Option<Self> {
        let text = head.headers.get("content-range")?.to_str().ok()?;
        let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
        let total = total.parse().ok();
        if range == "*" {
            let (first, last) = (None, 0);
            return Some(Self { first, last, total });
        }
        let (first, last) = range.split_once('-')?;
        Some(Self {
            first: Some(first.parse().ok()?),
            last: last.parse().ok()?,
            total,
        })
    }

    /// Tells whether nothing follows.
    pub(super) fn is_last(&self) -> bool {
        match self.first {
            None => self.total.is_some(),
            Some(_) => self.total == Some(self.last + 1),
        }
    }
}

fn pairs(query: &str) -> Vec<(String, String)> {
    let decode = |part: &str| {
        let part = part.replace('+', " ");
        percent_decode_str(&part).decode_utf8_lossy().into_owned()
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let split = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name), decode(value))
    };
    pairs.map(split).collect()
}
