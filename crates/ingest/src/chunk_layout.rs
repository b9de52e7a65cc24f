//! The shape and the encoding of chunks that an import or [`Rechunk`](crate::Rechunk) is asked for.

mod compression;
mod document;
mod error;
mod layout;

pub use self::compression::Compression;
pub(crate) use self::document::{Described, applied, check_names, of_another_type};
pub use self::error::LayoutError;
pub use self::layout::{ChunkLayout, ChunkLength, Shards};
