//! Refs: numbered files of branches, and tags.

use std::collections::BTreeMap;

use futures::TryStreamExt;
use icefield_storage::{Key, ListOptions, Prefix, Storage, StorageExt};

use crate::layout::{self, RefKey};
use crate::ref_json::MAX_REF;
use crate::{AlphaError, AlphaId, AlphaRepository, Layout, RefFile, Rule};

/// One file of a branch, which one commit has written.
#[derive(Clone, Debug, PartialEq)]
pub struct BranchFile {
    /// The number of the file, counted from 0.
    pub number: u64,
    /// Its key.
    pub key: String,
    /// Its contents.
    pub file: RefFile,
}

/// All refs of a repository.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlphaRefs {
    /// The files of each branch, oldest first; at least one.
    pub branches: BTreeMap<String, Vec<BranchFile>>,
    /// The tags, each with its key.
    pub tags: BTreeMap<String, (String, RefFile)>,
    /// Keys among them that are no refs, save what file managers leave there: a ref under a damaged name may be one.
    pub strays: Vec<String>,
}

/// The targets of all refs. A ref whose file cannot be read has its error in place of a target.
#[derive(Debug, Default)]
pub struct AlphaTips {
    /// The branches.
    pub branches: BTreeMap<String, Result<AlphaId, AlphaError>>,
    /// The tags.
    pub tags: BTreeMap<String, Result<AlphaId, AlphaError>>,
}

impl AlphaRepository {
    /// Reads all refs, with all files of the branches.
    ///
    /// # Errors
    /// [`AlphaError::Damaged`] if a file is damaged, or if the numbers of a branch have a gap.
    pub async fn refs(&self) -> Result<AlphaRefs, AlphaError> {
        let form = self.storage.capabilities().key_form;
        let mut refs = AlphaRefs::default();
        let options = ListOptions::prefix(Prefix::parse(layout::REFS)?).without_versions();
        // A ref that is left out is a branch that is not imported.
        let mut listed = self.storage.list_strict(options);
        while let Some(meta) = listed.try_next().await? {
            let key = meta.key.as_str();
            let Some(found) = self.layout.parse_ref(key, form) else {
                if !layout::is_dropped(key) {
                    refs.strays.push(key.to_owned());
                }
                continue;
            };
            let file = self.ref_file(&meta.key).await?;
            let key = key.to_owned();
            match found {
                RefKey::Tag(name) => {
                    refs.tags.insert(name, (key, file));
                }
                RefKey::Branch { name, number } => {
                    let file = BranchFile { number, key, file };
                    refs.branches.entry(name).or_default().push(file);
                }
            }
        }
        for files in refs.branches.values_mut() {
            files.sort_by_key(|file| file.number);
            for (expected, file) in (0..).zip(files.iter()) {
                if file.number != expected {
                    let rule = Rule::BranchGap { number: expected };
                    return Err(AlphaError::damaged(&file.key, rule));
                }
            }
        }
        Ok(refs)
    }

    /// Lists the refs and reads their targets: one file of each branch, whatever is in the older ones.
    ///
    /// # Errors
    /// The error of the store for the list. The error of one ref is in its place.
    pub async fn tips(&self) -> Result<AlphaTips, AlphaError> {
        let form = self.storage.capabilities().key_form;
        let options = ListOptions::prefix(Prefix::parse(layout::REFS)?).without_versions();
        let mut listed = self.storage.list_objects(options);
        let mut newest: BTreeMap<String, (u64, Key)> = BTreeMap::new();
        let mut tips = AlphaTips::default();
        while let Some(meta) = listed.try_next().await? {
            match self.layout.parse_ref(meta.key.as_str(), form) {
                Some(RefKey::Tag(name)) => {
                    let file = self.ref_file(&meta.key).await;
                    tips.tags.insert(name, file.map(|it| it.snapshot));
                }
                Some(RefKey::Branch { name, number }) => match newest.get(&name) {
                    Some((other, _)) if *other > number => {}
                    _ => {
                        newest.insert(name, (number, meta.key));
                    }
                },
                None => {}
            }
        }
        for (name, (_, key)) in newest {
            let file = self.ref_file(&key).await;
            tips.branches.insert(name, file.map(|it| it.snapshot));
        }
        Ok(tips)
    }

    /// Reads the newest file of a branch; `None` if there is no such branch. Costs a short list and one read.
    ///
    /// # Errors
    /// [`AlphaError::Damaged`] if that file is damaged; the errors of the store.
    pub async fn branch(&self, name: &str) -> Result<Option<BranchFile>, AlphaError> {
        let form = self.storage.capabilities().key_form;
        for directory in self.layout.branches(name, form)? {
            if let Some(found) = newest(&*self.storage, self.layout, &directory).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Reads the file of a tag, and returns it with its key; `None` if there is no such tag.
    ///
    /// # Errors
    /// As [`AlphaRepository::branch`].
    pub async fn tag(&self, name: &str) -> Result<Option<(String, RefFile)>, AlphaError> {
        let form = self.storage.capabilities().key_form;
        for key in self.layout.tags(name, form)? {
            match self.ref_file(&key).await {
                Ok(file) => return Ok(Some((key.to_string(), file))),
                Err(AlphaError::Storage(error)) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    async fn ref_file(&self, key: &Key) -> Result<RefFile, AlphaError> {
        let (bytes, _) = self.storage.read_at_most(key, MAX_REF).await?;
        RefFile::decode(&bytes, key.as_str())
    }
}

/// The newest file in the directory of a branch.
pub(crate) async fn newest(
    storage: &dyn Storage,
    layout: Layout,
    directory: &Prefix,
) -> Result<Option<BranchFile>, AlphaError> {
    let options = ListOptions::prefix(directory.clone()).without_versions();
    let mut files = storage.list_objects(options);
    while let Some(meta) = files.try_next().await? {
        let name = meta.key.below(directory);
        // In the order of their names the newest is the first; whatever has no number does not count.
        let Some(number) = name.and_then(|name| layout.number(name)) else {
            continue;
        };
        let (bytes, _) = storage.read_at_most(&meta.key, MAX_REF).await?;
        let file = RefFile::decode(&bytes, meta.key.as_str())?;
        let key = meta.key.to_string();
        return Ok(Some(BranchFile { number, key, file }));
    }
    Ok(None)
}
