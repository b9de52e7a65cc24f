//! Datasets in Zarr v3 metadata, as a repository keeps them: what every reader of Zarr understands as it is, and the rest in
//! one attribute.
//!
//! Names of dimensions are `dimension_names`, attributes are JSON, a char is `null_terminated_bytes` of one byte. What
//! that leaves open lies in the attribute [`RECORD`], a JSON text (a text, because programs write attributes on into
//! files that know no objects):
//!
//! | of a group | |
//! |---|---|
//! | `dimensions` | those that it owns, in order; an unlimited one as `{"size": 3, "unlimited": 1}` |
//! | `variables`, `groups` | their order |
//! | `attributes` | types of those whose JSON does not tell |
//!
//! | of an array | |
//! |---|---|
//! | `type` | the type, where that of Zarr does not tell |
//! | `dimensions` | where names alone would mean others: `x` of its own group, `../x` of the one above |
//! | `fill` | `off` where filling was switched off |
//! | `attributes` | as of a group |
//!
//! Each part is there only where the dataset would be another one without it, so that arrays by others need no record.

mod array;
mod attributes;
mod read;
mod scope;
mod write;

pub use attributes::RECORD;
pub use read::{is_record, read_zarr3};
pub use write::{Zarr3Node, write_zarr3};
