//! The lines of text above a picture.

/// The most lines of a subtitle.
pub(crate) const MOST_SUBTITLES: usize = 3;

/// Breaks a subtitle into lines of so many letters at most: after a comma, or within a part that is longer than a line. The last
/// line is cut if there are too many.
pub(super) fn lines(text: &str, most: usize) -> Vec<String> {
    let most = most.max(1);
    let mut lines: Vec<String> = Vec::new();
    for part in text.split_inclusive(", ") {
        let letters = |text: &str| text.trim_end().chars().count();
        match lines.last_mut() {
            Some(line) if line.chars().count() + letters(part) <= most => line.push_str(part),
            _ => {
                let part: Vec<char> = part.chars().collect();
                lines.extend(
                    part.chunks(most)
                        .map(|part| part.iter().collect::<String>()),
                );
            }
        }
    }
    if lines.len() > MOST_SUBTITLES {
        let rest = lines.split_off(MOST_SUBTITLES - 1).concat();
        lines.push(rest);
    }
    let shown = lines.iter().map(|line| cut(line.trim_end(), most));
    shown.filter(|line| !line.is_empty()).collect()
}

/// Returns a text with so many letters at most.
pub(super) fn cut(text: &str, most: usize) -> String {
    // Two code points of a file that XML does not take.
    let shown = text.chars().map(|letter| match letter {
        '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        letter => letter,
    });
    match text.chars().count() > most {
        true => shown
            .take(most.saturating_sub(3))
            .chain("...".chars())
            .take(most)
            .collect(),
        false => shown.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subtitles_break_after_commas() {
        assert_eq!(lines("main", 20), ["main"]);
        assert_eq!(lines("main, t = 1, z = 2", 18), ["main, t = 1, z = 2"]);
        assert_eq!(lines("main, t = 1, z = 2", 17), ["main, t = 1,", "z = 2"]);
        // A comma ends a full line; the space behind it has no place.
        assert_eq!(lines("main, t = 1, z = 2", 12), ["main, t = 1,", "z = 2"]);
        assert_eq!(lines("", 20), [""; 0]);
    }

    #[test]
    fn long_parts_break_and_long_subtitles_are_cut() {
        assert_eq!(lines("abcdefgh, i", 5), ["abcde", "fgh,", "i"]);
        assert_eq!(lines("abcdefghijklmnopq", 5), ["abcde", "fghij", "kl..."]);
        assert_eq!(lines("abcd", 1), ["a", "b", "."]);
        assert_eq!(cut("a\u{ffff}", 2), "a\u{fffd}");
    }
}
