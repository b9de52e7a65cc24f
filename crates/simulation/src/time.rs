//! The time of the simulated world: it stands still while anything can run, and goes on to the next timer when nothing can.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use futures::future::{BoxFuture, FutureExt as _};
use icefield_storage::Clock;

/// When the world begins: a moment after 2024, so that times look like those of real repositories.
const BEGIN: Duration = Duration::from_secs(1_800_000_000);

/// The timers of all tasks, and the moment that they are measured from. Clones share one world.
#[derive(Clone, Default)]
pub(crate) struct WorldTime(Arc<Mutex<Timers>>);

#[derive(Default)]
struct Timers {
    now: Duration,
    /// Numbers timers, so that two of one moment have an order.
    next: u64,
    waiting: BTreeMap<(Duration, u64), Waker>,
}

impl fmt::Debug for WorldTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WorldTime").field(&self.elapsed()).finish()
    }
}

impl WorldTime {
    /// Returns a world that has just begun.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Timers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time since the world began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.lock().now
    }

    /// Goes on to the next timer and wakes all that are due by then; false if there is none.
    pub(crate) fn advance(&self) -> bool {
        let mut timers = self.lock();
        let Some(((next, _), _)) = timers.waiting.first_key_value() else {
            return false;
        };
        timers.now = timers.now.max(*next);
        let now = timers.now;
        let mut due = Vec::new();
        while let Some(first) = timers.waiting.first_entry()
            && first.key().0 <= now
        {
            due.push(first.remove());
        }
        drop(timers);
        due.into_iter().for_each(Waker::wake);
        true
    }

    /// Lets a moment pass, as every step of a program takes one.
    pub(crate) fn pass(&self, duration: Duration) {
        self.lock().now += duration;
    }

    /// Waits until a moment.
    pub(crate) fn until(&self, due: Duration) -> impl Future<Output = ()> + Send + 'static {
        Timer {
            world: self.clone(),
            due,
            number: None,
        }
    }

    /// Returns a clock of the world that is wrong by so many milliseconds.
    pub(crate) fn clock(&self, skew_ms: i64) -> WorldClock {
        WorldClock {
            world: self.clone(),
            skew_ms,
        }
    }
}

struct Timer {
    world: WorldTime,
    due: Duration,
    number: Option<u64>,
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let world = self.world.clone();
        let mut timers = world.lock();
        let due = self.due;
        if timers.now >= due {
            if let Some(number) = self.number.take() {
                timers.waiting.remove(&(due, number));
            }
            return Poll::Ready(());
        }
        let number = *self.number.get_or_insert_with(|| {
            timers.next += 1;
            timers.next
        });
        timers
            .waiting
            .insert((due, number), context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.world.lock().waiting.remove(&(self.due, number));
        }
    }
}

/// The clock of one machine of the world.
#[derive(Clone, Debug)]
pub(crate) struct WorldClock {
    world: WorldTime,
    skew_ms: i64,
}

impl Clock for WorldClock {
    fn now(&self) -> SystemTime {
        let exact = SystemTime::UNIX_EPOCH + BEGIN + self.world.elapsed();
        let skew = Duration::from_millis(self.skew_ms.unsigned_abs());
        match self.skew_ms < 0 {
            true => exact - skew,
            false => exact + skew,
        }
    }

    fn monotonic(&self) -> Duration {
        self.world.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let due = self.world.elapsed() + duration;
        self.world.until(due).boxed()
    }
}
