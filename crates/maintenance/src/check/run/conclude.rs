//! The end of a check: what else is stored, what could be made again, and which refs show each finding.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use icefield_format::{SnapshotId, layout};
use icefield_refs::BranchName;

use super::Run;
use crate::check::collected::Proposal;
use crate::check::error::CheckError;
use crate::check::finding::{Finding, FindingKind};
use crate::check::needed::Needed;
use crate::check::objects::Parents;
use crate::check::root::Root;
use crate::check::strays::{self, Reached};
use crate::check::{damage, lost, unlisted};

impl Run<'_> {
    /// Branches that point to what is no snapshot are lost, too.
    pub(super) fn dangling_branches(&mut self) {
        let dangling = self
            .targets
            .iter()
            .filter(|it| !self.seen.contains_key(&it.snapshot));
        let names = dangling.filter_map(|it| it.name.strip_prefix("branch:"));
        let names: Vec<BranchName> = names.filter_map(|it| BranchName::parse(it).ok()).collect();
        self.lost.extend(names.into_iter().map(|name| (name, None)));
    }

    /// Returns the snapshots that no ref reaches.
    pub(super) async fn strays(&mut self) -> Result<Vec<SnapshotId>, CheckError> {
        self.progress.stage("looking for strays", None);
        let snapshots: HashSet<SnapshotId> =
            self.seen.keys().chain(&self.broken).copied().collect();
        let listed = match &self.parents {
            Parents::Listed(info) => Some(info.snapshots().snapshots()),
            _ => None,
        };
        let listed = listed.into_iter().flatten();
        let pruned = listed.flat_map(|it| it.pruned_ancestor_tx_logs()).collect();
        let reached = Reached {
            snapshots: &snapshots,
            manifests: &self.manifests,
            pruned: &pruned,
            ref_files: matches!(self.root, Root::Files),
        };
        let others = strays::list(&self.check.storage, &reached, self.progress).await?;
        others
            .findings
            .into_iter()
            .for_each(|it| self.collected.add(it));
        for (prefix, found) in others.garbage.by_prefix {
            self.garbage.add(&prefix, found.objects, found.bytes);
        }
        // Without its refs and snapshots, it is not known what a repository needs.
        let is_settled = match &self.root {
            Root::Files => true,
            Root::Object(root) => root.wrong.is_none() && !root.unsettled,
        };
        self.garbage.certain &=
            is_settled && self.broken.is_empty() && self.lost.is_empty() && !self.may_have_more;
        if self.garbage.objects > 0 {
            let (objects, bytes) = (self.garbage.objects, self.garbage.bytes);
            let rule = match self.garbage.certain {
                true => format!("they have {bytes} bytes"),
                false => format!(
                    "they have {bytes} bytes; some may belong to what is damaged: collect nothing before that is mended"
                ),
            };
            let finding = Finding::new(FindingKind::Garbage, "", rule);
            self.collected.add(finding.times(objects));
        }
        self.report.garbage = Some(std::mem::take(&mut self.garbage));
        Ok(others.snapshots)
    }

    /// Names what may have been committed after the state that the check goes by, where that is a backup, or was one when it was put
    /// back.
    pub(super) async fn unlisted(&mut self, unreached: &[SnapshotId]) -> Result<(), CheckError> {
        let Root::Object(root) = &self.root else {
            return Ok(());
        };
        let Some(info) = root
            .info
            .as_ref()
            .filter(|_| root.wrong.is_some() || root.unsettled)
        else {
            return Ok(());
        };
        let cx = self.context(Needed::new([0xFF; 12], 2), true);
        let looked = unlisted::find_parents(&cx, info, unreached, self.check.most_unlisted).await?;
        for one in &looked.found {
            self.collected.add(one.finding());
        }
        if looked.left_out > 0 {
            let rule = "they are too many to be compared: settle those before them first";
            let finding = Finding::new(FindingKind::SnapshotUnlisted, layout::SNAPSHOTS, rule);
            self.collected.add(finding.times(looked.left_out));
        }
        let listed = info.snapshots();
        let left = unreached.iter().filter(|id| !listed.contains(id)).count();
        if root.wrong.is_none() && left > 0 {
            let rule = "`repo` was put back from a backup, and does not list these snapshots";
            let finding = Finding::new(FindingKind::PutBackUnsettled, layout::REPO, rule);
            self.collected.add(finding.times(left as u64));
        }
        self.report.unlisted = looked.found;
        Ok(())
    }

    /// Looks for places where lost branches could be made again.
    pub(super) async fn propose(&mut self, unreached: Vec<SnapshotId>) -> Result<(), CheckError> {
        if self.lost.is_empty() || !self.is_whole() {
            return Ok(());
        }
        let reached = lost::of_branches(&self.targets, &self.seen);
        // A snapshot that only tags reach may be the lost tip of a branch.
        let stored = self.seen.keys().copied().chain(unreached);
        let candidate = lost::candidate(&self.objects, &self.parents, stored, &reached).await?;
        let pointing: BTreeMap<&str, SnapshotId> = (self.targets.iter())
            .map(|it| (&*it.name, it.snapshot))
            .collect();
        let damaged: BTreeSet<String> = self.collected.damaged_refs();
        for (name, place) in &mut self.lost {
            let label = format!("branch:{name}");
            let candidate = match (&self.parents, pointing.get(&*label)) {
                // Nothing outside of its own history can be what the branch was.
                (Parents::Listed(info), Some(target)) => {
                    lost::ancestor(&self.objects, info, *target, &reached).await?
                }
                _ => candidate,
            };
            *place = candidate.map(|it| it.snapshot);
            self.report.proposals.push(Proposal {
                lost: !pointing.contains_key(&*label) && !damaged.contains(&label),
                branch: name.to_string(),
                snapshot: candidate.map(|it| it.snapshot),
                certain: candidate.is_some_and(|it| it.certain) && !self.may_have_more,
            });
        }
        Ok(())
    }

    /// Says of each finding which refs show it now.
    pub(super) async fn mark_tips(&mut self) -> Result<(), CheckError> {
        let mut by_tip: BTreeMap<SnapshotId, Vec<String>> = BTreeMap::new();
        for target in &self.targets {
            by_tip
                .entry(target.snapshot)
                .or_default()
                .push(target.name.clone());
        }
        // The needed chunks are known by now.
        let cx = self.context(Needed::new([0xFF; 12], 2), true);
        for (tip, names) in by_tip {
            let Ok(snapshot) = self.objects.snapshot(tip).await? else {
                continue;
            };
            let damage = damage::at(&cx, &snapshot, &self.bad, &self.bad_foreign).await?;
            for finding in self.collected.findings_mut() {
                if damage.marks.contains(&finding.mark()) {
                    finding.tips.extend(names.iter().cloned());
                }
            }
        }
        Ok(())
    }

    /// Says of each finding which refs lead to it.
    pub(super) fn name_refs(&mut self) {
        let mut about: HashMap<SnapshotId, Vec<usize>> = HashMap::new();
        for (at, finding) in self.collected.findings_mut().iter().enumerate() {
            if let Some(snapshot) = finding.snapshot {
                about.entry(snapshot).or_default().push(at);
            }
        }
        let findings = self.collected.findings_mut();
        for target in &self.targets {
            let mut passed = HashSet::new();
            let mut next = Some(target.snapshot);
            while let Some(id) = next.filter(|id| passed.insert(*id)) {
                for at in about.get(&id).into_iter().flatten() {
                    if !findings[*at].refs.contains(&target.name) {
                        findings[*at].refs.push(target.name.clone());
                    }
                }
                next = self.seen.get(&id).copied().flatten();
            }
        }
        for finding in findings {
            for names in [&mut finding.refs, &mut finding.tips] {
                names.sort_unstable();
                names.dedup();
            }
        }
    }
}
