//! The same texts for repositories of the alpha generation.

use icefield_alpha::{AlphaError, AlphaRepository, Rule, Snapshot};
use icefield_core::{BranchName, RefsError, Start, TagName};
use jiff::Timestamp;

use super::{Reading, RevisionError, RevisionSpec, Suffix, Word};
use crate::Error;

impl RevisionSpec {
    /// Finds and reads the snapshot that is meant in a repository of the alpha generation. A bare word is a tag first and a
    /// branch then, as that generation took it. Its ids are longer than those of today: they are bare words here, and
    /// `snapshot:ID` names none.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) if there is none, [`Corrupt`](crate::ErrorKind::Corrupt) if what a ref
    /// or a snapshot names is damaged or missing, and the errors of the store.
    pub async fn resolve_alpha(&self, repository: &AlphaRepository) -> Result<Snapshot, Error> {
        let mut last = None;
        for reading in &self.readings {
            match reading.start_in(repository).await? {
                Ok(snapshot) => return reading.back_from(snapshot, repository).await,
                Err(absent) => last = Some(absent),
            }
        }
        Err(match last {
            Some(absent) => absent.into(),
            None => RevisionError::NoStart {
                text: self.text.clone(),
            }
            .into(),
        })
    }
}

impl Reading {
    /// Reads the snapshot where this reading begins; the inner error if there is no such ref.
    async fn start_in(
        &self,
        repository: &AlphaRepository,
    ) -> Result<Result<Snapshot, RefsError>, Error> {
        let (branch, tag, absent) = match &self.start {
            Word::Bare(word) => {
                let name = BranchName::parse(word).map_err(RefsError::from)?;
                (
                    Some(&**word),
                    Some(&**word),
                    RefsError::BranchNotFound(name),
                )
            }
            Word::Start(Start::Branch(name)) => {
                let absent = RefsError::BranchNotFound(BranchName::clone(name));
                (Some(name.as_str()), None, absent)
            }
            Word::Start(Start::Tag(name)) => {
                let absent = RefsError::TagNotFound(TagName::clone(name));
                (None, Some(name.as_str()), absent)
            }
            Word::Start(Start::Snapshot(id)) => {
                return Err(RefsError::SnapshotNotFound(*id).into());
            }
            Word::Start(other) => {
                return Err(RevisionError::NoStart {
                    text: format!("{other:?}"),
                }
                .into());
            }
        };
        if let Some(name) = tag
            && let Some((key, file)) = repository.tag(name).await?
        {
            return Ok(Ok(repository.snapshot(file.snapshot, &key).await?));
        }
        if let Some(name) = branch
            && let Some(tip) = repository.branch(name).await?
        {
            return Ok(Ok(repository.snapshot(tip.file.snapshot, &tip.key).await?));
        }
        let Word::Bare(word) = &self.start else {
            return Ok(Err(absent));
        };
        let Ok(id) = word.parse() else {
            return Ok(Err(absent));
        };
        match repository.snapshot(id, "the command").await {
            Err(AlphaError::Missing { .. }) => Err(AlphaError::NoSnapshot { id }.into()),
            found => Ok(Ok(found?)),
        }
    }

    /// Goes from a start to where the suffixes lead.
    async fn back_from(
        &self,
        mut snapshot: Snapshot,
        repository: &AlphaRepository,
    ) -> Result<Snapshot, Error> {
        for suffix in &self.suffixes {
            let start = snapshot.id;
            match suffix {
                Suffix::Back(steps) => {
                    for length in 0..*steps {
                        let Some(parent) = repository.parent(&snapshot).await? else {
                            return Err(AlphaError::HistoryTooShort { start, length }.into());
                        };
                        snapshot = parent;
                    }
                }
                Suffix::At(time) => {
                    while written(&snapshot)? > *time {
                        let Some(parent) = repository.parent(&snapshot).await? else {
                            return Err(AlphaError::NoSnapshotAtTime { start }.into());
                        };
                        snapshot = parent;
                    }
                }
            }
        }
        Ok(snapshot)
    }
}

/// When a snapshot was written.
fn written(snapshot: &Snapshot) -> Result<Timestamp, AlphaError> {
    snapshot.written_at.parse().map_err(|_| {
        let text = snapshot.written_at.clone();
        AlphaError::Damaged {
            key: format!("snapshot {}", snapshot.id),
            rule: Box::new(Rule::Time { text }),
        }
    })
}
