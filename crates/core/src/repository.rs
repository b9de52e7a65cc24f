//! Repositories: opening and creating them, their refs and history, and the sessions on them.

mod builder;
mod handle;
mod in_force;
mod refs;
mod revision;
mod sessions;
mod shared;
mod state;
mod upgrade;

pub use builder::RepositoryBuilder;
pub use handle::Repository;
pub use revision::{Revision, Start};
pub(crate) use shared::Shared;
