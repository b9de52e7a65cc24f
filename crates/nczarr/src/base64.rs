//! Base64 with padding, for the fill values of chars and strings.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub(crate) fn encoded(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Returns the bytes that a text stands for; `None` if it is no base64.
pub(crate) fn decoded(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}
