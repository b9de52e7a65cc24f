//! Which manifests edits touch.
//!
//! A cell with an edit is rewritten whole, with all manifests that reach into it. One of those that reaches into other
//! cells as well, because it was written under other rules, has these rewritten, too, and so on until no manifest that
//! is rewritten shares a cell with one that is kept: no two manifests of an array may ever hold the same index.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::cells::{self, Cells};

/// A region, which is rewritten together: refs of some manifests, and edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// Positions of the manifests, ascending.
    pub(crate) inputs: Vec<usize>,
    /// The cells with edits, in order.
    pub(crate) edited: Vec<Vec<u32>>,
}

/// Finds the regions that edits in some cells touch, and those of manifests that must be rewritten anyway. They come in
/// the order of the first cell that each reaches into.
pub(crate) fn regions(
    cells: &Cells,
    edited: BTreeSet<Vec<u32>>,
    boxes: &[Vec<Range<u32>>],
    must: impl Fn(usize) -> bool,
) -> Vec<Region> {
    let spans: Vec<Vec<Range<u32>>> = boxes
        .iter()
        .map(|ranges| cells.span(ranges.iter().cloned()))
        .collect();
    let mut search = Search::new(&spans);
    for cell in edited {
        let span: Vec<_> = cell.iter().map(|at| *at..*at + 1).collect();
        let member = search.add(Member::Edited(cell));
        search.reach(member, &span);
    }
    for (position, span) in spans.iter().enumerate() {
        if must(position) {
            let member = search.activate(position);
            search.reach(member, span);
        }
    }
    search.finish()
}

/// Something that is rewritten.
#[derive(Debug)]
enum Member {
    Edited(Vec<u32>),
    Input(usize),
}

/// Manifests that reach into several cells, sorted along one axis: of thousands, few are looked at.
#[derive(Debug)]
struct Large {
    /// The one along which most of them begin in different cells.
    axis: usize,
    /// In the order of their first cells along the axis.
    positions: Vec<usize>,
    /// Along the axis, the end of the one that reaches furthest of those up to each.
    ends: Vec<u32>,
}

impl Large {
    fn new(spans: &[Vec<Range<u32>>], mut positions: Vec<usize>) -> Self {
        let rank = positions.first().map_or(0, |first| spans[*first].len());
        let starts = |axis: usize| {
            let starts = positions
                .iter()
                .map(|position| spans[*position][axis].start);
            starts.collect::<HashSet<_>>().len()
        };
        let axis = (0..rank).max_by_key(|axis| starts(*axis)).unwrap_or(0);
        // None of them has rank zero: there is one cell then.
        positions.sort_by_key(|position| spans[*position].get(axis).map(|range| range.start));
        let mut furthest = 0;
        let ends = positions.iter().map(|position| {
            let end = spans[*position].get(axis).map_or(0, |range| range.end);
            furthest = furthest.max(end);
            furthest
        });
        let ends = ends.collect();
        Self {
            axis,
            positions,
            ends,
        }
    }

    fn reaching_into(
        &self,
        spans: &[Vec<Range<u32>>],
        span: &[Range<u32>],
    ) -> impl Iterator<Item = usize> {
        let range = span.get(self.axis).cloned().unwrap_or_default();
        let first = self.ends.partition_point(|end| *end <= range.start);
        let candidates = self.positions[first..].iter().copied();
        candidates
            .take_while(move |position| spans[*position][self.axis].start < range.end)
            .filter(|position| cells::intersect(&spans[*position], span))
    }
}

#[derive(Debug)]
struct Search<'a> {
    spans: &'a [Vec<Range<u32>>],
    /// Manifests that lie in one cell, by that cell.
    small: HashMap<Vec<u32>, Vec<usize>>,
    /// The others.
    large: Large,
    /// A member in whose name all manifests of a cell were joined, by that cell.
    reached: HashMap<Vec<u32>, usize>,
    members: Vec<Member>,
    /// The member that a member was joined with; itself for the first of a region.
    parents: Vec<usize>,
    /// The member of each manifest that is rewritten.
    active: HashMap<usize, usize>,
}

impl<'a> Search<'a> {
    fn new(spans: &'a [Vec<Range<u32>>]) -> Self {
        let mut small: HashMap<Vec<u32>, Vec<usize>> = HashMap::new();
        let mut large = Vec::new();
        for (position, span) in spans.iter().enumerate() {
            if cells::count(span) == 1 {
                let cell = span.iter().map(|range| range.start).collect();
                small.entry(cell).or_default().push(position);
            } else {
                large.push(position);
            }
        }
        Self {
            spans,
            small,
            large: Large::new(spans, large),
            reached: HashMap::new(),
            members: Vec::new(),
            parents: Vec::new(),
            active: HashMap::new(),
        }
    }

    fn add(&mut self, member: Member) -> usize {
        self.members.push(member);
        self.parents.push(self.parents.len());
        self.parents.len() - 1
    }

    fn activate(&mut self, position: usize) -> usize {
        if let Some(member) = self.active.get(&position) {
            return *member;
        }
        let member = self.add(Member::Input(position));
        self.active.insert(position, member);
        member
    }

    fn root(&mut self, mut member: usize) -> usize {
        while self.parents[member] != member {
            self.parents[member] = self.parents[self.parents[member]];
            member = self.parents[member];
        }
        member
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b)] = a.min(b);
    }

    /// Joins a member, which has a span of cells rewritten, with all manifests that reach into them.
    fn reach(&mut self, member: usize, span: &[Range<u32>]) {
        let mut next = vec![(member, span.to_vec())];
        while let Some((member, span)) = next.pop() {
            if cells::count(&span) == 1 {
                let cell = span.iter().map(|range| range.start).collect();
                let first = *self.reached.entry(cell).or_insert(member);
                if first != member {
                    self.join(member, first);
                    continue;
                }
            }
            for position in self.reaching_into(&span) {
                let is_new = !self.active.contains_key(&position);
                let found = self.activate(position);
                self.join(member, found);
                // A manifest in the same single cell reaches nothing that this one has not reached.
                if is_new && self.spans[position] != span {
                    next.push((found, self.spans[position].clone()));
                }
            }
        }
    }

    fn reaching_into(&self, span: &[Range<u32>]) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        if cells::count(span) <= self.small.len() as u64 {
            cells::for_each(span, |cell| {
                found.extend(self.small.get(cell).into_iter().flatten());
            });
        } else {
            let within =
                |cell: &[u32]| (span.iter().zip(cell)).all(|(range, at)| range.contains(at));
            for (cell, positions) in &self.small {
                if within(cell) {
                    found.extend(positions);
                }
            }
        }
        found.extend(self.large.reaching_into(self.spans, span));
        // The map has no order of its own.
        found.sort_unstable();
        found
    }

    fn finish(mut self) -> Vec<Region> {
        let mut regions: HashMap<usize, (Vec<u32>, Region)> = HashMap::new();
        for member in 0..self.members.len() {
            let root = self.root(member);
            let first: Vec<u32> = match &self.members[member] {
                Member::Edited(cell) => cell.clone(),
                Member::Input(position) => {
                    self.spans[*position].iter().map(|it| it.start).collect()
                }
            };
            let (start, region) = regions.entry(root).or_insert_with(|| {
                let (inputs, edited) = (Vec::new(), Vec::new());
                (first.clone(), Region { inputs, edited })
            });
            if first < *start {
                *start = first;
            }
            match &self.members[member] {
                Member::Edited(cell) => region.edited.push(cell.clone()),
                Member::Input(position) => region.inputs.push(*position),
            }
        }
        let mut regions: Vec<(Vec<u32>, Region)> = regions.into_values().collect();
        regions.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        regions
            .into_iter()
            .map(|(_, mut region)| {
                region.inputs.sort_unstable();
                region
            })
            .collect()
    }
}
