//! Texts in elements, and chunks of texts.

use bytes::Bytes;

use super::datatype::{DataType, ElementKind, Padding};
use super::heap::GlobalHeaps;
use super::parsed::{Parsed, invalid};

/// Removes what follows a text of fixed length. A zero within it is a part of it, as h5py and NetCDF have it, unless
/// what is behind the zero is no text.
pub(super) fn trimmed(bytes: &[u8], padding: Padding) -> &[u8] {
    let pad = match padding {
        Padding::Terminated | Padding::Zeros => 0,
        Padding::Spaces => b' ',
    };
    let last = bytes.iter().rposition(|byte| *byte != pad);
    let whole = bytes.get(..last.map_or(0, |last| last + 1));
    let whole = whole.unwrap_or(bytes);
    let end = whole.iter().position(|byte| *byte == 0);
    match (padding, end) {
        (Padding::Terminated, Some(end)) if std::str::from_utf8(whole).is_err() => {
            whole.get(..end).unwrap_or(whole)
        }
        _ => whole,
    }
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
            ElementKind::Text(padding) => trimmed(element, padding),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_within_a_text_stays_and_what_follows_a_text_goes() {
        use Padding::{Spaces, Terminated, Zeros};
        for (bytes, padding, expected) in [
            (&b"ab\0cd\0"[..], Terminated, &b"ab\0cd"[..]),
            (b"ab\0\xff\xfe", Terminated, b"ab"),
            (b"ab\0\0", Terminated, b"ab"),
            (b"ab\0cd", Zeros, b"ab\0cd"),
            (b"ab  ", Spaces, b"ab"),
            (b"\0\0", Terminated, b""),
            (b"\xe9\0", Terminated, b"\xe9"),
        ] {
            assert_eq!(trimmed(bytes, padding), expected, "{bytes:?}");
        }
    }
}
