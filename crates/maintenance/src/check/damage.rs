//! The damage at one snapshot: the parts that a repair of a branch has to drop, and the refs that a finding names.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use icefield_format::{
    ChunkId, ChunkIndex, ChunkRef, Extents, Manifest, ManifestId, NodeId, NodePath, Snapshot,
    SnapshotId, layout,
};

use super::chunks::{BadChunk, BadChunks, Problem};
use super::compare::survey;
use super::error::CheckError;
use super::finding::{Finding, FindingKind};
use super::foreign::{BadForeign, Locations};
use super::job::{Context, Job};
use super::needed::Need;
use super::nodes;
use super::objects::Objects;
use super::snapshots;

/// The damage of one snapshot.
#[derive(Debug)]
pub(super) struct Damage {
    pub(super) snapshot: SnapshotId,
    /// Its mark in findings.
    pub(super) marks: BTreeSet<(FindingKind, String)>,
    pub(super) arrays: Vec<ArrayDamage>,
    /// Groups that are missing above nodes.
    pub(super) missing_groups: BTreeSet<NodePath>,
    /// Nodes right below arrays, or below such.
    pub(super) below_arrays: BTreeSet<NodePath>,
}

/// The parts of an array that cannot be read, or are missing.
#[derive(Debug)]
pub(super) struct ArrayDamage {
    pub(super) path: NodePath,
    pub(super) manifests: BTreeSet<ManifestId>,
    /// Refs that those manifests had, as the snapshot says.
    pub(super) refs_of_manifests: u64,
    /// Native chunks, by index.
    pub(super) chunks: Vec<ChunkIndex>,
    /// Virtual chunks, by index.
    pub(super) virtual_chunks: Vec<ChunkIndex>,
    /// Extents that should be recorded instead of those that are.
    pub(super) extents: BTreeMap<ManifestId, Extents>,
}

impl ArrayDamage {
    pub(super) fn is_empty(&self) -> bool {
        self.manifests.is_empty()
            && self.chunks.is_empty()
            && self.virtual_chunks.is_empty()
            && self.extents.is_empty()
    }
}

/// Whether a ref leads to an object that does not hold what it says.
pub(super) fn is_lost(bad: &BadChunks, id: &ChunkId, end: u64) -> bool {
    match bad.get(id) {
        None => false,
        Some(None) => true,
        Some(Some(size)) => end > *size,
    }
}

/// Looks through one snapshot for what is known to be bad.
pub(super) async fn at(
    cx: &Context,
    snapshot: &Arc<Snapshot>,
    bad: &BadChunks,
    bad_foreign: &BadForeign,
) -> Result<Damage, CheckError> {
    let job = Job {
        snapshot: Arc::clone(snapshot),
        parent: None,
        log: false,
        pruned: Vec::new(),
        judge_all: false,
        detached: false,
    };
    let verdict = snapshots::check(cx, &job).await?;
    let mut damage = Damage {
        snapshot: snapshot.id(),
        marks: verdict.findings.iter().map(Finding::mark).collect(),
        arrays: Vec::new(),
        missing_groups: BTreeSet::new(),
        below_arrays: BTreeSet::new(),
    };
    for record in snapshot.nodes() {
        let path = record.node_path();
        if nodes::below_array(snapshot, &path) {
            damage.below_arrays.insert(path.clone());
        } else {
            // All of them: a group that is made needs its own group.
            let missing = path
                .ancestors()
                .filter(|above| snapshot.node(above).is_none());
            damage.missing_groups.extend(missing);
        }
        let Some(array) = record.array() else {
            continue;
        };
        let mut lost = ArrayDamage {
            path,
            manifests: BTreeSet::new(),
            refs_of_manifests: 0,
            chunks: Vec::new(),
            virtual_chunks: Vec::new(),
            extents: BTreeMap::new(),
        };
        let grid = nodes::grid(&record);
        for reference in array.manifests() {
            let id = reference.id();
            let Ok(stored) = cx.objects.manifest(id).await? else {
                let info = snapshot.manifest_file(&id);
                lost.refs_of_manifests += info.map_or(0, |info| u64::from(info.num_chunk_refs));
                lost.manifests.insert(id);
                continue;
            };
            let refs = stored.manifest.array(&record.id());
            let extents = reference.extents();
            let found = survey(refs, &extents, array.rank(), grid.as_deref());
            if let Some(right) = found.correction() {
                lost.extents.insert(id, right);
            }
            scan(
                &stored.manifest,
                &record.id(),
                grid.as_deref(),
                (bad, bad_foreign, &cx.locations),
                |mark, at| {
                    damage.marks.insert(mark.mark());
                    match mark.kind {
                        FindingKind::ChunkMissing => lost.chunks.push(at),
                        _ => lost.virtual_chunks.push(at),
                    }
                },
            );
        }
        if !lost.is_empty() {
            damage.arrays.push(lost);
        }
    }
    Ok(damage)
}

/// Finds an array's refs to bad objects.
fn scan(
    manifest: &Manifest,
    node: &NodeId,
    grid: Option<&[u32]>,
    (bad, bad_foreign, locations): (&BadChunks, &BadForeign, &Locations),
    mut found: impl FnMut(Finding, ChunkIndex),
) {
    let refs = manifest.array(node);
    for record in refs.iter().flat_map(|refs| refs.refs()) {
        let within = |grid: &[u32]| {
            grid.len() == record.rank() && record.coordinates().zip(grid).all(|(at, n)| at < *n)
        };
        if !grid.is_none_or(within) {
            continue;
        }
        match record.chunk_ref() {
            Ok(ChunkRef::Native { id, offset, length }) if is_lost(bad, &id, offset + length) => {
                let kind = FindingKind::ChunkMissing;
                found(
                    Finding::new(kind, layout::chunk_key(id), ""),
                    record.index(),
                );
            }
            Ok(ChunkRef::Virtual {
                location,
                offset,
                length,
                checksum,
            }) if locations.is_bad(bad_foreign, location, offset + length, checksum) => {
                let kind = FindingKind::VirtualMissing;
                found(Finding::new(kind, location, ""), record.index());
            }
            _ => {}
        }
    }
}

/// Makes findings of chunk objects that are bad: where the first refs to each came into a history.
pub(super) async fn explain(
    objects: &Objects,
    sources: &[(SnapshotId, NodeId)],
    bad: &[BadChunk],
) -> Result<Vec<Finding>, CheckError> {
    let mut by_source: HashMap<u32, HashMap<ChunkId, usize>> = HashMap::new();
    let mut findings: Vec<Finding> = Vec::with_capacity(bad.len());
    for (at, chunk) in bad.iter().enumerate() {
        let Need { source, end, .. } = chunk.need;
        let id = chunk.need.chunk();
        by_source.entry(source).or_default().insert(id, at);
        let (kind, rule) = match &chunk.problem {
            Problem::Missing => (FindingKind::ChunkMissing, "it does not exist".to_owned()),
            Problem::Short(size) => {
                let rule = format!("it has {size} bytes, and chunks end at byte {end}");
                (FindingKind::ChunkShort, rule)
            }
            Problem::Unreadable(why) => (FindingKind::ChunkUnreadable, why.clone()),
        };
        findings.push(Finding::new(kind, layout::chunk_key(id), rule).times(0));
    }
    for (source, wanted) in by_source {
        let Some((snapshot, node)) = sources.get(source as usize) else {
            continue;
        };
        let Ok(snapshot) = objects.snapshot(*snapshot).await? else {
            continue;
        };
        let Some(record) = snapshot.nodes().find(|record| record.id() == *node) else {
            continue;
        };
        for reference in record
            .array()
            .into_iter()
            .flat_map(|array| array.manifests())
        {
            let Ok(stored) = objects.manifest(reference.id()).await? else {
                continue;
            };
            let refs = stored.manifest.array(node);
            for chunk in refs.iter().flat_map(|refs| refs.refs()) {
                let Ok(ChunkRef::Native { id, offset, length }) = chunk.chunk_ref() else {
                    continue;
                };
                let Some(at) = wanted.get(&id) else { continue };
                if let Problem::Short(size) = bad[*at].problem
                    && offset + length <= size
                {
                    continue;
                }
                let finding = &mut findings[*at];
                finding.count += 1;
                if finding.index.is_none() {
                    finding.snapshot = Some(snapshot.id());
                    finding.path = Some(record.path().to_owned());
                    finding.index = Some(chunk.coordinates().collect());
                }
            }
        }
    }
    Ok(findings)
}
