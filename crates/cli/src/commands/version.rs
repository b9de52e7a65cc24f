//! Reading one revision of a repository of any generation.

use bytes::Bytes;
use futures::TryStreamExt;
use icefield::alpha::{AlphaChunk, AlphaVersion, Payload};
use icefield::{
    ArrayMetadata, ChunkLocation, NodeKind, NodePath, Repository, Session, SessionError,
    SnapshotId, ZarrKey, ZarrStore,
};

use super::chunk_counts::{ChunkCounts, ChunkTotal};
use crate::failure::{Exit, Failure};

pub(super) enum RevisionReader {
    Today {
        repository: Repository,
        session: Session,
        id: SnapshotId,
    },
    Alpha(Box<AlphaVersion>),
}

impl RevisionReader {
    /// Returns the id of the snapshot as text.
    pub(super) fn id(&self) -> String {
        match self {
            Self::Today { id, .. } => id.to_string(),
            Self::Alpha(version) => version.snapshot().id.to_string(),
        }
    }

    /// Returns the paths of all nodes, in any order.
    pub(super) fn paths(&self) -> Result<Vec<NodePath>, Failure> {
        Ok(match self {
            Self::Today { session, .. } => {
                let nodes = session.nodes(&NodePath::root())?;
                nodes.into_iter().map(|node| node.path).collect()
            }
            Self::Alpha(version) => {
                let nodes = version.snapshot().nodes().iter();
                nodes.map(|node| node.path.clone()).collect()
            }
        })
    }

    pub(super) fn kind(&self, path: &NodePath) -> Result<Option<NodeKind>, Failure> {
        Ok(match self {
            Self::Today { session, .. } => session.node_kind(path)?,
            Self::Alpha(version) => (version.snapshot().node(path)).map(|node| match node.array {
                Some(_) => NodeKind::Array,
                None => NodeKind::Group,
            }),
        })
    }

    /// Returns the names of the children of a path, sorted.
    pub(super) fn child_names(&self, path: &NodePath) -> Result<Vec<String>, Failure> {
        Ok(match self {
            Self::Today { session, .. } => session.child_names(path)?,
            Self::Alpha(version) => version.snapshot().child_names(path),
        })
    }

    pub(super) fn array(&self, path: &NodePath) -> Result<ArrayMetadata, Failure> {
        match self {
            Self::Today { session, .. } => Ok(session.array(path)?),
            Self::Alpha(version) => match alpha_array(version, path) {
                Some(array) => Ok(array.clone()),
                None => Err(SessionError::NodeNotFound { path: path.clone() }.into()),
            },
        }
    }

    /// Returns the `zarr.json` of a node.
    pub(super) fn document(&self, path: &NodePath) -> Result<Option<Bytes>, Failure> {
        Ok(match self {
            Self::Today { session, .. } => session.metadata(path)?,
            Self::Alpha(version) => {
                (version.snapshot().node(path)).map(|node| node.document.clone())
            }
        })
    }

    /// Counts the chunks of an array; reads all its manifests.
    pub(super) async fn count_chunks(&self, path: &NodePath) -> Result<ChunkCounts, Failure> {
        let version = match self {
            Self::Today {
                repository,
                session,
                ..
            } => return count_chunks(repository, session, path).await,
            Self::Alpha(version) => version,
        };
        let mut facts = ChunkCounts::default();
        for chunk in version.chunks(path).await? {
            match chunk.payload {
                Payload::Inline(bytes) => facts.inline.add(ChunkTotal::one(bytes.len() as u64)),
                Payload::Native { length, .. } => facts.native.add(ChunkTotal::one(length)),
                // The alpha generation had no containers.
                Payload::Virtual { length, .. } => facts.add_virtual(String::new(), length),
            }
        }
        Ok(facts)
    }

    /// Returns the value of a Zarr key.
    pub(super) async fn get(&self, key: &str) -> Result<Option<Bytes>, Failure> {
        let version = match self {
            Self::Today { session, .. } => {
                return Ok(ZarrStore::new(session.clone()).get(key).await?);
            }
            Self::Alpha(version) => version,
        };
        let parsed = ZarrKey::parse_among(key, |path| alpha_array(version, path))?;
        let (array, index) = match parsed {
            ZarrKey::Metadata(path) => return self.document(&path),
            ZarrKey::Chunk { array, index } => (array, index),
            ZarrKey::V2Metadata | ZarrKey::Nothing(_) => return Ok(None),
        };
        match version.chunk(&array, &index).await? {
            None => Ok(None),
            Some(AlphaChunk::Bytes(bytes)) => Ok(Some(bytes)),
            Some(AlphaChunk::Virtual {
                location,
                offset,
                length,
            }) => {
                let problem = format!(
                    "{key:?} is {length} bytes from {offset} of {location}, and foreign files of a repository of the alpha generation are not read"
                );
                let hint = "`icefield import LOCATION NEW` converts it to a repository of version 1, which reads them with --grant";
                Err(Failure::new(Exit::Failure, problem).hint(hint))
            }
        }
    }
}

fn alpha_array<'a>(version: &'a AlphaVersion, path: &NodePath) -> Option<&'a ArrayMetadata> {
    version.snapshot().node(path)?.array.as_ref()
}

/// Counts the chunks of an array of a session; reads all its manifests.
pub(super) async fn count_chunks(
    repository: &Repository,
    session: &Session,
    path: &NodePath,
) -> Result<ChunkCounts, Failure> {
    let mut facts = ChunkCounts::default();
    let mut chunks = session.chunks(path)?;
    while let Some(chunk) = chunks.try_next().await? {
        let length = chunk.location.length();
        match &chunk.location {
            ChunkLocation::Native { .. } => facts.native.add(ChunkTotal::one(length)),
            ChunkLocation::Inline { .. } => facts.inline.add(ChunkTotal::one(length)),
            ChunkLocation::Virtual { location, .. } => {
                let container = repository.container_of(location).unwrap_or_default();
                facts.add_virtual(container, length);
            }
        }
    }
    Ok(facts)
}
