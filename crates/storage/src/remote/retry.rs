//! Trying again: how often, when, and how many at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::{Either, select};

use super::request::{Fault, FaultKind};
use super::settings::RetrySettings;
use crate::{Clock, Entropy, StorageError};

/// The right of all calls together to try again: so many at once, then so many a second.
#[derive(Debug)]
struct Budget {
    /// Repetitions left, in thousandths; below zero are those that wait already.
    left: i64,
    at: Duration,
}

/// Tries requests again, for one store.
#[derive(Debug)]
pub(super) struct Retries {
    settings: RetrySettings,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    budget: Mutex<Budget>,
    /// Whether the store has ever answered.
    answered: AtomicBool,
}

/// The attempts of one call so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tries {
    begun: Duration,
    attempts: u32,
}

/// One call that may take several attempts.
#[derive(Debug)]
pub(super) struct Call<'a> {
    retries: &'a Retries,
    tries: Tries,
}

impl Retries {
    pub(super) fn new(
        settings: RetrySettings,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        let budget = Mutex::new(Budget {
            left: i64::from(settings.burst) * 1000,
            at: clock.monotonic(),
        });
        Self {
            settings,
            clock,
            entropy,
            budget,
            answered: AtomicBool::new(false),
        }
    }

    pub(super) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Waits for an answer, so long and no longer.
    pub(super) async fn in_time<T>(
        &self,
        limit: Duration,
        action: &'static str,
        target: &str,
        work: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let work = std::pin::pin!(work);
        let result = match select(work, self.clock.sleep(limit)).await {
            Either::Left((result, _)) => result,
            Either::Right(((), _)) => {
                return Err(silent(action, target, limit));
            }
        };
        if !matches!(&result, Err(fault) if fault.kind == FaultKind::Unreachable) {
            self.answered.store(true, Ordering::Relaxed);
        }
        result
    }

    /// Draws 130 random bits as 26 letters and digits.
    pub(super) fn draw_id(&self) -> String {
        const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        let mut bytes = [0; 26];
        self.entropy.fill(&mut bytes);
        let letters = bytes.iter().map(|byte| LETTERS[usize::from(byte % 32)]);
        letters.map(char::from).collect()
    }

    pub(super) fn call(&self) -> Call<'_> {
        Call {
            retries: self,
            tries: self.tries(),
        }
    }

    /// The first attempt of a call that begins now.
    pub(super) fn tries(&self) -> Tries {
        Tries {
            begun: self.clock.monotonic(),
            attempts: 1,
        }
    }

    /// Takes one repetition, and returns how long to wait for it.
    fn take(&self) -> Duration {
        let rate = i64::from(self.settings.per_second.max(1)) * 1000;
        let full = self.full();
        let now = self.clock.monotonic();
        let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.saturating_sub(budget.at);
        let passed = i64::try_from(passed.as_millis()).unwrap_or(i64::MAX);
        let earned = passed.saturating_mul(rate) / 1000;
        budget.left = budget.left.saturating_add(earned).min(full) - 1000;
        budget.at = now;
        let missing = u64::try_from(-budget.left).unwrap_or(0);
        Duration::from_millis(missing.saturating_mul(1000) / rate.unsigned_abs())
    }

    /// Gives back a repetition that was not made.
    fn give_back(&self) {
        let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        budget.left = budget.left.saturating_add(1000).min(self.full());
    }

    fn full(&self) -> i64 {
        i64::from(self.settings.burst) * 1000
    }

    /// Random, from nothing up to a bound that doubles with each attempt.
    fn pause(&self, attempts: u32) -> Duration {
        let doubled = self.settings.first_pause * (1 << attempts.saturating_sub(1).min(16));
        let longest = doubled.min(self.settings.longest_pause);
        let mut random = [0; 4];
        self.entropy.fill(&mut random);
        longest.mul_f64(f64::from(u32::from_le_bytes(random)) / f64::from(u32::MAX))
    }
}

impl Call<'_> {
    pub(super) fn attempts(&self) -> u32 {
        self.tries.attempts
    }

    /// As [`Retries::again`].
    pub(super) async fn again(&mut self, fault: &Fault) -> bool {
        self.retries.again(&mut self.tries, fault).await
    }
}

impl Retries {
    /// Waits until the next attempt may begin. Returns whether there is one.
    pub(super) async fn again(&self, tries: &mut Tries, fault: &Fault) -> bool {
        let settings = &self.settings;
        let passed = || self.clock.monotonic().saturating_sub(tries.begun);
        let unknown =
            fault.kind == FaultKind::Unreachable && !self.answered.load(Ordering::Relaxed);
        let most = match unknown {
            true => settings.contact_attempts.min(settings.attempts),
            false => settings.attempts,
        };
        if fault.kind == FaultKind::Final || tries.attempts >= most || passed() >= settings.deadline
        {
            return false;
        }
        let pause = self.pause(tries.attempts).max(self.take());
        if passed() + pause > settings.deadline {
            self.give_back();
            return false;
        }
        tracing::debug!(attempt = tries.attempts, ?pause, %fault, "trying again");
        self.clock.sleep(pause).await;
        tries.attempts += 1;
        true
    }
}

/// The fault of a request that the store did not answer: its effect is unknown.
pub(super) fn silent(action: &'static str, target: &str, limit: Duration) -> Fault {
    let error = StorageError::Unavailable {
        action,
        target: target.to_owned(),
        source: format!("no answer within {limit:?}").into(),
    };
    Fault::new(FaultKind::InDoubt, error)
}

/// The fault of a request whose answer leaves something out.
pub(super) fn silent_about(target: &str) -> Fault {
    let error = StorageError::Unavailable {
        action: "delete",
        target: target.to_owned(),
        source: "the answer does not say what became of each".into(),
    };
    Fault::new(FaultKind::InDoubt, error)
}
