//! The settings of a store that are choices among words.

/// When writes are made to survive a loss of power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fsync {
    /// Never: for scratch data and tests. A crash of the program loses nothing, one of the machine may.
    None,
    /// When it counts: replacing an object ([`Update`](icefield_storage::PutMode::Update) and
    /// [`Overwrite`](icefield_storage::PutMode::Overwrite)) is durable when it is acknowledged, creating one
    /// by the next [`sync`](icefield_storage::Storage::sync).
    #[default]
    Commit,
    /// Every write, before it is acknowledged.
    Each,
}

/// Whether locks of the file system are believed to keep out writers on other machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Locks {
    /// Where the type of the file system and its mount options show it: on local disks, and on network file systems
    /// whose servers keep the locks. Elsewhere writes on a condition are refused, and so are commits.
    #[default]
    Detect,
    /// Always: the caller knows that they do, or that all writers are on one machine. If that is wrong, acknowledged
    /// commits are lost.
    Trusted,
}
