//! Planted damages of what only spec version 2 has: `repo`, its earlier states, and logs that expiration keeps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use icefield_core::{BranchName, SnapshotId};
use icefield_format::{
    Availability, FeatureFlag, HEADER_LEN, MovedNode, NewRepoInfo, NewSnapshotInfo, NodeKind,
    OpsLog, RepoEdit, RepoInfo, RepoStatus, SpecVersion, UpdateKind, Writer, layout,
};
use icefield_maintenance::FindingKind::*;
use icefield_testkit::stores;

use super::damages::{Planted, judge};
use super::world::{World, path, set};

/// All damages that are planted here.
pub(super) const ALL: &[&str] = &[
    "repo is missing",
    "repo is empty",
    "repo is truncated",
    "repo has another magic",
    "repo has a byte that flipped",
    "repo is a snapshot",
    "repo is of another repository",
    "repo is of a new repository",
    "refs of version 1 are there, too",
    "a page of the log is missing",
    "a page of the log is damaged",
    "a page of the log is the log itself",
    "a page of the log is from later",
    "a named state is missing",
    "the log is ahead of the clock",
    "the log has an unknown update",
    "a flag is not known",
    "the repository is read-only",
    "the repository is offline",
    "the status is not known",
    "the configuration cannot be decoded",
    "the metadata cannot be decoded",
    "a tag is deleted, too",
    "a message is another",
    "a time is another",
    "a detached snapshot is missing",
    "a detached snapshot is truncated",
    "the log of an expired snapshot is missing",
    "the log of an expired snapshot is damaged",
    "the log of an expired snapshot is not named",
    "the first snapshot has no log",
    "a log keeps a move quiet",
    "a log tells of a move that never was",
];

fn alone(kind: icefield_maintenance::FindingKind, key: impl Into<String>) -> Planted {
    Planted(kind, key.into(), &[])
}

/// The newest backup lacks the last commit, which is named then.
fn unusable(kind: icefield_maintenance::FindingKind) -> Planted {
    Planted(kind, "repo".to_owned(), &[SnapshotUnlisted])
}

impl World {
    pub(super) async fn repo(&self) -> RepoInfo {
        let bytes = stores::read(&self.storage, "repo").await;
        RepoInfo::decode(&bytes, &self.limits()).expect("sound")
    }

    /// Replaces `repo` as an edit does, after a copy to `overwritten/`, and returns the key of that copy. `page` is how many
    /// entries the log may have.
    pub(super) async fn edit_repo(
        &self,
        seconds: u64,
        page: usize,
        edit: impl FnOnce(&mut RepoEdit),
    ) -> String {
        let before = stores::read(&self.storage, "repo").await;
        let mut next = self.repo().await.edit();
        let at = next.so_far().log().newest_at() + seconds * 1_000_000;
        let random = [at as u8; 12];
        let name = layout::overwritten_name("repo", at / 1000, random);
        edit(&mut next);
        let info = next.finish([(UpdateKind::ConfigChanged, at)], &name, page);
        let bytes = info.expect("fits").encode(&Writer::default());
        let key = layout::overwritten_key(&name);
        self.put(&key, before).await;
        self.put("repo", bytes.expect("encoded")).await;
        key
    }

    /// Lets expiration take out commit 2, and names the logs that it leaves.
    async fn expire_two(&self, pruned: &[SnapshotId]) {
        let (two, three, four) = (self.commits[1], self.commits[2], self.commits[3]);
        let parent = Some(self.commits[0]);
        let edit = |edit: &mut RepoEdit| {
            edit.reparent(three, parent, pruned).expect("listed");
            edit.reparent(four, parent, pruned).expect("listed");
            edit.retain_snapshots(|it| it.id() != two).expect("free");
        };
        self.edit_repo(1, 1000, edit).await;
        self.delete(&layout::snapshot_key(two)).await;
    }

    /// A snapshot that no ref reaches.
    async fn flushed(&self) -> String {
        let session = self.open().await.write_session(BranchName::main()).await;
        let session = session.expect("opens");
        set(&session, "/g/a", &[7], vec![7; 10]).await;
        let id = session.flush("aside").await.expect("flushed");
        layout::snapshot_key(id)
    }

    /// Replaces the first byte of the body of `repo` that lets it decode to something else, in so far as it should.
    async fn patch_byte(&self, from: u8, to: u8, is_right: impl Fn(&RepoInfo) -> bool) {
        let file = stores::read(&self.storage, "repo").await;
        let (header, body) = file.split_at(HEADER_LEN);
        let mut body = zstd::decode_all(body).expect("it is compressed");
        for at in (0..body.len())
            .filter(|at| body[*at] == from)
            .collect::<Vec<_>>()
        {
            body[at] = to;
            let packed = zstd::encode_all(&body[..], 3).expect("memory can be compressed");
            let changed = [header, &packed].concat();
            if RepoInfo::decode(&changed, &self.limits()).is_ok_and(|info| is_right(&info)) {
                return self.put("repo", changed).await;
            }
            body[at] = from;
        }
        panic!("no byte is the one");
    }
}

/// The state of another repository.
fn another(snapshots: &[u8], at: u64) -> Vec<u8> {
    let nothing = BTreeMap::new();
    let first = SnapshotId::INITIAL;
    let others = snapshots
        .iter()
        .map(|byte| SnapshotId::from_bytes([*byte; 12]));
    let snapshots: Vec<_> = std::iter::once(first)
        .chain(others)
        .zip(0..)
        .map(|(id, number)| NewSnapshotInfo {
            id,
            parent: (number > 0).then_some(first),
            flushed_at: 1_000_000 + number,
            message: "other",
            metadata: &nothing,
            pruned_ancestor_tx_logs: &[],
        })
        .collect();
    let tip = snapshots.last().expect("one").id;
    let info = RepoInfo::new(NewRepoInfo {
        snapshots,
        branches: BTreeMap::from([("main".to_owned(), tip)]),
        tags: BTreeMap::new(),
        deleted_tags: BTreeSet::new(),
        status: RepoStatus::online(0),
        metadata: BTreeMap::new(),
        config: None,
        log: OpsLog::new([(UpdateKind::RepoInitialized, at)]).expect("one entry"),
    });
    let bytes = info.expect("fits").encode(&Writer::default());
    bytes.expect("encoded").to_vec()
}

/// Plants one damage.
pub(super) async fn plant(what: &str, world: &World) -> Planted {
    match what {
        "repo is missing" => {
            world.delete("repo").await;
            unusable(RepoMissing)
        }
        "repo is empty" => {
            world.put("repo", "").await;
            unusable(RepoDamaged)
        }
        "repo is truncated" => {
            world.truncate("repo").await;
            unusable(RepoDamaged)
        }
        "repo has another magic" | "repo has a byte that flipped" => {
            let mut file = stores::read(&world.storage, "repo").await.to_vec();
            let at = match what {
                "repo has another magic" => 0,
                _ => HEADER_LEN + 2,
            };
            file[at] ^= 0x40;
            world.put("repo", file).await;
            unusable(RepoDamaged)
        }
        "repo is a snapshot" => {
            let file = stores::read(&world.storage, &world.snapshot_key(3)).await;
            world.put("repo", file).await;
            unusable(RepoDamaged)
        }
        "repo is of another repository" => {
            world.put("repo", another(&[1, 2], 5)).await;
            unusable(RepoForeign)
        }
        "repo is of a new repository" => {
            world.put("repo", another(&[], 5)).await;
            unusable(RepoForeign)
        }
        "refs of version 1 are there, too" => {
            let id = world.commits[0];
            let file = format!(r#"{{"snapshot":"{id}"}}"#);
            world.put("refs/branch.main/ref.json", file).await;
            alone(RefsBesideRepo, "refs")
        }
        "a page of the log is missing"
        | "a page of the log is damaged"
        | "a page of the log is the log itself"
        | "a page of the log is from later" => {
            world.edit_repo(1, 2, |_| {}).await;
            let info = world.repo().await;
            let page = info.log().continues_in().expect("it goes on");
            let page = layout::overwritten_key(page);
            match what {
                "a page of the log is missing" => world.delete(&page).await,
                "a page of the log is damaged" => world.put(&page, "x").await,
                "a page of the log is the log itself" => {
                    let file = stores::read(&world.storage, "repo").await;
                    world.put(&page, file).await;
                    return Planted(OpsLogBroken, page, &[OpsLogTimes]);
                }
                _ => {
                    let late = info.log().newest_at() + 5;
                    world.put(&page, another(&[1], late)).await;
                    return alone(OpsLogTimes, "repo");
                }
            }
            alone(OpsLogBroken, page)
        }
        "a named state is missing" => {
            let key = world.edit_repo(1, 1000, |_| {}).await;
            world.delete(&key).await;
            alone(BackupMissing, key)
        }
        "the log is ahead of the clock" => {
            world.edit_repo(3_000_000_000, 1000, |_| {}).await;
            alone(OpsLogAhead, "repo")
        }
        "the log has an unknown update" => {
            world.edit_repo(1, 1000, |_| {}).await;
            let is_right = |info: &RepoInfo| {
                let newest = info.log().updates().next().expect("one");
                newest.kind == UpdateKind::Unknown { tag: 77 }
            };
            // The number of a changed configuration.
            world.patch_byte(3, 77, is_right).await;
            alone(UpdateUnknown, "repo")
        }
        "a flag is not known" => {
            let flag = |edit: &mut RepoEdit| {
                edit.set_flag(FeatureFlag(99), Some(true));
            };
            world.edit_repo(1, 1000, flag).await;
            alone(FlagUnknown, "repo")
        }
        "the repository is read-only" | "the repository is offline" | "the status is not known" => {
            let status = RepoStatus {
                availability: match what {
                    "the repository is read-only" => Availability::ReadOnly,
                    "the repository is offline" => Availability::Offline,
                    _ => Availability::Unknown(9),
                },
                set_at: 1,
                reason: Some("moving house".to_owned()),
            };
            let edit = |edit: &mut RepoEdit| {
                edit.set_status(status);
            };
            world.edit_repo(1, 1000, edit).await;
            alone(RepoNotOnline, "repo")
        }
        "the configuration cannot be decoded" => {
            let config = world.repo().await.config_bytes().expect("stored").to_vec();
            let wrong = vec![0xFF; config.len()];
            world.patch("repo", &config, &wrong).await;
            alone(ConfigDamaged, "repo")
        }
        "the metadata cannot be decoded" => {
            let metadata = BTreeMap::from([("name".to_owned(), "QQQQ".into())]);
            let edit = |edit: &mut RepoEdit| {
                edit.set_metadata(&metadata).expect("fits");
            };
            world.edit_repo(1, 1000, edit).await;
            world.patch("repo", b"QQQQ", b"\xFF\xFF\xFF\xFF").await;
            alone(RepoMetadataDamaged, "repo")
        }
        "a tag is deleted, too" => {
            let id = world.commits[0];
            let edit = |edit: &mut RepoEdit| {
                edit.create_tag("olx", id).expect("new");
            };
            world.edit_repo(1, 1000, edit).await;
            world.patch("repo", b"olx\0", b"old\0").await;
            alone(TagDeletedToo, "repo")
        }
        "a message is another" => {
            world.patch("repo", b"three\0", b"drei!\0").await;
            alone(SnapshotDisagrees, world.snapshot_key(3))
        }
        "a time is another" => {
            world.edit_snapshot(3, |parts| parts.flushed_at += 1).await;
            alone(SnapshotDisagrees, world.snapshot_key(3))
        }
        "a detached snapshot is missing" => {
            let key = world.flushed().await;
            world.delete(&key).await;
            alone(DetachedBroken, key)
        }
        "a detached snapshot is truncated" => {
            let key = world.flushed().await;
            world.truncate(&key).await;
            alone(DetachedBroken, key)
        }
        "the log of an expired snapshot is missing" => {
            world.expire_two(&[world.commits[1]]).await;
            world.delete(&world.log_key(2)).await;
            alone(LogMissing, world.log_key(2))
        }
        "the log of an expired snapshot is damaged" => {
            world.expire_two(&[world.commits[1]]).await;
            world.truncate(&world.log_key(2)).await;
            alone(LogDamaged, world.log_key(2))
        }
        "the log of an expired snapshot is not named" => {
            world.expire_two(&[]).await;
            alone(LogIncomplete, world.log_key(3))
        }
        "the first snapshot has no log" => {
            let key = layout::transaction_log_key(SnapshotId::INITIAL);
            world.delete(&key).await;
            alone(LogMissing, key)
        }
        "a log keeps a move quiet" => {
            // The last one in order of paths, so that it stays the last.
            world
                .edit_snapshot(3, |parts| parts.node("/w").path = "/x".into())
                .await;
            alone(LogIncomplete, world.log_key(3))
        }
        "a log tells of a move that never was" => {
            let (a, w) = (world.node_of(3, "/g/a").await, world.node_of(3, "/w").await);
            let write = |log: &mut icefield_format::TransactionLogEncoder| {
                log.moved_nodes([MovedNode {
                    from: path("/w"),
                    to: path("/x"),
                    id: w,
                    kind: NodeKind::Array,
                }]);
                log.begin_chunks(a).expect("sorted");
                log.push_chunk(&[4]).expect("sorted");
            };
            world.write_log(3, write).await;
            alone(LogExcess, world.log_key(3))
        }
        other => panic!("the test has no damage called {other:?}"),
    }
}

#[tokio::test]
async fn every_planted_damage_of_version_2_is_found_and_its_object_named() {
    assert!(ALL.len() >= 20);
    let mut wrong = Vec::new();
    for what in ALL {
        let world = World::of(SpecVersion::V2).await;
        let planted = plant(what, &world).await;
        wrong.extend(judge(what, &world, planted).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn opening_names_where_a_configuration_that_cannot_be_decoded_is() {
    let world = World::of(SpecVersion::V2).await;
    plant("the configuration cannot be decoded", &world).await;
    let error = icefield_core::Repository::open(Arc::clone(&world.storage)).await;
    let said = error.unwrap_err().to_string();
    assert_eq!(
        said,
        "the field `config` of `repo` is not a valid configuration"
    );
}
