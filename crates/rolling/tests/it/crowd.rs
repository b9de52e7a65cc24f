//! Fifty rolls under eight readers and four writers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use icefield_core::{BasicSolver, CommitOutcome, NodePath};
use icefield_rolling::{Change, Rolled, Window};

use crate::world::*;

const ROLLS: i64 = 50;
const READERS: usize = 8;

/// Each writer has one tile of the newest slab in each array, and fills it while the window moves on. The last roll
/// waits for no writer: chunks that are not written are missing, and nothing is ever wrong.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_ever_sees_a_wrong_value() {
    let world = Arc::new(World::new(6).await);
    let is_over = Arc::new(AtomicBool::new(false));
    let (looks, refused) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut tasks = Vec::new();
    for _ in 0..READERS {
        let (world, is_over, looks) =
            (Arc::clone(&world), Arc::clone(&is_over), Arc::clone(&looks));
        tasks.push(tokio::spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                let session = world.read().await;
                let labels = numbers(&session, "/time").await;
                for _ in 0..3 {
                    assert_eq!(problem(&session, false).await, None);
                    tokio::task::yield_now().await;
                }
                // It is the same window for as long as it is held.
                assert_eq!(numbers(&session, "/time").await, labels);
                looks.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    for at in TILES {
        let (world, is_over, refused) = (
            Arc::clone(&world),
            Arc::clone(&is_over),
            Arc::clone(&refused),
        );
        tasks.push(tokio::spawn(async move {
            let mut written = 24;
            while !is_over.load(Ordering::Relaxed) {
                let session = world.writer().await;
                let window = Window::of(&session, &NodePath::root(), "time").expect("a window");
                let first = window.end() - SLAB as i64;
                if first < written {
                    tokio::task::yield_now().await;
                    continue;
                }
                written = first + SLAB as i64;
                let labels: Vec<_> = labels_of(&(first..written)).into_iter().map(Some).collect();
                let slab = window.chunk_of(first, SLAB).expect("in the window");
                for (array, name) in ARRAYS.iter().enumerate() {
                    session.follow_shifts(&path(name)).expect("writable");
                    set(
                        &session,
                        name,
                        &[slab, at[0], at[1]],
                        tile(array, &labels, at),
                    )
                    .await;
                }
                let commit = session.commit("a tile").rebase_with(BasicSolver::default());
                match commit.await.expect("an outcome") {
                    CommitOutcome::Committed(_) => {}
                    CommitOutcome::Conflicts { .. } => {
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                    other => panic!("{other:?}"),
                }
            }
        }));
    }
    for roll in 0..ROLLS {
        let rolled = world
            .rolling()
            .key(roll.to_string())
            .change(&Change::roll(4))
            .await;
        assert!(matches!(rolled, Ok(Rolled::Committed { .. })), "{rolled:?}");
        // The others get their turn.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }
    is_over.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.expect("no reader saw a wrong value");
    }
    let session = world.read().await;
    assert_eq!(problem(&session, false).await, None);
    let window = Window::of(&session, &NodePath::root(), "time").expect("a window");
    assert_eq!((window.first(), window.end()), (4 * ROLLS, 24 + 4 * ROLLS));
    assert!(
        looks.load(Ordering::Relaxed) >= READERS as u64,
        "they looked"
    );
}
