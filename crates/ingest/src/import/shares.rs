//! An import in shares, each to be done somewhere else: which chunks belong to which.
//!
//! ```text
//! sources             | 0       | 1     | 2         | 3    |
//! chunks              |   |   |   |   |   |   |   |   |   |     a chunk at a seam belongs to the source
//! belong to           | 0   0   0 | 1   1 | 2   2   2 | 3 |     that its first element comes from
//! shares              | the first         | the second     |     the first one reads source 2, too, for that seam
//! ```
//!
//! Arrays that do not grow come from the first source, and later ones compare theirs with them: so those are moved
//! before, in a share of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use icefield_core::{NodePath, Session};
use serde_json::Value;

use super::builder::Import;
use super::layout::{Grown, Layout};
use super::prepared::Prepared;
use super::report::ImportReport;
use super::share::{Share, ShareArray, ShareDocument, SharePart, ShareSource, ShareTransfer};
use super::times;
use crate::ImportError;
use crate::plan::Action;

/// An import that is divided. Its documents are staged; its chunks are moved share by share, each by [`Import::run_share`], in
/// forks of the session, on any machine and in any order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Shares {
    /// The report of the import before any chunk is moved. The reports of the shares are added to it.
    pub report: ImportReport,
    /// The share to do before the others: they compare with what it writes, so that they are done in forks of a session that
    /// has it.
    pub first: Option<Share>,
    /// The other shares, which may be done in any order.
    pub others: Vec<Share>,
}

/// Whether a share is done before the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShareTurn {
    First,
    Later,
}

impl Import {
    /// Stages the documents of the import in a session, and divides its chunks into at most `count` shares, each of sources
    /// that follow one another, or of some arrays of one source, and one to be done before. The sources may be those of a [`Survey`](crate::Survey).
    ///
    /// After an error the session holds part of the documents: discard it.
    ///
    /// # Errors
    /// As [`Import::run`], for what can be known without reading chunks.
    pub async fn shares(&self, session: &Session, count: usize) -> Result<Shares, ImportError> {
        let divided = async {
            let adapted = self.adapted(session)?;
            let this = adapted.as_ref().unwrap_or(self);
            let mut prepared = this.prepare(session).await?;
            // Unknown codecs are found before anything is staged.
            prepared.seams(session, prepared.dimension(), self.limits)?;
            let report = self.stage_documents(session, &mut prepared).await?;
            let (first, others) = divide(&prepared, count);
            Ok(Shares {
                report,
                first,
                others,
            })
        };
        self.interrupt.unless(divided).await?
    }
}

fn divide(prepared: &Prepared, count: usize) -> (Option<Share>, Vec<Share>) {
    let compared = prepared.transfers.iter();
    let compared = compared.filter(|(_, it)| is_compared(&it.action));
    let compared: BTreeSet<&NodePath> = compared.map(|(_, it)| &it.to).collect();
    let cut = |own: Range<usize>, arrays, turn| Cut {
        prepared,
        compared: &compared,
        own,
        arrays,
        turn,
    };
    let total = prepared.opened.len();
    let first = cut(0..total, (0, 1), ShareTurn::First).share();
    let runs = count.clamp(1, total.max(1));
    // Where there are few sources, the arrays of each are shared out.
    let of = (count / runs).max(1);
    let cuts = (0..runs).flat_map(|run| {
        let own = run * total / runs..(run + 1) * total / runs;
        (0..of).map(move |number| (own.clone(), (number, of)))
    });
    let shares = cuts.filter_map(|(own, arrays)| cut(own, arrays, ShareTurn::Later).share());
    (first, shares.collect())
}

fn is_compared(action: &Action) -> bool {
    matches!(action, Action::Compare | Action::CompareElements(_))
}

/// A part of a plan.
struct Cut<'a> {
    prepared: &'a Prepared,
    /// Arrays that some source is compared with.
    compared: &'a BTreeSet<&'a NodePath>,
    /// The sources whose chunks are in it.
    own: Range<usize>,
    /// Which of how many parts of their arrays.
    arrays: (usize, usize),
    turn: ShareTurn,
}

impl Cut<'_> {
    /// Returns the share; `None` if there is nothing to do.
    fn share(&self) -> Option<Share> {
        let mut arrays = Vec::new();
        let (part, of) = self.arrays;
        for (grown, layout) in self.prepared.grown.iter().skip(part).step_by(of) {
            if self.turn == self.turn_of_writes(&grown.path) {
                arrays.extend(self.array(grown, layout));
            }
        }
        let transfers = self.prepared.transfers.iter();
        let transfers = transfers.filter(|(source, transfer)| {
            let turn = match is_compared(&transfer.action) {
                true => ShareTurn::Later,
                false => self.turn_of_writes(&transfer.to),
            };
            self.own.contains(source) && turn == self.turn
        });
        let mut transfers: Vec<ShareTransfer> = transfers
            .skip(part)
            .step_by(of)
            .map(|(source, transfer)| ShareTransfer::of(*source, transfer))
            .collect();
        let parts = arrays.iter().flat_map(|array| &array.parts);
        let used = parts.map(|part| part.source);
        let used = used.chain(transfers.iter().map(|it| it.source));
        let used: BTreeSet<usize> = used.collect();
        if used.is_empty() {
            return None;
        }
        let places: BTreeMap<usize, usize> =
            used.iter().enumerate().map(|(at, it)| (*it, at)).collect();
        let place = |source: &mut usize| *source = places.get(source).copied().unwrap_or(0);
        for array in &mut arrays {
            array.parts.iter_mut().for_each(|it| place(&mut it.source));
        }
        transfers.iter_mut().for_each(|it| place(&mut it.source));
        let opened = used.iter().filter_map(|at| self.prepared.opened.get(*at));
        let mut documents = Vec::new();
        let sources = opened.map(|one| ShareSource::of(one, &mut documents));
        Some(Share::new(ShareDocument {
            sources: sources.collect(),
            documents,
            dimension: self.prepared.dimension.clone(),
            first: of_times(&self.prepared.first),
            targets: of_times(&self.prepared.targets),
            transfers,
            arrays,
            ..ShareDocument::default()
        }))
    }

    /// When an array is written that does not grow.
    fn turn_of_writes(&self, path: &NodePath) -> ShareTurn {
        match self.compared.contains(path) {
            true => ShareTurn::First,
            false => ShareTurn::Later,
        }
    }

    /// The part of an array that grows.
    fn array(&self, grown: &Grown, layout: &Layout) -> Option<ShareArray> {
        let is_own = |part: usize| {
            let part = grown.parts.get(part);
            part.is_some_and(|part| self.own.contains(&part.source))
        };
        let taken = layout.taken.iter().filter(|(part, _)| is_own(*part));
        let taken: Vec<_> = taken.cloned().collect();
        let mut assembled: Vec<Range<u64>> = Vec::new();
        for number in (0..grown.parts.len()).filter(|part| is_own(*part)) {
            let owned = grown.owned(number);
            for range in overlapping(&layout.assembled, &owned) {
                match assembled.last_mut() {
                    Some(last) if last.end == range.start => last.end = range.end,
                    _ => assembled.push(range),
                }
            }
        }
        if taken.is_empty() && assembled.is_empty() {
            return None;
        }
        let mut used: BTreeSet<usize> = taken.iter().map(|(part, _)| *part).collect();
        for chunks in &assembled {
            used.extend(grown.parts_of(chunks));
        }
        let places: BTreeMap<usize, usize> =
            used.iter().enumerate().map(|(at, it)| (*it, at)).collect();
        let parts = used.iter().filter_map(|number| {
            let part = grown.parts.get(*number)?;
            Some(SharePart::of(part, !is_own(*number)))
        });
        let taken = taken.into_iter().filter_map(|(part, shift)| {
            let place = places.get(&part)?;
            Some((*place, shift))
        });
        Some(ShareArray {
            path: grown.path.to_string(),
            axis: grown.axis,
            existing: grown.existing,
            parts: parts.collect(),
            taken: taken.collect(),
            assembled,
        })
    }
}

impl Grown {
    /// The chunks along the axis whose first new element a part has.
    fn owned(&self, part: usize) -> Range<u64> {
        let Some(growth) = self.parts.get(part).map(|part| &part.growth) else {
            return 0..0;
        };
        let (chunk, end) = (self.chunk(), growth.at + growth.length());
        if growth.length() == 0 {
            return 0..0;
        }
        let first = match growth.at == self.existing {
            // The chunk that it begins in may hold elements that are there already.
            true => growth.at / chunk,
            false => growth.at.div_ceil(chunk),
        };
        first..end.div_ceil(chunk).max(first)
    }

    /// The parts that some of these chunks have elements of.
    fn parts_of(&self, chunks: &Range<u64>) -> Range<usize> {
        let chunk = self.chunk();
        let (start, end) = (chunks.start * chunk, chunks.end.saturating_mul(chunk));
        let ends_before = |part: &super::layout::Part| {
            let growth = &part.growth;
            growth.at + growth.length() <= start
        };
        let first = self.parts.partition_point(ends_before);
        let behind = self.parts.partition_point(|part| part.growth.at < end);
        first..behind.max(first)
    }
}

/// The documents of times among those of arrays.
fn of_times(documents: &times::Documents) -> BTreeMap<String, Value> {
    let times = documents.iter();
    let times = times.filter(|(path, _)| times::units(documents, path).is_some());
    times
        .map(|(path, document)| (path.to_string(), document.clone()))
        .collect()
}

/// The intersections of ranges that are sorted and apart with another one.
fn overlapping(ranges: &[Range<u64>], other: &Range<u64>) -> Vec<Range<u64>> {
    let first = ranges.partition_point(|it| it.end <= other.start);
    let found = ranges.iter().skip(first);
    let found = found.take_while(|it| it.start < other.end);
    found
        .map(|it| it.start.max(other.start)..it.end.min(other.end))
        .filter(|it| it.start < it.end)
        .collect()
}
