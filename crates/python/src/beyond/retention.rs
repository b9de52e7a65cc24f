//! Expiration by rules that keep a number of last, hourly, daily, weekly, monthly and yearly snapshots.

use icefield::Interrupt;
use icefield::maintenance::{Expire, Policy};
use pyo3::prelude::*;
use serde_json::{Value, json};

use super::progress::PythonProgress;
use crate::convert;
use crate::errors::Failure;
use crate::repository::Repository;
use crate::task::{GOES_ON, Task, begin_interruptible};

/// Plans an expiration or does it. `policy` is a JSON object: `older_than` (microseconds or null), `last`, `hourly`,
/// `daily`, `weekly`, `monthly`, `yearly` (counts), `branches` (names or null), `delete_expired_branches`,
/// `delete_expired_tags`, `dry_run`. Returns a JSON object: `released`, `kept` (ids), `branches`, `tags` (deleted ones),
/// `stuck` (id, reason).
#[pyfunction]
#[pyo3(signature = (repository, policy, progress=None))]
pub(crate) fn expire_by_policy(
    py: Python<'_>,
    repository: &Repository,
    policy: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Task> {
    let repository = repository.handle()?;
    let said: Value = serde_json::from_str(policy)
        .map_err(|error| Failure::new("invalid-argument", error.to_string()))?;
    let wrong = |name: &str| {
        // Ignoring the rule would release more snapshots.
        let problem = format!("the rule {name} cannot be {}", said[name]);
        Failure::new("invalid-argument", problem)
    };
    let count = |name: &str| match &said[name] {
        Value::Null => Ok(0),
        number => number.as_u64().ok_or_else(|| wrong(name)),
    };
    let is = |name: &str| said[name].as_bool() == Some(true);
    let mut policy = Policy::default();
    policy.older_than = match &said["older_than"] {
        Value::Null => None,
        micros => Some(convert::time(
            micros.as_i64().ok_or_else(|| wrong("older_than"))?,
        )),
    };
    policy.last = count("last")?;
    policy.hourly = count("hourly")?;
    policy.daily = count("daily")?;
    policy.weekly = count("weekly")?;
    policy.monthly = count("monthly")?;
    policy.yearly = count("yearly")?;
    let interrupt = Interrupt::new();
    let mut expire = Expire::new(policy)
        .interruptible(&interrupt)
        .delete_expired_branches(is("delete_expired_branches"))
        .delete_expired_tags(is("delete_expired_tags"));
    if !said["branches"].is_null() {
        let names = said["branches"]
            .as_array()
            .ok_or_else(|| wrong("branches"))?;
        let names = names
            .iter()
            .map(|name| name.as_str().ok_or_else(|| wrong("branches")));
        let names = names.map(|name| convert::branch(name?));
        expire = expire.branches(names.collect::<Result<Vec<_>, Failure>>()?);
    }
    let is_dry = is("dry_run");
    let progress = PythonProgress::new(progress, "planning");
    begin_interruptible(py, interrupt, GOES_ON, async move {
        let (plan, stuck) = match is_dry {
            true => (expire.plan(&repository, &progress).await?, Vec::new()),
            false => {
                let expired = expire.run(&repository, &progress).await?;
                (expired.plan, expired.stuck)
            }
        };
        progress.end();
        let ids = |stay: bool| -> Vec<String> {
            let chosen = plan.snapshots.iter().filter(|it| it.stays() == stay);
            chosen.map(|it| it.id.to_string()).collect()
        };
        let stuck: Vec<Value> = stuck
            .iter()
            .map(|it| json!({"id": it.id.to_string(), "reason": it.reason}))
            .collect();
        let report = json!({
            "released": ids(false),
            "kept": ids(true),
            "branches": plan.branches.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "tags": plan.tags.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "stuck": stuck,
        });
        Ok(report.to_string())
    })
}
