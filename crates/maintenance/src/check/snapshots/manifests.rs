//! The manifests of one snapshot: by themselves, against what it says of them, and against one another.

use std::collections::{BTreeSet, HashSet};

use icefield_format::{Extents, Manifest, ManifestFileInfo, ManifestId, NodeRecord, layout};

use super::arrays::SnapshotCheck;
use crate::check::compare::{in_both, survey};
use crate::check::error::CheckError;
use crate::check::finding::{Finding, FindingKind};
use crate::check::objects::{Broken, StoredManifest};

impl SnapshotCheck<'_> {
    /// Holds a manifest against what the snapshot says of it, once.
    pub(super) fn check_manifest(
        &mut self,
        id: ManifestId,
        user: Option<&NodeRecord<'_>>,
        read: Result<StoredManifest, Broken>,
        is_new: bool,
    ) -> Option<StoredManifest> {
        let key = layout::manifest_key(id);
        let info = self.job.snapshot.manifest_file(&id);
        let stored = match read {
            Ok(stored) => stored,
            Err(broken) => {
                self.verdict.unread = true;
                if is_new {
                    let kind = match broken {
                        Broken::Missing => FindingKind::ManifestMissing,
                        Broken::Damaged(_) => FindingKind::ManifestDamaged,
                    };
                    let mut finding = Finding::new(kind, key, broken.to_string());
                    finding.count = info.map_or(1, |info| u64::from(info.num_chunk_refs));
                    finding.path = user.map(|record| record.path().to_owned());
                    self.find(finding);
                }
                return None;
            }
        };
        if let Some(info) = info
            && is_new
            && self.looked.insert(id)
        {
            self.file(&key, info, &stored);
        }
        Some(stored)
    }

    fn file(&mut self, key: &str, info: ManifestFileInfo, stored: &StoredManifest) {
        let (size, refs) = (stored.file_len, stored.manifest.total_refs());
        if size != info.size_bytes {
            let rule = format!(
                "it has {size} bytes, and the snapshot says {}",
                info.size_bytes
            );
            self.find(Finding::new(FindingKind::ManifestSize, key, rule));
        }
        if refs != u64::from(info.num_chunk_refs) {
            let rule = format!(
                "it has {refs} chunk refs, and the snapshot says {}",
                info.num_chunk_refs
            );
            self.find(Finding::new(FindingKind::ManifestCount, key, rule));
        }
        let snapshot = &self.job.snapshot;
        let here = self
            .here
            .get_or_init(|| snapshot.nodes().map(|node| node.id()).collect());
        let strangers = stored
            .manifest
            .arrays()
            .filter(|array| !here.contains(&array.node_id()));
        let strangers: Vec<_> = strangers
            .map(|array| (array.node_id(), array.len()))
            .collect();
        if let Some((first, _)) = strangers.first() {
            let rule = format!("it has refs of node {first}, which the snapshot does not have");
            let count = strangers.iter().map(|(_, refs)| *refs as u64).sum();
            let finding = Finding::new(FindingKind::ManifestUnknownNode, key, rule);
            self.find(finding.times(count));
        }
    }

    pub(super) fn survey(
        &mut self,
        record: &NodeRecord<'_>,
        manifest: &Manifest,
        extents: &Extents,
        grid: Option<&[u32]>,
    ) {
        let rank = record.array().map_or(0, |array| array.rank());
        let found = survey(manifest.array(&record.id()), extents, rank, grid);
        let key = layout::manifest_key(manifest.id());
        for (kind, several, rule) in [
            (
                FindingKind::ExtentsTooSmall,
                found.outside_extents,
                format!("the extents {extents} do not cover them"),
            ),
            (
                FindingKind::ChunkOutsideGrid,
                found.outside_grid,
                format!("the array has {:?} chunks", grid.unwrap_or_default()),
            ),
            (
                FindingKind::ChunkWrongRank,
                found.wrong_rank,
                format!("the array has {rank} dimensions"),
            ),
        ] {
            if several.count > 0 {
                let finding = Finding::new(kind, &key, rule).at(record.path());
                self.find(finding.chunks(&several.first, several.count));
            }
        }
        if found.is_loose {
            let rule = format!("the extents {extents} claim more than there is");
            let finding = Finding::new(FindingKind::ExtentsTooLarge, &key, rule);
            self.find(finding.at(record.path()));
        }
    }

    /// No two manifests of an array have a chunk in common, nor do their extents.
    pub(super) async fn overlaps(
        &mut self,
        record: &NodeRecord<'_>,
        now: &[(ManifestId, Extents)],
        then: &HashSet<ManifestId>,
    ) -> Result<(), CheckError> {
        let mut pairs = Vec::new();
        for (at, (id, extents)) in now.iter().enumerate() {
            for (other, theirs) in &now[..at] {
                let is_new = !then.contains(id) || !then.contains(other);
                if is_new && (extents.intersects(theirs) || id == other) {
                    pairs.push((*id, *other, extents));
                }
            }
        }
        for (id, other, extents) in pairs {
            let key = layout::manifest_key(id);
            let rule = format!("its extents {extents} overlap those of manifest {other}");
            let finding = Finding::new(FindingKind::ExtentsOverlap, &key, rule);
            self.find(finding.at(record.path()));
            if id == other {
                continue;
            }
            let read = (
                self.cx.objects.manifest(id).await?,
                self.cx.objects.manifest(other).await?,
            );
            let (Ok(one), Ok(two)) = read else { continue };
            let twice = in_both(&one.manifest, &two.manifest, &record.id());
            if twice.count > 0 {
                let rule = format!("manifest {other} of the same array has them, too");
                let finding = Finding::new(FindingKind::ChunkTwice, key, rule).at(record.path());
                self.find(finding.chunks(&twice.first, twice.count));
            }
        }
        Ok(())
    }

    /// Looks for new manifests that no array names.
    pub(super) async fn unused(&mut self) -> Result<(), CheckError> {
        let new = self.verdict.manifests.clone();
        if new.is_empty() {
            return Ok(());
        }
        let arrays = self.job.snapshot.nodes().filter_map(|node| node.array());
        let used: BTreeSet<ManifestId> = arrays
            .flat_map(|array| array.manifests())
            .map(|it| it.id())
            .collect();
        for id in new.into_iter().filter(|id| !used.contains(id)) {
            let key = layout::manifest_key(id);
            let rule = "the snapshot lists it, and none of its arrays names it";
            self.find(Finding::new(FindingKind::ManifestUnused, key, rule));
            let read = self.cx.objects.manifest(id).await?;
            self.check_manifest(id, None, read, true);
        }
        Ok(())
    }
}
