//! The data of a lease: when a session began, by which clocks, and what it has told collections.

use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use icefield_refs::micros_of_time;
use icefield_storage::{Clock, Key};
use tokio::sync::Mutex;

use crate::collection::CLOCK_MARGIN;

/// A moment on both clocks of this machine: the monotonic one stands still while a machine sleeps, the other one may be
/// set. What has passed is the longer of what both say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    monotonic: Duration,
    wall: SystemTime,
}

impl Moment {
    pub(crate) fn now(clock: &dyn Clock) -> Self {
        Self {
            monotonic: clock.monotonic(),
            wall: clock.now(),
        }
    }

    pub(crate) fn elapsed(&self, clock: &dyn Clock) -> Duration {
        let monotonic = clock.monotonic().saturating_sub(self.monotonic);
        let wall = clock.now().duration_since(self.wall).unwrap_or_default();
        monotonic.max(wall)
    }
}

/// When a session began, and what it has told collections of it. Forks share that of their session.
#[derive(Debug)]
pub(crate) struct SessionLease {
    /// The name of the object, once one is needed.
    pub(super) id: std::sync::OnceLock<[u8; 12]>,
    opened: Moment,
    /// The age that the session had then: of a fork that comes from another process.
    age_before: Duration,
    /// When the session began, by the store's clock, if another process has found out.
    pub(super) started: Option<u64>,
    pub(super) told: Mutex<Option<WrittenLease>>,
    /// The earliest and the latest time that the store gave to what was written.
    written: std::sync::Mutex<Option<(SystemTime, SystemTime)>>,
    /// Whether the session was old when it was last guarded.
    pub(super) guarded: AtomicBool,
    /// Whether a collection had a cutoff after the session began, young as the session is: it ran under a clock that stood
    /// ahead, or without a floor. The session counts as old from then on.
    pub(super) exposed: AtomicBool,
    /// A lease beside it, of a session that takes chunks over from elsewhere.
    pub(super) holds: Mutex<Vec<Key>>,
}

/// A lease that was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrittenLease {
    /// When the session began, by the store's clock, in microseconds.
    pub(super) started: u64,
    /// When the lease was last renewed.
    pub(super) at: Moment,
    /// The same by the store's clock. None of one that was just created: its own date tells.
    pub(super) store_time: Option<SystemTime>,
    /// How far apart the times were that the store had given by then.
    pub(super) spread: Duration,
}

impl WrittenLease {
    /// Of a lease that holds back everything.
    pub(super) fn of_hold(clock: &dyn Clock) -> Self {
        Self {
            started: 0,
            at: Moment::now(clock),
            store_time: None,
            spread: Duration::ZERO,
        }
    }
}

/// A lease on its way to another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentLease {
    pub(crate) id: [u8; 12],
    /// In microseconds.
    pub(crate) age: u64,
    /// By the sender's clock, in microseconds since 1970.
    pub(crate) sent_at: u64,
    /// When the session began, by the store's clock, in microseconds since 1970; 0 if that is not known yet.
    pub(crate) started: u64,
}

impl SessionLease {
    pub(crate) fn opened_at(opened: Moment) -> Self {
        Self {
            id: std::sync::OnceLock::new(),
            opened,
            age_before: Duration::ZERO,
            started: None,
            told: Mutex::new(None),
            written: std::sync::Mutex::new(None),
            guarded: AtomicBool::new(false),
            exposed: AtomicBool::new(false),
            holds: Mutex::default(),
        }
    }

    /// The lease of a fork that came from another process. What it was on its way counts, by clocks that may differ.
    pub(crate) fn received(sent: SentLease, opened: Moment) -> Self {
        let on_its_way = micros_of_time(opened.wall).saturating_sub(sent.sent_at);
        let lease = Self {
            age_before: Duration::from_micros(sent.age.saturating_add(on_its_way)),
            started: (sent.started > 0).then_some(sent.started),
            ..Self::opened_at(opened)
        };
        let _ = lease.id.set(sent.id);
        lease
    }

    pub(super) fn age(&self, clock: &dyn Clock) -> Duration {
        self.age_here(clock).saturating_add(self.age_before)
    }

    /// The age without that of before it came to this process. A session is at least as old as the store's times of what
    /// it wrote are apart: where a clock goes back and forth, that shows nowhere else.
    pub(super) fn age_here(&self, clock: &dyn Clock) -> Duration {
        self.opened.elapsed(clock).max(self.spread())
    }

    /// Notes when the store says that it wrote something of the session.
    pub(crate) fn note_written(&self, time: SystemTime) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, last) = written.unwrap_or((time, time));
        *written = Some((first.min(time), last.max(time)));
    }

    /// A time before anything of the session was written, in microseconds, where the store's clock is this machine's.
    pub(super) fn began_by(&self, clock: &dyn Clock) -> u64 {
        let written = *self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let age = u64::try_from(self.age(clock).as_micros()).unwrap_or(u64::MAX);
        let by_age = micros_of_time(clock.now()).saturating_sub(age);
        let first = written.map_or(u64::MAX, |(first, _)| micros_of_time(first));
        let margin = u64::try_from(CLOCK_MARGIN.as_micros()).unwrap_or(u64::MAX);
        by_age.min(first).saturating_sub(margin)
    }

    pub(super) fn spread(&self) -> Duration {
        let written = *self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.map_or(Duration::ZERO, |(first, last)| {
            last.duration_since(first).unwrap_or_default()
        })
    }
}
