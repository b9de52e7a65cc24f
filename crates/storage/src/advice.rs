//! Advice to the operator of a store.

/// Something about a store's own settings that matters to users that keep data in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Advice {
    /// How much it matters.
    pub weight: Weight,
    /// Its topic.
    pub topic: Topic,
    /// The finding, and what to do about it.
    pub text: String,
}

/// How much a piece of advice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Weight {
    /// All is well.
    Good,
    /// Nothing is in danger, and there is something to know.
    Hint,
    /// Data will be lost or become unreadable if nothing is done.
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
    /// Returns the word that all is well, about rules unless [`Advice::on`] says otherwise.
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

    /// Sets what it is about.
    #[must_use]
    pub fn on(mut self, topic: Topic) -> Self {
        self.topic = topic;
        self
    }
}
