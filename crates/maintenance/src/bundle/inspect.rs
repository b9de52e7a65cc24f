//! Reading a bundle from end to end, before anything of it is believed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read;

use icefield_core::{BranchName, SnapshotInfo, TagName};
use icefield_format::layout::{IdKey, RefKey};
use icefield_format::{DecodeLimits, RepoInfo, SnapshotId, SpecVersion, decode_ref};
use icefield_storage::Bytes;

use super::contents::{self, Contents};
use super::file::{Entry, Input, bad};
use super::index::{BundleEnd, END, MAX_FILE, MAX_INDEX, read_index};
use super::inspected::Inspected;
use super::member::{Member, Section};
use super::repo;
use super::seals::Seals;
use super::tar;
use crate::Progress;
use crate::copy::objects::{self, Decoded};
use crate::copy::plan::SourceRefs;
use crate::copy::refs::MAX_REF_LEN;
use crate::copy::{CopyBounds, CopyError, MAX_CONFIG_LEN, Moved};
use crate::listing::ObjectKind;

/// Most bytes of the end.
const MAX_END: u64 = 4 << 10;

/// The result of the first reading of a bundle.
#[derive(Debug)]
pub(crate) struct Inspection {
    pub(crate) inspected: Inspected,
    /// The first part of the chunks, checked as far as the bundle has them.
    pub(crate) contents: Contents,
    /// The first window of entries.
    pub(crate) seals: Seals,
}

/// Reads a bundle to its end. Everything is decoded, what refers to what is followed, and chunks are compared with the
/// manifests that need them.
pub(crate) async fn inspect<R: Read + Send + 'static>(
    reader: R,
    bounds: &CopyBounds,
    progress: &dyn Progress,
) -> Result<Inspection, CopyError> {
    progress.stage("checking the bundle", None);
    let mut input = Input::new(reader);
    let (index, spec, index_bytes) = read_index(&mut input).await?;
    let bounds = &bounds.up_to(spec);
    let mut inspecting = Inspecting {
        inspected: Inspected {
            index,
            initial: None,
            spec,
            config: None,
            repo: None,
            snapshots: Vec::new(),
            refs: SourceRefs::default(),
            deleted: BTreeMap::new(),
            parents: HashMap::new(),
            foreign_manifests: BTreeSet::new(),
            end: BundleEnd {
                objects: 0,
                bytes: 0,
                sha256: String::new(),
            },
        },
        manifests: Vec::new(),
        named: Vec::new(),
        logs: Vec::new(),
        contents: Contents::new(bounds.memory),
        seals: Seals::new(0, bounds.memory / 4),
        entries: 0,
        tag_files: BTreeMap::new(),
        ref_bytes: 0,
        section: Section::Initial,
        last: None,
        seen: Moved {
            objects: 1,
            bytes: index_bytes,
        },
    };
    while let Some(entry) = input.next().await? {
        if inspecting.section == Section::End {
            return Err(bad("there is an entry behind its end"));
        }
        let member = Member::parse(&entry.name)?;
        inspecting.order(&member)?;
        inspecting
            .member(&mut input, &entry, member, &bounds.decode_limits)
            .await?;
        input.pass().await?;
        inspecting.seals.take(inspecting.entries, input.seal());
        inspecting.entries += 1;
        inspecting.seen.add(entry.size);
        progress.advance(1, entry.size);
    }
    if inspecting.section != Section::End {
        return Err(bad("it has no end"));
    }
    input.rest().await?;
    inspecting.finish()
}

struct Inspecting {
    inspected: Inspected,
    /// Ascending, because they come so.
    manifests: Vec<[u8; 12]>,
    /// Which of them a snapshot names.
    named: Vec<bool>,
    /// Snapshots whose logs are in the bundle.
    logs: Vec<[u8; 12]>,
    contents: Contents,
    seals: Seals,
    /// Entries that were read, but for the index.
    entries: u64,
    tag_files: BTreeMap<TagName, Bytes>,
    ref_bytes: u64,
    section: Section,
    last: Option<[u8; 12]>,
    seen: Moved,
}

impl Inspecting {
    /// Checks that entries come in their order, each once.
    fn order(&mut self, member: &Member) -> Result<(), CopyError> {
        let section = member.section();
        if section < self.section {
            return Err(bad("its entries are not in their order"));
        }
        if section != self.section {
            (self.section, self.last) = (section, None);
        }
        if let (Member::Object(_, id), Section::Chunks | Section::Manifests | Section::Logs) =
            (member, section)
        {
            if self.last.is_some_and(|last| last >= *id) {
                return Err(bad("its entries are not in their order"));
            }
            self.last = Some(*id);
        }
        Ok(())
    }

    async fn member<R: Read + Send + 'static>(
        &mut self,
        input: &mut Input<R>,
        entry: &Entry,
        member: Member,
        limits: &DecodeLimits,
    ) -> Result<(), CopyError> {
        let is_v1 = self.inspected.spec == SpecVersion::V1;
        match member {
            Member::Config | Member::Ref(_) if !is_v1 => {
                Err(bad("it has an object of another version of the format"))
            }
            Member::Repo => self.repo(input.whole(entry, MAX_FILE).await?, limits),
            // Passed over here, and digested.
            Member::Object(ObjectKind::Chunk, id) => {
                self.contents.has(id, entry.size);
                Ok(())
            }
            Member::Object(ObjectKind::Manifest, id) => {
                let file = input.whole(entry, MAX_FILE).await?;
                self.manifests.push(id);
                self.contents.needs(&contents::manifest(id, &file, limits)?)
            }
            Member::Object(kind @ ObjectKind::TransactionLog, id) => {
                let file = input.whole(entry, MAX_FILE).await?;
                self.logs.push(id);
                let decoded = objects::decode(kind.named(id), &file, limits);
                decoded.map(drop).map_err(|error| bad(error.to_string()))
            }
            Member::Object(ObjectKind::Snapshot, id) => {
                let file = input.whole(entry, MAX_FILE).await?;
                self.snapshot(SnapshotId::from_bytes(id), file, limits)
            }
            Member::Config => match &self.inspected.config {
                Some(_) => Err(bad("it has two configurations")),
                None => {
                    let config = input.whole(entry, MAX_CONFIG_LEN).await?;
                    icefield_format::RepositoryConfig::decode(&config)
                        .map_err(|error| bad(error.to_string()))?;
                    self.inspected.config = Some(config);
                    Ok(())
                }
            },
            Member::Ref(key) => {
                self.ref_bytes = (self.ref_bytes)
                    .saturating_add(entry.size)
                    .saturating_add(tar::BLOCK as u64);
                if self.ref_bytes > MAX_INDEX {
                    return Err(bad("it has too many refs"));
                }
                let file = input.whole(entry, MAX_REF_LEN).await?;
                self.ref_file(key, file)
            }
            Member::End => {
                let bytes = input.whole(entry, MAX_END).await?;
                let end: BundleEnd = serde_json::from_slice(&bytes)
                    .map_err(|error| bad(format!("{END}: {error}")))?;
                if end.sha256 != entry.digest_before {
                    return Err(bad("its bytes do not have the digest that it ends with"));
                }
                if (end.objects, end.bytes) != (self.seen.objects, self.seen.bytes) {
                    return Err(bad("it does not have as many entries as it ends with"));
                }
                self.inspected.end = end;
                Ok(())
            }
        }
    }

    fn snapshot(
        &mut self,
        id: SnapshotId,
        file: Bytes,
        limits: &DecodeLimits,
    ) -> Result<(), CopyError> {
        let decoded = objects::decode(IdKey::Snapshot(id), &file, limits);
        let Decoded::Snapshot(snapshot) = decoded.map_err(|error| bad(error.to_string()))? else {
            unreachable!("BUG: the kind was asked for")
        };
        // Histories show it. Of what is in a bundle, its files tell.
        let info = SnapshotInfo::of(&snapshot).map_err(|error| bad(error.to_string()))?;
        self.named.resize(self.manifests.len(), false);
        for info in snapshot.manifest_files() {
            match self.manifests.binary_search(info.id.as_bytes()) {
                Ok(at) => self.named[at] = true,
                Err(_) if self.inspected.index.requires.is_empty() => {
                    let key = ObjectKind::Manifest.named(*info.id.as_bytes()).key();
                    return Err(bad(format!(
                        "snapshot {id} needs {key}, which is not in it"
                    )));
                }
                Err(_) => {
                    self.inspected.foreign_manifests.insert(*info.id.as_bytes());
                }
            }
        }
        if id == SnapshotId::INITIAL {
            self.inspected.initial = Some(file);
        }
        if self.inspected.spec != SpecVersion::V1 {
            // `repo` tells the parents.
            self.inspected.snapshots.push(info);
            return Ok(());
        }
        let parent = info.parent_id;
        let parents = &mut self.inspected.parents;
        if let Some(parent) = parent
            && !parents.contains_key(&parent)
            && !self.inspected.index.requires.contains(&parent)
        {
            return Err(bad(format!(
                "the parent of snapshot {id} does not come before it"
            )));
        }
        if parents.insert(id, parent).is_some() {
            return Err(bad(format!("snapshot {id} is in it twice")));
        }
        Ok(())
    }

    fn repo(&mut self, file: Bytes, limits: &DecodeLimits) -> Result<(), CopyError> {
        let read = RepoInfo::decode(&file, limits).map_err(|error| bad(error.to_string()))?;
        let is_v1 = self.inspected.spec == SpecVersion::V1;
        match is_v1 || self.inspected.repo.replace(read).is_some() {
            true => Err(bad("it has an object of another version of the format")),
            false => Ok(()),
        }
    }

    fn ref_file(&mut self, key: RefKey, file: Bytes) -> Result<(), CopyError> {
        let refs = &mut self.inspected.refs;
        let again = match key {
            RefKey::Branch(name) => {
                let name = BranchName::parse(&name).map_err(|error| bad(error.to_string()))?;
                let tip = decode_ref(&file).map_err(|error| bad(error.to_string()))?;
                refs.branches.insert(name, tip).is_some()
            }
            RefKey::Tag(name) => {
                let name = TagName::parse(&name).map_err(|error| bad(error.to_string()))?;
                self.tag_files.insert(name, file).is_some()
            }
            RefKey::Tombstone(name) => {
                let name = TagName::parse(&name).map_err(|error| bad(error.to_string()))?;
                !refs.deleted_tags.insert(name)
            }
        };
        match again {
            true => Err(bad("it has a ref twice")),
            false => Ok(()),
        }
    }

    /// An object to which nothing in the bundle refers may be one that the destination has lost, with other bytes.
    fn check_needed(&mut self) -> Result<(), CopyError> {
        self.named.resize(self.manifests.len(), false);
        let unnamed = self.manifests.iter().zip(&self.named);
        let unnamed = unnamed.filter(|(_, named)| !**named);
        let unnamed = unnamed.map(|(id, _)| ObjectKind::Manifest.named(*id));
        let parents = &self.inspected.parents;
        let has_parent = |id: &SnapshotId| parents.get(id).is_some_and(Option::is_some);
        let mut pruned: BTreeSet<SnapshotId> = BTreeSet::new();
        if self.inspected.spec != SpecVersion::V1 {
            pruned.insert(SnapshotId::INITIAL);
            let snapshots = self.inspected.snapshots.iter();
            pruned.extend(snapshots.flat_map(|it| it.pruned_logs.iter().copied()));
        }
        let is_needed = |id: &SnapshotId| has_parent(id) || pruned.contains(id);
        let stray = self.logs.iter();
        let stray = stray.filter(|id| !is_needed(&SnapshotId::from_bytes(**id)));
        let stray = stray.map(|id| ObjectKind::TransactionLog.named(*id));
        match unnamed.chain(stray).next() {
            Some(object) => Err(bad(format!("nothing in it needs {}", object.key()))),
            None => Ok(()),
        }
    }

    fn finish(mut self) -> Result<Inspection, CopyError> {
        if self.inspected.spec != SpecVersion::V1 {
            repo::believe(&mut self.inspected)?;
        }
        self.check_needed()?;
        let builds_on_something = !self.inspected.index.requires.is_empty();
        self.contents.check(builds_on_something)?;
        for (name, file) in self.tag_files {
            if self.inspected.refs.deleted_tags.contains(&name) {
                self.inspected.deleted.insert(name, file);
            } else {
                let target = decode_ref(&file).map_err(|error| bad(error.to_string()))?;
                self.inspected.refs.tags.insert(name, target);
            }
        }
        Ok(Inspection {
            inspected: self.inspected,
            contents: self.contents,
            seals: self.seals,
        })
    }
}
