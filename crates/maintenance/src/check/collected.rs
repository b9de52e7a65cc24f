//! The report of a check, and what collects it.

use std::collections::{BTreeMap, BTreeSet};

use icefield_format::SnapshotId;
use serde::Serialize;

use super::finding::{Finding, FindingKind, Severity};
use super::unlisted::UnlistedSnapshot;

/// The result of a check: the number of objects that it visited, the findings, and the objects that nothing needs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CheckReport {
    /// The version of the format that the repository has.
    pub spec_version: u8,
    /// The number of branches and tags.
    pub refs: u64,
    /// The number of snapshots that refs reach, or that `repo` lists.
    pub snapshots: u64,
    /// The number of these that no ref reaches.
    pub detached: u64,
    /// The number of manifests of those snapshots.
    pub manifests: u64,
    /// The number of transaction logs that were compared with the changes of their snapshots.
    pub transaction_logs: u64,
    /// The number of chunk objects that are needed and exist.
    pub chunks: u64,
    /// The bytes of these chunk objects.
    pub chunk_bytes: u64,
    /// Whether the chunk objects were read to their ends.
    pub chunks_read: bool,
    /// The number of virtual chunks, each counted where it came into a history.
    pub virtual_chunks: u64,
    /// The number of foreign objects that were looked at.
    pub foreign_objects: u64,
    /// The objects that no ref reaches; none if only a part was checked.
    pub garbage: Option<Garbage>,
    /// The number of findings that are damage.
    pub damage: u64,
    /// How many are warnings.
    pub warnings: u64,
    /// How many are notes.
    pub notes: u64,
    /// The number of findings of each kind, including those left out below.
    pub kinds: BTreeMap<FindingKind, u64>,
    /// The findings, worst first. Of each kind, at most
    /// [`Check::with_most_findings`](super::Check::with_most_findings).
    pub findings: Vec<Finding>,
    /// The number of findings beyond that bound.
    pub left_out: u64,
    /// The branches that could be restored, and the snapshots at which.
    pub proposals: Vec<Proposal>,
    /// Snapshots that may have been committed after the newest sound backup of `repo`, where what is stored is none.
    pub unlisted: Vec<UnlistedSnapshot>,
}

impl CheckReport {
    /// Returns whether there is no damage. Warnings and notes may remain.
    pub fn is_sound(&self) -> bool {
        self.damage == 0
    }
}

/// Objects that no ref reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Garbage {
    /// The number of these objects.
    pub objects: u64,
    /// The bytes of these objects.
    pub bytes: u64,
    /// The same by the first segment of their keys.
    pub by_prefix: BTreeMap<String, GarbageOfKind>,
    /// Whether all manifests were read. Otherwise, some of the objects may belong to manifests that were not.
    pub certain: bool,
}

/// Objects of one kind that no ref reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GarbageOfKind {
    /// The number of these objects.
    pub objects: u64,
    /// The bytes of these objects.
    pub bytes: u64,
}

impl Garbage {
    pub(super) fn add(&mut self, prefix: &str, objects: u64, bytes: u64) {
        if objects == 0 {
            return;
        }
        self.objects += objects;
        self.bytes += bytes;
        let entry = self.by_prefix.entry(prefix.to_owned()).or_default();
        entry.objects += objects;
        entry.bytes += bytes;
    }
}

/// A branch that is lost, and the snapshot at which it could be restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proposal {
    /// The name of the branch.
    pub branch: String,
    /// The newest whole snapshot that no other branch reaches or, in spec version 2, the nearest whole ancestor of the snapshot that
    /// the branch points to; none if there is no such.
    pub snapshot: Option<SnapshotId>,
    /// Whether the branch no longer exists, so that a repair restores it only if the caller names it.
    pub lost: bool,
    /// Whether no other unreachable snapshot could have been the tip: refused commits leave such snapshots, too.
    pub certain: bool,
}

/// Collects findings within a bound for each kind.
#[derive(Debug)]
pub(super) struct Collected {
    findings: Vec<Finding>,
    kinds: BTreeMap<FindingKind, u64>,
    most: u64,
}

impl Collected {
    pub(super) fn new(most: u64) -> Self {
        Self {
            findings: Vec::new(),
            kinds: BTreeMap::new(),
            most,
        }
    }

    pub(super) fn add(&mut self, finding: Finding) {
        let kind = self.kinds.entry(finding.kind).or_default();
        *kind += 1;
        if *kind <= self.most {
            self.findings.push(finding);
        }
    }

    pub(super) fn findings_mut(&mut self) -> &mut [Finding] {
        &mut self.findings
    }

    /// The refs whose files are damaged.
    pub(super) fn damaged_refs(&self) -> BTreeSet<String> {
        let damaged = self
            .findings
            .iter()
            .filter(|it| it.kind == FindingKind::RefDamaged);
        damaged.flat_map(|it| it.refs.iter().cloned()).collect()
    }

    /// Whether there is more than notes.
    pub(super) fn is_worth_a_look(&self) -> bool {
        self.kinds
            .keys()
            .any(|kind| kind.severity() != Severity::Note)
    }

    pub(super) fn write_into(mut self, report: &mut CheckReport) {
        self.findings.sort();
        for (kind, count) in &self.kinds {
            match kind.severity() {
                Severity::Damage => report.damage += count,
                Severity::Warning => report.warnings += count,
                Severity::Note => report.notes += count,
            }
        }
        let all: u64 = self.kinds.values().sum();
        report.left_out = all - self.findings.len() as u64;
        report.kinds = self.kinds;
        report.findings = self.findings;
    }
}
