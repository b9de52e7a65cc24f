//! Versions: an ETag, and the id of the write where there is one.
//!
//! The ETag of a plain upload is a digest of its bytes, so that bytes that come back bring their ETag back. The
//! write id tells such states apart wherever the object's metadata is seen: by `get`, `head` and `put`, but not
//! in lists, and not by the store when it decides a condition.

use icefield_storage::Version;

const SEPARATOR: char = ';';

/// Returns the version of a state.
pub(crate) fn version(etag: &str, write_id: Option<&str>) -> Version {
    match write_id {
        Some(id) => Version::new(format!("{etag}{SEPARATOR}{id}")),
        None => Version::new(etag),
    }
}

/// Returns the ETag of a version, byte for byte.
pub(crate) fn etag(version: &Version) -> &str {
    split(version).0
}

/// Returns the ETag and the write id of a version.
pub(crate) fn split(version: &Version) -> (&str, Option<&str>) {
    let text = version.as_str();
    match text.rsplit_once(SEPARATOR) {
        // Write ids are letters and digits; an ETag ends with a quote.
        Some((etag, id)) if id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => (etag, Some(id)),
        _ => (text, None),
    }
}

/// Returns whether an object in this state meets a condition on `wanted`, as far as both are known.
pub(crate) fn agree(wanted: &Version, found: &Version) -> bool {
    let (wanted, found) = (split(wanted), split(found));
    wanted.0 == found.0 && (wanted.1 == found.1 || wanted.1.is_none() || found.1.is_none())
}

/// Returns an ETag as a header can have it; `None` for what is none, and no state of any object.
pub(crate) fn as_header(etag: &str) -> Option<&str> {
    let quoted = etag.strip_prefix("W/").unwrap_or(etag);
    let inner = quoted.strip_prefix('"')?.strip_suffix('"')?;
    let is_plain = |byte: u8| byte == b'!' || (b'#'..=b'~').contains(&byte);
    inner.bytes().all(is_plain).then_some(etag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etags_are_opaque() {
        for etag in ["\"abc\"", "\"abc-12\"", "W/\"a;b\"", "\"x;y\"", "unquoted"] {
            let plain = version(etag, None);
            assert_eq!(split(&plain).0, etag);
            let stamped = version(etag, Some("01AZ"));
            assert_eq!(split(&stamped), (etag, Some("01AZ")));
            assert!(agree(&plain, &stamped) && agree(&stamped, &plain));
            assert!(!agree(&stamped, &version(etag, Some("02AZ"))));
        }
        assert!(!agree(&version("\"a\"", None), &version("\"b\"", None)));
        for none in ["", "*", "\"", "x", "\"a\"b\"", "\"a b\"", "\"é\""] {
            assert_eq!(as_header(none), None, "{none}");
        }
    }
}
