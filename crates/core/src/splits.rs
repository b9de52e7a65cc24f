//! The division of the references of an array into manifests.
//!
//! The chunk grid of an array is cut into regular *cells*, and each cell with references has a manifest. A commit
//! rewrites only the cells that it touches. How long a cell is along each axis comes from the rules in
//! `manifest.splitting` of the configuration; an array that no rule is about is split by size.
//!
//! ```text
//! rules       which cells the configuration asks for
//! automatic   which cells keep manifests between 128 KiB and 1 MiB
//! regions     which manifests a set of edits touches, and so what is rewritten together
//! ```
//! All of it is pure: no request is made to decide it, the snapshot tells the box, the bytes and the references of each
//! manifest.

mod automatic;
mod cells;
mod regions;
mod rules;

pub(crate) use automatic::{Held, Known};
pub(crate) use cells::{Cells, count, for_each, intersect};
pub(crate) use regions::regions;
pub(crate) use rules::SplitRules;

#[cfg(test)]
mod tests;
