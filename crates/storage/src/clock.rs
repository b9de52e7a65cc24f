//! The only sources of time and randomness. Everything above takes them as values, so that a test can
//! replay a run.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use futures::future::BoxFuture;

/// A source of time. Everything above the storage layer takes one as a value, so that tests can move the time.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the wall-clock time. It may jump: it dates records, and is never used to measure.
    fn now(&self) -> SystemTime;
    /// Returns the time since some fixed moment. It never goes back: time-outs are measured with it.
    fn monotonic(&self) -> Duration;
    /// Waits for `duration` of this clock.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// The clock of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the source that all others inject"
    )]
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the source that all others inject"
    )]
    fn monotonic(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the source that all others inject"
    )]
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        if tokio::runtime::Handle::try_current().is_ok() {
            return Box::pin(tokio::time::sleep(duration));
        }
        // No runtime drives tokio's timers here.
        let (done, waiting) = futures::channel::oneshot::channel::<()>();
        std::thread::spawn(move || {
            std::thread::sleep(duration);
            drop(done);
        });
        Box::pin(async move {
            let _ended = waiting.await;
        })
    }
}

/// A clock that stands still until it is moved: for tests and replays. Clones are the same clock.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use icefield_storage::{Clock, ManualClock};
///
/// let clock = ManualClock::new(SystemTime::UNIX_EPOCH);
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(clock.now(), SystemTime::UNIX_EPOCH + Duration::from_secs(60));
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<Mutex<(SystemTime, Duration)>>);

impl ManualClock {
    /// Returns a clock that shows `now`.
    pub fn new(now: SystemTime) -> Self {
        Self(Arc::new(Mutex::new((now, Duration::ZERO))))
    }

    /// Moves the clock forwards by `duration`.
    pub fn advance(&self, duration: Duration) {
        let mut state = self.lock();
        state.0 += duration;
        state.1 += duration;
    }

    /// Sets the wall clock, forwards or back; the monotonic time stays.
    pub fn set(&self, now: SystemTime) {
        self.lock().0 = now;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, (SystemTime, Duration)> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> SystemTime {
        self.lock().0
    }

    fn monotonic(&self) -> Duration {
        self.lock().1
    }

    /// Lets the time pass at once and returns after giving other tasks a turn.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.advance(duration);
        Box::pin(tokio::task::yield_now())
    }
}

/// A source of random bytes.
pub trait Entropy: fmt::Debug + Send + Sync + 'static {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]);
    /// Returns a source of its own for another task or process: it never repeats what this one gives, and
    /// what it gives depends only on this source and on how many were derived before.
    fn derive(&self) -> Arc<dyn Entropy>;
}

/// The operating system's generator, asked anew each time, so that neither a fork nor a restored virtual
/// machine repeats an id.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the source that all others inject"
    )]
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("BUG: the operating system has no random numbers");
    }

    fn derive(&self) -> Arc<dyn Entropy> {
        Arc::new(Self)
    }
}

/// A repeatable generator (SplitMix64): for tests and replays. Two repository handles with one seed would draw the same
/// ids, so it must never be used on a real repository.
///
/// ```
/// use icefield_storage::SeededEntropy;
///
/// assert_eq!(SeededEntropy::new(7).next_u64(), SeededEntropy::new(7).next_u64());
/// ```
#[derive(Debug)]
pub struct SeededEntropy(Mutex<u64>);

impl SeededEntropy {
    /// Returns the generator that starts from a seed.
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&self) -> u64 {
        let mut state = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number from zero up to, and not including, `bound`, which must not be zero.
    pub fn below(&self, bound: u64) -> u64 {
        self.next_u64() % bound.max(1)
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(8) {
            let word = self.next_u64().to_le_bytes();
            part.copy_from_slice(&word[..part.len()]);
        }
    }

    fn derive(&self) -> Arc<dyn Entropy> {
        Arc::new(Self::new(self.next_u64() ^ 0xD1B5_4A32_D192_ED03))
    }
}
