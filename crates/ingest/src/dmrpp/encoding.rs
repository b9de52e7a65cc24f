//! The text of a document, in the encoding that its first line says.

use std::borrow::Cow;

/// Bytes in which the declaration ends.
const DECLARATION: usize = 200;

/// Returns the text: UTF-8, or Latin-1 where the document says so.
///
/// # Errors
/// The obstacle: another encoding, or bytes that are not of the one it says.
pub(super) fn text(bytes: &[u8]) -> Result<Cow<'_, str>, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match declared(bytes).as_deref() {
        None | Some("utf-8" | "utf8" | "us-ascii" | "ascii") => std::str::from_utf8(bytes)
            .map(Cow::Borrowed)
            .map_err(|error| format!("it is not UTF-8: {error}")),
        Some("iso-8859-1" | "latin1" | "latin-1") => Ok(match bytes.is_ascii() {
            true => String::from_utf8_lossy(bytes),
            false => bytes.iter().map(|byte| char::from(*byte)).collect(),
        }),
        Some(other) => Err(format!(
            "its encoding is {other:?}; UTF-8 and ISO-8859-1 are read"
        )),
    }
}

/// Returns the encoding of the declaration in lower case, if it has one.
fn declared(bytes: &[u8]) -> Option<String> {
    let head = bytes.get(..bytes.len().min(DECLARATION))?;
    let head = String::from_utf8_lossy(head);
    let declaration = head.strip_prefix("<?xml")?.split("?>").next()?;
    let (_, rest) = declaration.split_once("encoding")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|it| matches!(it, '"' | '\''))?;
    let value = rest.get(1..)?.split(quote).next()?;
    Some(value.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declaration_says_the_encoding() {
        let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xb0C</a>";
        assert!(text(latin).is_ok_and(|text| text.ends_with("<a>\u{b0}C</a>")));
        let utf_8 = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><a>\u{b0}C</a>";
        assert_eq!(text(utf_8.as_bytes()).as_deref(), Ok(utf_8));
        assert_eq!(text(b"\xef\xbb\xbf<a/>").as_deref(), Ok("<a/>"));
        assert!(text(b"<a>\xb0</a>").is_err(), "no declaration is UTF-8");
        let other = text(b"<?xml version='1.0' encoding='UTF-16'?><a/>");
        assert!(other.is_err_and(|problem| problem.contains("utf-16")));
    }
}
