//! A branch that is made again while a collection runs, in every order of their operations that switches between them up
//! to twice.

use std::sync::Arc;

use icefield_core::{BranchName, Repository, SeededEntropy};
use icefield_maintenance::{
    Check, Collect, CollectError, CollectReport, Repair, RepairError, RepairOutcome, RepairReport,
};
use icefield_testkit::stores;

use crate::turns::{Actor, Turns};
use crate::world::{DAY, World};

struct Scene {
    world: World,
    repair: Actor<Result<RepairReport, RepairError>>,
    collection: Actor<Result<CollectReport, CollectError>>,
}

/// A repository whose branch `side` is gone, and what it alone reached is old.
async fn scene() -> Scene {
    let world = World::new(30).await;
    let base = world.commit_chunks("main", &[(0, 0)]).await;
    drop(world.repository.create_branch("side", base).await);
    world.commit_chunks("side", &[(1, 1)]).await;
    world.commit_chunks("side", &[(2, 2)]).await;
    let side = BranchName::parse("side").expect("a name");
    let deleted = world.repository.delete_branch(&side).await;
    drop(deleted.expect("deleted"));
    world.clock.advance(2 * DAY);
    let (storage, turn) = Turns::on(&world.storage);
    let builder = Repository::builder(Arc::clone(&storage))
        .clock(Arc::new(world.clock.clone()))
        .entropy(Arc::new(SeededEntropy::new(31)));
    let repair = Repair::new(Check::new(storage), builder).restore_branch(side);
    let repair = Actor::new(&turn, async move { repair.run(&()).await });
    let (storage, turn) = Turns::on(&world.storage);
    let builder = Repository::builder(storage)
        .clock(Arc::new(world.clock.clone()))
        .entropy(Arc::new(SeededEntropy::new(32)));
    let collection = Actor::new(&turn, async move {
        let repository = builder.open().await.expect("opened");
        Collect::default().run(&repository).await
    });
    Scene {
        world,
        repair,
        collection,
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Came {
    Restored,
    NotRestored,
}

/// Runs so many operations of the repair, so many of the collection, the rest of the repair, and the rest of the
/// collection. Says what came of it, and whether each of the two parts was all there is.
async fn run(first: usize, second: usize) -> (Came, bool, bool) {
    let mut scene = scene().await;
    let (mut repair_was_whole, mut collection_was_whole) = (false, false);
    // Without a runtime, so that a check hands nothing to other threads.
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for _ in 0..first {
                scene.repair.step();
            }
            repair_was_whole = scene.repair.is_done();
            for _ in 0..second {
                scene.collection.step();
            }
            collection_was_whole = scene.collection.is_done();
            scene.repair.finish();
            scene.collection.finish();
        });
    });
    let when = format!("{first} of the repair, {second} of the collection");
    let repaired = scene.repair.into_result();
    let collected = scene.collection.into_result();
    collected.unwrap_or_else(|error| panic!("{when}: {error:?}"));
    let came = match &repaired {
        Ok(report) => match &report.restored[0].outcome {
            RepairOutcome::Done { .. } => Came::Restored,
            RepairOutcome::Failed { .. } => Came::NotRestored,
            other => panic!("{when}: {other:?}"),
        },
        Err(RepairError::NothingToRestore { .. }) => Came::NotRestored,
        Err(other) => panic!("{when}: {other:?}"),
    };
    let side = scene.world.exists("refs/branch.side/ref.json").await;
    assert_eq!(side, came == Came::Restored, "{when}");
    scene.world.everything_is_there(&when).await;
    let leases = stores::keys_below(&scene.world.storage, "icefield/leases").await;
    assert_eq!(leases, [""; 0], "{when}");
    // And what was made again stays there.
    scene.world.clock.advance(2 * DAY);
    let later = Collect::default().run(&scene.world.repository).await;
    later.unwrap_or_else(|error| panic!("{when}: {error:?}"));
    scene.world.everything_is_there(&when).await;
    (came, repair_was_whole, collection_was_whole)
}

#[tokio::test]
async fn c31_a_branch_made_again_and_a_collection_in_every_order() {
    let (mut restored, mut refused) = (0, 0);
    for first in 0.. {
        let mut repair_was_whole = false;
        for second in 0.. {
            let (came, repair, collection) = run(first, second).await;
            repair_was_whole = repair;
            match came {
                Came::Restored => restored += 1,
                Came::NotRestored => refused += 1,
            }
            if collection {
                break;
            }
        }
        if repair_was_whole {
            break;
        }
    }
    println!("{restored} orders restored the branch, {refused} did not");
    assert!(restored > 50, "{restored}");
    assert!(refused > 50, "{refused}");
}
