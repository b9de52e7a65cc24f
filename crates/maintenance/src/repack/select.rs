//! Which chunks are written anew, and in which order. Pure.

use std::collections::{BTreeSet, HashSet};

use icefield_core::Repository;

use super::order::{ArrayOrder, axis};
use super::survey::{Chunk, Object, Survey};
use super::{ChunkOrder, Repack, RepackError};

/// Chunks below this length are small, unless something else says so.
const SMALL: u64 = 1 << 20;
/// An array is in order if it takes no more than this many times the objects that it needs.
const LOOSELY: u64 = 2;

/// Lengths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Chunks shorter than this are small.
    pub(super) small: u64,
    /// Bytes of a pack.
    pub(super) pack: u64,
}

impl Limits {
    pub(super) fn of(repack: &Repack, repository: &Repository) -> Self {
        let config = repository.config();
        let set = config.packed_chunk_threshold().filter(|bytes| *bytes > 0);
        let small = set.map_or(SMALL, u64::from);
        Self {
            small: repack.below.unwrap_or(small),
            pack: repository.pack_size(),
        }
    }
}

/// The chunks that are written anew.
#[derive(Debug, Default)]
pub(super) struct Selected {
    /// By their numbers, in the order in which they are to lie.
    pub(super) chunks: Vec<usize>,
    /// The objects that they leave, by their numbers.
    pub(super) objects: Vec<usize>,
}

pub(super) fn select(
    survey: &Survey,
    repack: &Repack,
    limits: &Limits,
) -> Result<Selected, RepackError> {
    let orders = orders(survey, &repack.order)?;
    let unordered: Vec<bool> = match repack.order {
        ChunkOrder::AsWritten => vec![false; survey.arrays.len()],
        _ => (small_by_array(survey, limits).into_iter().zip(&orders))
            .map(|(chunks, order)| {
                let order = order.as_ref();
                order.is_some_and(|order| !is_in_order(chunks, order, limits))
            })
            .collect(),
    };
    let joins_small = repack.small && would_shrink(survey, limits);
    let mut selected = Selected::default();
    for (number, object) in survey.objects.iter().enumerate() {
        let is_sparse = object.size.is_some_and(|size| {
            let is_sparse = (object.live as f64) < repack.least_fill * size as f64;
            is_sparse && copied(&survey.chunks[object.chunks.clone()]) < size
        });
        let before = selected.chunks.len();
        for at in object.chunks.clone() {
            let chunk = &survey.chunks[at];
            // A chunk without bytes, which other programs may write, has no place that could change.
            let Some((array, _)) = chunk.of.as_ref().filter(|_| chunk.length > 0) else {
                continue;
            };
            let is_unordered = chunk.length < limits.small && unordered[*array as usize];
            let is_joined = joins_small && is_small(object, chunk, limits);
            if is_sparse || is_joined || is_unordered {
                selected.chunks.push(at);
            }
        }
        if selected.chunks.len() > before {
            selected.objects.push(number);
        }
    }
    if repack.order != ChunkOrder::AsWritten {
        let array = |at: usize| survey.chunks[at].of.as_ref();
        selected
            .chunks
            .sort_by(|a, b| match (array(*a), array(*b)) {
                (Some((a, one)), Some((b, other))) => a.cmp(b).then_with(|| {
                    let order = orders[*a as usize].as_ref();
                    order.map_or_else(|| one.cmp(other), |order| order.compare(one, other))
                }),
                _ => a.cmp(b),
            });
    }
    Ok(selected)
}

/// Returns the bytes of copies of all chunks of an object: more than lie in it where ranges overlap.
fn copied(chunks: &[Chunk]) -> u64 {
    let mut last = None;
    let ranges = chunks
        .iter()
        .filter(|it| last.replace(it.place()) != Some(it.place()));
    ranges.fold(0, |sum, chunk| sum.saturating_add(chunk.length))
}

/// Whether an object and a chunk in it are small.
fn is_small(object: &Object, chunk: &Chunk, limits: &Limits) -> bool {
    chunk.of.is_some()
        && chunk.length < limits.small
        && object.size.is_some_and(|size| size < limits.small)
}

/// Whether the small chunks in small objects would be in fewer objects.
fn would_shrink(survey: &Survey, limits: &Limits) -> bool {
    let (mut objects, mut bytes) = (0_u64, 0_u64);
    for object in &survey.objects {
        let chunks = survey.chunks[object.chunks.clone()].iter();
        let small = chunks.filter(|chunk| is_small(object, chunk, limits));
        let small: u64 = small.map(|chunk| chunk.length).sum();
        objects += u64::from(small > 0);
        bytes += small;
    }
    objects > bytes.div_ceil(limits.pack.max(1))
}

fn orders(survey: &Survey, order: &ChunkOrder) -> Result<Vec<Option<ArrayOrder>>, RepackError> {
    let dimensions: Vec<Vec<Option<&str>>> = survey
        .arrays
        .iter()
        .map(|array| array.dimensions.iter().map(Option::as_deref).collect())
        .collect();
    if let ChunkOrder::Dimensions(names) = order {
        let is_known = |name: &str| dimensions.iter().any(|it| axis(name, it).is_some());
        if let Some(name) = names.iter().find(|name| !is_known(name)) {
            let name = name.clone();
            return Err(RepackError::NoDimension { name });
        }
    }
    let orders = dimensions.iter().map(|it| ArrayOrder::of(order, it));
    Ok(orders.collect())
}

/// Returns the small chunks of each array.
fn small_by_array<'a>(survey: &'a Survey, limits: &Limits) -> Vec<Vec<&'a Chunk>> {
    let mut by_array = vec![Vec::new(); survey.arrays.len()];
    let small = |chunk: &&Chunk| (1..limits.small).contains(&chunk.length);
    for chunk in survey.chunks.iter().filter(small) {
        if let Some((array, _)) = &chunk.of {
            by_array[*array as usize].push(chunk);
        }
    }
    by_array
}

/// Whether the small chunks of an array lie in an order already, in few objects. A range that several coordinates share lies
/// where the first of them wants it, and counts once.
fn is_in_order(mut chunks: Vec<&Chunk>, order: &ArrayOrder, limits: &Limits) -> bool {
    chunks.sort_by(|a, b| match (&a.of, &b.of) {
        (Some((_, a)), Some((_, b))) => order.compare(a, b),
        (a, b) => a.cmp(b),
    });
    let mut places = HashSet::new();
    chunks.retain(|chunk| places.insert(chunk.place()));
    let mut seen: BTreeSet<[u8; 12]> = BTreeSet::new();
    let mut last: Option<&Chunk> = None;
    let mut bytes = 0;
    for chunk in chunks {
        bytes += chunk.length;
        let follows = match last {
            Some(last) if last.id == chunk.id => last.offset <= chunk.offset,
            _ => seen.insert(chunk.id),
        };
        if !follows {
            return false;
        }
        last = Some(chunk);
    }
    seen.len() as u64 <= LOOSELY * bytes.div_ceil(limits.pack.max(1))
}
