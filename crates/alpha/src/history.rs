//! Histories: a snapshot has no field for its parent, only the list of all its ancestors.
//!
//! The parent is the newest of them: the last one of what the first code wrote, the first one of what the later code
//! wrote. Which it is tells the parent itself, whose list must be the same without it.
//!
//! The initial snapshot goes by the id *inside* its file, which the code drew apart from the name of the file. So the
//! file is looked for.

use std::sync::PoisonError;

use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use icefield_storage::{ListOptions, Prefix, StorageExt};

use crate::body::MAX_OBJECT;
use crate::layout::{self, ObjectKind};
use crate::{AlphaError, AlphaId, AlphaRepository, Ancestor, Rule, Snapshot};

impl AlphaRepository {
    /// Reads the parent of a snapshot; `None` for an initial one.
    ///
    /// # Errors
    /// [`AlphaError::Missing`]; [`Rule::Parent`] if neither end of the listed history can be the parent; the errors of
    /// the store.
    pub async fn parent(&self, of: &Snapshot) -> Result<Option<Snapshot>, AlphaError> {
        let (Some(first), Some(last)) = (of.history.first(), of.history.last()) else {
            return Ok(None);
        };
        let own = self.name_of(ObjectKind::Snapshot, of.id)?;
        // The newer one by its time; the clocks of writers may disagree, so the other one is tried, too.
        let candidates = match first.written_at > last.written_at {
            true => [
                (first, 1..of.history.len()),
                (last, 0..of.history.len() - 1),
            ],
            false => [
                (last, 0..of.history.len() - 1),
                (first, 1..of.history.len()),
            ],
        };
        let mut failure = None;
        for (candidate, rest) in candidates {
            let found = match of.history.len() {
                1 => self.initial(candidate.id, &own).await,
                _ => self.snapshot(candidate.id, &own).await,
            };
            match found {
                Ok(parent) if ids(&parent.history).eq(ids(&of.history[rest])) => {
                    return Ok(Some(parent));
                }
                Ok(_) => {
                    let parent = candidate.id;
                    let rule = Rule::Parent { parent };
                    failure.get_or_insert(AlphaError::damaged(&own, rule));
                }
                Err(error @ AlphaError::Missing { .. }) => {
                    failure.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(failure.expect("BUG: two candidates, and neither the parent nor a failure"))
    }

    /// Walks a history, newest first.
    pub fn ancestry<'a>(
        &'a self,
        start: AlphaId,
        needed_by: &'a str,
    ) -> BoxStream<'a, Result<Snapshot, AlphaError>> {
        enum Next {
            Start,
            ParentOf(Box<Snapshot>),
        }
        stream::try_unfold(Next::Start, move |next| async move {
            let snapshot = match next {
                Next::Start => Some(self.snapshot(start, needed_by).await?),
                Next::ParentOf(child) => self.parent(&child).await?,
            };
            Ok(snapshot.map(|it| (it.clone(), Next::ParentOf(Box::new(it)))))
        })
        .boxed()
    }

    /// Reads the initial snapshot with this id in it.
    async fn initial(&self, inner: AlphaId, needed_by: &str) -> Result<Snapshot, AlphaError> {
        // A snapshot whose two ids are alike is found at once.
        match self.snapshot(inner, needed_by).await {
            Err(AlphaError::Missing { .. }) => {}
            other => return other,
        }
        let known = {
            let initial = self.initial.lock().unwrap_or_else(PoisonError::into_inner);
            initial.get(&inner).copied()
        };
        let file = match known {
            Some(file) => Some(file),
            None => self.find_initial(inner).await?,
        };
        let Some(file) = file else {
            return Err(AlphaError::Missing {
                key: format!(
                    "the file below s/ of the initial snapshot, with the id {inner} in it"
                ),
                needed_by: needed_by.to_owned(),
            });
        };
        self.remember_initial(inner, file);
        self.snapshot(file, needed_by).await
    }

    fn remember_initial(&self, inner: AlphaId, file: AlphaId) {
        let mut initial = self.initial.lock().unwrap_or_else(PoisonError::into_inner);
        initial.insert(inner, file);
    }

    /// Looks through the snapshots, the smallest first: that of an empty hierarchy is one of them.
    async fn find_initial(&self, inner: AlphaId) -> Result<Option<AlphaId>, AlphaError> {
        let prefix = Prefix::parse(layout::SNAPSHOTS)?;
        let listed = self
            .storage
            .list_objects(ListOptions::prefix(prefix).without_versions());
        let mut files: Vec<_> = listed
            .map_ok(|meta| (meta.size, meta.key))
            .try_collect()
            .await?;
        files.sort();
        for (_, key) in files {
            let Some(id) = layout::snapshot_of(key.as_str()) else {
                continue;
            };
            let (bytes, _) = self.storage.read_at_most(&key, MAX_OBJECT).await?;
            // A damaged snapshot is not the one; if it is, it will be missed.
            match Snapshot::decode(&bytes, self.layout(), id, key.as_str()) {
                Ok(snapshot) if snapshot.is_initial() && snapshot.inner_id == inner => {
                    return Ok(Some(id));
                }
                _ => {}
            }
        }
        Ok(None)
    }
}

fn ids(history: &[Ancestor]) -> impl Iterator<Item = AlphaId> {
    history.iter().map(|ancestor| ancestor.id)
}
