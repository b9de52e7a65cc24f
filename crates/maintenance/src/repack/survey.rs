//! Where the chunks of a snapshot lie.

use futures::TryStreamExt;
use icefield_core::{ChunkIndex, ChunkLocation, NodeKind, NodePath, Session};
use icefield_storage::Storage;

use super::RepackError;
use crate::Progress;
use crate::listing::{ObjectKind, sizes};

/// An array that is repacked.
#[derive(Debug)]
pub(super) struct Array {
    pub(super) path: NodePath,
    pub(super) dimensions: Vec<Option<String>>,
}

/// A chunk in an object of the repository.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) id: [u8; 12],
    pub(super) offset: u64,
    pub(super) length: u64,
    /// By its number and its coordinates; none of an array that stays as it is.
    pub(super) of: Option<(u32, ChunkIndex)>,
}

impl Chunk {
    /// Returns where it lies.
    pub(super) fn place(&self) -> ([u8; 12], u64, u64) {
        (self.id, self.offset, self.length)
    }
}

/// An object with chunks.
#[derive(Debug)]
pub(super) struct Object {
    /// Its chunks, by their numbers.
    pub(super) chunks: std::ops::Range<usize>,
    /// None if it is not there.
    pub(super) size: Option<u64>,
    /// Bytes that some chunk lies in.
    pub(super) live: u64,
}

#[derive(Debug)]
pub(super) struct Survey {
    pub(super) arrays: Vec<Array>,
    /// Sorted by object and offset.
    pub(super) chunks: Vec<Chunk>,
    pub(super) objects: Vec<Object>,
}

/// Reads all manifests, and lists all chunk objects.
pub(super) async fn survey(
    session: &Session,
    storage: &dyn Storage,
    wanted: &[NodePath],
    progress: &dyn Progress,
) -> Result<Survey, RepackError> {
    for path in wanted {
        session.array(path)?;
    }
    let nodes = session.nodes(&NodePath::root())?.into_iter();
    let arrays = nodes.filter(|node| node.kind == NodeKind::Array);
    let paths: Vec<NodePath> = arrays.map(|node| node.path).collect();
    progress.stage("reading manifests", Some(paths.len() as u64));
    let (mut arrays, mut chunks) = (Vec::new(), Vec::new());
    for path in paths {
        let number = (wanted.is_empty() || wanted.contains(&path)).then_some(arrays.len() as u32);
        let mut listed = session.chunks(&path)?;
        while let Some(chunk) = listed.try_next().await? {
            if let ChunkLocation::Native { id, offset, length } = chunk.location {
                chunks.push(Chunk {
                    id: *id.as_bytes(),
                    offset,
                    length,
                    of: number.map(|number| (number, chunk.index)),
                });
            }
        }
        if number.is_some() {
            let array = session.array(&path)?;
            let rank = array.chunk_counts.len();
            let dimensions = array.dimension_names.unwrap_or_else(|| vec![None; rank]);
            arrays.push(Array { path, dimensions });
        }
        progress.advance(1, 0);
    }
    chunks.sort_unstable_by(|a, b| a.place().cmp(&b.place()).then_with(|| a.of.cmp(&b.of)));
    progress.stage("listing chunks", None);
    let mut objects = objects(&chunks);
    let ids: Vec<[u8; 12]> = objects
        .iter()
        .map(|it| chunks[it.chunks.start].id)
        .collect();
    let sizes = sizes(storage, ObjectKind::Chunk, &ids).await?;
    for (object, size) in objects.iter_mut().zip(sizes) {
        object.size = size;
    }
    Ok(Survey {
        arrays,
        chunks,
        objects,
    })
}

/// Finds the chunks of each object.
fn objects(chunks: &[Chunk]) -> Vec<Object> {
    let mut objects: Vec<Object> = Vec::new();
    let mut covered = 0;
    for (number, chunk) in chunks.iter().enumerate() {
        let is_new = objects
            .last()
            .is_none_or(|last| chunks[last.chunks.start].id != chunk.id);
        if is_new {
            covered = 0;
            objects.push(Object {
                chunks: number..number,
                size: None,
                live: 0,
            });
        }
        if let Some(object) = objects.last_mut() {
            let end = chunk.offset.saturating_add(chunk.length);
            object.live += end.saturating_sub(covered.max(chunk.offset));
            object.chunks.end = number + 1;
            covered = covered.max(end);
        }
    }
    objects
}
