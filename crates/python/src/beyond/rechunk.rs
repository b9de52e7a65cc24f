//! Changing the chunks, shards and codecs of existing arrays.

use std::sync::Arc;

use icefield::ingest::{ArrayLayout, Rechunk, RechunkReport};
use icefield::{CommitOutcome, Interrupt};
use pyo3::prelude::*;
use serde_json::{Value, json};

use super::layout::layout;
use super::options;
use super::progress::PythonProgress;
use crate::convert;
use crate::errors::Failure;
use crate::repository::Repository;
use crate::session::Session;
use crate::task::{BEGINS_ANEW, Task, begin_interruptible};

/// Changes the layout of an array, in one commit. `what` is a JSON object: `path`, `chunks`, `shards`, `codec`, `branch`,
/// `message`, and `plan`, which writes nothing. Returns a JSON object: the fields of `RechunkPlan` or
/// `RechunkReport` in the module `icefield`.
#[pyfunction]
#[pyo3(signature = (repository, what, progress=None))]
pub(crate) fn rechunk(
    py: Python<'_>,
    repository: &Repository,
    what: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Task> {
    let repository = repository.handle()?;
    let what = options(what)?;
    let branch = convert::branch(what["branch"].as_str().unwrap_or("main"))?;
    let (rechunk, progress, interrupt) = described(&what, progress)?;
    begin_interruptible(py, interrupt, BEGINS_ANEW, async move {
        if what["plan"].as_bool() == Some(true) {
            let session = repository.read_session(branch).await?;
            let planned = rechunk.plan(&session).await;
            progress.end();
            let plan = planned.map_err(icefield::Error::from)?;
            let planned = json!({
                "is_needed": plan.is_needed,
                "shape": plan.shape,
                "before": laid_out(&plan.before),
                "after": laid_out(&plan.after),
                "chunks_before": plan.chunks_before,
                "bytes_before": plan.bytes_before,
                "chunks": plan.chunks,
                "element_bytes": plan.element_bytes,
                "decodes": plan.decodes,
                "held_bytes": plan.held,
            });
            return Ok(planned.to_string());
        }
        let message = what["message"].as_str().unwrap_or("Rechunk");
        let done = rechunk.run(&repository, branch, message).await;
        progress.end();
        let (report, commit) = done.map_err(icefield::Error::from)?;
        let id = match commit {
            None => None,
            Some(CommitOutcome::Committed(id)) => Some(id.to_string()),
            Some(outcome) => return Err(Failure::of_commit(outcome)),
        };
        Ok(reported(&report, id).to_string())
    })
}

/// Changes the layout of an array as edits of a session. `what` and the result are those of `rechunk`, without a commit.
#[pyfunction]
#[pyo3(signature = (session, what, progress=None))]
pub(crate) fn rechunk_in_session(
    py: Python<'_>,
    session: &Session,
    what: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Task> {
    let session = session.handle()?;
    let what = options(what)?;
    let (rechunk, progress, interrupt) = described(&what, progress)?;
    begin_interruptible(py, interrupt, BEGINS_ANEW, async move {
        let done = rechunk.stage(&session).await;
        progress.end();
        let report = done.map_err(icefield::Error::from)?;
        Ok(reported(&report, None).to_string())
    })
}

pub(super) fn described(
    what: &Value,
    progress: Option<Py<PyAny>>,
) -> Result<(Rechunk, Arc<PythonProgress>, Interrupt), Failure> {
    let path = convert::path(what["path"].as_str().unwrap_or_default())?;
    let layout = layout(what)?;
    if layout.is_kept() {
        let problem = "no argument changes the layout: give `chunks`, `shards` or `codec`";
        return Err(Failure::new("invalid-argument", problem));
    }
    let progress = Arc::new(PythonProgress::new(progress, "rechunking"));
    let interrupt = Interrupt::new();
    let rechunk = Rechunk::new(path, layout)
        .progress(Arc::<PythonProgress>::clone(&progress))
        .interruptible(&interrupt);
    Ok((rechunk, progress, interrupt))
}

pub(super) fn reported(report: &RechunkReport, id: Option<String>) -> Value {
    json!({
        "snapshot_id": id,
        "before": laid_out(&report.before),
        "after": laid_out(&report.after),
        "chunks_before": report.chunks_before,
        "bytes_before": report.bytes_before,
        "chunks": report.chunks,
        "bytes": report.bytes,
        "decoded_chunks": report.decoded,
    })
}

fn laid_out(layout: &ArrayLayout) -> Value {
    json!({
        "chunk_shape": layout.chunk_shape,
        "shard_shape": layout.shard_shape,
        "codecs": layout.codecs,
    })
}
