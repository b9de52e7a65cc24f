//! The rounds of a process that lives long, on one repository after the other.

use std::fmt;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{bail, ensure};
use icefield::Location;
use icefield::format::SpecVersion;
use icefield::maintenance::{Collect, Expire, Policy};
use icefield_core::{
    BranchName, ByteRange, CommitError, CommitOutcome, Detector, EditOutcome, MergeOutcome,
    Repository, Session, SessionError, SnapshotId, VersionSelection, WriteMode,
};
use serde::Serialize;

use crate::work::{self, CHUNKS, array_path, value_of};

/// Bytes of a chunk that has an object of its own.
const NATIVE: usize = 2048;
/// Bytes of memory for decoded objects, so that they are full before the warm-up ends.
const CACHE: u64 = 4 << 20;
/// A handle is opened anew after so many rounds.
const REOPENED: u64 = 64;
/// A repository is replaced by a new one after so many rounds. In version 2 it grows whatever expires: `repo` names the log of each
/// expired commit.
const RENEWED: u64 = 512;
/// Rounds between two collections.
const COLLECTED: u64 = 50;
/// Commits that an expiration leaves on the branch.
const KEPT: u64 = 20;
/// What is younger is not collected. The process has no session open meanwhile.
const FLOOR: Duration = Duration::from_secs(30);

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Rounds.
    pub rounds: u64,
    /// Commits that were acknowledged.
    pub commits: u64,
    /// Commits that a collection made wait.
    pub refused: u64,
    /// Forks that were merged.
    pub forks: u64,
    /// Chunks that were read and compared.
    pub reads: u64,
    /// Objects that collections deleted.
    pub deleted: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.rounds += other.rounds;
        self.commits += other.commits;
        self.refused += other.refused;
        self.forks += other.forks;
        self.reads += other.reads;
        self.deleted += other.deleted;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} rounds, {} commits, {} refused, {} forks, {} reads, {} deleted",
            self.rounds, self.commits, self.refused, self.forks, self.reads, self.deleted
        )
    }
}

/// A repository and what must be in it.
#[derive(Debug)]
pub struct Life {
    folder: PathBuf,
    spec: SpecVersion,
    /// The folder of the repository, in `folder`.
    place: PathBuf,
    location: Location,
    repository: Repository,
    /// The byte that each chunk consists of.
    values: Vec<Option<u8>>,
    counts: Counts,
}

impl Life {
    /// Creates the first repository in a folder.
    ///
    /// # Errors
    /// Errors of the engine.
    pub async fn begin(folder: &Path, spec: SpecVersion) -> anyhow::Result<Self> {
        Self::begin_with(folder, spec, Counts::default()).await
    }

    async fn begin_with(folder: &Path, spec: SpecVersion, counts: Counts) -> anyhow::Result<Self> {
        let place = folder.join(counts.rounds.to_string());
        let location = Location::of_path(&place);
        work::prepare(&location, spec).await?;
        Ok(Self {
            folder: folder.to_owned(),
            spec,
            place,
            repository: open(&location).await?,
            location,
            values: vec![None; CHUNKS as usize],
            counts,
        })
    }

    /// Returns what was done so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Does a bit of everything.
    ///
    /// # Errors
    /// Errors of the engine, or a chunk that is not what was written.
    pub async fn round(&mut self) -> anyhow::Result<()> {
        let round = self.counts.rounds;
        if round > 0 && round.is_multiple_of(RENEWED) {
            self.renew().await?;
        }
        if round % REOPENED == REOPENED - 1 {
            self.repository = open(&self.location).await?;
        }
        self.race(round).await?;
        if round.is_multiple_of(4) {
            self.fork(round).await?;
        }
        if round.is_multiple_of(16) {
            self.branch().await?;
        }
        self.read().await?;
        if round % COLLECTED == COLLECTED - 1 {
            self.collect().await?;
        }
        self.counts.rounds += 1;
        Ok(())
    }

    /// Replaces the repository by a new one.
    async fn renew(&mut self) -> anyhow::Result<()> {
        std::fs::remove_dir_all(&self.place)?;
        *self = Self::begin_with(&self.folder, self.spec, self.counts).await?;
        Ok(())
    }

    /// Two sessions commit at the same time, one of them with a rebase.
    async fn race(&mut self, round: u64) -> anyhow::Result<()> {
        let (one, other) = (place(round), place(round + 1));
        let value = value_of(round as usize);
        let (first, second) = futures::try_join!(
            commit(&self.repository, one, vec![value; NATIVE]),
            commit(&self.repository, other, vec![value; 1]),
        )?;
        for (at, landed) in [(one, first), (other, second)] {
            self.note(at, value, landed);
        }
        Ok(())
    }

    /// Two forks write, one of them as bytes that go to another process and back, and are merged.
    async fn fork(&mut self, round: u64) -> anyhow::Result<()> {
        let session = self.repository.write_session(BranchName::main()).await?;
        let (here, sent) = (session.fork()?, session.fork()?.to_bytes().await?);
        let away = self.repository.open_fork(&sent).await?;
        let (one, other) = (place(round + 2), place(round + 3));
        let value = value_of(round as usize);
        set(&here, one, vec![value; NATIVE]).await?;
        set(&away, other, vec![value; NATIVE]).await?;
        let merged = session
            .merge_forks([&here, &away], VersionSelection::Fail)
            .await?;
        ensure!(merged == MergeOutcome::Merged, "{merged:?}");
        self.counts.forks += 2;
        let landed = landed(&session).await?;
        self.note(one, value, landed);
        self.note(other, value, landed);
        // Both chunks are of one commit.
        self.counts.commits -= u64::from(landed.is_some());
        Ok(())
    }

    /// A branch comes and goes.
    async fn branch(&mut self) -> anyhow::Result<()> {
        let session = self.repository.read_session(BranchName::main()).await?;
        let tip = session.snapshot_id()?;
        let name = "beside";
        let made = self.repository.create_branch(name, tip).await?;
        ensure!(matches!(made, EditOutcome::Done(_)), "{made:?}");
        let name = BranchName::parse_new(name)?;
        let gone = self.repository.delete_branch(&name).await?;
        ensure!(matches!(gone, EditOutcome::Done(_)), "{gone:?}");
        Ok(())
    }

    /// Reads everything that was written.
    async fn read(&mut self) -> anyhow::Result<()> {
        let session = self.repository.read_session(BranchName::main()).await?;
        for (at, value) in self.values.iter().enumerate() {
            let Some(value) = value else { continue };
            let index = [at as u32];
            let bytes = session.chunk(&array_path(), &index, ByteRange::All).await?;
            let is_whole = |bytes: &[u8]| !bytes.is_empty() && bytes.iter().all(|it| it == value);
            ensure!(
                bytes.is_some_and(|bytes| is_whole(&bytes)),
                "chunk {at} is not what was written"
            );
            self.counts.reads += 1;
        }
        Ok(())
    }

    async fn collect(&mut self) -> anyhow::Result<()> {
        let mut policy = Policy::default();
        policy.last = KEPT;
        Expire::new(policy).run(&self.repository, &()).await?;
        let collect = Collect::default().floor(FLOOR).force_floor();
        let report = collect.run(&self.repository).await?;
        self.counts.deleted += report.total().deleted;
        Ok(())
    }

    fn note(&mut self, at: u32, value: u8, landed: Option<SnapshotId>) {
        match landed {
            Some(_) => {
                self.values[at as usize] = Some(value);
                self.counts.commits += 1;
            }
            None => self.counts.refused += 1,
        }
    }
}

fn place(round: u64) -> u32 {
    (round % u64::from(CHUNKS)) as u32
}

async fn open(location: &Location) -> anyhow::Result<Repository> {
    let storage = crate::storage(location).await?;
    let builder = Repository::builder(storage);
    let settings = icefield_core::Settings::default().with_cache_bytes(CACHE);
    Ok(builder.settings(settings).open().await?)
}

async fn set(session: &Session, at: u32, bytes: Vec<u8>) -> anyhow::Result<()> {
    let (path, overwrite) = (array_path(), WriteMode::Overwrite);
    session
        .set_chunk(&path, &[at], bytes.into(), overwrite)
        .await?;
    Ok(())
}

async fn commit(
    repository: &Repository,
    at: u32,
    bytes: Vec<u8>,
) -> anyhow::Result<Option<SnapshotId>> {
    let session = repository.write_session(BranchName::main()).await?;
    set(&session, at, bytes).await?;
    landed(&session).await
}

/// Commits; `None` if a collection stands in the way.
async fn landed(session: &Session) -> anyhow::Result<Option<SnapshotId>> {
    let commit = session.commit("soak").rebase_with(Detector::Strict);
    match commit.await {
        Ok(CommitOutcome::Committed(id)) => Ok(Some(id)),
        // With a floor below the least one, a collection makes sessions wait that are young.
        Err(CommitError::Session(SessionError::BeingCollected)) => Ok(None),
        Ok(other) => bail!("not committed: {other:?}"),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_hundred_rounds_read_what_they_wrote_and_collect() {
        let folder = tempfile::tempdir().unwrap();
        for spec in [SpecVersion::V1, SpecVersion::V2] {
            let path = folder.path().join(format!("{spec:?}"));
            let mut life = Life::begin(&path, spec).await.unwrap();
            for _ in 0..=REOPENED {
                life.round().await.unwrap();
            }
            let counts = life.counts();
            assert!(counts.commits > 2 * REOPENED, "{counts}");
            assert_eq!(counts.refused, 0, "{counts}");
            assert!(counts.forks > 0 && counts.reads > REOPENED, "{counts}");
            // What was written in place of it is not what is read.
            life.values[0] = life.values[0].map(|value| value.wrapping_add(1));
            assert!(life.read().await.is_err());
        }
    }

    #[tokio::test]
    async fn a_repository_is_replaced_by_one_without_its_history() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("repository");
        let mut life = Life::begin(&path, SpecVersion::V2).await.unwrap();
        for _ in 0..2 {
            life.round().await.unwrap();
        }
        let of_old = life.repository.read_session(BranchName::main()).await;
        let old = of_old.unwrap().snapshot_id().unwrap();
        life.counts.rounds = RENEWED;
        life.round().await.unwrap();
        let written = life.values.iter().flatten().count();
        assert_eq!(written, 4, "two commits and two forks of one round");
        assert!(life.repository.read_session(old).await.is_err());
        assert!(life.counts().commits > 5, "what was done before counts");
    }
}
