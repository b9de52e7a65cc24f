//! Refs, the configuration, and what would make a program take the repository for another.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::TryStreamExt;
use icefield_format::{RepositoryConfig, SnapshotId, layout};
use icefield_refs::{BranchName, Ledger, Misspelled, RefList, RefsError, Stray};
use icefield_storage::{Key, ListOptions, Prefix, Storage, StorageError, StorageExt, with_causes};

use super::error::CheckError;
use super::finding::{Finding, FindingKind};
use super::objects::{Objects, Parents};

/// The advice for a tag that points nowhere: its target is written nowhere else.
pub(super) const TAG: &str = "tags never move, and where this one pointed is written nowhere else: put its file, or the snapshot, back from a copy, or `tag delete` it, which keeps its name taken";

/// The refs, and the findings about them.
#[derive(Debug)]
pub(super) struct Found {
    /// Branches and tags that point somewhere.
    pub(super) targets: Vec<Target>,
    /// All of them, damaged ones included.
    pub(super) count: u64,
    /// Branches whose file is damaged, or missing: that can only be known of `main`.
    pub(super) lost: Vec<BranchName>,
    /// Objects of refs that are not in the store's own spelling.
    pub(super) misspelled: Vec<Misspelled>,
    /// Whether there may be refs that cannot be read.
    pub(super) may_have_more: bool,
    /// None if it cannot be read.
    pub(super) config: Option<RepositoryConfig>,
    pub(super) findings: Vec<Finding>,
    /// Where parents are told.
    pub(super) parents: Parents,
}

/// Returns how the store spells the names of refs.
pub(super) fn key_form(storage: &dyn Storage) -> layout::KeyForm {
    match storage.capabilities().key_form {
        icefield_storage::KeyForm::Raw => layout::KeyForm::Raw,
        icefield_storage::KeyForm::ObjectStorePath => layout::KeyForm::ObjectStorePath,
    }
}

/// Returns the ledger of spec version 1, with its graph as the objects have it.
pub(super) fn ledger(storage: &Arc<dyn Storage>, objects: &Arc<Objects>) -> Ledger {
    let objects = Arc::clone(objects);
    Ledger::spec_v1(Arc::clone(storage), objects)
}

/// Reads all refs of a repository of spec version 1.
pub(super) async fn read(
    storage: &Arc<dyn Storage>,
    objects: &Arc<Objects>,
) -> Result<Found, CheckError> {
    let ledger = ledger(storage, objects);
    let form = key_form(&**storage);
    let (list, config, has_repo) =
        futures::join!(ledger.list(), ledger.config(), ledger.was_upgraded());
    let (list, has_repo) = (list?, has_repo?);
    let mut found = Found::nothing(Parents::Files(ledger));
    found.count = (list.branches.len() + list.tags.len()) as u64;
    found.may_have_more = !list.strays.is_empty();
    if found.count == 0 && list.deleted_tags.is_empty() && is_empty(storage).await? {
        let location = storage.to_string();
        return Err(CheckError::NoRepository { location });
    }
    if has_repo {
        let rule = "it makes programs take this for a repository of spec version 2";
        found
            .findings
            .push(Finding::new(FindingKind::RepoObject, layout::REPO, rule));
    }
    match config {
        Ok(stored) => found.config = Some(stored.map(|it| it.config).unwrap_or_default()),
        Err(error @ RefsError::Config { .. }) => {
            let rule = with_causes(&error);
            found.findings.push(Finding::new(
                FindingKind::ConfigDamaged,
                layout::CONFIG,
                rule,
            ));
        }
        Err(error) => return Err(error.into()),
    }
    if !list.branches.contains_key(&BranchName::main()) {
        let key = layout::branch_key("main", form);
        let rule = "every repository has a branch main, and this one's file does not exist";
        found
            .findings
            .push(Finding::new(FindingKind::MainMissing, key, rule));
        found.lost.push(BranchName::main());
    }
    found.others(&list, form);
    let misspelled = |own: String| {
        let mut all = list.misspelled.iter();
        let other = all.find(|it| it.own.as_str() == own);
        other.map_or(own, |it| it.found.to_string())
    };
    for (name, tip) in list.branches {
        let label = format!("branch:{name}");
        let key = misspelled(layout::branch_key(name.as_str(), form));
        match tip {
            Ok(snapshot) => found.targets.push(Target {
                name: label,
                key,
                snapshot,
            }),
            Err(error) => {
                if found.damaged(label, key, &error) {
                    found.lost.push(name);
                }
            }
        }
    }
    for (name, tip) in list.tags {
        let label = format!("tag:{name}");
        let key = misspelled(layout::tag_key(name.as_str(), form));
        match tip {
            Ok(snapshot) => found.targets.push(Target {
                name: label,
                key,
                snapshot,
            }),
            Err(error) => {
                if found.damaged(label, key, &error) {
                    let tag = found.findings.pop();
                    found.findings.extend(tag.map(|it| it.advise(TAG)));
                }
            }
        }
    }
    found.misspelled = list.misspelled;
    Ok(found)
}

impl Found {
    /// No refs at all.
    pub(super) fn nothing(parents: Parents) -> Self {
        Self {
            targets: Vec::new(),
            count: 0,
            lost: Vec::new(),
            misspelled: Vec::new(),
            may_have_more: false,
            config: None,
            findings: Vec::new(),
            parents,
        }
    }

    /// Returns whether the ref points nowhere, in contrast to two places.
    fn damaged(&mut self, label: String, key: String, error: &RefsError) -> bool {
        let (kind, key) = match error {
            RefsError::SpelledTwice { own, .. } => (FindingKind::RefTwice, own.to_string()),
            _ => (FindingKind::RefDamaged, key),
        };
        let mut finding = Finding::new(kind, key, with_causes(error));
        finding.tips.push(label.clone());
        self.findings.push(finding.by(label));
        kind == FindingKind::RefDamaged
    }

    /// Takes down what is below `refs/` beside sound refs in the store's own spelling.
    fn others(&mut self, list: &RefList, form: layout::KeyForm) {
        for Stray { name, problem, .. } in &list.strays {
            let rule = problem.to_string();
            let finding = Finding::new(FindingKind::RefStray, name, rule);
            self.findings.push(finding);
        }
        for key in &list.system_files {
            let rule = "an operating system put it there";
            let finding = Finding::new(FindingKind::RefSystemFile, key.as_str(), rule);
            self.findings.push(finding);
        }
        for Misspelled { found, own, .. } in &list.misspelled {
            let rule = format!("in this store it is spelled {own}");
            let finding = Finding::new(FindingKind::RefSpelling, found.as_str(), rule);
            self.findings.push(finding);
        }
        if form == layout::KeyForm::Raw {
            let branches = list.branches.keys().map(|it| ("branch", it.as_str()));
            let tags = list.tags.keys().map(|it| ("tag", it.as_str()));
            for (kind, name) in branches.chain(tags) {
                if let Some(decoded) = layout::encoded_name(name) {
                    let rule = format!("a disk has the {kind} {decoded:?} under this name");
                    let (key, kind) = (format!("{kind}:{name}"), FindingKind::RefNameEncoded);
                    self.findings.push(Finding::new(kind, key, rule));
                }
            }
        }
    }
}

/// Returns whether nothing of a repository is there: no snapshot, no manifest, no chunk.
async fn is_empty(storage: &Arc<dyn Storage>) -> Result<bool, CheckError> {
    for prefix in [layout::SNAPSHOTS, layout::MANIFESTS, layout::CHUNKS] {
        let prefix = Prefix::parse(prefix).map_err(StorageError::from)?;
        if storage
            .list_objects(ListOptions::prefix(prefix))
            .try_next()
            .await?
            .is_some()
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Looks at the marks of deleted tags, by the list of objects below `refs`: their sizes, and whether the tags are there.
#[derive(Debug, Default)]
pub(super) struct Tombstones {
    marks: Vec<(String, String, u64)>,
    tags: BTreeSet<String>,
}

impl Tombstones {
    /// Takes one object; returns whether it is a ref file.
    pub(super) fn take(&mut self, key: &Key, size: u64, form: layout::KeyForm) -> bool {
        match layout::read_ref_key(key.as_str(), form) {
            None => return false,
            Some((layout::RefKey::Branch(_), _)) => {}
            Some((layout::RefKey::Tag(name), _)) => drop(self.tags.insert(name)),
            Some((layout::RefKey::Tombstone(name), _)) => {
                self.marks.push((name, key.to_string(), size));
            }
        }
        true
    }

    pub(super) fn findings(self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (name, key, size) in self.marks {
            if size > 0 {
                let rule = format!("it should be empty, and has {size} bytes");
                findings.push(Finding::new(FindingKind::TombstoneNotEmpty, &key, rule));
            }
            if !self.tags.contains(&name) {
                let rule = "the file of the tag itself, which keeps its name taken, does not exist";
                findings.push(Finding::new(FindingKind::TombstoneWithoutTag, key, rule));
            }
        }
        findings
    }
}

/// A ref, and where it points.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// `branch:NAME` or `tag:NAME`.
    pub(super) name: String,
    /// Its object.
    pub(super) key: String,
    pub(super) snapshot: SnapshotId,
}
