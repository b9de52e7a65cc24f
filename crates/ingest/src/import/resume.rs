//! Imports that go on where they broke off.
//!
//! ```text
//! icefield/imports/NAME/begin.json       the attempt at it, the lease of its session, where the branch stood
//! icefield/imports/NAME/RUN-000001       chunks that are stored: what each was made of, and its id
//! ```
//! NAME says which import it is, RUN which attempt. What a chunk was made of is a digest of its source's state, of the documents
//! of both arrays and of its place: whatever else is imported, and in whatever order, the same digest is the same chunk. One
//! that is recalled is neither read nor written.
//!
//! Nothing is written below `icefield/imports/` before so much was stored that it is worth while. From then on the session
//! has a lease, which spares its chunks for one floor of collections after the import broke off. The commit removes all of it.

mod digest;
mod folder;
mod record;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::TryStreamExt;
use icefield_core::{
    BranchName, ChunkId, ChunkLocation, NodePath, Repository, Revision, Session, SnapshotId,
};
use icefield_storage::{
    Clock, Entropy, Key, PutMode, PutOptions, PutOutcome, Storage, StorageError, StorageExt,
    SystemClock, SystemEntropy,
};

pub(crate) use self::digest::{Digest, WorkKey};
use self::folder::{BeginRecord, VERSION, begin_key, below, put_begin, read_begin, remove, store};
use self::record::Stored;
use crate::{ImportError, Source};

/// Bytes that are stored before what was done is written down.
const EVERY_BYTES: u64 = 64 << 20;
/// The same by time.
const EVERY: Duration = Duration::from_secs(20);
/// Largest of our own objects that is read, in bytes.
const MAX_BEGIN: u64 = 64 << 10;
/// Where all imports lie.
const IMPORTS: &str = "icefield/imports";
/// The item of a commit's metadata that names the attempt.
const ATTEMPT: &str = "icefield_import";

/// Which import it is, and how often what was done is written down.
#[derive(Clone, Debug)]
pub(super) struct Resumption {
    pub(super) name: String,
    pub(super) every_bytes: u64,
}

impl Resumption {
    pub(super) fn of(name: String) -> Self {
        Self {
            name,
            every_bytes: EVERY_BYTES,
        }
    }
}

/// The record of the work that an import has done.
pub(crate) struct Journal {
    storage: Arc<dyn Storage>,
    folder: String,
    run: String,
    begin: BeginRecord,
    known: HashMap<WorkKey, Stored>,
    every_bytes: u64,
    clock: SystemClock,
    pending: Mutex<PendingRecords>,
    written: tokio::sync::Mutex<WrittenRecords>,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal")
            .field("folder", &self.folder)
            .field("run", &self.run)
            .field("known", &self.known.len())
            .finish_non_exhaustive()
    }
}

/// The records that are not written yet.
#[derive(Debug, Default)]
struct PendingRecords {
    records: Vec<(WorkKey, Stored)>,
    bytes: u64,
    /// When the first of them came, by the monotonic clock.
    since: Option<Duration>,
}

#[derive(Debug, Default)]
struct WrittenRecords {
    has_begun: bool,
    records: u32,
}

/// An import that broke off and was ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AbandonedImport {
    /// The description of the import.
    pub about: String,
    /// The branch to which it would have been committed.
    pub branch: String,
    /// The number of objects with its progress that were deleted.
    pub objects: u64,
}

impl Journal {
    /// Opens a session to import with, and finds out what of the import is done.
    ///
    /// # Errors
    /// [`ImportError::AlreadyLanded`] if all of it is.
    pub(super) async fn open(
        repository: &Repository,
        branch: BranchName,
        resumption: &Resumption,
        sources: &[Arc<dyn Source>],
    ) -> Result<(Self, Session), ImportError> {
        let names = sources.iter().map(ToString::to_string);
        let sources = names.fold(Digest::new(), |digest, name| digest.text(&name));
        let sources = sources.hex();
        let storage = Arc::clone(repository.storage());
        let folder = format!("{IMPORTS}/{}", Digest::new().text(&resumption.name).hex());
        let mut random = [0; 12];
        SystemEntropy.fill(&mut random);
        let run = ChunkId::from_bytes(random).to_string();
        let begin = begin_key(&folder)?;
        let found = storage.try_read_at_most(&begin, MAX_BEGIN);
        let mut found = found.await.map_err(store)?;
        if let Some((bytes, _)) = &found {
            let (begin, pass) = read_begin(&folder, bytes)?;
            if let Some(snapshot) = landed(repository, &branch, &begin).await? {
                remove(&*storage, &folder).await?;
                repository.end_lease(&pass).await?;
                if begin.sources == sources {
                    return Err(ImportError::AlreadyLanded { snapshot });
                }
                // The words of that import stand for other files now: this is another import.
                found = None;
            }
        }
        let (begin, known, session) = match found {
            None => {
                let session = repository.write_session(branch.clone()).await?;
                let begin = BeginRecord {
                    version: VERSION,
                    about: resumption.name.clone(),
                    run: run.clone(),
                    lease: String::new(),
                    branch: branch.to_string(),
                    base: session.snapshot_id()?.to_string(),
                    sources,
                };
                (begin, None, session)
            }
            Some((bytes, version)) => {
                let (mut begin, pass) = read_begin(&folder, &bytes)?;
                let session = repository.write_session_after(branch, &pass).await?;
                session.renew_lease().await?;
                begin.run.clone_from(&run);
                begin.sources = sources;
                let mode = PutMode::Update(version);
                put_begin(&*storage, &folder, &begin, mode).await?;
                let known = record::read_all(&*storage, &folder).await?;
                (begin, Some(known), session)
            }
        };
        let journal = Self {
            storage,
            folder,
            run,
            begin,
            written: tokio::sync::Mutex::new(WrittenRecords {
                has_begun: known.is_some(),
                records: 0,
            }),
            known: known.unwrap_or_default(),
            every_bytes: resumption.every_bytes,
            clock: SystemClock,
            pending: Mutex::default(),
        };
        Ok((journal, session))
    }

    /// Returns the item of metadata by which the commit is known for that of this import; none of one that left no trace.
    pub(super) async fn attempt(&self) -> Option<(&'static str, String)> {
        let has_begun = self.written.lock().await.has_begun;
        has_begun.then(|| (ATTEMPT, self.run.clone()))
    }

    /// Returns whether anything is known of what was done.
    pub(crate) fn knows_nothing(&self) -> bool {
        self.known.is_empty()
    }

    /// Sets a chunk that is stored already. Returns its bytes; `None` if it is not.
    ///
    /// # Errors
    /// The reasons why a session cannot be written.
    pub(crate) async fn recall(
        &self,
        session: &Session,
        key: &WorkKey,
        (path, index): (&NodePath, &[u32]),
    ) -> Result<Option<u64>, ImportError> {
        let Some(stored) = self.known.get(key) else {
            return Ok(None);
        };
        session
            .set_stored_chunk(path, index, stored.id, (stored.offset, stored.length))
            .await?;
        Ok(Some(stored.length))
    }

    /// Notes a chunk that was just set, and now and then writes down what was done.
    ///
    /// # Errors
    /// [`ImportError::TakenOver`], the errors of the store.
    pub(crate) async fn note(
        &self,
        session: &Session,
        key: WorkKey,
        (path, index): (&NodePath, &[u32]),
    ) -> Result<(), ImportError> {
        let place = session.chunk_location(path, index).await?;
        let Some(ChunkLocation::Native { id, offset, length }) = place else {
            // Inline chunks are not stored before the commit.
            return Ok(());
        };
        if self.add(key, Stored { id, offset, length }) {
            self.write(session).await?;
        }
        Ok(())
    }

    /// Adds a record. Returns whether it is time to write.
    fn add(&self, key: WorkKey, stored: Stored) -> bool {
        let now = self.clock.monotonic();
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.records.push((key, stored));
        pending.bytes = pending.bytes.saturating_add(stored.length);
        let since = *pending.since.get_or_insert(now);
        pending.bytes >= self.every_bytes || now.saturating_sub(since) >= EVERY
    }

    /// Writes down what was done, unless all of it is.
    ///
    /// # Errors
    /// [`ImportError::TakenOver`], the errors of the store.
    pub(super) async fn write(&self, session: &Session) -> Result<(), ImportError> {
        let mut written = self.written.lock().await;
        let pending = {
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *pending)
        };
        if pending.records.is_empty() {
            return Ok(());
        }
        // Chunks may still wait to be stored together.
        session.store_packs().await?;
        match written.has_begun {
            true => {
                self.check_run().await?;
                // Recorded chunks must be there after a loss of power.
                self.storage.sync().await.map_err(store)?;
            }
            false => {
                let begin = BeginRecord {
                    lease: session.lease_pass().await?.to_string(),
                    ..self.begin.clone()
                };
                put_begin(&*self.storage, &self.folder, &begin, PutMode::Create).await?;
                written.has_begun = true;
            }
        }
        written.records += 1;
        let key = format!("{}/{}-{:06}", self.folder, self.run, written.records);
        let key = Key::parse(&key)
            .map_err(StorageError::from)
            .map_err(store)?;
        let bytes = record::encode(&pending.records);
        let put = self
            .storage
            .put(&key, bytes.into(), PutOptions::mode(PutMode::Create));
        match put.await.map_err(store)? {
            // If it is not there, less is known.
            PutOutcome::Written(_) | PutOutcome::Unknown(_) => Ok(()),
            PutOutcome::Refused => Err(self.taken_over()),
        }
    }

    /// Fails if another attempt goes on with this import.
    async fn check_run(&self) -> Result<(), ImportError> {
        let key = begin_key(&self.folder)?;
        let found = self.storage.try_read_at_most(&key, MAX_BEGIN);
        match found.await.map_err(store)? {
            Some((bytes, _)) if read_begin(&self.folder, &bytes)?.0.run == self.run => Ok(()),
            _ => Err(self.taken_over()),
        }
    }

    fn taken_over(&self) -> ImportError {
        ImportError::TakenOver {
            about: self.begin.about.clone(),
        }
    }

    /// Removes all that was written down, after the commit.
    pub(super) async fn remove(&self) {
        if !self.written.lock().await.has_begun {
            return;
        }
        if let Err(error) = remove(&*self.storage, &self.folder).await {
            tracing::warn!(%error, folder = self.folder, "what a finished import had left to go on stays");
        }
    }
}

/// Ends imports that broke off: the one of this name, or all of them. The chunks that they stored are garbage from then
/// on.
///
/// # Errors
/// The errors of the store.
pub async fn abandon_imports(
    repository: &Repository,
    name: Option<&str>,
) -> Result<Vec<AbandonedImport>, ImportError> {
    let storage = repository.storage();
    let prefix = match name {
        Some(name) => format!("{IMPORTS}/{}", Digest::new().text(name).hex()),
        None => IMPORTS.to_owned(),
    };
    let objects = below(&**storage, &prefix).await?;
    let mut folders: HashMap<String, u64> = HashMap::new();
    for object in objects {
        let folder = object.key.as_str().rsplit_once('/');
        let folder = folder.map_or(IMPORTS, |(folder, _)| folder);
        *folders.entry(folder.to_owned()).or_default() += 1;
    }
    let mut abandoned = Vec::new();
    for (folder, objects) in folders {
        let begin = begin_key(&folder)?;
        let found = storage.try_read_at_most(&begin, MAX_BEGIN);
        let begin = found.await.map_err(store)?;
        let begin = begin.and_then(|(bytes, _)| read_begin(&folder, &bytes).ok());
        if let Some((_, pass)) = &begin {
            repository.end_lease(pass).await?;
        }
        remove(&**storage, &folder).await?;
        let begin = begin.map(|(begin, _)| begin);
        abandoned.push(AbandonedImport {
            about: begin.as_ref().map_or_else(
                || "an import of which no more is known".to_owned(),
                |begin| begin.about.clone(),
            ),
            branch: begin.map(|begin| begin.branch).unwrap_or_default(),
            objects,
        });
    }
    abandoned.sort_by(|one, other| one.about.cmp(&other.about));
    Ok(abandoned)
}

/// Looks for the commit of the attempt that broke off, which may have landed all the same.
async fn landed(
    repository: &Repository,
    branch: &BranchName,
    begin: &BeginRecord,
) -> Result<Option<SnapshotId>, ImportError> {
    let tip = repository
        .read_session(Revision::from(branch.clone()))
        .await?;
    let mut history = repository.ancestry(tip.snapshot_id()?);
    while let Some(info) = history
        .try_next()
        .await
        .map_err(icefield_core::RepositoryError::from)?
    {
        let attempt = info.metadata.get(ATTEMPT).and_then(|it| it.as_str());
        if attempt == Some(&*begin.run) {
            return Ok(Some(info.id));
        }
        if info.id.to_string() == begin.base {
            break;
        }
    }
    Ok(None)
}
