//! The GCS backend against a server in this process that speaks both protocols, and fails on demand. Tests that
//! begin with a letter and a number are cases of `docs/faults.md`.

mod bodies;
mod conformance;
mod environment;
mod fake_gcs_server;
mod lost_answers;
mod network;
mod settings;
mod sizes;
mod support;
