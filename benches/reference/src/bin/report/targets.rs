//! How fast each figure is meant to be.

/// A bound of one figure.
pub(crate) enum Target {
    /// At least so many times as fast as the reference.
    Reference(f64),
    /// At most so many times what the floor takes.
    Floor(f64),
    /// At most so much, in the unit of the figure.
    Most(f64),
}

use Target::{Floor, Most, Reference};

/// The bounds, by the names of the figures.
const TARGETS: &[(&str, &[Target])] = &[
    ("read 4 MiB, 1 in flight", &[Reference(5.0), Floor(1.5)]),
    ("read 4 MiB, 16 in flight", &[Reference(6.0), Floor(1.5)]),
    ("read 64 KiB, 1 in flight", &[Reference(6.0), Floor(3.0)]),
    ("read 64 KiB, 16 in flight", &[Reference(12.0), Floor(3.0)]),
    ("read 4 KiB, 1 in flight", &[Reference(6.0), Floor(3.0)]),
    ("read 4 KiB, 64 in flight", &[Reference(8.0), Floor(3.0)]),
    ("get 4 MiB from memory", &[Most(5e-6)]),
    ("get 4 KiB from memory", &[Most(5e-6)]),
    ("write 4 MiB, 64 in flight", &[Reference(5.0), Floor(1.5)]),
    ("write 64 KiB, 64 in flight", &[Reference(3.0), Floor(1.5)]),
    ("write 4 KiB, 64 in flight", &[Reference(5.0), Floor(1.5)]),
    ("write 64 KiB and commit, flushed", &[Floor(1.5)]),
    ("set and commit 1 M references", &[Reference(5.0)]),
    ("bytes of memory per reference", &[Most(150.0)]),
    (
        "change 1 of 1 M references",
        &[Reference(41.0), Most(0.010)],
    ),
    ("open to 1 of 1 M references", &[Reference(63.0)]),
    (
        "find 1 of 1 M references, split",
        &[Reference(4.0), Most(0.7e-6)],
    ),
    (
        "find 1 of 1 M references, in one manifest",
        &[Reference(4.0), Most(0.7e-6)],
    ),
    ("shift 1 M references", &[Reference(15.0)]),
    ("rebase over one commit", &[Reference(3.0)]),
    ("commit one chunk, 1,000 times", &[Reference(4.0)]),
    ("commit one chunk into 10,000", &[Reference(3.0)]),
    ("list 200,000 keys of 2,000 arrays", &[Reference(6.0)]),
    ("collect 100,000 chunks", &[Reference(2.0)]),
    ("check 100,000 chunks", &[Floor(2.0)]),
    ("import 20,000 chunks of 16 KiB", &[Floor(1.5)]),
    ("import 1 GiB in chunks of 4 MiB", &[Floor(1.2)]),
];

/// Returns the bounds of a figure.
pub(crate) fn of(figure: &str) -> &'static [Target] {
    let found = TARGETS.iter().find(|(name, _)| *name == figure);
    found.map_or(&[], |(_, targets)| targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_without_a_bound_has_none() {
        assert!(of("no such figure").is_empty());
        assert_eq!(of("shift 1 M references").len(), 1);
    }
}
