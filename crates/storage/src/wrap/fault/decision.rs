//! Decisions about one operation.

use std::fmt;
use std::time::Duration;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// [`get`](crate::Storage::get) and an answered [`try_get_blocking`](crate::Storage::try_get_blocking).
    Get,
    /// [`head`](crate::Storage::head).
    Head,
    /// [`put`](crate::Storage::put).
    Put,
    /// [`list`](crate::Storage::list): one operation, however many objects.
    List,
    /// [`delete`](crate::Storage::delete): one operation for each object.
    Delete,
    /// [`copy`](crate::Storage::copy), under the key that it goes to.
    Copy,
    /// [`sync`](crate::Storage::sync).
    Sync,
}

impl Verb {
    /// Returns whether the operation changes objects: put, delete and copy do.
    pub fn is_write(self) -> bool {
        matches!(self, Self::Put | Self::Delete | Self::Copy)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Get => "get",
            Self::Head => "head",
            Self::Put => "put",
            Self::List => "list",
            Self::Delete => "delete",
            Self::Copy => "copy",
            Self::Sync => "sync",
        })
    }
}

/// Whether an interrupted write takes effect. For a read, all three are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// It never takes place.
    Before,
    /// It has taken place.
    After,
    /// It takes place later: at [`deliver_pending`](super::FaultyStorage::deliver_pending).
    Late,
}

impl When {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Before, Self::After, Self::Late];
}

/// When a late write reaches the store. Its condition is judged then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// Just before the operation that comes after so many others: 0 means the very next one.
    After(u64),
    /// At [`deliver_pending`](super::FaultyStorage::deliver_pending), else never.
    OnDemand,
}

/// The decision about one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Nothing unusual.
    Pass,
    /// It fails, retryably, and has no effect.
    FailBefore,
    /// It takes effect and the answer is lost: a write is `Unknown`, a read or `sync` fails.
    FailAfter,
    /// It waits first, by the wrapper's clock.
    Delay(Duration),
    /// A write is `Unknown` now and reaches the store later.
    Late(Delivery),
    /// A write reaches the store twice; the caller gets the first answer.
    Twice,
    /// A write reaches the store twice and the caller gets the second answer, as from a client that blindly
    /// repeats a lost request: its own write refuses a conditional one. **Outside the contract** of
    /// [`Storage`](crate::Storage); for testing a read-back.
    Retried,
    /// `get` and `head` see the object as so many of its states ago (at most the oldest known), `list`
    /// all objects as so many writes ago. **Outside the contract.**
    Stale(u64),
    /// `get` promises the right length and gives so many bytes fewer.
    Short(u64),
    /// `get` gives bytes with one bit flipped: bit 0 of the byte at this offset, modulo the length.
    /// **Outside the contract.**
    Garble(u64),
    /// `list` fails, retryably, after so many objects.
    ListError(u64),
    /// `list` ends after so many objects as if there were no more. **Outside the contract.**
    ListCut(u64),
    /// It panics, before any effect.
    Panic,
    /// It never returns; the caller may drop it. The rest of the store goes on.
    Cancel(When),
    /// It and everything after it fails, as if the process had died here. A write that had or may have an
    /// effect is `Unknown`.
    Stop(When),
}

impl Decision {
    /// Returns whether the decision means something for `verb`; otherwise the operation passes.
    pub fn applies_to(self, verb: Verb) -> bool {
        match self {
            Self::Late(_) | Self::Twice | Self::Retried => verb.is_write(),
            Self::Stale(_) => matches!(verb, Verb::Get | Verb::Head | Verb::List),
            Self::Short(_) | Self::Garble(_) => verb == Verb::Get,
            Self::ListError(_) | Self::ListCut(_) => verb == Verb::List,
            _ => true,
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass => f.write_str("pass"),
            Self::FailBefore => f.write_str("fail before the effect"),
            Self::FailAfter => f.write_str("fail after the effect"),
            Self::Delay(time) => write!(f, "delay by {time:?}"),
            Self::Late(Delivery::After(n)) => write!(f, "deliver {n} operations after the next"),
            Self::Late(Delivery::OnDemand) => f.write_str("deliver on demand"),
            Self::Twice => f.write_str("deliver twice"),
            Self::Retried => f.write_str("deliver twice, answer of the second"),
            Self::Stale(n) => write!(f, "stale by {n}"),
            Self::Short(n) => write!(f, "short by {n} bytes"),
            Self::Garble(at) => write!(f, "flip a bit at {at}"),
            Self::ListError(n) => write!(f, "fail after {n} objects"),
            Self::ListCut(n) => write!(f, "end after {n} objects"),
            Self::Panic => f.write_str("panic"),
            Self::Cancel(when) => write!(f, "never return ({when:?})"),
            Self::Stop(when) => write!(f, "stop here ({when:?})"),
        }
    }
}
