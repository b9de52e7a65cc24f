//! Which operation meets which fault.

use super::decision::{Decision, Delivery, Verb, When};
use super::trace::Trace;
use crate::SeededEntropy;
use std::time::Duration;

/// Chooses operations by verb and key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matcher {
    verb: Option<Verb>,
    only_writes: bool,
    key_start: String,
}

impl Matcher {
    /// Matches every operation.
    pub fn any() -> Self {
        Self::default()
    }

    /// Matches puts, deletes and copies.
    pub fn writes() -> Self {
        Self {
            only_writes: true,
            ..Self::default()
        }
    }

    /// Matches one verb.
    pub fn verb(verb: Verb) -> Self {
        Self {
            verb: Some(verb),
            ..Self::default()
        }
    }

    /// Returns the matcher narrowed to keys that begin with this text (of a list: its prefix does; of a
    /// `sync`, which has no key, none does).
    #[must_use]
    pub fn below(mut self, key_start: &str) -> Self {
        key_start.clone_into(&mut self.key_start);
        self
    }

    pub(super) fn matches(&self, verb: Verb, key: &str) -> bool {
        self.verb.is_none_or(|wanted| wanted == verb)
            && (!self.only_writes || verb.is_write())
            && key.starts_with(&self.key_start)
    }
}

impl From<Verb> for Matcher {
    fn from(verb: Verb) -> Self {
        Self::verb(verb)
    }
}

/// How often each fault is drawn, in thousandths of the operations that it applies to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Of [`Decision::FailBefore`].
    pub fail_before: u64,
    /// Of [`Decision::FailAfter`].
    pub fail_after: u64,
    /// Of [`Decision::Delay`].
    pub delay: u64,
    /// The longest delay; zero means a second.
    pub longest_delay: Duration,
    /// Of [`Decision::Late`], up to eight operations late.
    pub late: u64,
    /// Of [`Decision::Twice`].
    pub twice: u64,
    /// Of [`Decision::Stale`], up to four states.
    pub stale: u64,
    /// Of [`Decision::Short`].
    pub short: u64,
    /// Of [`Decision::Garble`].
    pub garble: u64,
    /// Of [`Decision::ListError`].
    pub list_error: u64,
    /// Of [`Decision::Panic`].
    pub panic: u64,
    /// Of [`Decision::Cancel`], in all three ways.
    pub cancel: u64,
}

impl Rates {
    /// Returns equal rates for every fault that the contract of [`Storage`](crate::Storage) permits and
    /// after which the caller goes on: all but stale and garbled reads, panics and cancellations.
    pub fn lawful(per_mille: u64) -> Self {
        Self {
            fail_before: per_mille,
            fail_after: per_mille,
            delay: per_mille,
            late: per_mille,
            twice: per_mille,
            short: per_mille,
            list_error: per_mille,
            ..Self::default()
        }
    }

    /// Draws for one operation. Depends on nothing but its arguments, so that an operation more or less
    /// changes no other draw.
    fn draw(&self, seed: u64, operation: u64, verb: Verb) -> Decision {
        let dice = SeededEntropy::new(seed ^ operation.wrapping_mul(0xA076_1D64_78BD_642F));
        let longest = match self.longest_delay.as_millis() as u64 {
            0 => 1000,
            millis => millis,
        };
        let faults = [
            (self.fail_before, Decision::FailBefore),
            (self.fail_after, Decision::FailAfter),
            (
                self.delay,
                Decision::Delay(Duration::from_millis(1 + dice.below(longest))),
            ),
            (self.late, Decision::Late(Delivery::After(dice.below(8)))),
            (self.twice, Decision::Twice),
            (self.stale, Decision::Stale(1 + dice.below(4))),
            (self.short, Decision::Short(1 + dice.below(64))),
            (self.garble, Decision::Garble(dice.next_u64())),
            (self.list_error, Decision::ListError(dice.below(64))),
            (self.panic, Decision::Panic),
            (
                self.cancel,
                Decision::Cancel(When::ALL[dice.below(3) as usize]),
            ),
        ];
        let mut point = dice.below(1000);
        for (rate, fault) in faults
            .into_iter()
            .filter(|(_, fault)| fault.applies_to(verb))
        {
            if point < rate {
                return fault;
            }
            point -= rate;
        }
        Decision::Pass
    }
}

#[derive(Clone, Debug, Default)]
enum Base {
    #[default]
    Pass,
    Seeded(u64, Rates),
    Replay(Trace),
}

#[derive(Clone, Debug)]
struct Rule {
    matcher: Matcher,
    /// Which match, counted from zero; all of them if `None`.
    nth: Option<u64>,
    decision: Decision,
    seen: u64,
}

/// Decides for every operation what happens to it: scripted rules first, in the order in which they were
/// added, then the base (nothing, a seed, or a recorded trace).
#[derive(Clone, Debug, Default)]
pub struct Plan {
    base: Base,
    rules: Vec<Rule>,
}

impl Plan {
    /// Lets everything pass. Operations are still counted and traced, and states kept.
    pub fn none() -> Self {
        Self::default()
    }

    /// Draws faults at these rates.
    pub fn seeded(seed: u64, rates: Rates) -> Self {
        Self {
            base: Base::Seeded(seed, rates),
            rules: Vec::new(),
        }
    }

    /// Decides each operation as the trace did; operations that it does not know pass. The trace may have
    /// been shortened, to find out which faults matter.
    pub fn replay(trace: Trace) -> Self {
        Self {
            base: Base::Replay(trace),
            rules: Vec::new(),
        }
    }

    /// Stops everything at operation `k`, counted from zero, reads included.
    pub fn stop_at(k: u64, when: When) -> Self {
        Self::none().on(Matcher::any(), k, Decision::Stop(when))
    }

    /// Stops everything at write `k`, counted from zero: [`Matcher::writes`].
    pub fn stop_at_write(k: u64, when: When) -> Self {
        Self::none().on(Matcher::writes(), k, Decision::Stop(when))
    }

    /// Lets operation `k` never return, counted from zero, reads included.
    pub fn cancel_at(k: u64, when: When) -> Self {
        Self::none().on(Matcher::any(), k, Decision::Cancel(when))
    }

    /// Lets write `k` never return, counted from zero.
    pub fn cancel_at_write(k: u64, when: When) -> Self {
        Self::none().on(Matcher::writes(), k, Decision::Cancel(when))
    }

    /// Returns the plan with a rule for the `nth` operation that matches, counted from zero.
    #[must_use]
    pub fn on(self, matcher: impl Into<Matcher>, nth: u64, decision: Decision) -> Self {
        self.rule(matcher.into(), Some(nth), decision)
    }

    /// Returns the plan with a rule for every operation that matches.
    #[must_use]
    pub fn always(self, matcher: impl Into<Matcher>, decision: Decision) -> Self {
        self.rule(matcher.into(), None, decision)
    }

    fn rule(mut self, matcher: Matcher, nth: Option<u64>, decision: Decision) -> Self {
        self.rules.push(Rule {
            matcher,
            nth,
            decision,
            seen: 0,
        });
        self
    }

    /// Decides the next operation.
    pub(super) fn decide(&mut self, operation: u64, verb: Verb, key: &str) -> Decision {
        let mut scripted = None;
        for rule in &mut self.rules {
            if rule.matcher.matches(verb, key) {
                // Every rule counts its matches, also those that another rule decides.
                if rule.nth.is_none_or(|nth| nth == rule.seen) {
                    scripted = scripted.or(Some(rule.decision));
                }
                rule.seen += 1;
            }
        }
        let decision = scripted.unwrap_or_else(|| match &self.base {
            Base::Pass => Decision::Pass,
            Base::Seeded(seed, rates) => rates.draw(*seed, operation, verb),
            Base::Replay(trace) => trace.decision(operation, verb),
        });
        if decision.applies_to(verb) {
            decision
        } else {
            Decision::Pass
        }
    }
}

/// Enumerates every place where a scenario of `operations` operations can stop: each operation, each
/// [`When`].
pub fn crash_points(operations: u64) -> impl Iterator<Item = (u64, When)> {
    (0..operations).flat_map(|k| When::ALL.map(|when| (k, when)))
}
