//! Writing chunks that share objects anew.

use icefield::maintenance::{ChunkOrder, Repack};
use icefield::{CommitOutcome, Interrupt};
use pyo3::prelude::*;
use serde_json::{Value, json};

use super::options;
use super::progress::PythonProgress;
use crate::convert;
use crate::errors::Failure;
use crate::repository::Repository;
use crate::task::{BEGINS_ANEW, Task, begin_interruptible};

/// Repacks chunks, in one commit. `what` is a JSON object: `arrays` (paths), `fill` (a number), `small`, `z_order`, `dry_run`
/// (booleans), `order` (names of dimensions), `below` (bytes or null), `branch`, `message` (or null). Returns a JSON object:
/// the fields of `RepackReport` in the module `icefield`.
#[pyfunction]
#[pyo3(signature = (repository, what, progress=None))]
pub(crate) fn repack(
    py: Python<'_>,
    repository: &Repository,
    what: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Task> {
    let repository = repository.handle()?;
    let interrupt = Interrupt::new();
    let repack = described(&options(what)?)?.interruptible(&interrupt);
    let progress = PythonProgress::new(progress, "reading manifests");
    begin_interruptible(py, interrupt, BEGINS_ANEW, async move {
        let repacked = repack.run(&repository, &progress).await;
        progress.end();
        let report = repacked.map_err(icefield::Error::from)?;
        let id = match report.outcome {
            None => None,
            Some(CommitOutcome::Committed(id)) => Some(id.to_string()),
            Some(outcome) => return Err(Failure::of_commit(outcome)),
        };
        let arrays = report.arrays.iter();
        let arrays: Vec<String> = arrays.map(|array| array.path.to_string()).collect();
        let facts = json!({
            "snapshot_id": id,
            "arrays": arrays,
            "chunks": report.chunks.count,
            "bytes": report.chunks.bytes,
            "objects_before": report.before.count,
            "bytes_before": report.before.bytes,
            "live_bytes_before": report.live_before,
            "objects": report.after.count,
        });
        Ok(facts.to_string())
    })
}

fn described(what: &Value) -> Result<Repack, Failure> {
    let texts = |name: &str| {
        let texts = what[name].as_array().into_iter().flatten();
        texts.filter_map(Value::as_str)
    };
    let is = |name: &str| what[name].as_bool() == Some(true);
    let branch = convert::branch(what["branch"].as_str().unwrap_or("main"))?;
    let arrays: Vec<_> = texts("arrays")
        .map(convert::path)
        .collect::<Result<_, _>>()?;
    let names: Vec<String> = texts("order").map(str::to_owned).collect();
    let order = match (is("z_order"), names.is_empty()) {
        (true, _) => ChunkOrder::ZOrder,
        (false, true) => ChunkOrder::AsWritten,
        (false, false) => ChunkOrder::Dimensions(names),
    };
    let mut repack = Repack::new(branch)
        .arrays(arrays)
        .small(is("small"))
        .order(order)
        .dry_run(is("dry_run"));
    if let Some(part) = what["fill"].as_f64() {
        repack = repack.least_fill(part);
    }
    if let Some(bytes) = what["below"].as_u64() {
        repack = repack.below(bytes);
    }
    if let Some(message) = what["message"].as_str() {
        repack = repack.message(message);
    }
    Ok(repack)
}
