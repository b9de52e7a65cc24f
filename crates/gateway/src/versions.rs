//! The versions of a repository, by the texts that name them, and the sessions that read them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use icefield::{
    BranchName, RefsError, Repository, RepositoryError, Revision, RevisionSpec, Session,
    SnapshotId, Start, TagName,
};
use quick_cache::sync::Cache;

use crate::failure::Failure;

/// Sessions that are kept open. A session is a snapshot, which the repository's own cache bounds in bytes, and little else.
const SESSIONS: usize = 64;
/// Resolved texts that are remembered.
const TEXTS: usize = 1024;

/// How long a name means the same version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stability {
    /// For ever: the id of a snapshot.
    Fixed,
    /// A tag, which is never moved but can be deleted.
    Tag,
    /// A branch, or steps or a time from anywhere.
    Moving,
}

/// How new the answer has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// The ref is read.
    Now,
    /// A ref that was read a moment ago is fresh enough.
    Recent,
}

/// A version of a repository.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) id: SnapshotId,
    pub(crate) stability: Stability,
    pub(crate) session: Session,
}

/// The meaning of a text a moment ago.
#[derive(Clone, Copy, Debug)]
struct Meaning {
    id: SnapshotId,
    stability: Stability,
    /// When it was read, by the repository's clock.
    at: Duration,
}

/// The versions of a repository.
#[derive(Debug)]
pub(crate) struct Versions {
    repository: Repository,
    sessions: Cache<SnapshotId, Session>,
    meanings: Mutex<HashMap<String, Meaning>>,
    recency: Duration,
}

impl Versions {
    pub(crate) fn new(repository: Repository, recency: Duration) -> Self {
        Self {
            repository,
            sessions: Cache::new(SESSIONS),
            meanings: Mutex::default(),
            recency,
        }
    }

    pub(crate) fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Finds the version that a text means.
    pub(crate) async fn find(&self, text: &str, freshness: Freshness) -> Result<Version, Failure> {
        let named = text.strip_prefix("snapshot:").unwrap_or(text).parse().ok();
        if let Some(id) = named {
            match self.session(id).await {
                Ok(session) => {
                    let stability = Stability::Fixed;
                    return Ok(Version {
                        id,
                        stability,
                        session,
                    });
                }
                // It may be the name of a branch, odd as that is.
                Err(error) => {
                    let failure = Failure::of_snapshot(error);
                    let (id, stability) =
                        self.meaning(text, freshness).await.map_err(|_| failure)?;
                    return self.version(text, id, stability).await;
                }
            }
        }
        let (id, stability) = self.meaning(text, freshness).await?;
        self.version(text, id, stability).await
    }

    /// Returns whether a snapshot is in the repository, as its store says now.
    pub(crate) async fn check(&self, id: SnapshotId) -> Result<(), Failure> {
        self.repository.forget_snapshot(id);
        let found = self.repository.read_session(id).await;
        found.map(drop).map_err(|error| {
            self.sessions.remove(&id);
            Failure::of_snapshot(error)
        })
    }

    async fn version(
        &self,
        text: &str,
        id: SnapshotId,
        stability: Stability,
    ) -> Result<Version, Failure> {
        let session = self.session(id).await;
        let session = session.map_err(|error| Failure::of_version(text, error))?;
        Ok(Version {
            id,
            stability,
            session,
        })
    }

    async fn session(&self, id: SnapshotId) -> Result<Session, RepositoryError> {
        let open = async { self.repository.read_session(id).await };
        self.sessions.get_or_insert_async(&id, open).await
    }

    async fn meaning(
        &self,
        text: &str,
        freshness: Freshness,
    ) -> Result<(SnapshotId, Stability), Failure> {
        let now = self.repository.clock().monotonic();
        if freshness == Freshness::Recent
            && let Some(known) = self.lock().get(text)
            && now.saturating_sub(known.at) < self.recency
        {
            return Ok((known.id, known.stability));
        }
        let found = self.resolve(text).await;
        let (id, stability) = found.map_err(|error| Failure::of_version(text, error))?;
        let mut meanings = self.lock();
        if meanings.len() >= TEXTS {
            meanings.retain(|_, known| now.saturating_sub(known.at) < self.recency);
        }
        if meanings.len() < TEXTS {
            let meaning = Meaning {
                id,
                stability,
                at: now,
            };
            meanings.insert(text.to_owned(), meaning);
        }
        Ok((id, stability))
    }

    async fn resolve(&self, text: &str) -> Result<(SnapshotId, Stability), icefield::Error> {
        let spec = RevisionSpec::parse(text)?;
        // A tag answers with more than its snapshot: that it does not move. With steps or a time, all of them move.
        let has_steps = text.contains(['~', '@']);
        match text.split_once(':') {
            Some(("branch" | "snapshot", _)) => {}
            Some(("tag", name)) => {
                if let Some(id) = self.tag(name).await? {
                    return Ok((id, Stability::Tag));
                }
            }
            _ if has_steps => {}
            _ => {
                let branch = BranchName::parse(text).map_err(RefsError::from)?;
                let absent = match self.repository.resolve(&Revision::from(branch)).await {
                    Ok(id) => return Ok((id, Stability::Moving)),
                    Err(error @ RepositoryError::Refs(RefsError::BranchNotFound(_))) => error,
                    Err(error) => return Err(error.into()),
                };
                let tag = self.tag(text).await?;
                return Ok((tag.ok_or(absent)?, Stability::Tag));
            }
        }
        Ok((spec.resolve(&self.repository).await?, Stability::Moving))
    }

    /// Returns what a tag points to, `None` if there is none of that name.
    async fn tag(&self, name: &str) -> Result<Option<SnapshotId>, icefield::Error> {
        let tag = TagName::parse(name).map_err(RefsError::from)?;
        let found = self
            .repository
            .resolve(&Revision::from(Start::Tag(tag)))
            .await;
        match found {
            Ok(id) => Ok(Some(id)),
            Err(RepositoryError::Refs(RefsError::TagNotFound(_) | RefsError::TagDeleted(_))) => {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Meaning>> {
        self.meanings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
