//! An archive as the source of an import.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use icefield_core::{ArrayMetadata, ChunkIndex, NodePath, VirtualChecksum, VirtualSource};

use super::{
    Archive, ArchiveArray, ArchiveChunks, ArchiveFile, ArchiveNode, ChunkExtents, Expected,
};
use crate::import::Digest;
use crate::regions::product;
use crate::source::References;
use crate::{ChunkEntry, Hierarchy, Source, SourceError, SourceNode};

/// An archive as a [`Source`](crate::Source), ready to be imported.
#[derive(Debug)]
pub struct ArchiveSource {
    name: String,
    archive: Archive,
    /// Of each array, its rows in the order of indices.
    rows: BTreeMap<NodePath, Arc<[u32]>>,
    /// Of each array, where the chunks are that the reader has.
    made: BTreeMap<NodePath, HashMap<ChunkIndex, usize>>,
}

impl ArchiveSource {
    /// Returns an archive as a source; `name` stands for it in messages.
    pub fn new(name: impl Into<String>, archive: Archive) -> Self {
        let (mut rows, mut made) = (BTreeMap::new(), BTreeMap::new());
        for (path, node) in &archive.nodes {
            let ArchiveNode::Array(array) = node else {
                continue;
            };
            if let Some(extents) = array.extents() {
                rows.insert(path.clone(), sorted(extents));
            }
            let numbered = array.made().iter().zip(0..);
            let numbered = numbered.map(|((index, _), at)| (index.clone(), at));
            made.insert(path.clone(), numbered.collect());
        }
        Self {
            name: name.into(),
            archive,
            rows,
            made,
        }
    }

    /// Returns the archive.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    fn array(&self, path: &NodePath) -> Option<&ArchiveArray> {
        match self.archive.nodes.get(path)? {
            ArchiveNode::Array(array) => Some(array),
            ArchiveNode::Group(_) => None,
        }
    }

    fn row(&self, path: &NodePath, extents: &ChunkExtents, index: &[u32]) -> Option<usize> {
        let rows = self.rows.get(path)?;
        let at = rows.binary_search_by(|row| extents.row(*row as usize).index.cmp(index));
        Some(rows[at.ok()?] as usize)
    }
}

fn sorted(extents: &ChunkExtents) -> Arc<[u32]> {
    let mut rows: Vec<u32> = (0..extents.len() as u32).collect();
    let index = |row: &u32| extents.row(*row as usize).index;
    if !rows.is_sorted_by(|one, other| index(one) <= index(other)) {
        rows.sort_unstable_by(|one, other| index(one).cmp(index(other)));
    }
    rows.into()
}

impl ArchiveArray {
    /// Where chunks lie in files, if some do.
    fn extents(&self) -> Option<&ChunkExtents> {
        match &self.chunks {
            ArchiveChunks::InFiles(extents)
            | ArchiveChunks::Mixed { extents, .. }
            | ArchiveChunks::Recoded { extents, .. } => Some(extents),
            ArchiveChunks::Made { .. } => None,
        }
    }

    /// The chunks that the reader has already.
    fn made(&self) -> &[(ChunkIndex, Bytes)] {
        match &self.chunks {
            ArchiveChunks::Mixed { made, .. } => made,
            ArchiveChunks::Made { chunks, .. } => chunks,
            ArchiveChunks::InFiles(_) | ArchiveChunks::Recoded { .. } => &[],
        }
    }
}

#[async_trait]
impl Source for ArchiveSource {
    async fn hierarchy(&self) -> Result<Hierarchy, SourceError> {
        let mut hierarchy = Hierarchy {
            nodes: BTreeMap::new(),
            ignored: self.archive.ignored.clone(),
            warnings: self.archive.warnings.clone(),
            unsupported: self.archive.unsupported.clone(),
        };
        for (path, node) in &self.archive.nodes {
            let parsed = SourceNode::parse_made(node.document());
            let parsed = parsed
                .map_err(|source| SourceError::variable(&self.name, path, source.to_string()))?;
            hierarchy.nodes.insert(path.clone(), parsed);
        }
        Ok(hierarchy)
    }

    fn chunks(
        &self,
        path: &NodePath,
        _: &ArrayMetadata,
    ) -> BoxStream<'static, Result<ChunkEntry, SourceError>> {
        let Some(array) = self.array(path) else {
            return stream::empty().boxed();
        };
        let made = array
            .made()
            .iter()
            .map(|(index, bytes)| (index.clone(), bytes.len() as u64));
        let in_files = array.extents().into_iter().flat_map(ChunkExtents::rows);
        // Of what is encoded anew, what is held in memory counts: the elements.
        let decoded = match &array.chunks {
            ArchiveChunks::Recoded { .. } => expected(array).chunk_bytes as u64,
            _ => 0,
        };
        let in_files = in_files.map(|row| {
            let index = ChunkIndex::from(row.index.to_vec());
            (index, row.length.max(decoded))
        });
        let entries: Vec<_> = made.chain(in_files).collect();
        let entries = entries.into_iter();
        stream::iter(entries.map(|(index, length)| Ok(ChunkEntry::Chunk { index, length }))).boxed()
    }

    async fn read_chunk(
        &self,
        path: &NodePath,
        _: &ArrayMetadata,
        index: &[u32],
        _: u64,
    ) -> Result<Bytes, SourceError> {
        let gone = || SourceError::Changed {
            name: self.name.clone(),
        };
        let array = self.array(path).ok_or_else(gone)?;
        let at = self.made.get(path).and_then(|made| made.get(index));
        if let Some((_, bytes)) = at.and_then(|at| array.made().get(*at)) {
            return Ok(bytes.clone());
        }
        let extents = array.extents().ok_or_else(gone)?;
        let row = self.row(path, extents, index).ok_or_else(gone)?;
        let row = extents.row(row);
        let file = self.archive.files.get(row.file as usize).ok_or_else(gone)?;
        let end = row.offset.saturating_add(row.length);
        let bytes = file.read(row.offset..end).await?;
        let ArchiveChunks::Recoded { recode, .. } = &array.chunks else {
            return Ok(bytes);
        };
        let (expected, recode, at) = (expected(array), recode.clone(), index.to_vec());
        // Apart from the other tasks, and as many at a time as there are cores.
        let work = move || recode.chunk(&at, &bytes, &expected);
        let recoded = match tokio::task::spawn_blocking(work).await {
            Ok(recoded) => recoded,
            Err(stopped) => match stopped.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(stopped) => Err(stopped.into()),
            },
        };
        recoded.map_err(|error| match error.downcast::<SourceError>() {
            Ok(error) => *error,
            Err(reason) => SourceError::variable(file.url(), path, reason.to_string()),
        })
    }

    fn chunk_name(&self, path: &NodePath, _: &ArrayMetadata, index: &[u32]) -> String {
        let index = ChunkIndex::from(index.to_vec());
        format!("chunk {index} of {path} of {}", self.name)
    }

    fn references(&self, path: &NodePath) -> Result<References<'_>, String> {
        let Some(array) = self.array(path) else {
            return Err("it is no array".to_owned());
        };
        if let Some(reason) = array.not_virtual() {
            return Err(reason.to_owned());
        }
        let extents = array.extents().ok_or("it has no bytes in any file")?;
        // Only the files of this array: in a Zarr tree every chunk is one.
        let mut numbers: HashMap<u32, u32> = HashMap::new();
        let (mut sources, mut source) = (Vec::new(), Vec::with_capacity(extents.len()));
        for file in extents.files() {
            if let Some(number) = numbers.get(file) {
                source.push(*number);
                continue;
            }
            let number = sources.len() as u32;
            numbers.insert(*file, number);
            source.push(number);
            let file = self.archive.files.get(*file as usize);
            sources.push(reference(file.ok_or("it names a file that is not there")?)?);
        }
        Ok(References {
            sources,
            source,
            extents: Cow::Borrowed(extents),
            made: Cow::Borrowed(array.made()),
        })
    }

    fn urls(&self) -> Vec<String> {
        let files = self.archive.files.iter();
        let named = files.filter(|file| file.meta().is_some());
        named.map(|file| file.url().to_owned()).collect()
    }

    fn state(&self) -> Option<String> {
        // Which of several messages a chunk is made of, no document says.
        if self.archive.may_repeat {
            return None;
        }
        let mut digest = Digest::new();
        for file in &self.archive.files {
            // Of an entry of a zip file, the state is not known, nor of a file whose server names neither a version nor a time:
            // its version is the epoch then.
            let meta = file.meta()?;
            if meta.version.as_str().starts_with("time:0.0:") {
                return None;
            }
            let named = digest.text(file.url()).number(meta.size);
            digest = named.text(meta.version.as_str());
        }
        Some(digest.hex())
    }

    fn may_repeat(&self) -> bool {
        self.archive.may_repeat
    }

    fn is_at_hand(&self, path: &NodePath) -> bool {
        matches!(
            self.array(path).map(|array| &array.chunks),
            Some(ArchiveChunks::Made { .. })
        )
    }
}

/// How a reference names a file.
fn reference(file: &ArchiveFile) -> Result<VirtualSource, String> {
    let Some(meta) = file.meta() else {
        return Err(format!("{} is deflated in its zip file", file.url()));
    };
    let source = VirtualSource::new(file.url());
    let source = source.map_err(|rule| format!("{}: {rule}", file.url()))?;
    Ok(match meta.last_modified.and_then(seconds) {
        Some(seconds) => source.with_checksum(VirtualChecksum::LastModified(seconds)),
        None => source,
    })
}

/// The second after which a file must not have been written. A part of one counts as a whole: the reference
/// implementation compares it with the exact time.
fn seconds(time: std::time::SystemTime) -> Option<u32> {
    let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
    let whole = since.as_secs() + u64::from(since.subsec_nanos() > 0);
    u32::try_from(whole).ok().filter(|it| *it > 0)
}

fn expected(array: &ArchiveArray) -> Expected {
    let elements = product(&array.chunk_shape);
    let element_bytes = array.element_bytes().unwrap_or(1);
    let bytes = usize::try_from(elements).unwrap_or(usize::MAX);
    Expected {
        element_bytes,
        chunk_bytes: bytes.saturating_mul(element_bytes),
    }
}

impl fmt::Display for ArchiveSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
