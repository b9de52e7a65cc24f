//! Spec version 2: all mutable state in the one object `repo`.
//!
//! [`RepoObject`] reads it and remembers what it read last. [`change`] turns an [`Edit`](crate::Edit) into a change of its
//! content. [`publish`] writes the changed object under the condition that nothing else has replaced it, after a copy of the
//! old one to `overwritten/`; edits of clones of one handle, in the line of [`queue`], share a write, and other handles of the
//! process that lose races take [`turns`]. [`ahead`] makes such a copy before it is needed. [`pages`] follows the operations
//! log through those copies. [`stored`] looks at all of it as it is, for checks and repairs.

mod ahead;
mod backups;
mod carry;
mod change;
mod content;
mod create;
mod object;
mod pages;
mod publish;
mod put_back;
mod queue;
mod receive;
mod release;
mod stored;
mod turns;

pub use put_back::PutBackMark;
pub use stored::{
    FollowedLog, NewestBackup, PageProblem, RepoBackup, RepoBackups, RepoContent, StoredRepo,
};

pub(crate) use carry::other_name;
pub(crate) use content::{is_upgrading, require_online, tag_state, upgrading};
pub(crate) use object::{MAX_REPO_LEN, RepoObject, RepoState, decode};

#[cfg(test)]
mod tests;
