//! An answer of the API: a document, and how long it holds.

use icefield::SnapshotId;
use serde_json::Value;

use crate::versions::{Stability, Version};

/// An answer of the API.
#[derive(Clone, Debug)]
pub(crate) struct ApiAnswer {
    pub(crate) document: Value,
    /// The snapshot that it is of, if it is of one.
    pub(crate) snapshot: Option<SnapshotId>,
    pub(crate) stability: Stability,
}

impl ApiAnswer {
    /// An answer about a version.
    pub(crate) fn of(version: &Version, document: Value) -> Self {
        Self {
            document,
            snapshot: Some(version.id),
            stability: version.stability,
        }
    }
}

impl From<Value> for ApiAnswer {
    fn from(document: Value) -> Self {
        Self {
            document,
            snapshot: None,
            stability: Stability::Moving,
        }
    }
}
