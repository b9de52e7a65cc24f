//! The scheduler: one step of one task at a time, in an order that a seed decides.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures::future::BoxFuture;
use icefield_storage::SeededEntropy;

use crate::time::WorldTime;
use crate::trace::Trace;

/// Steps of a run, at most: more are a loop that makes no progress.
const MOST_STEPS: u64 = 5_000_000;
/// The longest time of a step, in microseconds.
const LONGEST_STEP_US: u64 = 2_000;

/// The end of a task; the error is a rule that does not hold, in words.
pub(crate) type Ended = Result<(), String>;

struct Awake(AtomicBool);

impl Wake for Awake {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A task that can be started anew.
pub(crate) struct Task {
    pub(crate) name: String,
    /// Begins the work; the number says how often it has begun before.
    pub(crate) begin: Box<dyn Fn(u32) -> BoxFuture<'static, Ended> + Send>,
    pub(crate) control: Arc<Control>,
    /// Whether the run waits for its end.
    pub(crate) counts: bool,
}

/// The switches by which disruptions act on a task.
#[derive(Debug, Default)]
pub(crate) struct Control {
    pub(crate) is_down: AtomicBool,
    pub(crate) is_paused: AtomicBool,
}

struct Running {
    task: Task,
    work: Option<BoxFuture<'static, Ended>>,
    awake: Arc<Awake>,
    begun: u32,
    is_done: bool,
}

impl Running {
    fn begin(&mut self) {
        self.work = Some((self.task.begin)(self.begun));
        self.begun += 1;
        self.awake.0.store(true, Ordering::SeqCst);
    }

    fn can_run(&self) -> bool {
        self.work.is_some()
            && self.awake.0.load(Ordering::SeqCst)
            && !self.task.control.is_paused.load(Ordering::SeqCst)
    }
}

/// Runs tasks until all that count have ended.
///
/// # Errors
/// The first rule that does not hold; tasks that nothing will wake; steps without end.
pub(crate) fn run(tasks: Vec<Task>, seed: u64, world: &WorldTime, trace: &Trace) -> Ended {
    let dice = SeededEntropy::new(seed ^ 0x0005_C4ED_u64);
    let begin = |task| {
        let mut running = Running {
            task,
            work: None,
            awake: Arc::new(Awake(AtomicBool::new(true))),
            begun: 0,
            is_done: false,
        };
        running.begin();
        running
    };
    let mut all: Vec<Running> = tasks.into_iter().map(begin).collect();
    for _ in 0..MOST_STEPS {
        for running in all.iter_mut().filter(|it| !it.is_done) {
            let is_down = running.task.control.is_down.load(Ordering::SeqCst);
            match (is_down, running.work.is_some()) {
                (true, true) => {
                    trace.note(world.elapsed(), || format!("{} dies", running.task.name));
                    running.work = None;
                }
                (false, false) => {
                    trace.note(world.elapsed(), || {
                        format!("{} starts again", running.task.name)
                    });
                    running.begin();
                }
                _ => {}
            }
        }
        if all.iter().all(|it| it.is_done || !it.task.counts) {
            return Ok(());
        }
        let ready: Vec<usize> = (0..all.len()).filter(|at| all[*at].can_run()).collect();
        if ready.is_empty() {
            if world.advance() {
                continue;
            }
            let stuck = all.iter().filter(|it| !it.is_done && it.task.counts);
            let stuck: Vec<_> = stuck.map(|it| it.task.name.as_str()).collect();
            return Err(format!(
                "nothing wakes these any more: {}",
                stuck.join(", ")
            ));
        }
        let running = &mut all[ready[dice.below(ready.len() as u64) as usize]];
        world.pass(Duration::from_micros(1 + dice.below(LONGEST_STEP_US)));
        running.awake.0.store(false, Ordering::SeqCst);
        let waker = Waker::from(Arc::clone(&running.awake));
        let Some(work) = running.work.as_mut() else {
            continue;
        };
        if let Poll::Ready(ended) = work.as_mut().poll(&mut Context::from_waker(&waker)) {
            let name = &running.task.name;
            trace.note(world.elapsed(), || format!("{name} ends: {ended:?}"));
            ended.map_err(|rule| format!("{name}: {rule}"))?;
            running.work = None;
            running.is_done = true;
        }
    }
    Err(format!("no end after {MOST_STEPS} steps"))
}
