//! Why an operation of this crate failed. Outcomes that a caller must expect are values, not errors.

mod commit;
mod repository;
mod session;

pub use commit::{CommitError, RebaseError};
pub use repository::RepositoryError;
pub use session::SessionError;
