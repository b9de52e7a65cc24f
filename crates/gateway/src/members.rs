//! The members of a JSON object as they are spelt, without reading their values.
//!
//! Documents of other programs may hold `NaN`, which is no JSON, and numbers that no float can hold. A document that is joined to
//! other documents stays as its writer spelt it.

/// The members of an object: the name as it is spelt, quotes included, and the value.
pub(crate) type Members<'a> = Vec<(&'a str, &'a str)>;

/// Splits a document into the members of its object; `None` if it is no object. Values are not checked beyond their brackets
/// and strings.
pub(crate) fn members(document: &[u8]) -> Option<Members<'_>> {
    let text = std::str::from_utf8(document).ok()?.trim();
    let inside = text.strip_prefix('{')?.strip_suffix('}')?;
    let mut members = Vec::new();
    if inside.trim().is_empty() {
        return Some(members);
    }
    for member in split(inside, b',')? {
        let [name, value] = split(member, b':')?.try_into().ok()?;
        let (name, value) = (name.trim(), value.trim());
        if value.is_empty() || name.len() < 2 || !name.starts_with('"') {
            return None;
        }
        members.push((name, value));
    }
    Some(members)
}

/// Splits a text at a separator outside of strings and brackets; at a colon only once.
fn split(text: &str, separator: u8) -> Option<Vec<&str>> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0_usize);
    let (mut in_string, mut is_escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            byte if byte == separator && depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
                if separator == b':' {
                    break;
                }
            }
            _ => {}
        }
    }
    if separator == b':' || (depth == 0 && !in_string) {
        parts.push(&text[begin..]);
        return Some(parts);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_cut_out_as_they_are() {
        let document = br#" { "a" : {"x": [1, "},\""], "y": NaN}, "b\"c:": 1e400 , "": "\\" }"#;
        assert_eq!(
            members(document).unwrap(),
            [
                ("\"a\"", r#"{"x": [1, "},\""], "y": NaN}"#),
                (r#""b\"c:""#, "1e400"),
                ("\"\"", r#""\\""#),
            ]
        );
        assert_eq!(members(b"{ }").unwrap(), []);
    }

    #[test]
    fn what_is_no_object_has_no_members() {
        for text in [
            "",
            "[1]",
            "{",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{\"a\":\"x}",
            "{\"a\":[}",
        ] {
            assert_eq!(members(text.as_bytes()), None, "{text}");
        }
        assert_eq!(members(b"{\"a\": \"\xff\"}"), None);
    }
}
