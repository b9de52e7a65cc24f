//! Text of a repository, made safe for a terminal: names, messages and locations come from other writers, and must not move
//! the cursor, set the title or reverse a line.

use std::borrow::Cow;

/// Returns the text with every character escaped that a terminal would interpret instead of showing it.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match char {
            '\n' | '\r' | '\t' => safe.extend(char.escape_debug()),
            _ if is_unsafe(char) => safe.extend(char.escape_unicode()),
            _ => safe.push(char),
        }
    }
    Cow::Owned(safe)
}

/// Returns the first line of a message, with a mark if more lines follow.
pub(crate) fn first_line(message: &str) -> String {
    let mut lines = message.lines();
    let first = printable(lines.next().unwrap_or_default()).into_owned();
    match lines.any(|line| !line.trim().is_empty()) {
        true => format!("{first} […]"),
        false => first,
    }
}

/// Returns whether a character is a control character, a line or paragraph separator, invisible, or changes the direction of
/// text.
fn is_unsafe(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{61C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{2069}'
            | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h103_terminals_are_not_written_to_by_names() {
        assert_eq!(printable("żółw a/b é~%#"), "żółw a/b é~%#");
        assert_eq!(printable("a\u{1b}[31mred\u{7}"), "a\\u{1b}[31mred\\u{7}");
        assert_eq!(printable("a\nb\tc\r\0"), "a\\nb\\tc\\r\\u{0}");
        assert_eq!(printable("\u{202e}gpj.exe"), "\\u{202e}gpj.exe");
        assert_eq!(printable("\u{9b}31m"), "\\u{9b}31m");
    }

    #[test]
    fn a_message_is_one_line() {
        assert_eq!(first_line("one"), "one");
        assert_eq!(first_line("one\n\ntwo"), "one […]");
        assert_eq!(first_line("one\n"), "one");
        assert_eq!(first_line(""), "");
        assert_eq!(first_line("one\r\n\u{1b}[2J"), "one […]");
    }
}
