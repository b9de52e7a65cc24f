//! The command line, which the wheel brings along.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

/// What a Rust program ends with that panics.
const PANICKED: u8 = 101;

/// Does what a command line says and returns the exit code. It has this thread until then, and Python runs no handler of
/// a signal on it.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| {
        // The panic has been reported on standard error already, as in the program.
        catch_unwind(AssertUnwindSafe(|| icefield_cli::run(arguments))).unwrap_or(PANICKED)
    })
}
