//! Where a repository is, in the words of a user.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where a repository is: a path, or a URL.
///
/// - Text without a scheme is a path: `data/ocean`, `/data/ocean`, `./odd:name`.
/// - `file:///data/my%20ocean` is a file URL (RFC 8089), percent-decoded; `file://localhost/data` and `file:/data` mean
///   the same. Another host is refused, and so are `%2F` and `%00` within a name, and a `#` that is not encoded. It may
///   end with an option, `?locks=trusted`, by which the caller vouches for the locks of a file system that is not known
///   to have any that reach other machines (`?locks=detect` is what holds without it).
/// - `memory:` is a store in memory: a new, empty one each time it is opened.
/// - Any other `scheme:…` goes to the opener that is registered for that scheme with [`Schemes`](crate::Schemes).
///
/// A scheme has at least two letters, so that a drive letter is no scheme.
///
/// ```
/// use icefield::Location;
///
/// # fn main() -> Result<(), icefield::LocationError> {
/// let path = Location::parse("file:///data/my%20ocean")?;
/// assert_eq!(path.path().unwrap().to_str(), Some("/data/my ocean"));
///
/// let bucket = Location::parse("s3://bucket/ocean?region=eu-west-1")?;
/// assert_eq!(bucket.scheme(), "s3");
/// assert!(bucket.path().is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    text: String,
    place: LocationTarget,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum LocationTarget {
    Path { path: PathBuf, trusts_locks: bool },
    Url { scheme: String },
}

/// The reason why a text is no location, or why no store can be opened there. Each message contains the correction.
/// Options of URLs are left out, because they may contain secrets by mistake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LocationError {
    /// The text is empty.
    #[error("the location is empty: give a path or a URL")]
    Empty,
    /// A file URL that names another computer.
    #[error(
        "{url:?} names the host {host:?}: only files of this computer can be opened, as file:///path"
    )]
    Host {
        /// The URL.
        url: String,
        /// The host.
        host: String,
    },
    /// A file URL without an absolute path.
    #[error("{url:?} has no absolute path: write file:///path, or the path alone")]
    NotAbsolute {
        /// The URL.
        url: String,
    },
    /// A file URL that breaks another rule.
    #[error("{url:?} {problem}")]
    Malformed {
        /// The URL.
        url: String,
        /// The rule.
        problem: &'static str,
    },
    /// A URL that breaks a rule of its scheme.
    #[error("{url:?} {problem}")]
    Rule {
        /// The URL, without its options.
        url: String,
        /// The rule.
        problem: String,
    },
    /// A redirect that leads where none may lead.
    #[error("{url} points to {target}: {problem}")]
    Redirect {
        /// The URL that was asked, without its options.
        url: String,
        /// Where it points, without its options.
        target: String,
        /// The rule.
        problem: String,
    },
    /// The store in memory has no parts.
    #[error("{url:?} names a part of a store in memory, which has none: write `memory:`")]
    Memory {
        /// The URL.
        url: String,
    },
    /// There is a file, where a directory is needed.
    #[error("{} is a file; a repository is a directory", .path.display())]
    NotADirectory {
        /// The file.
        path: PathBuf,
    },
    /// The scheme is not registered.
    #[error(
        "no backend is registered for `{scheme}:` locations: {hint}; for a path with a colon in it, write ./{url}"
    )]
    UnknownScheme {
        /// The scheme.
        scheme: String,
        /// The URL, without its options.
        url: String,
        /// The feature of this crate that would bring it, or the advice to register one.
        hint: String,
    },
}

impl Location {
    /// Reads a location. Nothing is opened, and a scheme need not be known:
    /// [`Schemes::storage`](crate::Schemes::storage) checks that.
    ///
    /// # Errors
    /// The rule that the text breaks, as [`LocationError`].
    pub fn parse(text: &str) -> Result<Self, LocationError> {
        if text.is_empty() {
            return Err(LocationError::Empty);
        }
        let place = match scheme_of(text) {
            None => LocationTarget::Path {
                path: PathBuf::from(text),
                trusts_locks: false,
            },
            Some(scheme) if scheme == "file" => {
                let (url, options) = text.split_once('?').unwrap_or((text, ""));
                LocationTarget::Path {
                    path: file_path(url)?,
                    trusts_locks: trusts_locks(options).map_err(|problem| {
                        LocationError::Malformed {
                            url: text.to_owned(),
                            problem,
                        }
                    })?,
                }
            }
            Some(scheme) => {
                let rest = &text[scheme.len() + 1..];
                if scheme == "memory" && !matches!(rest, "" | "//" | "///") {
                    return Err(LocationError::Memory {
                        url: text.to_owned(),
                    });
                }
                LocationTarget::Url { scheme }
            }
        };
        Ok(Self {
            text: text.to_owned(),
            place,
        })
    }

    /// Returns the location of a path, which may contain colons and any other characters.
    pub fn of_path(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self {
            text: path.display().to_string(),
            place: LocationTarget::Path {
                path,
                trusts_locks: false,
            },
        }
    }

    /// Returns the scheme in lower case; `file` for a path.
    pub fn scheme(&self) -> &str {
        match &self.place {
            LocationTarget::Path { .. } => "file",
            LocationTarget::Url { scheme } => scheme,
        }
    }

    /// Returns the decoded path of a location in the file system; `None` for a URL of another scheme.
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            LocationTarget::Path { path, .. } => Some(path),
            LocationTarget::Url { .. } => None,
        }
    }

    /// Returns whether the location vouches for the locks of its file system: `file:///path?locks=trusted`. False for
    /// other schemes.
    pub fn trusts_locks(&self) -> bool {
        matches!(
            self.place,
            LocationTarget::Path {
                trusts_locks: true,
                ..
            }
        )
    }

    /// Returns the text as it was given, with its options. Don't log it for schemes whose options may be secret.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the canonical URL: the percent-encoded `file:` URL of an absolute path that is valid UTF-8, or the URL
    /// itself. `None` for a relative path, and for one that is not UTF-8.
    pub fn to_url(&self) -> Option<String> {
        match &self.place {
            LocationTarget::Url { .. } => Some(self.text.clone()),
            LocationTarget::Path { path, trusts_locks } if path.is_absolute() => {
                let url = path.to_str().map(file_url)?;
                Some(match trusts_locks {
                    true => format!("{url}?locks=trusted"),
                    false => url,
                })
            }
            LocationTarget::Path { .. } => None,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Location {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Self, LocationError> {
        Self::parse(text)
    }
}

/// The scheme of a URL in lower case (RFC 3986: a letter, then letters, digits, `+`, `-`, `.`).
pub(crate) fn scheme_of(text: &str) -> Option<String> {
    let (scheme, _) = text.split_once(':')?;
    let mut bytes = scheme.bytes();
    let valid = scheme.len() >= 2
        && bytes
            .next()
            .is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    valid.then(|| scheme.to_ascii_lowercase())
}

/// Whether the options of a file URL vouch for locks.
fn trusts_locks(options: &str) -> Result<bool, &'static str> {
    match options {
        "" | "locks=detect" => Ok(false),
        "locks=trusted" => Ok(true),
        _ if options.starts_with("locks=") => {
            Err("says `locks`, and neither `trusted` nor `detect`")
        }
        _ => Err("has a `?`: write %3F for one in a name; the one option is `locks=trusted`"),
    }
}

/// The path of a file URL.
fn file_path(url: &str) -> Result<PathBuf, LocationError> {
    let rest = &url["file:".len()..];
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err(LocationError::Host {
                    url: url.to_owned(),
                    host: host.to_owned(),
                });
            }
            path
        }
    };
    if !path.starts_with('/') {
        return Err(LocationError::NotAbsolute {
            url: url.to_owned(),
        });
    }
    decode(path)
        .map(PathBuf::from)
        .map_err(|problem| LocationError::Malformed {
            url: url.to_owned(),
            problem,
        })
}

/// The part of a URL that can be shown, whatever it holds: no options, and no name and password.
pub(crate) fn without_options(url: &str) -> &str {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    match url[..end].contains('@') {
        true => url.split_inclusive("://").next().unwrap_or_default(),
        false => &url[..end],
    }
}

pub(crate) fn decode(path: &str) -> Result<String, &'static str> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'?' => return Err("has a `?`: write %3F for one in a name"),
            b'#' => return Err("has a `#`: write %23 for one in a name"),
            b'%' => match (rest.next().and_then(hex), rest.next().and_then(hex)) {
                (Some(high), Some(low)) => match high << 4 | low {
                    0 => return Err("has a %00, which no file name can hold"),
                    b'/' => return Err("has a %2F, which no file name can hold"),
                    byte => byte,
                },
                _ => return Err("has a `%` that is not followed by two hexadecimal digits"),
            },
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| "does not decode to UTF-8")
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

/// Encodes an absolute path as the canonical file URL.
pub(crate) fn file_url(path: &str) -> String {
    let mut url = String::from("file://");
    for byte in path.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte);
        match plain {
            true => url.push(char::from(byte)),
            false => url.push_str(&format!("%{byte:02X}")),
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> String {
        let location = Location::parse(text).expect(text);
        location
            .path()
            .expect(text)
            .to_str()
            .expect("UTF-8")
            .to_owned()
    }

    #[test]
    fn text_without_a_scheme_is_a_path() {
        for text in [
            "x", "/x/y", "../x", "./a:b", "c:x", "c:\\data", "a b", "1a:b", "a_b:c", ":x", "%20",
        ] {
            assert_eq!(path(text), text);
        }
    }

    #[test]
    fn file_urls_are_decoded() {
        for (url, expected) in [
            ("file:///p", "/p"),
            ("FILE:///p", "/p"),
            ("file://localhost/p", "/p"),
            ("file:/p/q", "/p/q"),
            ("file:///my%20data/%C5%BC%25%23%3f", "/my data/ż%#?"),
            ("file:///", "/"),
        ] {
            assert_eq!(path(url), expected);
        }
    }

    #[test]
    fn other_file_urls_are_refused() {
        let refused = |url: &str| Location::parse(url).expect_err(url);
        assert!(matches!(
            refused("file://server/share"),
            LocationError::Host { .. }
        ));
        for url in ["file:", "file://", "file:x", "file://localhost"] {
            assert!(
                matches!(refused(url), LocationError::NotAbsolute { .. }),
                "{url}"
            );
        }
        for url in [
            "file:///a%2Fb",
            "file:///a%2fb",
            "file:///a%00",
            "file:///a?b",
            "file:///a?locks",
            "file:///a?locks=",
            "file:///a?locks=Trusted",
            "file:///a?locks=trusted&locks=trusted",
            "file:///a?locks=trusted&x",
            "file:///a?locks=trusted#x",
            "file:///a#x?locks=trusted",
            "file:///a#b",
            "file:///%",
            "file:///%4",
            "file:///%zz",
            "file:///%ff",
        ] {
            assert!(
                matches!(refused(url), LocationError::Malformed { .. }),
                "{url}"
            );
        }
        assert_eq!(refused(""), LocationError::Empty);
        assert!(matches!(refused("memory:x"), LocationError::Memory { .. }));
    }

    #[test]
    fn canonical_urls_round_trip() {
        for text in ["/my data", "/ż%#?", "/a+b/c;d=e", "/"] {
            let url = Location::of_path(text).to_url().expect("absolute");
            assert_eq!(path(&url), text);
        }
        assert_eq!(
            Location::of_path("/my data").to_url().as_deref(),
            Some("file:///my%20data")
        );
        assert_eq!(Location::of_path("x").to_url(), None);
    }

    #[test]
    fn only_a_url_that_says_so_vouches_for_locks() {
        let said = Location::parse("file:/mnt/a%3Fb?locks=trusted").expect("a location");
        assert!(said.trusts_locks());
        assert_eq!(said.path(), Some(Path::new("/mnt/a?b")));
        let url = said.to_url().expect("absolute");
        assert_eq!(url, "file:///mnt/a%3Fb?locks=trusted");
        assert!(Location::parse(&url).expect("a location").trusts_locks());
        for text in [
            "file:///mnt/a",
            "file:///mnt/a?",
            "file:///mnt/a?locks=detect",
            "file:///mnt/a%3Flocks=trusted",
            "/mnt/a?locks=trusted",
            "s3://b/a?locks=trusted",
        ] {
            assert!(!Location::parse(text).expect(text).trusts_locks(), "{text}");
        }
        assert_eq!(path("/mnt/a?locks=trusted"), "/mnt/a?locks=trusted");
    }

    #[test]
    fn other_schemes_are_somebody_elses() {
        let location = Location::parse("S3://bucket/prefix?region=x#y").expect("a URL");
        assert_eq!((location.scheme(), location.path()), ("s3", None));
        assert_eq!(location.as_str(), "S3://bucket/prefix?region=x#y");
        assert_eq!(
            Location::parse("memory:").expect("a URL").scheme(),
            "memory"
        );
    }
}
