//! The kinds of failures.

/// The kind of a failure. A kind exists where a caller would act differently.
///
/// | kind | try again? |
/// |---|---|
/// | `Unavailable` | yes, later, with the same call |
/// | `Conflict` | yes, after looking at the new state |
/// | `Interrupted` | yes, when the work may go on |
/// | `OutcomeUnknown` | only after finding out whether the write happened |
/// | all others | no: the call, the data or the place must change first |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Another writer was faster, or something is not as it was expected. Nothing was changed: look at what is
    /// there now, and decide again.
    Conflict,
    /// A repository, ref, snapshot, node or file is not there. Check the name.
    NotFound,
    /// It exists already, or its name is taken for good. Choose another name or place.
    AlreadyExists,
    /// Writes are not allowed here. Open a writable session, or the store with write access.
    ReadOnly,
    /// The store did not answer for now. Try again later; nothing was changed.
    Unavailable,
    /// Stored objects are damaged or incomplete. Trying again does not help: restore it from a copy, or go back to
    /// a snapshot that is whole.
    Corrupt,
    /// A newer version of the format, or something that this build cannot do. Use another program or build.
    Unsupported,
    /// The call or its data break a rule, which the message names. Correct them.
    Invalid,
    /// It is not known whether the write happened. Do not clean up; read to find out, for a commit with
    /// [`Session::resolve`](crate::Session::resolve).
    OutcomeUnknown,
    /// The operating system or the store refused for good: permissions, a full disk, wrong credentials. Correct
    /// that, then try again.
    Io,
    /// It was ended early on request. What was done by then is sound: do it again to go on.
    Interrupted,
    /// Something else; most likely a bug.
    Other,
}
