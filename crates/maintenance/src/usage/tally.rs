//! Reads manifests and adds up the objects that they refer to, by their users.

use std::collections::BTreeMap;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_core::Repository;
use icefield_format::{ChunkRef, DecodeLimits, Manifest, NodeId};
use icefield_storage::Storage;
use sha2::{Digest, Sha256};

use super::marks::Marks;
use super::{Amount, PackUsage, UsageError};
use crate::Progress;
use crate::copy::needs::FILES;
use crate::copy::objects::{self, Decoded};
use crate::gather::{Gather, Record};
use crate::listing::{ObjectKind, listed};

/// One range of an object, and its users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Range {
    /// Of a chunk object; of a virtual chunk, a digest of what it refers to.
    id: [u8; 12],
    is_virtual: bool,
    offset: u64,
    length: u64,
    mark: u32,
}

impl Record for Range {
    fn id(&self) -> [u8; 12] {
        self.id
    }
}

fn compact(ranges: &mut Vec<Range>, marks: &mut impl Marks) {
    ranges.sort_unstable();
    ranges.dedup_by(|next, kept| {
        let same = (next.id, next.is_virtual, next.offset, next.length)
            == (kept.id, kept.is_virtual, kept.offset, kept.length);
        if same {
            kept.mark = marks.combine(kept.mark, next.mark);
        }
        same
    });
}

/// Two virtual chunks of one digest are one: 96 bits of SHA-256 do not meet by accident.
fn digest(location: &str, offset: u64, length: u64) -> [u8; 12] {
    let mut digest = Sha256::new();
    digest.update(offset.to_le_bytes());
    digest.update(length.to_le_bytes());
    digest.update(location);
    let digest = digest.finalize();
    let mut id = [0; 12];
    id.copy_from_slice(&digest[..12]);
    id
}

/// The usage under one mark.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Objects, with their whole sizes.
    pub(super) objects: Amount,
    /// Bytes of chunk objects that are referred to.
    pub(super) live_bytes: u64,
    /// Those objects that hold several chunks, or are not in use as a whole.
    pub(super) packs: PackUsage,
    pub(super) native: Amount,
    pub(super) inline: Amount,
    pub(super) external: Amount,
}

/// The usage under each mark.
#[derive(Debug, Default)]
pub(super) struct Tallied {
    by_mark: BTreeMap<u32, Tally>,
    /// Chunk objects that are not referred to.
    pub(super) unused: Amount,
    /// Chunk objects that are referred to and not there.
    pub(super) missing: u64,
}

impl Tallied {
    fn at(&mut self, mark: u32) -> &mut Tally {
        self.by_mark.entry(mark).or_default()
    }

    pub(super) fn add_object(&mut self, mark: u32, size: u64) {
        self.at(mark).objects.add(size);
    }

    /// Adds up the marks that are asked for.
    pub(super) fn of(&self, wanted: impl Fn(u32) -> bool) -> Tally {
        let mut sum = Tally::default();
        for (_, tally) in self.by_mark.iter().filter(|(mark, _)| wanted(**mark)) {
            sum.objects.plus(tally.objects);
            sum.live_bytes = sum.live_bytes.saturating_add(tally.live_bytes);
            sum.packs.plus(tally.packs);
            sum.native.plus(tally.native);
            sum.inline.plus(tally.inline);
            sum.external.plus(tally.external);
        }
        sum
    }
}

/// Which container each virtual chunk lies in.
pub(super) struct Containers<'a> {
    repository: &'a Repository,
    names: BTreeMap<String, u32>,
    /// Refs that follow one another mostly lead to one file.
    last: Option<(String, u32)>,
}

impl<'a> Containers<'a> {
    pub(super) fn new(repository: &'a Repository) -> Self {
        Self {
            repository,
            names: BTreeMap::new(),
            last: None,
        }
    }

    fn mark(&mut self, location: &str) -> u32 {
        if let Some((last, mark)) = &self.last
            && last == location
        {
            return *mark;
        }
        let name = self.repository.container_of(location).unwrap_or_default();
        let next = self.names.len() as u32;
        let mark = *self.names.entry(name).or_insert(next);
        self.last = Some((location.to_owned(), mark));
        mark
    }

    /// Returns the containers in the order of their marks.
    pub(super) fn names(self) -> Vec<String> {
        let mut names: Vec<_> = self.names.into_iter().collect();
        names.sort_unstable_by_key(|(_, mark)| *mark);
        names.into_iter().map(|(name, _)| name).collect()
    }
}

/// Whose the refs of manifests are.
pub(super) struct Owners<'a, 'r> {
    /// The mark of each manifest.
    manifests: BTreeMap<[u8; 12], u32>,
    /// The mark of each array in each manifest, where it is arrays that own.
    nodes: Option<BTreeMap<([u8; 12], NodeId), u32>>,
    /// Only virtual chunks, by container.
    containers: Option<&'a mut Containers<'r>>,
}

impl<'a, 'r> Owners<'a, 'r> {
    /// Everything in a manifest has the mark of the manifest.
    pub(super) fn all(manifests: BTreeMap<[u8; 12], u32>) -> Self {
        Self {
            manifests,
            nodes: None,
            containers: None,
        }
    }

    /// The refs in a manifest belong to arrays, which are yet to be added.
    pub(super) fn by_node() -> Self {
        Self {
            nodes: Some(BTreeMap::new()),
            ..Self::all(BTreeMap::new())
        }
    }

    /// Virtual chunks belong to their containers, and nothing else is counted.
    pub(super) fn by_container(
        manifests: BTreeMap<[u8; 12], u32>,
        containers: &'a mut Containers<'r>,
    ) -> Self {
        Self {
            containers: Some(containers),
            ..Self::all(manifests)
        }
    }

    pub(super) fn add(
        &mut self,
        manifest: [u8; 12],
        node: NodeId,
        mark: u32,
        marks: &mut impl Marks,
    ) {
        let known = self.manifests.get(&manifest).copied();
        let of_manifest = known.map_or(mark, |known| marks.combine(known, mark));
        self.manifests.insert(manifest, of_manifest);
        if let Some(nodes) = &mut self.nodes {
            nodes.insert((manifest, node), mark);
        }
    }

    pub(super) fn manifests(&self) -> BTreeMap<[u8; 12], u32> {
        self.manifests.clone()
    }

    /// The mark of the refs of an array in a manifest; none if they are not to be counted.
    fn mark(&self, manifest: [u8; 12], node: NodeId) -> Option<u32> {
        match &self.nodes {
            Some(nodes) => nodes.get(&(manifest, node)).copied(),
            None => self.manifests.get(&manifest).copied(),
        }
    }
}

/// Reading the manifests of some owners.
pub(super) struct Tallying<'a> {
    pub(super) storage: &'a dyn Storage,
    pub(super) memory: usize,
    pub(super) limits: &'a DecodeLimits,
    pub(super) progress: &'a dyn Progress,
}

impl Tallying<'_> {
    pub(super) async fn run(
        &self,
        owners: &mut Owners<'_, '_>,
        marks: &mut impl Marks,
    ) -> Result<Tallied, UsageError> {
        let mut tallied = Tallied::default();
        let mut gather = Gather::new(self.memory);
        let mut is_first = true;
        loop {
            self.read(owners, marks, &mut gather, is_first.then_some(&mut tallied))
                .await?;
            let (from, below) = gather.bounds();
            let ranges = gather.records(|ranges| compact(ranges, marks));
            let with_chunks = owners.containers.is_none();
            self.add_up(ranges, (from, below), with_chunks, marks, &mut tallied)
                .await?;
            is_first = false;
            if !gather.next_pass() {
                return Ok(tallied);
            }
        }
    }

    /// Reads all manifests once. What needs no gathering is added in the first pass.
    async fn read(
        &self,
        owners: &mut Owners<'_, '_>,
        marks: &mut impl Marks,
        gather: &mut Gather<Range>,
        mut first: Option<&mut Tallied>,
    ) -> Result<(), UsageError> {
        let ids: Vec<_> = owners.manifests.keys().copied().collect();
        self.progress
            .stage("reading manifests", Some(ids.len() as u64));
        let mut files = stream::iter(&ids)
            .map(|id| async move {
                let read = objects::read_file(self.storage, ObjectKind::Manifest, *id, self.limits);
                Ok::<_, UsageError>((*id, read.await?))
            })
            .buffered(FILES);
        while let Some((id, (file, decoded))) = files.try_next().await? {
            let Decoded::Manifest(manifest) = decoded else {
                unreachable!("BUG: the kind was asked for")
            };
            manifest_refs(id, &manifest, owners, marks, gather, first.as_deref_mut())?;
            self.progress.advance(1, file.len() as u64);
        }
        Ok(())
    }

    /// Adds up the ranges of one pass, sorted, with the sizes of the objects that they are in.
    async fn add_up(
        &self,
        ranges: &[Range],
        (from, below): ([u8; 12], Option<[u8; 12]>),
        with_chunks: bool,
        marks: &mut impl Marks,
        tallied: &mut Tallied,
    ) -> Result<(), UsageError> {
        for range in ranges.iter().filter(|range| range.is_virtual) {
            tallied.at(range.mark).external.add(range.length);
        }
        if !with_chunks {
            return Ok(());
        }
        self.progress.stage("listing chunks", None);
        let mut objects = listed(self.storage, ObjectKind::Chunk, from)?;
        let mut native = ranges.iter().filter(|range| !range.is_virtual).peekable();
        loop {
            let object = objects.try_next().await?;
            let object = object.filter(|(id, _)| below.is_none_or(|below| *id < below));
            // Needed objects that sort before this one are not there.
            while let Some(next) = native.peek().copied()
                && object.is_none_or(|(id, _)| next.id < id)
            {
                tallied.missing += 1;
                while native.next_if(|range| range.id == next.id).is_some() {}
            }
            let Some((id, size)) = object else {
                return Ok(());
            };
            let mut used = None;
            let (mut covered, mut chunks) = (0, 0);
            while let Some(range) = native.next_if(|range| range.id == id) {
                chunks += 1;
                tallied.at(range.mark).native.add(range.length);
                // Ranges ascend by their offsets: what is covered already is not covered twice.
                let end = range.offset.saturating_add(range.length);
                let (live, mark) = used.unwrap_or((0, range.mark));
                let more = end.saturating_sub(covered.max(range.offset));
                covered = covered.max(end);
                used = Some((live + more, marks.combine(mark, range.mark)));
            }
            match used {
                Some((live, mark)) => {
                    let tally = tallied.at(mark);
                    tally.objects.add(size);
                    tally.live_bytes = tally.live_bytes.saturating_add(live);
                    if chunks > 1 || live < size {
                        tally.packs.add(size, live);
                    }
                }
                None => tallied.unused.add(size),
            }
        }
    }
}

fn manifest_refs(
    id: [u8; 12],
    manifest: &Manifest,
    owners: &mut Owners<'_, '_>,
    marks: &mut impl Marks,
    gather: &mut Gather<Range>,
    mut first: Option<&mut Tallied>,
) -> Result<(), UsageError> {
    for array in manifest.arrays() {
        let Some(mut mark) = owners.mark(id, array.node_id()) else {
            continue;
        };
        for record in array.refs() {
            let chunk = record.chunk_ref()?;
            if let Some(containers) = &mut owners.containers {
                match chunk {
                    ChunkRef::Virtual { location, .. } => mark = containers.mark(location),
                    _ => continue,
                }
            }
            let range = match chunk {
                ChunkRef::Inline(bytes) => {
                    if let Some(first) = &mut first {
                        first.at(mark).inline.add(bytes.len() as u64);
                    }
                    continue;
                }
                ChunkRef::Native { id, offset, length } => Range {
                    id: *id.as_bytes(),
                    is_virtual: false,
                    offset,
                    length,
                    mark,
                },
                ChunkRef::Virtual {
                    location,
                    offset,
                    length,
                    ..
                } => Range {
                    id: digest(location, offset, length),
                    is_virtual: true,
                    offset: 0,
                    length,
                    mark,
                },
            };
            gather.push(range, |ranges| compact(ranges, marks));
        }
    }
    Ok(())
}
