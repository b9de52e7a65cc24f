//! Bounds of age where clocks disagree.

use std::sync::Arc;

use icefield_core::Repository;
use icefield_core::test_suite::words::*;
use icefield_maintenance::{Expire, ExpireError, Policy};
use icefield_storage::wrap::ReadOnlyStorage;
use icefield_storage::{ManualClock, Storage};

use super::{DAY, Lab, MONDAY, at, older_than};

#[tokio::test]
async fn by_clocks_that_disagree_nothing_expires_for_its_age() {
    let lab = Lab::new().await;
    for day in 0..3 {
        lab.commit("main", MONDAY + day * DAY).await;
    }
    let now = MONDAY + 9 * DAY;
    lab.clock.set(at(now));
    let by = async |storage: &Arc<dyn Storage>, host| {
        let clock = Arc::new(ManualClock::new(at(host)));
        let opened = Repository::builder(Arc::clone(storage)).clock(clock);
        opened.open().await.expect("opened")
    };
    let before = objects(&lab.storage).await;
    let expire = Expire::new(older_than(MONDAY + DAY));
    for host in [now - 301, now + 301, now + 300 * DAY] {
        let repository = by(&lab.storage, host).await;
        for refused in [
            expire.plan(&repository, &()).await.map(drop),
            expire.run(&repository, &()).await.map(drop),
        ] {
            is!(
                refused,
                Err(ExpireError::ClocksApart(apart))
                    if (apart.store_time, apart.host_time) == (at(now), at(host)),
            );
        }
        // What is counted needs no clock.
        let mut counted = Policy::default();
        counted.last = 1;
        is!(Expire::new(counted).plan(&repository, &()).await, Ok(_));
    }
    assert_eq!(objects(&lab.storage).await, before);
    // Where nothing can be written, nothing is asked, and nothing can be lost.
    let read_only: Arc<dyn Storage> = Arc::new(ReadOnlyStorage::new(Arc::clone(&lab.storage)));
    let repository = by(&read_only, now + 301).await;
    is!(expire.plan(&repository, &()).await, Ok(plan) if plan.released() == 1);
    let repository = by(&lab.storage, now + 299).await;
    is!(expire.run(&repository, &()).await, Ok(done) if done.plan.released() == 1);
}
