//! Advice to the operator of a store.

/// A finding about a store's own settings that matters to users that keep data in it. See
/// [`Storage::advice`](crate::Storage::advice).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Advice {
    /// The weight of the finding.
    pub weight: Weight,
    /// The topic of the finding.
    pub topic: Topic,
    /// The finding, and what to do about it, as one or more sentences.
    pub text: String,
}

/// The weight of a piece of advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Weight {
    /// The setting is as it should be.
    Good,
    /// No data is in danger, but there is something to know.
    Hint,
    /// Data will be lost or become unreadable unless something is done.
    Warning,
}

/// The topic of a piece of advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Topic {
    /// Rules by which the store deletes or moves objects.
    Rules,
    /// Whether writers exclude each other.
    Locks,
}

impl Advice {
    /// Returns the advice that all is well, on the topic of rules unless [`Advice::on`] sets another.
    pub fn good(text: impl Into<String>) -> Self {
        Self::new(Weight::Good, text)
    }

    /// Returns a hint: nothing is in danger.
    pub fn hint(text: impl Into<String>) -> Self {
        Self::new(Weight::Hint, text)
    }

    /// Returns a warning: data is in danger.
    pub fn warning(text: impl Into<String>) -> Self {
        Self::new(Weight::Warning, text)
    }

    fn new(weight: Weight, text: impl Into<String>) -> Self {
        Self {
            weight,
            topic: Topic::Rules,
            text: text.into(),
        }
    }

    /// Sets the topic.
    #[must_use]
    pub fn on(mut self, topic: Topic) -> Self {
        self.topic = topic;
        self
    }
}
