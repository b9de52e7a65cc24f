//! The plan of an import, decided before anything is written: pure functions of the source's nodes and of
//! the nodes of the repository at the same paths.

mod along;
mod append;
mod create;
mod node_plan;
#[cfg(test)]
mod tests;
mod transfer;

pub(crate) use along::{Along, coordinate, length_of};
pub(crate) use append::append;
pub(crate) use create::create;
pub(crate) use node_plan::{Existing, Plan, REPOSITORY, document_error, target_path};
pub(crate) use transfer::{Action, Growth, Shift, Transfer};
