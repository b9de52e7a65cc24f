//! Errors of reading a tree as a dataset.

use crate::ModelError;

/// The reason why a tree, or a hierarchy of Zarr v3, is no dataset of the netCDF-4 data model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NczarrError {
    /// A document breaks a rule.
    #[error("{key}: {problem}")]
    Document {
        /// Its key, or the path of the node.
        key: String,
        /// The problem, and what to do.
        problem: String,
    },
    /// The dataset contradicts itself.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl NczarrError {
    /// Returns the key of the document, or the path of the node, that breaks a rule.
    pub fn path(&self) -> &str {
        match self {
            Self::Document { key, .. } => key,
            Self::Model(ModelError::NoDimension { variable, .. }) => variable,
            Self::Model(ModelError::Reserved { path, .. }) => path,
        }
    }

    /// Returns the rule that is broken, and what to do, as text.
    pub fn problem(&self) -> String {
        match self {
            Self::Document { problem, .. } => problem.clone(),
            Self::Model(error) => error.to_string(),
        }
    }

    pub(crate) fn new(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Document {
            key: key.into(),
            problem: problem.into(),
        }
    }
}
