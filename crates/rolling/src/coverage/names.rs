//! The names that say where a window begins, ends, and how long it is.

/// Attributes of groups, and arrays without dimensions, that say where a window begins.
pub(super) const START: [&str; 2] = ["time_coverage_start", "window_start"];

/// Those that say where it ends.
pub(super) const END: [&str; 2] = ["time_coverage_end", "window_end"];

/// The one that says how long it is, of groups only.
pub(super) const DURATION: &str = "time_coverage_duration";

/// The property of a window that an attribute or array describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Start,
    End,
    Duration,
}

/// Whether a name is of a time, whatever the window is of.
pub(super) fn is_of_time(name: &str) -> bool {
    name.starts_with("time_")
}
