//! Refs, the configuration, and what would make a program take the repository for another.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::TryStreamExt;
use icefield_format::{RepositoryConfig, layout};
use icefield_refs::{BranchName, Refs, RefsError, SnapshotSource};
use icefield_storage::{Key, ListOptions, Prefix, Storage, StorageError, StorageExt};

use super::CheckError;
use super::finding::{Finding, FindingKind, said};
use super::histories::Target;
use super::objects::Objects;

/// What to do about a tag that points nowhere: what it pointed to is written nowhere else.
pub(super) const TAG: &str = "tags never move, and where this one pointed is written nowhere else: put its file, or the snapshot, back from a copy, or `tag delete` it, which keeps its name taken";

/// What the refs tell.
#[derive(Debug)]
pub(super) struct Found {
    /// Branches and tags that point somewhere.
    pub(super) targets: Vec<Target>,
    /// All of them, damaged ones included.
    pub(super) count: u64,
    /// Branches whose file is damaged, or missing: that can only be known of `main`.
    pub(super) lost: Vec<BranchName>,
    /// None if it cannot be read.
    pub(super) config: Option<RepositoryConfig>,
    pub(super) findings: Vec<Finding>,
}

/// Returns how the store spells the names of refs.
pub(super) fn key_form(storage: &dyn Storage) -> layout::KeyForm {
    match storage.capabilities().key_form {
        icefield_storage::KeyForm::Raw => layout::KeyForm::Raw,
        icefield_storage::KeyForm::ObjectStorePath => layout::KeyForm::ObjectStorePath,
    }
}

pub(super) fn ref_store(storage: &Arc<dyn Storage>, objects: &Arc<Objects>) -> Refs {
    let objects = Arc::clone(objects);
    let source: Arc<dyn SnapshotSource> = objects;
    Refs::spec_v1(Arc::clone(storage), source)
}

/// Reads all refs.
pub(super) async fn read(
    storage: &Arc<dyn Storage>,
    objects: &Arc<Objects>,
) -> Result<Found, CheckError> {
    let refs = ref_store(storage, objects);
    let form = key_form(&**storage);
    let repo = Key::parse(layout::REPO).map_err(StorageError::from)?;
    let (list, config, upgraded) =
        futures::join!(refs.list(), refs.config(), storage.exists(&repo));
    let (list, upgraded) = (list?, upgraded?);
    let mut found = Found {
        targets: Vec::new(),
        count: (list.branches.len() + list.tags.len()) as u64,
        lost: Vec::new(),
        config: None,
        findings: Vec::new(),
    };
    if found.count == 0 && list.deleted_tags.is_empty() {
        let location = storage.to_string();
        match (upgraded, is_empty(storage).await?) {
            (true, _) => return Err(CheckError::NewerSpecVersion { location }),
            (false, true) => return Err(CheckError::NoRepository { location }),
            (false, false) => {}
        }
    }
    if upgraded {
        let rule = "it makes programs take this for a repository of spec version 2";
        found
            .findings
            .push(Finding::new(FindingKind::RepoObject, layout::REPO, rule));
    }
    match config {
        Ok(stored) => found.config = Some(stored.map(|it| it.config).unwrap_or_default()),
        Err(error @ RefsError::Config { .. }) => {
            let rule = said(&error);
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
    for (name, tip) in list.branches {
        let (label, key) = (
            format!("branch:{name}"),
            layout::branch_key(name.as_str(), form),
        );
        match tip {
            Ok(snapshot) => found.targets.push(Target {
                name: label,
                key,
                snapshot,
            }),
            Err(error) => {
                found.damaged(label, key, &error);
                found.lost.push(name);
            }
        }
    }
    for (name, tip) in list.tags {
        let (label, key) = (format!("tag:{name}"), layout::tag_key(name.as_str(), form));
        match tip {
            Ok(snapshot) => found.targets.push(Target {
                name: label,
                key,
                snapshot,
            }),
            Err(error) => {
                found.damaged(label, key, &error);
                let tag = found.findings.pop();
                found.findings.extend(tag.map(|it| it.advise(TAG)));
            }
        }
    }
    Ok(found)
}

impl Found {
    fn damaged(&mut self, label: String, key: String, error: &RefsError) {
        let mut finding = Finding::new(FindingKind::RefDamaged, key, said(error));
        finding.tips.push(label.clone());
        self.findings.push(finding.by(label));
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
        match layout::parse_ref_key(key.as_str(), form) {
            None => return false,
            Some(layout::RefKey::Branch(_)) => {}
            Some(layout::RefKey::Tag(name)) => drop(self.tags.insert(name)),
            Some(layout::RefKey::Tombstone(name)) => {
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
