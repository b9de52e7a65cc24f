//! map (to be written)
mod compression;
pub mod config;
mod envelope;
mod error;
mod generated;
mod id;
mod index;
pub mod layout;
mod limits;
mod manifest;
mod messagepack;
mod path;
mod ref_json;
mod snapshot;
mod transaction_log;
mod verified;

pub use config::RepositoryConfig;
pub use envelope::{
    Compression, DecodeLimits, FileKind, HEADER_LEN, Header, MAGIC, MAX_BODY_LEN, SpecVersion,
    Writer,
};
pub use error::{FormatError, FormatFile, MalformedBody, MessagePackError, SortedList};
pub use id::{ChunkId, IdError, ManifestId, NODE_ID_LEN, NodeId, OBJECT_ID_LEN, SnapshotId};
pub use index::{ByteRange, ChunkIndex, Extents, MAX_RANK};
pub use manifest::{
    ArrayRefs, Checksum, ChunkRef, EncodedManifest, Manifest, ManifestEncoder, RefRecord,
};
pub use path::{MAX_PATH_LEN, MAX_PATH_SEGMENTS, NodePath, PathError};
pub use ref_json::{decode_ref, encode_ref};
pub use snapshot::{
    ArrayRecord, DimensionShape, INITIAL_MESSAGE, ManifestFileInfo, ManifestRef, ManifestRefRecord,
    NewNode, NewNodeData, NewSnapshot, NodeKind, NodeRecord, Snapshot, SnapshotEncoder,
    initial_snapshot,
};
pub use transaction_log::{TransactionLog, TransactionLogEncoder, UpdatedChunks};
