//! Random interleavings of sessions, with expirations, collections, tags and an upgrade in between, against the serial model.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use icefield_core::test_suite::serial::{Interleaving, Report, Upkeep};
use icefield_core::{ManualClock, Repository};
use icefield_format::SpecVersion;
use icefield_maintenance::{Check, Collect, Expire, FindingKind, Policy, Severity};
use icefield_storage::{BoxError, Storage};
use icefield_storage_memory::MemoryStorage;

use crate::world::HOUR;

/// Interleavings in all, unless the variable says otherwise; every fourth on a store with faults, half of them begin in each
/// version of the format.
const INTERLEAVINGS: u64 = 400;
const VARIABLE: &str = "ICEFIELD_UPKEEP_INTERLEAVINGS";
const SEED: u64 = 0x00C0_FFEE;
const THREADS: u64 = 2;

#[derive(Debug)]
struct Maintenance(ManualClock);

#[async_trait]
impl Upkeep for Maintenance {
    fn clock(&self) -> &ManualClock {
        &self.0
    }

    fn floor(&self) -> Duration {
        8 * HOUR
    }

    async fn expire(
        &self,
        repository: &Repository,
        older_than: SystemTime,
    ) -> Result<(), BoxError> {
        let mut policy = Policy::default();
        policy.older_than = Some(older_than);
        let expired = Expire::new(policy).run(repository, &()).await?;
        match expired.stuck.is_empty() {
            true => Ok(()),
            false => Err(format!("{expired:?}").into()),
        }
    }

    async fn collect(&self, repository: &Repository) -> Result<u64, BoxError> {
        let collect = Collect::default().floor(self.floor());
        Ok(collect.run(repository).await?.total().deleted)
    }

    async fn damage(&self, storage: &Arc<dyn Storage>) -> Vec<String> {
        let check = Check::new(Arc::clone(storage)).clock(Arc::new(self.0.clone()));
        let report = check.run(&()).await.expect("checked");
        // The model makes no root group.
        let wrong = report.findings.iter().filter(|finding| {
            finding.severity != Severity::Note && finding.kind != FindingKind::NodeWithoutParent
        });
        wrong.map(|finding| format!("{finding:?}")).collect()
    }
}

async fn play(number: u64) -> Report {
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let clock = ManualClock::new(start);
    let storage = MemoryStorage::builder().clock(Arc::new(clock.clone()));
    let interleaving = Interleaving {
        seed: SEED.wrapping_mul(1_000_003).wrapping_add(number),
        with_faults: number % 4 == 3,
        spec: match number / 4 % 2 {
            0 => SpecVersion::V1,
            _ => SpecVersion::V2,
        },
    };
    let upkeep = Arc::new(Maintenance(clock));
    let played = interleaving.play(Arc::new(storage.build()), Some(upkeep));
    let played = tokio::time::timeout(Duration::from_secs(60), played).await;
    played.expect("it ends")
}

#[test]
fn no_upkeep_changes_what_refs_show_or_loses_a_commit() {
    let wanted = std::env::var(VARIABLE)
        .ok()
        .and_then(|text| text.parse().ok());
    let count = wanted.unwrap_or(INTERLEAVINGS);
    let part = |first: u64| {
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build();
            let runtime = runtime.expect("a runtime");
            let mut report = Report::default();
            for number in (first..count).step_by(THREADS as usize) {
                report += runtime.block_on(play(number));
            }
            report
        }
    };
    let threads: Vec<_> = (0..THREADS)
        .map(|first| thread::spawn(part(first)))
        .collect();
    let mut report = Report::default();
    for thread in threads {
        report += thread.join().expect("no interleaving fails");
    }
    eprintln!("{count} interleavings from seed {SEED:#x}: {report:?}");
    // A test in which nothing collides would show nothing.
    assert!(
        report.commits > count && report.rebased > count / 2 && report.amends > count / 10,
        "{report:?}"
    );
    assert!(
        report.released > count && report.deleted > 10 * count && report.tags > count,
        "{report:?}"
    );
    assert!(
        report.upgrades > count / 3 && report.upgraded_under > count / 3,
        "{report:?}"
    );
    assert!(
        report.moves > count / 20 && report.flushes > count / 10,
        "{report:?}"
    );
}
