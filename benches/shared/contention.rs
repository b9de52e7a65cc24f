//! Many writers on one repository of spec version 2: once all on one branch, with rebase, and once each on a branch of its
//! own; with one handle for all, as the tasks of a process have it, and with a handle for each, as processes have it.
//!
//! Included by the benchmark of ours alone and by the one beside the reference, which name our types in `api`.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::TryStreamExt;
use futures::future::join_all;

use super::api::{
    BranchName, ByteRange, Clock, CommitOutcome, CountingStorage, Detector, Fsync, LocalStorage,
    MemoryStorage, NodePath, Repository, SpecVersion, Storage, SystemClock, WriteMode,
};

/// Bytes of a chunk, which is stored as an object of its own.
pub(crate) const CHUNK: usize = 1000;

/// The work of one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) on_disk: bool,
    pub(crate) own_branches: bool,
    /// All writers use clones of one handle.
    pub(crate) one_handle: bool,
    pub(crate) writers: u32,
    /// Of each writer.
    pub(crate) commits: u32,
}

impl Case {
    /// Returns the cases with so many writers and commits: the disk first, one branch first, one handle first.
    pub(crate) fn all(writers: &[u32], commits: u32) -> Vec<Self> {
        let mut all = Vec::new();
        for on_disk in [true, false] {
            for (own_branches, one_handle) in
                [(false, true), (false, false), (true, true), (true, false)]
            {
                all.extend(writers.iter().map(|&writers| Self {
                    on_disk,
                    own_branches,
                    one_handle,
                    writers,
                    commits,
                }));
            }
        }
        all
    }

    pub(crate) fn tried(&self) -> u32 {
        self.writers * self.commits
    }

    /// Returns the chunks that a writer sets, one with each commit.
    pub(crate) fn chunks(&self, writer: u32) -> Range<u32> {
        writer * self.commits..(writer + 1) * self.commits
    }

    /// Returns the branch of a writer.
    pub(crate) fn branch(&self, writer: u32) -> String {
        match self.own_branches {
            true => format!("w{writer}"),
            false => "main".to_owned(),
        }
    }

    /// Returns the branches that are written to.
    pub(crate) fn branches(&self) -> Vec<String> {
        let writers = if self.own_branches { self.writers } else { 1 };
        (0..writers).map(|writer| self.branch(writer)).collect()
    }

    pub(crate) fn storage(&self) -> &'static str {
        if self.on_disk { "disk" } else { "memory" }
    }

    pub(crate) fn layout(&self) -> &'static str {
        if self.own_branches {
            "own branches"
        } else {
            "one branch"
        }
    }

    pub(crate) fn handles(&self) -> &'static str {
        if self.one_handle { "one" } else { "each" }
    }

    /// Returns the document of the array, which has a chunk for each commit.
    pub(crate) fn array(&self) -> String {
        let chunks = self.tried();
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[{chunks}],"data_type":"uint8","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[1]}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{{"name":"bytes"}}],"attributes":{{}}}}"#
        )
    }
}

/// The result of one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    pub(crate) seconds: f64,
    /// Commits that were acknowledged.
    pub(crate) acknowledged: usize,
    /// Commits in the histories at the end.
    pub(crate) landed: usize,
    /// Writes of `repo` that were tried for them.
    pub(crate) attempts: u64,
}

impl Figure {
    pub(crate) fn rate(&self) -> f64 {
        self.landed as f64 / self.seconds
    }
}

/// The middle one by its rate.
pub(crate) fn median(mut figures: Vec<Figure>) -> Figure {
    figures.sort_by(|a, b| a.rate().total_cmp(&b.rate()));
    figures[figures.len() / 2]
}

enum Place {
    Disk(PathBuf),
    Memory(MemoryStorage),
}

impl Place {
    /// Opens a handle of its own.
    fn open(&self) -> Arc<dyn Storage> {
        match self {
            Self::Disk(folder) => {
                let storage = LocalStorage::builder(folder).fsync(Fsync::None);
                Arc::new(storage.open().expect("opened"))
            }
            Self::Memory(storage) => Arc::new(storage.clone()),
        }
    }
}

/// Does a round with ours, in a folder of its own.
pub(crate) async fn ours(folder: &Path, case: Case) -> Figure {
    let place = Arc::new(match case.on_disk {
        true => Place::Disk(folder.to_owned()),
        false => Place::Memory(MemoryStorage::new()),
    });
    prepare(&place, case).await;
    let shared = Handle::open(&place).await;
    let before = shared.writes();
    let begin = SystemClock.monotonic();
    let writers = (0..case.writers).map(|writer| {
        let (place, shared) = (Arc::clone(&place), shared.clone());
        tokio::spawn(async move {
            if case.one_handle {
                return (write(&shared, case, writer).await, 0);
            }
            let own = Handle::open(&place).await;
            (write(&own, case, writer).await, own.writes())
        })
    });
    let (mut acknowledged, mut attempts) = (0, 0);
    for written in join_all(writers).await {
        let (commits, writes) = written.expect("no writer panics");
        acknowledged += commits;
        attempts += writes;
    }
    let seconds = (SystemClock.monotonic() - begin).as_secs_f64();
    attempts += shared.writes() - before;
    let landed = landed(&place, case).await;
    assert_eq!(acknowledged, landed, "commits of ours are lost: {case:?}");
    Figure {
        seconds,
        acknowledged,
        landed,
        attempts,
    }
}

/// Returns how many commits are in the histories, and asserts that the chunks of all writers are there, too.
async fn landed(place: &Place, case: Case) -> usize {
    let repository = Repository::open(place.open()).await.expect("opened");
    let mut landed = 0;
    for branch in case.branches() {
        let branch: BranchName = branch.parse().expect("a name");
        let tip = repository.resolve(&branch.into()).await.expect("there");
        let history: Vec<_> = (repository.ancestry(tip).try_collect().await).expect("whole");
        // Without the first snapshot and the preparation.
        landed += history.len() - 2;
    }
    let array = NodePath::parse("/x").expect("a path");
    for writer in 0..case.writers {
        let branch: BranchName = case.branch(writer).parse().expect("a name");
        let session = repository.read_session(branch).await.expect("a session");
        for index in case.chunks(writer) {
            let chunk = session.chunk(&array, &[index], ByteRange::All).await;
            let chunk = chunk.expect("readable");
            let is_kept = chunk.is_some_and(|it| it == content(index));
            assert!(is_kept, "chunk {index} of ours is lost: {case:?}");
        }
    }
    landed
}

/// Returns the bytes of a chunk.
fn content(index: u32) -> Vec<u8> {
    vec![index as u8; CHUNK]
}

async fn prepare(place: &Place, case: Case) {
    let builder = Repository::builder(place.open()).spec_version(SpecVersion::V2);
    let repository = builder.create().await.expect("created");
    let session = repository.write_session(BranchName::main()).await;
    let session = session.expect("a session");
    let group = r#"{"zarr_format":3,"node_type":"group"}"#.to_owned();
    for (path, document) in [("/", group), ("/x", case.array())] {
        let path = NodePath::parse(path).expect("a path");
        let set = session.set_metadata(&path, document.into(), WriteMode::Overwrite);
        set.await.expect("set");
    }
    let outcome = session.commit("an array").await.expect("committed");
    let CommitOutcome::Committed(tip) = outcome else {
        panic!("{outcome:?}");
    };
    for branch in case.branches().iter().filter(|it| *it != "main") {
        let _done = repository
            .create_branch(branch, tip)
            .await
            .expect("created");
    }
}

/// A repository whose requests are counted.
#[derive(Clone)]
struct Handle {
    repository: Repository,
    counting: CountingStorage,
}

impl Handle {
    async fn open(place: &Place) -> Self {
        let counting = CountingStorage::new(place.open());
        let repository = Repository::open(Arc::new(counting.clone())).await;
        let repository = repository.expect("opened");
        Self {
            repository,
            counting,
        }
    }

    /// Returns how often `repo` was written.
    fn writes(&self) -> u64 {
        // An object, not a folder: nothing else begins with its name and a slash.
        self.counting.snapshot().of("repo").put
    }
}

/// Returns how many commits were acknowledged.
async fn write(handle: &Handle, case: Case, writer: u32) -> usize {
    let branch: BranchName = case.branch(writer).parse().expect("a name");
    let array = NodePath::parse("/x").expect("a path");
    let mut acknowledged = 0;
    for index in case.chunks(writer) {
        let session = handle.repository.write_session(branch.clone()).await;
        let session = session.expect("a session");
        let chunk = content(index).into();
        session
            .set_chunk(&array, &[index], chunk, WriteMode::Overwrite)
            .await
            .expect("set");
        let commit = session.commit("a chunk");
        let outcome = match case.own_branches {
            true => commit.await,
            false => commit.rebase_with(Detector::Compatible).await,
        };
        let outcome = outcome.expect("decided");
        assert!(
            matches!(outcome, CommitOutcome::Committed(_)),
            "{outcome:?}"
        );
        acknowledged += 1;
    }
    acknowledged
}
