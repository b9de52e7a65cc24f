//! The object `repo`: reading it, and what a handle remembers of it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use icefield_format::{
    DecodeLimits, FileKind, FormatError, RepoInfo, SnapshotId, SpecVersion, Writer, layout,
};
use icefield_storage::{
    Bytes, Clock, Condition, Entropy, GetOptions, Key, PutMode, PutOptions, Storage, StorageError,
    Version,
};

use super::ahead::Ahead;
use super::content::{branch_state, config_state};
use super::queue::Queue;
use super::turns::Turns;
use crate::{
    BranchName, FetchError, RefList, RefsError, SnapshotInfo, StoredConfig, TagName, Tip,
    micros_of_time,
};

/// Most bytes of `repo` that are read: a body of the format's limit, as compressed as it may be, does not come near it.
pub(crate) const MAX_REPO_LEN: u64 = 1 << 30;

/// One state of `repo`.
pub(crate) struct RepoState {
    /// Its content.
    pub(crate) info: RepoInfo,
    /// The state of the object, which a replacement names as its condition.
    pub(crate) version: Version,
    /// The object as it is stored.
    pub(super) bytes: Bytes,
}

impl fmt::Debug for RepoState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RepoState")
            .field("version", &self.version)
            .field("snapshots", &self.info.snapshots().len())
            .finish_non_exhaustive()
    }
}

/// The object `repo` of one repository. A cheap shared handle: all of them remember the same state.
#[derive(Clone, Debug)]
pub(crate) struct RepoObject {
    shared: Arc<Shared>,
    /// The one state that this handle reads, whatever is stored by then.
    pin: Option<Arc<RepoState>>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) key: Key,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) entropy: Arc<dyn Entropy>,
    pub(super) writer: Writer,
    /// Most bytes of an object that is written: what is larger is not read again.
    pub(super) most_bytes: u64,
    latest: Mutex<Option<Arc<RepoState>>>,
    pub(super) queue: Queue,
    pub(super) ahead: Ahead,
    pub(super) turns: Turns,
}

impl RepoObject {
    /// Returns a handle that has read nothing yet.
    ///
    /// # Errors
    /// None in practice: the key is a constant of the format.
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        writer: Writer,
    ) -> Result<Self, StorageError> {
        let shared = Arc::new(Shared {
            storage,
            key: Key::parse(layout::REPO)?,
            clock,
            entropy,
            writer,
            most_bytes: MAX_REPO_LEN,
            latest: Mutex::default(),
            queue: Queue::default(),
            ahead: Ahead::default(),
            turns: Turns::default(),
        });
        Ok(Self { shared, pin: None })
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Returns the handle with another limit of the bytes that it writes, before it is shared.
    #[cfg(test)]
    pub(super) fn with_most_bytes(mut self, most_bytes: u64) -> Self {
        let shared = Arc::get_mut(&mut self.shared);
        shared.expect("not shared yet").most_bytes = most_bytes;
        self
    }

    /// Reads the object, and returns a handle that goes on reading this state.
    ///
    /// # Errors
    /// As [`RepoObject::read`].
    pub(crate) async fn pinned(&self) -> Result<Self, RefsError> {
        Ok(Self {
            shared: Arc::clone(&self.shared),
            pin: Some(self.read().await?),
        })
    }

    /// Returns whether the handle goes on reading one state.
    pub(crate) fn is_pinned(&self) -> bool {
        self.pin.is_some()
    }

    /// Returns a handle that reads what is stored.
    pub(super) fn unpinned(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            pin: None,
        }
    }

    pub(crate) fn key(&self) -> &Key {
        &self.shared.key
    }

    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        &self.shared.storage
    }

    /// Reads the object as it is stored now. One that has not changed since the last read is neither sent nor decoded again.
    ///
    /// # Errors
    /// [`RefsError::RepoMissing`], [`RefsError::InvalidRepo`], and the errors of the store.
    pub(crate) async fn read(&self) -> Result<Arc<RepoState>, RefsError> {
        match self.try_read().await? {
            Some(state) => Ok(state),
            None => Err(RefsError::RepoMissing {
                location: self.shared.storage.to_string(),
            }),
        }
    }

    /// As [`RepoObject::read`]; none if there is no such object.
    pub(crate) async fn try_read(&self) -> Result<Option<Arc<RepoState>>, RefsError> {
        if let Some(pinned) = &self.pin {
            return Ok(Some(Arc::clone(pinned)));
        }
        let held = self.held();
        let mut options = GetOptions::default().with_max_size(MAX_REPO_LEN);
        options.if_none_match = (held.as_ref()).map(|it| Condition::from(it.version.clone()));
        let object = match (
            self.shared.storage.get(&self.shared.key, options).await,
            held,
        ) {
            (Err(StorageError::NotModified { .. }), Some(held)) => return Ok(Some(held)),
            (Err(error), _) if error.is_not_found() => return Ok(None),
            (object, _) => object?,
        };
        let version = object.meta.version.clone();
        let bytes = object.bytes().await?;
        let info = decode(&bytes)?;
        let state = Arc::new(RepoState {
            info,
            version,
            bytes,
        });
        self.remember(&state);
        Ok(Some(state))
    }

    /// Returns what the object says of a snapshot, as it was read last; if that did not list it, as it is stored now.
    ///
    /// # Errors
    /// [`FetchError::NotListed`], and as [`RepoObject::read`].
    pub(crate) async fn snapshot(&self, id: SnapshotId) -> Result<SnapshotInfo, RefsError> {
        if let Some(info) = self.held_snapshot(id) {
            return Ok(info);
        }
        let found = self.read().await?.snapshot(id);
        let found = found.map_err(|source| RefsError::InvalidRepo { source })?;
        found.ok_or_else(|| FetchError::NotListed { id }.into())
    }

    /// Returns what the object said of a snapshot when it was read last.
    pub(crate) fn held_snapshot(&self, id: SnapshotId) -> Option<SnapshotInfo> {
        self.held()?.snapshot(id).ok().flatten()
    }

    /// Takes over a state that was just read or written.
    pub(super) fn remember(&self, state: &Arc<RepoState>) {
        *self
            .shared
            .latest
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(state));
    }

    /// Returns the state that was read last.
    pub(crate) fn held(&self) -> Option<Arc<RepoState>> {
        if let Some(pinned) = &self.pin {
            return Some(Arc::clone(pinned));
        }
        self.shared
            .latest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn now(&self) -> u64 {
        micros_of_time(self.shared.clock.now())
    }

    pub(super) fn random(&self) -> [u8; 12] {
        let mut bytes = [0; 12];
        self.shared.entropy.fill(&mut bytes);
        bytes
    }

    /// Options of a put of `repo`, or of an earlier state of it.
    pub(super) fn put_options(&self, mode: PutMode) -> PutOptions {
        repo_options(&self.shared.writer, mode)
    }
}

/// Options of a put of `repo`, or of an earlier state of it, by a writer.
pub(super) fn repo_options(writer: &Writer, mode: PutMode) -> PutOptions {
    let metadata = writer.object_metadata_in(SpecVersion::V2, FileKind::RepoInfo);
    let options = PutOptions::mode(mode).with_content_type("application/octet-stream");
    metadata
        .into_iter()
        .fold(options, |options, (name, value)| {
            options.with_user_metadata(name, &value)
        })
}

/// Decodes `repo`, or an earlier state of it.
pub(crate) fn decode(bytes: &[u8]) -> Result<RepoInfo, RefsError> {
    let limits = DecodeLimits::up_to(SpecVersion::V2);
    RepoInfo::decode(bytes, &limits).map_err(|source| RefsError::InvalidRepo { source })
}

impl RepoState {
    /// Returns what the object says of a snapshot; none if it does not list it.
    ///
    /// # Errors
    /// [`FormatError`] if its metadata cannot be decoded.
    pub(crate) fn snapshot(&self, id: SnapshotId) -> Result<Option<SnapshotInfo>, FormatError> {
        let snapshot = self.info.snapshots().get(&id);
        snapshot.map(SnapshotInfo::listed).transpose()
    }

    /// Returns where a branch stands; none if there is no such branch.
    pub(crate) fn branch(&self, name: &BranchName) -> Option<Tip> {
        let tip = self.info.branch(name.as_str())?;
        Some(branch_state(tip))
    }

    /// Returns all refs.
    pub(crate) fn refs(&self) -> Result<RefList, RefsError> {
        let mut list = RefList::default();
        for (name, tip) in self.info.branches() {
            list.branches.insert(BranchName::parse(name)?, Ok(tip));
        }
        for (name, target) in self.info.tags() {
            list.tags.insert(TagName::parse(name)?, Ok(target));
        }
        for name in self.info.deleted_tags() {
            list.deleted_tags.insert(TagName::parse(name)?);
        }
        Ok(list)
    }

    /// Returns the stored configuration.
    pub(crate) fn config(&self) -> Result<Option<StoredConfig>, RefsError> {
        config_in(&self.info)
    }
}

/// Returns the configuration in a state.
pub(super) fn config_in(info: &RepoInfo) -> Result<Option<StoredConfig>, RefsError> {
    let Some(version) = config_state(info) else {
        return Ok(None);
    };
    let config = info.config().map_err(RefsError::config_in_repo)?;
    let config = config.unwrap_or_default();
    Ok(Some(StoredConfig { config, version }))
}

/// Returns the later of the clock's time and the microsecond after the newest entry of the log.
///
/// # Errors
/// [`RefsError::LogAhead`] if the newest entry is over ten minutes ahead of the clock: an edit would carry that time on.
pub(super) fn next_time(now: u64, newest: u64) -> Result<u64, RefsError> {
    const TOLERANCE: u64 = 600_000_000;
    if newest > now.saturating_add(TOLERANCE) {
        return Err(RefsError::LogAhead {
            newest: time(newest),
            now: time(now),
        });
    }
    Ok(now.max(newest.saturating_add(1)))
}

fn time(micros: u64) -> SystemTime {
    crate::time_of_micros(micros)
}
