//! Errors of reading a version as a dataset, and of writing a dataset as a version.

use icefield_core::{NodePath, SessionError};
use icefield_nczarr::{ModelError, NczarrError};

/// The reason why a version could not be read as a dataset, or made from one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetcdfError {
    /// The repository says no.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// It is no dataset.
    #[error(transparent)]
    Dataset(#[from] NczarrError),
    /// It contradicts itself.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Something is wrong with one variable.
    #[error("{path}: {problem}")]
    Variable {
        /// Its path.
        path: String,
        /// Its kind.
        problem: String,
    },
}

impl NetcdfError {
    pub(crate) fn variable(path: &NodePath, problem: impl Into<String>) -> Self {
        Self::Variable {
            path: path.to_string(),
            problem: problem.into(),
        }
    }
}
