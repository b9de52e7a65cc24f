//! The model's state of a repository and of the sessions that write to it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

use icefield_format::SpecVersion;
use icefield_refs::SnapshotInfo;
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::Plan;
use icefield_storage::{Clock, SeededEntropy, Storage};

use super::hooks::{Acknowledged, Upkeep};
use super::model::{Model, Op};
use crate::{
    BranchName, Conflict, PackSettings, Repository, RepositoryBuilder, Session, Settings,
    SnapshotId, TagName,
};

/// One commit of the history as it should be.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    pub(super) id: SnapshotId,
    pub(super) written_at: SystemTime,
    pub(super) state: Model,
    /// The edits of its session; `None` where a solver gave some of them up.
    pub(super) ops: Option<Vec<Op>>,
}

/// A commit that was amended, as the sessions know it that were based on it.
#[derive(Clone, Debug)]
pub(super) struct Amended {
    pub(super) old: Commit,
    /// The snapshot in its place now.
    pub(super) new: SnapshotId,
    /// The edits that led there; `None` where a solver gave some of them up.
    pub(super) ops: Option<Vec<Op>>,
}

/// One session and what the model knows of it.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) session: Session,
    /// The version of its handle of the repository.
    pub(super) spec: SpecVersion,
    /// When it was opened, by the clock of the upkeep.
    pub(super) since: Option<SystemTime>,
    pub(super) opened_at: SnapshotId,
    /// The commit that it began with, by its place in the history.
    pub(super) base: SnapshotId,
    pub(super) ops: Vec<Op>,
    /// The expected contents.
    pub(super) view: Model,
    /// A solver has settled something: the operations do not say any more what comes of them.
    pub(super) settled: bool,
    /// Where it erased chunks that were not there, and did nothing else since.
    pub(super) erased: BTreeSet<(String, u32)>,
}

impl Writer {
    /// The chunks that an operation erases within the grid, though they are not there.
    pub(super) fn absent(&self, op: &Op) -> Vec<(String, u32)> {
        let Some((at, within)) = op.erases() else {
            return Vec::new();
        };
        let array = self.view.0.get(at).and_then(|node| node.array.as_ref());
        let absent = |index: &u32| {
            array.is_some_and(|(length, chunks)| {
                u64::from(*index) < *length && !chunks.contains_key(index)
            })
        };
        let absent = within.filter(absent);
        absent.map(|index| (at.to_owned(), index)).collect()
    }

    /// Remembers what was erased where there was nothing, as long as that says where it is.
    pub(super) fn note(&mut self, op: &Op, absent: Vec<(String, u32)>) {
        match op {
            Op::Chunk(at, index, _) => drop(self.erased.remove(&(at.clone(), *index))),
            Op::NoChunk(..) | Op::NoChunks(..) => self.erased.extend(absent),
            Op::SetAttribute(..) => {}
            _ => self.erased.clear(),
        }
    }

    /// Whether conflicts name a chunk that was erased where there was nothing.
    pub(super) fn is_met(&self, conflicts: &[Conflict]) -> bool {
        let double = conflicts
            .iter()
            .filter(|it| matches!(it, Conflict::ChunkDoubleUpdate { .. }));
        double.into_iter().any(|conflict| {
            let at = conflict.path().to_string();
            let mut chunks = conflict.chunks().into_iter().flatten();
            chunks.any(|index| self.erased.contains(&(at.clone(), index[0])))
        })
    }
}

/// The repository, and what it should show.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) seed: u64,
    /// The store without its faults.
    pub(super) inner: Arc<dyn Storage>,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) faulty: FaultyStorage,
    pub(super) upkeep: Option<Arc<dyn Upkeep>>,
    pub(super) repository: Repository,
    /// Sessions opened so far.
    pub(super) opened: u64,
    pub(super) history: Vec<Commit>,
    pub(super) amended: Vec<Amended>,
    /// Each tag with what it shows.
    pub(super) tags: BTreeMap<TagName, (SnapshotId, Model)>,
    pub(super) log: Acknowledged,
}

/// Begins to open or create a repository at a store, on the clock of the upkeep if there is one.
pub(super) fn builder(
    storage: &Arc<dyn Storage>,
    upkeep: Option<&dyn Upkeep>,
) -> RepositoryBuilder {
    let builder = Repository::builder(Arc::clone(storage));
    match upkeep {
        Some(upkeep) => builder.clock(Arc::new(upkeep.clock().clone())),
        None => builder,
    }
}

impl Stage {
    /// The time by the clock of the upkeep.
    pub(super) fn now(&self) -> Option<SystemTime> {
        self.upkeep.as_ref().map(|it| it.clock().now())
    }

    /// Takes a commit that has landed down.
    pub(super) fn push(&mut self, info: &SnapshotInfo, state: Model, ops: Option<Vec<Op>>) {
        self.history.push(Commit {
            id: info.id,
            written_at: info.written_at,
            state,
            ops,
        });
    }

    /// Whether an error comes of a base that is in no history any more, by a reset or an expiration.
    pub(super) fn is_lost(&self, writer: &Writer, error: &str) -> bool {
        let has_expired = self.upkeep.is_some() && !self.has_base(writer);
        has_expired || error.contains("BaseNotInHistory")
    }

    /// Whether the branch has the base of a session.
    pub(super) fn has_base(&self, writer: &Writer) -> bool {
        let base = writer.session.snapshot_id();
        base.is_ok_and(|base| self.history.iter().any(|commit| commit.id == base))
    }

    /// Opens the repository as another process would, on the store without faults.
    pub(super) async fn reopened(&self) -> Repository {
        let builder = builder(&self.inner, self.upkeep.as_deref());
        builder.open().await.expect("it is there")
    }

    /// Every other session has a handle of its own, which has nothing in memory yet.
    pub(super) async fn open(&mut self) -> Writer {
        self.faulty.set_plan(Plan::none());
        self.opened += 1;
        let repository = match self.opened % 2 {
            0 => self.repository.clone(),
            _ => {
                let seed = self.seed ^ (self.opened << 32);
                let builder = builder(&self.storage, self.upkeep.as_deref());
                // Some of them write packs.
                let packs = match self.opened % 4 {
                    1 => PackSettings::default()
                        .with_threshold(u32::MAX)
                        .with_size(1800)
                        .with_buffered_bytes(3600),
                    _ => PackSettings::default(),
                };
                let builder = builder.settings(Settings::default().with_packs(packs));
                let opened = builder.entropy(Arc::new(SeededEntropy::new(seed))).open();
                opened.await.expect("it is there")
            }
        };
        let session = repository.write_session(BranchName::main()).await;
        let tip = self.history.last().expect("never empty");
        Writer {
            session: session.expect("main exists"),
            spec: repository.spec_version(),
            since: self.now(),
            opened_at: tip.id,
            base: tip.id,
            ops: Vec::new(),
            view: tip.state.clone(),
            settled: false,
            erased: BTreeSet::new(),
        }
    }

    /// Checks that a commit shows no chunk where its session erased: one that another session wrote there meanwhile would
    /// have been a conflict, unless that session erased it, too, or did more to the array than to write chunks.
    pub(super) fn check_erased(&self, writer: &Writer, found: &Model) {
        if writer.settled {
            return;
        }
        let others: Vec<&[Op]> = match self.history.iter().position(|it| it.id == writer.opened_at)
        {
            Some(base) => (self.history[base + 1..].iter())
                .map(|commit| commit.ops.as_deref().unwrap_or(&[]))
                .collect(),
            None => return,
        };
        let only_writes = |op: &Op| matches!(op, Op::Chunk(..) | Op::SetAttribute(..));
        if !others
            .iter()
            .all(|ops| !ops.is_empty() && ops.iter().all(only_writes))
        {
            return;
        }
        for (at, index) in &writer.erased {
            let array = found.0.get(at).and_then(|node| node.array.as_ref());
            let chunk = array.and_then(|(_, chunks)| chunks.get(index));
            assert_eq!(chunk, None, "{at} {index} was erased: {:?}", writer.ops);
        }
    }

    /// Returns a commit and those that followed it. Of one that was amended, what stands in its place follows it.
    fn since(&self, base: SnapshotId) -> Option<Vec<Commit>> {
        let position = |id| self.history.iter().position(|commit| commit.id == id);
        if let Some(base) = position(base) {
            return Some(self.history[base..].to_vec());
        }
        let amended = self.amended.iter().find(|it| it.old.id == base)?;
        let new = position(amended.new)?;
        let mut chain = vec![amended.old.clone()];
        chain.extend_from_slice(&self.history[new..]);
        chain[1].ops.clone_from(&amended.ops);
        Some(chain)
    }

    /// Checks that a state is what comes of a session's operations at some place among those of the commits
    /// since its base.
    pub(super) fn check(&self, writer: &Writer, found: &Model) {
        let Some(chain) = self.since(writer.base) else {
            // The branch was reset to before the session's base, which ends it.
            return;
        };
        let missed = &chain[1..];
        if writer.settled || missed.iter().any(|commit| commit.ops.is_none()) {
            Self::check_settled(writer, &chain, found);
            return;
        }
        let mut before = chain[0].state.clone();
        let mut edits = vec![Edits::Ops(&writer.ops)];
        // Some may have been done only after a rebase.
        if let Some(after) = before.apply_all(&writer.ops) {
            edits.push(Edits::Net(before.clone(), after));
        }
        let mut tried = Vec::new();
        for place in 0..=missed.len() {
            // The others step by step, or, where they were rebased themselves, as what they made of their tip.
            for (edits, stepwise) in edits.iter().flat_map(|it| [(it, true), (it, false)]) {
                let mut state = edits.on(&before);
                for (number, later) in missed.iter().enumerate().skip(place) {
                    let ops = later.ops.as_deref().unwrap_or_default();
                    let tip = &chain[number].state;
                    state = state.and_then(|state| match stepwise {
                        true => state.apply_all(ops),
                        false => state.apply_net(tip, &later.state),
                    });
                }
                if state.as_ref() == Some(found) {
                    return;
                }
                tried.push(state);
            }
            if let Some(commit) = missed.get(place) {
                before.clone_from(&commit.state);
            }
        }
        // A rebase may have stopped on the way: then it shows an older tip.
        for older in chain.iter().take(missed.len()) {
            let shown = older.state.apply_all(&writer.ops);
            if shown.as_ref() == Some(found) {
                return;
            }
        }
        panic!(
            "not serial: {found:#?}\nfrom {:#?}\nops {:#?}\nmissed {:#?}\ntried {tried:#?}",
            chain[0].state, writer.ops, missed
        );
    }

    /// Checks that nothing is there that neither side wrote.
    fn check_settled(writer: &Writer, chain: &[Commit], found: &Model) {
        let sources: Vec<&Model> = chain
            .iter()
            .map(|commit| &commit.state)
            .chain([&writer.view])
            .collect();
        let value_known = |index: &u32, value: &u8| {
            sources.iter().any(|model| {
                let mut arrays = model.0.values().filter_map(|node| node.array.as_ref());
                arrays.any(|(_, chunks)| chunks.get(index) == Some(value))
            })
        };
        for (at, node) in &found.0 {
            let known = sources.iter().any(|model| model.0.contains_key(at));
            let moved = writer.ops.iter().any(|op| matches!(op, Op::Move(..)));
            assert!(known || moved, "{at} is of neither side");
            for (index, value) in node.array.iter().flat_map(|array| &array.1) {
                assert!(value_known(index, value), "{at} {index} is of neither side");
            }
        }
    }
}

/// The edits of a session, step by step or as their net effect, in which a node that is created and deleted again does not occur.
enum Edits<'a> {
    Ops(&'a [Op]),
    Net(Model, Model),
}

impl Edits<'_> {
    fn on(&self, state: &Model) -> Option<Model> {
        match self {
            Self::Ops(ops) => state.apply_all(ops),
            Self::Net(before, after) => state.apply_net(before, after),
        }
    }
}
