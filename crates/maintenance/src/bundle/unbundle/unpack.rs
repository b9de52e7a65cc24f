//! Writing the objects of a bundle that was checked.

use std::io::Read;
use std::sync::Arc;

use futures::stream::{FuturesUnordered, Stream, StreamExt, TryStreamExt};
use icefield_core::{CollectionHold, SnapshotInfo};
use icefield_format::{SnapshotId, SpecVersion};
use icefield_storage::{Bytes, Storage, StorageError, StorageExt};

use super::report::UnbundleReport;
use crate::Progress;
use crate::bundle::file::{Entry, Input, bad};
use crate::bundle::index::{MAX_FILE, read_index};
use crate::bundle::inspected::Inspected;
use crate::bundle::member::Member;
use crate::bundle::seals::Seals;
use crate::copy::objects::{self, Decoded, WHOLE};
use crate::copy::spec_v1::onto_initial;
use crate::copy::{CopyBounds, CopyError, Moved, snapshots};
use crate::listing::{ObjectKind, listed};

/// Parts of a large chunk that wait to be sent.
const PARTS: usize = 4;

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

/// A reading that writes what is not there yet.
pub(super) struct Unpacking<'a> {
    pub(super) destination: &'a Arc<dyn Storage>,
    pub(super) bounds: &'a CopyBounds,
    pub(super) inspected: &'a Inspected,
    /// Snapshots at the destination that are whole, ascending.
    pub(super) believed: &'a [[u8; 12]],
    pub(super) hold: Option<&'a CollectionHold>,
    pub(super) progress: &'a dyn Progress,
}

/// Where a reading is.
struct Reading<'a, R> {
    input: Input<R>,
    entry: Option<Entry>,
    /// The number of that entry.
    at: u64,
    seals: &'a Seals,
    /// The records that are collected for the next reading.
    next: Seals,
}

impl<R: Read + Send + 'static> Reading<'_, R> {
    /// Whether the present entry is to be written by this reading.
    fn is_due(&self) -> bool {
        self.seals.of(self.at).is_some()
    }

    /// Checks, at the end of the contents of the present entry, that the file is what was checked.
    fn check(&mut self) -> Result<(), CopyError> {
        let seal = self.input.seal();
        if self.seals.of(self.at).is_some_and(|known| known != seal) {
            return Err(changed());
        }
        self.next.take(self.at, seal);
        Ok(())
    }

    /// Passes over what is left of the present entry, and begins the next one.
    async fn advance(&mut self) -> Result<(), CopyError> {
        self.input.pass().await?;
        self.check()?;
        self.entry = self.input.next().await?;
        self.at += 1;
        Ok(())
    }
}

fn changed() -> CopyError {
    bad("it was changed while it was read")
}

impl Unpacking<'_> {
    /// Writes the objects whose seals are held, and returns the seals of those behind them.
    pub(super) async fn run<R: Read + Send + 'static>(
        &self,
        reader: R,
        seals: &Seals,
        report: &mut UnbundleReport,
    ) -> Result<Seals, CopyError> {
        let mut input = Input::new(reader);
        read_index(&mut input).await?;
        let end = &self.inspected.end;
        self.progress.stage("writing objects", Some(end.objects));
        let mut reading = Reading {
            entry: input.next().await?,
            input,
            at: 0,
            seals,
            next: seals.following(),
        };
        for kind in [
            ObjectKind::Snapshot,
            ObjectKind::Chunk,
            ObjectKind::Manifest,
            ObjectKind::TransactionLog,
            ObjectKind::Snapshot,
        ] {
            let moved = match kind {
                ObjectKind::Chunk => &mut report.chunks,
                ObjectKind::Manifest => &mut report.manifests,
                ObjectKind::TransactionLog => &mut report.transaction_logs,
                ObjectKind::Snapshot => &mut report.snapshots,
            };
            let before = *moved;
            self.section(&mut reading, kind, moved).await?;
            // The next objects may name the former ones: those must survive a loss of power first.
            if *moved != before {
                self.destination
                    .sync()
                    .await
                    .map_err(CopyError::Destination)?;
            }
        }
        while let Some(last) = &reading.entry {
            if Member::parse(&last.name)? == Member::End {
                // Between the readings the file has stayed what it was.
                return match last.digest_before == end.sha256 {
                    true => Ok(reading.next),
                    false => Err(changed()),
                };
            }
            reading.advance().await?;
        }
        Err(changed())
    }

    /// Writes the objects of one kind, as far as they follow one another.
    async fn section<R: Read + Send + 'static>(
        &self,
        reading: &mut Reading<'_, R>,
        kind: ObjectKind,
        moved: &mut Moved,
    ) -> Result<(), CopyError> {
        // Snapshots come with parents first, and are few.
        let listed = listed(&**self.destination, kind, [0; 12]).map_err(CopyError::Destination)?;
        let mut present = Present::new(listed).await.map_err(CopyError::Destination)?;
        let mut few = None;
        let is_whole = self.is_whole();
        let mut writes = FuturesUnordered::new();
        while let Some(next) = reading.entry.clone() {
            let Member::Object(found, id) = Member::parse(&next.name)? else {
                break;
            };
            if found != kind {
                break;
            }
            if !reading.is_due() {
                reading.advance().await?;
                continue;
            }
            let size = match kind {
                ObjectKind::Snapshot => {
                    if few.is_none() {
                        few = Some(snapshots(&**self.destination).await?);
                    }
                    let is_there = few
                        .as_ref()
                        .is_some_and(|few| few.binary_search(&id).is_ok());
                    is_there.then_some(next.size)
                }
                _ => present.size(id).await.map_err(CopyError::Destination)?,
            };
            match size {
                Some(_) if kind == ObjectKind::Snapshot && self.is_believed(id) => {}
                // Expiration gives logs another size.
                Some(found)
                    if is_whole
                        && (kind == ObjectKind::TransactionLog
                            || kind == ObjectKind::Manifest && found == next.size) => {}
                Some(found) if kind == ObjectKind::Chunk => {
                    let key = kind.key(id).map_err(CopyError::Destination)?;
                    let expected = next.size;
                    if found != expected {
                        return Err(CopyError::OtherSize {
                            key,
                            found,
                            expected,
                        });
                    }
                }
                None if kind == ObjectKind::Chunk && next.size > WHOLE => {
                    moved.add(next.size);
                    self.large(reading, &next, id).await?;
                }
                there => {
                    let bytes = reading.input.whole(&next, MAX_FILE).await?;
                    reading.check()?;
                    if there.is_none() || !self.is_there(kind, id, &bytes).await? {
                        moved.add(next.size);
                        // A snapshot waits for its parents.
                        let most = if kind == ObjectKind::Chunk {
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
            reading.advance().await?;
        }
        while writes.try_next().await?.is_some() {}
        Ok(())
    }

    /// Whether nothing of the bundle is new to what the refs of the destination reach.
    fn is_whole(&self) -> bool {
        let mut snapshots = self.inspected.parents.keys();
        snapshots.all(|id| self.is_believed(*id.as_bytes()))
    }

    /// Whether a snapshot at the destination is whole. Every repository has an initial one of its own.
    fn is_believed(&self, id: [u8; 12]) -> bool {
        id == *SnapshotId::INITIAL.as_bytes() || self.believed.binary_search(&id).is_ok()
    }

    /// Whether a file of metadata that no ref is known to reach is at the destination, and says the same. What a stopped
    /// copy, a collection or a hostile bundle has left may be anything.
    async fn is_there(
        &self,
        kind: ObjectKind,
        id: [u8; 12],
        bytes: &[u8],
    ) -> Result<bool, CopyError> {
        let key = kind.key(id).map_err(CopyError::Destination)?;
        let limits = &self.bounds.decode_limits;
        let there = match (self.destination)
            .try_read_at_most(&key, limits.max_file())
            .await
        {
            Ok(Some((there, _))) if there == bytes => return Ok(true),
            Ok(Some((there, _))) => there,
            // It was deleted since it was listed.
            Ok(None) => return Ok(false),
            Err(error) => return Err(CopyError::Destination(error)),
        };
        let says_the_same = match kind {
            // One that expiration has made to tell more.
            ObjectKind::TransactionLog => objects::decode(kind.named(id), &there, limits).is_ok(),
            ObjectKind::Snapshot => self.is_same_but_for_its_parent(id, bytes, &there),
            _ => false,
        };
        match says_the_same {
            true => Ok(true),
            false => Err(match (there.len(), bytes.len()) {
                (found, expected) if found != expected => CopyError::OtherSize {
                    key,
                    found: found as u64,
                    expected: expected as u64,
                },
                _ => CopyError::OtherBytes { key },
            }),
        }
    }

    /// Compares snapshots of which one was shortened, or thinned. The parent must be one that is there.
    fn is_same_but_for_its_parent(&self, id: [u8; 12], ours: &[u8], theirs: &[u8]) -> bool {
        let named = ObjectKind::Snapshot.named(id);
        let limits = &self.bounds.decode_limits;
        let onto_initial = |file: &[u8]| match objects::decode(named, file, limits) {
            Ok(Decoded::Snapshot(snapshot)) => {
                let file = onto_initial(file, &snapshot).ok()?;
                Some((SnapshotInfo::of(&snapshot).ok()?.parent_id, file))
            }
            _ => None,
        };
        let (Some((_, ours)), Some((parent, theirs))) = (onto_initial(ours), onto_initial(theirs))
        else {
            return false;
        };
        // Parents come first in a bundle, so that those that are in it are at the destination by now.
        let is_known = |parent: SnapshotId| {
            self.is_believed(*parent.as_bytes()) || self.inspected.parents.contains_key(&parent)
        };
        // In spec version 2, files do not change.
        self.inspected.spec == SpecVersion::V1 && ours == theirs && parent.is_some_and(is_known)
    }

    /// Sends a large chunk as it is read. The last part is held back until the file is known to be what was checked.
    async fn large<R: Read + Send + 'static>(
        &self,
        reading: &mut Reading<'_, R>,
        entry: &Entry,
        id: [u8; 12],
    ) -> Result<(), CopyError> {
        let (parts, receiver) = tokio::sync::mpsc::channel::<Result<Bytes, StorageError>>(PARTS);
        let stream = futures::stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|part| (part, receiver))
        });
        let feed = async move {
            let fed = async {
                while reading.input.left() > 0 {
                    let part = reading.input.part().await?.unwrap_or_default();
                    if reading.input.left() == 0 {
                        reading.check()?;
                    }
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
