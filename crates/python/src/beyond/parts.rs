//! Work in a session that is divided into parts, each done in a fork of its own.

use icefield::ingest::Materialize;
use icefield::{Interrupt, Session as Handle};
use pyo3::prelude::*;
use serde_json::json;

use super::options;
use super::rechunk::{described, reported};
use crate::convert;
use crate::errors::Failure;
use crate::session::Session;
use crate::task::{BEGINS_ANEW, Task, begin_interruptible};

/// Returns the fork in which a part is done. No other caller has it.
fn fork_of(session: &Session) -> Result<Handle, Failure> {
    Ok(session.handle()?.fork()?)
}

/// Copies one of so many parts of the virtual chunks at and below a path. Returns the answer of the fork, and a JSON object with
/// `chunks` and `bytes`.
#[pyfunction]
pub(crate) fn materialize_part(
    py: Python<'_>,
    session: &Session,
    path: &str,
    part: (u32, u32),
) -> PyResult<Task> {
    let fork = fork_of(session)?;
    let interrupt = Interrupt::new();
    let materialize = Materialize::new(convert::path(path)?)
        .part(part.0, part.1)
        .interruptible(&interrupt);
    begin_interruptible(py, interrupt, BEGINS_ANEW, async move {
        let report = materialize.stage(&fork).await;
        let report = report.map_err(icefield::Error::from)?;
        let facts = json!({ "chunks": report.chunks, "bytes": report.bytes });
        Ok((fork.to_answer().await?.to_vec(), facts.to_string()))
    })
}

/// Gives an array its new document and removes its chunks. `what` is the same as for `rechunk`. Returns whether there is anything
/// to do, and the result of `rechunk`.
#[pyfunction]
pub(crate) fn begin_rechunk(py: Python<'_>, session: &Session, what: &str) -> PyResult<Task> {
    let session = session.handle()?;
    let (rechunk, _, interrupt) = described(&options(what)?, None)?;
    begin_interruptible(py, interrupt, BEGINS_ANEW, async move {
        let report = rechunk.begin(&session).await;
        let report = report.map_err(icefield::Error::from)?;
        Ok((report.was_needed, reported(&report, None).to_string()))
    })
}

/// Encodes one of so many parts of the chunks of an array. `session` has the new document, and the fork `before` the old chunks.
/// Returns the answer of the fork, and a JSON object with `chunks`, `bytes` and `decoded_chunks`.
#[pyfunction]
pub(crate) fn rechunk_part(
    py: Python<'_>,
    before: &Session,
    session: &Session,
    what: &str,
    part: (u32, u32),
) -> PyResult<Task> {
    let (before, fork) = (before.handle()?, fork_of(session)?);
    let (rechunk, _, interrupt) = described(&options(what)?, None)?;
    begin_interruptible(py, interrupt, BEGINS_ANEW, async move {
        let report = rechunk.run_part(&before, &fork, part).await;
        let report = report.map_err(icefield::Error::from)?;
        let facts = json!({
            "chunks": report.chunks,
            "bytes": report.bytes,
            "decoded_chunks": report.decoded,
        });
        Ok((fork.to_answer().await?.to_vec(), facts.to_string()))
    })
}
