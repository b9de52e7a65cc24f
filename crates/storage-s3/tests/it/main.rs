//! The S3 backend against a server in this process that speaks the protocol, and fails on demand. Tests that
//! begin with a letter and a number are cases of `docs/faults.md`.

mod advice;
mod bodies;
mod conformance;
mod lost_answers;
mod network;
mod seaweedfs;
mod settings;
mod sizes;
mod support;
