//! The command line, which the wheel contains.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

/// The exit code of a Rust program that panics.
const PANICKED: u8 = 101;

/// Runs a command line and returns the exit code. It blocks this thread, on which Python runs no signal handlers until then.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| {
        // The panic hook has reported the panic on standard error, as in the program.
        catch_unwind(AssertUnwindSafe(|| icefield_cli::run(arguments))).unwrap_or(PANICKED)
    })
}
