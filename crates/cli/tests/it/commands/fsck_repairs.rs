//! The effect of `fsck --repair` on each kind of finding, through the program.

use std::fs;
use std::ops::Range;

use icefield::format::{
    ChunkId, ChunkRef, DecodeLimits, DimensionShape, Extents, Manifest, ManifestEncoder,
    ManifestFileInfo, ManifestId, ManifestRef, NewNode, NewNodeData, NewSnapshot, NodeId, Snapshot,
    SnapshotEncoder, SnapshotId, TransactionLogEncoder, Writer, layout,
};
use serde_json::{Value, json};

use crate::world::{World, array, facts};

/// The fate of the finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Nothing of it is left.
    Mended,
    /// A commit corrects it or leaves it out; the past still shows it.
    Committed,
    /// Nothing is written; the program names it and ends with this code.
    Left(i32),
}

use Fate::*;

/// Not here: names that look encoded, which only buckets have; chunk objects that a disk does not deliver, and files that virtual chunks refer to, which `fsck.rs` has.
const KINDS: &[(&str, Fate)] = &[
    ("ref-damaged", Left(5)),
    ("ref-dangling", Left(5)),
    ("ref-stray", Left(5)),
    ("ref-twice", Left(5)),
    ("main-missing", Left(5)),
    ("repo-object", Left(5)),
    ("config-damaged", Left(5)),
    ("snapshot-missing", Left(5)),
    ("snapshot-damaged", Left(5)),
    ("history-cycle", Left(0)),
    ("node-below-array", Committed),
    ("metadata-invalid", Left(5)),
    ("metadata-disagrees", Left(5)),
    ("manifest-missing", Committed),
    ("manifest-damaged", Committed),
    ("extents-too-small", Committed),
    ("chunk-twice", Left(5)),
    ("chunk-missing", Committed),
    ("chunk-short", Committed),
    ("virtual-location-invalid", Left(5)),
    ("log-missing", Mended),
    ("log-damaged", Mended),
    ("log-incomplete", Mended),
    ("ref-spelling", Mended),
    ("ref-system-file", Left(0)),
    ("tombstone-not-empty", Left(0)),
    ("tombstone-without-tag", Left(0)),
    ("not-younger", Left(0)),
    ("no-root", Left(0)),
    ("node-without-parent", Committed),
    ("names-disagree", Left(0)),
    ("manifest-size", Left(0)),
    ("manifest-count", Left(0)),
    ("extents-too-large", Committed),
    ("extents-overlap", Left(0)),
    ("virtual-no-container", Left(0)),
    ("log-excess", Left(0)),
    ("manifest-unused", Left(0)),
    ("manifest-unknown-node", Left(0)),
    ("chunk-outside-grid", Left(0)),
    ("chunk-wrong-rank", Left(0)),
    ("stray", Left(0)),
    ("garbage", Left(0)),
];

/// The shape, the names and the manifests of an array.
type ArrayParts = (Vec<u64>, Option<Vec<Option<String>>>, Vec<ManifestRef>);

/// A node of a snapshot, to be changed.
struct Node {
    id: NodeId,
    path: String,
    document: Vec<u8>,
    array: Option<ArrayParts>,
}

/// A snapshot, to be changed.
struct Parts {
    id: SnapshotId,
    parent: Option<SnapshotId>,
    flushed_at: u64,
    files: Vec<ManifestFileInfo>,
    nodes: Vec<Node>,
}

impl Parts {
    fn read(world: &World, id: SnapshotId) -> Self {
        let file = fs::read(world.path(&format!("r/{}", layout::snapshot_key(id)))).unwrap();
        let snapshot = Snapshot::decode(&file, id, &DecodeLimits::default()).unwrap();
        let nodes = snapshot.nodes().map(|record| Node {
            id: record.id(),
            path: record.path().to_owned(),
            document: record.user_data().to_vec(),
            array: record.array().map(|array| {
                let names = array.dimension_names();
                let names = names.map(|names| names.map(|it| it.map(str::to_owned)).collect());
                let manifests = array.manifests().map(|it| ManifestRef {
                    id: it.id(),
                    extents: it.extents(),
                });
                let shape = array.shape().map(|it| it.array_length).collect();
                (shape, names, manifests.collect())
            }),
        });
        Self {
            id,
            parent: snapshot.parent_id(),
            flushed_at: snapshot.flushed_at(),
            files: snapshot.manifest_files().collect(),
            nodes: nodes.collect(),
        }
    }

    fn x(&mut self) -> &mut Node {
        self.nodes.iter_mut().find(|it| it.path == "/x").unwrap()
    }

    fn manifests(&mut self) -> &mut Vec<ManifestRef> {
        &mut self.x().array.as_mut().unwrap().2
    }

    fn write(mut self, world: &World) {
        let metadata = std::collections::BTreeMap::new();
        let mut encoder = SnapshotEncoder::new(NewSnapshot {
            id: self.id,
            parent_id: self.parent,
            flushed_at: self.flushed_at,
            message: "edited",
            metadata: &metadata,
            manifest_files: &self.files,
        });
        self.nodes.sort_by(|a, b| a.path.cmp(&b.path));
        for node in &self.nodes {
            let lengths = node.array.iter().flat_map(|(shape, ..)| shape);
            let shape: Vec<_> = lengths
                .map(|length| DimensionShape::regular(*length, 1))
                .collect();
            let data = match &node.array {
                None => NewNodeData::Group,
                Some((_, names, manifests)) => NewNodeData::Array {
                    shape: &shape,
                    dimension_names: names.as_deref(),
                    manifests,
                },
            };
            let node = NewNode {
                id: node.id,
                path: &node.path,
                user_data: &node.document,
                data,
            };
            encoder.push(node).unwrap();
        }
        let file = encoder.finish(&Writer::default()).unwrap();
        world.file(&format!("r/{}", layout::snapshot_key(self.id)), file);
    }
}

const NEW: ManifestId = ManifestId::from_bytes([9; 12]);

/// Gives `/x` of the newest snapshot one more manifest, whose chunks its log tells.
fn more(world: &World, head: SnapshotId, chunks: &[(&[u32], ChunkRef<'_>)], ranges: &[Range<u32>]) {
    let mut parts = Parts::read(world, head);
    let node = parts.x().id;
    let stranger = NodeId::from_bytes([0xFE; 8]);
    let mut encoder = ManifestEncoder::new(NEW);
    encoder.begin_array(node).unwrap();
    for (index, chunk) in chunks {
        encoder.push(index, *chunk).unwrap();
    }
    if ranges.is_empty() {
        encoder.begin_array(stranger).unwrap();
        encoder.push(&[0], ChunkRef::Inline(b"x")).unwrap();
    }
    let encoded = encoder.finish(&Writer::default()).unwrap();
    world.file(&format!("r/{}", layout::manifest_key(NEW)), encoded.bytes);
    parts.files.push(encoded.info);
    let ranges = match ranges.is_empty() {
        true => vec![3..4, 0..1],
        false => ranges.to_vec(),
    };
    parts.manifests().push(ManifestRef {
        id: NEW,
        extents: Extents::new(ranges),
    });
    // Room for one more chunk, so that there is one that no other manifest has.
    let node = parts.x();
    node.document = serde_json::to_vec(&array(&[8, 3], &[2, 3], &["t", "y"])).unwrap();
    node.array.as_mut().unwrap().0 = vec![8, 3];
    parts.write(world);
    tell(world, head, |log| {
        log.updated_arrays([id_of_x(world, head)]);
        log.begin_chunks(id_of_x(world, head)).unwrap();
        for index in [[0, 0], [1, 0], [2, 0], [3, 0]] {
            log.push_chunk(&index).unwrap();
        }
    });
}

fn id_of_x(world: &World, head: SnapshotId) -> NodeId {
    Parts::read(world, head).x().id
}

fn tell(world: &World, id: SnapshotId, tell: impl FnOnce(&mut TransactionLogEncoder)) {
    let mut log = TransactionLogEncoder::new(id);
    tell(&mut log);
    let file = log.finish(&Writer::default()).unwrap();
    world.file(&format!("r/{}", layout::transaction_log_key(id)), file);
}

const INLINE: ChunkRef<'static> = ChunkRef::Inline(b"inline");

fn far(location: &'static str) -> ChunkRef<'static> {
    ChunkRef::Virtual {
        location,
        offset: 0,
        length: 5,
        checksum: None,
    }
}

/// Plants one finding of a kind, and returns a repository in `r`.
fn plant(kind: &str) -> World {
    let world = World::with_history();
    world.ok(&["tag", "create", "r", "old"]);
    world.ok(&["tag", "delete", "r", "old"]);
    let history: Vec<SnapshotId> = (world.history("r").iter())
        .map(|id| id.parse().unwrap())
        .collect();
    let (head, middle) = (history[0], history[1]);
    let at = |key: String| world.path(&format!("r/{key}"));
    let remove = |key: String| fs::remove_file(at(key)).unwrap();
    let halve = |key: String| {
        let file = fs::read(at(key.clone())).unwrap();
        fs::write(at(key), &file[..file.len() / 2]).unwrap();
    };
    let mut parts = Parts::read(&world, head);
    let manifest = parts.manifests()[0].id;
    let info = parts.files.iter().position(|it| it.id == manifest).unwrap();
    let chunk = || {
        let file = fs::read(at(layout::manifest_key(manifest))).unwrap();
        let decoded = Manifest::decode(&file, manifest, &DecodeLimits::default()).unwrap();
        let node = id_of_x(&world, head);
        match decoded.get(&node, &[2, 0]).unwrap() {
            Some(ChunkRef::Native { id, .. }) => layout::chunk_key(id),
            other => panic!("{other:?}"),
        }
    };
    match kind {
        "ref-damaged" => world.file("r/refs/tag.v1/ref.json", "{"),
        "ref-dangling" => {
            let nowhere = SnapshotId::from_bytes([7; 12]);
            let file = json!({ "snapshot": nowhere.to_string() }).to_string();
            world.file("r/refs/tag.v1/ref.json", file);
        }
        "ref-stray" => world.file("r/refs/branch.x/other.json", "x"),
        "ref-twice" => {
            world.ok(&["branch", "create", "r", "a#b"]);
            world.file("r/refs/branch.a#b/ref.json", "{}");
        }
        "ref-spelling" => {
            world.ok(&["branch", "create", "r", "a#b"]);
            fs::rename(
                world.path("r/refs/branch.a%23b"),
                world.path("r/refs/branch.a#b"),
            )
            .unwrap();
        }
        "ref-system-file" => world.file("r/refs/.DS_Store", "x"),
        "main-missing" => remove("refs/branch.main/ref.json".into()),
        "repo-object" => world.file("r/repo", "anything"),
        "config-damaged" => world.file("r/config.yaml", "{ never closed"),
        "snapshot-missing" => remove(layout::snapshot_key(middle)),
        "snapshot-damaged" => halve(layout::snapshot_key(middle)),
        "manifest-missing" => remove(layout::manifest_key(manifest)),
        "manifest-damaged" => halve(layout::manifest_key(manifest)),
        "chunk-missing" => remove(chunk()),
        "chunk-short" => fs::write(at(chunk()), "short").unwrap(),
        "log-missing" => remove(layout::transaction_log_key(head)),
        "log-damaged" => halve(layout::transaction_log_key(head)),
        "log-incomplete" => tell(&world, head, |_| {}),
        "log-excess" => tell(&world, head, |log| {
            log.new_arrays([NodeId::from_bytes([5; 8])]);
            log.updated_arrays([id_of_x(&world, head)]);
            log.begin_chunks(id_of_x(&world, head)).unwrap();
            for index in [[1, 0], [2, 0]] {
                log.push_chunk(&index).unwrap();
            }
        }),
        "tombstone-not-empty" => world.file("r/refs/tag.old/ref.json.deleted", "x"),
        "tombstone-without-tag" => remove("refs/tag.old/ref.json".into()),
        "stray" => world.file("r/README.txt", "hello"),
        "garbage" => {
            let id = ChunkId::from_bytes([7; 12]);
            world.file(&format!("r/{}", layout::chunk_key(id)), "garbage");
        }
        "history-cycle" => {
            let mut middle = Parts::read(&world, middle);
            middle.parent = Some(head);
            middle.write(&world);
        }
        "no-root" => {
            let mut middle = Parts::read(&world, middle);
            middle.parent = None;
            middle.write(&world);
        }
        "chunk-twice" => more(
            &world,
            head,
            &[(&[1, 0], INLINE), (&[3, 0], INLINE)],
            &[1..4, 0..1],
        ),
        "extents-overlap" => more(
            &world,
            head,
            &[(&[1, 1], INLINE), (&[3, 0], INLINE)],
            &[1..4, 0..2],
        ),
        "virtual-location-invalid" => more(&world, head, &[(&[3, 0], far("none"))], &[3..4, 0..1]),
        "virtual-no-container" => {
            more(
                &world,
                head,
                &[(&[3, 0], far("s3://archives/one"))],
                &[3..4, 0..1],
            );
        }
        "manifest-unknown-node" => more(&world, head, &[(&[3, 0], INLINE)], &[]),
        "chunk-outside-grid" => more(
            &world,
            head,
            &[(&[3, 0], INLINE), (&[3, 5], INLINE)],
            &[3..4, 0..6],
        ),
        "chunk-wrong-rank" => {
            more(&world, head, &[(&[3, 0, 0], INLINE)], &[3..4, 0..1, 0..1]);
        }
        edit => {
            match edit {
                "node-below-array" => parts.nodes.push(Node {
                    id: NodeId::from_bytes([5; 8]),
                    path: "/x/under".into(),
                    document: serde_json::to_vec(&array(&[1], &[1], &["y"])).unwrap(),
                    array: Some((vec![1], Some(vec![Some("y".into())]), Vec::new())),
                }),
                "metadata-invalid" => parts.x().document = b"{".to_vec(),
                "metadata-disagrees" => parts.x().array.as_mut().unwrap().0 = vec![9, 9],
                "names-disagree" => parts.x().array.as_mut().unwrap().1 = None,
                "node-without-parent" => parts.nodes.retain(|it| it.path != "/below"),
                "not-younger" => parts.flushed_at = 1,
                "manifest-size" => parts.files[info].size_bytes += 1,
                "manifest-count" => parts.files[info].num_chunk_refs += 1,
                "manifest-unused" => {
                    let mut encoder = ManifestEncoder::new(NEW);
                    encoder.begin_array(parts.x().id).unwrap();
                    encoder.push(&[0, 0], INLINE).unwrap();
                    let encoded = encoder.finish(&Writer::default()).unwrap();
                    world.file(&format!("r/{}", layout::manifest_key(NEW)), encoded.bytes);
                    parts.files.push(encoded.info);
                }
                "extents-too-small" => {
                    parts.manifests()[0].extents = Extents::new(vec![0..1, 0..1]);
                }
                "extents-too-large" => {
                    parts.manifests()[0].extents = Extents::new(vec![0..7, 0..1]);
                }
                other => panic!("the test has no damage called {other}"),
            }
            parts.write(&world);
        }
    }
    world
}

/// How many findings of a kind a check reports.
fn count(world: &World, args: &[&str], kind: &str) -> u64 {
    let run = world.run(&[&["fsck", "r", "--json"], args].concat());
    facts(&run.stdout)["kinds"][kind].as_u64().unwrap_or(0)
}

#[test]
fn each_kind_of_finding_is_mended_committed_or_left_and_named() {
    let mut wrong = Vec::new();
    for (kind, fate) in KINDS {
        let world = plant(kind);
        let before = world.files("r");
        let run = world.run(&["fsck", "r", "--repair", "--json"]);
        let said: Value = match run.stdout.is_empty() {
            true => panic!("{kind}: {run:?}"),
            false => facts(&run.stdout),
        };
        if said["check"]["kinds"][kind].is_null() {
            wrong.push(format!("{kind} is not found: {}", said["check"]["kinds"]));
            continue;
        }
        let changed = world.files("r") != before;
        let committed = said["branches"].as_array().is_some_and(|it| {
            !it.is_empty() && it.iter().all(|branch| branch["outcome"] == "done")
        });
        let found = match changed {
            false => Left(run.code),
            true if run.code == 0 && count(&world, &[], kind) == 0 => Mended,
            true if run.code == 0 && committed && count(&world, &["--tips"], kind) == 0 => {
                Committed
            }
            // A log beside it was mended.
            true => Left(run.code),
        };
        if found != *fate {
            wrong.push(format!("{kind}: {found:?}, not {fate:?}: {run:?}"));
        }
        match found {
            Mended => drop(world.ok(&["fsck", "r"])),
            Committed => drop(world.ok(&["fsck", "r", "--tips"])),
            Left(_) => assert!(count(&world, &[], kind) > 0, "{kind}"),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
