//! Decompressing an entry.

use std::io::Read;

use bytes::Bytes;
use flate2::read::DeflateDecoder;

use super::ZipError;
use super::index::Slot;

/// Decompresses an entry, which has at most as many bytes as the limit allowed when the file was opened.
pub(super) fn inflate(data: impl Read, slot: Slot, name: &str) -> Result<Bytes, ZipError> {
    let content = |problem: String| ZipError::Content {
        name: name.to_owned(),
        problem,
    };
    let mut bytes = Vec::new();
    // One byte more than it may have, to see that it ends; no room before there are bytes to fill it.
    let mut reader = DeflateDecoder::new(data).take(slot.size.saturating_add(1));
    reader
        .read_to_end(&mut bytes)
        .map_err(|error| content(error.to_string()))?;
    if bytes.len() as u64 != slot.size {
        return Err(content("it has another length than it says".to_owned()));
    }
    if rawzip::crc32(&bytes) != slot.crc {
        return Err(content("its checksum does not match".to_owned()));
    }
    Ok(bytes.into())
}
