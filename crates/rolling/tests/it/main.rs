//! Windows that move, against a dataset whose every value says which label it belongs to.

mod changes;
mod coverage;
mod crowd;
mod elements;
mod failures;
mod labels;
mod limits;
mod offset_store;
mod references;
mod refusals;
mod world;
mod writers;
