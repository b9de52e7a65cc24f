//! Commits: *plan* what the new snapshot holds, *write* all immutable objects, *publish* by moving the branch.
//!
//! Nothing is visible before the one conditional write of the ref, and everything is after it. Stopped
//! anywhere, a commit leaves the old tip and some garbage, or the new tip.

mod amend;
mod arrays;
mod blocking;
mod copied;
mod encode;
mod flush;
mod manifests;
mod outcome;
mod plan;
mod properties;
mod publish;
mod queue;
mod replaced;
mod request;
mod run;
mod shifted;
mod store;
mod tries;
mod write;

pub use amend::Amend;
pub use arrays::ManifestRewrite;
pub(crate) use encode::{manifest_refs, push_node};
pub(crate) use manifests::WrittenManifests;
pub use outcome::CommitOutcome;
pub(crate) use properties::shifted_arrays;
pub use properties::{MERGED_SNAPSHOT, SPLITTING_CONFIG};
pub use request::Commit;
