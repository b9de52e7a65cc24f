//! Foreign objects that appear below `refs/` while a collection runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use icefield_core::RefsError;
use icefield_maintenance::{Collect, CollectError};
use icefield_storage::wrap::CountingStorage;
use icefield_storage::{Clock, Key, Storage, StorageExt};
use icefield_testkit::stores;

use super::{collect, with_garbage};
use crate::turns::{Actor, Turns};
use crate::world::*;

/// All keys but those of our own state.
async fn keys(world: &World) -> BTreeSet<String> {
    let dump = stores::dump(&world.storage).await;
    let keys = dump.into_keys();
    keys.filter(|key| !key.starts_with("icefield/")).collect()
}

/// The kind of an object, by its key.
fn kind(key: &str) -> &str {
    key.split('/').next().unwrap_or_default()
}

#[tokio::test]
async fn c43_a_stray_that_comes_at_any_moment_ends_a_collection_that_has_not_deleted() {
    let strays = [
        ("refs/branch.x/other.json", "{}"),
        ("refs/branch.x/ref.json", ""),
        ("refs/tag.#/ref.json", "{}"),
    ];
    let end = {
        let world = with_garbage().await;
        world.clock.advance(2 * DAY);
        collect(&world).await;
        keys(&world).await
    };
    let (mut refused, mut done) = (0, 0);
    for stop in 0.. {
        let (key, bytes) = strays[stop % strays.len()];
        let world = with_garbage().await;
        world.clock.advance(2 * DAY);
        let (storage, turn) = Turns::on(&world.storage);
        let mut opening = Actor::new(&turn, {
            let (clock, storage) = (world.clock.clone(), Arc::clone(&storage));
            async move {
                let builder = icefield_core::Repository::builder(storage);
                builder.clock(Arc::new(clock)).open().await.expect("opened")
            }
        });
        opening.finish();
        let repository = opening.into_result();
        let mut running = Actor::new(
            &turn,
            async move { Collect::default().run(&repository).await },
        );
        for _ in 0..stop {
            running.step();
        }
        let ended = running.is_done();
        stores::put(&world.storage, key, bytes).await;
        let before = keys(&world).await;
        running.finish();
        let after = keys(&world).await;
        // A batch that was under way is deleted; it was garbage. Each kind of objects is one batch here.
        let gone: BTreeSet<&str> = before.difference(&after).map(|key| kind(key)).collect();
        assert!(gone.len() <= 1, "{key} at {stop}: {gone:?}");
        match running.into_result() {
            Err(CollectError::Refs(RefsError::NotUnderstood { strays })) => {
                assert_eq!(strays.len(), 1, "{key} at {stop}");
                refused += usize::from(gone.is_empty());
            }
            // Only if the last batch was under way, or done.
            Ok(_) => {
                assert!(gone.iter().all(|kind| *kind == "chunks"), "{key} at {stop}");
                let left = after.iter().filter(|it| *it != key);
                assert!(left.eq(&end), "{key} at {stop}");
                done += 1;
            }
            other => panic!("{key} at {stop}: {other:?}"),
        }
        let stray = Key::parse(key).expect("a key");
        drop(world.storage.delete_one(stray.into()).await.expect("gone"));
        world.everything_is_there(&format!("{key} at {stop}")).await;
        if ended {
            break;
        }
    }
    // While it marks, and while it looks again before it deletes for the first time.
    assert!(refused > 5 && done > 1, "{refused} {done}");
}

#[tokio::test]
async fn c43_a_collection_beside_strays_writes_nothing_at_all() {
    let world = with_garbage().await;
    // One that is dated ahead would be dated anew.
    let right = world.clock.now();
    world.clock.set(right + 300 * DAY);
    let session = world.session("main").await;
    session.renew_lease().await.expect("renewed");
    world.clock.set(right + 2 * DAY);
    stores::put(&world.storage, "refs/branch.x/other.json", "{}").await;
    let counting = CountingStorage::new(Arc::clone(&world.storage));
    let storage: Arc<dyn Storage> = Arc::new(counting.clone());
    let repository = world.open_on(&storage, 2).await;
    counting.reset();
    for dry_run in [true, false] {
        let refused = Collect::default().dry_run(dry_run).run(&repository).await;
        assert!(
            matches!(
                refused,
                Err(CollectError::Refs(RefsError::NotUnderstood { .. }))
            ),
            "{refused:?}"
        );
        assert_eq!(counting.reset().total.writes(), 0, "dry run: {dry_run}");
    }
}
