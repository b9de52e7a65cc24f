use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use flatbuffers::{FlatBufferBuilder, WIPOffset};
use proptest::prelude::*;
use serde_json::json;

use super::edit::NewRepoInfo;
use super::*;
use crate::envelope::{DecodeLimits, FileKind, IDENTIFIER, SpecVersion, Writer};
use crate::error::{FormatFile, SortedList};

fn id(byte: u8) -> SnapshotId {
    SnapshotId::from_bytes([byte; 12])
}

fn decode(file: &[u8]) -> Result<RepoInfo, FormatError> {
    RepoInfo::decode(file, &DecodeLimits::default())
}

fn again(info: &RepoInfo) -> RepoInfo {
    decode(&info.encode(&Writer::default()).unwrap()).unwrap()
}

fn snapshot(
    byte: u8,
    parent: Option<u8>,
    metadata: &BTreeMap<String, Value>,
) -> NewSnapshotInfo<'_> {
    NewSnapshotInfo {
        id: id(byte),
        parent: parent.map(id),
        flushed_at: u64::from(byte),
        message: "é message",
        metadata,
        pruned_ancestor_tx_logs: &[],
    }
}

/// A repository with the snapshot 5 alone.
fn first() -> RepoInfo {
    let metadata = BTreeMap::from([("__icechunk".to_owned(), json!({"is_root": true}))]);
    RepoInfo::new(NewRepoInfo {
        snapshots: vec![snapshot(5, None, &metadata)],
        branches: BTreeMap::from([("main".to_owned(), id(5))]),
        tags: BTreeMap::new(),
        deleted_tags: BTreeSet::new(),
        status: RepoStatus::online(5),
        metadata: BTreeMap::new(),
        config: None,
        log: OpsLog::new([(UpdateKind::RepoInitialized, 5)]).unwrap(),
    })
    .unwrap()
}

fn commit(info: &RepoInfo, byte: u8, parent: u8, at: u64) -> RepoInfo {
    let metadata = BTreeMap::from([("n".to_owned(), json!(byte))]);
    let mut edit = info.edit();
    edit.add_snapshot(snapshot(byte, Some(parent), &metadata))
        .unwrap();
    edit.set_branch("main", id(byte)).unwrap();
    let (branch, snapshot) = ("main".to_owned(), id(byte));
    let update = UpdateKind::NewCommit { branch, snapshot };
    edit.finish([(update, at)], &format!("backup-{at}"), 1000)
        .unwrap()
}

fn times(log: &OpsLog) -> Vec<(u64, Option<&str>)> {
    log.updates()
        .map(|it| (it.updated_at, it.backup.as_deref()))
        .collect()
}

#[test]
fn a_new_snapshot_moves_the_places_of_others_and_no_parents() {
    // Ids before, between and after those that are there.
    let mut info = first();
    for (at, (byte, parent)) in (10..).zip([(9, 5), (2, 9), (7, 2), (1, 7)]) {
        info = again(&commit(&info, byte, parent, at));
    }
    let parents: Vec<_> = (info.snapshots().snapshots())
        .map(|it| (it.id(), it.parent_id()))
        .collect();
    let expected = [
        (1, Some(7)),
        (2, Some(9)),
        (5, None),
        (7, Some(2)),
        (9, Some(5)),
    ];
    let expected = expected.map(|(byte, parent): (u8, Option<u8>)| (id(byte), parent.map(id)));
    assert_eq!(parents, expected);
    let ancestry: Vec<_> = info
        .snapshots()
        .ancestry(&id(1))
        .map(|it| it.id())
        .collect();
    assert_eq!(ancestry, [1, 7, 2, 9, 5].map(id));
    assert_eq!(info.branch("main"), Some(id(1)));
    let newest = info.snapshots().get(&id(1)).unwrap();
    assert_eq!(
        newest.metadata(1000).unwrap(),
        BTreeMap::from([("n".to_owned(), json!(1))])
    );
    assert_eq!((newest.message(), newest.flushed_at()), ("é message", 1));
}

#[test]
fn expiration_gives_other_parents_and_collection_takes_snapshots_out() {
    let info = commit(&commit(&commit(&first(), 6, 5, 10), 4, 6, 11), 8, 4, 12);
    let mut edit = info.edit();
    let gone = |it: SnapshotInfo<'_>| ![id(4), id(6)].contains(&it.id());
    let error = edit.retain_snapshots(gone).unwrap_err();
    assert!(
        matches!(error, RepoEditError::ParentOfKept { parent, child }
        if parent == id(4) && child == id(8))
    );
    edit.reparent(id(8), Some(id(5)), &[id(6), id(4)]).unwrap();
    edit.retain_snapshots(gone).unwrap();
    let info = edit.finish([(UpdateKind::Expired, 13)], "b", 1000).unwrap();
    let info = again(&info);
    let tip = info.snapshots().get(&id(8)).unwrap();
    assert_eq!(tip.parent_id(), Some(id(5)));
    assert_eq!(
        tip.pruned_ancestor_tx_logs().collect::<Vec<_>>(),
        [id(6), id(4)]
    );
    let root = info.snapshots().get(&id(5)).unwrap();
    assert_eq!(root.pruned_ancestor_tx_logs().len(), 0);
    let mut edit = info.edit();
    let error = edit.retain_snapshots(|it| it.id() != id(8)).unwrap_err();
    assert!(
        matches!(error, RepoEditError::Named { snapshot, name } if snapshot == id(8) && name == "main")
    );
    let error = edit.reparent(id(5), Some(id(8)), &[]).unwrap_err();
    assert!(matches!(error, RepoEditError::OwnAncestor(of) if of == id(5)));
    let error = edit.reparent(id(5), Some(id(5)), &[]).unwrap_err();
    assert!(matches!(error, RepoEditError::OwnAncestor(_)));
}

#[test]
fn refs_are_edited_by_the_rules_of_names() {
    let info = first();
    let mut edit = info.edit();
    edit.create_tag("a/b", id(5))
        .unwrap()
        .create_tag("", id(5))
        .unwrap();
    edit.set_branch("odd {x} é~%#", id(5)).unwrap();
    assert!(matches!(
        edit.create_tag("", id(5)),
        Err(RepoEditError::TagExists(_))
    ));
    assert!(matches!(
        edit.create_tag("c", id(1)),
        Err(RepoEditError::NoSnapshot(_))
    ));
    assert!(matches!(
        edit.set_branch("c", id(1)),
        Err(RepoEditError::NoSnapshot(_))
    ));
    assert!(matches!(
        edit.delete_branch("main"),
        Err(RepoEditError::Main)
    ));
    assert!(matches!(
        edit.delete_branch("c"),
        Err(RepoEditError::NoBranch(_))
    ));
    assert!(matches!(edit.delete_tag("c"), Err(RepoEditError::NoTag(_))));
    edit.delete_tag("a/b").unwrap();
    assert!(matches!(
        edit.create_tag("a/b", id(5)),
        Err(RepoEditError::DeletedTag(_))
    ));
    let info = again(
        &edit
            .finish([(UpdateKind::MetadataChanged, 6)], "b", 9)
            .unwrap(),
    );
    assert_eq!(info.tags().collect::<Vec<_>>(), [("", id(5))]);
    assert!(info.is_deleted_tag("a/b") && !info.is_deleted_tag(""));
    assert_eq!(info.branch("odd {x} é~%#"), Some(id(5)));
}

#[test]
fn settings_come_back() {
    let mut edit = first().edit();
    let metadata = BTreeMap::from([("k".to_owned(), json!({"a": [1, 2.5, null]}))]);
    edit.set_metadata(&metadata).unwrap();
    let config =
        RepositoryConfig::decode(b"inline_chunk_threshold_bytes: 7\nnew_key: [1]\n").unwrap();
    edit.set_config(Some(&config)).unwrap();
    edit.set_status(RepoStatus {
        availability: Availability::Unknown(9),
        set_at: 7,
        reason: Some("why".to_owned()),
    });
    edit.set_flag(FeatureFlag(900), Some(true));
    edit.set_flag(FeatureFlag::MOVE_NODE, Some(false));
    edit.set_flag(FeatureFlag::CREATE_TAG, Some(true));
    edit.set_flag(FeatureFlag::CREATE_TAG, None);
    let info = again(
        &edit
            .finish([(UpdateKind::ConfigChanged, 6)], "b", 9)
            .unwrap(),
    );
    assert_eq!(info.metadata(1000).unwrap(), metadata);
    assert_eq!(info.config().unwrap(), Some(config));
    assert_eq!(info.status().availability, Availability::Unknown(9));
    let set: Vec<_> = info.flags().set().collect();
    assert_eq!(
        set,
        [(FeatureFlag(900), true), (FeatureFlag::MOVE_NODE, false)]
    );
    assert!(!info.flags().allows(FeatureFlag::MOVE_NODE));
    assert!(info.flags().allows(FeatureFlag::CREATE_TAG));
    assert!(!info.flags().allows(FeatureFlag(1)));
    let error = info.metadata(64).unwrap_err();
    assert!(matches!(
        error,
        FormatError::MetadataTooLarge { limit: 64, .. }
    ));
}

#[test]
fn the_log_is_cut_into_pages() {
    let mut log = OpsLog::new([(UpdateKind::RepoInitialized, 1)]).unwrap();
    for at in 2..=4 {
        let update = [(UpdateKind::GarbageCollected, at)];
        log = log.appended(update, &format!("b{}", at - 1), 3).unwrap();
    }
    assert_eq!(times(&log), [(4, None), (3, Some("b3")), (2, Some("b2"))]);
    assert_eq!(log.continues_in(), Some("b1"));
    // Entries without a backup cannot start a page, and stay.
    let upgraded = (1..6).map(|at| (UpdateKind::RepoInitialized, at));
    let upgraded = OpsLog::new(upgraded).unwrap();
    let log = upgraded
        .appended([(UpdateKind::Expired, 6)], "b5", 2)
        .unwrap();
    assert_eq!(log.updates().len(), 6);
    assert_eq!(log.continues_in(), None);
    let log = log.appended([(UpdateKind::Expired, 7)], "b6", 1).unwrap();
    assert_eq!(times(&log), [(7, None)]);
    assert_eq!(log.continues_in(), Some("b6"));
    // Two at once, as commits to two branches: the first of them names no state of its own.
    let both = [(UpdateKind::Expired, 8), (UpdateKind::Expired, 9)];
    let log = log.appended(both, "b7", 3).unwrap();
    assert_eq!(times(&log), [(9, None), (8, None), (7, Some("b7"))]);
}

#[test]
fn the_log_goes_forward_in_time() {
    let log = OpsLog::new([(UpdateKind::RepoInitialized, 5)]).unwrap();
    let at = |time: u64| log.appended([(UpdateKind::Expired, time)], "b", 9);
    let newest = 5;
    assert_eq!(at(5), Err(OpsLogError::NotLater { newest, given: 5 }));
    assert!(at(6).is_ok());
    assert_eq!(log.appended([], "b", 9), Err(OpsLogError::NoUpdate));
    assert_eq!(OpsLog::new([]), Err(OpsLogError::NoUpdate));
    let unknown = [(UpdateKind::Unknown { tag: 99 }, 6)];
    assert_eq!(
        log.appended(unknown, "b", 9),
        Err(OpsLogError::UnknownKind { tag: 99 })
    );
}

#[test]
fn a_log_shortened_holds_its_newest_entries_alone() {
    let info = commit(&commit(&first(), 6, 5, 10), 7, 6, 11);
    let edit = info.edit();
    let info = edit
        .finish_shortened([(UpdateKind::GarbageCollected, 12)], "before")
        .unwrap();
    assert_eq!(times(again(&info).log()), [(12, None)]);
    assert_eq!(info.log().continues_in(), Some("before"));
}

/// The contents of a hostile or foreign file; unset members are as in a good one.
#[derive(Default)]
struct Raw<'a> {
    version: Option<u8>,
    snapshots: &'a [(u8, i32)],
    branches: &'a [(&'a str, u32)],
    tags: &'a [(&'a str, u32)],
    deleted: &'a [&'a str],
    updates: &'a [u8],
    flags: &'a [u16],
    names: &'a [&'a str],
}

/// Builds a file without the encoder's checks.
fn raw(raw: &Raw<'_>) -> Result<RepoInfo, FormatError> {
    let mut b = FlatBufferBuilder::new();
    let snapshots: Vec<_> = (raw.snapshots.iter())
        .map(|(byte, parent_offset)| {
            let args = fb::SnapshotInfoArgs {
                id: Some(&fb::ObjectId12([*byte; 12])),
                parent_offset: *parent_offset,
                message: Some(b.create_string("")),
                ..Default::default()
            };
            fb::SnapshotInfo::create(&mut b, &args)
        })
        .collect();
    let mut refs = |list: &[(&str, u32)]| {
        let refs: Vec<_> = (list.iter())
            .map(|(name, snapshot_index)| {
                let name = Some(b.create_string(name));
                let args = fb::RefArgs {
                    name,
                    snapshot_index: *snapshot_index,
                };
                fb::Ref::create(&mut b, &args)
            })
            .collect();
        Some(b.create_vector(&refs))
    };
    let (branches, tags) = (refs(raw.branches), refs(raw.tags));
    let updates: Vec<_> = (raw.updates.iter())
        .map(|tag| {
            let none = fb::GCRanUpdateArgs {};
            let none: WIPOffset<_> = fb::GCRanUpdate::create(&mut b, &none).as_union_value();
            let args = fb::UpdateArgs {
                update_type_type: fb::UpdateType(*tag),
                update_type: Some(none),
                updated_at: 7,
                backup_path: None,
            };
            fb::Update::create(&mut b, &args)
        })
        .collect();
    let metadata: Vec<_> = (raw.names.iter())
        .map(|name| {
            let name = Some(b.create_string(name));
            let value = Some(b.create_vector(&[0_u8, 0, 1]));
            fb::MetadataItem::create(&mut b, &fb::MetadataItemArgs { name, value })
        })
        .collect();
    let deleted: Vec<_> = raw
        .deleted
        .iter()
        .map(|name| b.create_string(name))
        .collect();
    let status = fb::RepoStatus::create(&mut b, &fb::RepoStatusArgs::default());
    let args = fb::RepoArgs {
        spec_version: raw.version.unwrap_or(2),
        tags,
        branches,
        deleted_tags: Some(b.create_vector(&deleted)),
        snapshots: Some(b.create_vector(&snapshots)),
        status: Some(status),
        metadata: Some(b.create_vector(&metadata)),
        latest_updates: Some(b.create_vector(&updates)),
        repo_before_updates: None,
        config: None,
        enabled_feature_flags: Some(b.create_vector(raw.flags)),
        disabled_feature_flags: None,
        extra: Some(b.create_vector(&[1_u8, 2, 3])),
    };
    let root = fb::Repo::create(&mut b, &args);
    b.finish(root, Some(IDENTIFIER));
    let kind = FileKind::RepoInfo;
    let file = Writer::default().seal(
        FormatFile::RepoInfo,
        SpecVersion::V2,
        kind,
        b.finished_data(),
    )?;
    decode(&file)
}

const GOOD: Raw<'static> = Raw {
    version: None,
    snapshots: &[(1, -1), (2, 0)],
    branches: &[("main", 1)],
    tags: &[],
    deleted: &[],
    updates: &[13],
    flags: &[],
    names: &[],
};

#[test]
fn each_rule_of_the_object_is_told() {
    let info = raw(&GOOD).unwrap();
    assert_eq!(info.branch("main"), Some(id(2)));
    for (found, is_newer) in [(0, false), (1, false), (3, true), (255, true)] {
        let version = Some(found);
        let error = raw(&Raw { version, ..GOOD }).unwrap_err();
        assert_eq!(error.is_unsupported(), is_newer, "{error}");
        assert!(error.to_string().contains("repo "), "{error}");
    }
    for (what, case, rule) in [
        (
            "no main",
            Raw {
                branches: &[("dev", 0)],
                ..GOOD
            },
            "no branch \"main\"",
        ),
        (
            "no update",
            Raw {
                updates: &[],
                ..GOOD
            },
            "no entry",
        ),
        (
            "an update of no kind",
            Raw {
                updates: &[0],
                ..GOOD
            },
            "malformed",
        ),
        (
            "a tip nowhere",
            Raw {
                branches: &[("main", 2)],
                ..GOOD
            },
            "position 2",
        ),
        (
            "a tag nowhere",
            Raw {
                tags: &[("t", u32::MAX)],
                ..GOOD
            },
            "position 4294967295",
        ),
        (
            "a parent nowhere",
            Raw {
                snapshots: &[(1, -1), (2, 2)],
                ..GOOD
            },
            "position 2",
        ),
        (
            "a parent before all",
            Raw {
                snapshots: &[(1, -2), (2, 0)],
                ..GOOD
            },
            "position -2",
        ),
        (
            "its own parent",
            Raw {
                snapshots: &[(1, -1), (2, 1)],
                ..GOOD
            },
            "own ancestor",
        ),
        (
            "a circle",
            Raw {
                snapshots: &[(1, 1), (2, 0)],
                ..GOOD
            },
            "own ancestor",
        ),
        (
            "snapshots unsorted",
            Raw {
                snapshots: &[(2, -1), (1, 0)],
                ..GOOD
            },
            "snapshots out of",
        ),
        (
            "a snapshot twice",
            Raw {
                snapshots: &[(1, -1), (1, -1)],
                ..GOOD
            },
            "snapshots twice",
        ),
        (
            "branches unsorted",
            Raw {
                branches: &[("main", 0), ("a", 0)],
                ..GOOD
            },
            "branches out of",
        ),
        (
            "a tag twice",
            Raw {
                tags: &[("a", 0), ("a", 1)],
                ..GOOD
            },
            "tags twice",
        ),
        (
            "deleted tags unsorted",
            Raw {
                deleted: &["b", "a"],
                ..GOOD
            },
            "deleted tags out of",
        ),
        (
            "a flag twice",
            Raw {
                flags: &[3, 3],
                ..GOOD
            },
            "feature flags twice",
        ),
        (
            "metadata unsorted",
            Raw {
                names: &["b", "a"],
                ..GOOD
            },
            "metadata out of",
        ),
    ] {
        let error = raw(&case).unwrap_err().to_string();
        assert!(error.starts_with("repo "), "{what}: {error}");
        assert!(error.contains(rule), "{what}: {error}");
    }
}

#[test]
fn a_long_chain_of_parents_is_no_circle() {
    let metadata = BTreeMap::new();
    let mut graph = SnapshotGraph::default();
    for at in 0..5000_u32 {
        let id = |at: u32| {
            let mut bytes = [0; 12];
            bytes[..4].copy_from_slice(&at.wrapping_mul(2_654_435_761).to_be_bytes());
            SnapshotId::from_bytes(bytes)
        };
        let new = NewSnapshotInfo {
            id: id(at),
            parent: at.checked_sub(1).map(id),
            ..snapshot(0, None, &metadata)
        };
        graph.insert(new).unwrap();
    }
    assert_eq!(graph.cycle(), None);
    // The last one becomes the parent of the first.
    let last = graph
        .snapshots()
        .position(|it| it.ancestry_len() == 5000)
        .unwrap();
    let first = graph
        .entries
        .iter()
        .position(|it| it.parent.is_none())
        .unwrap();
    Arc::make_mut(&mut graph.entries)[first].parent = Some(last as u32);
    assert!(graph.cycle().is_some());
}

impl SnapshotInfo<'_> {
    fn ancestry_len(&self) -> usize {
        std::iter::successors(Some(*self), Self::parent).count()
    }
}

#[test]
fn what_is_not_known_is_kept() {
    let info = raw(&Raw {
        flags: &[77, 900],
        ..GOOD
    })
    .unwrap();
    let info = again(&info);
    assert_eq!(info.extra(), Some(&[1, 2, 3][..]));
    let flags: Vec<_> = info.flags().set().map(|(flag, _)| flag.0).collect();
    assert_eq!(flags, [77, 900]);
    let next = again(&commit(&info, 3, 2, 8));
    assert_eq!(next.extra(), Some(&[1, 2, 3][..]));
    assert_eq!(next.flags(), info.flags());
}

#[test]
fn a_list_with_an_update_of_an_unknown_kind_stays_behind_the_backup() {
    let info = raw(&Raw {
        updates: &[13, 17],
        ..GOOD
    })
    .unwrap();
    let kinds: Vec<_> = info.log().updates().map(|it| it.kind.clone()).collect();
    assert_eq!(
        kinds,
        [
            UpdateKind::GarbageCollected,
            UpdateKind::Unknown { tag: 17 }
        ]
    );
    let error = info.encode(&Writer::default()).unwrap_err();
    assert!(matches!(
        error,
        FormatError::UnknownUpdate {
            position: 1,
            tag: 17,
            ..
        }
    ));
    let next = commit(&info, 3, 2, 8);
    assert_eq!(times(next.log()), [(8, None)]);
    assert_eq!(next.log().continues_in(), Some("backup-8"));
    again(&next);
}

/// Returns a file in which 1500 snapshots share a message of a megabyte, and so many entries of the log another one.
fn shared(updates: usize) -> Bytes {
    let mut b = FlatBufferBuilder::new();
    let message = Some(b.create_string(&"x".repeat(1 << 20)));
    let snapshots: Vec<_> = (0..1500_u16)
        .map(|at| {
            let mut id = [0; 12];
            id[..2].copy_from_slice(&at.to_be_bytes());
            let args = fb::SnapshotInfoArgs {
                id: Some(&fb::ObjectId12(id)),
                parent_offset: -1,
                message,
                ..Default::default()
            };
            fb::SnapshotInfo::create(&mut b, &args)
        })
        .collect();
    let name = Some(b.create_string("main"));
    let branch = fb::Ref::create(
        &mut b,
        &fb::RefArgs {
            name,
            snapshot_index: 0,
        },
    );
    let long = Some(b.create_string(&"y".repeat(1 << 20)));
    let created = fb::TagCreatedUpdate::create(&mut b, &fb::TagCreatedUpdateArgs { name: long });
    let update = fb::UpdateArgs {
        update_type_type: fb::UpdateType::TagCreatedUpdate,
        update_type: Some(created.as_union_value()),
        updated_at: 1,
        backup_path: None,
    };
    let update = fb::Update::create(&mut b, &update);
    let status = fb::RepoStatus::create(&mut b, &fb::RepoStatusArgs::default());
    let args = fb::RepoArgs {
        spec_version: 2,
        tags: Some(b.create_vector::<WIPOffset<fb::Ref<'_>>>(&[])),
        branches: Some(b.create_vector(&[branch])),
        deleted_tags: Some(b.create_vector::<WIPOffset<&str>>(&[])),
        snapshots: Some(b.create_vector(&snapshots)),
        status: Some(status),
        latest_updates: Some(b.create_vector(&vec![update; updates])),
        ..Default::default()
    };
    let root = fb::Repo::create(&mut b, &args);
    b.finish(root, Some(IDENTIFIER));
    let (kind, body) = (FileKind::RepoInfo, b.finished_data());
    let sealed = Writer::default().seal(FormatFile::RepoInfo, SpecVersion::V2, kind, body);
    sealed.unwrap()
}

#[test]
fn values_that_many_share_are_not_copied() {
    let info = decode(&shared(1)).unwrap();
    let messages = info.snapshots().snapshots();
    let messages: Vec<_> = messages.map(|it| it.message().as_ptr()).collect();
    assert!(messages.iter().all(|it| *it == messages[0]));
    let error = decode(&shared(70)).unwrap_err();
    assert!(
        matches!(error, FormatError::MetadataTooLarge { .. }),
        "{error}"
    );
}

#[test]
fn metadata_that_no_reader_would_take_is_refused() {
    let metadata = |values: usize| {
        BTreeMap::from([("list".to_owned(), Value::from(vec![Value::Null; values]))])
    };
    let limit = DecodeLimits::default().max_metadata;
    let info = first();
    let mut edit = info.edit();
    let most = usize::try_from(limit / 64).unwrap();
    let refused = edit.set_metadata(&metadata(most)).unwrap_err();
    assert!(
        matches!(
            refused,
            RepoEditError::Format(FormatError::MetadataTooLarge { limit: told, .. }) if told == limit
        ),
        "{refused}"
    );
    // The name, the list and its key count, too.
    let taken = Metadata::encode(&metadata(most - 3)).unwrap();
    assert_eq!(taken.decode(limit).unwrap(), metadata(most - 3));
}

fn kinds() -> impl Strategy<Value = UpdateKind> {
    let name = "[a-zé/]{0,8}";
    let one = any::<[u8; 12]>().prop_map(SnapshotId::from_bytes);
    prop_oneof![
        Just(UpdateKind::RepoInitialized),
        any::<(u8, u8)>().prop_map(|(from_version, to_version)| UpdateKind::RepoMigrated {
            from_version,
            to_version
        }),
        Just(UpdateKind::ConfigChanged),
        Just(UpdateKind::MetadataChanged),
        name.prop_map(|name| UpdateKind::TagCreated { name }),
        (name, one.clone()).prop_map(|(name, previous)| UpdateKind::TagDeleted { name, previous }),
        name.prop_map(|name| UpdateKind::BranchCreated { name }),
        (name, one.clone())
            .prop_map(|(name, previous)| UpdateKind::BranchDeleted { name, previous }),
        (name, one.clone()).prop_map(|(name, previous)| UpdateKind::BranchReset { name, previous }),
        (name, one.clone())
            .prop_map(|(branch, snapshot)| UpdateKind::NewCommit { branch, snapshot }),
        (name, one.clone(), one.clone()).prop_map(|(branch, previous, snapshot)| {
            UpdateKind::CommitAmended {
                branch,
                previous,
                snapshot,
            }
        }),
        one.prop_map(|snapshot| UpdateKind::NewDetachedSnapshot { snapshot }),
        Just(UpdateKind::GarbageCollected),
        Just(UpdateKind::Expired),
        any::<(u16, bool, bool)>().prop_map(|(id, new_value, is_set)| {
            UpdateKind::FeatureFlagChanged {
                id,
                new_value,
                is_set,
            }
        }),
        any::<(u8, u64, Option<String>)>().prop_map(|(byte, set_at, reason)| {
            let availability = Availability::from_byte(byte);
            UpdateKind::StatusChanged {
                status: RepoStatus {
                    availability,
                    set_at,
                    reason,
                },
            }
        }),
    ]
}

proptest! {
    #[test]
    fn any_sequence_of_edits_comes_back(
        steps in prop::collection::vec((any::<u8>(), kinds(), 0..6_u8, "[a-c/]{0,2}"), 1..30),
        page in 1..10_usize,
    ) {
        let metadata = BTreeMap::from([("m".to_owned(), json!([1, "x"]))]);
        let mut info = first();
        for (at, (byte, kind, action, name)) in (10..).zip(steps) {
            let tips: Vec<_> = info.branches().map(|(_, tip)| tip).collect();
            let tip = tips[usize::from(byte) % tips.len()];
            let mut edit = info.edit();
            // A refusal leaves the edit as it was.
            let _ = match action {
                0 | 1 => {
                    let new = NewSnapshotInfo { parent: Some(tip), ..snapshot(byte, None, &metadata) };
                    edit.add_snapshot(new).and_then(|edit| edit.set_branch("main", id(byte))).map(drop)
                }
                2 => edit.set_branch(&name, tip).map(drop),
                3 => edit.create_tag(&name, tip).map(drop),
                4 => edit.delete_tag(&name).map(drop),
                _ => edit.delete_branch(&name).map(drop),
            };
            info = edit.finish([(kind, at)], &format!("backup-{at}"), page).unwrap();
            prop_assert_eq!(&again(&info), &info);
            prop_assert!(info.snapshots().cycle().is_none());
        }
    }

    #[test]
    fn no_change_of_the_body_makes_it_panic(changes in prop::collection::vec(any::<(usize, u8)>(), 1..4)) {
        let info = commit(&commit(&first(), 6, 5, 10), 4, 6, 11);
        let file = info.encode(&Writer::default()).unwrap();
        let mut body = zstd::stream::decode_all(&file[crate::HEADER_LEN..]).unwrap();
        for (at, byte) in changes {
            let at = at % body.len();
            body[at] = byte;
        }
        let kind = FileKind::RepoInfo;
        let file = Writer::default().seal(FormatFile::RepoInfo, SpecVersion::V2, kind, &body).unwrap();
        if let Ok(info) = decode(&file) {
            let _ = info.metadata(1 << 20);
            let _ = info.config();
            if let Ok(file) = info.encode(&Writer::default()) {
                prop_assert_eq!(decode(&file).unwrap(), info);
            }
        }
    }
}

#[test]
fn names_of_lists_are_those_of_the_errors() {
    assert_eq!(SortedList::DeletedTags.to_string(), "deleted tags");
}
