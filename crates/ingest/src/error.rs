//! Errors of imports and exports. Nothing was committed, and no directory was left behind.

mod export;
mod import;
mod plan;
mod source;

pub use self::export::ExportError;
pub use self::import::ImportError;
pub use self::plan::PlanError;
pub use self::source::SourceError;
