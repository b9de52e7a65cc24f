//! Maintenance of a repository: expiration, collection, statistics, manifests.

use std::time::{Duration, SystemTime};

use icefield::format::SpecVersion;
use icefield::maintenance::{Collect, CollectReport, Expire, LEAST_FLOOR, Policy, Swept, Usage};
use icefield::{CommitOutcome, Detector, Interrupt, ManifestRewrite, Repository, micros_of_time};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::Failure;
use crate::{convert, process};

/// The number of errors of deletions that the failure lists.
const TOLD: usize = 10;

/// The precision of times of stores: some stores truncate to seconds.
const SHOWN_AFTER: Duration = Duration::from_millis(1100);

/// Returns a bound on times. A time in the future becomes the current time, before which everything lies.
fn bound(repository: &Repository, micros: i64) -> SystemTime {
    let bound = convert::time(micros);
    let now = repository.clock().now();
    // The difference of the clocks is known since the last commit.
    let store = match repository.clock_skew() {
        Some(ahead) if ahead > 0 => now
            .checked_sub(Duration::from_secs(ahead.unsigned_abs()))
            .unwrap_or(SystemTime::UNIX_EPOCH),
        _ => now,
    };
    bound.min(store)
}

/// Expires snapshots older than a time. Returns the snapshots that left the histories.
pub(crate) async fn expire_snapshots(
    repository: &Repository,
    older_than: i64,
    (delete_branches, delete_tags): (bool, bool),
    interrupt: &Interrupt,
) -> Result<Vec<String>, Failure> {
    let mut policy = Policy::default();
    policy.older_than = Some(bound(repository, older_than));
    let expire = Expire::new(policy)
        .delete_expired_branches(delete_branches)
        .delete_expired_tags(delete_tags)
        .interruptible(interrupt);
    let expired = expire.run(repository, &()).await?;
    for stuck in &expired.stuck {
        tracing::warn!(
            snapshot = %stuck.id,
            parent = %stuck.parent,
            reason = stuck.reason,
            "a snapshot keeps its parent"
        );
    }
    let gone = expired.plan.snapshots.iter().filter(|it| !it.stays());
    Ok(gone.map(|it| it.id.to_string()).collect())
}

/// Deletes garbage that is older than a time, and old enough that every session open since then has a lease. With `force`, the
/// age does not matter, even if sessions without a lease lose objects. The time is one of the store's clock, and of this
/// machine's clock if that is ahead. Some stores truncate times to seconds: objects written within the second before that time
/// may stay.
pub(crate) async fn garbage_collect(
    repository: &Repository,
    older_than: i64,
    dry_run: bool,
    force: bool,
    interrupt: &Interrupt,
) -> Result<CollectSummary, Failure> {
    let bound = convert::time(older_than);
    let now = micros_of_time(repository.clock().now());
    let older_than = u64::try_from(older_than).unwrap_or(0);
    if older_than > now && force {
        // All existing objects are older than a time in the future, which shows once a second has passed.
        let wait = Duration::from_micros(older_than - now);
        let shown = repository.clock().sleep(wait.min(SHOWN_AFTER));
        interrupt.unless(shown).await?;
    }
    let floor = Duration::from_micros(now.saturating_sub(older_than));
    let collect = match force {
        true => Collect::default().floor(floor).force_floor(),
        false => Collect::default().floor(floor.max(LEAST_FLOOR)),
    };
    let collect = collect.older_than(bound).dry_run(dry_run);
    let collected = collect.interruptible(interrupt).run(repository).await;
    Ok(CollectSummary(collected?))
}

/// The summary of a collection, as a dictionary.
pub(crate) struct CollectSummary(CollectReport);

impl<'py> IntoPyObject<'py> for CollectSummary {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        let report = self.0;
        let total: Swept = report.total();
        // The bytes of the objects that the summary counts: programs expect so, and that a dry run finds the same. Earlier states
        // of `repo` become garbage only once the collection has written the next.
        let counted = [
            &report.chunks,
            &report.manifests,
            &report.snapshots,
            &report.transaction_logs,
        ];
        let bytes: u64 = counted.iter().map(|it| it.deleted_bytes).sum();
        let row = PyDict::new(py);
        for (name, number) in [
            ("bytes_deleted", bytes),
            ("chunks_deleted", report.chunks.deleted),
            ("manifests_deleted", report.manifests.deleted),
            ("snapshots_deleted", report.snapshots.deleted),
            ("attributes_deleted", 0),
            ("transaction_logs_deleted", report.transaction_logs.deleted),
            ("objects_failed_to_delete", total.failed),
            // Stores retry by themselves, and do not report how often.
            ("throttled_batches", 0),
        ] {
            row.set_item(name, number)?;
        }
        let mut reasons: Vec<&str> = Vec::new();
        for (_, reason) in &report.failures {
            if reasons.len() < TOLD && !reasons.contains(&reason.as_str()) {
                reasons.push(reason);
            }
        }
        row.set_item("delete_errors", reasons)?;
        let skipped: &[&str] = match report.stopped_early {
            true => &["transaction_logs", "manifests", "chunks"],
            false => &[],
        };
        row.set_item("skipped_phases", skipped)?;
        Ok(row)
    }
}

/// Raises an interrupt when it is dropped.
struct RaisedAtTheEnd(Interrupt);

impl Drop for RaisedAtTheEnd {
    fn drop(&mut self) {
        self.0.raise();
    }
}

/// Returns the native, virtual and inline bytes of chunks that refs reach.
pub(crate) async fn chunk_storage_stats(
    repository: &Repository,
) -> Result<(u64, u64, u64), Failure> {
    let (repository, runtime) = (repository.clone(), process::runtime()?);
    // The compiler cannot prove that the future is `Send`, so it runs on one thread.
    let interrupt = Interrupt::new();
    // The drop of this value, when the caller gives up, also interrupts the thread.
    let _given_up = RaisedAtTheEnd(interrupt.clone());
    let summing = process::on_own_thread(move || {
        let sum = async { Usage::new().summary(&repository, &()).await };
        runtime.block_on(interrupt.unless(sum))
    });
    let summary = summing.await???;
    Ok((
        summary.native.bytes,
        summary.external.bytes,
        summary.inline.bytes,
    ))
}

/// Splits manifests by the rules of the configuration, in a new commit or by amending the last one.
pub(crate) async fn rewrite_manifests(
    repository: &Repository,
    branch: &str,
    (message, metadata, amends): (&str, Option<&str>, bool),
    interrupt: &Interrupt,
) -> Result<String, Failure> {
    if amends && repository.spec_version() < SpecVersion::V2 {
        return Err(Failure::new(
            "unsupported-operation-for-version",
            "amend is not supported for spec version 1 repositories, use commit_method='new_commit'",
        ));
    }
    let metadata = convert::metadata(metadata)?;
    let session = repository.write_session(convert::branch(branch)?).await?;
    let outcome = match amends {
        true => {
            let amend = session
                .amend(message)
                .rewrite_manifests(ManifestRewrite::All);
            let amend = metadata
                .into_iter()
                .fold(amend, |amend, (name, value)| amend.metadata(name, value));
            amend.allow_empty().interruptible(interrupt).await?
        }
        false => {
            let commit = session
                .commit(message)
                .rewrite_manifests(ManifestRewrite::All);
            let commit = metadata
                .into_iter()
                .fold(commit, |commit, (name, value)| commit.metadata(name, value));
            // The session has no edits that could conflict.
            let commit = commit.allow_empty().rebase_with(Detector::Strict);
            commit.interruptible(interrupt).await?
        }
    };
    match outcome {
        CommitOutcome::Committed(id) => Ok(id.to_string()),
        outcome => Err(Failure::of_commit(outcome)),
    }
}
