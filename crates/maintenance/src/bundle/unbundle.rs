//! Reading a bundle into a repository.

use std::io::{self, Read};
use std::sync::Arc;

use futures::stream::{FuturesUnordered, Stream, StreamExt, TryStreamExt};
use icefield_core::{
    Clock, CollectionHold, Entropy, Repository, RepositoryError, Settings, SystemClock,
    SystemEntropy, TagName,
};
use icefield_format::{DecodeLimits, SnapshotId};
use icefield_storage::{Bytes, Storage, StorageError};
use serde::Serialize;

use super::file::{Entry, Input, bad};
use super::inspect::{Inspected, MAX_FILE, Member, inspect, read_index};
use crate::Progress;
use crate::copy::objects::{self, WHOLE};
use crate::copy::refs::{DeletedTags, Histories, RefPlan};
use crate::copy::{
    Bounds, ConfigAction, CopiedRef, CopyError, Moved, call_created, create_with, put_config,
    reachable, release, snapshots,
};
use crate::listing::{Kind, listed, sizes};

/// Bytes of cached metadata in the handle on a destination.
const CACHE: u64 = 16 << 20;
/// Parts of a large chunk that wait to be sent.
const PARTS: usize = 4;

/// A bundle to be read into a repository.
#[derive(Clone, Debug)]
pub struct Unbundle {
    force: bool,
    bounds: Bounds,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl Default for Unbundle {
    fn default() -> Self {
        Self {
            force: false,
            bounds: Bounds::default(),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
        }
    }
}

/// What became of a bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnbundleReport {
    /// Where the bundle comes from, in the words of who made it.
    pub bundled_from: String,
    /// There was no repository at the destination before.
    pub created: bool,
    /// Chunk objects that were written.
    pub chunks: Moved,
    /// Manifests that were written.
    pub manifests: Moved,
    /// Transaction logs that were written.
    pub transaction_logs: Moved,
    /// Snapshots that were written.
    pub snapshots: Moved,
    /// What became of `config.yaml`.
    pub config: ConfigAction,
    /// What became of each ref.
    pub refs: Vec<CopiedRef>,
    /// Snapshots whose ancestors were left out of the bundle.
    pub shortened: Vec<SnapshotId>,
}

impl Unbundle {
    /// Returns the default way to read a bundle.
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves branches of the destination also if they have commits that the bundle does not, and replaces another
    /// configuration. Tags never move.
    #[must_use]
    pub fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Sets how many objects are on their way at a time, at least one. Default 16.
    #[must_use]
    pub fn requests(mut self, requests: usize) -> Self {
        self.bounds.requests = requests.max(1);
        self
    }

    /// Sets the limits for decoding what is in the bundle.
    #[must_use]
    pub fn decode_limits(mut self, limits: DecodeLimits) -> Self {
        self.bounds.limits = limits;
        self
    }

    /// Takes the time, if a repository is created, from `clock`.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Draws ids from `entropy`.
    #[must_use]
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// Reads a bundle, which `open` opens from its beginning: once to check all of it, and only then once more to write
    /// its objects. If there is no repository at the destination, one is created.
    ///
    /// # Errors
    /// The [`CopyError`] that says what is wrong. Of a bundle that is damaged, or that does not fit, nothing is
    /// written at all.
    pub async fn run<R: Read + Send + 'static>(
        &self,
        open: impl Fn() -> io::Result<R>,
        destination: Arc<dyn Storage>,
        progress: &dyn Progress,
    ) -> Result<UnbundleReport, CopyError> {
        let open = || {
            open().map_err(|source| CopyError::File {
                action: "read",
                source,
            })
        };
        let inspected = inspect(open()?, &self.bounds.limits, progress).await?;
        let builder = Repository::builder(Arc::clone(&destination))
            .settings(Settings::default().with_cache_bytes(CACHE))
            .clock(Arc::clone(&self.clock))
            .entropy(Arc::clone(&self.entropy));
        let there = match builder.clone().open().await {
            Ok(there) => Some(there),
            Err(RepositoryError::NotFound { .. }) => None,
            Err(error) => return Err(CopyError::Open(error)),
        };
        self.check_fit(&inspected, there.as_ref()).await?;
        let created = there.is_none();
        let (there, changes) = match (there, &inspected.initial) {
            (Some(there), _) => {
                let decided = self.decide(&inspected, &there).await?;
                (there, decided.targets().next().is_some())
            }
            (None, Some(initial)) => {
                let there = create_with(builder, &destination, initial.clone()).await?;
                (there, true)
            }
            (None, None) => return Err(bad("it has no initial snapshot")),
        };
        let mut report = UnbundleReport {
            bundled_from: inspected.index.source.clone(),
            created,
            shortened: inspected.index.shortened.iter().copied().collect(),
            ..UnbundleReport::default()
        };
        // What is there already, and what is written before the refs are, must not be taken for garbage.
        let hold = match changes {
            true => Some(there.hold_collections().await.map_err(CopyError::Open)?),
            false => None,
        };
        let unpacking = Unpacking {
            destination: &destination,
            bounds: &self.bounds,
            hold: hold.as_ref(),
            progress,
        };
        let written = async {
            unpacking.run(open()?, &inspected, &mut report).await?;
            self.publish(&inspected, &there, &destination, &mut report, progress)
                .await
        }
        .await;
        release(hold, &written).await;
        written?;
        if created {
            report
                .snapshots
                .add(inspected.initial.map_or(0, |file| file.len() as u64));
            call_created(&mut report.refs);
        }
        Ok(report)
    }

    /// Writes what makes the objects visible.
    async fn publish(
        &self,
        inspected: &Inspected,
        there: &Repository,
        destination: &Arc<dyn Storage>,
        report: &mut UnbundleReport,
        progress: &dyn Progress,
    ) -> Result<(), CopyError> {
        let config = inspected.config.clone();
        report.config = put_config(config, destination, self.force, false).await?;
        progress.stage("writing refs", None);
        let decided = self.decide(inspected, there).await?;
        report.refs = decided.publish(there, inspected).await?;
        Ok(())
    }

    async fn decide(
        &self,
        inspected: &Inspected,
        there: &Repository,
    ) -> Result<RefPlan, CopyError> {
        let histories = BundledHistories { inspected, there };
        RefPlan::decide(&inspected.refs, &histories, Some(there), self.force).await
    }

    /// Checks that all is there which the bundle builds on.
    async fn check_fit(
        &self,
        inspected: &Inspected,
        there: Option<&Repository>,
    ) -> Result<(), CopyError> {
        let present = match there {
            Some(there) => reachable(there).await?,
            None => Vec::new(),
        };
        let is_there = |id: &SnapshotId| present.binary_search(id.as_bytes()).is_ok();
        let required = inspected.index.requires.iter();
        if let Some(snapshot) = required.copied().find(|id| !is_there(id)) {
            return Err(CopyError::BaseMissing { snapshot });
        }
        let branches = inspected.refs.branches.iter();
        let branches = branches.map(|(name, tip)| (format!("branch {name}"), *tip));
        let tags = inspected.refs.tags.iter();
        let tags = tags.map(|(name, target)| (format!("tag {name}"), *target));
        for (name, snapshot) in branches.chain(tags) {
            if !inspected.parents.contains_key(&snapshot) && !is_there(&snapshot) {
                return Err(CopyError::Dangling { name, snapshot });
            }
        }
        let foreign: Vec<_> = inspected.foreign_manifests.iter().copied().collect();
        let found = match there {
            Some(there) => sizes(&**there.storage(), Kind::Manifest, &foreign)
                .await
                .map_err(CopyError::Destination)?,
            None => vec![None; foreign.len()],
        };
        let missing = foreign.iter().zip(found).find(|(_, size)| size.is_none());
        match missing {
            Some((id, _)) => Err(bad(format!(
                "{} is neither in it nor at the destination",
                Kind::Manifest.named(*id).key()
            ))),
            None => Ok(()),
        }
    }
}

/// Histories as the bundle tells them, and where it ends, the destination.
struct BundledHistories<'a> {
    inspected: &'a Inspected,
    there: &'a Repository,
}

#[async_trait::async_trait]
impl Histories for BundledHistories<'_> {
    async fn contains(&self, of: SnapshotId, ancestor: SnapshotId) -> Result<bool, CopyError> {
        if ancestor == SnapshotId::INITIAL {
            return Ok(true);
        }
        let mut next = of;
        // Parents come before their children in a bundle: this ends.
        while let Some(parent) = self.inspected.parents.get(&next) {
            match parent {
                _ if next == ancestor => return Ok(true),
                Some(parent) => next = *parent,
                None => return Ok(false),
            }
        }
        let mut history = self.there.ancestry(next);
        while let Some(info) = history
            .try_next()
            .await
            .map_err(CopyError::DestinationRefs)?
        {
            if info.id == ancestor {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[async_trait::async_trait]
impl DeletedTags for Inspected {
    async fn target(&self, tag: &TagName) -> Result<Option<Bytes>, CopyError> {
        Ok(self.deleted.get(tag).cloned())
    }
}

/// The objects of one kind at the destination, asked for in ascending order.
struct Present<S> {
    objects: S,
    next: Option<([u8; 12], u64)>,
}

impl<S: Stream<Item = Result<([u8; 12], u64), StorageError>> + Unpin> Present<S> {
    async fn new(mut objects: S) -> Result<Self, StorageError> {
        let next = objects.try_next().await?;
        Ok(Self { objects, next })
    }

    /// Returns the size of an object, if it is there.
    async fn size(&mut self, id: [u8; 12]) -> Result<Option<u64>, StorageError> {
        while let Some((found, size)) = self.next {
            if found >= id {
                return Ok((found == id).then_some(size));
            }
            self.next = self.objects.try_next().await?;
        }
        Ok(None)
    }
}

/// The second reading of a bundle.
struct Unpacking<'a> {
    destination: &'a Arc<dyn Storage>,
    bounds: &'a Bounds,
    hold: Option<&'a CollectionHold>,
    progress: &'a dyn Progress,
}

impl Unpacking<'_> {
    async fn run<R: Read + Send + 'static>(
        &self,
        reader: R,
        inspected: &Inspected,
        report: &mut UnbundleReport,
    ) -> Result<(), CopyError> {
        let mut input = Input::new(reader);
        read_index(&mut input).await?;
        self.progress
            .stage("writing objects", Some(inspected.end.objects));
        let mut entry = input.next().await?;
        for kind in [
            Kind::Snapshot,
            Kind::Chunk,
            Kind::Manifest,
            Kind::TransactionLog,
            Kind::Snapshot,
        ] {
            let moved = self.section(&mut input, &mut entry, kind).await?;
            match kind {
                Kind::Chunk => report.chunks = moved,
                Kind::Manifest => report.manifests = moved,
                Kind::TransactionLog => report.transaction_logs = moved,
                Kind::Snapshot => report.snapshots = moved,
            }
            // What comes next may name what came before: that must survive a loss of power first.
            if moved.objects > 0 {
                self.destination
                    .sync()
                    .await
                    .map_err(CopyError::Destination)?;
            }
        }
        while let Some(last) = &entry {
            if Member::parse(&last.name)? == Member::End {
                // Between the two readings the file has stayed what it was.
                return match last.digest_before == inspected.end.sha256 {
                    true => Ok(()),
                    false => Err(bad("it was changed while it was read")),
                };
            }
            entry = input.next().await?;
        }
        Err(bad("it was changed while it was read"))
    }

    /// Writes the objects of one kind, as far as they follow one another.
    async fn section<R: Read + Send + 'static>(
        &self,
        input: &mut Input<R>,
        entry: &mut Option<Entry>,
        kind: Kind,
    ) -> Result<Moved, CopyError> {
        let mut moved = Moved::default();
        // Snapshots come with parents first, and are few.
        let listed = listed(&**self.destination, kind, [0; 12]).map_err(CopyError::Destination)?;
        let mut present = Present::new(listed).await.map_err(CopyError::Destination)?;
        let mut few = None;
        let mut writes = FuturesUnordered::new();
        while let Some(next) = entry {
            let Member::Object(found, id) = Member::parse(&next.name)? else {
                break;
            };
            if found != kind {
                break;
            }
            let size = match kind {
                Kind::Snapshot => {
                    if few.is_none() {
                        few = Some(snapshots(&**self.destination).await?);
                    }
                    let is_there = few
                        .as_ref()
                        .is_some_and(|few| few.binary_search(&id).is_ok());
                    // One that was shortened, or not, has another size.
                    is_there.then_some(next.size)
                }
                _ => present.size(id).await.map_err(CopyError::Destination)?,
            };
            match size {
                Some(found) if found != next.size => {
                    let key = kind.key(id).map_err(CopyError::Destination)?;
                    let expected = next.size;
                    return Err(CopyError::OtherSize {
                        key,
                        found,
                        expected,
                    });
                }
                Some(_) => {}
                None => {
                    moved.add(next.size);
                    if kind == Kind::Chunk && next.size > WHOLE {
                        self.large(input, next, id).await?;
                    } else {
                        let bytes = input.whole(next, MAX_FILE).await?;
                        self.check(kind, id, &bytes)?;
                        // A snapshot waits for its parents.
                        let most = if kind == Kind::Chunk {
                            self.bounds.requests
                        } else {
                            1
                        };
                        while writes.len() >= most {
                            writes.try_next().await?;
                        }
                        writes.push(objects::write_bytes(&**self.destination, kind, id, bytes));
                    }
                }
            }
            self.progress.advance(1, next.size);
            if let Some(hold) = self.hold {
                hold.keep().await.map_err(CopyError::Open)?;
            }
            *entry = input.next().await?;
        }
        while writes.try_next().await?.is_some() {}
        Ok(moved)
    }

    /// Checks that a file of metadata is what its name says.
    fn check(&self, kind: Kind, id: [u8; 12], bytes: &[u8]) -> Result<(), CopyError> {
        if kind == Kind::Chunk {
            return Ok(());
        }
        let decoded = objects::decode(kind.named(id), bytes, &self.bounds.limits);
        decoded.map(drop).map_err(|error| bad(error.to_string()))
    }

    /// Sends a large chunk as it is read.
    async fn large<R: Read + Send + 'static>(
        &self,
        input: &mut Input<R>,
        entry: &Entry,
        id: [u8; 12],
    ) -> Result<(), CopyError> {
        let (parts, receiver) = tokio::sync::mpsc::channel::<Result<Bytes, StorageError>>(PARTS);
        let stream = futures::stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|part| (part, receiver))
        });
        let feed = async move {
            let fed = async {
                while let Some(part) = input.part().await? {
                    if parts.send(Ok(part)).await.is_err() {
                        // The store has made up its mind; the rest is passed over with the entry.
                        break;
                    }
                }
                Ok::<_, CopyError>(())
            };
            let fed = fed.await;
            drop(parts);
            fed
        };
        let put = objects::write_stream(&**self.destination, id, entry.size, stream.boxed());
        let (written, fed) = futures::join!(put, feed);
        fed.and(written)
    }
}
