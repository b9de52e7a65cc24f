//! Objects below `refs/` that are no refs.

use std::fmt;

use crate::NameError;

/// An object below `refs/` that is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// The name as the store has it, relative to the root of the repository.
    pub name: String,
    /// The reason why it is not understood.
    pub problem: StrayProblem,
}

/// The reason why an object below `refs/` is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StrayProblem {
    /// The key is not that of a branch or tag.
    #[error("it is not the key of a branch or tag")]
    NotARef,
    /// The key has the form of a ref's, with a name that refs cannot have.
    #[error(transparent)]
    Name(NameError),
    /// The name is no key, or the entry is no object.
    #[error("{0}")]
    Unreadable(String),
    /// It is a ref that cannot be read.
    #[error("{0}")]
    Damaged(String),
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.problem)
    }
}

impl Stray {
    pub(crate) fn damaged(name: String, error: &dyn std::error::Error) -> Self {
        let mut problem = error.to_string();
        if let Some(cause) = error.source() {
            problem = format!("{problem}: {cause}");
        }
        Self {
            name,
            problem: StrayProblem::Damaged(problem),
        }
    }
}
