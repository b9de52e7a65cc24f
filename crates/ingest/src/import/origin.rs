//! The files of a source that stands for one or several of them, in a form that can be sent: another process makes the
//! source again from them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The sources that a source is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Origin {
    /// One of those that the import was given, by its number, and what gives it a new dimension.
    Source(usize, Option<Stacking>),
    /// Several behind one another along a dimension, in the order in which they are joined.
    Joined(String, Vec<Self>),
}

/// A new dimension, and the value along it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Stacking {
    pub(super) dimension: String,
    pub(super) value: StackedValue,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StackedValue {
    /// The document of the coordinate, and its only chunk in base64.
    Chunk(Value, String),
    /// A variable of the source, by its path.
    Variable(String),
}

impl Origin {
    pub(super) fn of(given: usize) -> Self {
        Self::Source(given, None)
    }

    /// Sources are stacked before they are joined.
    pub(super) fn stacked(&self, dimension: &str, value: StackedValue) -> Self {
        let stacking = Stacking {
            dimension: dimension.to_owned(),
            value,
        };
        match self {
            Self::Source(given, _) => Self::Source(*given, Some(stacking)),
            joined @ Self::Joined(..) => joined.clone(),
        }
    }

    pub(super) fn joined(dimension: &str, parts: impl Iterator<Item = Self>) -> Self {
        Self::Joined(dimension.to_owned(), parts.collect())
    }

    /// Returns which of the sources that the import was given are in it, in the order in which it is made of them.
    pub(super) fn given(&self) -> Vec<usize> {
        match self {
            Self::Source(given, _) => vec![*given],
            Self::Joined(_, parts) => parts.iter().flat_map(Self::given).collect(),
        }
    }
}
