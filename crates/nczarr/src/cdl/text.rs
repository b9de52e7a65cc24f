//! Texts and names with their escapes.

/// Writes the bytes of a text between quotes, as `ncdump` does for attributes and strings: bytes beyond ASCII stay as they
/// are, whatever their encoding.
pub(super) fn quote(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for &byte in text {
        if byte < 0x80 {
            escape(out, byte);
        } else {
            out.push(byte);
        }
    }
    out.push(b'"');
}

/// Writes one byte of a text; those beyond ASCII as an octal number.
pub(super) fn escape(out: &mut Vec<u8>, byte: u8) {
    let letter = match byte {
        0x08 => b'b',
        0x0c => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x0b => b'v',
        b'\\' | b'\'' | b'"' => byte,
        b' '..=b'~' => return out.push(byte),
        _ => return out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
    };
    out.extend_from_slice(&[b'\\', letter]);
}

/// Returns a text without the zeros at its end, which `ncdump` never shows.
pub(super) fn without_padding(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte != 0);
    &text[..end.map_or(0, |at| at + 1)]
}

/// Writes a name with backslashes before what would end it.
pub(super) fn name(out: &mut Vec<u8>, name: &str) {
    for (at, &byte) in name.as_bytes().iter().enumerate() {
        match byte {
            0..=0x1f | 0x7f => {
                // A control character; no program can write such a name into a file.
                out.extend_from_slice(format!("\\%{byte:02x}").as_bytes());
                continue;
            }
            b'0'..=b'9' | b'.' | b'+' | b'-' | b'@' | b'%' if at == 0 => out.push(b'\\'),
            _ if is_special(byte) => out.push(b'\\'),
            _ => {}
        }
        out.push(byte);
    }
}

/// Returns whether a byte of a name needs a backslash.
fn is_special(byte: u8) -> bool {
    byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"_.@+-%/".contains(&byte)
}

/// Returns whether a byte can stand in a name without a backslash.
pub(super) fn is_plain(byte: u8) -> bool {
    !is_special(byte) && byte > b' ' && byte != 0x7f
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_like_those_of_ncdump() {
        let cases = [
            ("plain_1.a@b+c-d", "plain_1.a@b+c-d"),
            ("1x", "\\1x"),
            ("weird name", "weird\\ name"),
            (
                "a!\"#$%&'()*,:;<=>?[]^`{|}~",
                "a\\!\\\"\\#\\$%\\&\\'\\(\\)\\*\\,\\:\\;\\<\\=\\>\\?\\[\\]\\^\\`\\{\\|\\}\\~",
            ),
            ("é", "é"),
        ];
        for (given, expected) in cases {
            let mut out = Vec::new();
            name(&mut out, given);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
