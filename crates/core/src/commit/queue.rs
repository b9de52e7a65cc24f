//! Turns on a branch: writers of one process that would only make each other lose race after race wait for
//! each other instead.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use icefield_format::SnapshotId;
use icefield_refs::BranchName;
use icefield_storage::PerProcess;
use tokio::sync::OwnedMutexGuard;

use crate::objects::Fresh;
use crate::repository::Shared;

/// Bytes, decoded, of what one line hands on.
const HANDED_ON: usize = 8 << 20;

/// The objects of writers that had their turn, oldest first. The writers behind them need these objects to follow,
/// and need not read them back from the store.
#[derive(Debug, Default)]
struct Landed {
    commits: VecDeque<(SnapshotId, Fresh)>,
    bytes: usize,
}

type Line = tokio::sync::Mutex<Landed>;

/// By place and branch.
type Lines = PerProcess<(String, BranchName), Weak<Line>>;

/// The branches on which this process is committing.
static LINES: Lines = PerProcess::new();

/// Returns the line of a branch, a new one if no writer of the process waits there. Where a process has no table, its writers do
/// not wait for a turn, and a branch that moved meanwhile is noticed as ever.
fn line(lines: &Lines, process: u32, key: (String, BranchName)) -> Arc<Line> {
    let found = lines.with(process, |lines| {
        if let Some(line) = lines.get(&key).and_then(Weak::upgrade) {
            return line;
        }
        lines.retain(|_, line| line.strong_count() > 0);
        let line = Arc::new(Line::default());
        lines.insert(key, Arc::downgrade(&line));
        line
    });
    found.unwrap_or_default()
}

/// The right to move a branch, among the writers of this process, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn(OwnedMutexGuard<Landed>);

impl Turn {
    /// Waits for our turn on a branch, for a session based on `tip`. Fair: first come, first served.
    pub(super) async fn wait(shared: &Shared, branch: &BranchName, tip: SnapshotId) -> Self {
        let key = (place(shared), branch.clone());
        let line = line(&LINES, std::process::id(), key);
        let turn = Self(line.lock_owned().await);
        let newest_first = turn.0.commits.iter().rev();
        for (_, fresh) in newest_first.take_while(|(id, _)| *id != tip) {
            shared.objects.adopt(fresh);
        }
        turn
    }

    /// Returns whether a writer of this line has moved the branch on since it stood at `tip`. A hint: what is
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
        let lines = Lines::new();
        let (one, other) = (line(&lines, 7, key()), line(&lines, 7, key()));
        assert!(Arc::ptr_eq(&one, &other));
        assert!(!Arc::ptr_eq(&one, &line(&lines, 8, key())));
        drop((one, other));
        let elsewhere = ("elsewhere".to_owned(), BranchName::main());
        let _kept = line(&lines, 7, elsewhere);
        let count = lines.with(7, |lines| lines.len());
        assert_eq!(count, Some(1), "lines that were left are forgotten");
    }
}
