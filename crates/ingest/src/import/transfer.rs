//! Moving chunks: listed by the source, read, and set in the session or compared with what is there, many at
//! once within the limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use icefield_core::{ArrayMetadata, ByteRange, ChunkIndex, Session, WriteMode};
use serde_json::Value;

use super::resume::{Digest, Journal, WorkKey};
use crate::codec::{Codec, Elements};
use crate::limits::Budget;
use crate::plan::{Action, Transfer};
use crate::progress::most_chunks;
use crate::regions::Region;
use crate::{ChunkEntry, Ignored, ImportError, Limits, Progress, Source};

/// The counts of moved chunks.
#[derive(Debug, Default)]
pub(super) struct Copied {
    pub(super) chunks: u64,
    pub(super) bytes: u64,
    pub(super) compared: u64,
    /// Of the chunks, those that were stored already.
    pub(super) recalled: u64,
    pub(super) ignored: Ignored,
}

impl Copied {
    fn and(mut self, done: ChunkOutcome) -> Self {
        match done {
            ChunkOutcome::Copied(bytes) => {
                self.chunks += 1;
                self.bytes += bytes;
            }
            ChunkOutcome::Recalled(bytes) => {
                self.chunks += 1;
                self.bytes += bytes;
                self.recalled += 1;
            }
            ChunkOutcome::Compared => self.compared += 1,
            ChunkOutcome::Ignored(name) => self.ignored.note(name),
        }
        self
    }
}

/// The outcome for one entry of a listing.
enum ChunkOutcome {
    Copied(u64),
    Recalled(u64),
    Compared,
    Ignored(String),
}

/// The chunks of one array, and how many of them the source has listed so far.
struct Work {
    transfer: Transfer,
    listed: AtomicU64,
}

/// One entry of a listing, with the array it belongs to.
struct Job {
    work: Arc<Work>,
    entry: ChunkEntry,
}

struct Mover<'a> {
    source: &'a Arc<dyn Source>,
    session: &'a Session,
    budget: Budget,
    progress: &'a dyn Progress,
    journal: Option<&'a Journal>,
    /// That of the source, if it can tell.
    state: Option<String>,
}

/// Moves the chunks of all transfers. Stops at the first error.
pub(super) async fn run(
    source: &Arc<dyn Source>,
    session: &Session,
    transfers: Vec<Transfer>,
    limits: Limits,
    (progress, journal): (&dyn Progress, Option<&Journal>),
) -> Result<Copied, ImportError> {
    let mover = Mover {
        source,
        session,
        budget: Budget::new(limits),
        progress,
        journal,
        state: journal.and_then(|_| source.state()),
    };
    progress.expected(transfers.iter().map(most).fold(0, u64::saturating_add));
    let works: Vec<Arc<Work>> = transfers
        .into_iter()
        .map(|transfer| {
            Arc::new(Work {
                transfer,
                listed: AtomicU64::new(0),
            })
        })
        .collect();
    let copied = stream::iter(works.clone())
        .flat_map(|work| mover.jobs(work))
        // Boxed, or the compiler loses sight of the whole being `Send`.
        .map(|job| async { mover.run(job?).await }.boxed())
        .buffer_unordered(limits.chunks.max(1))
        .boxed()
        .try_fold(Copied::default(), |copied, done| async {
            Ok(copied.and(done))
        })
        .await?;
    for work in works {
        if work.transfer.action == Action::Compare {
            let found = work.listed.load(Ordering::Relaxed);
            mover.check_count(&work.transfer, found).await?;
        }
    }
    Ok(copied)
}

/// Chunks that a transfer has at most.
fn most(transfer: &Transfer) -> u64 {
    let all = most_chunks(&transfer.array);
    match &transfer.action {
        Action::Move(shift) => {
            let along = transfer.array.chunk_counts.get(shift.axis).copied();
            let part = shift.chunks.end - shift.chunks.start;
            all / u64::from(along.unwrap_or(1)).max(1) * part
        }
        Action::Copy | Action::Compare | Action::CompareElements(_) => all,
    }
}

/// Whether an entry is a chunk of the grid that this transfer leaves to others.
fn is_of_others(transfer: &Transfer, entry: &ChunkEntry) -> bool {
    match (&transfer.action, entry) {
        (Action::Move(shift), ChunkEntry::Chunk { index, .. }) => {
            transfer.array.contains(index) && shift.target(index).is_none()
        }
        _ => false,
    }
}

impl<'a> Mover<'a> {
    /// The entries of one array; at the end, it is known how many do not exist.
    fn jobs(&self, work: Arc<Work>) -> BoxStream<'a, Result<Job, ImportError>> {
        let progress = self.progress;
        progress.array(&work.transfer.to);
        let entries = self
            .source
            .chunks(&work.transfer.from, &work.transfer.array);
        let counted = Arc::clone(&work);
        let jobs = entries.filter_map(move |entry| {
            let job = entry.map(|entry| {
                if is_of_others(&work.transfer, &entry) {
                    return None;
                }
                if matches!(entry, ChunkEntry::Chunk { .. }) {
                    work.listed.fetch_add(1, Ordering::Relaxed);
                }
                let work = Arc::clone(&work);
                Some(Job { work, entry })
            });
            std::future::ready(job.map_err(ImportError::from).transpose())
        });
        let end = stream::once(async move {
            let found = counted.listed.load(Ordering::Relaxed);
            progress.absent(most(&counted.transfer).saturating_sub(found));
            None
        });
        jobs.map(Some)
            .chain(end)
            .filter_map(std::future::ready)
            .boxed()
    }

    async fn run(&self, job: Job) -> Result<ChunkOutcome, ImportError> {
        let (index, length) = match job.entry {
            ChunkEntry::Ignored { name } => return Ok(ChunkOutcome::Ignored(name)),
            ChunkEntry::Chunk { index, length } => (index, length),
        };
        let transfer = &job.work.transfer;
        let done = self.chunk(transfer, &index, length).await?;
        self.progress.chunk(length);
        tracing::trace!(array = %transfer.to, %index, length, "chunk");
        Ok(done)
    }

    async fn chunk(
        &self,
        transfer: &Transfer,
        index: &ChunkIndex,
        length: u64,
    ) -> Result<ChunkOutcome, ImportError> {
        let (from, array) = (&transfer.from, &transfer.array);
        if !array.contains(index) {
            return Err(ImportError::OutOfGrid {
                name: self.source.chunk_name(from, array, index),
                path: transfer.to.clone(),
                grid: array.chunk_counts.clone(),
            });
        }
        if let Some(length) = self.recall(transfer, index).await? {
            return Ok(ChunkOutcome::Recalled(length));
        }
        let held = match &transfer.action {
            Action::Copy | Action::Move(_) => length,
            Action::Compare | Action::CompareElements(_) => length.saturating_mul(2),
        };
        let _held = self.budget.hold(held).await;
        let bytes = self.source.read_chunk(from, array, index, length).await?;
        match &transfer.action {
            Action::Copy => self.set(transfer, index, index, bytes).await,
            Action::Move(shift) => {
                let to = shift.target(index).unwrap_or_else(|| index.to_vec());
                self.set(transfer, index, &to, bytes).await
            }
            Action::Compare | Action::CompareElements(_) => {
                let here = self
                    .session
                    .chunk(&transfer.to, index, ByteRange::All)
                    .await?;
                let is_same = match here {
                    Some(here) if here == bytes => true,
                    Some(here) => self.same_elements(transfer, index, (&here, &bytes))?,
                    None => false,
                };
                match is_same {
                    true => Ok(ChunkOutcome::Compared),
                    false => Err(ImportError::ChunkDiffers {
                        path: transfer.to.clone(),
                        index: index.clone(),
                    }),
                }
            }
        }
    }

    /// Sets a chunk that an earlier attempt has stored; `None` if none has.
    async fn recall(
        &self,
        transfer: &Transfer,
        index: &ChunkIndex,
    ) -> Result<Option<u64>, ImportError> {
        let to = match &transfer.action {
            Action::Copy => index.to_vec(),
            Action::Move(shift) => shift.target(index).unwrap_or_else(|| index.to_vec()),
            Action::Compare | Action::CompareElements(_) => return Ok(None),
        };
        match (self.journal, self.key(transfer, index)) {
            (Some(journal), Some(key)) => {
                journal
                    .recall(self.session, &key, (&transfer.to, &to))
                    .await
            }
            _ => Ok(None),
        }
    }

    /// The digest of what a chunk is; `None` if the state of the source is not known.
    fn key(&self, transfer: &Transfer, index: &[u32]) -> Option<WorkKey> {
        let digest = Digest::new().text("taken").text(self.state.as_ref()?);
        let digest = digest
            .text(transfer.from.as_str())
            .bytes(&transfer.document);
        Some(digest.index(index).key())
    }

    async fn set(
        &self,
        transfer: &Transfer,
        from: &[u32],
        to: &[u32],
        bytes: bytes::Bytes,
    ) -> Result<ChunkOutcome, ImportError> {
        let length = bytes.len() as u64;
        self.session
            .set_chunk(&transfer.to, to, bytes, WriteMode::Overwrite)
            .await?;
        if let (Some(journal), Some(key)) = (self.journal, self.key(transfer, from)) {
            journal.note(self.session, key, (&transfer.to, to)).await?;
        }
        Ok(ChunkOutcome::Copied(length))
    }

    /// Whether two chunks of different bytes hold the same elements, as far as they lie in the array. No, if that cannot be
    /// told.
    fn same_elements(
        &self,
        transfer: &Transfer,
        index: &ChunkIndex,
        (here, there): (&[u8], &[u8]),
    ) -> Result<bool, ImportError> {
        let document = self.session.metadata(&transfer.to)?.unwrap_or_default();
        let documents = (document.as_ref(), transfer.document.as_ref());
        Ok(equal_elements(
            &transfer.array,
            index,
            documents,
            (here, there),
        ))
    }

    /// Each chunk of the source is in the repository; if there are as many, there is no other.
    async fn check_count(&self, transfer: &Transfer, found: u64) -> Result<(), ImportError> {
        let chunks = self.session.chunks(&transfer.to)?;
        let existing = chunks
            .try_fold(0, |count: u64, _| async move { Ok(count + 1) })
            .await?;
        match existing == found {
            true => Ok(()),
            false => Err(ImportError::ChunkCountDiffers {
                path: transfer.to.clone(),
                existing,
                found,
            }),
        }
    }
}

/// Whether two chunks hold the same elements, as far as they lie in the array, each by its own document. No, if that cannot be
/// told.
pub(super) fn equal_elements(
    array: &ArrayMetadata,
    index: &ChunkIndex,
    (our_document, their_document): (&[u8], &[u8]),
    (ours, theirs): (&[u8], &[u8]),
) -> bool {
    let decoded = |document: &[u8], bytes: &[u8]| {
        let document: Value = serde_json::from_slice(document).ok()?;
        let codec = Codec::of(&document).ok()?;
        Some((codec.decode(bytes).ok()?, codec.width()))
    };
    let (ours, theirs) = (decoded(our_document, ours), decoded(their_document, theirs));
    let (Some((ours, width)), Some((theirs, other))) = (ours, theirs) else {
        return false;
    };
    let (shape, array) = (&array.chunk_shape, &array.shape);
    let start = index
        .iter()
        .zip(shape)
        .map(|(at, chunk)| u64::from(*at) * chunk);
    let whole = Region::new(start.collect(), shape.clone());
    let Some(inside) = whole.common(&Region::new(vec![0; shape.len()], array.clone())) else {
        return false;
    };
    let (firsts, length) = whole.runs(&inside);
    match (&ours, &theirs) {
        (Elements::Fixed(ours), Elements::Fixed(theirs)) if width == other => {
            let mut runs = firsts
                .iter()
                .map(|first| first * width..(first + length) * width);
            runs.all(|run| ours.get(run.clone()) == theirs.get(run))
        }
        _ => ours == theirs,
    }
}
