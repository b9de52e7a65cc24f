//! Random histories, with expirations, collections, sessions that stay open and slow readers in between.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::TryStreamExt;
use icefield_core::{
    BranchName, ByteRange, CommitError, CommitOutcome, SeededEntropy, Session, SessionError,
    SnapshotId, TagName,
};
use icefield_format::{ChunkRef, layout};
use icefield_maintenance::{Collect, Expire, Policy};
use icefield_testkit::stores;

use super::collect;
use crate::world::*;

struct Play {
    world: World,
    random: SeededEntropy,
    /// Open sessions, and whether each has slept for longer than the floor.
    sessions: Vec<(Session, String)>,
    readers: Vec<Session>,
    /// All snapshots that were ever made.
    made: Vec<SnapshotId>,
    names: u64,
    committed: u64,
    deleted: u64,
    expired: u64,
}

impl Play {
    fn below(&self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    async fn branches(&self) -> Vec<String> {
        let refs = self.world.repository.refs().await.expect("refs");
        refs.branches.keys().map(ToString::to_string).collect()
    }

    async fn any_branch(&self) -> String {
        let branches = self.branches().await;
        branches[self.below(branches.len())].clone()
    }

    async fn step(&mut self) {
        let world = &self.world;
        match self.below(22) {
            0..=4 => {
                let branch = self.any_branch().await;
                let chunk = (self.below(100) as u32, self.random.next_u64());
                let id = world.commit_chunks(&branch, &[chunk]).await;
                self.made.push(id);
            }
            5 => {
                let target = self.made[self.below(self.made.len())];
                self.names += 1;
                let made = world
                    .repository
                    .create_branch(&format!("b{}", self.names), target)
                    .await;
                // It may have been collected.
                drop(made);
            }
            6 => {
                let branch = self.any_branch().await;
                if branch != "main" {
                    let name = BranchName::parse(&branch).expect("a name");
                    drop(
                        world
                            .repository
                            .delete_branch(&name)
                            .await
                            .expect("deleted"),
                    );
                }
            }
            7 => {
                let name = BranchName::parse(&self.any_branch().await).expect("a name");
                let target = self.made[self.below(self.made.len())];
                drop(world.repository.reset_branch(&name, target, None).await);
            }
            8 => {
                let target = self.made[self.below(self.made.len())];
                self.names += 1;
                drop(
                    world
                        .repository
                        .create_tag(&format!("t{}", self.names), target)
                        .await,
                );
            }
            9 => {
                let refs = world.repository.refs().await.expect("refs");
                let tags: Vec<TagName> = refs.tags.into_keys().collect();
                if !tags.is_empty() {
                    let name = &tags[self.below(tags.len())];
                    drop(world.repository.delete_tag(name).await.expect("deleted"));
                }
            }
            10 => {
                let branch = self.any_branch().await;
                self.sessions.push((world.session(&branch).await, branch));
            }
            11..=13 if !self.sessions.is_empty() => {
                let (session, _) = &self.sessions[self.below(self.sessions.len())];
                write(session, self.below(100) as u32, self.random.next_u64()).await;
            }
            14 if !self.sessions.is_empty() => {
                let (session, _) = self.sessions.swap_remove(self.below(self.sessions.len()));
                world.clock.advance(Duration::from_secs(1));
                match session.commit("late").allow_empty().await {
                    Ok(CommitOutcome::Committed(id)) => {
                        self.made.push(id);
                        self.committed += 1;
                    }
                    Ok(CommitOutcome::BranchMoved { .. })
                    | Err(CommitError::Session(
                        SessionError::Collected { .. } | SessionError::Fetch(_),
                    )) => {}
                    other => panic!("{other:?}"),
                }
            }
            15 => {
                let branch = self.any_branch().await;
                let name = BranchName::parse(&branch).expect("a name");
                let reader = world.repository.read_session(name).await;
                self.readers.push(reader.expect("a reader"));
            }
            16 if !self.readers.is_empty() => {
                let reader = self.readers.swap_remove(self.below(self.readers.len()));
                slowly(&reader).await;
            }
            18 => {
                let now = icefield_core::Clock::now(&world.clock);
                let mut policy = Policy::default();
                match self.below(3) {
                    0 => policy.last = 1 + self.below(4) as u64,
                    1 => policy.daily = 1 + self.below(3) as u64,
                    _ => {}
                }
                let hours = [2, 12, 48][self.below(3)];
                policy.older_than = Some(now - HOUR * hours);
                let expire = Expire::new(policy)
                    .delete_expired_branches(self.below(3) == 0)
                    .delete_expired_tags(self.below(3) == 0);
                expire.run(&world.repository, &()).await.expect("expired");
                self.expired += 1;
            }
            17 => {
                // Marks in few runs, and in many.
                let buffered = [2, 20, 1 << 20][self.below(3)];
                let collect = Collect::default().buffered(buffered);
                let report = collect.run(&world.repository).await.expect("collected");
                self.deleted += report.total().deleted;
                world.everything_is_there("after a collection").await;
            }
            _ => {
                let hours = [1, 3, 10, 30][self.below(4)];
                world.clock.advance(HOUR * hours);
            }
        }
    }
}

/// Reads chunk by chunk: right bytes, or an error that says what is missing.
async fn slowly(reader: &Session) {
    let chunks = reader.chunks(&array()).expect("an array");
    let chunks: Result<Vec<_>, _> = chunks.try_collect().await;
    let chunks = match chunks {
        Ok(chunks) => chunks,
        Err(SessionError::Fetch(_)) => return,
        Err(error) => panic!("{error:?}"),
    };
    for chunk in chunks {
        match reader.chunk(&array(), &chunk.index, ByteRange::All).await {
            Ok(Some(bytes)) => assert_eq!(bytes.len(), 600),
            Err(SessionError::ChunkMissing { .. } | SessionError::Fetch(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// The keys of everything that the refs reach.
async fn reachable(world: &World) -> BTreeSet<String> {
    let repository = world.open_on(&world.storage, 98).await;
    let mut keys = BTreeSet::new();
    let refs = repository.refs().await.expect("refs");
    for tip in refs.branches.into_values().chain(refs.tags.into_values()) {
        let history = repository.ancestry(tip.expect("a tip"));
        for info in history.try_collect::<Vec<_>>().await.expect("a history") {
            keys.insert(layout::snapshot_key(info.id));
            keys.insert(layout::transaction_log_key(info.id));
            let snapshot = repository.snapshot(info.id).await.expect("a snapshot");
            for file in snapshot.manifest_files() {
                keys.insert(layout::manifest_key(file.id));
                let manifest = repository.manifest(file.id).await.expect("a manifest");
                for refs in manifest.arrays() {
                    for position in 0..refs.len() {
                        let chunk = refs.record_at(position).chunk_ref().expect("a reference");
                        if let ChunkRef::Native { id, .. } = chunk {
                            keys.insert(layout::chunk_key(id));
                        }
                    }
                }
            }
        }
    }
    keys
}

#[tokio::test]
async fn what_is_reachable_stays_and_what_is_not_goes_after_a_quiet_run() {
    let (mut committed, mut deleted, mut expired) = (0, 0, 0);
    for seed in 0..80 {
        let world = World::new(1000 + seed).await;
        let mut play = Play {
            made: vec![world.tip("main").await],
            world,
            random: SeededEntropy::new(seed),
            sessions: Vec::new(),
            readers: Vec::new(),
            names: 0,
            committed: 0,
            deleted: 0,
            expired: 0,
        };
        for _ in 0..80 {
            play.step().await;
        }
        committed += play.committed;
        deleted += play.deleted;
        expired += play.expired;
        drop(play.sessions);
        let world = play.world;
        world.everything_is_there("at the end").await;
        // Leases die, and all garbage becomes old.
        world.clock.advance(5 * DAY);
        collect(&world).await;
        let reachable = reachable(&world).await;
        let stored: BTreeSet<String> = (stores::keys(&world.storage).await.into_iter())
            .filter(|key| layout::parse_id_key(key).is_some())
            .filter(|key| key != "snapshots/1CECHNKREP0F1RSTCMT0")
            .collect();
        let initial = |key: &&String| key.as_str() != "snapshots/1CECHNKREP0F1RSTCMT0";
        // The first snapshot may have no log.
        let missing: Vec<&String> = (reachable.difference(&stored))
            .filter(initial)
            .filter(|key| !key.ends_with("1CECHNKREP0F1RSTCMT0"))
            .collect();
        assert!(missing.is_empty(), "seed {seed}: {missing:?}");
        let left: Vec<&String> = (stored.difference(&reachable))
            .filter(|key| !key.ends_with("1CECHNKREP0F1RSTCMT0"))
            .collect();
        assert!(left.is_empty(), "seed {seed}: {left:?}");
        let again = Collect::default().whole(true).run(&world.repository).await;
        assert_eq!(again.expect("collected").total().deleted, 0, "seed {seed}");
    }
    println!(
        "{committed} late commits, {expired} expirations, {deleted} objects deleted on the way"
    );
    assert!(
        committed > 20 && deleted > 300 && expired > 100,
        "{committed} {deleted} {expired}"
    );
}
