//! Values that stand in the document itself.

use std::io::Read;

use bytes::Bytes;
use roxmltree::Node;

use super::xml::{children, text_of};
use crate::archive::values::base64_bytes;

/// Bytes of texts of one array.
const MOST_TEXTS: usize = 256 << 20;

/// Returns bytes that are written in base64, with white space anywhere.
pub(super) fn base64(text: &str) -> Result<Vec<u8>, String> {
    let text: String = text.split_whitespace().collect();
    base64_bytes(&text).ok_or_else(|| "its values are not base64".to_owned())
}

/// Returns values that are written in base64, `length` bytes; they may be deflated.
pub(super) fn values(text: &str, length: u64) -> Result<Vec<u8>, String> {
    let bytes = base64(text)?;
    if bytes.len() as u64 == length {
        return Ok(bytes);
    }
    match inflated(&bytes, length) {
        Some(bytes) => Ok(bytes),
        None => Err(format!(
            "it has {} bytes of values in the document instead of {length}",
            bytes.len()
        )),
    }
}

/// Inflates exactly so many bytes.
fn inflated(bytes: &[u8], length: u64) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let most = flate2::read::ZlibDecoder::new(bytes).take(length.saturating_add(1));
    { most }.read_to_end(&mut plain).ok()?;
    (plain.len() as u64 == length).then_some(plain)
}

/// Reads the texts of a `vlsa` element, of which each may stand for several and be deflated, and encodes them as the codec
/// `vlen-utf8` does. There must be `count` of them.
pub(super) fn texts(element: Node<'_, '_>, count: u64) -> Result<Bytes, String> {
    let wrong = || format!("it should have {count} texts in the document, and has another number");
    let mut encoded = u32::try_from(count)
        .map_err(|_| wrong())?
        .to_le_bytes()
        .to_vec();
    let mut left = count;
    for value in children(element).filter(|it| it.tag_name().name() == "v") {
        let number = |name: &str| match value.attribute(name) {
            None => Ok(None),
            Some(text) => text.trim().parse::<u64>().map(Some),
        };
        let wrong_number = |_| "a text of it has a count or a size that is no number".to_owned();
        let many = number("c").map_err(wrong_number)?.unwrap_or(1);
        let text = match number("s").map_err(wrong_number)? {
            None => text_of(value).into_bytes(),
            Some(size) if size > MOST_TEXTS as u64 => return Err(too_long()),
            Some(size) => values(&text_of(value), size)?,
        };
        if std::str::from_utf8(&text).is_err() {
            return Err("a text of it is not UTF-8".to_owned());
        }
        left = left.checked_sub(many).ok_or_else(wrong)?;
        let entry = text.len().saturating_add(4);
        let more = usize::try_from(many)
            .unwrap_or(usize::MAX)
            .saturating_mul(entry);
        if more > MOST_TEXTS.saturating_sub(encoded.len()) {
            return Err(too_long());
        }
        for _ in 0..many {
            encoded.extend((text.len() as u32).to_le_bytes());
            encoded.extend(&text);
        }
    }
    match left {
        0 => Ok(encoded.into()),
        _ => Err(wrong()),
    }
}

/// Encodes one text as the codec `vlen-utf8` does.
pub(super) fn one_text(text: &[u8]) -> Result<Bytes, String> {
    if std::str::from_utf8(text).is_err() {
        return Err("its text is not UTF-8".to_owned());
    }
    let length = u32::try_from(text.len()).map_err(|_| too_long())?;
    let parts = [&1_u32.to_le_bytes()[..], &length.to_le_bytes(), text];
    Ok(parts.concat().into())
}

fn too_long() -> String {
    "its texts take more than 256 MiB, the most that is copied".to_owned()
}
