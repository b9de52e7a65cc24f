//! One interleaving.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use icefield_core::test_suite::walk::problems;
use icefield_core::{
    BasicSolver, BranchName, CommitOutcome, Conflict, ConflictSolver, Detector, EditOutcome,
    RebaseOutcome, Repository, Resolution, SeededEntropy, Session, SnapshotId, VersionSelection,
    WriteMode,
};
use icefield_format::SpecVersion;
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::{Plan, Rates};
use icefield_storage::{BoxError, Storage};
use icefield_storage_memory::MemoryStorage;

use super::model::{Model, Node, Op};
use crate::edits::path;

const STEPS: u64 = 60;
const GROUPS: [&str; 3] = ["/g", "/h", "/g/k"];
const ARRAYS: [&str; 4] = ["/a", "/g/a", "/g/k/b", "/h/b"];
const NAMES: [&str; 3] = ["x", "y", "z"];

/// What happened, in numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Report {
    pub(super) commits: u64,
    pub(super) rebased: u64,
    pub(super) conflicts: u64,
    pub(super) settled: u64,
    pub(super) unknown: u64,
    pub(super) moves: u64,
    pub(super) resets: u64,
    pub(super) amends: u64,
    pub(super) flushes: u64,
    /// Chunks that were erased where there was none, one by one.
    pub(super) erased: u64,
    /// Boxes that were erased and held such places.
    pub(super) boxes: u64,
    /// Conflicts of such an erasure with a chunk that another session wrote there.
    pub(super) erasures_met: u64,
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.commits += other.commits;
        self.rebased += other.rebased;
        self.conflicts += other.conflicts;
        self.settled += other.settled;
        self.unknown += other.unknown;
        self.moves += other.moves;
        self.resets += other.resets;
        self.amends += other.amends;
        self.flushes += other.flushes;
        self.erased += other.erased;
        self.boxes += other.boxes;
        self.erasures_met += other.erasures_met;
    }
}

/// One commit of the history as it should be.
#[derive(Clone, Debug)]
struct Commit {
    id: SnapshotId,
    state: Model,
    /// What its session did; `None` where a solver gave some of it up.
    ops: Option<Vec<Op>>,
}

/// A commit that was amended, as the sessions know it that were based on it.
#[derive(Clone, Debug)]
struct Amended {
    old: Commit,
    /// What stands in its place now.
    new: SnapshotId,
    /// What led there; `None` where a solver gave some of it up.
    ops: Option<Vec<Op>>,
}

/// One session and what the model knows of it.
#[derive(Debug)]
struct Writer {
    session: Session,
    opened_at: SnapshotId,
    /// The commit that it began with, by its place in the history.
    base: SnapshotId,
    ops: Vec<Op>,
    /// What it should show.
    view: Model,
    /// A solver has settled something: the operations do not say any more what comes of them.
    settled: bool,
    /// Where it erased chunks that were not there, and did nothing else since.
    erased: BTreeSet<(String, u32)>,
}

impl Writer {
    /// The chunks that an operation erases within the grid, though they are not there.
    fn absent(&self, op: &Op) -> Vec<(String, u32)> {
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
    fn note(&mut self, op: &Op, absent: Vec<(String, u32)>) {
        match op {
            Op::Chunk(at, index, _) => drop(self.erased.remove(&(at.clone(), *index))),
            Op::NoChunk(..) | Op::NoChunks(..) => self.erased.extend(absent),
            Op::SetAttribute(..) => {}
            _ => self.erased.clear(),
        }
    }

    /// Whether conflicts name a chunk that was erased where there was nothing.
    fn is_met(&self, conflicts: &[Conflict]) -> bool {
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

/// A solver that remembers whether it was asked.
#[derive(Clone, Debug)]
struct Asked(BasicSolver, Arc<AtomicBool>);

#[async_trait]
impl ConflictSolver for Asked {
    fn detector(&self) -> Detector {
        self.0.detector()
    }

    async fn solve(
        &self,
        conflict: &Conflict,
        ours: &Session,
        before: &Session,
        theirs: &Session,
    ) -> Result<Resolution, BoxError> {
        self.1.store(true, Ordering::Relaxed);
        self.0.solve(conflict, ours, before, theirs).await
    }
}

/// The state of one interleaving.
#[derive(Debug)]
pub(super) struct Run {
    seed: u64,
    random: SeededEntropy,
    with_faults: bool,
    spec: SpecVersion,
    report: Report,
}

struct Stage {
    seed: u64,
    storage: Arc<dyn Storage>,
    repository: Repository,
    /// Sessions opened so far.
    opened: u64,
    faulty: FaultyStorage,
    history: Vec<Commit>,
    amended: Vec<Amended>,
}

impl Run {
    pub(super) fn new(seed: u64, with_faults: bool, spec: SpecVersion) -> Self {
        Self {
            seed,
            random: SeededEntropy::new(seed),
            with_faults,
            spec,
            report: Report::default(),
        }
    }

    pub(super) async fn play(mut self) -> Report {
        let witness = Witness(self.seed, self.with_faults, self.spec);
        let inner: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let faulty = FaultyStorage::new(Arc::clone(&inner), Plan::none());
        let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
        let builder = Repository::builder(Arc::clone(&storage))
            .spec_version(self.spec)
            .entropy(Arc::new(SeededEntropy::new(self.seed)));
        let repository = builder.create().await.expect("an empty store");
        let first = Commit {
            id: SnapshotId::INITIAL,
            state: Model::default(),
            ops: Some(Vec::new()),
        };
        let mut stage = Stage {
            seed: self.seed,
            storage,
            repository,
            opened: 0,
            faulty,
            history: vec![first],
            amended: Vec::new(),
        };
        let mut writers = Vec::new();
        for _ in 0..2 + self.below(3) {
            writers.push(stage.open().await);
        }
        for _ in 0..STEPS {
            let number = self.below(writers.len() as u64) as usize;
            let writer = &mut writers[number];
            self.faults(&stage, true);
            match self.below(100) {
                0..=79 => self.edit(&stage, writer).await,
                80..=90 => {
                    let solver = self.solver();
                    if self.commit(&mut stage, writer, Some(solver)).await {
                        *writer = stage.open().await;
                    }
                }
                93 if self.spec > SpecVersion::V1 => {
                    if self.amend(&mut stage, writer).await {
                        *writer = stage.open().await;
                    }
                }
                91..=93 => {
                    if self.commit(&mut stage, writer, None).await {
                        *writer = stage.open().await;
                    }
                }
                94..=96 => self.rebase(&stage, writer).await,
                97 => *writer = stage.open().await,
                98 => {
                    if self.flush(&mut stage, writer).await {
                        *writer = stage.open().await;
                    }
                }
                _ => self.reset(&mut stage).await,
            }
        }
        self.faults(&stage, false);
        self.check_history(&inner, &stage).await;
        drop(witness);
        self.report
    }

    fn below(&self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn pick(&self, of: &[&'static str]) -> &'static str {
        of[self.below(of.len() as u64) as usize]
    }

    /// Switches the faults of the store on, if this run has any, or off.
    fn faults(&self, stage: &Stage, on: bool) {
        let rates = Rates {
            fail_before: 15,
            fail_after: 15,
            late: 10,
            ..Rates::default()
        };
        stage.faulty.set_plan(match on && self.with_faults {
            true => Plan::seeded(self.random.next_u64(), rates),
            false => Plan::none(),
        });
    }

    fn solver(&self) -> Asked {
        let choice = |number: u64| match number {
            0 => VersionSelection::UseOurs,
            1 => VersionSelection::UseTheirs,
            _ => VersionSelection::Fail,
        };
        // Half of the time nothing is given up.
        let spread = if self.below(2) == 0 { 1 } else { 3 };
        let mut solver = BasicSolver::default();
        for selection in [
            &mut solver.on_chunk_conflict,
            &mut solver.on_metadata_conflict,
            &mut solver.on_delete_of_updated_array,
            &mut solver.on_delete_of_updated_group,
            &mut solver.on_update_of_deleted,
            &mut solver.on_new_node,
        ] {
            *selection = match spread {
                1 => VersionSelection::Fail,
                _ => choice(self.below(3)),
            };
        }
        Asked(solver, Arc::default())
    }

    /// An operation, sensible or not.
    fn operation(&self, view: &Model) -> Op {
        let nodes: Vec<&String> = view.0.keys().collect();
        let any = || match nodes.is_empty() {
            true => "/g".to_owned(),
            false => nodes[self.below(nodes.len() as u64) as usize].clone(),
        };
        let arrays = view.0.iter().filter(|(_, node)| node.array.is_some());
        let arrays: Vec<&String> = arrays.map(|(path, _)| path).collect();
        let any_array = || match arrays.is_empty() {
            true => any(),
            false => arrays[self.below(arrays.len() as u64) as usize].clone(),
        };
        let attributes = || BTreeMap::from([("x".to_owned(), self.below(2))]);
        match self.below(22) {
            0..=2 => Op::Create(
                self.pick(&GROUPS),
                Node {
                    id: None,
                    attributes: attributes(),
                    array: None,
                },
            ),
            3..=5 => Op::Create(
                match self.below(12) {
                    0 => self.pick(&GROUPS),
                    _ => self.pick(&ARRAYS),
                },
                Node {
                    id: None,
                    attributes: attributes(),
                    array: Some((3 + self.below(3), BTreeMap::new())),
                },
            ),
            6 => Op::Delete(any()),
            7..=8 => Op::Resize(any(), 1 + self.below(8)),
            9..=11 => Op::SetAttribute(any(), self.pick(&NAMES), self.below(3)),
            12..=16 => Op::Chunk(any_array(), self.below(8) as u32, 1 + self.below(4) as u8),
            17..=19 => match self.below(3) {
                0 => {
                    let first = self.below(6) as u32;
                    Op::NoChunks(any_array(), first..first + 1 + self.below(4) as u32)
                }
                _ => Op::NoChunk(any_array(), self.below(8) as u32),
            },
            _ => {
                let to = match self.below(2) {
                    0 => self.pick(&GROUPS),
                    _ => self.pick(&ARRAYS),
                };
                Op::Move(any(), to)
            }
        }
    }

    async fn edit(&mut self, stage: &Stage, writer: &mut Writer) {
        let op = self.operation(&writer.view);
        let mut after = writer.view.clone();
        if let Op::Create(at, _) = &op
            && writer.view.0.contains_key(*at)
        {
            return;
        }
        if !after.apply(&op) {
            return;
        }
        let absent = writer.absent(&op);
        if after == writer.view && absent.is_empty() {
            return;
        }
        match perform(&writer.session, &op, &after).await {
            Ok(()) => {
                self.report.moves += u64::from(matches!(op, Op::Move(..)));
                let is_box = matches!(op, Op::NoChunks(..));
                self.report.boxes += u64::from(is_box && !absent.is_empty());
                self.report.erased += u64::from(!is_box && !absent.is_empty());
                writer.note(&op, absent);
                writer.view = after;
                writer.ops.push(op);
            }
            Err(error) => {
                assert!(self.with_faults, "{op:?} in {:?}: {error}", writer.view);
                self.faults(stage, false);
                assert_eq!(
                    Model::of(&writer.session).await,
                    writer.view,
                    "{op:?} failed"
                );
            }
        }
    }

    /// Commits; `true` if the session is at its end.
    async fn commit(
        &mut self,
        stage: &mut Stage,
        writer: &mut Writer,
        solver: Option<Asked>,
    ) -> bool {
        let mut commit = writer.session.commit("edits").allow_empty();
        let asked = solver.as_ref().map(|it| Arc::clone(&it.1));
        if let Some(solver) = solver {
            commit = commit.rebase_with(solver).tries(3);
        }
        let mut outcome = commit.await;
        while let Ok(CommitOutcome::Unknown { .. }) = outcome {
            self.report.unknown += 1;
            self.faults(stage, false);
            outcome = writer.session.resolve().await;
        }
        self.faults(stage, false);
        let asked = asked.is_some_and(|it| it.load(Ordering::Relaxed));
        match outcome {
            Ok(CommitOutcome::Committed(id)) => {
                let info = stage.repository.snapshot_info(id).await.expect("readable");
                let parent = info.parent_id.expect("not the first");
                let tip = stage.history.last().expect("never empty");
                assert_eq!(tip.id, parent, "the commit follows the tip");
                writer.settled |= asked;
                self.report.commits += 1;
                self.report.settled += u64::from(writer.settled);
                self.report.rebased += u64::from(writer.base != parent);
                let state = Model::of(&writer.session).await;
                stage.check(writer, &state);
                stage.check_erased(writer, &state);
                let ops = (!writer.settled).then(|| writer.ops.clone());
                stage.history.push(Commit { id, state, ops });
                true
            }
            Ok(CommitOutcome::Conflicts { conflicts, .. }) => {
                assert!(!conflicts.is_empty());
                self.report.conflicts += 1;
                self.report.erasures_met += u64::from(writer.is_met(&conflicts));
                self.resync(stage, writer, asked).await;
                self.below(2) == 0
            }
            Ok(_) => {
                self.resync(stage, writer, asked).await;
                false
            }
            Err(error) => {
                let text = format!("{error:?}");
                assert!(
                    self.with_faults || text.contains("BaseNotInHistory"),
                    "{text}"
                );
                self.resync(stage, writer, asked).await;
                true
            }
        }
    }

    /// Amends; `true` if the session is at its end.
    async fn amend(&mut self, stage: &mut Stage, writer: &mut Writer) -> bool {
        let mut outcome = writer.session.amend("edits").allow_empty().await;
        while let Ok(CommitOutcome::Unknown { .. }) = outcome {
            self.report.unknown += 1;
            self.faults(stage, false);
            outcome = writer.session.resolve().await;
        }
        self.faults(stage, false);
        match outcome {
            Ok(CommitOutcome::Committed(id)) => {
                self.report.amends += 1;
                let info = stage.repository.snapshot_info(id).await.expect("readable");
                let state = Model::of(&writer.session).await;
                stage.check(writer, &state);
                assert_eq!(state, writer.view, "it is based on what it amends");
                let old = stage.history.pop().expect("never empty");
                let parent = stage.history.last().map(|commit| commit.id);
                assert_eq!(parent, info.parent_id, "it takes the place of the tip");
                let ops = (!writer.settled).then(|| writer.ops.clone());
                let joined = |earlier: &Option<Vec<Op>>| {
                    let (earlier, ops) = (earlier.as_ref()?, ops.as_ref()?);
                    Some([earlier.as_slice(), ops].concat())
                };
                for it in stage.amended.iter_mut().filter(|it| it.new == old.id) {
                    it.ops = joined(&it.ops);
                    it.new = id;
                }
                let new = Commit {
                    id,
                    state,
                    ops: joined(&old.ops),
                };
                stage.amended.push(Amended { old, new: id, ops });
                stage.history.push(new);
                true
            }
            Ok(other) => {
                assert!(
                    matches!(other, CommitOutcome::BranchMoved { .. }),
                    "{other:?}"
                );
                assert_eq!(Model::of(&writer.session).await, writer.view, "as before");
                false
            }
            Err(error) => {
                let text = format!("{error:?}");
                let is_refused = text.contains("NoAmendOfFirst");
                assert!(self.with_faults || is_refused, "{text}");
                if is_refused {
                    assert_eq!(Model::of(&writer.session).await, writer.view, "as before");
                }
                !is_refused
            }
        }
    }

    /// Writes a snapshot that nothing points to, and lets the branch adopt it where it follows the tip; `true` if the session
    /// is at its end.
    async fn flush(&mut self, stage: &mut Stage, writer: &mut Writer) -> bool {
        let flushed = writer
            .session
            .flush_with("edits", BTreeMap::new(), true)
            .await;
        self.faults(stage, false);
        let state = Model::of(&writer.session).await;
        assert_eq!(state, writer.view, "it shows what was flushed");
        let id = match flushed {
            Ok(id) => id,
            Err(error) => {
                assert!(self.with_faults, "{error:?}");
                return true;
            }
        };
        self.report.flushes += 1;
        let info = stage.repository.snapshot_info(id).await.expect("readable");
        let tip = stage.history.last().expect("never empty").id;
        if info.parent_id != Some(tip) {
            return true;
        }
        let main = BranchName::main();
        let outcome = stage.repository.reset_branch(&main, id, Some(tip)).await;
        assert!(matches!(outcome, Ok(EditOutcome::Done(_))), "{outcome:?}");
        stage.check(writer, &state);
        let ops = (!writer.settled).then(|| writer.ops.clone());
        stage.history.push(Commit { id, state, ops });
        true
    }

    async fn rebase(&mut self, stage: &Stage, writer: &mut Writer) {
        let solver = self.solver();
        let outcome = writer.session.rebase(&solver).await;
        self.faults(stage, false);
        let asked = solver.1.load(Ordering::Relaxed);
        match outcome {
            Ok(RebaseOutcome::Conflicts { conflicts, .. }) => {
                self.report.conflicts += 1;
                self.report.erasures_met += u64::from(writer.is_met(&conflicts));
                assert_eq!(Model::of(&writer.session).await, writer.view, "as before");
            }
            Ok(_) => self.resync(stage, writer, asked).await,
            Err(error) => {
                let text = format!("{error:?}");
                assert!(
                    self.with_faults || text.contains("BaseNotInHistory"),
                    "{text}"
                );
                assert_eq!(Model::of(&writer.session).await, writer.view, "as before");
            }
        }
    }

    /// Sees what a session shows after it may have been rebased.
    async fn resync(&self, stage: &Stage, writer: &mut Writer, asked: bool) {
        let now = Model::of(&writer.session).await;
        writer.settled |= asked;
        if now == writer.view {
            return;
        }
        stage.check(writer, &now);
        let tip = stage.history.last().expect("never empty");
        if writer.session.snapshot_id().is_ok_and(|id| id == tip.id) {
            writer.base = tip.id;
            let (before, after) = (Box::new(tip.state.clone()), Box::new(now.clone()));
            writer.ops = vec![Op::Net(before, after)];
        }
        writer.view = now;
    }

    async fn reset(&mut self, stage: &mut Stage) {
        self.faults(stage, false);
        let keep = 1 + self.below(stage.history.len() as u64) as usize;
        let target = stage.history[keep - 1].id;
        let main = BranchName::main();
        let outcome = stage.repository.reset_branch(&main, target, None).await;
        assert!(matches!(outcome, Ok(EditOutcome::Done(_))), "{outcome:?}");
        stage.history.truncate(keep);
        self.report.resets += 1;
    }

    async fn check_history(&self, inner: &Arc<dyn Storage>, stage: &Stage) {
        let repository = Repository::open(Arc::clone(inner)).await.expect("exists");
        let session = repository
            .read_session(BranchName::main())
            .await
            .expect("exists");
        let mut next = Some(session.snapshot_id().expect("sound"));
        for commit in stage.history.iter().rev() {
            assert_eq!(next, Some(commit.id), "no commit is lost or doubled");
            let info = repository.snapshot_info(commit.id).await.expect("readable");
            next = info.parent_id;
        }
        assert_eq!(next, None);
        let last = stage.history.last().expect("never empty");
        assert_eq!(Model::of(&session).await, last.state);
        if self.seed.is_multiple_of(16) {
            assert_eq!(problems(inner).await, Vec::<String>::new());
        }
    }
}

impl Stage {
    /// Every other session has a handle of its own, which has nothing in memory yet.
    async fn open(&mut self) -> Writer {
        self.faulty.set_plan(Plan::none());
        self.opened += 1;
        let repository = match self.opened % 2 {
            0 => self.repository.clone(),
            _ => {
                let seed = self.seed ^ (self.opened << 32);
                let builder = Repository::builder(Arc::clone(&self.storage));
                let opened = builder.entropy(Arc::new(SeededEntropy::new(seed))).open();
                opened.await.expect("it is there")
            }
        };
        let session = repository.write_session(BranchName::main()).await;
        let tip = self.history.last().expect("never empty");
        Writer {
            session: session.expect("main exists"),
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
    fn check_erased(&self, writer: &Writer, found: &Model) {
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
    fn check(&self, writer: &Writer, found: &Model) {
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

/// What a session did, step by step or in its net effect: what it created and deleted again never was.
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

/// Does to a session what the model was told.
async fn perform(session: &Session, op: &Op, after: &Model) -> Result<(), String> {
    let text = |error: icefield_core::SessionError| format!("{error:?}");
    match op {
        Op::Net(..) => Ok(()),
        Op::Create(at, _) => set_document(session, at, after).await,
        Op::Resize(at, _) | Op::SetAttribute(at, ..) => set_document(session, at, after).await,
        Op::Delete(at) => session.delete_node(&path(at)).await.map(drop).map_err(text),
        Op::Chunk(at, index, value) => {
            // Some are inline, some in an object.
            let length = if index % 2 == 0 { 600 } else { 6 };
            let bytes = vec![*value; length].into();
            let (at, index) = (path(at), [*index]);
            let wrote = session
                .set_chunk(&at, &index, bytes, WriteMode::Overwrite)
                .await;
            wrote.map(drop).map_err(text)
        }
        Op::NoChunk(at, index) => {
            let deleted = session.delete_chunk(&path(at), &[*index]).await;
            deleted.map_err(text)
        }
        Op::NoChunks(at, within) => {
            let within = [within.clone()];
            let deleted = session.delete_chunks(&path(at), &within).await;
            deleted.map(drop).map_err(text)
        }
        Op::Move(from, to) => session
            .move_node(&path(from), &path(to))
            .await
            .map_err(text),
    }
}

async fn set_document(session: &Session, at: &str, after: &Model) -> Result<(), String> {
    let document = after.0[at].document().into();
    let wrote = session
        .set_metadata(&path(at), document, WriteMode::Overwrite)
        .await;
    wrote.map(drop).map_err(|error| format!("{error:?}"))
}

/// Says which interleaving failed.
struct Witness(u64, bool, SpecVersion);

impl Drop for Witness {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "FAILED: interleaving of seed {}, faults: {}, version {}",
                self.0, self.1, self.2
            );
        }
    }
}
