//! Features that the reference implementation does not have, as functions of the module, so that it needs few classes.

mod carrying;
mod checking;
mod copies;
mod exchange;
mod import;
mod layout;
mod parts;
mod progress;
mod rechunk;
mod repack;
mod retention;
mod serving;
mod shares;
mod windows;

use pyo3::prelude::*;
use pyo3::wrap_pyfunction;
use serde_json::Value;

use crate::errors::Failure;

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(carrying::carry, module)?)?;
    module.add_function(wrap_pyfunction!(checking::fsck, module)?)?;
    module.add_function(wrap_pyfunction!(copies::copy, module)?)?;
    module.add_function(wrap_pyfunction!(copies::downgrade, module)?)?;
    module.add_function(wrap_pyfunction!(copies::bundle, module)?)?;
    module.add_function(wrap_pyfunction!(copies::unbundle, module)?)?;
    module.add_function(wrap_pyfunction!(import::import_files, module)?)?;
    module.add_function(wrap_pyfunction!(shares::expand_sources, module)?)?;
    module.add_function(wrap_pyfunction!(shares::survey_sources, module)?)?;
    module.add_function(wrap_pyfunction!(shares::divide_import, module)?)?;
    module.add_function(wrap_pyfunction!(shares::plan_import, module)?)?;
    module.add_function(wrap_pyfunction!(shares::run_share, module)?)?;
    module.add_function(wrap_pyfunction!(import::end_imports, module)?)?;
    module.add_function(wrap_pyfunction!(rechunk::rechunk, module)?)?;
    module.add_function(wrap_pyfunction!(rechunk::rechunk_in_session, module)?)?;
    module.add_function(wrap_pyfunction!(repack::repack, module)?)?;
    module.add_function(wrap_pyfunction!(parts::materialize_part, module)?)?;
    module.add_function(wrap_pyfunction!(parts::begin_rechunk, module)?)?;
    module.add_function(wrap_pyfunction!(parts::rechunk_part, module)?)?;
    module.add_function(wrap_pyfunction!(exchange::export, module)?)?;
    module.add_function(wrap_pyfunction!(exchange::begin_export, module)?)?;
    module.add_function(wrap_pyfunction!(exchange::export_part, module)?)?;
    module.add_function(wrap_pyfunction!(exchange::finish_export, module)?)?;
    module.add_function(wrap_pyfunction!(exchange::abandon_export, module)?)?;
    module.add_function(wrap_pyfunction!(retention::expire_by_policy, module)?)?;
    module.add_class::<serving::Server>()?;
    module.add_function(wrap_pyfunction!(serving::serve, module)?)?;
    module.add_function(wrap_pyfunction!(windows::change_window, module)?)?;
    module.add_function(wrap_pyfunction!(windows::window, module)?)
}

/// Parses the JSON object in which Python code passes options.
fn options(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::new("invalid-argument", error.to_string()))
}
