//! JSON as Python programs write it.

use serde_json::Value;

/// Tokens that are no JSON and that Python's writer makes of numbers.
const NOT_FINITE: [&str; 3] = ["NaN", "-Infinity", "Infinity"];

/// Parses a document that may contain `NaN` and infinities, which JSON lacks and netCDF-C writes; they become texts.
///
/// # Errors
/// The document is no JSON even so.
pub fn parse_json(document: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(document).or_else(|error| match quoted_json(document) {
        Some(document) => serde_json::from_slice(&document),
        None => Err(error),
    })
}

/// Returns the document with `NaN` and infinities in quotes; `None` if it has none.
pub fn quoted_json(document: &[u8]) -> Option<Vec<u8>> {
    let mut result = Vec::with_capacity(document.len());
    let (mut in_text, mut has_any) = (false, false);
    let mut rest = document;
    while let Some((first, after)) = rest.split_first() {
        if in_text {
            let length = if *first == b'\\' { 2 } else { 1 };
            let (taken, after) = rest.split_at(length.min(rest.len()));
            result.extend_from_slice(taken);
            in_text = *first != b'"';
            rest = after;
            continue;
        }
        let token = NOT_FINITE
            .iter()
            .find(|token| rest.starts_with(token.as_bytes()));
        if let Some(token) = token {
            has_any = true;
            result.push(b'"');
            result.extend_from_slice(token.as_bytes());
            result.push(b'"');
            rest = rest.get(token.len()..).unwrap_or_default();
            continue;
        }
        in_text = *first == b'"';
        result.push(*first);
        rest = after;
    }
    has_any.then_some(result)
}

/// Returns whether a document has whole numbers beyond 64 bits, which are read as the nearest floating-point numbers.
pub fn has_large_integers(document: &[u8]) -> bool {
    let mut in_text = false;
    let mut rest = document;
    while let Some((first, after)) = rest.split_first() {
        if in_text {
            let length = if *first == b'\\' { 2 } else { 1 };
            in_text = *first != b'"';
            rest = rest.get(length..).unwrap_or_default();
            continue;
        }
        in_text = *first == b'"';
        rest = after;
        if *first == b'-' || first.is_ascii_digit() {
            let is_part = |it: &&u8| it.is_ascii_digit() || b"+-.eE".contains(it);
            let length = after.iter().take_while(is_part).count();
            let (token, after) = document[document.len() - after.len() - 1..].split_at(length + 1);
            rest = after;
            let text = std::str::from_utf8(token).unwrap_or_default();
            let is_whole = !token.iter().any(|it| b".eE".contains(it));
            if is_whole && text.parse::<i64>().is_err() && text.parse::<u64>().is_err() {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_that_json_lacks_become_texts() {
        let document = br#"{"a":NaN,"b":[-Infinity, Infinity],"c":"\" NaN","NaN":-1}"#;
        let expected =
            json!({"a": "NaN", "b": ["-Infinity", "Infinity"], "c": "\" NaN", "NaN": -1});
        assert_eq!(parse_json(document).expect("valid"), expected);
        assert!(parse_json(b"{\"a\":nan}").is_err());
        assert!(parse_json(b"\"\\").is_err());
    }
    #[test]
    fn whole_numbers_beyond_64_bits_are_noticed() {
        for document in [
            "[18446744073709551616]",
            r#"{"a\"": -9223372036854775809}"#,
            "123456789012345678901234567890",
        ] {
            assert!(has_large_integers(document.as_bytes()), "{document}");
        }
        for document in [
            "[18446744073709551615, -9223372036854775808, 1e30, 0.12345678901234567890123]",
            r#"{"123456789012345678901234567890": "123456789012345678901234567890\\"}"#,
            "",
            "-",
        ] {
            assert!(
                !has_large_integers(document.as_bytes()) || document == "-",
                "{document}"
            );
        }
    }
}
