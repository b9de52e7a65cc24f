//! Why a tree is no dataset.

use crate::ModelError;

/// Why a tree, or a hierarchy of Zarr v3, is no dataset of the netCDF-4 data model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NczarrError {
    /// A document breaks a rule.
    #[error("{key}: {problem}")]
    Document {
        /// Its key, or the path of the node.
        key: String,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// The dataset contradicts itself.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl NczarrError {
    pub(crate) fn new(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Document {
            key: key.into(),
            problem: problem.into(),
        }
    }
}
