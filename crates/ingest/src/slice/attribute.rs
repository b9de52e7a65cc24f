//! Attributes of arrays that are texts.

use serde_json::Value;

/// An attribute that is a text with something in it.
pub(super) fn text(document: &Value, name: &str) -> Option<String> {
    let text = document["attributes"][name].as_str()?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}
