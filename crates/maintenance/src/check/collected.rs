//! The report of a check, and what collects it.

use std::collections::{BTreeMap, BTreeSet};

use icefield_format::SnapshotId;
use serde::Serialize;

use super::finding::{Finding, FindingKind, Severity};
use super::unlisted::UnlistedSnapshot;

/// The findings of a check: the objects that it visited, the faults in them, and the objects that nothing needs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CheckReport {
    /// The version of the format that the repository has.
    pub spec_version: u8,
    /// Branches and tags.
    pub refs: u64,
    /// Snapshots that they reach, or that `repo` lists.
    pub snapshots: u64,
    /// Those among them that no ref reaches.
    pub detached: u64,
    /// Manifests of those snapshots.
    pub manifests: u64,
    /// Transaction logs that were compared with what their snapshots changed.
    pub transaction_logs: u64,
    /// Chunk objects that are needed and there.
    pub chunks: u64,
    /// Their bytes.
    pub chunk_bytes: u64,
    /// Whether they were read to their end.
    pub chunks_read: bool,
    /// Virtual chunks, each counted where it came into a history.
    pub virtual_chunks: u64,
    /// Foreign objects that were looked at.
    pub foreign_objects: u64,
    /// Objects that no ref reaches; nothing is known of them where only a part was checked.
    pub garbage: Option<Garbage>,
    /// How many findings are damage.
    pub damage: u64,
    /// How many are warnings.
    pub warnings: u64,
    /// How many are notes.
    pub notes: u64,
    /// How many findings there are of each kind, those left out below included.
    pub kinds: BTreeMap<FindingKind, u64>,
    /// The findings, the worst first. Of each kind, no more than a bound.
    pub findings: Vec<Finding>,
    /// Findings beyond that bound.
    pub left_out: u64,
    /// Branches that could be made again, and where.
    pub proposals: Vec<Proposal>,
    /// Snapshots that may have been committed after the newest sound backup of `repo`, where what is stored is none.
    pub unlisted: Vec<UnlistedSnapshot>,
}

impl CheckReport {
    /// Returns whether nothing is damaged.
    pub fn is_sound(&self) -> bool {
        self.damage == 0
    }
}

/// Objects that no ref reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Garbage {
    /// How many there are.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// By the first segment of their keys.
    pub by_prefix: BTreeMap<String, GarbageOfKind>,
    /// Whether all manifests were read: otherwise, some of it may belong to those that were not.
    pub certain: bool,
}

/// Objects of one kind that no ref reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GarbageOfKind {
    /// How many there are.
    pub objects: u64,
    /// Their bytes.
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

/// Where a branch that is lost could be made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proposal {
    /// The branch.
    pub branch: String,
    /// The newest whole snapshot that no other branch reaches or, in spec version 2, the nearest whole ancestor of the snapshot that
    /// the branch points to; none if there is no such.
    pub snapshot: Option<SnapshotId>,
    /// Whether the branch is gone, so that only a caller that names it brings it back.
    pub lost: bool,
    /// Whether no other snapshot that nothing reaches could have been it: refused commits leave such snapshots, too.
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
