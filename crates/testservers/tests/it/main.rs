//! The servers driven by the clients that real programs use.

mod aws;
mod files;
mod gcs_objects;
mod gcs_switches;
mod google;
mod program;
mod proxy;
mod raw;
mod s3_conditions;
mod s3_objects;
mod s3_switches;
