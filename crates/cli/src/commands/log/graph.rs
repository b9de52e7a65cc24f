//! The histories of all refs as one graph: an order in which each snapshot comes after its children, and a line of strokes per
//! snapshot.

use std::collections::{BTreeMap, BinaryHeap};
use std::time::SystemTime;

use icefield::{SnapshotId, SnapshotInfo};

/// Sorts snapshots: newest first, but each after its children even if clocks were wrong.
pub(super) fn ordered(snapshots: Vec<SnapshotInfo>) -> Vec<SnapshotInfo> {
    let mut children: BTreeMap<SnapshotId, usize> = BTreeMap::new();
    for parent in snapshots.iter().filter_map(|it| it.parent_id) {
        *children.entry(parent).or_default() += 1;
    }
    let mut waiting: BTreeMap<SnapshotId, SnapshotInfo> =
        snapshots.into_iter().map(|it| (it.id, it)).collect();
    let key = |it: &SnapshotInfo| -> (SystemTime, SnapshotId) { (it.written_at, it.id) };
    let tips = waiting.values().filter(|it| !children.contains_key(&it.id));
    let mut ready: BinaryHeap<_> = tips.map(key).collect();
    let mut ordered = Vec::with_capacity(waiting.len());
    while let Some((_, id)) = ready.pop() {
        let Some(snapshot) = waiting.remove(&id) else {
            continue;
        };
        if let Some(parent) = snapshot.parent_id
            && let Some(left) = children.get_mut(&parent)
        {
            *left -= 1;
            if *left == 0 {
                ready.extend(waiting.get(&parent).map(key));
            }
        }
        ordered.push(snapshot);
    }
    ordered
}

/// Draws one snapshot after another.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// The snapshot that each lane leads down to; `None` if the lane is free.
    lanes: Vec<Option<SnapshotId>>,
}

impl Graph {
    /// Returns the strokes of the next snapshot: a line that joins the lanes of its children, if it has several, and its own
    /// line. The children must be drawn before.
    pub(super) fn draw(
        &mut self,
        id: SnapshotId,
        parent: Option<SnapshotId>,
    ) -> (Option<String>, String) {
        let mut leading = (0..self.lanes.len()).filter(|lane| self.lanes[*lane] == Some(id));
        let own = leading.next();
        let joined: Vec<usize> = leading.collect();
        let own = own.unwrap_or_else(|| self.free_lane());
        let join = joined.last().map(|last| {
            let strokes = (0..self.lanes.len()).map(|lane| {
                let is_between = own < lane && lane < *last;
                match &self.lanes[lane] {
                    _ if lane == own => "├─",
                    _ if lane == *last => "╯ ",
                    _ if joined.contains(&lane) => "┴─",
                    Some(_) if is_between => "│─",
                    None if is_between => "──",
                    Some(_) => "│ ",
                    None => "  ",
                }
            });
            strokes.collect::<String>().trim_end().to_owned()
        });
        for lane in joined {
            self.lanes[lane] = None;
        }
        self.lanes[own] = Some(id);
        let strokes = self
            .lanes
            .iter()
            .enumerate()
            .map(|(lane, leads)| match leads {
                _ if lane == own => "* ",
                Some(_) => "│ ",
                None => "  ",
            });
        let line = strokes.collect::<String>().trim_end().to_owned();
        self.lanes[own] = parent;
        while self.lanes.last().is_some_and(Option::is_none) {
            self.lanes.pop();
        }
        (join, line)
    }

    fn free_lane(&mut self) -> usize {
        let free = self.lanes.iter().position(Option::is_none);
        free.unwrap_or_else(|| {
            self.lanes.push(None);
            self.lanes.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn id(number: u8) -> SnapshotId {
        SnapshotId::from_bytes([number; 12])
    }

    /// Snapshots as (id, parent, seconds); 0 is no parent.
    fn snapshots(of: &[(u8, u8, u64)]) -> Vec<SnapshotInfo> {
        let snapshot = |&(number, parent, seconds): &(u8, u8, u64)| SnapshotInfo {
            id: id(number),
            parent_id: (parent > 0).then(|| id(parent)),
            written_at: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds),
            message: String::new(),
            metadata: BTreeMap::new(),
            pruned_logs: Vec::new(),
        };
        of.iter().map(snapshot).collect()
    }

    fn drawn(of: &[(u8, u8, u64)]) -> Vec<String> {
        let mut graph = Graph::default();
        let mut lines = Vec::new();
        for snapshot in ordered(snapshots(of)) {
            let (join, line) = graph.draw(snapshot.id, snapshot.parent_id);
            lines.extend(join);
            lines.push(format!("{line} {}", snapshot.id.as_bytes()[0]));
        }
        lines
    }

    #[test]
    fn one_history_is_one_line() {
        assert_eq!(
            drawn(&[(1, 0, 1), (2, 1, 2), (3, 2, 3)]),
            ["* 3", "* 2", "* 1"]
        );
    }

    #[test]
    fn branches_join_where_they_parted() {
        let drawn = drawn(&[(1, 0, 1), (2, 1, 2), (3, 2, 3), (4, 1, 4)]);
        assert_eq!(drawn, ["* 4", "│ * 3", "│ * 2", "├─╯", "* 1"]);
    }

    #[test]
    fn lines_pass_each_other_and_join_several_at_once() {
        let several = drawn(&[(1, 0, 1), (2, 1, 2), (3, 1, 3), (4, 1, 4)]);
        assert_eq!(several, ["* 4", "│ * 3", "│ │ * 2", "├─┴─╯", "* 1"]);
        let passing = drawn(&[(1, 0, 1), (2, 1, 2), (3, 2, 3), (4, 1, 4), (5, 2, 5)]);
        assert_eq!(
            passing,
            ["* 5", "│ * 4", "│ │ * 3", "├─│─╯", "* │ 2", "├─╯", "* 1"]
        );
    }

    #[test]
    fn a_lane_that_ended_is_used_again() {
        // Two histories that have nothing in common, one after the other.
        let drawn = drawn(&[(1, 0, 1), (2, 1, 2), (3, 0, 3), (4, 3, 4)]);
        assert_eq!(drawn, ["* 4", "* 3", "* 2", "* 1"]);
    }

    #[test]
    fn a_clock_that_was_wrong_puts_no_snapshot_above_those_that_follow_it() {
        let drawn = drawn(&[(1, 0, 9), (2, 1, 2), (3, 1, 3), (4, 3, 1)]);
        assert_eq!(drawn, ["* 2", "│ * 4", "│ * 3", "├─╯", "* 1"]);
    }
}
