//! Zarr stores in zip files: read in place, and written in one pass.

mod error;
mod index;
mod inflate;
mod layout;
mod limits;
mod object;
mod read;
mod write;

pub use error::ZipError;
pub use layout::ZipLayout;
pub use limits::ZipLimits;
pub use read::{ZipBuilder, ZipTree};
pub use write::ZipWriter;
