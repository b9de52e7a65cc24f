//! The objects of a repository of spec version 2 at a root, read without trusting any of them; and `repo` put back from a
//! backup.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::StreamExt;
use icefield_format::{
    DecodeLimits, FormatError, FormatFile, RepoInfo, SpecVersion, Update, Writer, layout,
};
use icefield_storage::{
    Bytes, Compared, Key, ListOptions, Prefix, PutMode, PutOutcome, Storage, StorageError,
    StorageExt, Version,
};

use super::object::{MAX_REPO_LEN, repo_options};
use super::put_back::PutBackMark;
use crate::{EditOutcome, Refusal};

/// How many of the newest backups are compared by their times. Clocks that disagree may name them in another order.
const COMPARED: usize = 16;

/// Where a damaged `repo` is kept when it is replaced, below our own prefix.
const KEPT_ASIDE: &str = "damaged";

/// The object under the key of `repo`.
#[derive(Debug)]
pub struct StoredRepo {
    /// Its content.
    pub content: RepoContent,
    bytes: Bytes,
    version: Option<Version>,
}

/// The content of an object that should be the state of a repository of spec version 2.
#[derive(Debug)]
pub enum RepoContent {
    /// There is no such object.
    Absent,
    /// It is of a newer version of the format.
    Newer,
    /// It is not what the format says.
    Damaged(FormatError),
    /// It is the state of a repository.
    Sound(Box<RepoInfo>),
}

/// A backup of `repo`, out of `overwritten/`.
#[derive(Debug)]
pub struct RepoBackup {
    /// Its name, as the operations log has it.
    pub name: String,
    /// The state.
    pub info: RepoInfo,
    /// How many backups with newer names are no sound ones.
    pub passed_over: usize,
    bytes: Bytes,
}

/// The backups of `repo` that are stored.
#[derive(Debug, Default)]
pub struct RepoBackups {
    /// Their names, the newest first, and their bytes.
    pub all: Vec<(String, u64)>,
}

/// The newest backup from which a repository can go on.
#[derive(Debug)]
pub enum NewestBackup {
    /// None is sound.
    None,
    /// The newest one that is sound.
    Sound(Box<RepoBackup>),
    /// There is one of a newer version of the format.
    Newer,
}

/// The operations log as far as it can be followed.
#[derive(Debug)]
pub struct FollowedLog {
    /// The names of the backups that it is in, the newest first.
    pub pages: Vec<String>,
    /// The backups that the list in `repo` itself names.
    pub named: BTreeSet<String>,
    /// The page that the log goes on in and that cannot be read, and why; none if the log is whole.
    pub broken: Option<(String, PageProblem)>,
    /// How many entries there are.
    pub entries: u64,
    /// The time of the oldest entry that was read, in microseconds since 1970.
    pub oldest_at: u64,
    /// Entries that are not older than the one that follows them, of all pages.
    pub out_of_order: Vec<Update>,
    /// The numbers of the kinds of update that are not known.
    pub unknown_kinds: BTreeSet<u8>,
}

/// Why a page of the operations log cannot be read.
#[derive(Debug)]
pub enum PageProblem {
    /// There is no such object.
    Missing,
    /// It is not what the format says.
    Damaged(FormatError),
    /// The log was there before: it goes round in a circle.
    Repeated,
}

impl StoredRepo {
    /// Reads the object.
    ///
    /// # Errors
    /// The error of the store, which tells nothing of the object.
    pub async fn read(storage: &dyn Storage) -> Result<Self, StorageError> {
        let key = Key::parse(layout::REPO)?;
        let options = icefield_storage::GetOptions::default().with_max_size(MAX_REPO_LEN);
        let object = match storage.get(&key, options).await {
            Ok(object) => object,
            Err(error) if error.is_not_found() => {
                return Ok(Self {
                    content: RepoContent::Absent,
                    bytes: Bytes::new(),
                    version: None,
                });
            }
            Err(error) => return Err(error),
        };
        let version = Some(object.meta.version.clone());
        let bytes = object.bytes().await?;
        let content = match decode(&bytes) {
            Ok(info) => RepoContent::Sound(Box::new(info)),
            Err(FormatError::NewerSpecVersion { .. }) => RepoContent::Newer,
            Err(error) => RepoContent::Damaged(error),
        };
        Ok(Self {
            content,
            bytes,
            version,
        })
    }

    /// Puts a backup in the place of this object, byte by byte, under the condition that nothing else has replaced it
    /// since it was read. What was there is kept under the key that is returned. [`PutBackMark`] is set before.
    ///
    /// Refused with [`Refusal::AlreadyExists`] if another program has written the object meanwhile.
    ///
    /// # Errors
    /// The error of the store; nothing was replaced then.
    pub async fn put_back(
        &self,
        storage: &Arc<dyn Storage>,
        earlier: &RepoBackup,
    ) -> Result<(EditOutcome, Option<String>), StorageError> {
        let key = Key::parse(layout::REPO)?;
        let aside = match &self.version {
            Some(_) => Some(self.keep_aside(storage).await?),
            None => None,
        };
        let mode = match &self.version {
            Some(version) => PutMode::Update(version.clone()),
            None => PutMode::Create,
        };
        PutBackMark::set(&**storage, &earlier.name).await?;
        let options = repo_options(&Writer::default(), mode);
        let put = storage
            .put(&key, earlier.bytes.clone().into(), options)
            .await?;
        let outcome = match put {
            PutOutcome::Written(_) => EditOutcome::Done(None),
            // The refusal may be the answer to a repetition, sent by a client below us, of a request that had landed.
            PutOutcome::Refused => match self.is_there(storage, &key, earlier).await {
                Ok(true) => EditOutcome::Done(None),
                Ok(false) => EditOutcome::Refused(Refusal::AlreadyExists),
                Err(source) => EditOutcome::Unknown(source),
            },
            PutOutcome::Unknown(source) => match self.is_there(storage, &key, earlier).await {
                Ok(true) => EditOutcome::Done(None),
                _ => EditOutcome::Unknown(source),
            },
        };
        if let EditOutcome::Done(_) = outcome
            && let Err(source) = storage.sync().await
        {
            return Ok((EditOutcome::Unknown(source), aside));
        }
        Ok((outcome, aside))
    }

    async fn is_there(
        &self,
        storage: &Arc<dyn Storage>,
        key: &Key,
        earlier: &RepoBackup,
    ) -> Result<bool, StorageError> {
        let compared = storage.compare(key, &earlier.bytes).await?;
        Ok(matches!(compared, Compared::Same(_)))
    }

    /// Writes the bytes of the object under a key that they decide, durably, so that a repair that runs again finds them there.
    async fn keep_aside(&self, storage: &Arc<dyn Storage>) -> Result<String, StorageError> {
        let mut digest: u64 = 0xCBF2_9CE4_8422_2325;
        for byte in &self.bytes {
            digest = (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
        for more in 0_u32.. {
            let name = format!("{}/{KEPT_ASIDE}/repo.{digest:016x}.{more}", layout::OWN);
            let key = Key::parse(&name)?;
            let put = storage.put_immutable(&key, self.bytes.clone(), PutMode::Create.into());
            match put.await? {
                PutOutcome::Written(_) => {}
                // Other bytes of the same digest.
                PutOutcome::Refused => continue,
                PutOutcome::Unknown(source) => match storage.compare(&key, &self.bytes).await? {
                    Compared::Same(_) => {}
                    Compared::Absent | Compared::Other => return Err(source),
                },
            }
            storage.sync().await?;
            return Ok(name);
        }
        unreachable!("BUG: there are not so many objects of one digest")
    }
}

impl RepoBackups {
    /// Lists them.
    ///
    /// # Errors
    /// The error of the store.
    pub async fn list(storage: &dyn Storage) -> Result<Self, StorageError> {
        let prefix = Prefix::parse(layout::OVERWRITTEN)?;
        let mut objects = storage.list_objects(ListOptions::prefix(prefix));
        let mut found = Self::default();
        while let Some(object) = objects.next().await {
            let object = object?;
            if let Some(key) = layout::parse_overwritten_key(object.key.as_str())
                && key.object == layout::REPO
            {
                found.all.push((key.name, object.size));
            }
        }
        Ok(found)
    }

    /// Reads the newest one that is sound and of which `is_ours` is true.
    ///
    /// Names tell the order by the clocks of their writers; of the first sixteen sound ones, the one with the newest entry in its
    /// log is taken. One of a newer version of the format among them tells that the repository was of that version.
    ///
    /// # Errors
    /// The error of the store, which tells nothing of the objects.
    pub async fn newest_sound(
        &self,
        storage: &dyn Storage,
        is_ours: &(dyn Fn(&RepoInfo) -> bool + Send + Sync),
    ) -> Result<NewestBackup, StorageError> {
        let (mut newest, mut sound, mut unsound): (Option<RepoBackup>, usize, usize) = (None, 0, 0);
        for (name, _) in &self.all {
            if sound == COMPARED {
                break;
            }
            let key = Key::parse(&layout::overwritten_key(name))?;
            let Some(read) = read_state(storage, &key).await? else {
                continue;
            };
            let read = match read.and_then(|bytes| Ok((decode(&bytes)?, bytes))) {
                Ok(read) => Some(read),
                Err(FormatError::NewerSpecVersion { .. }) => return Ok(NewestBackup::Newer),
                Err(_) => None,
            };
            let Some((info, bytes)) = read.filter(|(info, _)| is_ours(info)) else {
                unsound += 1;
                continue;
            };
            sound += 1;
            let at = info.log().newest_at();
            if newest
                .as_ref()
                .is_none_or(|it| it.info.log().newest_at() < at)
            {
                newest = Some(RepoBackup {
                    name: name.clone(),
                    info,
                    passed_over: unsound,
                    bytes,
                });
            }
        }
        Ok(newest.map_or(NewestBackup::None, |it| NewestBackup::Sound(Box::new(it))))
    }
}

impl RepoBackups {
    /// Reads the oldest ones until one is sound and its newest entry is older than `first`, the time of the first entry of a log:
    /// that log cannot be of the repository which the backup is of. Returns its name.
    ///
    /// # Errors
    /// The error of the store, which tells nothing of the objects.
    pub async fn older_than(
        &self,
        storage: &dyn Storage,
        first: u64,
    ) -> Result<Option<String>, StorageError> {
        for (name, _) in self.all.iter().rev().take(COMPARED) {
            let key = Key::parse(&layout::overwritten_key(name))?;
            if let Some(bytes) = read_state(storage, &key).await?
                && let Ok(info) = bytes.and_then(|bytes| decode(&bytes))
            {
                let is_older = info.log().newest_at() < first;
                return Ok(is_older.then(|| name.clone()));
            }
        }
        Ok(None)
    }
}

impl FollowedLog {
    /// Follows the log of a state through the backups that it goes on in.
    ///
    /// # Errors
    /// The error of the store, which tells nothing of the objects.
    pub async fn of(storage: &dyn Storage, state: &RepoInfo) -> Result<Self, StorageError> {
        let named = state.log().updates().filter_map(|it| it.backup.clone());
        let mut followed = Self {
            pages: Vec::new(),
            named: named.collect(),
            broken: None,
            entries: 0,
            oldest_at: state.log().newest_at(),
            out_of_order: Vec::new(),
            unknown_kinds: BTreeSet::new(),
        };
        let mut earlier;
        let (mut page, mut last) = (state, None);
        loop {
            last = followed.take(page, last);
            let Some(name) = page.log().continues_in().map(str::to_owned) else {
                return Ok(followed);
            };
            let problem = match followed.pages.contains(&name) {
                true => PageProblem::Repeated,
                false => match read_page(storage, &name).await? {
                    Ok(info) => {
                        followed.pages.push(name);
                        earlier = info;
                        page = &earlier;
                        continue;
                    }
                    Err(problem) => problem,
                },
            };
            followed.broken = Some((name, problem));
            return Ok(followed);
        }
    }

    /// Takes the entries of a page down, and returns the time of its last one.
    fn take(&mut self, page: &RepoInfo, mut later: Option<u64>) -> Option<u64> {
        for update in page.log().updates() {
            self.entries += 1;
            if later.is_some_and(|later| update.updated_at >= later) {
                self.out_of_order.push(update.clone());
            }
            later = Some(update.updated_at);
            self.oldest_at = self.oldest_at.min(update.updated_at);
            if let icefield_format::UpdateKind::Unknown { tag } = update.kind {
                self.unknown_kinds.insert(tag);
            }
        }
        later
    }
}

async fn read_page(
    storage: &dyn Storage,
    name: &str,
) -> Result<Result<RepoInfo, PageProblem>, StorageError> {
    let Ok(key) = Key::parse(&layout::overwritten_key(name)) else {
        return Ok(Err(PageProblem::Missing));
    };
    Ok(match read_state(storage, &key).await? {
        Some(bytes) => bytes
            .and_then(|bytes| decode(&bytes))
            .map_err(PageProblem::Damaged),
        None => Err(PageProblem::Missing),
    })
}

/// Reads the bytes of a state of `repo`; [`FormatError::TooLarge`] in their place if there are more than any state has, none if
/// there is no such object.
async fn read_state(
    storage: &dyn Storage,
    key: &Key,
) -> Result<Option<Result<Bytes, FormatError>>, StorageError> {
    match storage.try_read_at_most(key, MAX_REPO_LEN).await {
        Ok(read) => Ok(read.map(|(bytes, _)| Ok(bytes))),
        Err(StorageError::ObjectTooLarge { .. }) => Ok(Some(Err(FormatError::TooLarge {
            file: FormatFile::RepoInfo,
            limit: MAX_REPO_LEN,
        }))),
        Err(error) => Err(error),
    }
}

fn decode(bytes: &[u8]) -> Result<RepoInfo, FormatError> {
    RepoInfo::decode(bytes, &DecodeLimits::up_to(SpecVersion::V2))
}
