//! Amending: a snapshot that takes the place of the tip of its branch, as a child of the parent of that tip. Spec version 2.

use std::future::IntoFuture;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use super::arrays::ManifestRewrite;
use super::outcome::CommitOutcome;
use super::request::Commit;
use crate::session::{Publication, Session};
use crate::{CommitError, Interrupt};

/// An amended commit that is being described: set its options, then `await` it. See [`Session::amend`].
#[derive(Debug)]
#[must_use = "nothing is amended before this is awaited"]
pub struct Amend(Commit);

impl Amend {
    /// Adds one item of metadata. The metadata of the amended commit is not kept.
    pub fn metadata(self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        Self(self.0.metadata(name, value))
    }

    /// Allows to change nothing but message and metadata.
    pub fn allow_empty(self) -> Self {
        Self(self.0.allow_empty())
    }

    /// As [`Commit::rewrite_manifests`].
    pub fn rewrite_manifests(self, which: ManifestRewrite) -> Self {
        Self(self.0.rewrite_manifests(which))
    }

    /// As [`Commit::interruptible`].
    pub fn interruptible(self, interrupt: &Interrupt) -> Self {
        Self(self.0.interruptible(interrupt))
    }
}

impl IntoFuture for Amend {
    type Output = Result<CommitOutcome, CommitError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.0.run().boxed()
    }
}

impl Session {
    /// Begins to amend the tip of the session's branch, on which the session must be based: a snapshot with the
    /// session's edits and a new message takes its place. The parent of the new snapshot is that of the old one, which
    /// stays readable by its id, and by tags and branches that point to it.
    ///
    /// An amended commit keeps the records of icefield in the metadata of the old one: the merge that it was, and
    /// arrays that were shifted. Of two merges, it keeps that of the session.
    ///
    /// The outcomes are those of a commit. A session that loses a race gets [`CommitOutcome::BranchMoved`] and stays as
    /// it was: an amended commit is never carried over to another tip. A session based on a commit that was amended can
    /// be rebased, as past any other commit.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use icefield_core::{BranchName, CommitOutcome, NodePath, Repository, WriteMode};
    /// use icefield_format::SpecVersion;
    /// # use icefield_storage_memory::MemoryStorage;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let builder = Repository::builder(Arc::new(MemoryStorage::new()));
    /// let repository = builder.spec_version(SpecVersion::V2).create().await?;
    /// let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
    /// let session = repository.write_session(BranchName::main()).await?;
    /// session.set_metadata(&NodePath::parse("/a")?, group.into(), WriteMode::Overwrite).await?;
    /// let _ = session.commit("draft").await?;
    ///
    /// let session = repository.write_session(BranchName::main()).await?;
    /// let outcome = session.amend("a group").allow_empty().await?;
    /// let CommitOutcome::Committed(id) = outcome else { panic!("{outcome:?}") };
    /// assert_eq!(repository.snapshot_info(id).await?.message, "a group");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `await` returns [`crate::RepositoryError::NeedsSpecVersion2`]; [`icefield_refs::RefsError::NoAmendOfFirst`] on
    /// the first snapshot of a repository; [`CommitError::NothingToCommit`] without edits; and those of a commit.
    pub fn amend(&self, message: impl Into<String>) -> Amend {
        Amend(Commit {
            publication: Publication::Amend,
            ..self.commit(message)
        })
    }
}
