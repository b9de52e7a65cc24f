//! Refs and the configuration as they were read, with the state that a later edit expects.

use icefield_format::{RepositoryConfig, SnapshotId};
use icefield_storage::{Key, Version};

/// Where a branch stands: the snapshot, and the state of the branch that said so.
///
/// Two tips of a branch are equal if it has not been edited in between. In spec version 1, the state tells a branch that never
/// moved from one that was moved away and back, since a request on its way could mistake the two; in version 2 no request can,
/// and such tips are equal. What happens to other refs does not change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tip {
    /// The snapshot that the branch points to.
    pub snapshot: SnapshotId,
    /// The state of the stored ref.
    pub(crate) version: Version,
    /// Where the stored ref is, in spec version 1. A bucket may have another branch under the other spelling of the name.
    pub(crate) key: Option<Key>,
}

/// The state of one tag name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagState {
    /// The name was never given.
    Absent,
    /// The tag points to this snapshot.
    Present(SnapshotId),
    /// The tag was deleted; the name stays taken.
    Deleted,
}

/// The stored configuration, and the version of the object that holds it.
#[derive(Clone, Debug)]
pub struct StoredConfig {
    /// The configuration.
    pub config: RepositoryConfig,
    /// The version that a later save must replace.
    pub version: Version,
}
