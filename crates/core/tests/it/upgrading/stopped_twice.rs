//! Upgrades that are stopped, begun again and stopped again, with a version-1 program that commits at some time between or
//! after them.

use icefield_core::test_suite::words::dice;
use icefield_storage::wrap::fault::{When, crash_points};

use super::*;

/// How many of the pairs are tried, unless the variable asks for all of them.
const PAIRS: u64 = 250;
const ALL: &str = "ICEFIELD_EVERY_PAIR";
const SEED: u64 = 0x0057_0925;

/// When the version-1 program commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    FirstStop,
    SecondStop,
    Upgrade,
}

impl Moment {
    const ALL: [Self; 3] = [Self::FirstStop, Self::SecondStop, Self::Upgrade];
}

/// One pair of stops.
#[derive(Clone, Copy, Debug)]
struct Pair {
    first: (u64, When),
    second: (u64, When),
    moment: Moment,
}

/// The observations over all of them.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    stopped_twice: u64,
    acknowledged: u64,
    refused: u64,
}

impl Pair {
    async fn play(self, seen: &mut Seen) {
        let storage = old().await;
        let handle = OldHandle::new(&storage).await;
        let before = history(&handle.repository, "main").await;
        let what = Meanwhile::Commit;
        let stopping = |(k, when)| FaultyStorage::new(Arc::clone(&storage), Plan::stop_at(k, when));

        let first = stopping(self.first);
        let _ = try_upgrade(&(Arc::new(first.clone()) as _)).await;
        let mut acknowledged = false;
        if self.moment == Moment::FirstStop {
            acknowledged = handle.act(what).await;
        }
        let second = stopping(self.second);
        let _ = try_upgrade(&(Arc::new(second.clone()) as _)).await;
        // The first process may be told of its write only now.
        first.deliver_pending().await;
        if self.moment == Moment::SecondStop {
            acknowledged = handle.act(what).await;
        }
        ended(try_upgrade(&storage).await);
        second.deliver_pending().await;
        if self.moment == Moment::Upgrade {
            acknowledged = handle.act(what).await;
            assert!(!acknowledged, "{self:?}");
        }
        seen.stopped_twice += u64::from(first.is_stopped() && second.is_stopped());
        match acknowledged {
            true => seen.acknowledged += 1,
            false => seen.refused += 1,
        }

        let after = open(&storage).await;
        assert_eq!(after.spec_version(), SpecVersion::V2);
        assert_eq!(handle.shows(&after, what).await, acknowledged, "{self:?}");
        let found = history(&after, "main").await;
        assert!(found.ends_with(&before), "{self:?}: {found:?}");
        assert_eq!(after.config(), config(64));
        assert_eq!(keys_below(&storage, "refs/").await, [""; 0]);
        let status = after.status().await.expect("of version 2");
        assert_eq!(status.availability, Availability::Online, "{self:?}");
        let kinds = kinds(&after).await;
        let migrated = |kind: &&UpdateKind| matches!(kind, UpdateKind::RepoMigrated { .. });
        assert_eq!(kinds.iter().filter(migrated).count(), 1, "{kinds:?}");
        let session = writer(&after).await;
        apply(&session, &[Chunk("/x", 7, 7)]).await;
        commit(&session).await;
        icefield_core::test_suite::walk::assert_sound(&storage).await;
    }
}

#[tokio::test]
async fn an_upgrade_that_is_stopped_twice_loses_no_commit() {
    let storage = old().await;
    let counted = FaultyStorage::new(storage, Plan::none());
    upgrade(&(Arc::new(counted.clone()) as _)).await;
    let operations = counted.operations();
    let mut seen = Seen::default();
    if std::env::var_os(ALL).is_some() {
        for first in crash_points(operations) {
            for second in crash_points(operations) {
                for moment in Moment::ALL {
                    let pair = Pair {
                        first,
                        second,
                        moment,
                    };
                    pair.play(&mut seen).await;
                }
            }
        }
    } else {
        let mut dice = dice(SEED);
        for _ in 0..PAIRS {
            let mut stop = || (dice(operations), When::ALL[dice(3) as usize]);
            let (first, second) = (stop(), stop());
            let pair = Pair {
                first,
                second,
                moment: Moment::ALL[dice(3) as usize],
            };
            pair.play(&mut seen).await;
        }
    }
    println!("{operations} operations: {seen:?}");
    assert!(seen.stopped_twice > PAIRS / 4, "{seen:?}");
    assert!(
        seen.acknowledged > PAIRS / 20 && seen.refused > PAIRS / 2,
        "{seen:?}"
    );
}
