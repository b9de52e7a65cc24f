//! Moving chunks with Python functions that map chunk indices.
//!
//! The functions are called first, for all chunks, and without any lock of the session: they may be slow, raise, or use the
//! session. The chunks move afterwards.

use std::collections::HashMap;

use futures::TryStreamExt;
use icefield::{ChunkIndex, NodePath, Session, SessionError};
use pyo3::prelude::*;

use crate::errors::Failure;
use crate::process;

/// The new index, or the source, of each chunk; `None` deletes it.
type ChunkTargets = HashMap<ChunkIndex, Option<ChunkIndex>>;

/// The outcome of a reindexing. An exception of a function is raised again unchanged.
pub(crate) enum ReindexOutcome {
    Done,
    Raised(PyErr),
}

impl<'py> IntoPyObject<'py> for ReindexOutcome {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        match self {
            Self::Done => Ok(py.None().into_bound(py)),
            Self::Raised(error) => Err(error),
        }
    }
}

/// Moves the chunks of an array. `forward` maps the index of a chunk to its new index; `backward`, if given, maps an index to
/// the index of the chunk that moves there.
pub(crate) async fn run(
    session: Session,
    path: NodePath,
    forward: Py<PyAny>,
    backward: Option<Py<PyAny>>,
) -> Result<ReindexOutcome, Failure> {
    if session.is_read_only() {
        return Err(SessionError::ReadOnly.into());
    }
    let array = session.array(&path)?;
    let chunks = session.chunks(&path)?.map_ok(|chunk| chunk.index);
    let chunks: Vec<ChunkIndex> = chunks.try_collect().await?;
    let grid = array.chunk_counts;
    let place = path.clone();
    // The functions may wait for work of this runtime.
    let asked = process::on_own_thread(move || {
        let asked = process::in_python(|py| {
            let goes = target_indices(forward.bind(py), &chunks, |wrong| {
                Err(out_of_grid(&place, wrong, &grid))
            })?;
            // A source outside the grid has no chunk.
            let comes =
                backward.map(|backward| target_indices(backward.bind(py), &chunks, |_| Ok(None)));
            Ok::<_, PyErr>((goes, comes.transpose()?))
        });
        asked.ok_or_else(process::interpreter_is_ending)
    });
    let (goes, comes) = match asked.await?? {
        Ok(tables) => tables,
        Err(raised) => return Ok(ReindexOutcome::Raised(raised)),
    };
    let forward = |index: &[u32]| goes.get(index).cloned().flatten();
    let moved = match comes {
        None => session.reindex(&path, forward, None).await,
        Some(comes) => {
            let backward = |index: &[u32]| match comes.get(index) {
                Some(from) => from.clone(),
                // A concurrent write added this chunk, which stays.
                None => Some(ChunkIndex::from(index)),
            };
            session.reindex(&path, forward, Some(&backward)).await
        }
    };
    moved?;
    Ok(ReindexOutcome::Done)
}

/// Calls a function for each chunk. `wrong` handles results that are no index of a chunk.
fn target_indices(
    function: &Bound<'_, PyAny>,
    chunks: &[ChunkIndex],
    wrong: impl Fn(&[i64]) -> PyResult<Option<ChunkIndex>>,
) -> PyResult<ChunkTargets> {
    let py = function.py();
    let mut table = ChunkTargets::with_capacity(chunks.len());
    for (number, chunk) in chunks.iter().enumerate() {
        if number % 1024 == 0 {
            py.check_signals()?;
        }
        let answer = function.call1((chunk.to_vec(),))?;
        let answer = match answer.is_none() {
            true => None,
            false => {
                let index: Vec<i64> = answer.extract()?;
                let numbers = index.iter().map(|at| u32::try_from(*at).ok());
                match numbers.collect::<Option<Vec<u32>>>() {
                    Some(index) => Some(ChunkIndex::from(index)),
                    None => wrong(&index)?,
                }
            }
        };
        table.insert(chunk.clone(), answer);
    }
    Ok(table)
}

fn out_of_grid(path: &NodePath, index: &[i64], grid: &[u32]) -> PyErr {
    let message =
        format!("chunk {index:?} is outside the grid of {path}, which has {grid:?} chunks");
    Failure::new("invalid-chunk-index", message).into()
}
