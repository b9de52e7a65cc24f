//! One interleaving.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use icefield_format::SpecVersion;
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::Plan;
use icefield_storage::{BoxError, SeededEntropy, Storage};

use super::hooks::{Acknowledged, Upkeep};
use super::interleaving::{Report, Run};
use super::model::{Model, Node, Op};
use super::perform::perform;
use super::stage::{Amended, Commit, Stage, Writer, builder};
use crate::{
    BasicSolver, BranchName, CommitOutcome, Conflict, ConflictSolver, Detector, EditOutcome,
    RebaseOutcome, Resolution, Session, SnapshotId, VersionSelection,
};

const STEPS: u64 = 60;
const GROUPS: [&str; 3] = ["/g", "/h", "/g/k"];
const ARRAYS: [&str; 4] = ["/a", "/g/a", "/g/k/b", "/h/b"];
const NAMES: [&str; 3] = ["x", "y", "z"];

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

impl Run {
    pub(super) async fn play(
        mut self,
        inner: Arc<dyn Storage>,
        upkeep: Option<Arc<dyn Upkeep>>,
    ) -> Report {
        let witness = Witness(self.seed, self.with_faults, self.spec);
        let faulty = FaultyStorage::new(Arc::clone(&inner), Plan::none());
        let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
        let builder = builder(&storage, upkeep.as_deref())
            .spec_version(self.spec)
            .entropy(Arc::new(SeededEntropy::new(self.seed)));
        let repository = builder.create().await.expect("an empty store");
        let first = repository.snapshot_info(SnapshotId::INITIAL).await;
        let first = Commit {
            id: SnapshotId::INITIAL,
            written_at: first.expect("readable").written_at,
            state: Model::default(),
            ops: Some(Vec::new()),
        };
        let mut stage = Stage {
            seed: self.seed,
            inner,
            storage,
            faulty,
            upkeep,
            repository,
            opened: 0,
            history: vec![first],
            amended: Vec::new(),
            tags: BTreeMap::new(),
            log: Acknowledged::default(),
        };
        let mut writers = Vec::new();
        for _ in 0..2 + self.below(3) {
            writers.push(stage.open().await);
        }
        for _ in 0..STEPS {
            if stage.upkeep.is_some() && self.keep_up(&mut stage, &mut writers).await {
                continue;
            }
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
                91.. if writer.spec < self.spec => {
                    self.commit_under_an_upgrade(&stage, writer).await;
                    *writer = stage.open().await;
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
        drop(writers);
        self.check_history(&stage).await;
        self.finish(&mut stage).await;
        drop(witness);
        self.report
    }

    fn pick(&self, of: &[&'static str]) -> &'static str {
        of[self.below(of.len() as u64) as usize]
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
        if writer.spec < self.spec {
            self.commit_under_an_upgrade(stage, writer).await;
            return true;
        }
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
                stage.log.commits.insert(id);
                stage.push(&info, state, ops);
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
                assert!(self.with_faults || stage.is_lost(writer, &text), "{text}");
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
                let all = joined(&old.ops);
                stage.amended.push(Amended { old, new: id, ops });
                stage.log.amends.insert(id);
                stage.push(&info, state, all);
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
                let is_lost = stage.upkeep.is_some() && !stage.has_base(writer);
                assert!(self.with_faults || is_refused || is_lost, "{text}");
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
                let text = format!("{error:?}");
                let is_lost = stage.upkeep.is_some() && !stage.has_base(writer);
                assert!(self.with_faults || is_lost, "{text}");
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
        stage.push(&info, state, ops);
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
                assert!(self.with_faults || stage.is_lost(writer, &text), "{text}");
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
