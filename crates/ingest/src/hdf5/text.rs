//! Texts in elements, and chunks of texts.

use bytes::Bytes;

use super::datatype::{DataType, Kind, Padding};
use super::file::{Parsed, invalid};
use super::heap::GlobalHeaps;

/// Removes what follows a text of fixed length.
pub(super) fn trimmed(bytes: &[u8], padding: Padding) -> &[u8] {
    let last = |pad: u8| bytes.iter().rposition(|byte| *byte != pad);
    let end = match padding {
        Padding::Terminated => bytes.iter().position(|byte| *byte == 0),
        Padding::Zeros => Some(last(0).map_or(0, |last| last + 1)),
        Padding::Spaces => Some(last(b' ').map_or(0, |last| last + 1)),
    };
    bytes.get(..end.unwrap_or(bytes.len())).unwrap_or(bytes)
}

/// Reads a text of any length.
pub(super) fn long_text(reference: &[u8], heaps: &GlobalHeaps<'_>) -> Parsed<Vec<u8>> {
    let (length, mut bytes) = heaps.read(reference)?;
    if bytes.len() < length {
        return Err(invalid("a text is shorter than its length says"));
    }
    bytes.truncate(length);
    // Some writers count the zero at the end.
    let end = bytes.iter().position(|byte| *byte == 0);
    bytes.truncate(end.unwrap_or(length));
    Ok(bytes)
}

/// Returns a text for people to read. One that is not UTF-8 is most likely Latin-1: HDF5 knows only ASCII besides.
pub(super) fn shown(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// Why a chunk of texts could not be made.
pub(super) enum NoTexts {
    /// The file is damaged.
    Damaged(hdf5_reader::error::Error),
    /// An element is not a text.
    NotUtf8,
    /// There is too much of it.
    TooLong,
}

/// Encodes the elements of a chunk as the codec `vlen-utf8` does: their number, then each with its length before it.
pub(super) fn encoded(
    data_type: &DataType,
    chunk: &[u8],
    heaps: &GlobalHeaps<'_>,
    most: u64,
) -> Result<Bytes, NoTexts> {
    let elements = chunk.chunks_exact(data_type.size.max(1));
    let count = u32::try_from(elements.len()).map_err(|_| NoTexts::TooLong)?;
    let mut bytes = count.to_le_bytes().to_vec();
    for element in elements {
        let long;
        let text = match data_type.kind {
            Kind::Text(padding) => trimmed(element, padding),
            _ => {
                long = long_text(element, heaps).map_err(NoTexts::Damaged)?;
                long.as_slice()
            }
        };
        std::str::from_utf8(text).map_err(|_| NoTexts::NotUtf8)?;
        let length = u32::try_from(text.len()).map_err(|_| NoTexts::TooLong)?;
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(text);
        if bytes.len() as u64 > most {
            return Err(NoTexts::TooLong);
        }
    }
    Ok(bytes.into())
}
