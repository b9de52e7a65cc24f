//! Turns on a branch: writers of one process that would only make each other lose race after race wait for
//! each other instead.

use std::collections::{HashMap, VecDeque};
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

/// By process, location and branch. A process that was forked has the lines of its parent in its memory, and nobody who
/// would ever leave them.
type Lines = HashMap<(u32, String, BranchName), Weak<Line>>;

/// The branches on which somebody of this process is committing.
static LINES: Mutex<Option<Lines>> = Mutex::new(None);

/// The right to move a branch, among the writers of this process, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn(OwnedMutexGuard<Landed>);

impl Turn {
    /// Waits for our turn on a branch, for a session based on `tip`. Fair: first come, first served.
    pub(super) async fn wait(shared: &Shared, branch: &BranchName, tip: SnapshotId) -> Self {
        let line = {
            let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
            let lines = lines.get_or_insert_default();
            let key = (std::process::id(), place(shared), branch.clone());
            match lines.get(&key).and_then(Weak::upgrade) {
                Some(line) => line,
                None => {
                    lines.retain(|_, line| line.strong_count() > 0);
                    let line = Arc::new(Line::default());
                    lines.insert(key, Arc::downgrade(&line));
                    line
                }
            }
        };
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
