//! The chunks of arrays, their storage, and references to foreign objects.

mod columns;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use icefield::{
    ByteRange, ChunkInfo, ChunkLocation, NodeInfo, NodeKind, NodePath, Repository, Session,
    VirtualRefs,
};

use crate::errors::Failure;
pub(crate) use columns::Columns;

/// The number of inline chunks whose bytes are read ahead.
const AHEAD: usize = 16;

/// Returns the chunks of an array as a stream, which holds the failure if they cannot be listed.
fn chunks(session: &Session, path: &NodePath) -> BoxStream<'static, Result<ChunkInfo, Failure>> {
    match session.chunks(path) {
        Ok(chunks) => chunks.map_err(Failure::from).boxed(),
        Err(error) => stream::once(std::future::ready(Err(error.into()))).boxed(),
    }
}

/// Returns the indices of the chunks that exist.
pub(crate) fn coordinates(
    session: Session,
    path: NodePath,
) -> impl Stream<Item = Result<Vec<u32>, Failure>> + Send + 'static {
    chunks(&session, &path).map_ok(|chunk| chunk.index.to_vec())
}

/// Returns the locations of all virtual chunks, one per chunk. Names of containers are resolved to URLs.
pub(crate) fn locations(
    repository: Repository,
    session: Session,
) -> impl Stream<Item = Result<String, Failure>> + Send + 'static {
    let nodes: Vec<Result<NodeInfo, Failure>> = match session.nodes(&NodePath::root()) {
        Ok(nodes) => nodes.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(error.into())],
    };
    stream::iter(nodes)
        .try_filter(|node| std::future::ready(node.kind == NodeKind::Array))
        .map_ok(move |node| chunks(&session, &node.path))
        .try_flatten()
        .try_filter_map(move |chunk| {
            std::future::ready(Ok(match chunk.location {
                ChunkLocation::Virtual { location, .. } => {
                    Some(repository.absolute_location(&location).into_owned())
                }
                _ => None,
            }))
        })
}

/// Returns the storage of a chunk. `index` is `None` if no chunk can have those coordinates.
pub(crate) async fn chunk_type(
    session: &Session,
    path: &NodePath,
    index: Option<&[u32]>,
) -> Result<&'static str, Failure> {
    session.array(path)?;
    let Some(index) = index else {
        return Ok("uninitialized");
    };
    Ok(match session.chunk_location(path, index).await? {
        None => "uninitialized",
        Some(location) => word(&location),
    })
}

fn word(location: &ChunkLocation) -> &'static str {
    match location {
        ChunkLocation::Inline { .. } => "inline",
        ChunkLocation::Native { .. } => "native",
        ChunkLocation::Virtual { .. } => "virtual",
    }
}

/// The index, the type, the location (virtual) or the id of the object (native), the offset, the length, and the bytes (inline)
/// of a chunk ref.
type Reference = (
    Vec<u32>,
    &'static str,
    Option<String>,
    u64,
    u64,
    Option<pyo3_bytes::PyBytes>,
);

/// Returns all chunk refs of an array.
pub(crate) fn chunk_refs(
    repository: Repository,
    session: Session,
    path: NodePath,
) -> impl Stream<Item = Result<Reference, Failure>> + Send + 'static {
    chunks(&session, &path)
        .map(move |chunk| {
            let (repository, session, path) = (repository.clone(), session.clone(), path.clone());
            async move { reference(&repository, &session, &path, chunk?).await }
        })
        .buffered(AHEAD)
}

async fn reference(
    repository: &Repository,
    session: &Session,
    path: &NodePath,
    chunk: ChunkInfo,
) -> Result<Reference, Failure> {
    let kind = word(&chunk.location);
    let length = chunk.location.length();
    let index = chunk.index.to_vec();
    Ok(match chunk.location {
        ChunkLocation::Virtual {
            location, offset, ..
        } => {
            let location = repository.absolute_location(&location).into_owned();
            (index, kind, Some(location), offset, length, None)
        }
        ChunkLocation::Native { id, offset, .. } => {
            (index, kind, Some(id.to_string()), offset, length, None)
        }
        ChunkLocation::Inline { .. } => {
            let bytes = session.chunk(path, &chunk.index, ByteRange::All).await?;
            let bytes = bytes.map(pyo3_bytes::PyBytes::new);
            (index, kind, None, 0, length, bytes)
        }
    })
}

/// Sets virtual chunk refs. With `validate`, skips rows that no container covers, and returns them.
pub(crate) async fn set(
    repository: &Repository,
    session: &Session,
    path: &NodePath,
    columns: Columns,
    validate: bool,
) -> Result<Option<Vec<usize>>, Failure> {
    let rank = session.array(path)?.chunk_counts.len();
    let (table, uncovered) = columns.resolve(repository, rank, validate)?;
    let refs = VirtualRefs {
        coordinates: &table.coordinates,
        sources: &table.sources,
        source: &table.source,
        offsets: &table.offsets,
        lengths: &table.lengths,
    };
    // With `validate`, a container covers every remaining row.
    session.set_virtual_refs_anywhere(path, refs).await?;
    Ok((!uncovered.is_empty()).then_some(uncovered))
}
