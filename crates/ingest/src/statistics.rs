//! The statistics of an array: count, extremes, mean and standard deviation of its numbers, decoded by the CF conventions.
//!
//! The array is read once, in parts, so that memory does not grow with its size.

mod histogram;
mod summary;

use icefield_core::{NodePath, Session};
use icefield_zarr_store::Elements;

use crate::Progress;
use crate::netcdf::{ElementReader, NetcdfError, document_of};
use crate::numbers::NumberDecoder;
use crate::progress::most_chunks;
use crate::regions::Region;

pub use histogram::Histogram;
pub use summary::Summary;

use summary::Accumulator;

/// Most summaries of one array: the longest dimension that `by` takes.
const MOST_ROWS: u64 = 1 << 20;

/// The reason why an array has no statistics.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StatisticsError {
    /// The array could not be read.
    #[error(transparent)]
    Read(#[from] NetcdfError),
    /// The elements are no numbers, or an attribute that decodes them is not understood.
    #[error("{path}: {problem}")]
    NoNumbers {
        /// The array.
        path: String,
        /// The rule that it breaks.
        problem: String,
    },
    /// The array has no such dimension.
    #[error("{path} has no dimension {name}: its dimensions are {known}")]
    NoDimension {
        /// The array.
        path: String,
        /// The dimension that was asked for.
        name: String,
        /// The names, or numbers, of those that there are.
        known: String,
    },
    /// The dimension has more indices than summaries are kept for.
    #[error(
        "dimension {name} of {path} has {length} indices, and at most {MOST_ROWS} can be summarised one by one: leave the dimension out"
    )]
    TooManyRows {
        /// The array.
        path: String,
        /// The dimension.
        name: String,
        /// Its length.
        length: u64,
    },
}

/// A summary of the numbers of an array.
#[derive(Clone, Debug)]
pub struct ArrayStatistics {
    /// The number of elements of each dimension.
    pub shape: Vec<u64>,
    /// The attribute `units`.
    pub units: Option<String>,
    /// All numbers.
    pub all: Summary,
    /// The counts of numbers by size; `None` if there are no finite ones.
    pub histogram: Option<Histogram>,
    /// The summaries at each index of the requested dimension; empty if none was requested.
    pub by: Vec<Summary>,
}

/// Reads an array and summarises its numbers.
///
/// Numbers are decoded as xarray does it: `_Unsigned`, then `_FillValue` and `missing_value`, which are left out like NaN,
/// then `scale_factor` and `add_offset`. A chunk that is not written has the array's fill value. `by` names a dimension,
/// or counts it from 0; each of its indices gets a summary of its own.
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::{BranchName, NodePath, Repository, WriteMode};
/// use icefield_ingest::statistics;
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
/// # let session = repository.write_session(BranchName::main()).await?;
/// # let document = r#"{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int8",
/// #     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
/// #     "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}"#;
/// let path = NodePath::parse("/depth")?;
/// # session.set_metadata(&path, document.into(), WriteMode::Overwrite).await?;
/// session.set_chunk(&path, &[0], vec![1, 3].into(), WriteMode::Overwrite).await?;
/// let found = statistics(&session, &path, None, &()).await?;
/// assert_eq!((found.all.count, found.all.mean), (4, Some(1.0)), "unwritten elements are 0");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`StatisticsError`]; a chunk that is referred to and missing is an error, not a fill value.
pub async fn statistics(
    session: &Session,
    path: &NodePath,
    by: Option<&str>,
    progress: &dyn Progress,
) -> Result<ArrayStatistics, StatisticsError> {
    let array = session.array(path).map_err(NetcdfError::from)?;
    let chunks = most_chunks(&array);
    let names = array.dimension_names.unwrap_or_default();
    let dimension = by
        .map(|name| dimension(path, name, &names, array.shape.len()))
        .transpose()?;
    let rows = dimension.map_or(1, |at| array.shape[at]);
    if rows > MOST_ROWS {
        return Err(StatisticsError::TooManyRows {
            path: path.to_string(),
            name: by.unwrap_or_default().to_owned(),
            length: rows,
        });
    }
    let document = document_of(session, path)?;
    let no_numbers = |problem| StatisticsError::NoNumbers {
        path: path.to_string(),
        problem,
    };
    let decoder = NumberDecoder::new(&document).map_err(no_numbers)?;
    let mut reader = ElementReader::new(session, path, &document)?;
    let mut rows = vec![Accumulator::default(); rows as usize];
    let mut histogram = Histogram::default();
    progress.expected(chunks);
    progress.array(path);
    let mut reported = 0;
    while let Some((region, elements)) = reader.next().await? {
        let Elements::Fixed(bytes) = elements else {
            return Err(no_numbers("its elements are texts".to_owned()));
        };
        let row = RowOf::new(&region, dimension);
        for (at, element) in bytes.chunks_exact(decoder.width()).enumerate() {
            let number = decoder.number(element);
            if let Some(number) = number {
                histogram.add(number.to_f64());
            }
            rows[row.of(at)].add(number);
        }
        // The bytes of a part are told with its first chunk.
        let mut bytes = bytes.len() as u64;
        while reported < reader.looked_for().min(chunks) {
            progress.chunk(std::mem::take(&mut bytes));
            reported += 1;
        }
    }
    let by: Vec<Summary> = rows.iter().map(Accumulator::summary).collect();
    let all = rows
        .into_iter()
        .fold(Accumulator::default(), Accumulator::merged);
    Ok(ArrayStatistics {
        shape: array.shape,
        units: document["attributes"]["units"].as_str().map(str::to_owned),
        all: all.summary(),
        histogram: histogram.trimmed(),
        by: dimension.map(|_| by).unwrap_or_default(),
    })
}

/// The place of a dimension that is named or counted.
fn dimension(
    path: &NodePath,
    wanted: &str,
    names: &[Option<String>],
    rank: usize,
) -> Result<usize, StatisticsError> {
    let named = names
        .iter()
        .position(|name| name.as_deref() == Some(wanted));
    let counted = || wanted.parse().ok().filter(|at| *at < rank);
    named.or_else(counted).ok_or_else(|| {
        let known = (0..rank).map(|at| match names.get(at) {
            Some(Some(name)) => name.clone(),
            _ => at.to_string(),
        });
        let known: Vec<String> = known.collect();
        StatisticsError::NoDimension {
            path: path.to_string(),
            name: wanted.to_owned(),
            known: if rank == 0 {
                "none".to_owned()
            } else {
                known.join(", ")
            },
        }
    })
}

/// Finds the row of an element of a part.
struct RowOf {
    first: usize,
    length: usize,
    stride: usize,
}

impl RowOf {
    fn new(region: &Region, dimension: Option<usize>) -> Self {
        let Some(at) = dimension else {
            return Self {
                first: 0,
                length: 1,
                stride: 1,
            };
        };
        let inner = region.shape[at + 1..].iter().product::<u64>();
        Self {
            first: region.start[at] as usize,
            length: region.shape[at] as usize,
            stride: inner as usize,
        }
    }

    fn of(&self, element: usize) -> usize {
        self.first + element / self.stride % self.length
    }
}
