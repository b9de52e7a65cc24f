//! Windows that move along a dimension: one commit for all arrays that have it.

use icefield::rolling::{Change, Keep, Method, Options, Rolled, Rolling, Window};
use pyo3::prelude::*;
use serde_json::Value;

use crate::convert;
use crate::errors::Failure;
use crate::repository::Repository;
use crate::session::Session;
use crate::task::{Task, begin_lasting};

/// `(origin, first, end)`, in absolute indices.
type WindowRow = (i64, i64, i64);

fn row(window: &Window) -> WindowRow {
    (window.origin(), window.first(), window.end())
}

/// Moves a window and commits, and retries while concurrent commits come first. `change` is a JSON object: `append`, `prepend`,
/// `trim_start`, `trim_end` (elements), `roll` (elements, may be negative), `keep` (`"56"` or `"7 days"`), `labels`,
/// `group`, `message`, `key`, `tries`, `mask`, `drop_coverage`, `absolute`. Returns the snapshot, and the window if
/// the history did not have the key already.
#[pyfunction]
pub(crate) fn change_window(
    py: Python<'_>,
    repository: &Repository,
    branch: &str,
    dimension: &str,
    change: &str,
) -> PyResult<Task> {
    let repository = repository.handle()?;
    let said: Value = serde_json::from_str(change)
        .map_err(|error| Failure::new("invalid-argument", error.to_string()))?;
    let change = read(&said)?;
    let is = |name: &str| said[name].as_bool() == Some(true);
    let mut options = Options::default();
    options.mask = is("mask");
    options.drop_coverage = is("drop_coverage");
    if is("absolute") {
        options.method = Method::Absolute;
    }
    let group = convert::path(said["group"].as_str().unwrap_or("/"))?;
    let mut rolling = Rolling::new(&repository, convert::branch(branch)?, dimension)
        .below(group)
        .options(options);
    if let Some(message) = said["message"].as_str() {
        rolling = rolling.message(message);
    }
    if let Some(key) = said["key"].as_str() {
        rolling = rolling.key(key);
    }
    if let Some(tries) = said["tries"].as_u64() {
        rolling = rolling.tries(usize::try_from(tries).unwrap_or(usize::MAX));
    }
    let look =
        "`repository.window` shows where it is, and `repository.ancestry(branch=...)` the commit";
    begin_lasting(py, "The change of the window", look, async move {
        let rolled = rolling.change(&change).await.map_err(of_rolling)?;
        Ok(match rolled {
            Rolled::Committed { snapshot, window } => (snapshot.to_string(), Some(row(&window))),
            Rolled::AlreadyThere { snapshot } => (snapshot.to_string(), None),
        })
    })
}

/// Returns the window of a dimension in a session.
#[pyfunction]
pub(crate) fn window(session: &Session, group: &str, dimension: &str) -> PyResult<WindowRow> {
    let (session, group) = (session.handle()?, convert::path(group)?);
    let window = Window::of(&session, &group, dimension).map_err(of_rolling)?;
    Ok(row(&window))
}

fn of_rolling(error: icefield::rolling::RollingError) -> Failure {
    icefield::Error::from(error).into()
}

fn read(said: &Value) -> Result<Change, Failure> {
    let wrong = |name: &str| {
        let problem = format!(
            "{name} is {}, which is not a number of elements",
            said[name]
        );
        Failure::new("invalid-argument", problem)
    };
    let count = |name: &str| match &said[name] {
        Value::Null => Ok(0),
        number => number.as_u64().ok_or_else(|| wrong(name)),
    };
    let mut change = match &said["roll"] {
        Value::Null => Change::trim(count("trim_start")?, count("trim_end")?),
        elements => Change::roll(elements.as_i64().ok_or_else(|| wrong("roll"))?),
    };
    if said["roll"].is_null() {
        change.append = count("append")?;
        change.prepend = count("prepend")?;
    }
    if let Some(keep) = said["keep"].as_str() {
        let keep: Keep = keep
            .parse()
            .map_err(|problem: String| Failure::new("invalid-argument", problem))?;
        if !said["roll"].is_null() {
            change = change.and_trim(0, 0);
        }
        change = change.and_keep(keep);
    }
    if let Some(labels) = said["labels"].as_array() {
        let labels = labels.iter().map(Value::as_f64).collect::<Option<Vec<_>>>();
        change = change.with_labels(labels.ok_or_else(|| wrong("labels"))?);
    }
    Ok(change)
}
