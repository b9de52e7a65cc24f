//! Log events, on standard error.

use std::sync::OnceLock;

use pyo3::prelude::*;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry, fmt};

use crate::errors::Failure;

/// The variables with the filter. Programs for the reference implementation set the second.
const VARIABLES: [&str; 2] = ["ICEFIELD_LOG", "ICECHUNK_LOG"];

/// The default filter.
const DEFAULT: &str = "warn";

static FILTER: OnceLock<Option<Handle<EnvFilter, Registry>>> = OnceLock::new();

/// Starts to log with the filter of the environment. Later calls have no effect.
#[pyfunction]
pub(crate) fn initialize_logs() {
    begin();
}

/// Replaces the filter; `None` restores the filter of the environment.
#[pyfunction]
#[pyo3(signature = (directive))]
pub(crate) fn set_logs_filter(directive: Option<&str>) -> PyResult<()> {
    let filter = match directive {
        None => from_environment(),
        Some(directive) => EnvFilter::try_new(directive).map_err(|error| {
            Failure::of("invalid-setting", &error)
                .prefixed(&format!("{directive:?} is not a filter of log events"))
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
        // Fails if this process has a subscriber already, whose filter then applies.
        begun.try_init().ok().map(|()| handle)
    });
    begun.as_ref()
}

fn from_environment() -> EnvFilter {
    let said = VARIABLES.iter().find_map(|name| std::env::var(name).ok());
    EnvFilter::new(said.as_deref().unwrap_or(DEFAULT))
}
