//! The reads of an expiration.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use icefield_core::SnapshotId;
use icefield_core::test_suite::words::*;
use icefield_maintenance::{Expire, Policy, Progress};
use icefield_refs::Edit;
use icefield_storage::Storage;
use icefield_storage::wrap::{CountingStorage, Meter};

use super::{DAY, Lab, MONDAY};

fn last(number: u64) -> Expire {
    let mut policy = Policy::default();
    policy.last = number;
    Expire::new(policy)
}

/// Does something each time that histories begin to be read.
struct Disturbance<F> {
    times: AtomicUsize,
    what: Mutex<F>,
}

impl<F> Disturbance<F> {
    fn new(what: F) -> Self {
        Self {
            times: AtomicUsize::new(0),
            what: Mutex::new(what),
        }
    }
}

impl<F: FnMut(usize) -> BoxFuture<'static, ()> + Send> Progress for Disturbance<F> {
    fn stage(&self, name: &'static str, _: Option<u64>) {
        if name == "reading histories" {
            let time = self.times.fetch_add(1, Ordering::Relaxed);
            let what = (self.what.lock().expect("no holder of the lock panics"))(time);
            what.now_or_never().expect("nothing waits in memory");
        }
    }
}

async fn commits(lab: &Lab, number: u64) -> Vec<SnapshotId> {
    let mut ids = Vec::new();
    for at in 0..number {
        ids.push(lab.commit("main", MONDAY + at * DAY + 1).await);
    }
    ids
}

#[tokio::test]
async fn a_try_that_was_overtaken_leaves_what_it_read_to_the_next() {
    let lab = Lab::new().await;
    let ids = commits(&lab, 30).await;
    let counting = CountingStorage::new(Arc::clone(&lab.storage));
    let storage: Arc<dyn Storage> = Arc::new(counting.clone());
    let repository = lab.open(&storage).await;
    let (other, newest) = (lab.repository.clone(), ids[28]);
    let disturbance = Disturbance::new(move |time| {
        let other = other.clone();
        async move {
            if time < 4 {
                done(other.create_tag(&format!("t{time}"), newest).await);
            }
        }
        .boxed()
    });
    counting.reset();
    let expired = last(3).run(&repository, &disturbance).await;
    let expired = expired.expect("it ends");
    assert_eq!((expired.restarts, expired.plan.released()), (4, 27));
    let counts = counting.snapshot();
    let snapshots = counts.of("snapshots");
    // Each of them once, and the one that is edited once more.
    assert_eq!(snapshots.get, 31 + 1, "{counts:?}");
    // One as a hint at a long history, and one for each try but the first.
    assert_eq!(snapshots.list, 1 + 4, "{counts:?}");
}

#[tokio::test]
async fn a_snapshot_that_another_expiration_rewrote_between_two_tries_is_read_again() {
    let lab = Lab::new().await;
    let ids = commits(&lab, 6).await;
    let (other, ids_there) = (lab.repository.clone(), ids.clone());
    let disturbance = Disturbance::new(move |time| {
        let (other, ids) = (other.clone(), ids_there.clone());
        async move {
            match time {
                0 => done(other.create_tag("t", ids[5]).await),
                1 => {
                    let edit = Edit::Reparent {
                        snapshot: ids[5],
                        expected: ids[4],
                        parent: ids[2],
                    };
                    done(other.ledger().apply(edit).await);
                }
                _ => {}
            }
        }
        .boxed()
    });
    let fresh = lab.open(&lab.storage).await;
    let expired = last(3).run(&fresh, &disturbance).await.expect("it ends");
    assert_eq!(expired.restarts, 1);
    let read: Vec<_> = expired.plan.snapshots.iter().map(|it| it.id).collect();
    assert!(!read.contains(&ids[4]) && !read.contains(&ids[3]));
    // Three of those that are left, and not two of them and one that is gone.
    assert_eq!(lab.history("main").await, [ids[5], ids[2], ids[1]]);
}

#[tokio::test(start_paused = true)]
async fn histories_of_several_branches_are_read_at_the_same_time() {
    let lab = Lab::new().await;
    for number in 0..8 {
        let name = format!("b{number}");
        done(
            lab.repository
                .create_branch(&name, SnapshotId::INITIAL)
                .await,
        );
        for at in 0..5 {
            lab.commit(&name, MONDAY + at * DAY + number + 1).await;
        }
    }
    let meter = Meter::new(Arc::clone(&lab.storage));
    let repository = lab.open(&meter.storage()).await;
    let (plan, cost) = meter.measure(last(2).plan(&repository, &())).await;
    assert_eq!(plan.expect("planned").snapshots.len(), 41);
    assert_eq!(cost.counts.of("snapshots").get, 41);
    // The refs, in two; five for each of the branches, and the first one.
    assert!(cost.rounds <= 2 + 6, "{cost:?}");
}

#[tokio::test(start_paused = true)]
async fn a_long_history_is_read_in_few_rounds() {
    let lab = Lab::new().await;
    commits(&lab, 200).await;
    let meter = Meter::new(Arc::clone(&lab.storage));
    let repository = lab.open(&meter.storage()).await;
    let (plan, cost) = meter.measure(last(2).plan(&repository, &())).await;
    assert_eq!(plan.expect("planned").snapshots.len(), 201);
    assert_eq!(cost.counts.of("snapshots").get, 201);
    // The refs, sixteen by themselves, a list, and the rest by sixteens.
    let most = 2 + 16 + cost.counts.total.list_pages + (201_u64 - 16).div_ceil(16);
    assert!(cost.rounds <= most, "{} of {most}", cost.rounds);
}
