//! The servers driven by the clients that real programs use.

mod aws;
mod s3_conditions;
mod s3_objects;
mod s3_switches;
