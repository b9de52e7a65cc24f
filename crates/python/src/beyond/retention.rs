//! Expiration by rules: so many of the last, hourly, daily, weekly, monthly, yearly snapshots stay.

use icefield::maintenance::{Expire, Policy};
use pyo3::prelude::*;
use serde_json::{Value, json};

use super::progress::Told;
use crate::convert;
use crate::errors::Failure;
use crate::repository::Repository;
use crate::task::{Task, begin_to_the_end};

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
    let count = |name: &str| said[name].as_u64().unwrap_or(0);
    let is = |name: &str| said[name].as_bool() == Some(true);
    let mut policy = Policy::default();
    policy.older_than = said["older_than"].as_i64().map(convert::time);
    policy.last = count("last");
    policy.hourly = count("hourly");
    policy.daily = count("daily");
    policy.weekly = count("weekly");
    policy.monthly = count("monthly");
    policy.yearly = count("yearly");
    let mut expire = Expire::new(policy)
        .delete_expired_branches(is("delete_expired_branches"))
        .delete_expired_tags(is("delete_expired_tags"));
    if let Some(names) = said["branches"].as_array() {
        let names = names.iter().filter_map(Value::as_str).map(convert::branch);
        expire = expire.branches(names.collect::<Result<Vec<_>, _>>()?);
    }
    let is_dry = is("dry_run");
    let progress = Told::new(progress, "planning");
    begin_to_the_end(py, async move {
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
