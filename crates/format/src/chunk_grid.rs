//! Chunk grids: how the elements of an array are cut into chunks, as `chunk_grid` in its `zarr.json` says.
//!
//! Arrays of spec 1 are cut regularly, all chunks of a dimension having one length. In spec 2 a grid may be *rectilinear*
//! (spec 2, §5): each dimension lists the lengths of its chunks, runs of equal ones as `[length, count]`. A snapshot has only
//! the number of chunks of each dimension; where they begin is in the document.
//!
//! ```json
//! {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[[3, 2], 4], [6]]}}
//! ```
//!
//! Forms of other writers are read: a bare number in the place of a list, for chunks of one length; lists that cover more
//! elements than the array has. A list that covers fewer is refused: elements would have no chunk.

use std::ops::Range;

use serde_json::{Value, json};

use crate::snapshot::DimensionShape;

/// The division of an array into chunks: *regular*, with one chunk length per dimension, or *rectilinear*, with a list
/// of lengths.
///
/// ```
/// use icefield_format::ChunkGrid;
///
/// # fn main() -> Result<(), icefield_format::ChunkGridError> {
/// let months = ChunkGrid::rectilinear(&[vec![31, 28, 31]])?;
/// assert_eq!(months.elements(0, 1), Some(31..59));
/// assert_eq!(months.chunk_of(0, 59), Some(2));
///
/// let regular = ChunkGrid::regular(&[10])?;
/// assert_eq!(regular.dimensions(&[25])?[0].num_chunks(), 3);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChunkGrid {
    dimensions: Vec<Edges>,
    is_regular: bool,
}

/// Lengths of the chunks of one dimension.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Edges {
    /// All chunks have this length.
    Regular(u64),
    /// Runs of chunks.
    Runs(Vec<Run>),
}

/// Chunks of one length that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Run {
    length: u64,
    count: u64,
    /// Where the run begins: elements and chunks before it.
    start: u64,
    first: u64,
}

/// The reason why a document has no chunk grid that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkGridError {
    /// The grid is neither regular nor rectilinear.
    #[error("the chunk grid {0:?} is not known: it may be regular or rectilinear")]
    Unknown(String),
    /// A part of the document is missing, or not what it should be.
    #[error("the chunk grid has no {0}")]
    Missing(&'static str),
    /// The number of dimensions is another than that of the array.
    #[error("the chunk grid has {found} dimensions, and the array {expected}")]
    Rank {
        /// Dimensions of the array.
        expected: usize,
        /// Dimensions of the grid.
        found: usize,
    },
    /// A length of chunks, or a number of them, is 0, no number, or too large.
    #[error(
        "dimension {dimension} of the chunk grid has a length of chunks that is no whole number from 1 on"
    )]
    Length {
        /// The dimension.
        dimension: usize,
    },
    /// The chunks of a dimension have fewer elements than the array.
    #[error(
        "the chunks of dimension {dimension} have {found} elements, and the array {expected}: add chunks"
    )]
    TooShort {
        /// The dimension.
        dimension: usize,
        /// Elements of the array.
        expected: u64,
        /// Elements of all chunks.
        found: u64,
    },
    /// A dimension has more chunks than a snapshot can count.
    #[error("dimension {dimension} has {found} chunks, more than a coordinate can count")]
    TooMany {
        /// The dimension.
        dimension: usize,
        /// Chunks.
        found: u64,
    },
}

impl ChunkGrid {
    /// Returns a regular grid of chunks of this shape.
    ///
    /// # Errors
    /// `Length` if a length is 0.
    pub fn regular(chunk_shape: &[u64]) -> Result<Self, ChunkGridError> {
        if let Some(dimension) = chunk_shape.iter().position(|length| *length == 0) {
            return Err(ChunkGridError::Length { dimension });
        }
        Ok(Self {
            dimensions: chunk_shape
                .iter()
                .map(|length| Edges::Regular(*length))
                .collect(),
            is_regular: true,
        })
    }

    /// Returns a rectilinear grid: for each dimension the lengths of its chunks.
    ///
    /// # Errors
    /// `Length` if a length is 0, or their sum too large.
    pub fn rectilinear(lengths: &[Vec<u64>]) -> Result<Self, ChunkGridError> {
        let dimension = |(dimension, lengths): (usize, &Vec<u64>)| {
            let runs = lengths.iter().map(|length| Some((*length, 1)));
            edges(runs, dimension)
        };
        let dimensions = lengths.iter().enumerate().map(dimension);
        Ok(Self {
            dimensions: dimensions.collect::<Result<_, _>>()?,
            is_regular: false,
        })
    }

    /// Reads the value of `chunk_grid` in a `zarr.json`. Takes memory in proportion to its text, however many chunks
    /// its runs stand for.
    ///
    /// # Errors
    /// The rule that the value breaks.
    pub fn from_json(grid: &Value) -> Result<Self, ChunkGridError> {
        let name = grid.get("name").and_then(Value::as_str);
        let name = name.ok_or(ChunkGridError::Missing("name"))?;
        let configuration = grid.get("configuration");
        let list = |key: &'static str| {
            let list = configuration.and_then(|it| it.get(key)?.as_array());
            list.ok_or(ChunkGridError::Missing(key))
        };
        match name {
            "regular" => {
                let lengths = list("chunk_shape")?.iter().enumerate();
                let lengths = lengths.map(|(dimension, length)| positive(length, dimension));
                Self::regular(&lengths.collect::<Result<Vec<_>, _>>()?)
            }
            "rectilinear" => {
                let kind = configuration.and_then(|it| it.get("kind")?.as_str());
                if kind != Some("inline") {
                    return Err(ChunkGridError::Missing("kind that is \"inline\""));
                }
                let dimension = |(dimension, given): (usize, &Value)| match given {
                    Value::Array(items) => edges(items.iter().map(run), dimension),
                    length => Ok(Edges::Regular(positive(length, dimension)?)),
                };
                let dimensions = list("chunk_shapes")?.iter().enumerate().map(dimension);
                Ok(Self {
                    dimensions: dimensions.collect::<Result<_, _>>()?,
                    is_regular: false,
                })
            }
            other => Err(ChunkGridError::Unknown(other.to_owned())),
        }
    }

    /// Returns the value of `chunk_grid` for an array of this shape. A rectilinear grid lists the lengths of its
    /// chunks: the reference implementation takes no bare number there.
    #[must_use]
    pub fn to_json(&self, shape: &[u64]) -> Value {
        let dimensions = self.dimensions.iter();
        if self.is_regular {
            let lengths: Vec<_> = dimensions.map(|edges| edges.length_at(0)).collect();
            return json!({"name": "regular", "configuration": {"chunk_shape": lengths}});
        }
        let pair = |length: u64, count: u64| match count {
            1 => json!(length),
            count => json!([length, count]),
        };
        let dimension = |(edges, elements): (&Edges, &u64)| -> Value {
            match edges {
                Edges::Regular(length) => {
                    let count = elements.div_ceil(*length);
                    let runs = (count > 0).then(|| pair(*length, count));
                    runs.into_iter().collect()
                }
                Edges::Runs(runs) => runs.iter().map(|run| pair(run.length, run.count)).collect(),
            }
        };
        let lists: Vec<_> = dimensions.zip(shape).map(dimension).collect();
        json!({"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": lists}})
    }

    /// Tells whether the grid is a regular one.
    #[must_use]
    pub fn is_regular(&self) -> bool {
        self.is_regular
    }

    /// Returns the number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.dimensions.len()
    }

    /// Returns the length of chunks along each dimension, if every dimension has one length; none where one has
    /// several.
    #[must_use]
    pub fn chunk_shape(&self) -> Option<Vec<u64>> {
        let length = |edges: &Edges| match edges {
            Edges::Regular(length) => Some(*length),
            Edges::Runs(_) => None,
        };
        self.dimensions.iter().map(length).collect()
    }

    /// Returns the dimensions of an array of this shape, as a snapshot has them.
    ///
    /// # Errors
    /// `Rank`, `TooShort`, `TooMany`.
    pub fn dimensions(&self, shape: &[u64]) -> Result<Vec<DimensionShape>, ChunkGridError> {
        if shape.len() != self.rank() {
            let (expected, found) = (shape.len(), self.rank());
            return Err(ChunkGridError::Rank { expected, found });
        }
        let pairs = self.dimensions.iter().zip(shape).enumerate();
        pairs
            .map(|(dimension, (edges, expected))| match edges {
                Edges::Regular(length) => Ok(DimensionShape::regular(*expected, *length)),
                Edges::Runs(runs) => {
                    let (found, count) = runs.last().map_or((0, 0), |run| run.end());
                    if found < *expected {
                        let expected = *expected;
                        return Err(ChunkGridError::TooShort {
                            dimension,
                            expected,
                            found,
                        });
                    }
                    let found = count;
                    let count = u32::try_from(count);
                    let count = count.map_err(|_| ChunkGridError::TooMany { dimension, found })?;
                    Ok(DimensionShape::counted(*expected, count))
                }
            })
            .collect()
    }

    /// Returns the elements of a chunk along a dimension, including those past the end of the array; none if there is
    /// no such dimension, or no such chunk in a list.
    #[must_use]
    pub fn elements(&self, dimension: usize, chunk: u32) -> Option<Range<u64>> {
        self.dimensions.get(dimension)?.elements(u64::from(chunk))
    }

    /// Returns the number of the chunk that holds an element along a dimension; none if there is no such dimension, or
    /// no chunk for it.
    #[must_use]
    pub fn chunk_of(&self, dimension: usize, element: u64) -> Option<u32> {
        let chunk = match self.dimensions.get(dimension)? {
            Edges::Regular(length) => element / length,
            Edges::Runs(runs) => {
                let after = runs.partition_point(|run| run.start <= element);
                let run = runs.get(after.checked_sub(1)?)?;
                let within = (element - run.start) / run.length;
                (within < run.count).then(|| run.first + within)?
            }
        };
        u32::try_from(chunk).ok()
    }
}

impl Run {
    /// Elements and chunks up to the end of the run. Their sums were checked when it was read.
    fn end(&self) -> (u64, u64) {
        let elements = self
            .start
            .saturating_add(self.length.saturating_mul(self.count));
        (elements, self.first.saturating_add(self.count))
    }
}

impl Edges {
    fn length_at(&self, chunk: u64) -> u64 {
        self.elements(chunk)
            .map_or(0, |range| range.end - range.start)
    }

    fn elements(&self, chunk: u64) -> Option<Range<u64>> {
        let (start, length) = match self {
            Self::Regular(length) => (chunk.checked_mul(*length)?, *length),
            Self::Runs(runs) => {
                let after = runs.partition_point(|run| run.first <= chunk);
                let run = runs.get(after.checked_sub(1)?)?;
                let within = chunk - run.first;
                let start = run.start + within.checked_mul(run.length)?;
                (within < run.count).then_some((start, run.length))?
            }
        };
        Some(start..start.checked_add(length)?)
    }
}

fn positive(value: &Value, dimension: usize) -> Result<u64, ChunkGridError> {
    let value = value.as_u64().filter(|value| *value > 0);
    value.ok_or(ChunkGridError::Length { dimension })
}

/// Reads the item of a list: a length, or a length and how often it comes.
fn run(item: &Value) -> Option<(u64, u64)> {
    match item {
        Value::Array(pair) => match &pair[..] {
            [length, count] => Some((length.as_u64()?, count.as_u64()?)),
            _ => None,
        },
        length => Some((length.as_u64()?, 1)),
    }
}

/// Joins runs, each a length and a count. A run of no chunks is left out.
fn edges(
    items: impl Iterator<Item = Option<(u64, u64)>>,
    dimension: usize,
) -> Result<Edges, ChunkGridError> {
    let wrong = ChunkGridError::Length { dimension };
    let mut runs: Vec<Run> = Vec::new();
    for item in items {
        let (length, count) = item
            .filter(|(length, _)| *length > 0)
            .ok_or(wrong.clone())?;
        let (start, first) = runs.last().map_or((0, 0), Run::end);
        let end = length
            .checked_mul(count)
            .and_then(|it| it.checked_add(start));
        if end.is_none() || first.checked_add(count).is_none() {
            return Err(wrong);
        }
        match runs.last_mut().filter(|last| last.length == length) {
            Some(last) => last.count += count,
            None if count == 0 => {}
            None => runs.push(Run {
                length,
                count,
                start,
                first,
            }),
        }
    }
    Ok(Edges::Runs(runs))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rectilinear(shapes: Value) -> Value {
        json!({"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": shapes}})
    }

    fn counts(grid: &ChunkGrid, shape: &[u64]) -> Result<Vec<u64>, ChunkGridError> {
        let dimensions = grid.dimensions(shape)?;
        Ok(dimensions.iter().map(DimensionShape::num_chunks).collect())
    }

    #[test]
    fn lists_and_runs_say_the_same() {
        let grid = ChunkGrid::from_json(&rectilinear(json!([[3, 3, 4], [[2, 3]], [[5, 0], 6]])));
        let grid = grid.unwrap();
        let lengths = [vec![3, 3, 4], vec![2, 2, 2], vec![6]];
        assert_eq!(grid, ChunkGrid::rectilinear(&lengths).unwrap());
        assert_eq!(counts(&grid, &[10, 6, 6]).unwrap(), [3, 3, 1]);
        // As zarr-python writes it.
        let written = rectilinear(json!([[[3, 2], 4], [[2, 3]], [6]]));
        assert_eq!(grid.to_json(&[10, 6, 6]), written);
        assert_eq!(grid.elements(0, 2), Some(6..10));
        assert_eq!(grid.elements(0, 3), None);
        assert_eq!(grid.elements(3, 0), None);
        assert_eq!(
            [0, 2, 3, 9].map(|it| grid.chunk_of(0, it)),
            [0, 0, 1, 2].map(Some)
        );
        assert_eq!(grid.chunk_of(0, 10), None);
        assert!(!grid.is_regular() && grid.chunk_shape().is_none());
    }

    #[test]
    fn regular_grids_and_bare_numbers() {
        let regular = json!({"name": "regular", "configuration": {"chunk_shape": [4, 1]}});
        let grid = ChunkGrid::from_json(&regular).unwrap();
        assert_eq!(grid.to_json(&[10, 0]), regular);
        assert_eq!(counts(&grid, &[10, 0]).unwrap(), [3, 0]);
        assert_eq!(
            (grid.elements(0, 2), grid.chunk_of(0, 11)),
            (Some(8..12), Some(2))
        );
        let bare = ChunkGrid::from_json(&rectilinear(json!([4, [5]]))).unwrap();
        assert_eq!(counts(&bare, &[10, 5]).unwrap(), [3, 1]);
        assert_eq!(bare.to_json(&[10, 5]), rectilinear(json!([[[4, 3]], [5]])));
        assert_eq!(bare.to_json(&[0, 5]), rectilinear(json!([[], [5]])));
    }

    #[test]
    fn more_chunks_than_elements_are_kept_and_fewer_refused() {
        let grid = |shapes| ChunkGrid::from_json(&rectilinear(shapes)).unwrap();
        assert_eq!(counts(&grid(json!([[3, 3, 4, 7]])), &[10]).unwrap(), [4]);
        let (dimension, expected) = (0, 10);
        let short = counts(&grid(json!([[3, 3]])), &[10]);
        assert_eq!(
            short,
            Err(ChunkGridError::TooShort {
                dimension,
                expected,
                found: 6
            })
        );
        let rank = counts(&grid(json!([[10]])), &[10, 1]);
        assert_eq!(
            rank,
            Err(ChunkGridError::Rank {
                expected: 2,
                found: 1
            })
        );
        let many = counts(&grid(json!([[[1, 5_000_000_000_u64]]])), &[10]);
        assert_eq!(
            many,
            Err(ChunkGridError::TooMany {
                dimension,
                found: 5_000_000_000
            })
        );
    }

    #[test]
    fn what_is_no_grid_is_refused() {
        for (grid, rule) in [
            (json!({}), "name"),
            (json!({"name": "hexagonal"}), "hexagonal"),
            (json!({"name": "regular"}), "chunk_shape"),
            (
                json!({"name": "regular", "configuration": {"chunk_shape": [0]}}),
                "dimension 0",
            ),
            (
                json!({"name": "rectilinear", "configuration": {"chunk_shapes": []}}),
                "inline",
            ),
            (rectilinear(json!([[1], [2, 0]])), "dimension 1"),
            (rectilinear(json!([[[1, 2, 3]]])), "dimension 0"),
            (rectilinear(json!(["x"])), "dimension 0"),
            (rectilinear(json!([[-1]])), "dimension 0"),
            (rectilinear(json!([[u64::MAX, 1]])), "dimension 0"),
            (rectilinear(json!([[[u64::MAX, 2]]])), "dimension 0"),
        ] {
            let error = ChunkGrid::from_json(&grid).unwrap_err().to_string();
            assert!(error.contains(rule), "{error}");
        }
    }

    proptest! {
        #[test]
        fn elements_and_chunks_are_inverse(lengths in prop::collection::vec(1..6_u64, 0..20)) {
            let grid = ChunkGrid::rectilinear(std::slice::from_ref(&lengths)).unwrap();
            let sum: u64 = lengths.iter().sum();
            prop_assert_eq!(counts(&grid, &[sum]).unwrap(), [lengths.len() as u64]);
            let mut start = 0;
            for (chunk, length) in (0..).zip(&lengths) {
                prop_assert_eq!(grid.elements(0, chunk), Some(start..start + length));
                for element in start..start + length {
                    prop_assert_eq!(grid.chunk_of(0, element), Some(chunk));
                }
                start += length;
            }
            prop_assert_eq!(grid.chunk_of(0, sum), None);
            prop_assert_eq!(ChunkGrid::from_json(&grid.to_json(&[sum])).unwrap(), grid);
        }
    }
}
