//! The report of a downgrade, with the features that a copy of spec version 1 cannot have.

use std::fmt;

use serde::Serialize;

use crate::copy::CopyReport;

/// A feature of a repository of spec version 2 that version 1 has no place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NotCarriedKind {
    /// A branch or a tag with a name that version 1 refuses.
    RefName,
    /// An array whose chunk grid is rectilinear, or cannot be read.
    ChunkGrid,
    /// A manifest with locations of virtual chunks that version 1 cannot spell, or that name a container which the configuration
    /// does not have.
    Location,
    /// A manifest with locations that name their container: the copy has the whole URL of today, and does not follow a change of
    /// the container.
    ContainerName,
    /// A manifest with compressed locations: the copy has them as they are.
    CompressedLocation,
    /// A commit that moved nodes: the copy's log tells that they were deleted and created.
    Move,
    /// A file with something in a reserved field `extra`, which this release does not know.
    Extra,
    /// The status of the repository: a copy takes writes.
    Status,
    /// A feature flag that is set.
    FeatureFlag,
    /// A key of the metadata of the repository.
    Metadata,
    /// A snapshot that is listed and that no ref reaches.
    DetachedSnapshot,
    /// The operations log.
    OperationsLog,
}

impl NotCarriedKind {
    /// Returns whether readers of the copy would read other values without the feature. Refs that lead to such a
    /// feature cannot be carried.
    #[must_use]
    pub fn changes_reading(self) -> bool {
        matches!(self, Self::RefName | Self::ChunkGrid | Self::Location)
    }
}

impl fmt::Display for NotCarriedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RefName => "names of refs",
            Self::ChunkGrid => "chunk grids that are rectilinear or cannot be read",
            Self::Location => "locations of virtual chunks",
            Self::ContainerName => "names of containers in locations, which are whole URLs now",
            Self::CompressedLocation => "compressed locations, which are plain now",
            Self::Move => "moved nodes, which logs tell as deleted and created now",
            Self::Extra => "reserved fields with unknown content",
            Self::Status => "the status",
            Self::FeatureFlag => "feature flags",
            Self::Metadata => "metadata of the repository",
            Self::DetachedSnapshot => "snapshots that no ref reaches",
            Self::OperationsLog => "the operations log",
        })
    }
}

/// A feature that is not carried over.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct NotCarried {
    /// The kind of the feature.
    pub kind: NotCarriedKind,
    /// The object that has the feature: a ref, a key of an object, an array in a snapshot, or a setting.
    pub object: String,
    /// The rule that the feature breaks, or the loss.
    pub detail: String,
}

impl fmt::Display for NotCarried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.object, self.detail)
    }
}

/// The report of a downgrade, or of its dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DowngradeReport {
    /// The report of the copy, whose files were written anew in version 1.
    #[serde(flatten)]
    pub copy: CopyReport,
    /// The features that were not carried over, by kind and object.
    pub not_carried: Vec<NotCarried>,
    /// The refs that were left out: `branch NAME`, `tag NAME`.
    pub left_out: Vec<String>,
}
