//! The packs that are not stored, as data: no I/O.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use futures::future::{BoxFuture, Shared};
use icefield_format::ChunkId;
use tokio::task::AbortHandle;

use super::rules::PackRules;
use crate::SessionError;

/// Reads of less than this part of a pack copy the bytes, others share them.
const SHARED: usize = 8;

/// The upload of a pack. All who wait for it drive it, and it notes its outcome itself.
pub(super) type Upload = Shared<BoxFuture<'static, ()>>;

/// An upload that has begun, and its task, if a runtime drives it.
pub(super) type Sent = (Upload, Option<AbortHandle>);

/// The packs of one packer that are not stored.
#[derive(Debug, Default)]
pub(super) struct Packs(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    open: Option<OpenPack>,
    /// In the order in which they were closed.
    closed: Vec<ClosedPack>,
    /// When the store says that it stored packs.
    times: Vec<SystemTime>,
}

struct OpenPack {
    id: ChunkId,
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    /// References to it are in other hands: nothing of it is forgotten.
    pinned: bool,
}

/// A chunk in the open pack. It ends where the next begins.
#[derive(Debug)]
struct Slot {
    start: usize,
    is_live: bool,
}

struct ClosedPack {
    id: ChunkId,
    bytes: Bytes,
    stage: Stage,
    slots: Vec<Slot>,
    pinned: bool,
}

/// Shows no bytes: they are many, and not for logs.
impl fmt::Debug for OpenPack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenPack")
            .field("id", &self.id)
            .field("bytes", &self.bytes.len())
            .field("chunks", &self.slots.len())
            .finish()
    }
}

impl fmt::Debug for ClosedPack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClosedPack")
            .field("id", &self.id)
            .field("bytes", &self.bytes.len())
            .field("stage", &self.stage)
            .finish()
    }
}

#[derive(Debug)]
enum Stage {
    /// To be sent.
    Waiting,
    Sending(Upload, Option<AbortHandle>),
    Failed(Arc<SessionError>),
}

/// Where a chunk was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Appended {
    pub(super) id: ChunkId,
    pub(super) offset: u64,
}

/// The packs to be stored once the open one is closed.
#[derive(Debug)]
pub(super) struct Closing {
    /// The open pack, if it had nothing in it, so that it is none.
    pub(super) empty: Option<ChunkId>,
    /// The wanted packs that are not stored.
    pub(super) packs: BTreeSet<ChunkId>,
}

/// How far packs are on their way to the store.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// One of them is to be sent.
    pub(super) waiting: bool,
    pub(super) uploads: Vec<Upload>,
    pub(super) failed: Vec<(ChunkId, Arc<SessionError>)>,
}

impl State {
    fn buffered(&self) -> usize {
        let open = self.open.as_ref().map_or(0, |pack| pack.bytes.len());
        let closed = self.closed.iter().map(|pack| pack.bytes.len());
        open + closed.sum::<usize>()
    }

    /// Closes the open pack. Returns its id if there is nothing in it, so that it is no pack at all.
    fn close(&mut self) -> Option<ChunkId> {
        let mut open = self.open.take()?;
        if open.bytes.is_empty() {
            return Some(open.id);
        }
        // From here on it takes as much memory as it is said to take.
        open.bytes.shrink_to_fit();
        self.closed.push(ClosedPack {
            id: open.id,
            bytes: Bytes::from(open.bytes),
            stage: Stage::Waiting,
            slots: open.slots,
            pinned: open.pinned,
        });
        None
    }

    fn forget(&mut self, (id, offset): (ChunkId, u64)) {
        if let Some(open) = self.open.as_mut().filter(|open| open.id == id) {
            open.forget(offset);
        } else if let Some(closed) = self.closed.iter_mut().find(|pack| pack.id == id) {
            closed.forget(offset);
        }
    }

    /// Lets go of closed packs that nothing refers to and that are not on their way. Returns their ids.
    fn drop_dead(&mut self) -> Vec<ChunkId> {
        let dead = self.closed.extract_if(.., |pack| {
            !pack.is_needed() && !matches!(pack.stage, Stage::Sending(..))
        });
        dead.map(|pack| pack.id).collect()
    }

    fn retry(&mut self, is_wanted: impl Fn(&ChunkId) -> bool) {
        for pack in self.closed.iter_mut().filter(|it| is_wanted(&it.id)) {
            if let Stage::Failed(_) = pack.stage {
                pack.stage = Stage::Waiting;
            }
        }
    }

    fn send(&mut self, send: impl Fn(ChunkId, Bytes) -> Sent) {
        for pack in &mut self.closed {
            if let Stage::Waiting = pack.stage {
                let (upload, task) = send(pack.id, pack.bytes.clone());
                pack.stage = Stage::Sending(upload, task);
            }
        }
    }
}

impl OpenPack {
    fn new(id: ChunkId) -> Self {
        Self {
            id,
            bytes: Vec::new(),
            slots: Vec::new(),
            pinned: false,
        }
    }

    /// Appends a chunk, within `size` bytes in all. Memory is never taken for more than those.
    fn append(&mut self, chunk: &[u8], size: usize) -> u64 {
        let (start, end) = (self.bytes.len(), self.bytes.len() + chunk.len());
        if end > self.bytes.capacity() {
            let more = (2 * end).min(size.max(end)) - start;
            self.bytes.reserve_exact(more);
        }
        self.bytes.extend_from_slice(chunk);
        self.slots.push(Slot {
            start,
            is_live: true,
        });
        start as u64
    }

    /// Forgets a chunk: if none that is needed follows it, its place is used again.
    fn forget(&mut self, offset: u64) {
        if !self.pinned {
            let_go(&mut self.slots, offset);
            self.drop_dead_end();
        }
    }

    fn drop_dead_end(&mut self) {
        while let Some(last) = self.slots.pop_if(|last| !last.is_live) {
            self.bytes.truncate(last.start);
        }
    }

    /// Moves the last chunk, to which nothing refers yet, over those before it that were forgotten. Returns where it is then.
    fn close_up(&mut self, offset: u64) -> u64 {
        let Some(last) = self.slots.pop_if(|last| last.start as u64 == offset) else {
            return offset;
        };
        let dead = self.slots.iter().rposition(|slot| slot.is_live);
        let first = dead.map_or(0, |live| live + 1);
        let start = self.slots.get(first).map_or(last.start, |slot| slot.start);
        self.slots.truncate(first);
        self.slots.push(Slot {
            start,
            is_live: last.is_live,
        });
        self.bytes.drain(start..last.start);
        start as u64
    }
}

impl ClosedPack {
    fn forget(&mut self, offset: u64) {
        if !self.pinned {
            let_go(&mut self.slots, offset);
        }
    }

    fn is_needed(&self) -> bool {
        self.pinned || self.slots.iter().any(|slot| slot.is_live)
    }
}

/// Notes that nothing refers to a chunk any more.
fn let_go(slots: &mut [Slot], offset: u64) {
    let found = slots.binary_search_by_key(&offset, |slot| slot.start as u64);
    if let Ok(found) = found {
        slots[found].is_live = false;
    }
}

impl Packs {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No method leaves it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns bytes of a pack, if it is here.
    pub(super) fn read(&self, id: ChunkId, range: Range<u64>) -> Option<Bytes> {
        let state = self.lock();
        let range = usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?;
        if let Some(open) = state.open.as_ref().filter(|open| open.id == id) {
            return open.bytes.get(range).map(Bytes::copy_from_slice);
        }
        let closed = state.closed.iter().find(|pack| pack.id == id)?;
        let bytes = closed.bytes.get(range.clone())?;
        // A reader that keeps a few bytes must not keep the pack with them.
        Some(match bytes.len() <= closed.bytes.len() / SHARED {
            true => Bytes::copy_from_slice(bytes),
            false => closed.bytes.slice(range),
        })
    }

    /// Returns the bytes of all packs.
    pub(super) fn buffered(&self) -> usize {
        self.lock().buffered()
    }

    /// Keeps all that is here, whatever is forgotten.
    pub(super) fn pin(&self) {
        let mut state = self.lock();
        if let Some(open) = &mut state.open {
            open.pinned = true;
        }
        for closed in &mut state.closed {
            closed.pinned = true;
        }
    }

    /// Appends a chunk, if there is room; closes what is full. `draw` gives the id of a new pack.
    pub(super) fn append(
        &self,
        chunk: &[u8],
        rules: &PackRules,
        draw: impl FnOnce() -> ChunkId,
    ) -> Option<Appended> {
        let mut state = self.lock();
        let is_full = |open: &OpenPack| open.bytes.len() + chunk.len() > rules.size;
        let buffered = state.buffered();
        let is_room = buffered == 0 || buffered + chunk.len() <= rules.buffered;
        // Where there is no room, only an upload makes some.
        let has_more = state.open.as_ref().is_some_and(|it| !it.bytes.is_empty());
        if has_more && (!is_room || state.open.as_ref().is_some_and(is_full)) {
            let _ = state.close();
        }
        if !is_room {
            return None;
        }
        let open = state.open.get_or_insert_with(|| OpenPack::new(draw()));
        let offset = open.append(chunk, rules.size);
        Some(Appended {
            id: open.id,
            offset,
        })
    }

    /// Forgets chunks that nothing refers to any more: where that is at the end of the open pack, and where nothing else is in a
    /// closed one, they are not stored in vain. Returns the packs that are gone.
    pub(super) fn forget(&self, chunks: impl Iterator<Item = (ChunkId, u64)>) -> Vec<ChunkId> {
        let mut state = self.lock();
        for chunk in chunks {
            state.forget(chunk);
        }
        state.drop_dead()
    }

    /// Forgets a chunk in the place of which another one, the last, is about to be referred to. Returns where that is then: an array
    /// of which the same chunk is written again and again takes the room of one chunk. Returns the packs that are gone, too.
    pub(super) fn replace(&self, old: (ChunkId, u64), new: (ChunkId, u64)) -> (u64, Vec<ChunkId>) {
        let mut state = self.lock();
        state.forget(old);
        let open = state.open.as_mut();
        let open = open.filter(|open| open.id == new.0 && !open.pinned);
        let offset = open.map_or(new.1, |open| open.close_up(new.1));
        (offset, state.drop_dead())
    }

    /// Closes the open pack, if it is wanted, and sends what is not on its way, wanted packs that failed once more. Under one
    /// lock, so that no pack is overlooked that fails meanwhile.
    pub(super) fn close(
        &self,
        is_wanted: impl Fn(&ChunkId) -> bool,
        send: impl Fn(ChunkId, Bytes) -> Sent,
    ) -> Closing {
        let mut state = self.lock();
        let open = state.open.as_ref();
        let empty = match open.is_some_and(|open| is_wanted(&open.id)) {
            true => state.close(),
            false => None,
        };
        state.retry(&is_wanted);
        state.send(send);
        let packs = state.closed.iter().map(|pack| pack.id);
        let packs = packs.filter(is_wanted).collect();
        Closing { empty, packs }
    }

    /// Returns how far some of the packs are that were closed. Those of which nothing is said are stored.
    pub(super) fn progress(&self, packs: &BTreeSet<ChunkId>) -> Progress {
        let state = self.lock();
        let mut progress = Progress::default();
        for pack in state.closed.iter().filter(|it| packs.contains(&it.id)) {
            match &pack.stage {
                Stage::Waiting => progress.waiting = true,
                Stage::Sending(upload, _) => progress.uploads.push(upload.clone()),
                Stage::Failed(error) => progress.failed.push((pack.id, Arc::clone(error))),
            }
        }
        progress
    }

    /// Returns whether bytes of a pack are here because they are not known to be stored.
    pub(super) fn holds(&self, id: ChunkId) -> bool {
        let state = self.lock();
        let is_open = state.open.as_ref().is_some_and(|open| open.id == id);
        is_open || state.closed.iter().any(|pack| pack.id == id)
    }

    /// Lets packs that failed be sent again.
    pub(super) fn retry(&self) {
        self.lock().retry(|_| true);
    }

    /// Sends the packs that wait for it.
    pub(super) fn send(&self, send: impl Fn(ChunkId, Bytes) -> Sent) {
        self.lock().send(send);
    }

    /// Returns the uploads under way.
    pub(super) fn uploads(&self) -> Vec<Upload> {
        let state = self.lock();
        let uploads = state.closed.iter().filter_map(|pack| match &pack.stage {
            Stage::Sending(upload, _) => Some(upload.clone()),
            Stage::Waiting | Stage::Failed(_) => None,
        });
        uploads.collect()
    }

    /// Returns the packs whose last upload failed, and why.
    pub(super) fn failures(&self) -> Vec<(ChunkId, Arc<SessionError>)> {
        let state = self.lock();
        let failures = state.closed.iter().filter_map(|pack| match &pack.stage {
            Stage::Failed(error) => Some((pack.id, Arc::clone(error))),
            Stage::Waiting | Stage::Sending(..) => None,
        });
        failures.collect()
    }

    /// Lets go of a pack that is stored.
    pub(super) fn stored(&self, id: ChunkId, time: Option<SystemTime>) {
        let mut state = self.lock();
        state.closed.retain(|pack| pack.id != id);
        state.times.extend(time);
    }

    /// Keeps a pack that could not be stored, if it is needed. Returns the packs that are gone.
    pub(super) fn failed(&self, id: ChunkId, error: SessionError) -> Vec<ChunkId> {
        let mut state = self.lock();
        if let Some(pack) = state.closed.iter_mut().find(|pack| pack.id == id) {
            pack.stage = Stage::Failed(Arc::new(error));
        }
        state.drop_dead()
    }

    /// Returns whether there is nothing that is not stored.
    pub(super) fn is_empty(&self) -> bool {
        let state = self.lock();
        state.open.is_none() && state.closed.is_empty()
    }

    /// Returns when packs were stored, each time once.
    pub(super) fn take_times(&self) -> Vec<SystemTime> {
        std::mem::take(&mut self.lock().times)
    }

    /// Lets go of everything, and returns the ids of all packs.
    pub(super) fn abandon(&self) -> Vec<ChunkId> {
        let mut state = self.lock();
        let closed = std::mem::take(&mut state.closed);
        for pack in &closed {
            if let Stage::Sending(_, Some(task)) = &pack.stage {
                task.abort();
            }
        }
        let open = state.open.take().map(|pack| pack.id);
        open.into_iter()
            .chain(closed.into_iter().map(|pack| pack.id))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PackSettings;
    use icefield_format::RepositoryConfig;

    fn rules(size: u32, buffered: usize) -> PackRules {
        let settings = PackSettings::default()
            .with_threshold(u32::MAX)
            .with_size(size)
            .with_buffered_bytes(buffered);
        PackRules::new(&RepositoryConfig::default(), &settings, false)
    }

    fn id(byte: u8) -> ChunkId {
        ChunkId::from_bytes([byte; 12])
    }

    fn append(packs: &Packs, byte: u8, length: usize, rules: &PackRules, pack: u8) -> Option<u64> {
        let appended = packs.append(&vec![byte; length], rules, || id(pack));
        appended.map(|it| it.offset)
    }

    #[test]
    fn chunks_lie_one_behind_the_other_and_are_read_as_long_as_they_are_here() {
        let (packs, rules) = (Packs::default(), rules(100, 200));
        assert_eq!(append(&packs, 1, 40, &rules, 1), Some(0));
        assert_eq!(append(&packs, 2, 40, &rules, 9), Some(40));
        assert_eq!(
            append(&packs, 3, 40, &rules, 2),
            Some(0),
            "the first is full"
        );
        assert_eq!(
            packs.read(id(1), 30..50).as_deref(),
            Some(&[[1; 10], [2; 10]].concat()[..])
        );
        assert_eq!(packs.read(id(2), 0..40).as_deref(), Some(&[3; 40][..]));
        let reversed = Range { start: 90, end: 80 };
        for range in [0..81, 81..81, reversed] {
            assert_eq!(packs.read(id(1), range), None);
        }
        assert_eq!(packs.buffered(), 120);
        packs.stored(id(1), None);
        assert_eq!((packs.read(id(1), 0..1), packs.buffered()), (None, 40));
    }

    #[test]
    fn a_full_bound_takes_nothing_and_closes_what_is_open() {
        let (packs, rules) = (Packs::default(), rules(100, 200));
        for pack in 1..=4 {
            assert!(append(&packs, 0, 50, &rules, pack).is_some());
        }
        assert_eq!(append(&packs, 0, 1, &rules, 9), None);
        assert_eq!(packs.lock().closed.len(), 2);
        assert_eq!(packs.buffered(), 200);
        packs.stored(id(1), None);
        assert_eq!(append(&packs, 0, 1, &rules, 9), Some(0));
    }

    #[test]
    fn what_is_forgotten_at_the_end_is_not_stored() {
        let (packs, rules) = (Packs::default(), rules(100, 200));
        for byte in 0..4 {
            append(&packs, byte, 10, &rules, 1);
        }
        packs.forget([(id(1), 20), (id(2), 30), (id(1), 5)].into_iter());
        assert_eq!(packs.buffered(), 40, "one that is needed follows");
        packs.forget([(id(1), 30)].into_iter());
        assert_eq!(append(&packs, 7, 10, &rules, 9), Some(20));
        packs.forget([(id(1), 0), (id(1), 10), (id(1), 20)].into_iter());
        let closing = packs.close(|_| true, |_, _| unreachable!("nothing is to be sent"));
        assert_eq!(closing.empty, Some(id(1)), "an empty pack is none");
        assert_eq!(append(&packs, 8, 10, &rules, 2), Some(0));
        packs.pin();
        packs.forget([(id(2), 0)].into_iter());
        assert_eq!(packs.buffered(), 10);
    }

    #[test]
    fn a_read_of_a_small_part_does_not_keep_the_pack() {
        let (packs, rules) = (Packs::default(), rules(100, 400));
        for (byte, length, pack) in [(1, 10, 1), (2, 60, 9), (3, 50, 2)] {
            append(&packs, byte, length, &rules, pack);
        }
        let (few, many) = (packs.read(id(1), 2..8), packs.read(id(1), 10..70));
        packs.stored(id(1), None);
        let (few, many) = (few.expect("here"), many.expect("here"));
        assert_eq!((&few[..], &many[..]), (&[1; 6][..], &[2; 60][..]));
        // Alone, a slice is as long as what it keeps.
        assert_eq!(few.try_into_mut().expect("alone").capacity(), 6);
    }

    #[test]
    fn a_closed_pack_that_nothing_refers_to_is_gone() {
        let (packs, rules) = (Packs::default(), rules(100, 400));
        for (byte, pack) in [(0, 1), (1, 9), (2, 2), (3, 9), (4, 3)] {
            append(&packs, byte, 50, &rules, pack);
        }
        assert!(packs.forget([(id(1), 0)].into_iter()).is_empty());
        assert_eq!(packs.forget([(id(1), 50)].into_iter()), [id(1)]);
        packs.pin();
        let both = [(id(2), 0), (id(2), 50)];
        assert!(packs.forget(both.into_iter()).is_empty());
        assert_eq!(packs.buffered(), 150);
    }

    #[test]
    fn what_replaces_the_chunk_before_it_takes_its_place() {
        let (packs, rules) = (Packs::default(), rules(100, 200));
        append(&packs, 1, 10, &rules, 1);
        append(&packs, 2, 20, &rules, 1);
        append(&packs, 3, 15, &rules, 1);
        assert_eq!(packs.replace((id(1), 10), (id(1), 30)).0, 10);
        assert_eq!(
            packs.read(id(1), 0..25).as_deref(),
            Some(&[&[1; 10][..], &[3; 15]].concat()[..])
        );
        assert_eq!(append(&packs, 4, 5, &rules, 1), Some(25));
        // One between them is needed.
        assert_eq!(packs.replace((id(1), 0), (id(1), 25)).0, 25);
        assert_eq!(packs.buffered(), 30);
        assert_eq!(append(&packs, 5, 5, &rules, 1), Some(30));
        packs.forget([(id(1), 10)].into_iter());
        assert_eq!(
            packs.replace((id(1), 25), (id(1), 30)).0,
            0,
            "all before it are dead"
        );
        assert_eq!(packs.read(id(1), 0..5).as_deref(), Some(&[5; 5][..]));
        assert_eq!(append(&packs, 6, 5, &rules, 1), Some(5));
        packs.pin();
        assert_eq!(packs.replace((id(1), 0), (id(1), 5)).0, 5);
        assert_eq!(packs.buffered(), 10);
    }
}
