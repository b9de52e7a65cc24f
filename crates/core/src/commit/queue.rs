//! Turns on a branch: writers of one process that would only make each other lose race after race wait for
//! each other instead.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use icefield_format::SnapshotId;
use icefield_refs::BranchName;
use tokio::sync::OwnedMutexGuard;

use crate::objects::Fresh;
use crate::repository::Shared;

/// Bytes, decoded, of what one line hands on.
const HANDED_ON: usize = 8 << 20;

/// What those who had their turn wrote, oldest first: those behind them need it to follow, and need not read
/// it back from the store.
#[derive(Debug, Default)]
struct Landed {
    commits: VecDeque<(SnapshotId, Fresh)>,
    bytes: usize,
}

type Line = tokio::sync::Mutex<Landed>;

/// By location and branch.
type Lines = HashMap<(String, BranchName), Weak<Line>>;

/// The branches on which somebody of this process is committing.
static LINES: PerProcess<GENERATIONS> = PerProcess::new();

/// As many processes of which each was forked from the one before, and committed before that, have lines. Behind them
/// nobody waits for a turn, and a branch that moved meanwhile is noticed as ever.
const GENERATIONS: usize = 32;

/// Lines by process. One that was forked has those of its parent in its memory, where nobody would ever leave them, and a
/// thread that is not there may hold their lock for ever: so it never touches them, and takes the next place without
/// waiting for anybody.
struct PerProcess<const N: usize>([Place; N]);

struct Place {
    /// The process that took the place; 0: none.
    process: AtomicU32,
    lines: Mutex<Option<Lines>>,
}

impl<const N: usize> PerProcess<N> {
    const fn new() -> Self {
        Self(
            [const {
                Place {
                    process: AtomicU32::new(0),
                    lines: Mutex::new(None),
                }
            }; N],
        )
    }

    /// Returns the lines of a process, `None` if there are too many processes behind one another.
    fn of(&self, process: u32) -> Option<&Mutex<Option<Lines>>> {
        let is_its = |place: &&Place| {
            let taken = &place.process;
            let was = taken.compare_exchange(0, process, Ordering::AcqRel, Ordering::Acquire);
            was.is_ok() || was == Err(process)
        };
        self.0.iter().find(is_its).map(|place| &place.lines)
    }

    /// Returns the line of a branch, a new one if nobody of the process waits there.
    fn line(&self, process: u32, key: (String, BranchName)) -> Arc<Line> {
        let Some(lines) = self.of(process) else {
            return Arc::default();
        };
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = lines.get_or_insert_default();
        if let Some(line) = lines.get(&key).and_then(Weak::upgrade) {
            return line;
        }
        lines.retain(|_, line| line.strong_count() > 0);
        let line = Arc::new(Line::default());
        lines.insert(key, Arc::downgrade(&line));
        line
    }
}

/// The right to move a branch, among the writers of this process, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn(OwnedMutexGuard<Landed>);

impl Turn {
    /// Waits for our turn on a branch, for a session based on `tip`. Fair: first come, first served.
    pub(super) async fn wait(shared: &Shared, branch: &BranchName, tip: SnapshotId) -> Self {
        let line = LINES.line(std::process::id(), (place(shared), branch.clone()));
        let turn = Self(line.lock_owned().await);
        let newest_first = turn.0.commits.iter().rev();
        for (_, fresh) in newest_first.take_while(|(id, _)| *id != tip) {
            shared.objects.adopt(fresh);
        }
        turn
    }

    /// Says whether somebody of this line has moved the branch on since it stood at `tip`. A hint: what is
    /// stored decides.
    pub(super) fn has_passed(&self, tip: SnapshotId) -> bool {
        self.0.commits.back().is_some_and(|(last, _)| *last != tip)
    }

    /// Ends our turn after a commit.
    pub(super) fn hand_on(mut self, snapshot: SnapshotId, fresh: Fresh) {
        let landed = &mut *self.0;
        landed.bytes += fresh.bytes();
        landed.commits.push_back((snapshot, fresh));
        while landed.bytes > HANDED_ON
            && let Some((_, oldest)) = landed.commits.pop_front()
        {
            landed.bytes -= oldest.bytes();
        }
    }
}

/// Says which store this is: by its place, or else as this very handle.
fn place(shared: &Shared) -> String {
    let place = shared.storage.place();
    place.unwrap_or_else(|| format!("{:p}", Arc::as_ptr(&shared.storage)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> (String, BranchName) {
        ("somewhere".to_owned(), BranchName::main())
    }

    #[test]
    fn writers_of_one_process_stand_in_one_line() {
        let lines = PerProcess::<2>::new();
        let (one, other) = (lines.line(7, key()), lines.line(7, key()));
        assert!(Arc::ptr_eq(&one, &other));
        assert!(!Arc::ptr_eq(&one, &lines.line(8, key())));
        drop((one, other));
        let elsewhere = ("elsewhere".to_owned(), BranchName::main());
        let _kept = lines.line(7, elsewhere);
        let of_seven = lines.of(7).expect("there is a place").lock();
        let count = of_seven.expect("sound").as_ref().map(HashMap::len);
        assert_eq!(count, Some(1), "lines that were left are forgotten");
    }

    /// What a child sees whose parent was forked while another thread of it looked for its line.
    #[test]
    fn a_child_does_not_wait_for_threads_of_its_parent() {
        let lines = PerProcess::<2>::new();
        let parents = lines.line(1, key());
        let _held = lines.of(1).expect("there is a place").lock();
        let (first, second) = (lines.line(2, key()), lines.line(2, key()));
        assert!(Arc::ptr_eq(&first, &second));
        assert!(!Arc::ptr_eq(&first, &parents));
        // Too many behind one another: each writer stands in a line of its own.
        let _held = lines.of(2).expect("there is a place").lock();
        assert!(lines.of(3).is_none());
        let (first, second) = (lines.line(3, key()), lines.line(3, key()));
        assert!(!Arc::ptr_eq(&first, &second));
    }
}
