//! Checks and repairs.

mod damages;
mod damages_v2;
mod lost_v2;
mod mended;
mod oversized;
mod repairs;
mod repairs_v2;
mod reports;
mod restored;
mod unsettled;
mod vectors;
mod world;

use std::sync::Arc;

use icefield_maintenance::{Check, CheckReport, FindingKind};
use icefield_storage::Storage;
use icefield_storage_memory::MemoryStorage;

/// A store in memory.
fn memory() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::new())
}

/// Checks all of a repository.
async fn check(storage: &Arc<dyn Storage>) -> CheckReport {
    let check = Check::new(Arc::clone(storage)).run(&()).await;
    check.expect("the store does not fail")
}

/// The kinds of findings that are no mere notes.
fn kinds(report: &CheckReport) -> Vec<FindingKind> {
    let findings = report.findings.iter();
    let worth = findings.filter(|it| it.severity != icefield_maintenance::Severity::Note);
    worth.map(|it| it.kind).collect()
}
