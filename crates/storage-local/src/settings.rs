//! The settings of a store that are choices among words.

/// The moments at which writes are made to survive a loss of power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fsync {
    /// Never: for scratch data and tests. A crash of the program loses nothing, a crash of the machine may.
    None,
    /// At the moments on which a commit depends: replacing an object ([`Update`](icefield_storage::PutMode::Update) and
    /// [`Overwrite`](icefield_storage::PutMode::Overwrite)) is durable when it is acknowledged, creating one by the
    /// next [`sync`](icefield_storage::Storage::sync).
    #[default]
    Commit,
    /// At every write, before it is acknowledged.
    Each,
}

/// The belief in locks of the file system: whether they keep out writers on other machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Locks {
    /// Believes in locks if the type of the file system and its mount options show that they work: on local disks, and
    /// on network file systems whose servers keep the locks. Elsewhere conditional writes are refused, and so are
    /// commits.
    #[default]
    Detect,
    /// Always believes in locks: the caller knows that they work, or that all writers are on one machine. If that is
    /// wrong, acknowledged commits are lost.
    Trusted,
}
