//! Copying chunks into packs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures::TryStreamExt;
use icefield_core::{ChunkId, ChunkRead, Interrupt, Session};

use super::RepackError;
use super::select::Selected;
use super::survey::Survey;
use crate::Progress;

/// Bytes that are read before they are written.
const BATCH: u64 = 16 << 20;
/// Chunks that are read before they are written.
const BATCH_CHUNKS: usize = 8192;

type Place = ([u8; 12], u64, u64);

/// Where chunks are by now.
#[derive(Debug, Default)]
pub(super) struct Copies(HashMap<Place, (ChunkId, u64)>);

impl Copies {
    /// Returns the number of new objects.
    pub(super) fn objects(&self) -> u64 {
        let ids: BTreeSet<ChunkId> = self.0.values().map(|(id, _)| *id).collect();
        ids.len() as u64
    }
}

/// Copies the chunks, batch by batch, and lets the session's commit refer to the copies.
pub(super) async fn copy(
    session: &Session,
    survey: &Survey,
    selected: &Selected,
    interrupt: &Interrupt,
    progress: &dyn Progress,
) -> Result<Copies, RepackError> {
    progress.stage("copying chunks", Some(selected.chunks.len() as u64));
    let mut copies = Copies::default();
    let mut batch: Vec<usize> = Vec::new();
    let mut waiting = BTreeSet::new();
    let mut bytes = 0;
    for at in &selected.chunks {
        let place = survey.chunks[*at].place();
        if copies.0.contains_key(&place) || !waiting.insert(place) {
            continue;
        }
        batch.push(*at);
        bytes += place.2;
        if bytes >= BATCH || batch.len() >= BATCH_CHUNKS {
            let copied = copy_batch(session, survey, &batch, &mut copies, progress);
            interrupt.unless(copied).await??;
            batch.clear();
            waiting.clear();
            bytes = 0;
        }
    }
    let copied = copy_batch(session, survey, &batch, &mut copies, progress);
    interrupt.unless(copied).await??;
    let mut moved: BTreeMap<u32, Vec<_>> = BTreeMap::new();
    for at in &selected.chunks {
        let chunk = &survey.chunks[*at];
        if let (Some((array, _)), Some(to)) = (&chunk.of, copies.0.get(&chunk.place())) {
            let from = (ChunkId::from_bytes(chunk.id), chunk.offset, chunk.length);
            moved.entry(*array).or_default().push((from, *to));
        }
    }
    for (array, moved) in moved {
        let path = &survey.arrays[array as usize].path;
        session.relocate_chunks(path, moved).await?;
    }
    Ok(copies)
}

async fn copy_batch(
    session: &Session,
    survey: &Survey,
    batch: &[usize],
    copies: &mut Copies,
    progress: &dyn Progress,
) -> Result<(), RepackError> {
    let reads = batch.iter().filter_map(|at| {
        let (array, index) = survey.chunks[*at].of.as_ref()?;
        let path = survey.arrays[*array as usize].path.clone();
        Some(ChunkRead::whole(path, index.clone()))
    });
    let mut read = session.get_many(reads.collect());
    let mut found = vec![None; batch.len()];
    while let Some((position, bytes)) = read.try_next().await? {
        found[position] = bytes;
    }
    for (at, bytes) in batch.iter().zip(found) {
        let chunk = &survey.chunks[*at];
        // The session lists what it reads: a chunk that is listed is there.
        if let Some(bytes) = bytes {
            let to = session.copy_to_pack(&bytes).await?;
            copies.0.insert(chunk.place(), to);
            progress.advance(1, chunk.length);
        }
    }
    Ok(())
}
