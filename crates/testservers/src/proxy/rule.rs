//! Which requests a proxy treats badly, and how.

use std::sync::Mutex;
use std::time::Duration;

use icefield_storage::SeededEntropy;

use super::message::Message;
use crate::switches::chance;
use crate::{Answer, Gate};

/// The fault of a request, or of its answer.
#[derive(Clone, Debug)]
pub enum ProxyFault {
    /// The connection is reset and nothing is forwarded.
    ResetBefore,
    /// The request is forwarded, and the connection is reset once the whole answer is here.
    DropAnswer,
    /// Nothing is forwarded; this is answered.
    Refuse(Answer),
    /// Nothing is forwarded; the client is sent elsewhere.
    Redirect(u16, String),
    /// Half of the answer's body, and then a reset.
    HalfBody,
    /// The byte of the answer's content at this place has its bits inverted.
    FlipByte(usize),
    /// The answer announces so many bytes more than it has, or fewer.
    WrongLength(i64),
    /// The request waits at a gate and is then delivered, even if its client has gone away.
    Hold(Gate),
    /// The request is forwarded twice, one after the other; the client sees what the second came to.
    Twice,
    /// The answer's body comes in pieces of so many bytes, each so much later than the one before.
    Drip(usize, Duration),
    /// Nothing more comes after so many bytes of the answer's body.
    Stall(usize),
}

/// A fault, and the requests that it meets. One request meets at most one fault: that of the first rule.
#[derive(Clone, Debug)]
#[must_use = "a rule does nothing until it is injected"]
pub struct ProxyRule {
    fault: ProxyFault,
    method: Option<String>,
    path: String,
    header: Option<(String, String)>,
    skip: u64,
    times: u64,
    share: f64,
}

impl ProxyRule {
    /// Returns a rule that meets every request; narrow it with the other methods.
    pub fn new(fault: ProxyFault) -> Self {
        Self {
            fault,
            method: None,
            path: String::new(),
            header: None,
            skip: 0,
            times: u64::MAX,
            share: 1.0,
        }
    }

    /// Meets only requests with this method.
    pub fn method(mut self, method: impl Into<String>) -> Self {
        self.method = Some(method.into());
        self
    }

    /// Meets only requests whose path and query contain this.
    pub fn path(mut self, part: impl Into<String>) -> Self {
        self.path = part.into();
        self
    }

    /// Meets only requests that have this header, with this in its value.
    pub fn header(mut self, name: impl Into<String>, part: impl Into<String>) -> Self {
        self.header = Some((name.into(), part.into()));
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

    /// Meets this share of the requests, from 0 to 1, as the seed of the proxy decides.
    pub fn share(mut self, share: f64) -> Self {
        self.share = share;
        self
    }

    fn names(&self, request: &Message) -> bool {
        let start = request.start();
        let word = |at: usize| start.get(at).map_or("", String::as_str);
        let method = self.method.as_deref();
        method.is_none_or(|method| method.eq_ignore_ascii_case(word(0)))
            && word(1).contains(&self.path)
            && self.header.as_ref().is_none_or(|(name, part)| {
                request
                    .header(name)
                    .is_some_and(|value| value.contains(part))
            })
    }
}

/// The rules of one proxy.
#[derive(Debug)]
pub(super) struct Rules(Mutex<(Vec<Live>, SeededEntropy)>);

#[derive(Debug)]
struct Live {
    rule: ProxyRule,
    met: u64,
    fired: u64,
}

impl Rules {
    pub(super) fn new() -> Self {
        Self(Mutex::new((Vec::new(), SeededEntropy::new(0))))
    }

    pub(super) fn inject(&self, rule: ProxyRule) {
        let (met, fired) = (0, 0);
        self.lock().0.push(Live { rule, met, fired });
    }

    pub(super) fn clear(&self) {
        self.lock().0.clear();
    }

    pub(super) fn seed(&self, seed: u64) {
        self.lock().1 = SeededEntropy::new(seed);
    }

    /// Decides what becomes of a request.
    pub(super) fn draw(&self, request: &Message) -> Option<ProxyFault> {
        let mut guard = self.lock();
        let (rules, random) = &mut *guard;
        for live in rules {
            let rule = &live.rule;
            if !rule.names(request) {
                continue;
            }
            live.met += 1;
            let due = live.met > rule.skip && live.fired < rule.times;
            if due && (rule.share >= 1.0 || chance(random, rule.share)) {
                live.fired += 1;
                return Some(rule.fault.clone());
            }
        }
        None
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, (Vec<Live>, SeededEntropy)> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
