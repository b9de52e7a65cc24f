//! A repository in one file.
//!
//! A bundle is a POSIX tar file whose entries are named by the keys of the objects, so that unpacking it with `tar` gives
//! a repository on a local disk. It is written in one pass and in an order in which it can be read in one: the initial
//! snapshot, chunk objects, manifests and transaction logs, each ascending by id, the other snapshots with parents first,
//! the configuration, and the refs. The first entry, `icefield-bundle.json`, says what is in it; the last one,
//! `icefield-bundle-end.json`, has the digest of all that comes before it.
//!
//! Names of refs in keys are percent-encoded, as on a local disk, and spelt anew where they are unpacked.
//!
//! In a bundle of a repository of spec version 2, the object `repo` takes the place of the configuration and the refs. It lists
//! what is in the bundle, and as snapshots without parents what the bundle builds on; its log begins anew.

mod contents;
pub(crate) mod file;
mod index;
mod inspect;
mod inspected;
mod member;
mod repo;
mod seals;
pub(crate) mod tar;
mod unbundle;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_core::Repository;
use icefield_format::{SnapshotId, SpecVersion, layout};
use icefield_storage::Storage;
use serde::Serialize;

use crate::Progress;
use crate::copy::needs::{self, FILES, Need, compact};
use crate::copy::objects::{self, Chunk, Decoded};
use crate::copy::plan::{Plan, SourceRefs, manifests_of, snapshot};
use crate::copy::refs::DeletedTags;
use crate::copy::spec_v1::onto_initial;
use crate::copy::{CopyBounds, CopyError, Moved, RefChoice, read_config, shortened};
use crate::gather::Gather;
use crate::listing::ObjectKind;

use file::Output;
use index::{BundleEnd, BundleIndex, END, INDEX};
use member::FORM;

pub use unbundle::{Unbundle, UnbundleReport};

/// A bundle: a repository, or a part of it, in one file that [`Unbundle`](crate::Unbundle) reads.
///
/// ```
/// use std::io::Cursor;
/// use std::sync::Arc;
/// use icefield_core::Repository;
/// use icefield_maintenance::{BundleRepository, Unbundle};
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let source = Repository::create(Arc::new(MemoryStorage::new())).await?;
/// let (written, file) = BundleRepository::new().run(&source, Vec::new(), &()).await?;
///
/// let destination = Arc::new(MemoryStorage::new());
/// let open = || Ok(Cursor::new(file.clone()));
/// let read = Unbundle::new().run(open, destination, &()).await?;
/// assert!(read.created);
/// assert_eq!(written.refs, 1, "the branch main");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct BundleRepository {
    chosen: Vec<RefChoice>,
    depth: Option<usize>,
    since: Option<SnapshotId>,
    described: Option<String>,
    bounds: CopyBounds,
}

/// The report of a bundle that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BundleReport {
    /// The chunk objects in the bundle.
    pub chunks: Moved,
    /// The manifests in the bundle.
    pub manifests: Moved,
    /// The transaction logs in the bundle.
    pub transaction_logs: Moved,
    /// The snapshots in the bundle.
    pub snapshots: Moved,
    /// The number of branches and tags, including deleted tags.
    pub refs: u64,
    /// The version of the format of the repository.
    pub spec_version: u8,
    /// The snapshot that a repository must have to take the bundle, if the bundle is incremental.
    pub since: Option<SnapshotId>,
    /// The snapshots whose ancestors were left behind. In the bundle they follow the initial snapshot, so their bytes
    /// differ from the source's.
    pub shortened: Vec<SnapshotId>,
    /// The snapshots whose transaction log is missing in the source. Readers need no logs.
    pub missing_logs: Vec<SnapshotId>,
    /// The SHA-256 of the file without its last entry, in hexadecimal.
    pub sha256: String,
}

impl BundleRepository {
    /// Returns a bundle of all refs and everything that they reach.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes only these refs, and no tombstones. The default is all refs.
    #[must_use]
    pub fn refs(mut self, chosen: impl IntoIterator<Item = RefChoice>) -> Self {
        self.chosen = chosen.into_iter().collect();
        self
    }

    /// Takes only this many newest snapshots of each ref, at least one.
    #[must_use]
    pub fn depth(mut self, snapshots: usize) -> Self {
        self.depth = Some(snapshots.max(1));
        self
    }

    /// Leaves out everything that this snapshot reaches. The bundle can be unpacked only where the snapshot exists.
    #[must_use]
    pub fn since(mut self, snapshot: SnapshotId) -> Self {
        self.since = Some(snapshot);
        self
    }

    /// Sets the description of the source in the bundle. The default is the name of the store.
    #[must_use]
    pub fn described(mut self, source: impl Into<String>) -> Self {
        self.described = Some(source.into());
        self
    }

    /// Sets the bounds on memory and on requests.
    #[must_use]
    pub fn bounds(mut self, bounds: CopyBounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Writes the bundle, flushes the writer and returns it. The writer is used on a thread that may block.
    ///
    /// # Errors
    /// The [`CopyError`] that says what could not be read or written. The bytes written until then are no bundle, and
    /// reading them says so.
    pub async fn run<W: Write + Send + 'static>(
        &self,
        source: &Repository,
        writer: W,
        progress: &dyn Progress,
    ) -> Result<(BundleReport, W), CopyError> {
        progress.stage("reading refs", None);
        let source = &source.pinned().await.map_err(CopyError::Repository)?;
        let version = source.spec_version();
        let bounds = self.bounds.up_to(version);
        let refs = SourceRefs::read(source, &self.chosen).await?;
        let (plan, has) = self.plan(source, &refs, progress).await?;
        let mut writing = Writing {
            source,
            bounds: &bounds,
            progress,
            out: Output::new(writer),
            report: BundleReport {
                spec_version: version as u8,
                since: self.since,
                shortened: shortened(&plan),
                ..BundleReport::default()
            },
        };
        let index = BundleIndex::new(
            self.described
                .clone()
                .unwrap_or_else(|| source.storage().to_string()),
            version,
            &refs,
            &plan,
            self.since,
            self.depth,
        );
        writing.json(INDEX, &index).await?;
        let (initial, steps): (Vec<_>, Vec<_>) = plan
            .steps
            .iter()
            .partition(|step| step.id == SnapshotId::INITIAL);
        writing.snapshots(&initial).await?;
        writing.chunks(&plan.manifests, &has).await?;
        writing.manifests(&plan.manifests).await?;
        writing.logs(&plan).await?;
        writing.snapshots(&steps).await?;
        match version {
            SpecVersion::V1 => {
                writing.config().await?;
                writing.refs(&refs).await?;
            }
            _ => {
                let repo = repo::of_bundle(source, &refs, &plan, self.since).await?;
                writing.out.entry(layout::REPO, &repo).await?;
            }
        }
        writing.report.refs = refs.count();
        writing.finish().await
    }

    /// Finds out what belongs into the bundle, and which manifests its reader has.
    async fn plan(
        &self,
        source: &Repository,
        refs: &SourceRefs,
        progress: &dyn Progress,
    ) -> Result<(Plan, Vec<[u8; 12]>), CopyError> {
        progress.stage("reading histories", None);
        let mut reached = BTreeSet::new();
        let mut has = Vec::new();
        if let Some(since) = self.since {
            let mut history = source.ancestry(since);
            while let Some(info) = history.try_next().await.map_err(CopyError::SourceRefs)? {
                reached.insert(info.id);
            }
            has = manifests_of(&*snapshot(source, since).await?);
        }
        let is_there = |id: &SnapshotId| reached.contains(id);
        let mut plan = Plan::read(source, refs.tips(), self.depth, &is_there).await?;
        plan.add_initial(&is_there);
        plan.manifests.retain(|id| has.binary_search(id).is_err());
        Ok((plan, has))
    }
}

/// A bundle on the way.
struct Writing<'a, W> {
    source: &'a Repository,
    bounds: &'a CopyBounds,
    progress: &'a dyn Progress,
    out: Output<W>,
    report: BundleReport,
}

impl<W: Write + Send + 'static> Writing<'_, W> {
    fn storage(&self) -> &dyn Storage {
        &**self.source.storage()
    }

    async fn json<T: Serialize>(&mut self, name: &str, facts: &T) -> Result<(), CopyError> {
        let json = serde_json::to_vec_pretty(facts).map_err(|error| CopyError::File {
            action: "write",
            source: error.into(),
        })?;
        self.out.entry(name, &json).await
    }

    async fn chunks(&mut self, manifests: &[[u8; 12]], has: &[[u8; 12]]) -> Result<(), CopyError> {
        let mut gather = Gather::new(self.bounds.memory);
        let (source, limits) = (self.source.storage(), &self.bounds.decode_limits);
        loop {
            for (manifests, has) in [(manifests, false), (has, true)] {
                needs::gather(
                    &**source,
                    manifests,
                    has,
                    limits,
                    self.progress,
                    &mut gather,
                )
                .await?;
            }
            let needs = gather.records(compact);
            let needs: Vec<Need> = needs.iter().filter(|need| !need.has).copied().collect();
            self.progress
                .stage("copying chunks", Some(needs.len() as u64));
            let mut chunks = stream::iter(needs)
                .map(|need| async move {
                    let chunk = objects::open_chunk(source, need.id, need.end).await?;
                    Ok::<_, CopyError>((need.id, chunk))
                })
                .buffered(self.bounds.requests)
                .boxed();
            while let Some((id, chunk)) = chunks.try_next().await? {
                let size = write_chunk(&mut self.out, id, chunk).await?;
                self.report.chunks.add(size);
                self.progress.advance(1, size);
            }
            if !gather.next_pass() {
                return Ok(());
            }
        }
    }

    async fn manifests(&mut self, ids: &[[u8; 12]]) -> Result<(), CopyError> {
        self.progress
            .stage("copying manifests", Some(ids.len() as u64));
        let (source, limits) = (self.source.storage(), &self.bounds.decode_limits);
        let mut files = stream::iter(ids)
            .map(|id| async move {
                let read = objects::read_file(&**source, ObjectKind::Manifest, *id, limits).await?;
                Ok::<_, CopyError>((*id, read.0))
            })
            .buffered(FILES)
            .boxed();
        while let Some((id, file)) = files.try_next().await? {
            self.out
                .entry(&ObjectKind::Manifest.named(id).key(), &file)
                .await?;
            self.report.manifests.add(file.len() as u64);
            self.progress.advance(1, file.len() as u64);
        }
        Ok(())
    }

    async fn logs(&mut self, plan: &Plan) -> Result<(), CopyError> {
        let mut ids = plan.logs();
        let initial = *SnapshotId::INITIAL.as_bytes();
        // In spec version 2, the first snapshot has one, too, but for repositories that were upgraded.
        let is_v2 = self.source.spec_version() != SpecVersion::V1;
        if is_v2 && plan.steps.iter().any(|step| step.id == SnapshotId::INITIAL) {
            let at = ids.partition_point(|id| *id < initial);
            ids.insert(at, initial);
        }
        self.progress
            .stage("copying transaction logs", Some(ids.len() as u64));
        let kind = ObjectKind::TransactionLog;
        for id in ids {
            let limits = &self.bounds.decode_limits;
            match objects::try_read_file(self.storage(), kind, id, limits).await? {
                Some((file, _)) => {
                    self.out.entry(&kind.named(id).key(), &file).await?;
                    self.report.transaction_logs.add(file.len() as u64);
                    self.progress.advance(1, file.len() as u64);
                }
                None if id == initial => {}
                None => self.report.missing_logs.push(SnapshotId::from_bytes(id)),
            }
        }
        Ok(())
    }

    async fn snapshots(&mut self, steps: &[crate::copy::plan::Step]) -> Result<(), CopyError> {
        self.progress
            .stage("copying snapshots", Some(steps.len() as u64));
        for step in steps {
            let (id, limits) = (*step.id.as_bytes(), &self.bounds.decode_limits);
            let read = objects::read_file(self.storage(), ObjectKind::Snapshot, id, limits).await?;
            let (mut file, Decoded::Snapshot(snapshot)) = read else {
                unreachable!("BUG: the kind was asked for")
            };
            if !self.source.ledger().is_as_read(&snapshot, step.parent) {
                // Expiration has given it another one since the histories were read.
                return Err(CopyError::SourceChanged { snapshot: step.id });
            }
            if step.shortened && self.source.spec_version() == SpecVersion::V1 {
                file = onto_initial(&file, &snapshot)?;
            }
            self.out
                .entry(&ObjectKind::Snapshot.named(id).key(), &file)
                .await?;
            self.report.snapshots.add(file.len() as u64);
            self.progress.advance(1, file.len() as u64);
        }
        Ok(())
    }

    async fn config(&mut self) -> Result<(), CopyError> {
        let config = read_config(self.source.storage())
            .await
            .map_err(CopyError::Source)?;
        match config {
            Some(config) => {
                icefield_format::RepositoryConfig::decode(&config)?;
                self.out.entry(layout::CONFIG, &config).await
            }
            None => Ok(()),
        }
    }

    async fn refs(&mut self, refs: &SourceRefs) -> Result<(), CopyError> {
        // In the order of their keys, whatever they are: a tombstone hides no tag here.
        let mut files = BTreeMap::new();
        for (name, tip) in &refs.branches {
            let file = icefield_format::encode_ref(*tip);
            files.insert(layout::branch_key(name.as_str(), FORM), file);
        }
        for (name, target) in &refs.tags {
            let file = icefield_format::encode_ref(*target);
            files.insert(layout::tag_key(name.as_str(), FORM), file);
        }
        for name in &refs.deleted_tags {
            files.insert(
                layout::tombstone_key(name.as_str(), FORM),
                Default::default(),
            );
            if let Some(file) = DeletedTags::target(self.source, name).await? {
                files.insert(layout::tag_key(name.as_str(), FORM), file);
            }
        }
        for (key, file) in files {
            self.out.entry(&key, &file).await?;
        }
        Ok(())
    }

    async fn finish(mut self) -> Result<(BundleReport, W), CopyError> {
        let end = BundleEnd {
            objects: self.out.objects,
            bytes: self.out.bytes,
            sha256: self.out.digest(),
        };
        self.report.sha256.clone_from(&end.sha256);
        self.json(END, &end).await?;
        Ok((self.report, self.out.finish().await?))
    }
}

async fn write_chunk<W: Write + Send + 'static>(
    out: &mut Output<W>,
    id: [u8; 12],
    chunk: Chunk,
) -> Result<u64, CopyError> {
    let name = ObjectKind::Chunk.named(id).key();
    let (size, mut parts) = match chunk {
        Chunk::Whole(bytes) => {
            out.entry(&name, &bytes).await?;
            return Ok(bytes.len() as u64);
        }
        Chunk::Stream(size, parts) => (size, parts),
    };
    out.begin(&name, size).await?;
    let mut written = 0;
    while let Some(part) = parts.try_next().await.map_err(CopyError::Source)? {
        written += part.len() as u64;
        out.contents(&part).await?;
    }
    if written != size {
        let key = ObjectKind::Chunk.key(id).map_err(CopyError::Source)?;
        let (expected, found) = (size, written);
        return Err(CopyError::Source(
            icefield_storage::StorageError::WrongLength {
                key,
                expected,
                found,
            },
        ));
    }
    out.end(size).await?;
    Ok(size)
}
