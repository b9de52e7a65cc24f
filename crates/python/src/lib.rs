//! The native module of the Python package `icefield`.
//!
//! It has few classes with plain arguments. The public interface is Python code on top of it.

mod beyond;
mod command;
mod convert;
mod document;
mod errors;
mod grants;
mod inspect;
mod opening;
mod process;
mod refs;
mod reindex;
mod repository;
mod rows;
mod session;
mod solver;
mod state;
mod storage;
mod store;
mod stream;
mod task;
mod upkeep;
mod virtual_refs;

use pyo3::prelude::*;
use pyo3::wrap_pyfunction;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("_optimized", cfg!(not(debug_assertions)))?;
    module.add_class::<pyo3_bytes::PyBytes>()?;
    beyond::register(module)?;
    module.add_function(wrap_pyfunction!(command::command, module)?)?;
    module.add_class::<repository::Repository>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<storage::Storage>()?;
    module.add_class::<store::Store>()?;
    module.add_class::<stream::Stream>()?;
    module.add_class::<task::Task>()?;
    process::register_call_wait(module.py())?;
    module.add_function(wrap_pyfunction!(process::before_fork, module)?)?;
    module.add_function(wrap_pyfunction!(process::after_fork_in_child, module)?)?;
    module.add_function(wrap_pyfunction!(process::initialize_logs, module)?)?;
    module.add_function(wrap_pyfunction!(process::set_logs_filter, module)?)
}
