//! What an operator should know about a store.

/// Something about a store's own settings that matters to those who keep data in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Advice {
    /// Whether data will be lost or become unreadable if nothing is done.
    pub is_warning: bool,
    /// What it is, and what to do about it.
    pub text: String,
}

impl Advice {
    /// Returns a warning: data is in danger.
    pub fn warning(text: impl Into<String>) -> Self {
        Self {
            is_warning: true,
            text: text.into(),
        }
    }

    /// Returns a hint: nothing is in danger.
    pub fn hint(text: impl Into<String>) -> Self {
        Self {
            is_warning: false,
            text: text.into(),
        }
    }
}
