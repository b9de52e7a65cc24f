//! Moving chunks as functions of Python say.
//!
//! The functions are asked first, for all chunks, while nothing of the session is held: they may be slow, raise, or use
//! the session. Then the chunks move as they said.

use std::collections::HashMap;

use futures::TryStreamExt;
use icefield::{ChunkIndex, NodePath, Session, SessionError};
use pyo3::prelude::*;

use crate::errors::Failure;
use crate::process;

/// Where each chunk goes, or comes from.
type Table = HashMap<ChunkIndex, Option<ChunkIndex>>;

/// What became of it. What a function raised is raised again as it is.
pub(crate) enum Moved {
    Done,
    Raised(PyErr),
}

impl<'py> IntoPyObject<'py> for Moved {
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

/// Moves the chunks of an array: `forward` says where each goes, `backward`, if given, where what is at a place comes
/// from.
pub(crate) async fn run(
    session: Session,
    path: NodePath,
    forward: Py<PyAny>,
    backward: Option<Py<PyAny>>,
) -> Result<Moved, Failure> {
    if session.is_read_only() {
        return Err(SessionError::ReadOnly.into());
    }
    let array = session.array(&path)?;
    let chunks = session.chunks(&path)?.map_ok(|chunk| chunk.index);
    let chunks: Vec<ChunkIndex> = chunks.try_collect().await?;
    let grid = array.chunk_counts;
    let place = path.clone();
    // They may wait for work of this very runtime.
    let asked = process::aside(move || {
        let asked = process::in_python(|py| {
            let goes = ask(forward.bind(py), &chunks, |wrong| {
                Err(out_of_grid(&place, wrong, &grid))
            })?;
            // What comes from outside of the grid comes from nowhere.
            let comes = backward.map(|backward| ask(backward.bind(py), &chunks, |_| Ok(None)));
            Ok::<_, PyErr>((goes, comes.transpose()?))
        });
        asked.ok_or_else(process::ending)
    });
    let (goes, comes) = match asked.await?? {
        Ok(tables) => tables,
        Err(raised) => return Ok(Moved::Raised(raised)),
    };
    let forward = |index: &[u32]| goes.get(index).cloned().flatten();
    let moved = match comes {
        None => session.reindex(&path, forward, None).await,
        Some(comes) => {
            let backward = |index: &[u32]| match comes.get(index) {
                Some(from) => from.clone(),
                // It came meanwhile, and stays.
                None => Some(ChunkIndex::from(index)),
            };
            session.reindex(&path, forward, Some(&backward)).await
        }
    };
    moved?;
    Ok(Moved::Done)
}

/// Asks a function about each chunk. `wrong` decides about an answer that no chunk can have.
fn ask(
    function: &Bound<'_, PyAny>,
    chunks: &[ChunkIndex],
    wrong: impl Fn(&[i64]) -> PyResult<Option<ChunkIndex>>,
) -> PyResult<Table> {
    let py = function.py();
    let mut table = Table::with_capacity(chunks.len());
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
