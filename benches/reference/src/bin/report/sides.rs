//! The sides of a workload, the amounts of data, and how each side opens a repository.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, bail};
use icefield::{
    BranchName, Fsync, LocalStorage, NodePath, Repository, RepositoryConfig, Session, WriteMode,
};
use tokio::sync::RwLock;

/// A contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Icefield,
    /// The reference implementation.
    Icechunk,
    /// The least that the machine needs: plain files, or one pass over the bytes.
    Floor,
}

impl Side {
    pub(crate) const ALL: [Self; 3] = [Self::Icefield, Self::Icechunk, Self::Floor];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Icefield => "icefield",
            Self::Icechunk => "icechunk",
            Self::Floor => "floor",
        }
    }

    pub(crate) fn parse(name: &str) -> Result<Self> {
        match Self::ALL.into_iter().find(|it| it.name() == name) {
            Some(side) => Ok(side),
            None => bail!("{name:?} is no side"),
        }
    }
}

/// How much data a run uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    Full,
    /// So little that all workloads run in seconds; the times mean nothing.
    Quick,
}

impl Amount {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Quick => "quick",
        }
    }

    pub(crate) fn parse(name: &str) -> Result<Self> {
        match name {
            "full" => Ok(Self::Full),
            "quick" => Ok(Self::Quick),
            other => bail!("{other:?} is no amount of data"),
        }
    }

    /// Returns how many of something there are; few if the run is quick.
    pub(crate) fn of(self, full: usize, quick: usize) -> usize {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }
}

pub(crate) const GROUP: &str = r#"{"zarr_format":3,"node_type":"group"}"#;

/// Returns the `zarr.json` of an array of bytes.
pub(crate) fn array(shape: &[usize], chunk: &[usize]) -> String {
    format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":{shape:?},"data_type":"uint8","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{chunk:?}}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{{"name":"bytes"}}],"attributes":{{}}}}"#
    )
}

/// Opens the store of a directory, without fsync.
pub(crate) fn disk(folder: &Path) -> Result<Arc<LocalStorage>> {
    Ok(Arc::new(
        LocalStorage::builder(folder).fsync(Fsync::None).open()?,
    ))
}

pub(crate) async fn open(folder: &Path) -> Result<Repository> {
    Ok(Repository::open(disk(folder)?).await?)
}

/// Creates a repository with some arrays.
pub(crate) async fn create(
    folder: &Path,
    config: RepositoryConfig,
    arrays: &[(String, String)],
) -> Result<Repository> {
    let repository = Repository::builder(disk(folder)?)
        .config(config)
        .create()
        .await?;
    let session = repository.write_session(BranchName::main()).await?;
    session
        .set_metadata(&NodePath::root(), GROUP.into(), WriteMode::Overwrite)
        .await?;
    for (path, document) in arrays {
        let path = NodePath::parse(path)?;
        session
            .set_metadata(&path, document.clone().into(), WriteMode::Overwrite)
            .await?;
    }
    icefield::committed(session.commit("arrays").await?)?;
    Ok(repository)
}

pub(crate) async fn write(folder: &Path) -> Result<Session> {
    Ok(open(folder)
        .await?
        .write_session(BranchName::main())
        .await?)
}

pub(crate) async fn read(folder: &Path) -> Result<Session> {
    Ok(open(folder).await?.read_session(BranchName::main()).await?)
}

pub(crate) async fn open_theirs(folder: &Path) -> Result<icechunk::Repository> {
    let storage = icechunk_arrow_object_store::new_local_filesystem_storage(folder).await?;
    Ok(icechunk::Repository::open(storage).execute().await?)
}

pub(crate) async fn write_theirs(folder: &Path) -> Result<icechunk::session::Session> {
    Ok(open_theirs(folder).await?.writable_session("main").await?)
}

pub(crate) async fn read_theirs(folder: &Path) -> Result<icechunk::session::Session> {
    let version = icechunk::repository::VersionInfo::BranchTipRef("main".to_owned());
    Ok(open_theirs(folder)
        .await?
        .readonly_session(&version)
        .await?)
}

pub(crate) async fn store(session: icechunk::session::Session) -> icechunk::Store {
    icechunk::Store::from_session(Arc::new(RwLock::new(session))).await
}

/// Measures seconds from its making.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the seconds that one of so many operations took.
    pub(crate) fn each(&self, operations: usize) -> f64 {
        self.0.elapsed().as_secs_f64() / operations as f64
    }
}

/// Copies a directory.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => drop(fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}

/// Returns all files below a directory.
pub(crate) fn files(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => found.append(&mut files(&entry.path())?),
            false => found.push(entry.path()),
        }
    }
    Ok(found)
}

/// Returns a line of `/proc/self/status` in bytes: `VmRSS` is what is resident, `VmHWM` the most that was.
pub(crate) fn memory(name: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim_start_matches(':').trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.trim().parse::<f64>().ok())
        .unwrap_or(0.0)
        * 1024.0
}

/// Returns numbers below a bound that look random, always the same.
pub(crate) fn scattered(count: usize, below: usize) -> impl Iterator<Item = usize> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..count).map(move |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    })
}

/// Returns bytes that do not compress.
pub(crate) fn noise(seed: usize, length: usize) -> bytes::Bytes {
    let mut state = seed as u64 ^ 0x2545_f491_4f6c_dd1d;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes.into()
}
