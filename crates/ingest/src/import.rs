//! Imports: stage what a source holds in a session, then commit once.

mod arrange;
mod attributes;
mod builder;
mod choices;
mod combine;
mod containers;
mod converted;
mod coordinates;
mod derived;
mod encodings;
mod labels;
mod layout;
mod missing;
mod monotonic;
mod opened;
mod origin;
mod outline;
mod prepare;
mod prepared;
mod rearrange;
mod refer;
mod report;
mod resume;
mod run;
mod seams;
mod selection;
mod share;
mod shares;
mod skip;
mod survey;
mod times;
mod transfer;

pub use self::builder::Import;
pub use self::choices::{
    Attributes, Combine, DifferingAttribute, Encoding, Gap, Lacking, Missing, Order, Overlap,
    Rounded,
};
pub use self::combine::{CombineError, ValueFrom};
pub use self::outline::{ImportPlan, PlannedArray, PlannedSource};
pub use self::report::{ImportReport, Imported};
pub use self::resume::{AbandonedImport, abandon_imports};
pub(crate) use self::resume::{Digest, Journal, WorkKey};
pub use self::selection::Selection;
pub use self::share::Share;
pub use self::shares::Shares;
pub use self::survey::Survey;
