//! Random interleavings of sessions against a serial model, without upkeep: `icefield-maintenance` plays those with it.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use icefield_core::test_suite::serial::{Interleaving, Report};
use icefield_format::SpecVersion;
use icefield_storage_memory::MemoryStorage;

/// Interleavings in all, unless the variable says otherwise; every fourth on a store with faults, half of them
/// in each version of the format.
const INTERLEAVINGS: u64 = 20_000;
const VARIABLE: &str = "ICEFIELD_INTERLEAVINGS";
const SEED: u64 = 0x5E41A1;
const THREADS: u64 = 2;

#[test]
fn every_committed_history_is_a_serial_one() {
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
                let seed = SEED.wrapping_mul(1_000_003).wrapping_add(number);
                let spec = match number / 4 % 2 {
                    0 => SpecVersion::V1,
                    _ => SpecVersion::V2,
                };
                let with_faults = number % 4 == 3;
                let run = Interleaving {
                    seed,
                    with_faults,
                    spec,
                };
                let limited = async {
                    let played = run.play(Arc::new(MemoryStorage::new()), None);
                    tokio::time::timeout(Duration::from_secs(60), played).await
                };
                report += runtime.block_on(limited).expect("it ends");
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
    let many = count / 10;
    assert!(
        report.commits > many && report.rebased > many / 2,
        "{report:?}"
    );
    assert!(
        report.conflicts > many / 10 && report.settled > many / 20,
        "{report:?}"
    );
    assert!(
        report.erased > 2 * many && report.boxes > many && report.erasures_met > many / 100,
        "{report:?}"
    );
    assert!(
        report.moves > many / 20 && report.resets > many / 20,
        "{report:?}"
    );
    assert!(
        report.amends > many / 10 && report.flushes > many / 10,
        "{report:?}"
    );
}
