//! The operations that were asked for, in order, and the decisions about them.

use std::fmt;

use super::decision::{Decision, Verb};

/// One operation and its decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// The number of the operation, from zero.
    pub operation: u64,
    /// Its kind.
    pub verb: Verb,
    /// Its key; of a list the prefix, of `sync` nothing.
    pub key: String,
    /// The decision about it.
    pub decision: Decision,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            operation,
            verb,
            key,
            decision,
        } = self;
        write!(f, "{operation:>5} {verb} {key:?}: {decision}")
    }
}

/// The operations of a run. Two runs from one seed, on a runtime with one thread, have equal traces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Trace(Vec<Event>);

impl Trace {
    /// Returns the operations in order.
    pub fn events(&self) -> &[Event] {
        &self.0
    }

    /// Returns the operations that met a fault.
    pub fn faults(&self) -> impl Iterator<Item = &Event> {
        self.0
            .iter()
            .filter(|event| event.decision != Decision::Pass)
    }

    pub(super) fn push(&mut self, event: Event) {
        self.0.push(event);
    }

    /// Returns what the trace did to an operation; one that it does not know, or knows as another verb,
    /// passes.
    pub(super) fn decision(&self, operation: u64, verb: Verb) -> Decision {
        self.0
            .iter()
            .find(|event| event.operation == operation && event.verb == verb)
            .map_or(Decision::Pass, |event| event.decision)
    }
}

impl FromIterator<Event> for Trace {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Self {
        Self(events.into_iter().collect())
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|event| writeln!(f, "{event}"))
    }
}
