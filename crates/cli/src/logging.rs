//! Log events of all layers, on standard error.

use std::io::{self, Write as _};

/// The variable with the filter of log events; it takes precedence over `-v`.
const VARIABLE: &str = "ICEFIELD_LOG";

/// Starts to print events and finished spans, if `-v` or the variable asks for them.
pub(crate) fn start(verbose: u8) {
    let asked = std::env::var(VARIABLE).ok().filter(|text| !text.is_empty());
    if asked.is_some() || verbose > 0 {
        print(asked, verbose);
    }
}

/// Warns that this build prints no events.
#[cfg(not(feature = "logging"))]
fn print(_: Option<String>, _: u8) {
    let _ = writeln!(
        io::stderr(),
        "warning: this program was built without logging, which the feature `logging` brings"
    );
}

/// The crates of the workspace; other crates are shown at the highest level only.
#[cfg(feature = "logging")]
const OURS: [&str; 9] = [
    "icefield",
    "icefield_core",
    "icefield_refs",
    "icefield_storage",
    "icefield_storage_cache",
    "icefield_storage_local",
    "icefield_storage_memory",
    "icefield_zarr_store",
    "icefield_ingest",
];

#[cfg(feature = "logging")]
fn print(asked: Option<String>, verbose: u8) {
    use std::io::IsTerminal;

    use tracing_subscriber::EnvFilter;
    use tracing_subscriber::fmt::format::FmtSpan;

    let filter = match (asked, verbose) {
        (Some(filter), _) => filter,
        (None, 0 | 1) => workspace_filter("debug"),
        (None, _) => format!("debug,{}", workspace_filter("trace")),
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
    // In Python, the package may print events already; its filter, read from the same variable, then applies.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_span_events(FmtSpan::CLOSE)
        .with_ansi(!no_color && io::stderr().is_terminal())
        .with_writer(io::stderr)
        // Otherwise an event that cannot be printed is reported with `eprintln!`, which panics for the same reason.
        .log_internal_errors(false)
        .try_init();
}

#[cfg(feature = "logging")]
fn workspace_filter(level: &str) -> String {
    OURS.map(|name| format!("{name}={level}")).join(",")
}
