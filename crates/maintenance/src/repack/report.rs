//! The result of repacking.

use std::collections::BTreeSet;

use icefield_core::{CommitOutcome, NodePath};

use super::copying::Copies;
use super::select::{Limits, Selected};
use super::survey::Survey;
use crate::Amount;

/// The chunks that were copied, or in a dry run would be.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct RepackReport {
    /// The arrays with chunks that are copied.
    pub arrays: Vec<RepackedArray>,
    /// The chunks that are copied; two references to one range count once.
    pub chunks: Amount,
    /// The objects that held them before, with their whole sizes.
    pub before: Amount,
    /// The bytes of these objects that the snapshot refers to, including chunks that stay there.
    pub live_before: u64,
    /// The objects that hold the chunks now; in a dry run, an estimate.
    pub after: Amount,
    /// The outcome of the commit; none if there was nothing to do, or in a dry run.
    pub outcome: Option<CommitOutcome>,
}

/// An array with chunks that are written anew.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepackedArray {
    /// Its path.
    pub path: NodePath,
    /// Its chunks.
    pub chunks: Amount,
}

pub(super) fn of(survey: &Survey, selected: &Selected, limits: &Limits) -> RepackReport {
    let mut report = RepackReport::default();
    let mut by_array = vec![Amount::default(); survey.arrays.len()];
    let mut seen = BTreeSet::new();
    for at in &selected.chunks {
        let chunk = &survey.chunks[*at];
        if let Some((array, _)) = &chunk.of {
            by_array[*array as usize].add(chunk.length);
        }
        if seen.insert(chunk.place()) {
            report.chunks.add(chunk.length);
        }
    }
    for object in selected.objects.iter().map(|at| &survey.objects[*at]) {
        report.before.add(object.size.unwrap_or(0));
        report.live_before += object.live;
    }
    report.after.bytes = report.chunks.bytes;
    report.after.count = report.chunks.bytes.div_ceil(limits.pack.max(1));
    report.arrays = (survey.arrays.iter().zip(by_array))
        .filter(|(_, chunks)| chunks.count > 0)
        .map(|(array, chunks)| RepackedArray {
            path: array.path.clone(),
            chunks,
        })
        .collect();
    report
}

pub(super) fn note_copies(report: &mut RepackReport, copies: &Copies) {
    report.after.count = copies.objects();
}
