//! The errors of texts that name no version.

/// The reason why a text names no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RevisionError {
    /// The text is empty, or consists of suffixes only.
    #[error(
        "{text:?} names no version: write a branch, tag:NAME or a snapshot id, then ~N or @TIME if wanted"
    )]
    NoStart {
        /// The text.
        text: String,
    },
    /// No branch or tag can have that name.
    #[error("{text:?} names no version")]
    Name {
        /// The text.
        text: String,
        /// The rule.
        source: icefield_core::NameError,
    },
    /// No snapshot can have that id.
    #[error("{text:?} names no version")]
    Id {
        /// The text.
        text: String,
        /// The rule.
        source: icefield_format::IdError,
    },
}
