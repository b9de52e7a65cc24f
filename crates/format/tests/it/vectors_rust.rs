//! Repositories that the reference implementation wrote from Rust read as their `expected.json` says.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::v2_rust_repositories;
use icefield_format::layout::{chunk_key, manifest_key, snapshot_key, transaction_log_key};
use icefield_format::{
    Availability, Checksum, ChunkRef, DecodeLimits, Manifest, ManifestId, NodeKind, NodeRecord,
    RepoInfo, Snapshot, SnapshotId, SnapshotInfo, SpecVersion, TransactionLog, UpdateKind,
    decode_flexbuffers,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const LIMIT: u64 = 1 << 20;

fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn limits() -> DecodeLimits {
    DecodeLimits::up_to(SpecVersion::V2)
}

/// Spells an entry of the operations log as the library prints it.
fn update(kind: &UpdateKind) -> String {
    match kind {
        UpdateKind::RepoInitialized => "RepoInitializedUpdate".to_owned(),
        UpdateKind::MetadataChanged => "MetadataChangedUpdate".to_owned(),
        UpdateKind::GarbageCollected => "GCRanUpdate".to_owned(),
        UpdateKind::Expired => "ExpirationRanUpdate".to_owned(),
        UpdateKind::NewCommit { branch, snapshot } => {
            format!("NewCommitUpdate {{ branch: {branch:?}, new_snap_id: {snapshot} }}")
        }
        UpdateKind::CommitAmended {
            branch,
            previous,
            snapshot,
        } => format!(
            "CommitAmendedUpdate {{ branch: {branch:?}, previous_snap_id: {previous}, new_snap_id: {snapshot} }}"
        ),
        UpdateKind::NewDetachedSnapshot { snapshot } => {
            format!("NewDetachedSnapshotUpdate {{ new_snap_id: {snapshot} }}")
        }
        UpdateKind::TagCreated { name } => format!("TagCreatedUpdate {{ name: {name:?} }}"),
        UpdateKind::TagDeleted { name, previous } => {
            format!("TagDeletedUpdate {{ name: {name:?}, previous_snap_id: {previous} }}")
        }
        UpdateKind::BranchCreated { name } => format!("BranchCreatedUpdate {{ name: {name:?} }}"),
        UpdateKind::BranchDeleted { name, previous } => {
            format!("BranchDeletedUpdate {{ name: {name:?}, previous_snap_id: {previous} }}")
        }
        other => panic!("{other:?}"),
    }
}

fn check_repo(info: &RepoInfo, expected: &Value, name: &str) {
    let refs = |refs: Vec<(&str, SnapshotId)>| {
        let refs = refs
            .into_iter()
            .map(|(name, id)| (name.to_owned(), json!(id)));
        Value::Object(refs.collect())
    };
    assert_eq!(
        refs(info.branches().collect()),
        expected["branches"],
        "{name}"
    );
    assert_eq!(refs(info.tags().collect()), expected["tags"], "{name}");
    let deleted: Vec<_> = info.deleted_tags().collect();
    assert_eq!(json!(deleted), expected["deleted_tags"], "{name}");
    assert_eq!(
        json!(info.metadata(LIMIT).unwrap()),
        expected["metadata"],
        "{name}"
    );
    assert_eq!(info.status().availability, Availability::Online);
    assert_eq!(expected["status"]["availability"], "Online");
    assert_eq!(info.flags().set().count(), 0);
    assert_eq!(expected["enabled_feature_flags"], Value::Null);
    let config = info.config_bytes();
    let config = config.map(|config| decode_flexbuffers(config, LIMIT).unwrap());
    assert_eq!(json!(config), expected["config"], "{name}");
    assert!(info.config().unwrap().is_some() == config.is_some());
    for (branch, ancestry) in expected["ancestry"].as_object().unwrap() {
        let tip = info.branch(branch).unwrap();
        let found: Vec<_> = info.snapshots().ancestry(&tip).map(|it| it.id()).collect();
        assert_eq!(json!(found), *ancestry, "{name}");
    }
    let log = info
        .log()
        .updates()
        .map(|it| json!({"at_us": it.updated_at, "backup": it.backup, "update": update(&it.kind)}));
    assert_eq!(
        json!(log.collect::<Vec<_>>()),
        expected["operations"],
        "{name}"
    );
}

struct Repository<'a> {
    root: &'a Path,
    manifests: BTreeMap<ManifestId, Manifest>,
}

impl Repository<'_> {
    fn read(&self, key: &str) -> Vec<u8> {
        fs::read(self.root.join(key)).unwrap()
    }

    /// Returns the chunks of an array, by key and with their line in the digest of all.
    fn chunks(&self, node: NodeRecord<'_>) -> Vec<(String, Value, String)> {
        let mut found = BTreeMap::new();
        for manifest in node.array().unwrap().manifests() {
            let refs = self.manifests[&manifest.id()].array(&node.id()).unwrap();
            for record in refs.refs() {
                let index = record.index();
                assert!(manifest.contains(&index));
                let parts: Vec<_> = index.iter().map(ToString::to_string).collect();
                let key = format!("c/{}", parts.join("/"));
                let (value, line) = self.chunk(record.chunk_ref().unwrap());
                found.insert(
                    index.to_vec(),
                    (key.clone(), value, format!("{key}\t{line}\n")),
                );
            }
        }
        found.into_values().collect()
    }

    fn chunk(&self, chunk: ChunkRef<'_>) -> (Value, String) {
        match chunk {
            ChunkRef::Inline(bytes) => {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                let (length, digest) = (bytes.len(), sha256(bytes));
                let line = format!("inline\t{digest}");
                let value =
                    json!({"kind": "inline", "hex": hex, "length": length, "sha256": digest});
                (value, line)
            }
            ChunkRef::Native { id, offset, length } => {
                let object = self.read(&chunk_key(id));
                let digest = sha256(&object[offset as usize..(offset + length) as usize]);
                let line = format!("native\t{id}\t{offset}\t{length}");
                let value = json!({"kind": "native", "id": id, "offset": offset, "length": length, "sha256": digest});
                (value, line)
            }
            ChunkRef::Virtual {
                location,
                offset,
                length,
                checksum,
            } => {
                let (checksum, text) = match checksum {
                    Some(Checksum::ETag(etag)) => (json!({"etag": etag}), format!("etag={etag}")),
                    Some(Checksum::LastModified(at)) => {
                        (json!({"last_modified": at}), format!("last_modified={at}"))
                    }
                    None => (Value::Null, String::new()),
                };
                let line = format!("virtual\t{location}\t{offset}\t{length}\t{text}");
                let value = json!({"kind": "virtual", "location": location, "offset": offset, "length": length, "checksum": checksum});
                (value, line)
            }
        }
    }

    fn check_node(&self, node: NodeRecord<'_>, expected: &Value) {
        let at = node.path();
        assert_eq!(expected["path"], at);
        assert_eq!(expected["id"], json!(node.id()), "{at}");
        let text = str::from_utf8(node.user_data()).unwrap();
        assert_eq!(expected["user_data"], text, "{at}");
        let Some(array) = node.array() else {
            assert_eq!(expected["type"], "group", "{at}");
            return;
        };
        assert_eq!(
            (node.kind(), &expected["type"]),
            (NodeKind::Array, &json!("array"))
        );
        let shape = array
            .shape()
            .map(|it| json!({"array_length": it.array_length, "num_chunks": it.num_chunks()}));
        assert_eq!(json!(shape.collect::<Vec<_>>()), expected["shape"], "{at}");
        let names = array.dimension_names().map(Iterator::collect::<Vec<_>>);
        assert_eq!(json!(names), expected["dimension_names"], "{at}");
        let manifests = array.manifests().map(|it| {
            let extents: Vec<_> = it.ranges().map(|range| [range.start, range.end]).collect();
            json!({"id": it.id(), "extents": extents})
        });
        assert_eq!(
            json!(manifests.collect::<Vec<_>>()),
            expected["manifests"],
            "{at}"
        );
        let chunks = self.chunks(node);
        let sample = expected["chunks"].as_object().unwrap();
        let by_key: BTreeMap<_, _> = chunks.iter().map(|it| (it.0.as_str(), &it.1)).collect();
        for (key, chunk) in sample {
            assert_eq!(by_key[key.as_str()], chunk, "{at}/{key}");
        }
        match expected.get("chunks_lines_sha256") {
            Some(digest) => {
                assert_eq!(expected["chunks_total"], chunks.len(), "{at}");
                let lines: String = chunks.iter().map(|it| it.2.as_str()).collect();
                assert_eq!(*digest, sha256(lines.as_bytes()), "{at}");
            }
            None => assert_eq!(sample.len(), chunks.len(), "{at}"),
        }
    }

    fn check_snapshot(&self, known: SnapshotInfo<'_>, expected: &Value) {
        let id = known.id();
        let snapshot = Snapshot::decode(&self.read(&snapshot_key(id)), id, &limits()).unwrap();
        assert_eq!(expected["id"], json!(id));
        assert_eq!(expected["parent"], json!(known.parent_id()), "{id}");
        for (message, flushed_at, metadata) in [
            (known.message(), known.flushed_at(), known.metadata(LIMIT)),
            (
                snapshot.message(),
                snapshot.flushed_at(),
                snapshot.metadata(),
            ),
        ] {
            assert_eq!(expected["message"], message, "{id}");
            assert_eq!(expected["flushed_at_us"], flushed_at, "{id}");
            assert_eq!(expected["metadata"], json!(metadata.unwrap()), "{id}");
        }
        let pruned: Vec<_> = known.pruned_ancestor_tx_logs().collect();
        match &expected["pruned_ancestor_tx_logs"] {
            Value::Null => assert!(pruned.is_empty(), "{id}"),
            some => assert_eq!(*some, json!(pruned), "{id}"),
        }
        let files = snapshot.manifest_files().map(|it| {
            json!({"id": it.id, "num_chunk_refs": it.num_chunk_refs, "size_bytes": it.size_bytes})
        });
        assert_eq!(
            expected["manifest_files"],
            json!(files.collect::<Vec<_>>()),
            "{id}"
        );
        let nodes = expected["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), snapshot.node_count(), "{id}");
        for (node, expected) in snapshot.nodes().zip(nodes) {
            self.check_node(node, expected);
        }
        self.check_log(id, &expected["transaction_log"]);
    }

    fn check_log(&self, id: SnapshotId, expected: &Value) {
        let log = self.read(&transaction_log_key(id));
        let log = TransactionLog::decode(&log, id, &limits()).unwrap();
        for (name, found) in [
            ("new_groups", log.new_groups().len()),
            ("new_arrays", log.new_arrays().len()),
            ("deleted_groups", log.deleted_groups().len()),
            ("deleted_arrays", log.deleted_arrays().len()),
            ("updated_groups", log.updated_groups().len()),
            ("updated_arrays", log.updated_arrays().len()),
        ] {
            assert_eq!(expected[name], found, "{id} {name}");
        }
        assert_eq!(expected["has_moves"], log.moved_nodes().len() > 0, "{id}");
    }
}

#[test]
fn repositories_written_from_rust_read_as_expected() {
    let repositories = v2_rust_repositories();
    assert_eq!(repositories.len(), 4);
    for (root, expected) in repositories {
        let name = root.display().to_string();
        let expected: Value = serde_json::from_slice(&fs::read(expected).unwrap()).unwrap();
        let mut repository = Repository {
            root: &root,
            manifests: BTreeMap::new(),
        };
        let info = RepoInfo::decode(&repository.read("repo"), &limits()).unwrap();
        check_repo(&info, &expected, &name);
        for expected in expected["manifests"].as_array().unwrap() {
            let id: ManifestId = expected["id"].as_str().unwrap().parse().unwrap();
            let file = repository.read(&manifest_key(id));
            let manifest = Manifest::decode(&file, id, &limits()).unwrap();
            assert_eq!(expected["refs"], manifest.total_refs(), "{name} {id}");
            let dictionary = manifest.location_dictionary().map(<[u8]>::len);
            assert_eq!(
                expected["dictionary_bytes"],
                json!(dictionary),
                "{name} {id}"
            );
            let refs = manifest.arrays().flat_map(|array| array.refs());
            let compressed = refs.filter(|it| it.is_location_compressed()).count();
            assert_eq!(expected["compressed_refs"], compressed, "{name} {id}");
            repository.manifests.insert(id, manifest);
        }
        let snapshots = expected["snapshots"].as_array().unwrap();
        assert_eq!(snapshots.len(), info.snapshots().len(), "{name}");
        for expected in snapshots {
            let id: SnapshotId = expected["id"].as_str().unwrap().parse().unwrap();
            repository.check_snapshot(info.snapshots().get(&id).unwrap(), expected);
        }
    }
}
