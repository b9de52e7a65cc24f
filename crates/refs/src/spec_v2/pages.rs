//! The operations log: in `repo`, and on in the earlier states that it names in `overwritten/`.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::stream::{self, Stream};
use icefield_format::{RepoInfo, Update, layout};
use icefield_storage::{Key, StorageExt};

use super::object::{MAX_REPO_LEN, RepoObject, RepoState, decode};
use super::queue::Attempt;
use crate::RefsError;

/// One part of the log: that of `repo`, or of an earlier state of it.
struct Page {
    updates: Vec<Update>,
    next: usize,
    continues_in: Option<String>,
}

impl Page {
    fn of(info: &RepoInfo) -> Self {
        Self {
            updates: info.log().updates().cloned().collect(),
            next: 0,
            continues_in: info.log().continues_in().map(str::to_owned),
        }
    }

    /// The part in an earlier state of this name. The newest entry of a list names no backup: here it is that state itself.
    fn of_backup(info: &RepoInfo, name: String) -> Self {
        let mut page = Self::of(info);
        if let Some(newest) = page.updates.first_mut() {
            newest.backup.get_or_insert(name);
        }
        page
    }
}

/// The way through the pages of a log. It comes to no page twice.
struct Way {
    object: RepoObject,
    been: BTreeSet<String>,
}

impl Way {
    fn of(object: &RepoObject) -> Self {
        Self {
            object: object.clone(),
            been: BTreeSet::new(),
        }
    }

    /// Reads an earlier state of `repo` by the name that the log has for it.
    ///
    /// # Errors
    /// [`RefsError::LogPageMissing`], [`RefsError::LogRepeats`], [`RefsError::InvalidRepo`], and the errors of the store.
    async fn page(&mut self, name: &str) -> Result<RepoInfo, RefsError> {
        let page = || name.to_owned();
        if !self.been.insert(page()) {
            return Err(RefsError::LogRepeats { page: page() });
        }
        let missing = || RefsError::LogPageMissing { page: page() };
        let key = Key::parse(&layout::overwritten_key(name)).map_err(|_| missing())?;
        let read = self.object.storage().try_read_at_most(&key, MAX_REPO_LEN);
        match read.await? {
            Some((bytes, _)) => decode(&bytes),
            None => Err(missing()),
        }
    }
}

impl RepoObject {
    /// Returns the whole log of a state, newest first.
    ///
    /// The stream ends after the first error: [`RefsError::LogPageMissing`] says where a log ends whose next page is gone, and
    /// [`RefsError::LogRepeats`] where one goes round in a circle.
    pub(crate) fn log(
        &self,
        state: Arc<RepoState>,
    ) -> impl Stream<Item = Result<Update, RefsError>> + Send + use<> {
        let begin = Some((Way::of(self), Page::of(&state.info)));
        stream::unfold(begin, |at| async move {
            let (mut way, mut page) = at?;
            loop {
                if let Some(update) = page.updates.get(page.next) {
                    let update = update.clone();
                    page.next += 1;
                    return Some((Ok(update), Some((way, page))));
                }
                let name = page.continues_in.take()?;
                page = match way.page(&name).await {
                    Ok(info) => Page::of_backup(&info, name),
                    Err(error) => return Some((Err(error), None)),
                };
            }
        })
    }

    /// Returns the names of the earlier states that the log of a state is in, the newest first.
    ///
    /// # Errors
    /// As [`RepoObject::log`].
    pub(crate) async fn pages(&self, state: &RepoState) -> Result<Vec<String>, RefsError> {
        let (mut way, mut names) = (Way::of(self), Vec::new());
        let mut next = state.info.log().continues_in().map(str::to_owned);
        while let Some(name) = next {
            let info = way.page(&name).await?;
            next = info.log().continues_in().map(str::to_owned);
            names.push(name);
        }
        Ok(names)
    }

    /// Returns whether one of some attempts to replace `repo` has landed: then the log names the backup that it made.
    ///
    /// # Errors
    /// As [`RepoObject::log`].
    pub(super) async fn has_landed(
        &self,
        state: &RepoState,
        attempts: &[Attempt],
    ) -> Result<bool, RefsError> {
        let Some(oldest) = attempts.iter().map(|it| it.newest_before).min() else {
            return Ok(false);
        };
        let is_ours = |name: Option<&str>| {
            name.is_some_and(|name| attempts.iter().any(|it| it.backup == name))
        };
        let mut way = Way::of(self);
        let mut earlier;
        let mut log = state.info.log();
        loop {
            if is_ours(log.continues_in()) {
                return Ok(true);
            }
            for update in log.updates() {
                if is_ours(update.backup.as_deref()) {
                    return Ok(true);
                }
                if update.updated_at < oldest {
                    return Ok(false);
                }
            }
            let Some(name) = log.continues_in() else {
                return Ok(false);
            };
            earlier = way.page(name).await?;
            log = earlier.log();
        }
    }
}
