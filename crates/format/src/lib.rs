//! Pure encoding and decoding of Icechunk files: bytes in, typed values out, no I/O.
//!
//! A repository is a handful of kinds of objects under one root. This crate knows what is in them
//! and how their keys are made; what to write, and when, is decided in the `core` crate, and how
//! branches move in `refs`.
//!
//! | object | here |
//! |---|---|
//! | `snapshots/ID` | [`Snapshot`], written by [`SnapshotEncoder`]: the hierarchy of nodes after one commit |
//! | `manifests/ID` | [`Manifest`], written by [`ManifestEncoder`]: where the bytes of chunks are |
//! | `transactions/ID` | [`TransactionLog`], written by [`TransactionLogEncoder`]: what a commit touched |
//! | `refs/branch.NAME/ref.json`, `refs/tag.NAME/ref.json` | [`decode_ref`], [`encode_ref`] |
//! | `config.yaml` | [`RepositoryConfig`] and the rest of [`config`] |
//! | `repo` (spec 2), `overwritten/repo.T.R` | [`RepoInfo`]: refs, snapshots, status, configuration, operations log |
//! | `chunks/ID` | raw bytes, nothing to decode |
//!
//! Keys come from [`layout`]; ids ([`SnapshotId`], [`ManifestId`], [`ChunkId`], [`NodeId`]), paths
//! ([`NodePath`]) and coordinates ([`ChunkIndex`], [`Extents`]) are values. The first three kinds
//! of file share a [`Header`] and are compressed flatbuffers; the schemas are in `schemas/` of the
//! workspace.
//!
//! ```
//! use icefield_format::{ChunkRef, DecodeLimits, Manifest, ManifestEncoder, ManifestId, NodeId, Writer};
//!
//! # fn main() -> Result<(), icefield_format::FormatError> {
//! let (id, array) = (ManifestId::from_bytes([7; 12]), NodeId::from_bytes([1; 8]));
//! let mut encoder = ManifestEncoder::new(id);
//! encoder.begin_array(array)?;
//! encoder.push(&[0, 0], ChunkRef::Inline(b"few bytes"))?;
//! encoder.push(&[0, 1], ChunkRef::Inline(b"some more"))?;
//! let file = encoder.finish(&Writer::default())?.bytes;
//!
//! let manifest = Manifest::decode(&file, id, &DecodeLimits::default())?;
//! assert_eq!(manifest.get(&array, &[0, 1])?, Some(ChunkRef::Inline(b"some more")));
//! # Ok(())
//! # }
//! ```
//!
//! # Versions
//!
//! Files of spec versions 1 and 2 are read and written; later ones are refused with
//! [`FormatError::NewerSpecVersion`]. A file is read by its own header: a repository that was upgraded
//! has files of both versions. Encoders write spec 1 unless made `for_version`, and decoders refuse spec 2
//! unless the [`DecodeLimits`] are `up_to` it.
//!
//! In spec 2 one mutable object, `repo`, has what spec 1 keeps in refs, `config.yaml` and the parents in
//! snapshots. [`RepoInfo`] is its content as a value, and [`RepoEdit`] makes the next value of it; what
//! is to be published, and under which condition, `refs` decides. Metadata and configuration are in
//! FlexBuffers there ([`decode_flexbuffers`]), locations of virtual chunks may be compressed with a
//! [`LocationDictionary`], and chunks may have different lengths ([`ChunkGrid`]). What later versions
//! put into the reserved fields `extra` can be read and written back.
//!
//! # Guarantees
//!
//! - No bytes make this crate panic, read out of bounds, or hold more memory than [`DecodeLimits`]
//!   allows. Each error names the file and the rule that it breaks.
//! - A decoded file has passed every rule of the format that concerns the file alone: encoding,
//!   order, uniqueness, ranks, ids. So accessors do not fail, and searches can rely on order.
//! - Decoding is one decompression and one check. The value holds the decompressed body, is read in
//!   place, and is cheap to clone.
//! - The same content gives the same bytes. An encoder refuses what decoding would.
//! - `unsafe` is confined to generated code and one module of a few lines.

mod budget;
mod chunk_grid;
mod compression;
pub mod config;
mod debug;
mod envelope;
mod error;
mod file;
mod flexbuffers;
mod generated;
mod id;
mod index;
pub mod layout;
mod limits;
mod location;
mod manifest;
mod messagepack;
mod order;
mod path;
mod ref_json;
mod repo_info;
mod snapshot;
mod text;
mod transaction_log;
mod verified;

pub use chunk_grid::{ChunkGrid, ChunkGridError};
pub use config::RepositoryConfig;
pub use envelope::{
    Compression, DecodeLimits, FileKind, HEADER_LEN, Header, MAGIC, MAX_BODY_LEN, SpecVersion,
    Writer,
};
pub use error::{
    FormatError, FormatFile, LocationError, MalformedBody, MessagePackError, SortedList,
};
pub use flexbuffers::{FlexBuffersError, decode_flexbuffers, encode_flexbuffers};
pub use id::{ChunkId, IdError, ManifestId, NODE_ID_LEN, NodeId, OBJECT_ID_LEN, SnapshotId};
pub use index::{ByteRange, ChunkIndex, Extents, MAX_RANK};
pub use location::{
    LocationRule, MAX_LOCATION_LEN, VirtualLocation, container_prefixes, encoded_key, location_of,
};
pub use manifest::encode::{EncodedManifest, ManifestEncoder};
pub use manifest::refs::{ArrayRefs, RefRecord};
pub use manifest::translate::TranslatedManifest;
pub use manifest::{
    Checksum, ChunkRef, LocationCompression, LocationDictionary, LocationReader, LocationWriter,
    Manifest,
};
pub use path::{MAX_PATH_LEN, MAX_PATH_SEGMENTS, NodePath, PathError};
pub use ref_json::{decode_ref, encode_ref, encode_ref_with_nonce};
pub use repo_info::edit::{NewRepoInfo, RepoEdit};
pub use repo_info::{
    Availability, FeatureFlag, FeatureFlags, MAIN_BRANCH, NewSnapshotInfo, OpsLog, OpsLogError,
    RepoEditError, RepoInfo, RepoStatus, SnapshotGraph, SnapshotInfo, Update, UpdateKind,
};
pub use snapshot::encode::{
    ManifestRef, NewNode, NewNodeData, NewSnapshot, SnapshotEncoder, initial_snapshot,
    initial_snapshot_in,
};
pub use snapshot::{
    ArrayRecord, DimensionShape, INITIAL_MESSAGE, ManifestFileInfo, ManifestRefRecord, NodeKind,
    NodeRecord, Snapshot,
};
pub use transaction_log::encode::{TransactionLogEncoder, initial_transaction_log};
pub use transaction_log::{MovedNode, MovedNodeRecord, TransactionLog, UpdatedChunks};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
