//! Everything below `refs/`: branches, tags, and what is neither.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt;
use icefield_format::SnapshotId;
use icefield_format::layout::{self, KeyForm, RefKey};
use icefield_storage::{Key, ListOptions, Prefix, StorageError};

use crate::ref_files::{RefFiles, branch_key, tag_key, tombstone_key};
use crate::{BranchName, Misspelled, NameError, RefsError, Stray, StrayProblem, TagName};

/// Refs that are read at a time.
pub(crate) const READS: usize = 16;

/// All refs of a repository. A ref that cannot be read is listed with its error; the others stay usable.
///
/// Readers use the fields. Work that deletes or rewrites objects calls [`RefList::require_understood`] first: any
/// object below `refs/` may be a ref, and a ref protects the snapshots that it reaches.
#[derive(Debug, Default)]
pub struct RefList {
    /// The branches and their tips.
    pub branches: BTreeMap<BranchName, Result<SnapshotId, RefsError>>,
    /// The tags and the snapshots that they point to, without deleted tags.
    pub tags: BTreeMap<TagName, Result<SnapshotId, RefsError>>,
    /// Names of deleted tags.
    pub deleted_tags: BTreeSet<TagName>,
    /// The names of deleted tags whose own file is missing, so that the reference implementation may use the name
    /// again.
    pub bare_tombstones: BTreeSet<TagName>,
    /// The objects below `refs/` that are no refs, in byte order.
    pub strays: Vec<Stray>,
    /// The files that operating systems drop into any directory, in byte order; they are no refs.
    pub system_files: Vec<Key>,
    /// The objects of refs that are not in the store's own spelling, as a copy by another tool leaves them. They are
    /// read all the same.
    pub misspelled: Vec<Misspelled>,
}

/// The refs of a repository in which everything below `refs/` is understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnderstoodRefs {
    /// Branches and their tips.
    pub branches: BTreeMap<BranchName, SnapshotId>,
    /// Tags and what they point to, deleted ones left out.
    pub tags: BTreeMap<TagName, SnapshotId>,
    /// Names of deleted tags.
    pub deleted_tags: BTreeSet<TagName>,
}

impl UnderstoodRefs {
    /// Returns the snapshots that refs point to; one that several refs point to comes several times.
    pub fn targets(&self) -> impl Iterator<Item = SnapshotId> {
        self.branches.values().chain(self.tags.values()).copied()
    }
}

impl RefList {
    /// Returns the snapshots that readable refs point to.
    pub fn tips(&self) -> impl Iterator<Item = SnapshotId> {
        let targets = self.branches.values().chain(self.tags.values());
        targets.filter_map(|target| target.as_ref().ok().copied())
    }

    /// Returns the refs, if every object below `refs/` is understood. Work that deletes objects, rewrites history or
    /// copies a whole repository depends on it.
    ///
    /// # Errors
    /// [`RefsError::NotUnderstood`] names all strays and all refs that cannot be read.
    pub fn require_understood(&self) -> Result<UnderstoodRefs, RefsError> {
        let mut strays = self.strays.clone();
        let mut understood = UnderstoodRefs {
            deleted_tags: self.deleted_tags.clone(),
            ..UnderstoodRefs::default()
        };
        for (name, tip) in &self.branches {
            match tip {
                Ok(tip) => drop(understood.branches.insert(name.clone(), *tip)),
                Err(error) => strays.push(Stray::damaged(format!("branch {name}"), error)),
            }
        }
        for (name, target) in &self.tags {
            match target {
                Ok(target) => drop(understood.tags.insert(name.clone(), *target)),
                Err(error) => strays.push(Stray::damaged(format!("tag {name}"), error)),
            }
        }
        match strays.is_empty() {
            true => Ok(understood),
            false => Err(RefsError::NotUnderstood { strays }),
        }
    }
}

/// Returns whether operating systems drop files of this name anywhere. Only what these are called is passed over.
pub(crate) fn is_system_file(key: &Key) -> bool {
    let name = key.segments().next_back().unwrap_or_default();
    matches!(name, ".DS_Store" | "Thumbs.db" | "desktop.ini") || name.starts_with(".nfs")
}

/// The forms in which the objects of one ref are spelled.
#[derive(Debug, Default)]
struct Spelled {
    files: BTreeSet<Form>,
    tombstones: BTreeSet<Form>,
}

/// A form that can be sorted, the store's own first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Own,
    Second,
}

impl Spelled {
    /// Returns the form that the ref is in; none if it is in both.
    fn form(&self) -> Option<Form> {
        let mut forms = self.files.union(&self.tombstones);
        match (forms.next(), forms.next()) {
            (Some(form), None) => Some(*form),
            _ => None,
        }
    }
}

impl RefFiles {
    pub(crate) async fn list(&self) -> Result<RefList, RefsError> {
        let mut list = RefList::default();
        let mut branches: BTreeMap<BranchName, Spelled> = BTreeMap::new();
        let mut tags: BTreeMap<TagName, Spelled> = BTreeMap::new();
        let options = ListOptions::prefix(Prefix::parse(layout::REFS)?);
        let mut objects = self.storage().list(options);
        while let Some(object) = objects.next().await {
            let key = match object {
                Ok(object) => object.key,
                Err(StorageError::UnreadableKey { raw, problem }) => {
                    let problem = StrayProblem::Unreadable(problem);
                    list.strays.push(Stray { name: raw, problem });
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let Some((read, form)) = layout::read_ref_key(key.as_str(), self.form()) else {
                match is_system_file(&key) {
                    true => list.system_files.push(key),
                    false => list.strays.push(Stray {
                        name: key.to_string(),
                        problem: StrayProblem::NotARef,
                    }),
                }
                continue;
            };
            let form_here = match form == self.form() {
                true => Form::Own,
                false => Form::Second,
            };
            if let Err(error) = note(&read, form_here, &mut branches, &mut tags) {
                list.strays.push(Stray {
                    name: key.to_string(),
                    problem: StrayProblem::Name(error),
                });
            } else if form_here == Form::Second {
                let own = Key::parse(&layout::ref_key_in(&read, self.form()))?;
                list.misspelled.push(Misspelled { found: key, own });
            }
        }
        self.read_branches(branches, &mut list).await?;
        self.read_tags(tags, &mut list).await?;
        Ok(list)
    }

    fn key_form(&self, name: &str, form: Form) -> KeyForm {
        let second = || layout::second_form(name, self.form());
        match form {
            Form::Own => self.form(),
            Form::Second => second().unwrap_or(self.form()),
        }
    }

    async fn read_branches(
        &self,
        branches: BTreeMap<BranchName, Spelled>,
        list: &mut RefList,
    ) -> Result<(), RefsError> {
        let mut keys = Vec::with_capacity(branches.len());
        for (name, spelled) in branches {
            let key = |form| branch_key(&name, self.key_form(name.as_str(), form));
            match spelled.form() {
                Some(form) => {
                    let own = (form == Form::Second).then(|| key(Form::Own));
                    keys.push((key(form)?, own.transpose()?, name));
                }
                None => {
                    let (own, other) = (key(Form::Own)?, key(Form::Second)?);
                    let twice = RefsError::SpelledTwice { own, other };
                    list.branches.insert(name, Err(twice));
                }
            }
        }
        list.branches.extend(self.resolve(keys).await?);
        Ok(())
    }

    async fn read_tags(
        &self,
        tags: BTreeMap<TagName, Spelled>,
        list: &mut RefList,
    ) -> Result<(), RefsError> {
        let mut keys = Vec::with_capacity(tags.len());
        for (name, spelled) in tags {
            let forms = |form| self.key_form(name.as_str(), form);
            match spelled.form() {
                Some(_) if !spelled.tombstones.is_empty() => {
                    if spelled.files.is_empty() {
                        list.bare_tombstones.insert(name.clone());
                    }
                    list.deleted_tags.insert(name);
                }
                Some(form) => {
                    let key = |form| tag_key(&name, forms(form));
                    let own = (form == Form::Second).then(|| key(Form::Own));
                    keys.push((key(form)?, own.transpose()?, name));
                }
                None => {
                    let key = |form| match spelled.files.contains(&form) {
                        true => tag_key(&name, forms(form)),
                        false => tombstone_key(&name, forms(form)),
                    };
                    let (own, other) = (key(Form::Own)?, key(Form::Second)?);
                    let twice = RefsError::SpelledTwice { own, other };
                    list.tags.insert(name, Err(twice));
                }
            }
        }
        list.tags.extend(self.resolve(keys).await?);
        Ok(())
    }

    /// Reads many refs; one deleted since it was listed is left out, one that is damaged stays as such. Beside the key of a
    /// misspelled ref is the store's own, which a repair may have given it since it was listed.
    async fn resolve<N: Ord>(
        &self,
        keys: Vec<(Key, Option<Key>, N)>,
    ) -> Result<BTreeMap<N, Result<SnapshotId, RefsError>>, RefsError> {
        let mut tips = futures::stream::iter(keys)
            .map(|(key, own, name)| async move {
                let tip = match (self.read(&key).await, own) {
                    (Ok(None), Some(own)) => self.read(&own).await,
                    (tip, _) => tip,
                };
                (name, tip)
            })
            .buffered(READS);
        let mut resolved = BTreeMap::new();
        while let Some((name, tip)) = tips.next().await {
            match tip {
                Ok(Some(tip)) => {
                    resolved.insert(name, Ok(tip.snapshot));
                }
                Ok(None) => {}
                Err(error @ RefsError::InvalidRefFile { .. }) => {
                    resolved.insert(name, Err(error));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(resolved)
    }
}

/// Takes down which form the object of a ref is spelled in.
fn note(
    read: &RefKey,
    form: Form,
    branches: &mut BTreeMap<BranchName, Spelled>,
    tags: &mut BTreeMap<TagName, Spelled>,
) -> Result<(), NameError> {
    match read {
        RefKey::Branch(name) => {
            let spelled = branches
                .entry(BranchName::parse_spec_v1(name)?)
                .or_default();
            spelled.files.insert(form);
        }
        RefKey::Tag(name) => {
            let spelled = tags.entry(TagName::parse_spec_v1(name)?).or_default();
            spelled.files.insert(form);
        }
        RefKey::Tombstone(name) => {
            let spelled = tags.entry(TagName::parse_spec_v1(name)?).or_default();
            spelled.tombstones.insert(form);
        }
    }
    Ok(())
}
