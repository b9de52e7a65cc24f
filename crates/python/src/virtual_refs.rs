//! Chunks: which there are, where they live, and references to those in foreign objects.

mod columns;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use icefield::{
    ByteRange, ChunkInfo, ChunkLocation, NodeInfo, NodeKind, NodePath, Repository, Session,
    VirtualRefs,
};

use crate::errors::Failure;
pub(crate) use columns::Columns;

/// Inline chunks whose bytes are looked up ahead.
const AHEAD: usize = 16;

/// The chunks of an array, or why there are none.
fn chunks(session: &Session, path: &NodePath) -> BoxStream<'static, Result<ChunkInfo, Failure>> {
    match session.chunks(path) {
        Ok(chunks) => chunks.map_err(Failure::from).boxed(),
        Err(error) => stream::once(std::future::ready(Err(error.into()))).boxed(),
    }
}

/// The coordinates of the chunks that exist.
pub(crate) fn coordinates(
    session: Session,
    path: NodePath,
) -> impl Stream<Item = Result<Vec<u32>, Failure>> + Send + 'static {
    chunks(&session, &path).map_ok(|chunk| chunk.index.to_vec())
}

/// The locations of all virtual chunks, one for each chunk. None begins with the name of a container.
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

/// Says where a chunk lives. `index` is none if no chunk can have those coordinates.
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

/// index, type, location (of virtual ones) or id of the object (of native ones), offset, length, bytes (of inline
/// ones).
type Reference = (
    Vec<u32>,
    &'static str,
    Option<String>,
    u64,
    u64,
    Option<pyo3_bytes::PyBytes>,
);

/// All references of an array.
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

/// Sets references. Returns the rows that no container covers and that are not set for that reason; without `validate`
/// there are none.
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
    // What must be covered is.
    session.set_virtual_refs_anywhere(path, refs).await?;
    Ok((!uncovered.is_empty()).then_some(uncovered))
}
