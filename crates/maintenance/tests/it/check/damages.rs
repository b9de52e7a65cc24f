//! Planted damages: each is found, under its kind, with its object named, and nothing else is.

use icefield_format::{ChunkRef, Extents, ManifestRef, NodeId, SpecVersion, layout};
use icefield_maintenance::FindingKind::{self, *};
use icefield_testkit::forge::{Forge, ForgedSnapshot, chunk_id, manifest_id, node_id, snapshot_id};
use icefield_testkit::stores;

use super::world::{GROUP, NATIVE, Node, World, array};

/// The expectation: the kind and the object of one finding, and other kinds that it brings along.
pub(super) struct Planted(
    pub(super) FindingKind,
    pub(super) String,
    pub(super) &'static [FindingKind],
);

fn alone(kind: FindingKind, key: impl Into<String>) -> Planted {
    Planted(kind, key.into(), &[])
}

fn native(id: u8, offset: u64, length: u64) -> ChunkRef<'static> {
    ChunkRef::Native {
        id: chunk_id(id),
        offset,
        length,
    }
}

fn far(location: &'static str, offset: u64, length: u64) -> ChunkRef<'static> {
    ChunkRef::Virtual {
        location,
        offset,
        length,
        checksum: None,
    }
}

const INLINE: ChunkRef<'static> = ChunkRef::Inline(b"inline");

/// All damages that are planted here.
pub(super) const ALL: &[&str] = &[
    "a branch's file is empty",
    "a branch's file is no JSON",
    "a tag's file names no id",
    "a branch points to a missing snapshot",
    "a tag points to a missing snapshot",
    "main is missing",
    "a tombstone has bytes",
    "a tombstone has no tag",
    "the configuration is no YAML",
    "the configuration is empty",
    "there is an object repo",
    "the tip of a branch is missing",
    "a snapshot in between is missing",
    "a snapshot is empty",
    "a snapshot is truncated",
    "a snapshot has another magic",
    "a snapshot is of a newer version",
    "a snapshot is a manifest",
    "a snapshot is another snapshot",
    "a snapshot is its own parent",
    "two snapshots are each other's parent",
    "a snapshot is as old as its parent",
    "a history begins elsewhere",
    "nodes are out of order",
    "a node id is there twice",
    "a path is there twice",
    "a path is none",
    "a manifest is used and not listed",
    "commit metadata is no MessagePack",
    "zarr.json is no JSON",
    "zarr.json is of a group",
    "zarr.json is of an array",
    "the recorded shape is another",
    "the recorded rank is another",
    "the recorded names are others",
    "a group is missing",
    "a node is below an array",
    "a manifest is missing",
    "a manifest is truncated",
    "a manifest is another manifest",
    "a manifest's size is another",
    "a manifest's count is another",
    "a manifest's refs are out of order",
    "a manifest's ranges overflow",
    "a manifest is listed and not used",
    "a manifest has refs of no array",
    "extents are too small",
    "extents are too large",
    "extents overlap",
    "a chunk is in two manifests",
    "a chunk is outside the grid",
    "a chunk has another rank",
    "a chunk object is missing",
    "a chunk object is too short",
    "a part of a packed object is behind its end",
    "a virtual location is none",
    "no container covers a virtual chunk",
    "a log is missing",
    "a log is truncated",
    "a log is of another snapshot",
    "a log keeps a chunk quiet",
    "a log keeps a new node quiet",
    "a log keeps an update quiet",
    "a log tells of a node that never was",
    "a log tells of chunks of no array",
    "a stray lies at the root",
    "a stray lies among the refs",
    "a stray lies among the chunks",
    "an id is spelt in lower case",
];

/// Those among them that are about what only spec version 1 has: files of refs, parents in snapshots, MessagePack, lists of
/// manifests without tables.
pub(super) const ONLY_V1: &[&str] = &[
    "a branch's file is empty",
    "a branch's file is no JSON",
    "a tag's file names no id",
    "a branch points to a missing snapshot",
    "a tag points to a missing snapshot",
    "main is missing",
    "a tombstone has bytes",
    "a tombstone has no tag",
    "the configuration is no YAML",
    "the configuration is empty",
    "there is an object repo",
    "a snapshot is its own parent",
    "two snapshots are each other's parent",
    "a history begins elsewhere",
    "a manifest is used and not listed",
    "commit metadata is no MessagePack",
    "a stray lies among the refs",
];

/// The damages that a version can have.
pub(super) fn of_version(spec: SpecVersion) -> impl Iterator<Item = &'static str> {
    let all = ALL.iter().copied();
    all.filter(move |what| spec == SpecVersion::V1 || !ONLY_V1.contains(what))
}

/// Plants one damage.
pub(super) async fn plant(what: &str, world: &World) -> Planted {
    let main = "refs/branch.main/ref.json";
    let dev = "refs/branch.dev/ref.json";
    let v1 = "refs/tag.v1/ref.json";
    let a = world.node_of(3, "/g/a").await;
    // Where the branch is written down.
    let of_dev = match world.spec {
        SpecVersion::V1 => dev,
        _ => "repo",
    };
    match what {
        "a branch's file is empty" => {
            world.put(dev, "").await;
            Planted(RefDamaged, dev.into(), &[])
        }
        "a branch's file is no JSON" => {
            world.put(dev, "{\"snapshot\":").await;
            alone(RefDamaged, dev)
        }
        "a tag's file names no id" => {
            world.put(v1, r#"{"snapshot":"SHORT"}"#).await;
            alone(RefDamaged, v1)
        }
        "a branch points to a missing snapshot" => {
            forge(world).branch("dev", snapshot_id(7)).await;
            alone(RefDangling, dev)
        }
        "a tag points to a missing snapshot" => {
            forge(world).tag("v1", snapshot_id(7)).await;
            alone(RefDangling, v1)
        }
        "main is missing" => {
            world.delete(main).await;
            alone(MainMissing, main)
        }
        "a tombstone has bytes" => {
            let key = "refs/tag.old/ref.json.deleted";
            world.put(key, "x").await;
            alone(TombstoneNotEmpty, key)
        }
        "a tombstone has no tag" => {
            world.delete("refs/tag.old/ref.json").await;
            alone(TombstoneWithoutTag, "refs/tag.old/ref.json.deleted")
        }
        "the configuration is no YAML" => {
            world.put("config.yaml", "{ never closed").await;
            alone(ConfigDamaged, "config.yaml")
        }
        "the configuration is empty" => {
            world.put("config.yaml", "").await;
            alone(ConfigDamaged, "config.yaml")
        }
        "there is an object repo" => {
            world.put("repo", "anything").await;
            alone(RepoObject, "repo")
        }
        "the tip of a branch is missing" => {
            world.delete(&world.snapshot_key(4)).await;
            alone(RefDangling, of_dev)
        }
        "a snapshot in between is missing" => {
            world.delete(&world.snapshot_key(2)).await;
            alone(SnapshotMissing, world.snapshot_key(2))
        }
        "a snapshot is empty" => {
            world.put(&world.snapshot_key(4), "").await;
            alone(SnapshotDamaged, world.snapshot_key(4))
        }
        "a snapshot is truncated" => {
            world.truncate(&world.snapshot_key(2)).await;
            alone(SnapshotDamaged, world.snapshot_key(2))
        }
        "a snapshot has another magic" | "a snapshot is of a newer version" => {
            let key = world.snapshot_key(2);
            let mut file = stores::read(&world.storage, &key).await.to_vec();
            match what {
                "a snapshot has another magic" => file[0] = b'X',
                _ => file[36] = 9,
            }
            world.put(&key, file).await;
            alone(SnapshotDamaged, key)
        }
        "a snapshot is a manifest" => {
            let key = layout::manifest_key(world.manifest_of(3, "/g/a").await);
            let file = stores::read(&world.storage, &key).await;
            world.put(&world.snapshot_key(2), file).await;
            alone(SnapshotDamaged, world.snapshot_key(2))
        }
        "a snapshot is another snapshot" => {
            let file = stores::read(&world.storage, &world.snapshot_key(1)).await;
            world.put(&world.snapshot_key(2), file).await;
            alone(SnapshotDamaged, world.snapshot_key(2))
        }
        "a snapshot is its own parent" => {
            forge(world).own_parent(snapshot_id(7)).await;
            forge(world).branch("odd", snapshot_id(7)).await;
            alone(SnapshotDamaged, layout::snapshot_key(snapshot_id(7)))
        }
        "two snapshots are each other's parent" => {
            let (one, two) = (snapshot_id(7), snapshot_id(8));
            forge(world)
                .snapshot(&ForgedSnapshot::new(one, Some(two), 2))
                .await;
            forge(world)
                .snapshot(&ForgedSnapshot::new(two, Some(one), 1))
                .await;
            forge(world).branch("odd", one).await;
            alone(HistoryCycle, layout::snapshot_key(two))
        }
        "a snapshot is as old as its parent" => {
            let time = world.snapshot(2).await.flushed_at();
            world
                .edit_snapshot(3, |parts| parts.flushed_at = time)
                .await;
            let others: &[_] = match world.spec {
                SpecVersion::V1 => &[],
                _ => &[SnapshotDisagrees],
            };
            Planted(NotYounger, world.snapshot_key(3), others)
        }
        "a history begins elsewhere" => {
            forge(world)
                .snapshot(&ForgedSnapshot::new(snapshot_id(7), None, 1))
                .await;
            forge(world).branch("odd", snapshot_id(7)).await;
            alone(NoRoot, layout::snapshot_key(snapshot_id(7)))
        }
        "nodes are out of order" => {
            world.patch(&world.snapshot_key(3), b"/g/v", b"/a/v").await;
            alone(SnapshotDamaged, world.snapshot_key(3))
        }
        "a node id is there twice" => {
            let v = world.node_of(3, "/g/v").await;
            world
                .patch(&world.snapshot_key(3), v.as_bytes(), a.as_bytes())
                .await;
            alone(SnapshotDamaged, world.snapshot_key(3))
        }
        "a path is there twice" => {
            world.patch(&world.snapshot_key(3), b"/g/v", b"/g/a").await;
            alone(SnapshotDamaged, world.snapshot_key(3))
        }
        "a path is none" => {
            world.patch(&world.snapshot_key(3), b"/g/v", b"/g//").await;
            alone(SnapshotDamaged, world.snapshot_key(3))
        }
        "a manifest is used and not listed" => {
            // Ids of manifest files come first in a body, as the encoder writes it, or last: only one of two is changed.
            let id = world.manifest_of(3, "/g/a").await;
            let infos: Vec<_> = world.snapshot(3).await.manifest_files().collect();
            let info = infos.iter().find(|it| it.id == id).expect("listed");
            let mut from = id.as_bytes().to_vec();
            from.extend([0; 4]);
            from.extend(info.size_bytes.to_le_bytes());
            let mut to = from.clone();
            to[11] ^= 1;
            world.patch(&world.snapshot_key(3), &from, &to).await;
            alone(SnapshotDamaged, world.snapshot_key(3))
        }
        "commit metadata is no MessagePack" => {
            let key = world.snapshot_key(2);
            let edit = |parts: &mut super::world::Parts| {
                parts.metadata.insert("name".into(), "QQQQ".into());
            };
            world.edit_snapshot(2, edit).await;
            // The head of a text becomes a byte that MessagePack never uses.
            world.patch(&key, b"\xa4QQQQ", b"\xc1QQQQ").await;
            alone(SnapshotDamaged, key)
        }
        "zarr.json is no JSON" => {
            world
                .edit_snapshot(3, |parts| parts.node("/g").document = "{".into())
                .await;
            Planted(MetadataInvalid, world.snapshot_key(3), &[LogIncomplete])
        }
        "zarr.json is of a group" => {
            world
                .edit_snapshot(3, |parts| parts.node("/w").document = GROUP.into())
                .await;
            Planted(MetadataInvalid, world.snapshot_key(3), &[LogIncomplete])
        }
        "zarr.json is of an array" => {
            world
                .edit_snapshot(3, |parts| parts.node("/g").document = array(&[1]))
                .await;
            Planted(MetadataInvalid, world.snapshot_key(3), &[LogIncomplete])
        }
        "the recorded shape is another" => {
            let edit = |parts: &mut super::world::Parts| {
                parts.node("/g/a").array.as_mut().expect("an array").0 = vec![9];
            };
            world.edit_snapshot(3, edit).await;
            alone(MetadataDisagrees, world.snapshot_key(3))
        }
        "the recorded rank is another" => {
            let edit = |parts: &mut super::world::Parts| {
                parts.node("/g/v").array.as_mut().expect("an array").0 = vec![4, 1];
            };
            world.edit_snapshot(3, edit).await;
            Planted(MetadataDisagrees, world.snapshot_key(3), &[])
        }
        "the recorded names are others" => {
            let edit = |parts: &mut super::world::Parts| {
                let names = Some(vec![Some("t".to_owned())]);
                parts.node("/g/a").array.as_mut().expect("an array").1 = names;
            };
            world.edit_snapshot(3, edit).await;
            alone(NamesDisagree, world.snapshot_key(3))
        }
        "a group is missing" => {
            world
                .edit_snapshot(3, |parts| parts.nodes.retain(|node| node.path != "/g"))
                .await;
            Planted(
                NodeWithoutParent,
                world.snapshot_key(3),
                &[NodeWithoutParent, LogIncomplete],
            )
        }
        "a node is below an array" => {
            let below = Node {
                id: node_id(5),
                path: "/g/a/below".into(),
                document: array(&[1]),
                array: Some((vec![1], None, Vec::new())),
            };
            world
                .edit_snapshot(3, |parts| parts.nodes.push(below))
                .await;
            world.write_log_with_new(3, node_id(5)).await;
            alone(NodeBelowArray, world.snapshot_key(3))
        }
        "a manifest is missing" => {
            let key = layout::manifest_key(world.manifest_of(3, "/g/a").await);
            world.delete(&key).await;
            alone(ManifestMissing, key)
        }
        "a manifest is truncated" => {
            let key = layout::manifest_key(world.manifest_of(3, "/g/a").await);
            world.truncate(&key).await;
            alone(ManifestDamaged, key)
        }
        "a manifest is another manifest" => {
            let other = layout::manifest_key(world.manifest_of(3, "/w").await);
            let file = stores::read(&world.storage, &other).await;
            let key = layout::manifest_key(world.manifest_of(3, "/g/a").await);
            world.put(&key, file).await;
            alone(ManifestDamaged, key)
        }
        "a manifest's size is another" | "a manifest's count is another" => {
            let id = world.manifest_of(3, "/g/a").await;
            let edit = |parts: &mut super::world::Parts| {
                let info = parts
                    .files
                    .iter_mut()
                    .find(|it| it.id == id)
                    .expect("listed");
                match what {
                    "a manifest's size is another" => info.size_bytes += 1,
                    _ => info.num_chunk_refs += 1,
                }
            };
            world.edit_snapshot(3, edit).await;
            let kind = match what {
                "a manifest's size is another" => ManifestSize,
                _ => ManifestCount,
            };
            alone(kind, layout::manifest_key(id))
        }
        "a manifest's refs are out of order" => {
            let id = manifest_id(9);
            let chunks: &[(&[u32], ChunkRef<'_>)] = &[(&[6], INLINE), (&[77], INLINE)];
            let info = world.write_manifest(id, &[(a, chunks)]).await;
            world.add_manifest(3, "/g/a", info, 6..8).await;
            let key = layout::manifest_key(id);
            // The index 77 becomes 5.
            world
                .patch(&key, &[1, 0, 0, 0, 77, 0, 0, 0], &[1, 0, 0, 0, 5, 0, 0, 0])
                .await;
            Planted(ManifestDamaged, key, &[])
        }
        "a manifest's ranges overflow" => {
            let id = manifest_id(9);
            let offset = 0x0123_4567_89AB_CDEF_u64;
            let chunks: &[(&[u32], ChunkRef<'_>)] = &[(&[6], native(1, offset, 5))];
            let info = world.write_manifest(id, &[(a, chunks)]).await;
            world.add_manifest(3, "/g/a", info, 6..7).await;
            let key = layout::manifest_key(id);
            world
                .patch(&key, &offset.to_le_bytes(), &u64::MAX.to_le_bytes())
                .await;
            alone(ManifestDamaged, key)
        }
        "a manifest is listed and not used" => {
            let info = world
                .write_manifest(manifest_id(9), &[(a, &[(&[6], INLINE)])])
                .await;
            world.edit_snapshot(3, |parts| parts.list(info)).await;
            alone(ManifestUnused, layout::manifest_key(manifest_id(9)))
        }
        "a manifest has refs of no array" => {
            let (id, chunk) = (manifest_id(9), [(&[6_u32][..], INLINE)]);
            let info = world
                .write_manifest(id, &[(a, &chunk), (node_id(5), &chunk)])
                .await;
            world.add_manifest(3, "/g/a", info, 6..7).await;
            world.log_more(3, a, &[&[4], &[6]]).await;
            alone(ManifestUnknownNode, layout::manifest_key(id))
        }
        "extents are too small" | "extents are too large" => {
            let id = world.manifest_of(3, "/g/a").await;
            let range = match what {
                "extents are too small" => 0..3,
                _ => 0..8,
            };
            let edit = |parts: &mut super::world::Parts| {
                parts.manifests("/g/a")[0].extents = Extents::new(vec![range]);
            };
            world.edit_snapshot(3, edit).await;
            let kind = match what {
                "extents are too small" => ExtentsTooSmall,
                _ => ExtentsTooLarge,
            };
            alone(kind, layout::manifest_key(id))
        }
        "extents overlap" | "a chunk is in two manifests" => {
            let id = manifest_id(9);
            let chunks: &[(&[u32], ChunkRef<'_>)] = match what {
                "extents overlap" => &[(&[7], INLINE)],
                _ => &[(&[1], INLINE), (&[7], INLINE)],
            };
            let info = world.write_manifest(id, &[(a, chunks)]).await;
            world.add_manifest(3, "/g/a", info, 1..8).await;
            world.log_more(3, a, &[&[1], &[4], &[7]]).await;
            let key = layout::manifest_key(id);
            match what {
                "extents overlap" => Planted(ExtentsOverlap, key, &[ExtentsTooLarge]),
                _ => Planted(ChunkTwice, key, &[ExtentsOverlap]),
            }
        }
        "a chunk has another rank" => {
            let edit = |parts: &mut super::world::Parts| {
                let node = parts.node("/g/a");
                node.document = array(&[8, 1]);
                node.array.as_mut().expect("an array").0 = vec![8, 1];
            };
            world.edit_snapshot(3, edit).await;
            let key = layout::manifest_key(world.manifest_of(3, "/g/a").await);
            Planted(ChunkWrongRank, key, &[LogIncomplete])
        }
        "a chunk is outside the grid" => {
            let id = manifest_id(9);
            let chunks: &[(&[u32], ChunkRef<'_>)] = &[(&[6], INLINE), (&[8], native(1, 0, 5))];
            let info = world.write_manifest(id, &[(a, chunks)]).await;
            world.add_manifest(3, "/g/a", info, 6..9).await;
            world.log_more(3, a, &[&[4], &[6]]).await;
            alone(ChunkOutsideGrid, layout::manifest_key(id))
        }
        "a chunk object is missing" => {
            let key = world.chunk_key(3, "/g/a", &[2]).await;
            world.delete(&key).await;
            alone(ChunkMissing, key)
        }
        "a chunk object is too short" => {
            let key = world.chunk_key(3, "/g/a", &[4]).await;
            world.put(&key, vec![0; NATIVE - 1]).await;
            alone(ChunkShort, key)
        }
        "a part of a packed object is behind its end" => {
            let id = manifest_id(9);
            let chunks: &[(&[u32], ChunkRef<'_>)] = &[
                (&[5], native(1, 0, 50)),
                (&[6], native(1, 50, 50)),
                (&[7], native(1, 90, 20)),
            ];
            let info = world.write_manifest(id, &[(a, chunks)]).await;
            world.add_manifest(3, "/g/a", info, 5..8).await;
            world.log_more(3, a, &[&[4], &[5], &[6], &[7]]).await;
            forge(world).chunk(chunk_id(1), vec![0; 100]).await;
            alone(ChunkShort, layout::chunk_key(chunk_id(1)))
        }
        "a virtual location is none" | "no container covers a virtual chunk" => {
            let (location, kind) = match what {
                "a virtual location is none" => ("no location", VirtualLocationInvalid),
                _ => ("s3://archives/one", VirtualNoContainer),
            };
            let chunks: &[(&[u32], ChunkRef<'_>)] = &[(&[6], far(location, 0, 5))];
            let info = world.write_manifest(manifest_id(9), &[(a, chunks)]).await;
            world.add_manifest(3, "/g/a", info, 6..7).await;
            world.log_more(3, a, &[&[4], &[6]]).await;
            alone(kind, location)
        }
        "a log is missing" => {
            world.delete(&world.log_key(2)).await;
            alone(LogMissing, world.log_key(2))
        }
        "a log is truncated" => {
            world.truncate(&world.log_key(2)).await;
            alone(LogDamaged, world.log_key(2))
        }
        "a log is of another snapshot" => {
            let file = stores::read(&world.storage, &world.log_key(1)).await;
            world.put(&world.log_key(2), file).await;
            alone(LogDamaged, world.log_key(2))
        }
        "a log keeps a chunk quiet" => {
            world.write_log(3, |_| {}).await;
            alone(LogIncomplete, world.log_key(3))
        }
        "a log keeps a new node quiet" => {
            let group = Node {
                id: node_id(5),
                path: "/h".into(),
                document: GROUP.into(),
                array: None,
            };
            world
                .edit_snapshot(3, |parts| parts.nodes.push(group))
                .await;
            alone(LogIncomplete, world.log_key(3))
        }
        "a log keeps an update quiet" => {
            let document = r#"{"zarr_format": 3, "node_type": "group", "attributes": {"a": 1}}"#;
            world
                .edit_snapshot(3, |parts| parts.node("/g").document = document.into())
                .await;
            alone(LogIncomplete, world.log_key(3))
        }
        "a log tells of a node that never was" => {
            world.write_log_with_new(3, node_id(5)).await;
            alone(LogExcess, world.log_key(3))
        }
        "a log tells of chunks of no array" => {
            world
                .log_more_of(3, &[(a, &[&[4]]), (node_id(0xFE), &[&[1]])])
                .await;
            alone(LogExcess, world.log_key(3))
        }
        "a stray lies at the root" => {
            world.put("README.txt", "hello").await;
            alone(Stray, "README.txt")
        }
        "a stray lies among the refs" => {
            world.put("refs/branch.main/ref.json.swp", "x").await;
            alone(RefStray, "refs/branch.main/ref.json.swp")
        }
        "a stray lies among the chunks" => {
            world.put("chunks/notes.txt", "x").await;
            alone(Stray, "chunks/notes.txt")
        }
        "an id is spelt in lower case" => {
            let key = world.snapshot_key(3).to_lowercase();
            world.put(&key, "x").await;
            alone(Stray, key)
        }
        other => panic!("the test has no damage called {other:?}"),
    }
}

fn forge(world: &World) -> Forge {
    Forge::new(&world.storage)
}

impl World {
    /// Adds a manifest to an array at a commit.
    async fn add_manifest(
        &self,
        commit: usize,
        at: &str,
        info: icefield_format::ManifestFileInfo,
        range: std::ops::Range<u32>,
    ) {
        let edit = |parts: &mut super::world::Parts| {
            parts.list(info);
            parts.manifests(at).push(ManifestRef {
                id: info.id,
                extents: Extents::new(vec![range]),
            });
        };
        self.edit_snapshot(commit, edit).await;
    }

    /// Lets a commit's log tell of these chunks, and nothing else.
    async fn log_more(&self, commit: usize, node: NodeId, chunks: &[&[u32]]) {
        self.log_more_of(commit, &[(node, chunks)]).await;
    }

    async fn log_more_of(&self, commit: usize, arrays: &[(NodeId, &[&[u32]])]) {
        let mut arrays = arrays.to_vec();
        arrays.sort_by_key(|(node, _)| *node);
        let write = |log: &mut icefield_format::TransactionLogEncoder| {
            for (node, chunks) in &arrays {
                log.begin_chunks(*node).expect("sorted");
                for index in *chunks {
                    log.push_chunk(index).expect("sorted");
                }
            }
        };
        self.write_log(commit, write).await;
    }

    /// Lets a commit's log tell of a new array, too.
    async fn write_log_with_new(&self, commit: usize, node: NodeId) {
        let told = self.log(commit).await;
        let write = |log: &mut icefield_format::TransactionLogEncoder| {
            log.new_arrays([node]);
            for array in told.updated_chunks() {
                log.begin_chunks(array.node_id()).expect("sorted");
                for index in array.chunks() {
                    log.push_chunk(&index).expect("sorted");
                }
            }
        };
        self.write_log(commit, write).await;
    }
}

const BOTH: [SpecVersion; 2] = [SpecVersion::V1, SpecVersion::V2];

#[tokio::test]
async fn the_undamaged_repository_is_clean() {
    for spec in BOTH {
        let world = World::of(spec).await;
        let report = world.report().await;
        let kinds: Vec<_> = report.kinds.keys().collect();
        assert_eq!(kinds, [&VirtualCounted], "{report:#?}");
        assert_eq!((report.damage, report.warnings), (0, 0));
        // In version 2, the first snapshot has a log, too.
        let logs = 3 + spec as u64;
        assert_eq!(
            (report.refs, report.snapshots, report.transaction_logs),
            (3, 5, logs)
        );
        assert_eq!(u64::from(report.spec_version), spec as u64);
        assert_eq!((report.chunks, report.virtual_chunks), (5, 3));
        assert_eq!(report.chunk_bytes, 5 * NATIVE as u64);
        assert_eq!(report.garbage.map(|it| it.objects), Some(0));
    }
}

/// Checks a repository with one damage; returns what is wrong with what is found.
pub(super) async fn judge(what: &str, world: &World, planted: Planted) -> Option<String> {
    let Planted(kind, key, others) = planted;
    let report = world.report().await;
    let found: Vec<String> = (report.findings.iter())
        .map(|it| format!("{:?} {} {:?}: {}", it.kind, it.key, it.path, it.rule))
        .collect();
    let mut named = report
        .findings
        .iter()
        .filter(|it| it.kind == kind && it.key == key);
    if named.next().is_none() {
        return Some(format!("{what}: no {kind:?} of {key}, but {found:#?}"));
    }
    assert!(
        report
            .findings
            .iter()
            .all(|it| !it.next.is_empty() && !it.rule.is_empty())
    );
    let allowed = |it: FindingKind| {
        it == kind || others.contains(&it) || it == VirtualCounted || it == Garbage
    };
    match report.kinds.keys().all(|it| allowed(*it)) {
        true => None,
        false => Some(format!("{what}: also {found:#?}")),
    }
}

#[tokio::test]
async fn every_planted_damage_is_found_and_its_object_named() {
    assert!(ALL.len() >= 40);
    let mut wrong = Vec::new();
    for spec in BOTH {
        for what in of_version(spec) {
            let world = World::of(spec).await;
            let planted = plant(what, &world).await;
            let found = judge(what, &world, planted).await;
            wrong.extend(found.map(|it| format!("{spec:?}: {it}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
