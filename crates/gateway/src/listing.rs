//! Listings: pages of HTML whose links are the children of a place, as clients of Zarr read them.
//!
//! fsspec takes every address below the place for a child, wherever it stands in the page. So the page has no other text,
//! and links that lead elsewhere are absolute.

use std::fmt::Write;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The media type of listings.
pub(crate) const HTML: &str = "text/html; charset=utf-8";

/// All but the characters that RFC 3986 leaves unreserved: a colon would make a scheme of what stands before it.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Encodes a text as one segment of a path.
pub(crate) fn encoded(segment: &str) -> String {
    utf8_percent_encode(segment, ENCODED).to_string()
}

/// Spells a listing. `children` are names as they are, directories with a slash at their end; `elsewhere` are absolute links
/// with their texts.
pub(crate) fn page(children: &[String], elsewhere: &[(String, String)]) -> String {
    let mut html = String::from(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Index</title></head><body>\n",
    );
    for (link, text) in elsewhere {
        let _ = writeln!(html, "<p><a href=\"{link}\">{}</a></p>", escaped(text));
    }
    html.push_str("<ul>\n");
    for child in children {
        let (name, slash) = match child.strip_suffix('/') {
            Some(name) => (name, "/"),
            None => (child.as_str(), ""),
        };
        let _ = writeln!(
            html,
            "<li><a href=\"{}{slash}\">{}{slash}</a></li>",
            encoded(name),
            escaped(name)
        );
    }
    html.push_str("</ul>\n</body></html>\n");
    html
}

/// A text of HTML, with characters that cannot be seen made visible.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            character if is_invisible(character) => {
                let _ = write!(html, "[U+{:04X}]", u32::from(character));
            }
            character => html.push(character),
        }
    }
    html
}

/// Control characters, and those that change the direction of text.
fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_text_and_relative() {
        let names = ["<script>/", "a:b", "x\" y", "..%2f", "ü\u{202e}"].map(str::to_owned);
        let html = page(&names, &[]);
        for part in [
            "<a href=\"%3Cscript%3E/\">&lt;script&gt;/</a>",
            "<a href=\"a%3Ab\">a:b</a>",
            "<a href=\"x%22%20y\">x&quot; y</a>",
            "<a href=\"..%252f\">..%2f</a>",
            "<a href=\"%C3%BC%E2%80%AE\">ü[U+202E]</a>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
}
