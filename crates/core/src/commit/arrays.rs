//! Which manifests of an array a commit keeps, and what it rewrites together.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use icefield_format::{
    FormatError, ManifestEncoder, ManifestId, ManifestRef, NodeId, NodePath, Writer,
};
use icefield_storage::Entropy;

use super::manifests::ManifestJob;
use crate::change_set::{BaseView, ChangeSet, ChunkTable, PendingChunk};
use crate::conditions::ArrayName;
use crate::relocation::Relocations;
use crate::splits::{self, Cells, Held, Known, SplitRules, regions};

/// The manifests that a commit rewrites although no edit touches them: see
/// [`Commit::rewrite_manifests`](super::Commit::rewrite_manifests).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ManifestRewrite {
    /// No manifest beyond those that edits touch.
    #[default]
    No,
    /// The manifests of arrays that are not split as a new commit would split them.
    Misplaced,
    /// The manifests of every array.
    All,
}

/// A manifest of the base.
#[derive(Clone, Debug)]
pub(super) struct HeldManifest {
    pub(super) reference: ManifestRef,
    pub(super) bytes: u64,
    pub(super) refs: u64,
    /// Some of its references may be none any more: a resize cut them off, or a box was erased.
    pub(super) cut: bool,
}

/// An array some of whose manifests may change.
#[derive(Clone, Debug)]
pub(super) struct ArrayPlan {
    pub(super) node: NodeId,
    pub(super) path: NodePath,
    pub(super) dimensions: Option<Vec<Option<String>>>,
    /// Chunks per dimension of the array as it will be.
    pub(super) grid: Vec<u32>,
    /// The same in the base, if the array is there.
    pub(super) before: Option<Vec<u32>>,
    pub(super) held: Vec<HeldManifest>,
    pub(super) rewrite: ManifestRewrite,
    pub(super) relocations: Arc<Relocations>,
    /// Whether a manifest of the base is left out, or has other extents than the base says.
    pub(super) mended: bool,
    /// Drawn on one task, in the order of paths: the source of the ids of its manifests.
    pub(super) entropy: Arc<dyn Entropy>,
}

/// The parts of one manifest of a shifted array.
#[derive(Debug, Default)]
struct Part {
    inputs: Vec<ManifestRef>,
    rows: Vec<u32>,
}

/// Manifests of a shifted array that are written one by one, at most, counted once for each that they are made of. Of
/// more, one task makes all.
const MOST_PARTS: u64 = 1 << 16;

/// The treatment of an array's manifests.
#[derive(Debug)]
pub(super) struct Split {
    /// Those that stay as they are.
    pub(super) kept: Vec<ManifestRef>,
    pub(super) jobs: Vec<ManifestJob>,
}

impl ArrayPlan {
    /// Decides. Takes time in proportion to the edits, not to the array.
    pub(super) fn split(
        &self,
        changes: &ChangeSet,
        rules: &SplitRules,
        writer: &Writer,
    ) -> Result<Split, FormatError> {
        let rank = self.grid.len();
        let empty = ChunkTable::new(rank);
        let table = changes.chunks_of(&self.node).unwrap_or(&empty);
        let rows = table.sorted_rows();
        let held = self.seen(changes);
        let wrong_rank = |it: &&HeldManifest| it.reference.extents.rank() != rank;
        if held.iter().any(wrong_rank) || table.rank() != rank {
            // Boxes of another rank say nothing of where the references are.
            let inputs = held.iter().map(|it| it.reference.clone()).collect();
            let job = self.job(Cells::whole(rank), rows, inputs);
            let (kept, jobs) = (Vec::new(), vec![job]);
            return Ok(Split { kept, jobs });
        }
        let (cells, misplaced) = self.cells(table, &rows, &held, rules, writer)?;
        if let Some(view) = changes.view_of(&self.node).filter(|view| view.is_shifted()) {
            return Ok(self.shifted(view, cells, table, rows, &held));
        }
        let all = self.rewrite == ManifestRewrite::All;
        let boxes: Vec<Vec<Range<u32>>> = held
            .iter()
            .map(|it| it.reference.extents.ranges().to_vec())
            .collect();
        let edited = edited_cells(&cells, table, &rows);
        let found = regions(&cells, edited, &boxes, |at| {
            all || misplaced[at] || held[at].cut
        });
        let mut kept: Vec<bool> = vec![true; held.len()];
        let inputs: Vec<Vec<ManifestRef>> = found
            .iter()
            .map(|region| {
                let inputs = region.inputs.iter().map(|at| {
                    kept[*at] = false;
                    held[*at].reference.clone()
                });
                inputs.collect()
            })
            .collect();
        let mut by_region = vec![Vec::new(); found.len()];
        if let [all] = &mut by_region[..] {
            *all = rows;
        } else {
            let regions_of: HashMap<&[u32], usize> = (found.iter().enumerate())
                .flat_map(|(at, region)| region.edited.iter().map(move |cell| (&cell[..], at)))
                .collect();
            let (mut cell, mut last, mut region) = (Vec::new(), None, None);
            for row in rows {
                cells.find(table.index(row), &mut cell);
                if last.as_ref() != Some(&cell) {
                    region = regions_of.get(&cell[..]).copied();
                    last = Some(cell.clone());
                }
                if let Some(region) = region {
                    by_region[region].push(row);
                }
            }
        }
        let jobs = found.into_iter().zip(by_region).zip(inputs);
        let jobs = jobs
            .map(|((_, rows), inputs)| self.job(cells.clone(), rows, inputs))
            .collect();
        let kept = (held.into_iter().zip(kept))
            .filter(|(_, kept)| *kept)
            .map(|(held, _)| held.reference.clone())
            .collect();
        Ok(Split { kept, jobs })
    }

    /// The manifests some of whose references may still be seen.
    fn seen(&self, changes: &ChangeSet) -> Vec<&HeldManifest> {
        let view = changes.view_of(&self.node);
        let may_be_seen = |held: &&HeldManifest| {
            let ranges = held.reference.extents.ranges();
            if ranges.len() != self.grid.len() {
                return view.is_none_or(|view| view.seen().len() == self.grid.len());
            }
            let placed = match view {
                None => Some(ranges.to_vec()),
                Some(view) => view.place_box(ranges),
            };
            placed.is_some_and(|placed| {
                let mut axes = placed.iter().zip(&self.grid);
                axes.all(|(range, count)| range.start < *count)
            })
        };
        self.held.iter().filter(may_be_seen).collect()
    }

    /// Of a shifted array, no manifest stays. Each cell is written by itself, of all manifests that reach into it.
    fn shifted(
        &self,
        view: &BaseView,
        cells: Cells,
        table: &ChunkTable,
        rows: Vec<u32>,
        held: &[&HeldManifest],
    ) -> Split {
        let mut parts: BTreeMap<Vec<u32>, Part> = BTreeMap::new();
        let mut pairs: u64 = 0;
        for manifest in held {
            let Some(placed) = view.place_box(manifest.reference.extents.ranges()) else {
                continue;
            };
            let span = cells.span(placed.into_iter());
            // A count that is as large as can be is one of extents that may be anything.
            pairs = pairs.saturating_add(splits::count(&span));
            if pairs > MOST_PARTS {
                break;
            }
            splits::for_each(&span, |cell| {
                let part = parts.entry(cell.to_vec()).or_default();
                part.inputs.push(manifest.reference.clone());
            });
        }
        let kept = Vec::new();
        if pairs > MOST_PARTS {
            let inputs = held.iter().map(|it| it.reference.clone()).collect();
            let jobs = vec![self.job(cells, rows, inputs)];
            return Split { kept, jobs };
        }
        let mut cell = Vec::new();
        for row in rows {
            cells.find(table.index(row), &mut cell);
            match parts.get_mut(&cell) {
                Some(part) => part.rows.push(row),
                None => parts.entry(cell.clone()).or_default().rows.push(row),
            }
        }
        let jobs = parts.into_iter().map(|(cell, part)| ManifestJob {
            part: Some(cells.ranges_of(&cell)),
            ..self.job(cells.clone(), part.rows, part.inputs)
        });
        let jobs = jobs.collect();
        Split { kept, jobs }
    }

    /// The cells to write, and which manifests are to be rewritten although nothing else touches them, because they do
    /// not fit the cells.
    fn cells(
        &self,
        table: &ChunkTable,
        rows: &[u32],
        held: &[&HeldManifest],
        rules: &SplitRules,
        writer: &Writer,
    ) -> Result<(Cells, Vec<bool>), FormatError> {
        let name = ArrayName {
            path: self.path.as_str(),
            dimensions: self.dimensions.as_deref(),
        };
        let rank = self.grid.len();
        let known: Vec<Held> = held
            .iter()
            .map(|it| Held {
                ranges: it.reference.extents.ranges().to_vec(),
                bytes: it.bytes,
                refs: it.refs,
            })
            .collect();
        let cells = match rules.cells(&name, rank) {
            Some(cells) => cells,
            None => {
                let is_set = |row: &u32| matches!(table.at(*row), PendingChunk::Set(_));
                let rows: Vec<u32> = rows.iter().copied().filter(is_set).collect();
                let mut set: Vec<u32> = Vec::with_capacity(rows.len() * rank);
                for row in &rows {
                    set.extend_from_slice(table.index(*row));
                }
                let all = self.rewrite != ManifestRewrite::No;
                let rewritten: Vec<usize> = (held.iter().enumerate())
                    .filter_map(|(at, it)| (all || it.cut).then_some(at))
                    .collect();
                let known = Known {
                    grid: &self.grid,
                    before: self.before.as_deref().filter(|before| before.len() == rank),
                    dimensions: self.dimensions.as_deref(),
                    held: &known,
                    set: &set,
                    bytes_per_set: bytes_per_set(self.node, table, &rows, &known, writer)?,
                    rewritten: &rewritten,
                };
                known.cells()
            }
        };
        let misplaced = match self.rewrite {
            ManifestRewrite::Misplaced => misplaced(&cells, &known),
            _ => vec![false; known.len()],
        };
        Ok((cells, misplaced))
    }

    fn job(&self, cells: Cells, rows: Vec<u32>, inputs: Vec<ManifestRef>) -> ManifestJob {
        ManifestJob {
            node: self.node,
            grid: self.grid.clone(),
            cells,
            part: None,
            rows: rows.into(),
            inputs,
            relocations: Arc::clone(&self.relocations),
            entropy: self.entropy.derive(),
        }
    }
}

/// Which manifests reach into several cells, or share theirs.
fn misplaced(cells: &Cells, held: &[Held]) -> Vec<bool> {
    let spans: Vec<Vec<Range<u32>>> = (held.iter())
        .map(|held| cells.span(held.ranges.iter().cloned()))
        .collect();
    let mut counts: HashMap<&[Range<u32>], usize> = HashMap::new();
    for span in &spans {
        *counts.entry(span).or_default() += 1;
    }
    let one = |span: &[Range<u32>]| span.iter().all(|range| range.end - range.start == 1);
    (spans.iter())
        .map(|span| !one(span) || counts[&span[..]] > 1)
        .collect()
}

fn edited_cells(cells: &Cells, table: &ChunkTable, rows: &[u32]) -> BTreeSet<Vec<u32>> {
    let mut edited = BTreeSet::new();
    let (mut cell, mut last) = (Vec::new(), None);
    for row in rows {
        cells.find(table.index(*row), &mut cell);
        // Mostly it is that of the row before.
        if last.as_ref() != Some(&cell) {
            edited.insert(cell.clone());
            last = Some(cell.clone());
        }
    }
    edited
}

/// A reference is never estimated larger than this, an inline chunk of the usual length.
const LARGEST: usize = 600;
/// References that are encoded to see how large they are, in runs that lie apart.
const SAMPLE: usize = 2048;
const RUNS: usize = 4;

/// Returns the bytes of a compressed reference that is set, about. The rows are all set.
fn bytes_per_set(
    node: NodeId,
    table: &ChunkTable,
    rows: &[u32],
    held: &[Held],
    writer: &Writer,
) -> Result<f64, FormatError> {
    // The sizes in a snapshot may be anything.
    let bytes = (held.iter()).fold(0, |sum: u64, held| sum.saturating_add(held.bytes));
    let refs: u64 = held.iter().map(|held| held.refs).sum();
    if bytes.saturating_add((rows.len() * LARGEST) as u64) <= 512 << 10 {
        return Ok(LARGEST as f64);
    }
    if rows.len() < SAMPLE / 2 && refs >= SAMPLE as u64 {
        return Ok(bytes as f64 / refs as f64);
    }
    let mut encoder = ManifestEncoder::new(ManifestId::from_bytes([0; 12]));
    encoder.begin_array(node)?;
    let run = (SAMPLE / RUNS).min(rows.len().div_ceil(RUNS)).max(1);
    let apart = (rows.len() / RUNS).max(run);
    let mut count = 0;
    for row in (0..RUNS).flat_map(|at| rows.iter().skip(at * apart).take(run)) {
        if let PendingChunk::Set(chunk) = table.at(*row) {
            encoder.push(table.index(*row), chunk)?;
            count += 1;
        }
    }
    if count == 0 {
        return Ok(0.0);
    }
    Ok(encoder.finish(writer)?.info.size_bytes as f64 / f64::from(count))
}
