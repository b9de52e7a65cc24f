//! Errors of the operations of this crate. Outcomes that a caller must expect are values, not errors.

mod commit;
mod repository;
mod session;

pub use commit::{CommitError, RebaseError};
pub use repository::RepositoryError;
pub use session::SessionError;
