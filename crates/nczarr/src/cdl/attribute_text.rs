//! Attributes as text.

use crate::Values;

use super::number::{Digits, attribute_number};
use super::text::{name, quote, without_padding};

/// Writes an attribute as a line: `indent` before it, the variable's name (empty for a group's attribute) and its own.
pub(super) fn attribute(
    out: &mut Vec<u8>,
    indent: &str,
    (variable, attribute): (&str, &str),
    values: &Values,
    digits: Digits,
) {
    out.extend_from_slice(indent.as_bytes());
    out.extend_from_slice(b"\t\t");
    if matches!(values, Values::String(_)) && !values.is_empty() {
        out.extend_from_slice(b"string ");
    }
    name(out, variable);
    out.push(b':');
    name(out, attribute);
    out.extend_from_slice(b" = ");
    match values {
        Values::Char(text) => quote(out, without_padding(text)),
        _ if values.is_empty() => out.extend_from_slice(b"\"\""),
        Values::String(texts) => {
            for (at, text) in texts.iter().enumerate() {
                separate(out, at);
                quote(out, text.as_bytes());
            }
        }
        numbers => {
            for at in 0..numbers.len() {
                separate(out, at);
                out.extend_from_slice(attribute_number(numbers, at, digits).as_bytes());
            }
        }
    }
    out.extend_from_slice(b" ;\n");
}

fn separate(out: &mut Vec<u8>, at: usize) {
    if at > 0 {
        out.extend_from_slice(b", ");
    }
}
