//! Canonical `file:` URIs of directories (RFC 8089), printed and parsed.
//!
//! Other programs do not agree on them: some take percent signs literally. Give *paths* to those.

use std::fmt::Write;

use crate::Naming;

/// The characters that RFC 3986 lets stand in a segment beside letters and digits (`pchar`), and the slash between segments.
const PLAIN: &[u8] = b"/-._~!$&'()*+,;=:@";

/// The reason why a text names no directory of this machine, or a path has no URI.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UriError {
    /// No path at all.
    #[error("{text:?} names no path")]
    Empty {
        /// The text.
        text: String,
    },
    /// Another scheme.
    #[error("{text:?} has the scheme {scheme:?}: only `file:` names a directory")]
    Scheme {
        /// The text.
        text: String,
        /// The scheme.
        scheme: String,
    },
    /// A URI with a relative path, or a relative path that was to become a URI.
    #[error("{text:?} is relative: a `file:` URI has an absolute path")]
    Relative {
        /// The text.
        text: String,
    },
    /// A file of another machine.
    #[error("{text:?} names a file of the host {host:?}: only this machine's can be opened")]
    Host {
        /// The text.
        text: String,
        /// The host.
        host: String,
    },
    /// `?` or `#`.
    #[error("{text:?} has a query or fragment: in a name, write `?` as %3F and `#` as %23")]
    QueryOrFragment {
        /// The text.
        text: String,
    },
    /// A percent sign that encodes nothing, or bytes that are not UTF-8.
    #[error("{text:?} is not percent-encoded UTF-8: write `%` as %25")]
    Encoding {
        /// The text.
        text: String,
    },
    /// An encoded separator or NUL: no name can have it.
    #[error("{text:?} has the character {character:?} in a name, encoded")]
    Character {
        /// The text.
        text: String,
        /// The character.
        character: char,
    },
}

impl Naming {
    /// Returns the canonical URI of an absolute path.
    ///
    /// # Errors
    /// [`UriError::Relative`].
    pub fn file_uri(self, path: &str) -> Result<String, UriError> {
        let relative = || UriError::Relative {
            text: path.to_owned(),
        };
        if self == Self::Posix {
            return match path.starts_with('/') {
                true => Ok(format!("file://{}", encode(path))),
                false => Err(relative()),
            };
        }
        let slashes = path.replace('\\', "/");
        if let Some(share) = slashes.strip_prefix("//") {
            return Ok(format!("file://{}", encode(share)));
        }
        match is_drive(&slashes, ':') {
            true => Ok(format!("file:///{}", encode(&slashes))),
            false => Err(relative()),
        }
    }

    /// Returns the path that a text names: a `file:` URI is decoded, text without a scheme is a path as it is.
    ///
    /// # Errors
    /// The [`UriError`] that names the broken rule.
    pub fn path_of(self, text: &str) -> Result<String, UriError> {
        let owned = || text.to_owned();
        if text.is_empty() {
            return Err(UriError::Empty { text: owned() });
        }
        let Some(rest) = after_file_scheme(text) else {
            return match scheme(text) {
                Some(scheme) => Err(UriError::Scheme {
                    text: owned(),
                    scheme: scheme.to_owned(),
                }),
                None => Ok(owned()),
            };
        };
        if rest.contains(['?', '#']) {
            return Err(UriError::QueryOrFragment { text: owned() });
        }
        let (host, path) = match rest.strip_prefix("//") {
            Some(after) => {
                let at = after.find('/').unwrap_or(after.len());
                (&after[..at], &after[at..])
            }
            None => ("", rest),
        };
        let path = self.decoded(path, text)?;
        let is_local = host.is_empty() || host.eq_ignore_ascii_case("localhost");
        if path.is_empty() && is_local {
            return Err(UriError::Empty { text: owned() });
        }
        if !is_local {
            return match self {
                Self::Windows if !path.is_empty() => {
                    Ok(format!(r"\\{host}{}", path.replace('/', "\\")))
                }
                _ => Err(UriError::Host {
                    text: owned(),
                    host: host.to_owned(),
                }),
            };
        }
        match self {
            Self::Posix if path.starts_with('/') => Ok(path),
            Self::Windows => windows_path(&path).ok_or(UriError::Relative { text: owned() }),
            Self::Posix => Err(UriError::Relative { text: owned() }),
        }
    }

    /// Decodes once; what is encoded twice stays encoded once.
    fn decoded(self, path: &str, text: &str) -> Result<String, UriError> {
        let bad = || UriError::Encoding {
            text: text.to_owned(),
        };
        let mut decoded = Vec::with_capacity(path.len());
        let mut rest = path.bytes();
        while let Some(byte) = rest.next() {
            if byte != b'%' {
                decoded.push(byte);
                continue;
            }
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let (high, low) = digit().zip(digit()).ok_or_else(bad)?;
            let byte = u8::try_from(high << 4 | low).map_err(|_| bad())?;
            let is_taken = matches!(byte, b'/' | 0) || byte == b'\\' && self == Self::Windows;
            if is_taken {
                return Err(UriError::Character {
                    text: text.to_owned(),
                    character: char::from(byte),
                });
            }
            decoded.push(byte);
        }
        String::from_utf8(decoded).map_err(|_| bad())
    }
}

fn encode(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte.is_ascii_alphanumeric() || PLAIN.contains(&byte) {
            true => encoded.push(char::from(byte)),
            false => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

/// `/c:/x`, `/c|/x`, `c:/x` and `//server/share` as Windows writes them.
fn windows_path(path: &str) -> Option<String> {
    if path.starts_with("//") {
        return Some(path.replace('/', "\\"));
    }
    let path = path.strip_prefix('/').unwrap_or(path);
    if !is_drive(path, ':') && !is_drive(path, '|') {
        return None;
    }
    Some(format!("{}:{}", &path[..1], path[2..].replace('/', "\\")))
}

fn is_drive(path: &str, mark: char) -> bool {
    let mut characters = path.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && characters.next() == Some(mark)
        && matches!(characters.next(), None | Some('/'))
}

fn after_file_scheme(text: &str) -> Option<&str> {
    let start = text.get(..5)?;
    start.eq_ignore_ascii_case("file:").then(|| &text[5..])
}

/// The scheme of `s3://bucket`; `c:\x` has none.
fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once("://")?;
    let mut characters = scheme.chars();
    let begins = characters.next().is_some_and(|c| c.is_ascii_alphabetic());
    let goes_on = characters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    (begins && goes_on).then_some(scheme)
}
