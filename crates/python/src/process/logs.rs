//! Logs, on the standard error stream.

use std::sync::OnceLock;

use pyo3::prelude::*;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry, fmt};

use crate::errors::Failure;

/// The second is what programs for the reference implementation set.
const VARIABLES: [&str; 2] = ["ICEFIELD_LOG", "ICECHUNK_LOG"];

/// What is said if nobody says what.
const DEFAULT: &str = "warn";

static FILTER: OnceLock<Option<Handle<EnvFilter, Registry>>> = OnceLock::new();

/// Begins to log, by what the environment says; again is of no effect.
#[pyfunction]
pub(crate) fn initialize_logs() {
    begin();
}

/// Says anew what is logged; `None` goes back to what the environment says.
#[pyfunction]
#[pyo3(signature = (directive))]
pub(crate) fn set_logs_filter(directive: Option<&str>) -> PyResult<()> {
    let filter = match directive {
        None => from_environment(),
        Some(directive) => EnvFilter::try_new(directive).map_err(|error| {
            Failure::of("invalid-setting", &error)
                .prefixed(&format!("{directive:?} does not say what to log"))
        })?,
    };
    let changed = begin().map_or(Ok(()), |handle| handle.reload(filter));
    Ok(changed.map_err(|error| Failure::of("unknown", &error))?)
}

fn begin() -> Option<&'static Handle<EnvFilter, Registry>> {
    let begun = FILTER.get_or_init(|| {
        let (filter, handle) = reload::Layer::new(from_environment());
        let lines = fmt::layer().with_writer(std::io::stderr);
        let begun = tracing_subscriber::registry().with(filter).with(lines);
        // Fails if this process has a subscriber already, which then is the one to say what is logged.
        begun.try_init().ok().map(|()| handle)
    });
    begun.as_ref()
}

fn from_environment() -> EnvFilter {
    let said = VARIABLES.iter().find_map(|name| std::env::var(name).ok());
    EnvFilter::new(said.as_deref().unwrap_or(DEFAULT))
}
