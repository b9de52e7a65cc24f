//! Running tasks one step at a time in an order that a seed decides, so that waiting for each other wrongly
//! shows: as tasks that are left over while nothing can wake them.
//!
//! A step is what a task does between two waits. Nothing runs at the same time: this finds lost wake-ups,
//! deadlocks and forgotten clean-up of dropped futures, and finds them again from the seed; it does not find
//! races inside of a step.

use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, SystemTime};

use futures::future::{BoxFuture, FutureExt};
use icefield_storage::{Clock, SeededEntropy};

/// Tasks that are left over, and nothing will ever wake them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Their names, in order.
    pub tasks: Vec<String>,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing wakes these any more: {}", self.tasks.join(", "))
    }
}

impl std::error::Error for Stuck {}

#[derive(Debug)]
struct Awake(AtomicBool);

impl Wake for Awake {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

struct Task {
    work: BoxFuture<'static, ()>,
    awake: Arc<Awake>,
    /// Steps after which the task is dropped.
    steps_left: u64,
}

/// A set of tasks, and the order of their steps.
pub struct Interleaving {
    random: SeededEntropy,
    tasks: BTreeMap<String, Task>,
}

impl fmt::Debug for Interleaving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.tasks.keys()).finish()
    }
}

impl Interleaving {
    /// Returns an empty set whose order `seed` decides.
    pub fn new(seed: u64) -> Self {
        Self {
            random: SeededEntropy::new(seed),
            tasks: BTreeMap::new(),
        }
    }

    /// Adds a task. Its name must be new.
    pub fn spawn(
        &mut self,
        name: impl Into<String>,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        self.spawn_dropped_after(u64::MAX, name, work);
    }

    /// Adds a task that is dropped, wherever it stands, after so many steps.
    pub fn spawn_dropped_after(
        &mut self,
        steps: u64,
        name: impl Into<String>,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        let task = Task {
            work: work.boxed(),
            awake: Arc::new(Awake(AtomicBool::new(true))),
            steps_left: steps,
        };
        let name = name.into();
        assert!(!self.tasks.contains_key(&name), "two tasks named {name}");
        self.tasks.insert(name, task);
    }

    /// Runs all tasks until they have ended.
    ///
    /// # Errors
    /// [`Stuck`] if there are tasks left that nothing will wake.
    pub fn run(mut self) -> Result<(), Stuck> {
        while !self.tasks.is_empty() {
            let ready: Vec<String> = self
                .tasks
                .iter()
                .filter(|(_, task)| task.steps_left == 0 || task.awake.0.load(Ordering::SeqCst))
                .map(|(name, _)| name.clone())
                .collect();
            if ready.is_empty() {
                return Err(Stuck {
                    tasks: self.tasks.into_keys().collect(),
                });
            }
            let name = &ready[self.random.below(ready.len() as u64) as usize];
            let Some(task) = self.tasks.get_mut(name) else {
                unreachable!("BUG: it is in the set")
            };
            if task.steps_left == 0 {
                self.tasks.remove(name);
                continue;
            }
            task.steps_left -= 1;
            task.awake.0.store(false, Ordering::SeqCst);
            let waker = Waker::from(Arc::clone(&task.awake));
            if let Poll::Ready(()) = task.work.as_mut().poll(&mut Context::from_waker(&waker)) {
                self.tasks.remove(name);
            }
        }
        Ok(())
    }
}

/// A clock on which waiting takes a seeded number of steps, from one to four, however long it is asked for.
/// Each look at it is a millisecond later than the one before.
#[derive(Debug)]
pub struct StepClock {
    random: SeededEntropy,
    looks: AtomicU64,
}

impl StepClock {
    /// Returns a clock.
    pub fn new(seed: u64) -> Self {
        Self {
            random: SeededEntropy::new(seed),
            looks: AtomicU64::new(0),
        }
    }
}

impl Clock for StepClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000) + self.monotonic()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.looks.fetch_add(1, Ordering::SeqCst))
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        let mut steps = 1 + self.random.below(4);
        poll_fn(move |context| {
            if steps == 0 {
                return Poll::Ready(());
            }
            steps -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::channel::oneshot;

    use super::*;

    #[test]
    fn tasks_that_nobody_wakes_are_named() {
        let mut tasks = Interleaving::new(1);
        let (_kept, never) = oneshot::channel::<()>();
        tasks.spawn("waits", async {
            let _never = never.await;
        });
        tasks.spawn("ends", async {});
        let stuck = Stuck {
            tasks: vec!["waits".to_owned()],
        };
        assert_eq!(tasks.run(), Err(stuck));
    }

    #[test]
    fn steps_interleave_and_the_seed_decides() {
        let order = |seed| {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let clock = Arc::new(StepClock::new(seed));
            let mut tasks = Interleaving::new(seed);
            for number in 0..4 {
                let (seen, clock) = (Arc::clone(&seen), Arc::clone(&clock));
                tasks.spawn(number.to_string(), async move {
                    for _ in 0..4 {
                        seen.lock().expect("unpoisoned").push(number);
                        clock.sleep(Duration::ZERO).await;
                    }
                });
            }
            tasks.run().expect("all end");
            let seen = seen.lock().expect("unpoisoned").clone();
            assert_eq!(seen.len(), 16);
            seen
        };
        assert_eq!(order(1), order(1));
        let orders: std::collections::HashSet<_> = (0..20).map(order).collect();
        assert!(orders.len() > 15, "{} orders of 20", orders.len());
    }

    #[test]
    fn a_task_can_be_dropped_while_nothing_wakes_it() {
        let mut tasks = Interleaving::new(1);
        let (kept, never) = oneshot::channel::<()>();
        tasks.spawn_dropped_after(1, "waits", async {
            let _never = never.await;
        });
        assert_eq!(tasks.run(), Ok(()));
        assert!(kept.is_canceled());
    }

    /// A lock that hands itself to the next in the line without asking whether that one still waits.
    #[test]
    fn a_lock_that_forgets_dropped_waiters_is_found() {
        type Line = Arc<Mutex<(bool, Vec<oneshot::Sender<()>>)>>;
        async fn lock(line: &Line) {
            let turn = {
                let mut line = line.lock().expect("unpoisoned");
                if !std::mem::replace(&mut line.0, true) {
                    return;
                }
                let (sender, turn) = oneshot::channel();
                line.1.push(sender);
                turn
            };
            turn.await.expect("the line lives");
        }
        fn unlock(line: &Line) {
            let mut line = line.lock().expect("unpoisoned");
            match line.1.pop() {
                // Wrong: this one may be gone.
                Some(next) => {
                    let _gone = next.send(());
                }
                None => line.0 = false,
            }
        }
        let stuck = (0..100).filter(|seed| {
            let line = Line::default();
            let clock = Arc::new(StepClock::new(*seed));
            let mut tasks = Interleaving::new(*seed);
            for number in 0..4 {
                let (line, clock) = (Arc::clone(&line), Arc::clone(&clock));
                let steps = if number == 3 { 1 } else { u64::MAX };
                tasks.spawn_dropped_after(steps, number.to_string(), async move {
                    lock(&line).await;
                    clock.sleep(Duration::ZERO).await;
                    unlock(&line);
                });
            }
            tasks.run().is_err()
        });
        assert!(stuck.count() > 0);
    }
}
