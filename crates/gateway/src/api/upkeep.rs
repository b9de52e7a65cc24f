//! Sizes and checks of a whole repository, as the command line has them.

use std::sync::Arc;

use icefield::maintenance::{Check, Usage, UsageSummary, UsageTable};
use icefield::{Error, ErrorKind};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::answer::ApiAnswer;
use crate::failure::Failure;
use crate::mount::Mount;
use crate::target::Target;
use crate::versions::Freshness;

/// Rows of one table.
const ROWS: usize = 10_000;
/// Findings of one check.
const FINDINGS: u64 = 1_000;

/// Adds up what is stored.
pub(crate) async fn du(mount: &Mount, target: &Target) -> Result<ApiAnswer, Failure> {
    let by = target.parameter("by").unwrap_or("summary").to_owned();
    let text = target.parameter("ref").unwrap_or("main");
    let at = match by.as_str() {
        "array" | "commit" => Some(mount.versions.find(text, Freshness::Now).await?.id),
        "summary" | "ref" | "container" => None,
        _ => {
            let problem = "the parameter by is summary, array, ref, commit or container";
            return Err(Failure::bad_request(problem));
        }
    };
    let _alone = mount.alone().await;
    let repository = mount.repository().clone();
    let word = by.clone();
    let counted = on_a_thread(move || async move {
        let usage = Usage::new();
        let table = match (word.as_str(), at) {
            ("array", Some(at)) => usage.by_array(&repository, at, &()).await,
            ("commit", Some(at)) => usage.by_commit(&repository, at, &()).await,
            ("ref", _) => usage.by_ref(&repository, &()).await,
            ("container", _) => usage.by_container(&repository, &()).await,
            _ => return usage.summary(&repository, &()).await.map(Counted::Summary),
        };
        table.map(Counted::Table)
    });
    let mut table = match counted
        .await?
        .map_err(|error| Failure::of_read(Error::from(error)))?
    {
        Counted::Summary(summary) => return Ok(value(&summary)?.into()),
        Counted::Table(table) => table,
    };
    let is_truncated = table.rows.len() > ROWS;
    table.rows.truncate(ROWS);
    let mut document = value(&table)?;
    document["by"] = by.into();
    if at.is_some() {
        document["ref"] = text.into();
    }
    if is_truncated {
        document["truncated"] = true.into();
    }
    Ok(document.into())
}

enum Counted {
    Summary(UsageSummary),
    Table(UsageTable),
}

/// Does work that cannot move between threads on a thread of its own. The thread ends when its caller has gone.
async fn on_a_thread<T, W, F>(work: W) -> Result<T, Failure>
where
    T: Send + 'static,
    W: FnOnce() -> F + Send + 'static,
    F: Future<Output = T>,
{
    let runtime = Handle::current();
    let (waiting, left) = oneshot::channel::<()>();
    let done = tokio::task::spawn_blocking(move || {
        runtime.block_on(async {
            tokio::select! {
                done = work() => Some(done),
                _left = left => None,
            }
        })
    });
    let done = done.await;
    drop(waiting);
    let broken = || Failure::damage("the work broke off");
    done.ok().flatten().ok_or_else(broken)
}

/// Checks the metadata of the repository. Reads no chunks.
pub(crate) async fn fsck(mount: &Mount, target: &Target) -> Result<ApiAnswer, Failure> {
    let storage = Arc::clone(mount.repository().storage());
    let mut check = Check::new(storage).with_most_findings(FINDINGS);
    if target.parameter("tips").is_some_and(|tips| tips != "0") {
        check = check.tips_only();
    }
    let _alone = mount.alone().await;
    let report = check.run(&()).await;
    let report = report.map_err(|error| Failure::of_read(Error::new(ErrorKind::Other, error)))?;
    let mut document = value(&report)?;
    document["sound"] = report.is_sound().into();
    if report.left_out > 0 {
        document["truncated"] = true.into();
    }
    Ok(document.into())
}

fn value(report: &impl serde::Serialize) -> Result<Value, Failure> {
    let value = serde_json::to_value(report);
    let value = value.map_err(|error| Failure::damage(format!("a report is no JSON: {error}")))?;
    match value {
        value @ Value::Object(_) => Ok(value),
        other => Ok(json!({ "report": other })),
    }
}
