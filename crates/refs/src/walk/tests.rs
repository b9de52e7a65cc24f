use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use futures::FutureExt;
use futures::stream::TryStreamExt;
use icefield_format::SnapshotId;
use icefield_storage::Key;

use super::*;
use crate::Histories;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("nothing waits in memory")
}

fn id(number: u16) -> SnapshotId {
    let mut bytes = [0; 12];
    bytes[..2].copy_from_slice(&number.to_be_bytes());
    SnapshotId::from_bytes(bytes)
}

/// Snapshots with their parents and times; a round of reads is what is polled together.
#[derive(Debug, Default)]
struct Drawn {
    parents: BTreeMap<SnapshotId, Option<SnapshotId>>,
    reads: Mutex<Vec<SnapshotId>>,
    guesses: Vec<SnapshotId>,
    held: BTreeSet<SnapshotId>,
}

impl Drawn {
    /// A line of so many snapshots, the first of which is number 0.
    fn line(length: u16) -> Self {
        let parents = (0..length).map(|at| (id(at), at.checked_sub(1).map(id)));
        Self {
            parents: parents.collect(),
            ..Self::default()
        }
    }

    fn with(mut self, child: u16, parent: u16) -> Self {
        self.parents.insert(id(child), Some(id(parent)));
        self
    }

    fn info(&self, id: SnapshotId) -> Option<SnapshotInfo> {
        let number = u16::from_be_bytes([id.as_bytes()[0], id.as_bytes()[1]]);
        Some(SnapshotInfo {
            id,
            parent_id: *self.parents.get(&id)?,
            written_at: SystemTime::UNIX_EPOCH + Duration::from_secs(number.into()),
            message: String::new(),
            metadata: BTreeMap::new(),
            pruned_logs: Vec::new(),
        })
    }

    fn reads(&self) -> usize {
        self.reads
            .lock()
            .expect("no holder of the lock panics")
            .len()
    }
}

impl Graph for Drawn {
    type Node = SnapshotInfo;
    type Error = RefsError;

    async fn read(&self, id: SnapshotId) -> Result<SnapshotInfo, RefsError> {
        self.reads
            .lock()
            .expect("no holder of the lock panics")
            .push(id);
        self.info(id).ok_or_else(|| {
            let key = Key::parse("snapshots/x").expect("a key");
            let (what, id) = ("snapshot", id.to_string());
            FetchError::Missing { what, id, key }.into()
        })
    }

    fn held(&self, id: SnapshotId) -> Option<SnapshotInfo> {
        self.held.contains(&id).then(|| self.info(id))?
    }

    async fn guess(&self) -> Vec<SnapshotId> {
        self.guesses.clone()
    }
}

fn collected(
    stream: impl Stream<Item = Result<SnapshotInfo, RefsError>>,
) -> Result<Vec<SnapshotId>, RefsError> {
    block_on(stream.map_ok(|info| info.id).try_collect())
}

fn numbers(range: impl Iterator<Item = u16>) -> Vec<SnapshotId> {
    range.map(id).collect()
}

#[test]
fn a_history_is_walked_newest_first_and_read_as_far_as_it_is_asked_for() {
    let line = Drawn::line(50);
    let walk = ancestors(&line, id(49), Pace::together(1));
    assert_eq!(collected(walk).expect("sound"), numbers((0..50).rev()));
    let line = Drawn::line(50);
    let walk = Box::pin(ancestors(&line, id(49), Pace::together(1)));
    let two = futures::StreamExt::take(walk, 2);
    assert_eq!(collected(two).expect("sound").len(), 2);
    assert_eq!(line.reads(), 2);
}

#[test]
fn a_history_that_comes_upon_itself_ends_with_an_error() {
    let circle = Drawn::line(5).with(0, 3);
    let walk = ancestors(&circle, id(4), Pace::long());
    let error = collected(walk).expect_err("it goes round");
    assert!(
        matches!(error, RefsError::Cycle(at) if at == id(3)),
        "{error}"
    );
    let mut all = Histories::new(&circle, Pace::long());
    all.follow(id(4));
    block_on(all.read()).expect("each is read once");
    let error = all.parents_first([id(4)]).expect_err("it goes round");
    assert!(matches!(error, RefsError::Cycle(_)), "{error}");
    assert_eq!(all.of(id(4)).count(), 5);
}

#[test]
fn guesses_are_read_ahead_and_parents_decide() {
    let mut line = Drawn::line(100);
    line.guesses = (0..100).rev().map(id).collect();
    line.guesses.insert(0, id(777));
    let mut walk = HistoryWalk::new(&line, Pace::long());
    walk.go(id(99));
    let (mut found, mut rounds) = (Vec::new(), 0);
    while let Some((at, node)) = block_on(walk.next()) {
        found.push(at);
        walk.go(node.expect("sound").parent_id.unwrap_or(at));
        rounds = walk.rounds;
    }
    assert_eq!(found, numbers((0..100).rev()));
    assert_eq!(rounds, 16 + 84_usize.div_ceil(16));
    assert_eq!(line.reads(), 101);
}

#[test]
fn a_way_ends_before_its_base_which_is_not_read() {
    let mut line = Drawn::line(100);
    line.guesses = (0..100).rev().map(id).collect();
    let found = collected(way(&line, id(99), id(40))).expect("sound");
    assert_eq!(found, numbers((41..100).rev()));
    assert_eq!(line.reads(), 59, "nothing older is guessed");
    assert_eq!(collected(way(&line, id(7), id(7))).expect("sound"), []);
    let error = collected(way(&line, id(7), id(50))).expect_err("it is younger");
    assert!(matches!(error, RefsError::NotInHistory { .. }), "{error}");
}

#[test]
fn what_is_held_is_not_read() {
    let mut line = Drawn::line(10);
    line.held = (3..8).map(id).collect();
    let found = collected(ancestors(&line, id(9), Pace::long())).expect("sound");
    assert_eq!(found.len(), 10);
    assert_eq!(line.reads(), 5);
}

#[test]
fn a_snapshot_reaches_itself_and_its_ancestors() {
    let line = Drawn::line(10).with(20, 4).with(21, 20);
    let asked = |of, what| block_on(reaches(&line, id(of), id(what)));
    assert!(asked(9, 9).expect("sound") && asked(9, 0).expect("sound"));
    assert!(asked(21, 4).expect("sound"));
    assert!(!asked(21, 5).expect("sound"));
    assert!(asked(30, 30).expect("nothing is read"));
    assert!(asked(30, 3).is_err(), "it does not exist");
}

#[test]
fn two_histories_meet_where_they_went_apart_or_were_joined() {
    let tree = Drawn::line(10).with(20, 4).with(21, 20).with(30, 9);
    let meet = |joined: fn(&SnapshotInfo) -> Vec<SnapshotId>| {
        block_on(meeting_point(&tree, id(30), id(21), joined))
    };
    assert_eq!(meet(|_| Vec::new()).expect("sound"), Some(id(4)));
    let joined = |info: &SnapshotInfo| match info.id == id(30) {
        true => vec![id(20), id(99)],
        false => Vec::new(),
    };
    assert_eq!(meet(joined).expect("the joined one is gone"), Some(id(20)));
    let apart = Drawn::line(3).with(20, 20);
    let none = block_on(meeting_point(&apart, id(2), id(20), |_| Vec::new()));
    assert_eq!(none.expect("sound"), None);
}

#[test]
fn histories_are_cut_to_the_depth_that_the_nearest_tip_allows() {
    let tree = Drawn::line(10).with(20, 6);
    let mut all = Histories::new(&tree, Pace::long()).depth(3);
    all.follow(id(9));
    block_on(all.read()).expect("sound");
    assert_eq!(all.parents_first([id(9)]).expect("sound"), numbers(7..10));
    all.follow(id(20));
    block_on(all.read()).expect("sound");
    let found: BTreeSet<_> = all.ids().collect();
    assert_eq!(found, BTreeSet::from_iter((5..10).chain([20]).map(id)));
    all.follow(id(8));
    block_on(all.read()).expect("sound");
    assert_eq!(all.len(), 6, "it came by with more left");
    let mut ended = Histories::new(&tree, Pace::long()).until(|at| *at == id(4));
    ended.follow(id(20));
    ended.follow(id(3));
    block_on(ended.read()).expect("sound");
    let found = ended.parents_first([id(3), id(20)]).expect("sound");
    let expected = [0, 1, 2, 3, 5, 6, 20].map(id);
    assert_eq!(found, expected);
}
