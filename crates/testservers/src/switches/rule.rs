//! Which requests go wrong, and how.

use std::time::Duration;

use crate::{Answer, Gate};

/// The purpose of a request, in words that S3 and GCS share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// Read an object's bytes.
    Read,
    /// Read what is known about an object.
    Head,
    /// Write an object in one request.
    Write,
    /// Remove one object.
    Delete,
    /// Remove a batch of objects.
    DeleteMany,
    /// Copy an object within the service.
    Copy,
    /// List objects.
    List,
    /// Read or write tags.
    Tags,
    /// Begin an upload in parts; on GCS, a resumable one.
    BeginUpload,
    /// Send one part.
    UploadPart,
    /// Put the parts together; on GCS, send the last bytes of a resumable upload.
    CompleteUpload,
    /// Give an upload up.
    AbortUpload,
    /// Look at open uploads or their parts.
    ListUploads,
    /// Look at a bucket or create one.
    Bucket,
    /// Something else.
    Other,
}

/// The fault of a request, or of its answer.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The request is refused and has no effect.
    Refuse(Answer),
    /// The request has its effect, and is then answered like this.
    RefuseAfter(Answer),
    /// The connection is reset; no effect.
    Reset,
    /// The request has its effect, and then the connection is reset.
    ResetAfter,
    /// The request is dealt with so much later, by the clock of the world.
    Delay(Duration),
    /// The request waits at a gate, and is dealt with even if its client has gone away by then.
    Hold(Gate),
    /// The request is dealt with at once, and its answer waits at a gate.
    HoldAnswer(Gate),
    /// Conditions are not looked at.
    IgnoreConditions,
    /// Conditions are looked at first, and the write follows so much later, whatever happened in between.
    Racy(Duration),
    /// The connection ends after so many bytes of the body that the headers announce.
    Truncate(usize),
    /// Nothing more comes after so many bytes of the body.
    Stall(usize),
    /// The body comes in pieces of so many bytes, each so much later than the one before.
    Drip(usize, Duration),
    /// The byte of the body at this place has its bits inverted.
    Corrupt(usize),
    /// A read shows the object as it was so many versions ago.
    StaleRead(usize),
    /// A list shows the bucket as it was so many changes ago.
    StaleList(usize),
    /// A page of a list has only so many entries and claims to be the last.
    ShortList(usize),
    /// In a batch, the keys that this rule matches are not dealt with, and reported like this.
    FailKeys(Answer),
}

/// A fault, and the requests that it meets.
#[derive(Clone, Debug)]
#[must_use = "a rule does nothing until it is injected"]
pub struct Rule {
    pub(super) fault: Fault,
    pub(super) verbs: Vec<Verb>,
    pub(super) key: String,
    pub(super) skip: u64,
    pub(super) times: u64,
    pub(super) share: f64,
}

impl Rule {
    /// Returns a rule that meets every request; narrow it with the other methods.
    pub fn new(fault: Fault) -> Self {
        Self {
            fault,
            verbs: Vec::new(),
            key: String::new(),
            skip: 0,
            times: u64::MAX,
            share: 1.0,
        }
    }

    /// Meets only requests of this verb; several calls add up.
    pub fn on(mut self, verb: Verb) -> Self {
        self.verbs.push(verb);
        self
    }

    /// Meets only keys that contain this.
    pub fn key(mut self, part: impl Into<String>) -> Self {
        self.key = part.into();
        self
    }

    /// Spares so many requests first.
    pub fn skip(mut self, requests: u64) -> Self {
        self.skip = requests;
        self
    }

    /// Meets at most so many requests.
    pub fn times(mut self, requests: u64) -> Self {
        self.times = requests;
        self
    }

    /// Meets this share of the requests, from 0 to 1, as the seed of the switches decides.
    pub fn share(mut self, share: f64) -> Self {
        self.share = share;
        self
    }
}
