//! What the layers report of their work, on standard error.

use std::io::{self, IsTerminal, Write as _};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;

/// Filters log events, before `-v` does.
const VARIABLE: &str = "ICEFIELD_LOG";

/// Crates of ours; others are shown at the highest level only.
const OURS: [&str; 8] = [
    "icefield",
    "icefield_core",
    "icefield_refs",
    "icefield_storage",
    "icefield_storage_local",
    "icefield_storage_memory",
    "icefield_zarr_store",
    "icefield_ingest",
];

/// Starts to print events and finished spans, if anything was asked for.
pub(crate) fn start(verbose: u8) {
    let asked = std::env::var(VARIABLE).ok().filter(|text| !text.is_empty());
    let filter = match (asked, verbose) {
        (Some(filter), _) => filter,
        (None, 0) => return,
        (None, 1) => ours("debug"),
        (None, _) => format!("debug,{}", ours("trace")),
    };
    let filter = match EnvFilter::try_new(&filter) {
        Ok(filter) => filter,
        Err(error) => {
            let _ = writeln!(
                io::stderr(),
                "warning: {VARIABLE} is not understood and has no effect: {error}"
            );
            return;
        }
    };
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_span_events(FmtSpan::CLOSE)
        .with_ansi(!no_color && io::stderr().is_terminal())
        .with_writer(io::stderr)
        // Or an event that cannot be printed is reported with `eprintln!`, which panics for the same reason.
        .log_internal_errors(false)
        .init();
}

fn ours(level: &str) -> String {
    OURS.map(|name| format!("{name}={level}")).join(",")
}
