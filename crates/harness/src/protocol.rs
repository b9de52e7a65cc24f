//! The agreement of a worker with its parent: the variables it heeds, and the lines it writes.

use std::fmt;
use std::io::Write;

/// The variable with which a worker says on standard output what it does to the store.
pub const ANNOUNCE: &str = "ICEFIELD_ANNOUNCE";
/// The variable with the number of the system call, from 0, before which a worker kills itself; on the local disk.
pub const STOP_AT: &str = "ICEFIELD_STOP_AT";

/// Tells the parent something, on a line of its own that no operation begins like.
pub(crate) fn say(line: &dyn fmt::Display) {
    // A parent that has gone does not matter.
    let _gone = writeln!(std::io::stdout().lock(), "! {line}");
}
