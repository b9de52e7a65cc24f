//! The frame of forks and answers: a magic number, a version, and a zstd frame of MessagePack.

use std::collections::BTreeSet;
use std::io::Read;

use bytes::Bytes;
use icefield_format::SnapshotId;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::blob_error::{ForkBlobError, OLDEST, VERSION};
use crate::session::SentLease;

/// The magic number of forks.
pub(super) const FORK: &[u8; 8] = b"ICEFORK\0";
/// The magic number of answers.
pub(super) const ANSWER: &[u8; 8] = b"ICEANSW\0";
/// The most bytes that a fork may have before compression.
const MAX_BYTES: u64 = 4 << 30;
/// A longer one may have so many times its length: most of it is random ids, which hardly shrink.
const MAX_RATIO: u64 = 256;
const RATIO_FLOOR: u64 = 64 << 20;
const COMPRESSION_LEVEL: i32 = 3;

/// A lease as it is packed.
pub(super) type PackedLease = (Bytes, u64, u64, u64);

pub(super) fn packed_lease(lease: &SentLease) -> PackedLease {
    let id = Bytes::copy_from_slice(&lease.id);
    (id, lease.age, lease.sent_at, lease.started)
}

pub(super) fn unpacked_lease(packed: &PackedLease) -> Result<SentLease, ForkBlobError> {
    Ok(SentLease {
        id: fixed(&packed.0)?,
        age: packed.1,
        sent_at: packed.2,
        started: packed.3,
    })
}

pub(super) fn packed_ids(ids: &BTreeSet<SnapshotId>) -> Vec<Bytes> {
    let ids = ids.iter();
    ids.map(|id| Bytes::copy_from_slice(id.as_bytes()))
        .collect()
}

pub(super) fn unpacked_ids(packed: &[Bytes]) -> Result<BTreeSet<SnapshotId>, ForkBlobError> {
    let ids = packed.iter();
    ids.map(|id| Ok(SnapshotId::from_bytes(fixed(id)?)))
        .collect()
}

/// Packs a body behind its magic number.
pub(super) fn sealed(magic: &[u8; 8], body: &impl Serialize) -> Result<Bytes, ForkBlobError> {
    let failed = |error: std::io::Error| ForkBlobError::Encode(error);
    let packed = rmp_serde::to_vec(body).map_err(|error| failed(std::io::Error::other(error)))?;
    if packed.len() as u64 > MAX_BYTES {
        return Err(ForkBlobError::TooLong);
    }
    let mut bytes = magic.to_vec();
    bytes.push(VERSION);
    let mut encoder =
        zstd::stream::write::Encoder::new(bytes, COMPRESSION_LEVEL).map_err(failed)?;
    encoder.include_checksum(true).map_err(failed)?;
    std::io::Write::write_all(&mut encoder, &packed).map_err(failed)?;
    let mut bytes = encoder.finish().map_err(failed)?;
    pad(&mut bytes, packed.len() as u64);
    Ok(bytes.into())
}

/// Unpacks what [`sealed`] packed.
pub(super) fn opened<T: DeserializeOwned>(
    magic: &[u8; 8],
    bytes: &[u8],
) -> Result<T, ForkBlobError> {
    let rest = bytes.strip_prefix(magic).ok_or(ForkBlobError::NotAFork)?;
    let (version, frame) = rest.split_first().ok_or(ForkBlobError::NotAFork)?;
    if !(OLDEST..=VERSION).contains(version) {
        return Err(ForkBlobError::OtherVersion(*version));
    }
    let mut packed = Vec::new();
    let decoder = zstd::stream::read::Decoder::new(frame).map_err(ForkBlobError::Damaged)?;
    let limit = (frame.len() as u64 * MAX_RATIO).clamp(RATIO_FLOOR, MAX_BYTES);
    let limited = &mut decoder.take(limit + 1);
    limited
        .read_to_end(&mut packed)
        .map_err(ForkBlobError::Damaged)?;
    if packed.len() as u64 > limit {
        return Err(ForkBlobError::TooLong);
    }
    let invalid = |error: rmp_serde::decode::Error| ForkBlobError::Invalid(error.to_string());
    rmp_serde::from_slice(&packed).map_err(invalid)
}

/// Adds a frame that decoders skip to what shrank so much that a reader would take it for a bomb.
fn pad(bytes: &mut Vec<u8>, packed: u64) {
    const SKIPPED: [u8; 4] = 0x184D_2A50u32.to_le_bytes();
    // A magic number and the version.
    let header = 8 + 1;
    let needed = packed.div_ceil(MAX_RATIO) + header;
    if packed <= RATIO_FLOOR || bytes.len() as u64 >= needed {
        return;
    }
    let padding = (needed - bytes.len() as u64) as u32;
    bytes.extend_from_slice(&SKIPPED);
    bytes.extend_from_slice(&padding.to_le_bytes());
    bytes.resize(bytes.len() + padding as usize, 0);
}

pub(super) fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N], ForkBlobError> {
    bytes
        .try_into()
        .map_err(|_| ForkBlobError::Invalid("an id of another length".to_owned()))
}
