//! The promises that hold when many clients act at once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::sync::Barrier;

use super::trial::{Trial, key, pattern, written};
use crate::{
    DeleteOutcome, Deletion, GetOptions, GetRange, PutMode, PutOutcome, StorageError, StorageExt,
    Version,
};

/// Runs a task for each number at the same time and returns what they returned, in order.
async fn race<T, F>(racers: usize, task: impl Fn(usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let start = Arc::new(Barrier::new(racers));
    let tasks: Vec<_> = (0..racers)
        .map(|i| {
            let (start, task) = (Arc::clone(&start), task(i));
            tokio::spawn(async move {
                start.wait().await;
                task.await
            })
        })
        .collect();
    let mut results = Vec::new();
    for task in tasks {
        match task.await {
            Ok(result) => results.push(result),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
    results
}

/// Is up until one racer is done, or has failed: the others go on as long.
#[derive(Clone)]
struct Flag(Arc<AtomicBool>);

struct LowersFlag(Flag);

impl Flag {
    fn up() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    /// Returns whether the flag is up, after giving other tasks a turn, its holder above all.
    async fn is_up(&self) -> bool {
        tokio::task::yield_now().await;
        self.0.load(Ordering::Acquire)
    }

    fn lowered_on_drop(&self) -> LowersFlag {
        LowersFlag(self.clone())
    }
}

impl Drop for LowersFlag {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Release);
    }
}

/// Returns the number of the only racer whose put was done; all others must have been refused.
#[track_caller]
fn only_winner(outcomes: Vec<PutOutcome>) -> (usize, Version) {
    let mut winner = None;
    for (i, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            PutOutcome::Written(written) => {
                assert!(winner.is_none(), "a second winner");
                winner = Some((i, written.version));
            }
            PutOutcome::Refused => {}
            PutOutcome::Unknown(error) => panic!("nothing was lost here: {error:?}"),
        }
    }
    winner.expect("one writer wins")
}

pub(super) async fn racing_creates_have_one_winner(t: Trial) {
    if !t.creates().await {
        return;
    }
    for round in 0..t.effort.rounds {
        let at = format!("refs/tag.{round}/ref.json");
        let outcomes = race(t.effort.racers, |i| {
            let (t, at) = (t.clone(), at.clone());
            async move { t.put(&at, format!("racer {i}"), PutMode::Create).await }
        })
        .await;
        let (winner, version) = only_winner(outcomes);
        t.expect(&at, format!("racer {winner}").as_bytes()).await;
        assert_eq!(t.head(&at).await.version, version);
    }
}

pub(super) async fn racing_updates_have_one_winner(t: Trial) {
    if !t.updates().await {
        return;
    }
    let at = "refs/branch.main/ref.json";
    let mut version = t.store(at, "start").await;
    for round in 0..t.effort.rounds {
        let outcomes = race(t.effort.racers, |i| {
            let (t, version) = (t.clone(), version.clone());
            // All of one length, like real refs, so that a state cannot be told by its size.
            let bytes = format!("{round:08} {i:08}");
            async move { t.put(at, bytes, PutMode::Update(version)).await }
        })
        .await;
        let winner;
        (winner, version) = only_winner(outcomes);
        t.expect(at, format!("{round:08} {winner:08}").as_bytes())
            .await;
        assert_eq!(t.head(at).await.version, version);
    }
}

pub(super) async fn racing_large_creates_have_one_winner(t: Trial) {
    if !t.creates().await {
        return;
    }
    // Few: they are large.
    for round in 0..t.effort.rounds.min(3) {
        let at = format!("chunks/{round}");
        let outcomes = race(t.effort.racers.min(4), |i| {
            let (t, at) = (t.clone(), at.clone());
            let bytes = pattern(i as u8, t.effort.large);
            async move { t.put(&at, bytes, PutMode::Create).await }
        })
        .await;
        let (winner, version) = only_winner(outcomes);
        t.expect(&at, &pattern(winner as u8, t.effort.large)).await;
        assert_eq!(t.head(&at).await.version, version);
    }
}

pub(super) async fn racing_deletes_have_one_winner(t: Trial) {
    if !t.store.capabilities().conditional_delete {
        return;
    }
    for _ in 0..t.effort.rounds {
        let version = t.store("a/b", "one").await;
        let outcomes = race(t.effort.racers, |_| {
            let (t, deletion) = (t.clone(), Deletion::of(key("a/b"), version.clone()));
            async move { t.store.delete_one(deletion).await.expect("an answer") }
        })
        .await;
        let won = outcomes
            .iter()
            .filter(|outcome| matches!(outcome, DeleteOutcome::Deleted));
        assert_eq!(won.count(), 1, "{outcomes:?}");
        t.expect_absent("a/b").await;
    }
}

pub(super) async fn racing_update_and_delete_have_one_winner(t: Trial) {
    if !t.store.capabilities().conditional_delete || !t.updates().await {
        return;
    }
    for _ in 0..t.effort.rounds {
        let version = t.store("a/b", "one").await;
        let won = race(t.effort.racers, |i| {
            let (t, version) = (t.clone(), version.clone());
            async move {
                if i % 2 == 0 {
                    let put = t
                        .put("a/b", format!("racer {i}"), PutMode::Update(version))
                        .await;
                    matches!(put, PutOutcome::Written(_))
                } else {
                    let deletion = Deletion::of(key("a/b"), version);
                    let delete = t.store.delete_one(deletion).await.expect("an answer");
                    matches!(delete, DeleteOutcome::Deleted)
                }
            }
        })
        .await;
        let winners: Vec<usize> = (0..won.len()).filter(|i| won[*i]).collect();
        assert_eq!(winners.len(), 1, "{winners:?}");
        if winners[0].is_multiple_of(2) {
            t.expect("a/b", format!("racer {}", winners[0]).as_bytes())
                .await;
        } else {
            t.expect_absent("a/b").await;
        }
    }
}

pub(super) async fn racing_create_and_overwrite_agree(t: Trial) {
    if !t.creates().await {
        return;
    }
    for round in 0..t.effort.rounds {
        let at = format!("a/{round}");
        let outcomes = race(2, |i| {
            let (t, at) = (t.clone(), at.clone());
            async move {
                match i {
                    0 => t.put(&at, "created", PutMode::Create).await,
                    _ => t.put(&at, "overwritten", PutMode::Overwrite).await,
                }
            }
        })
        .await;
        assert!(
            matches!(outcomes[1], PutOutcome::Written(_)),
            "{outcomes:?}"
        );
        // The create came first or was refused: either way the other one is what stays.
        t.expect(&at, b"overwritten").await;
    }
}

pub(super) async fn counted_updates_are_never_lost(t: Trial) {
    if !t.updates().await {
        return;
    }
    const TASKS: usize = 8;
    let each = t.effort.rounds.div_ceil(2);
    t.store("counter", "0").await;
    race(TASKS, |_| {
        let t = t.clone();
        async move {
            for _ in 0..each {
                loop {
                    let (bytes, meta) = t.store.read(&key("counter")).await.expect("read");
                    let count: usize = String::from_utf8_lossy(&bytes)
                        .parse()
                        .expect("a whole number");
                    let next = (count + 1).to_string();
                    // Let the others read the same count, or a fast store never sees a conflict.
                    tokio::task::yield_now().await;
                    match t.put("counter", next, PutMode::Update(meta.version)).await {
                        PutOutcome::Written(_) => break,
                        PutOutcome::Refused => {}
                        PutOutcome::Unknown(error) => panic!("nothing was lost here: {error:?}"),
                    }
                }
            }
        }
    })
    .await;
    t.expect("counter", (TASKS * each).to_string().as_bytes())
        .await;
}

/// A body that tells by each of its bytes which write made it, and by that its length.
fn body(write: u8) -> Bytes {
    vec![write; 50_000 + 1000 * usize::from(write)].into()
}

pub(super) async fn readers_see_old_or_new_never_a_mix(t: Trial) {
    t.store("a/b", body(0)).await;
    let writing = Flag::up();
    let seen = Arc::new(Mutex::new(HashMap::<Version, u8>::new()));
    let writes = (t.effort.rounds * 2).min(200);
    race(5, |i| {
        let (t, writing, seen) = (t.clone(), writing.clone(), Arc::clone(&seen));
        async move {
            if i == 0 {
                let _done = writing.lowered_on_drop();
                for write in 0..writes {
                    t.store("a/b", body(write as u8)).await;
                }
                return;
            }
            while writing.is_up().await {
                let range = match i {
                    1 => GetRange::All,
                    2 => GetRange::Suffix(45_000),
                    3 => GetRange::Bounded(10_000..40_000),
                    _ => GetRange::From(1),
                };
                let read = t.store.get(&key("a/b"), GetOptions::range(range)).await;
                let object = read.expect("there always is an object");
                let (meta, range) = (object.meta.clone(), object.range.clone());
                let bytes = object.bytes().await.expect("of the promised length");
                let write = *bytes.first().expect("no range here is empty");
                assert!(
                    bytes.iter().all(|byte| *byte == write),
                    "a mix of two writes"
                );
                assert_eq!(
                    meta.size,
                    body(write).len() as u64,
                    "described as another write"
                );
                assert!(range.end <= meta.size);
                let first = *seen
                    .lock()
                    .expect("no panic")
                    .entry(meta.version)
                    .or_insert(write);
                assert_eq!(first, write, "two writes under one version");
            }
        }
    })
    .await;
}

pub(super) async fn a_large_object_that_is_replaced_is_never_mixed(t: Trial) {
    let large = t.effort.large;
    let size = |write: u8| large + 1000 * usize::from(write);
    let body = |write: u8| Bytes::from(vec![write; size(write)]);
    for (write, range) in [
        (1, GetRange::All),
        (3, GetRange::From(1)),
        (5, GetRange::Bounded(1..large as u64)),
        (7, GetRange::Suffix(large as u64)),
    ] {
        t.store("a/b", body(write)).await;
        let wanted = range.resolve(size(write) as u64).expect("inside");
        let read = t.store.get(&key("a/b"), GetOptions::range(range)).await;
        let object = read.expect("there is an object");
        // The answer has begun, and the body has not been read.
        t.store("a/b", body(write + 1)).await;
        match object.bytes().await {
            Ok(bytes) => {
                assert_eq!(bytes.len() as u64, wanted.end - wanted.start);
                assert!(
                    bytes.iter().all(|byte| *byte == write),
                    "a mix of two writes"
                );
            }
            // The rest is gone, and that is said.
            Err(StorageError::PreconditionFailed { .. }) => {}
            Err(error) => panic!("the old object, or word of the new one: {error:?}"),
        }
        t.expect("a/b", &body(write + 1)).await;
    }
}

pub(super) async fn many_objects_at_once(t: Trial) {
    let racers = t.effort.racers;
    race(racers, |i| {
        let t = t.clone();
        async move {
            for n in 0..8 {
                let at = format!("chunks/{n}/{i}");
                let bytes = body(i as u8);
                t.store(&at, bytes.clone()).await;
                assert_eq!(t.read(&at).await, Some(bytes));
            }
        }
    })
    .await;
    assert_eq!(t.keys("chunks").await.len(), racers * 8);
}

pub(super) async fn list_during_writes_shows_what_stays(t: Trial) {
    const STAYING: usize = 300;
    let stays: Vec<String> = (0..STAYING).map(|i| format!("m/{i:04}/stays")).collect();
    race(10, |part| {
        let (t, mine) = (
            t.clone(),
            stays[part * STAYING / 10..(part + 1) * STAYING / 10].to_vec(),
        );
        async move {
            for at in mine {
                t.store(&at, "x").await;
            }
        }
    })
    .await;
    let walking = Flag::up();
    race(3, |i| {
        let (t, walking, stays) = (t.clone(), walking.clone(), stays.clone());
        async move {
            if i == 0 {
                let _done = walking.lowered_on_drop();
                for _ in 0..t.effort.rounds.div_ceil(4) {
                    let mut list = t.keys("m").await;
                    assert!(list.is_sorted(), "not in byte order");
                    list.retain(|at| at.ends_with("/stays"));
                    assert_eq!(list, stays);
                }
                return;
            }
            let mut n = 0;
            while walking.is_up().await {
                n += 37;
                let at = format!("m/{:04}/comes-and-goes-{i}", n % STAYING);
                written(t.put(&at, "y", PutMode::Overwrite).await);
                let _ = t.store.delete_one(key(&at).into()).await.expect("deleted");
            }
        }
    })
    .await;
}
