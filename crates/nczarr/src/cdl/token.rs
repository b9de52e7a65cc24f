//! The words of CDL.

use super::error::{CdlError, Position, Rule};
use super::text::is_plain;

/// The longest name or path. netCDF allows 256 bytes for a name.
const LONGEST_WORD: usize = 64 * 1024;

/// A word of the language.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name, path or word of the language; without the backslashes of its escapes.
    Word(String),
    /// A number as it is written, its sign and suffix included; also `-Infinity`.
    Number(String),
    /// A text between quotes.
    Text(Vec<u8>),
    /// A byte between single quotes.
    Char(u8),
    /// A sign of punctuation.
    Sign(u8),
    /// The end of the text.
    End,
}

impl Token {
    /// Returns how a message calls it.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Word(word) | Self::Number(word) => shortened(word),
            Self::Text(text) => format!("{:?}", shortened(&String::from_utf8_lossy(text))),
            Self::Char(byte) => format!("'{}'", byte.escape_ascii()),
            Self::Sign(sign) => char::from(*sign).to_string(),
            Self::End => String::from("the end of the text"),
        }
    }
}

/// Returns the beginning of a text, for messages.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Cuts a text into words.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
    line_start: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        Self {
            text,
            at: 0,
            line: 1,
            line_start: 0,
        }
    }

    /// Returns whether the byte at hand, directly behind the last word, is a blank or the end of a line.
    pub(super) fn is_at_blank(&self) -> bool {
        self.peek(0).is_none_or(|byte| byte.is_ascii_whitespace())
    }

    /// Returns the next word and where it begins.
    pub(super) fn next(&mut self) -> Result<(Token, Position), CdlError> {
        self.skip_blanks()?;
        let position = self.position();
        let Some(byte) = self.peek(0) else {
            return Ok((Token::End, position));
        };
        let token = match byte {
            b'"' => Token::Text(self.text(position)?),
            b'\'' => Token::Char(self.char(position)?),
            b'0'..=b'9' | b'.' | b'+' | b'-' => Token::Number(self.number()),
            b'\\' | b'/' => Token::Word(self.word(position)?),
            _ if is_plain(byte) => Token::Word(self.word(position)?),
            _ => {
                self.at += 1;
                Token::Sign(byte)
            }
        };
        Ok((token, position))
    }

    fn position(&self) -> Position {
        Position {
            line: self.line,
            column: self.at - self.line_start + 1,
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn advance(&mut self) -> Option<u8> {
        let byte = self.peek(0)?;
        self.at += 1;
        if byte == b'\n' {
            self.line += 1;
            self.line_start = self.at;
        }
        Some(byte)
    }

    fn skip_blanks(&mut self) -> Result<(), CdlError> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(byte), _) if byte.is_ascii_whitespace() || byte == 0x0b => {
                    self.advance();
                }
                (Some(b'/'), Some(b'/')) => {
                    while self.peek(0).is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                (Some(b'/'), Some(b'*')) => {
                    let position = self.position();
                    self.at += 2;
                    while !self.text[self.at..].starts_with(b"*/") {
                        let endless = error(
                            position,
                            Rule::Endless {
                                what: "the comment",
                            },
                        );
                        self.advance().ok_or(endless)?;
                    }
                    self.at += 2;
                }
                _ => return Ok(()),
            }
        }
    }

    fn is_at_comment(&self) -> bool {
        self.peek(0) == Some(b'/') && matches!(self.peek(1), Some(b'/' | b'*'))
    }

    fn word(&mut self, position: Position) -> Result<String, CdlError> {
        let mut word = Vec::new();
        while let Some(byte) = self.peek(0) {
            if self.is_at_comment() {
                break;
            }
            if byte == b'\\' {
                match self.peek(1) {
                    // No name has control characters: printed, such a one would be another name.
                    Some(b'/' | 0..=0x1f | 0x7f) | None => {
                        let escape = String::from("\\ of a name");
                        return Err(error(self.position(), Rule::Escape { escape }));
                    }
                    Some(escaped) => word.push(escaped),
                }
                self.at += 2;
            } else if is_plain(byte) {
                word.push(byte);
                self.at += 1;
            } else {
                break;
            }
            if word.len() > LONGEST_WORD {
                let limit = LONGEST_WORD as u64;
                let what = "a name or path is too long";
                return Err(error(position, Rule::TooLarge { what, limit }));
            }
        }
        String::from_utf8(word).map_err(|wrong| {
            let name = shortened(&String::from_utf8_lossy(wrong.as_bytes()));
            error(position, Rule::Name { name })
        })
    }

    fn number(&mut self) -> String {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            let before = self.text[self.at - 1];
            let is_exponent = matches!(before, b'e' | b'E') && matches!(byte, b'+' | b'-');
            if byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_' || is_exponent {
                self.at += 1;
            } else {
                break;
            }
        }
        String::from_utf8_lossy(&self.text[start..self.at]).into_owned()
    }

    fn text(&mut self, position: Position) -> Result<Vec<u8>, CdlError> {
        self.advance();
        let mut text = Vec::new();
        loop {
            let endless = || error(position, Rule::Endless { what: "the text" });
            match self.peek(0).ok_or_else(endless)? {
                b'"' => {
                    self.advance();
                    return Ok(text);
                }
                b'\\' => text.push(self.escape()?),
                byte => {
                    self.advance();
                    text.push(byte);
                }
            }
        }
    }

    fn char(&mut self, position: Position) -> Result<u8, CdlError> {
        self.advance();
        let what = "the char constant, of one byte or escape,";
        let endless = || error(position, Rule::Endless { what });
        let byte = match self.peek(0).ok_or_else(endless)? {
            b'\\' => self.escape()?,
            b'\'' => return Err(endless()),
            byte => {
                self.advance();
                byte
            }
        };
        if self.advance() == Some(b'\'') {
            Ok(byte)
        } else {
            Err(endless())
        }
    }

    /// Reads a backslash and what follows it.
    fn escape(&mut self) -> Result<u8, CdlError> {
        let position = self.position();
        let start = self.at;
        self.advance();
        let wrong = |end: usize, this: &Self| {
            let escape = &this.text[start..end.min(this.text.len())];
            let escape = String::from_utf8_lossy(escape).into_owned();
            error(position, Rule::Escape { escape })
        };
        let Some(byte) = self.advance() else {
            return Err(wrong(self.at, self));
        };
        Ok(match byte {
            b'a' => 0x07,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'?' => 0x7f,
            b'x' | b'X' => {
                let digits = self.digits(16, 2);
                u8::from_str_radix(&digits, 16).map_err(|_| wrong(self.at + 1, self))?
            }
            b'0'..=b'7' => {
                self.at -= 1;
                let digits = self.digits(8, 3);
                u8::from_str_radix(&digits, 8).map_err(|_| wrong(self.at, self))?
            }
            other => other,
        })
    }

    fn digits(&mut self, radix: u32, most: usize) -> String {
        let mut digits = String::new();
        while let Some(byte) = self.peek(0)
            && digits.len() < most
            && char::from(byte).is_digit(radix)
        {
            digits.push(char::from(byte));
            self.at += 1;
        }
        digits
    }
}

/// Returns the error that a rule is broken at a place.
pub(super) fn error(position: Position, rule: Rule) -> CdlError {
    CdlError { position, rule }
}
