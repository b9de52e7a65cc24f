//! Maintenance of the whole repository between the steps of sessions: tags, expirations, collections, and an upgrade.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use futures::TryStreamExt;
use icefield_format::{SpecVersion, Update, UpdateKind};
use icefield_storage::Clock;

use super::hooks::{Acknowledged, Upkeep};
use super::interleaving::Run;
use super::model::Op;
use super::stage::{Commit, Stage, Writer, builder};
use crate::{CommitError, EditOutcome, SnapshotId, TagName, UpgradeOptions};

const MINUTE: Duration = Duration::from_secs(60);

impl Run {
    /// Lets time go on, and maybe does something to the repository; `true` if so.
    pub(super) async fn keep_up(&mut self, stage: &mut Stage, writers: &mut [Writer]) -> bool {
        let Some(upkeep) = stage.upkeep.clone() else {
            return false;
        };
        upkeep.clock().advance(self.below(60) as u32 * MINUTE);
        match self.below(18) {
            0 => self.expire(stage, &*upkeep).await,
            1 => self.collect(stage, &*upkeep, writers).await,
            2 => self.tag(stage).await,
            3 if self.spec == SpecVersion::V1 => self.upgrade(stage, &*upkeep).await,
            _ => return false,
        }
        self.check_history(stage).await;
        true
    }

    async fn expire(&mut self, stage: &mut Stage, upkeep: &dyn Upkeep) {
        self.faults(stage, false);
        let older_than = upkeep.clock().now() - self.below(12 * 60) as u32 * MINUTE;
        let expired = upkeep.expire(&stage.repository, older_than).await;
        expired.expect("nothing disturbs it");
        self.report.expirations += 1;
        self.report.released += stage.release(older_than);
        stage.log.expirations += 1;
    }

    async fn collect(&mut self, stage: &mut Stage, upkeep: &dyn Upkeep, writers: &mut [Writer]) {
        self.faults(stage, false);
        // The base of a session is collected with its last ref, and so are its chunks, once they are older than the floor.
        for writer in writers {
            if !stage.holds(writer, upkeep.floor()) {
                *writer = stage.open().await;
            }
        }
        let collected = upkeep.collect(&stage.repository).await;
        self.report.collections += 1;
        self.report.deleted += collected.expect("nothing disturbs it");
        stage.log.collections += 1;
    }

    async fn tag(&mut self, stage: &mut Stage) {
        self.faults(stage, false);
        let name = format!("t{}", stage.tags.len());
        let tip = stage.history.last().expect("never empty");
        let made = stage.repository.create_tag(&name, tip.id).await;
        assert!(matches!(made, Ok(EditOutcome::Done(_))), "{made:?}");
        let name = TagName::parse(&name).expect("a name");
        self.report.tags += 1;
        stage.log.tags.insert(name.clone());
        stage.tags.insert(name, (tip.id, tip.state.clone()));
    }

    /// Upgrades the repository under the sessions that are open.
    async fn upgrade(&mut self, stage: &mut Stage, upkeep: &dyn Upkeep) {
        self.faults(stage, false);
        let upgraded = builder(&stage.storage, Some(upkeep));
        let upgraded = upgraded.upgrade(&UpgradeOptions::default()).await;
        upgraded.expect("nothing disturbs it");
        let opened = builder(&stage.storage, Some(upkeep)).open().await;
        stage.repository = opened.expect("it was upgraded");
        self.spec = stage.repository.spec_version();
        assert_eq!(self.spec, SpecVersion::V2);
        self.report.upgrades += 1;
        // The log begins with what version 1 knows.
        let commits = stage.history.iter().map(|commit| commit.id);
        stage.log = Acknowledged {
            commits: commits.filter(|id| *id != SnapshotId::INITIAL).collect(),
            tags: std::mem::take(&mut stage.log.tags),
            migrations: 1,
            ..Acknowledged::default()
        };
    }

    /// Commits through a handle of version 1 after the upgrade, which must not be acknowledged.
    pub(super) async fn commit_under_an_upgrade(&mut self, stage: &Stage, writer: &Writer) {
        let outcome = writer.session.commit("edits").allow_empty().await;
        self.faults(stage, false);
        let is_refused = matches!(outcome, Err(CommitError::Upgraded));
        assert!(self.with_faults || is_refused, "{outcome:?}");
        self.report.upgraded_under += u64::from(is_refused);
        self.check_history(stage).await;
    }

    /// Collects all that is garbage now that no session is open, and looks at what is left.
    pub(super) async fn finish(&mut self, stage: &mut Stage) {
        let Some(upkeep) = stage.upkeep.clone() else {
            return;
        };
        upkeep.clock().advance(3 * upkeep.floor());
        self.collect(stage, &*upkeep, &mut []).await;
        self.check_history(stage).await;
        assert_eq!(upkeep.damage(&stage.inner).await, Vec::<String>::new());
        if self.spec == SpecVersion::V2 {
            stage.check_log().await;
        }
    }
}

impl Stage {
    /// Takes expired commits out of the history, and returns how many. What follows them is the net effect of all of them.
    fn release(&mut self, older_than: SystemTime) -> u64 {
        let tagged: BTreeSet<SnapshotId> = self.tags.values().map(|(id, _)| *id).collect();
        let last = self.history.len() - 1;
        let (mut released, mut between) = (0, 0);
        let mut kept: Vec<Commit> = Vec::new();
        for (number, mut commit) in std::mem::take(&mut self.history).into_iter().enumerate() {
            let is_young = commit.written_at >= older_than;
            if number > 0 && number < last && !is_young && !tagged.contains(&commit.id) {
                (released, between) = (released + 1, between + 1);
                continue;
            }
            if let (Some(before), 1..) = (kept.last(), between) {
                let (before, after) = (before.state.clone(), commit.state.clone());
                commit.ops = Some(vec![Op::Net(Box::new(before), Box::new(after))]);
            }
            between = 0;
            kept.push(commit);
        }
        self.history = kept;
        released
    }

    /// Whether all that a session needs outlives a collection.
    fn holds(&self, writer: &Writer, floor: Duration) -> bool {
        let is_young = writer.since.zip(self.now());
        let is_young = is_young.is_some_and(|(since, now)| now < since + floor);
        is_young && self.has_base(writer)
    }

    /// Checks that the operations log is whole and tells all that was acknowledged.
    async fn check_log(&self) {
        let repository = self.reopened().await;
        let log = repository.operations().await.expect("of version 2");
        let log: Vec<Update> = log.try_collect().await.expect("it is whole");
        let (mut found, mut began) = (Acknowledged::default(), 0);
        for update in &log {
            match &update.kind {
                UpdateKind::NewCommit { snapshot, .. } => {
                    assert!(found.commits.insert(*snapshot), "once: {snapshot}");
                }
                UpdateKind::CommitAmended { snapshot, .. } => {
                    assert!(found.amends.insert(*snapshot), "once: {snapshot}");
                }
                UpdateKind::TagCreated { name } => {
                    found.tags.insert(TagName::parse(name).expect("a name"));
                }
                UpdateKind::Expired => found.expirations += 1,
                UpdateKind::GarbageCollected => found.collections += 1,
                UpdateKind::RepoMigrated { .. } => found.migrations += 1,
                UpdateKind::RepoInitialized => began += 1,
                _ => {}
            }
        }
        let times = log
            .windows(2)
            .all(|pair| pair[0].updated_at > pair[1].updated_at);
        assert!(times, "times rise: {log:#?}");
        assert_eq!(
            log.last().map(|it| &it.kind),
            Some(&UpdateKind::RepoInitialized)
        );
        assert_eq!(began, 1);
        assert!(found.commits.is_superset(&self.log.commits), "{log:#?}");
        assert!(found.amends.is_superset(&self.log.amends), "{log:#?}");
        assert_eq!(found.tags, self.log.tags);
        assert_eq!(found.expirations, self.log.expirations);
        assert_eq!(found.collections, self.log.collections);
        assert_eq!(found.migrations, self.log.migrations);
    }
}
