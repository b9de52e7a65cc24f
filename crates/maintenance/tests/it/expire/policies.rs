//! Every policy against the survivors that its words promise.

use icefield_core::test_suite::words::*;
use icefield_maintenance::{Expire, ExpireError, Policy, Reason};

use super::{DAY, HOUR, Lab, MONDAY, at, older_than};

fn with(set: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = Policy::default();
    set(&mut policy);
    policy
}

/// Seconds after that Monday's midnight of the snapshots, and whether each stays.
type Case = (&'static str, Policy, &'static [u64], &'static [u64]);

#[tokio::test]
async fn every_policy_has_the_survivors_that_it_promises() {
    const WEEK: u64 = 7 * DAY;
    let cases: &[Case] = &[
        (
            "the tip always stays",
            older_than(MONDAY + 90),
            &[10, 20, 30],
            &[30],
        ),
        (
            "the bound is exclusive",
            older_than(MONDAY + 20),
            &[10, 20, 30],
            &[20, 30],
        ),
        (
            "nothing is old enough",
            older_than(MONDAY + 10),
            &[10, 20],
            &[10, 20],
        ),
        (
            "the last two",
            with(|it| it.last = 2),
            &[1, 2, 3, 4],
            &[3, 4],
        ),
        (
            "more than there are",
            with(|it| it.last = 9),
            &[1, 2],
            &[1, 2],
        ),
        (
            "the last of each hour",
            with(|it| it.hourly = 24),
            &[10, 20, HOUR - 1, HOUR, HOUR + 1],
            &[HOUR - 1, HOUR + 1],
        ),
        (
            "the last hours that have one, not the last hours",
            with(|it| it.hourly = 2),
            &[10, 5 * HOUR, 9 * HOUR, 9 * HOUR + 5],
            &[5 * HOUR, 9 * HOUR + 5],
        ),
        (
            "days end at midnight of UTC",
            with(|it| it.daily = 2),
            &[HOUR, 23 * HOUR, 24 * HOUR, 25 * HOUR, 49 * HOUR],
            &[25 * HOUR, 49 * HOUR],
        ),
        (
            "weeks begin on Monday",
            with(|it| it.weekly = 3),
            // Sunday, then Monday.
            &[DAY, 6 * DAY, WEEK - 1, WEEK, WEEK + DAY, 2 * WEEK],
            &[WEEK - 1, WEEK + DAY, 2 * WEEK],
        ),
        (
            "months are those of the calendar",
            with(|it| it.monthly = 3),
            // 2, 30 November; 1, 31 December; 1 January.
            &[1, 28 * DAY, 29 * DAY, 59 * DAY, 60 * DAY],
            &[28 * DAY, 59 * DAY, 60 * DAY],
        ),
        (
            "years are those of the calendar",
            with(|it| it.yearly = 2),
            &[1, 59 * DAY, 60 * DAY, 61 * DAY],
            &[59 * DAY, 61 * DAY],
        ),
        (
            "any rule keeps",
            with(|it| (it.last, it.daily) = (1, 2)),
            &[1, DAY - 1, DAY, DAY + 1, DAY + 2],
            &[DAY - 1, DAY + 2],
        ),
        (
            "numbers count what is young, too",
            with(|it| (it.older_than, it.last) = (Some(at(MONDAY + 30)), 3)),
            &[10, 20, 30, 40, 50],
            &[30, 40, 50],
        ),
        (
            "what is old and counted stays",
            with(|it| (it.older_than, it.hourly) = (Some(at(MONDAY + 9 * HOUR)), 9)),
            &[1, 2, HOUR, 9 * HOUR, 9 * HOUR + 1],
            &[2, HOUR, 9 * HOUR, 9 * HOUR + 1],
        ),
    ];
    for (name, policy, times, survivors) in cases {
        let lab = Lab::new().await;
        let mut ids = Vec::new();
        for time in *times {
            ids.push((lab.commit("main", MONDAY + time).await, time));
        }
        lab.clock.set(at(MONDAY + 999 * DAY));
        let before = objects(&lab.storage).await;
        let plan = lab.plan(policy.clone()).await;
        let after = objects(&lab.storage).await;
        assert_eq!(after, before, "{name}: a plan changes nothing");
        let stay: Vec<u64> = (ids.iter())
            .filter(|(id, _)| {
                plan.snapshots
                    .iter()
                    .any(|fate| fate.id == *id && fate.stays())
            })
            .map(|(_, time)| **time)
            .collect();
        assert_eq!(stay, *survivors, "{name}");

        let done = lab.run(policy.clone()).await;
        assert_eq!(done.plan, plan, "{name}");
        let mut expected: Vec<_> = (ids.iter())
            .filter(|(_, time)| survivors.contains(time))
            .map(|(id, _)| *id)
            .collect();
        expected.reverse();
        assert_eq!(lab.history("main").await, expected, "{name}");
        // Every object is there still, and only those that have another parent are others, with their logs.
        let after = objects(&lab.storage).await;
        let keys = |objects: &std::collections::BTreeMap<_, _>| {
            objects.keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(keys(&after), keys(&before), "{name}");
        for (key, bytes) in &after {
            let rewritten = plan
                .new_parents
                .iter()
                .any(|it| key.ends_with(&it.id.to_string()));
            assert!(rewritten || before[key] == *bytes, "{name}: {key}");
        }
        let again = lab.run(policy.clone()).await;
        assert_eq!(again.plan.released(), 0, "{name}: nothing is left to do");
        assert_eq!(objects(&lab.storage).await, after, "{name}");
    }
}

#[tokio::test]
async fn a_plan_says_why_each_snapshot_stays() {
    let lab = Lab::new().await;
    let old = lab.commit("main", MONDAY + 1).await;
    let of_day = lab.commit("main", MONDAY + 2).await;
    let tip = lab.commit("main", MONDAY + DAY).await;
    let plan = lab.plan(with(|it| (it.daily, it.yearly) = (2, 1))).await;
    let why = |id| {
        let fate = plan.snapshots.iter().find(|fate| fate.id == id);
        fate.expect("it is listed")
            .reasons
            .iter()
            .copied()
            .collect::<Vec<_>>()
    };
    assert_eq!(why(icefield_core::SnapshotId::INITIAL), [Reason::First]);
    assert_eq!(why(old), []);
    assert_eq!(why(of_day), [Reason::Daily]);
    assert_eq!(why(tip), [Reason::Ref, Reason::Daily, Reason::Yearly]);
    assert_eq!(plan.released(), 1);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let lab = Lab::new().await;
    lab.commit("main", MONDAY + 10).await;
    let before = objects(&lab.storage).await;
    for dry in [true, false] {
        let refused = async |expire: Expire| match dry {
            true => expire.plan(&lab.repository, &()).await.map(drop),
            false => expire.run(&lab.repository, &()).await.map(drop),
        };
        is!(
            refused(Expire::new(Policy::default())).await,
            Err(ExpireError::NoRules)
        );
        let counted = Expire::new(with(|it| it.last = 1));
        is!(
            refused(counted.clone().delete_expired_branches(true)).await,
            Err(ExpireError::NoBound),
        );
        is!(
            refused(counted.delete_expired_tags(true)).await,
            Err(ExpireError::NoBound)
        );
        is!(
            refused(Expire::new(older_than(MONDAY + 11))).await,
            Err(ExpireError::FutureBound { bound, now, .. })
                if bound == at(MONDAY + 11) && now == at(MONDAY + 10),
        );
        is!(
            refused(Expire::new(older_than(MONDAY)).branches([branch("none")])).await,
            Err(ExpireError::Refs(_)),
        );
    }
    assert_eq!(objects(&lab.storage).await, before);
}
