//! The faults that can be planted in a running server.
//!
//! [`Switches::inject`] adds a [`Rule`]: a [`Fault`] for the requests that it names, so many times, or for a
//! share of them that a seed decides. [`Switches::set`] changes the standing [`Behaviour`]. Every rule that
//! meets a request counts; where two want to end it, the first one does.

mod behaviour;
mod rule;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use icefield_storage::SeededEntropy;

pub use behaviour::{Behaviour, LifecycleRule};
pub use rule::{Fault, Rule, Verb};

use crate::world::{Conditions, WriteRules};
use crate::{Answer, Gate};

/// The switches of one server. Clones are the same switches.
#[derive(Clone, Debug, Default)]
pub struct Switches(Arc<Mutex<Panel>>);

#[derive(Debug)]
struct Panel {
    behaviour: Behaviour,
    rules: Vec<Live>,
    injected: u64,
    random: SeededEntropy,
}

impl Default for Panel {
    fn default() -> Self {
        Self {
            behaviour: Behaviour::default(),
            rules: Vec::new(),
            injected: 0,
            random: SeededEntropy::new(0),
        }
    }
}

#[derive(Debug)]
struct Live {
    id: u64,
    rule: Rule,
    met: u64,
    fired: u64,
}

/// A rule that was injected.
#[derive(Clone, Debug)]
pub struct Injected {
    switches: Switches,
    id: u64,
}

impl Injected {
    /// Returns how many requests it has met.
    pub fn fired(&self) -> u64 {
        let panel = self.switches.lock();
        let live = panel.rules.iter().find(|live| live.id == self.id);
        live.map_or(0, |live| live.fired)
    }

    /// Takes the rule away.
    pub fn remove(&self) {
        self.switches.lock().rules.retain(|live| live.id != self.id);
    }
}

impl Switches {
    /// Adds a rule.
    pub fn inject(&self, rule: Rule) -> Injected {
        let mut panel = self.lock();
        panel.injected += 1;
        let id = panel.injected;
        panel.rules.push(Live {
            id,
            rule,
            met: 0,
            fired: 0,
        });
        Injected {
            switches: self.clone(),
            id,
        }
    }

    /// Takes all rules away and restores the usual behaviour.
    pub fn clear(&self) {
        let mut panel = self.lock();
        panel.rules.clear();
        panel.behaviour = Behaviour::default();
    }

    /// Changes the standing behaviour.
    pub fn set(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.lock().behaviour);
    }

    /// Returns the standing behaviour.
    pub fn behaviour(&self) -> Behaviour {
        self.lock().behaviour.clone()
    }

    /// Begins to draw shares from this seed.
    pub fn seed(&self, seed: u64) {
        self.lock().random = SeededEntropy::new(seed);
    }

    /// Decides what becomes of one request.
    pub(crate) fn draw(&self, verb: Verb, key: &str) -> Plan {
        let mut panel = self.lock();
        let panel = &mut *panel;
        let mut plan = Plan::default();
        plan.orders.rules.etags = panel.behaviour.etags;
        plan.orders.rules.one_a_second = panel.behaviour.one_write_a_second;
        for live in &mut panel.rules {
            let rule = &live.rule;
            let aimed = rule.verbs.is_empty() || rule.verbs.contains(&verb);
            if !aimed || !key.contains(&rule.key) {
                continue;
            }
            live.met += 1;
            if live.met <= rule.skip || live.fired >= rule.times {
                continue;
            }
            if rule.share < 1.0 && !chance(&panel.random, rule.share) {
                continue;
            }
            live.fired += 1;
            plan.trace.push(format!("{:?}", rule.fault));
            plan.take(&rule.fault, &rule.key);
        }
        let storm = panel.behaviour.storm;
        if plan.before.is_none() && storm > 0.0 && chance(&panel.random, storm) {
            plan.trace.push("storm".to_owned());
            plan.before = Some(Ending::Answer(Answer::slow_down()));
        }
        plan
    }

    fn lock(&self) -> MutexGuard<'_, Panel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Draws whether something of this probability happens.
pub(crate) fn chance(random: &SeededEntropy, share: f64) -> bool {
    const STEPS: u64 = 1 << 32;
    (random.below(STEPS) as f64) < share * STEPS as f64
}

/// The plan for one request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) trace: Vec<String>,
    pub(crate) delay: Option<Duration>,
    pub(crate) hold: Option<Gate>,
    pub(crate) before: Option<Ending>,
    pub(crate) orders: Orders,
    pub(crate) after: Option<Ending>,
    pub(crate) hold_answer: Option<Gate>,
    pub(crate) body: Option<BodyFault>,
}

/// How a request ends that does not end well.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    Answer(Answer),
    Reset,
}

/// The fault of the body of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BodyFault {
    Truncate(usize),
    Stall(usize),
    Drip(usize, Duration),
    Corrupt(usize),
}

/// The orders to the service itself to act differently.
#[derive(Clone, Debug, Default)]
pub(crate) struct Orders {
    pub(crate) rules: WriteRules,
    pub(crate) read_back: usize,
    pub(crate) list_back: usize,
    pub(crate) short_list: Option<usize>,
    /// Parts of keys that fail within a batch.
    pub(crate) failing: Vec<(String, Answer)>,
}

impl Plan {
    fn take(&mut self, fault: &Fault, key: &str) {
        match fault {
            Fault::Refuse(answer) => first(&mut self.before, Ending::Answer(answer.clone())),
            Fault::Reset => first(&mut self.before, Ending::Reset),
            Fault::RefuseAfter(answer) => first(&mut self.after, Ending::Answer(answer.clone())),
            Fault::ResetAfter => first(&mut self.after, Ending::Reset),
            Fault::Delay(time) => self.delay = Some(*time + self.delay.unwrap_or_default()),
            Fault::Hold(gate) => first(&mut self.hold, gate.clone()),
            Fault::HoldAnswer(gate) => first(&mut self.hold_answer, gate.clone()),
            Fault::IgnoreConditions => self.orders.rules.conditions = Conditions::Ignored,
            Fault::Racy(gap) => self.orders.rules.conditions = Conditions::Racy(*gap),
            Fault::Truncate(at) => first(&mut self.body, BodyFault::Truncate(*at)),
            Fault::Stall(at) => first(&mut self.body, BodyFault::Stall(*at)),
            Fault::Drip(piece, every) => first(&mut self.body, BodyFault::Drip(*piece, *every)),
            Fault::Corrupt(at) => first(&mut self.body, BodyFault::Corrupt(*at)),
            Fault::StaleRead(back) => self.orders.read_back = *back,
            Fault::StaleList(back) => self.orders.list_back = *back,
            Fault::ShortList(keep) => self.orders.short_list = Some(*keep),
            Fault::FailKeys(answer) => {
                let failing = (key.to_owned(), answer.clone());
                self.orders.failing.push(failing);
            }
        }
    }
}

fn first<T>(place: &mut Option<T>, value: T) {
    if place.is_none() {
        *place = Some(value);
    }
}
