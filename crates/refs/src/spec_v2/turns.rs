//! Turns of the handles that one process has on one place: handles that lose races to each other write one after the other.
//!
//! A turn is a hint, and hands nothing from one handle to another: what is stored decides every race. A handle that has not
//! lost a race lately writes without one, and no handle waits for another for longer than [`LONGEST`].

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures::future::{Either, select};
use futures::lock::{Mutex, MutexGuard};
use icefield_storage::{Clock, PerProcess, Storage};

/// The longest that a handle waits: the one that has the turn may hang on its store.
const LONGEST: Duration = Duration::from_millis(500);

/// Writes that a handle makes in turn after a lost race.
const WRITES: u32 = 32;

type Line = Mutex<()>;

/// By place.
type Lines = PerProcess<String, Weak<Line>>;

/// The places whose `repo` handles of this process write in turn.
static LINES: Lines = PerProcess::new();

/// The state of a handle in the line of its place.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Writes that are still made in turn.
    left: AtomicU32,
    /// None where the store does not name its place.
    line: OnceLock<Option<Arc<Line>>>,
}

/// The right to write, among the handles that take turns, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    _held: MutexGuard<'a, ()>,
}

/// Returns the line of a place, which lasts while a handle has it; `None` where a process has no table.
fn line(lines: &Lines, process: u32, place: String) -> Option<Arc<Line>> {
    lines.with(process, |lines| {
        if let Some(line) = lines.get(&place).and_then(Weak::upgrade) {
            return line;
        }
        lines.retain(|_, line| line.strong_count() > 0);
        let line = Arc::default();
        lines.insert(place, Arc::downgrade(&line));
        line
    })
}

impl Turns {
    /// Notes that another handle, of this or another process, was faster.
    pub(super) fn note_lost_race(&self) {
        self.left.store(WRITES, Ordering::Relaxed);
    }

    /// Waits for a turn. None where the handle has lost no race lately, or has waited for long enough.
    pub(super) async fn next(&self, storage: &dyn Storage, clock: &dyn Clock) -> Option<Turn<'_>> {
        let one_less = |left: u32| left.checked_sub(1);
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        self.left.fetch_update(set, fetch, one_less).ok()?;
        let own = || line(&LINES, std::process::id(), storage.place()?);
        let line = self.line.get_or_init(own).as_ref()?;
        if let Some(held) = line.try_lock() {
            return Some(Turn { _held: held });
        }
        match select(line.lock(), clock.sleep(LONGEST)).await {
            Either::Left((held, _)) => Some(Turn { _held: held }),
            Either::Right(_) => None,
        }
    }
}
