//! What `-v` prints.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

/// Starts printing spans and events to standard error, if that is wanted.
pub(crate) fn start(verbose: u8) {
    let filter = match (std::env::var("ICEFIELD_LOG"), verbose) {
        (Ok(filter), _) if !filter.is_empty() => EnvFilter::new(filter),
        (_, 0) => EnvFilter::new("warn"),
        (_, 1) => EnvFilter::new("icefield=debug"),
        _ => EnvFilter::new("icefield=trace"),
    };
    let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(colour)
        .with_target(false)
        .init();
}
