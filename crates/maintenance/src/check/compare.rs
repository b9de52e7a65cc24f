//! The chunk refs of one array: those of its manifests by themselves, and against those of the parent's. Pure.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

use icefield_core::repair::MovedChunk;
use icefield_format::{ArrayRefs, ChunkIndex, ChunkRef, Extents, Manifest, NodeId, RefRecord};

use super::foreign::VirtualChunks;

/// Several things of one kind: how many, and the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Several {
    pub(super) count: u64,
    pub(super) first: Vec<u32>,
}

impl Several {
    fn add(&mut self, record: RefRecord<'_>) {
        if self.count == 0 {
            record.index_into(&mut self.first);
        }
        self.count += 1;
    }

    /// Adds one, in no order.
    pub(super) fn note(&mut self, index: &[u32]) {
        if self.count == 0 || index < &*self.first {
            self.first = index.to_vec();
        }
        self.count += 1;
    }
}

/// Irregularities of an array's refs in one manifest.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) outside_extents: Several,
    pub(super) outside_grid: Several,
    pub(super) wrong_rank: Several,
    /// Whether the extents claim more than there is.
    pub(super) is_loose: bool,
    /// The smallest extents of all refs; none where there are no refs, or some of another rank.
    pub(super) tight: Option<Extents>,
}

impl Survey {
    /// The extents that should be recorded, if others are.
    pub(super) fn correction(self) -> Option<Extents> {
        let is_wrong = self.outside_extents.count > 0 || self.is_loose;
        self.tight.filter(|_| is_wrong)
    }
}

/// Returns whether an index is one of a grid; without a grid, any is.
fn in_grid(record: &RefRecord<'_>, grid: Option<&[u32]>) -> bool {
    grid.is_none_or(|grid| {
        record.rank() == grid.len()
            && record
                .coordinates()
                .zip(grid)
                .all(|(at, count)| at < *count)
    })
}

/// Holds the refs of an array in one manifest against the extents and the grid.
pub(super) fn survey(
    refs: Option<ArrayRefs<'_>>,
    extents: &Extents,
    rank: usize,
    grid: Option<&[u32]>,
) -> Survey {
    let mut survey = Survey::default();
    let ranges = extents.ranges();
    // The first and the end along each dimension.
    let mut bounds = vec![(u32::MAX, 0); ranges.len()];
    let mut any = false;
    for record in refs.iter().flat_map(ArrayRefs::refs) {
        any = true;
        // Extents of another rank are compared in the dimensions that both have, as lookups do.
        for (bound, at) in bounds.iter_mut().zip(record.coordinates()) {
            bound.0 = bound.0.min(at);
            bound.1 = bound.1.max(at.saturating_add(1));
        }
        if record.rank() != rank {
            survey.wrong_rank.add(record);
        } else if !in_grid(&record, grid) {
            survey.outside_grid.add(record);
        } else if !ranges
            .iter()
            .zip(record.coordinates())
            .all(|(range, at)| range.contains(&at))
        {
            survey.outside_extents.add(record);
        }
    }
    if any && survey.wrong_rank.count == 0 && bounds.len() == rank {
        let ranges = bounds.iter().map(|(first, end)| *first..*end).collect();
        survey.tight = Some(Extents::new(ranges));
    }
    let claims = |range: &Range<u32>| range.start < range.end;
    survey.is_loose = match any {
        true => ranges
            .iter()
            .zip(&bounds)
            .any(|(range, bound)| claims(range) && (range.start < bound.0 || range.end > bound.1)),
        false => ranges.iter().all(claims),
    };
    survey
}

/// A ref at the head of one manifest's list.
struct Head<'a> {
    record: RefRecord<'a>,
    refs: ArrayRefs<'a>,
    position: usize,
}

impl Ord for Head<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.record.coordinates().cmp(other.record.coordinates())
    }
}

impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head<'_> {}

/// The refs of an array in several manifests, by index.
struct Merged<'a>(BinaryHeap<Reverse<Head<'a>>>);

impl<'a> Merged<'a> {
    fn new(manifests: &'a [Arc<Manifest>], node: &NodeId) -> Self {
        let refs = manifests.iter().filter_map(|it| it.array(node));
        let heads = refs.filter(|refs| !refs.is_empty()).map(|refs| {
            Reverse(Head {
                record: refs.record_at(0),
                refs,
                position: 0,
            })
        });
        Self(heads.collect())
    }

    fn peek(&self) -> Option<RefRecord<'a>> {
        self.0.peek().map(|Reverse(head)| head.record)
    }

    fn advance(&mut self) {
        if let Some(mut top) = self.0.peek_mut() {
            let head = &mut top.0;
            head.position += 1;
            if head.position < head.refs.len() {
                head.record = head.refs.record_at(head.position);
            } else {
                std::collections::binary_heap::PeekMut::pop(top);
            }
        }
    }
}

/// The changes of an array's chunks in a log.
#[derive(Debug)]
pub(super) struct LoggedChunks {
    /// Sorted.
    pub(super) chunks: Vec<ChunkIndex>,
    /// Whether chunks may go without being named.
    pub(super) resized: bool,
}

/// The chunk refs that are new in a snapshot.
#[derive(Debug)]
pub(super) struct Fresh {
    grid: Option<Vec<u32>>,
    /// Ids of chunk objects, and the bytes that each must have.
    pub(super) native: Vec<([u8; 12], u64)>,
    pub(super) foreign: VirtualChunks,
    /// Changes that the log does not tell.
    pub(super) unsaid: Several,
    /// Chunks that the log does not tell and that lie elsewhere, in as many bytes: changes, unless the bytes are the same.
    pub(super) moved: Vec<(ChunkIndex, MovedChunk)>,
}

impl Fresh {
    pub(super) fn new(grid: Option<Vec<u32>>, foreign: VirtualChunks) -> Self {
        Self {
            grid,
            native: Vec::new(),
            foreign,
            unsaid: Several::default(),
            moved: Vec::new(),
        }
    }

    fn take(&mut self, record: RefRecord<'_>) {
        let needed = in_grid(&record, self.grid.as_deref());
        match record.chunk_ref() {
            Ok(ChunkRef::Native { id, offset, length }) => {
                let end = if needed { offset + length } else { 0 };
                self.native.push((*id.as_bytes(), end));
            }
            Ok(ChunkRef::Virtual {
                location,
                offset,
                length,
                checksum,
            }) if needed => {
                let index: Vec<u32> = record.coordinates().collect();
                self.foreign
                    .add(&index, (location, offset + length, checksum));
            }
            _ => {}
        }
    }

    /// Takes what the new manifests have and the old ones have not, and compares the changes with what the log tells.
    pub(super) fn compare(
        &mut self,
        node: &NodeId,
        new: &[Arc<Manifest>],
        old: &[Arc<Manifest>],
        told: Option<&LoggedChunks>,
    ) {
        let (mut new, mut old) = (Merged::new(new, node), Merged::new(old, node));
        let mut named = told.map(|told| told.chunks.iter().peekable());
        let mut is_told = |record: &RefRecord<'_>| match &mut named {
            None => true,
            Some(named) => {
                while named
                    .next_if(|it| record.cmp_index(it) == Ordering::Greater)
                    .is_some()
                {}
                named
                    .peek()
                    .is_some_and(|it| record.cmp_index(it) == Ordering::Equal)
            }
        };
        let may_go = told.is_none_or(|told| told.resized);
        // A log need not name chunks that no reader can reach.
        let grid = self.grid.clone();
        let counts = |record: &RefRecord<'_>| in_grid(record, grid.as_deref());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => old.coordinates().cmp(new.coordinates()),
            };
            let before = old.peek().filter(|_| order != Ordering::Greater);
            let after = new.peek().filter(|_| order != Ordering::Less);
            match (before, after) {
                (Some(before), Some(after)) => {
                    let (was, is) = (before.chunk_ref().ok(), after.chunk_ref().ok());
                    if was != is {
                        self.take(after);
                        if !is_told(&after) && counts(&after) {
                            match MovedChunk::of(was, is) {
                                Some(moved) => self.moved.push((after.index(), moved)),
                                None => self.unsaid.add(after),
                            }
                        }
                    }
                }
                (None, Some(after)) => {
                    self.take(after);
                    if !is_told(&after) && counts(&after) {
                        self.unsaid.add(after);
                    }
                }
                (Some(before), None) => {
                    if !may_go && !is_told(&before) && counts(&before) {
                        self.unsaid.add(before);
                    }
                }
                (None, None) => {}
            }
            if before.is_some() {
                old.advance();
            }
            if after.is_some() {
                new.advance();
            }
        }
    }
}

/// The indices that two manifests have in common.
pub(super) fn in_both(a: &Manifest, b: &Manifest, node: &NodeId) -> Several {
    let mut both = Several::default();
    let (Some(a), Some(b)) = (a.array(node), b.array(node)) else {
        return both;
    };
    let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let mut index = Vec::new();
    for record in few.refs() {
        record.index_into(&mut index);
        if many.position(&index).is_ok() {
            both.add(record);
        }
    }
    both
}
