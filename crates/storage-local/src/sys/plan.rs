//! The kinds of system calls, and orders to fail.

use super::Errno;

/// A kind of call, to count and to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    OpenRoot,
    OpenRead,
    OpenDirectory,
    Create,
    OpenLock,
    Mkdir,
    Stat,
    StatAt,
    ReadDir,
    Read,
    Reserve,
    Write,
    CopyRange,
    SetMtime,
    Fsync,
    Syncfs,
    Rename,
    RenameNew,
    Link,
    Unlink,
    Lock,
    Unlock,
    Refresh,
}

impl Call {
    /// Returns whether the call changes something.
    pub(crate) fn mutates(self) -> bool {
        matches!(
            self,
            Self::Create
                | Self::OpenLock
                | Self::Mkdir
                | Self::Reserve
                | Self::Write
                | Self::CopyRange
                | Self::SetMtime
                | Self::Fsync
                | Self::Syncfs
                | Self::Rename
                | Self::RenameNew
                | Self::Link
                | Self::Unlink
        )
    }
}

/// An order to fail.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    /// `None`: any kind of call.
    pub(super) call: Option<Call>,
    /// Calls of the kind to let pass first.
    pub(super) skip: usize,
    /// Calls to fail then.
    pub(super) times: usize,
    pub(super) errno: Errno,
    /// Whether the call takes effect all the same.
    pub(super) with_effect: bool,
}
