//! Scenarios beside steady rolls: history comes in from behind, and no roll happens for long.

use std::time::Duration;

use icefield_benches::{fact, runtime};
use icefield_core::Repository;
use icefield_maintenance::{Collect, Expire, Policy};
use icefield_rolling::{Change, Rolled};
use icefield_storage::{Clock, SystemClock};

use crate::place::Places;
use crate::world::{Extent, compare_all, create, fill_slab, label, newest, open, rolling, window};

/// Slabs that are appended while others are prepended: one in so many.
const APPENDED: i64 = 5;
/// Times of objects may be cut to the second, and so may the time that they are compared with.
const ROUNDING: Duration = Duration::from_millis(2100);

/// Changes a window and fills what comes in.
async fn change(repository: &Repository, extent: Extent, change: Change) {
    // Two writers that change the window without a rest, and neither gives way.
    let rolling = rolling(repository).complete().tries(1000);
    let rolled = rolling.run(&change, async |session, staged| {
        let window = window(session);
        for step in staged.new.clone() {
            let slab = window.chunk_of(step, 1).expect("it is in the window");
            fill_slab(session, extent, slab, label(step)).await;
        }
        Ok(())
    });
    let rolled = rolled.await;
    assert!(matches!(rolled, Ok(Rolled::Committed { .. })), "{rolled:?}");
}

/// Begins with the last slab and puts all others before it, one by one, while slabs are appended.
pub(crate) fn prepend(places: &Places<'_>, kind: &str, extent: Extent) -> bool {
    let place = places.make(kind, "prepend");
    let last = i64::from(extent.slabs) - 1;
    let appended = last / APPENDED;
    let begun = SystemClock.monotonic();
    let (labels, faults, window) = runtime().block_on(async {
        create(place.open(), extent, 0..1).await;
        let (before, behind) = (open(place.open()).await, open(place.open()).await);
        let prepend = async {
            for step in 1..=last {
                // One label alone does not tell the next.
                let labels = [label(-step)];
                change(&before, extent, Change::prepend(1).with_labels(labels)).await;
            }
        };
        let append = async {
            for step in 1..=appended {
                let labels = [label(step)];
                change(&behind, extent, Change::append(1).with_labels(labels)).await;
            }
        };
        futures::join!(prepend, append);
        let session = newest(&open(place.open()).await).await;
        let (labels, faults) = compare_all(&session, extent).await;
        (labels, faults, window(&session))
    });
    let seconds = (SystemClock.monotonic() - begun).as_secs_f64();
    let steps = -last..1 + appended;
    let expected: Vec<f64> = steps.clone().map(label).collect();
    let good = labels == expected && faults.are_none() && (window.first()..window.end()) == steps;
    fact(
        format!(
            "prepend, {kind}, {last} slabs of {} chunks",
            extent.chunks()
        ),
        format_args!(
            "{seconds:.2} s with {appended} appended meanwhile; the window is {} to {}; missing {}, wrong {}, mixed {}",
            window.first(),
            window.end(),
            faults.missing,
            faults.wrong,
            faults.mixed
        ),
    );
    good
}

/// No roll happens for longer than old snapshots are kept: the window keeps its content, however old it is.
pub(crate) fn late(places: &Places<'_>, kind: &str, extent: Extent) -> bool {
    let place = places.make(kind, "late");
    let slabs = i64::from(extent.slabs);
    let (faults, deleted, labels) = runtime().block_on(async {
        create(place.open(), extent, 0..slabs).await;
        let repository = open(place.open()).await;
        for _ in 0..2 {
            change(&repository, extent, Change::roll(1)).await;
        }
        let mut deleted = Vec::new();
        for _ in 0..2 {
            // By now, everything is older than what is kept.
            SystemClock.sleep(ROUNDING).await;
            let mut policy = Policy::default();
            policy.older_than = Some(SystemClock.now());
            Expire::new(policy)
                .run(&repository, &())
                .await
                .expect("expired");
            let collect = Collect::default().floor(Duration::ZERO).force_floor();
            let report = collect.run(&repository).await.expect("collected");
            deleted.push(report.chunks.deleted);
        }
        let repository = open(place.open()).await;
        let (_, mut faults) = compare_all(&newest(&repository).await, extent).await;
        // It goes on as if nothing had been.
        change(&repository, extent, Change::roll(1)).await;
        let (labels, after) = compare_all(&newest(&repository).await, extent).await;
        faults.add(after);
        (faults, deleted, labels)
    });
    let expected: Vec<f64> = (3..slabs + 3).map(label).collect();
    fact(
        format!("late, {kind}, {slabs} slabs of {} chunks", extent.chunks()),
        format_args!(
            "after everything else expired and {deleted:?} chunks were deleted: missing {}, wrong {}, mixed {}",
            faults.missing, faults.wrong, faults.mixed
        ),
    );
    // The two slabs that left with their labels, and nothing else; a store whose times are cut to the second may spare them
    // the first time.
    let (all, slab) = (deleted.iter().sum::<u64>(), extent.chunks());
    (2 * slab..3 * slab).contains(&all) && labels == expected && faults.are_none()
}
