//! From keys to the names that file systems have for them, and back: pure functions, for every platform on every
//! platform.

use crate::{KeyError, TreeKey};

/// The beginning of the names of temporary files, which lie in the directory of the value that they become. No key has
/// such a segment.
pub const TEMPORARY: &str = ".icefield-tmp-";

/// Longest segment in bytes (POSIX) or UTF-16 units (Windows).
const MAX_SEGMENT: usize = 255;
/// Windows paths of this many UTF-16 units and more need the long form.
const WINDOWS_PATH: usize = 260;

/// The reason why a file system cannot have a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// A segment is too long.
    #[error("a segment of {length} bytes or units is longer than {MAX_SEGMENT}: {start:?}…")]
    TooLong {
        /// The first characters of the segment.
        start: String,
        /// Its length, in bytes on POSIX and UTF-16 units on Windows.
        length: usize,
    },
    /// A name that is taken by this store's own temporary files.
    #[error("segment {segment:?} looks like a temporary file of this store")]
    Temporary {
        /// The segment.
        segment: String,
    },
    /// A character that has another meaning there.
    #[error("segment {segment:?} has the character {character:?}, which no name can have there")]
    Character {
        /// The segment.
        segment: String,
        /// The character.
        character: char,
    },
    /// A name that means a device on Windows.
    #[error("segment {segment:?} is the name of a device")]
    Reserved {
        /// The segment.
        segment: String,
    },
    /// A last character that Windows drops.
    #[error("segment {segment:?} ends in a dot or a space, which would be dropped")]
    TrailingDotOrSpace {
        /// The segment.
        segment: String,
    },
    /// A path that does not lie below the base.
    #[error("{path:?} does not lie below {base:?}")]
    NotBelow {
        /// The path.
        path: String,
        /// The base.
        base: String,
    },
    /// A path that is no key, seen from the base.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// The rules for names of a family of platforms.
///
/// ```
/// use icefield_zarr_fs::{Naming, TreeKey};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let key = TreeKey::parse("con.txt/c/0")?;
/// assert_eq!(Naming::Posix.path("/data", &key)?, "/data/con.txt/c/0");
/// assert!(Naming::Windows.check(&key).is_err(), "a device on Windows");
/// assert_eq!(Naming::Posix.file_uri("/my data")?, "file:///my%20data");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Naming {
    /// `/` between segments; every other character is a letter like any.
    Posix,
    /// `\` between segments; some characters and names are taken.
    Windows,
}

impl Naming {
    /// Returns the rules of the platform that this was built for.
    pub const fn native() -> Self {
        match cfg!(windows) {
            true => Self::Windows,
            false => Self::Posix,
        }
    }

    /// Checks that a file of each segment's name can exist.
    ///
    /// # Errors
    /// The [`NameError`] that names the broken rule.
    pub fn check(self, key: &TreeKey) -> Result<(), NameError> {
        key.segments().try_for_each(|segment| self.segment(segment))
    }

    fn segment(self, segment: &str) -> Result<(), NameError> {
        let owned = || segment.to_owned();
        // In any case: where case is ignored it would be taken for one all the same.
        let start = segment.as_bytes().get(..TEMPORARY.len());
        if start.is_some_and(|start| start.eq_ignore_ascii_case(TEMPORARY.as_bytes())) {
            return Err(NameError::Temporary { segment: owned() });
        }
        let length = match self {
            Self::Posix => segment.len(),
            Self::Windows => segment.encode_utf16().count(),
        };
        if length > MAX_SEGMENT {
            return Err(NameError::TooLong {
                start: segment.chars().take(40).collect(),
                length,
            });
        }
        if self == Self::Posix {
            return Ok(());
        }
        let taken = |c: char| c.is_control() && c < ' ' || "<>:\"\\|?*".contains(c);
        if let Some(character) = segment.chars().find(|c| taken(*c)) {
            return Err(NameError::Character {
                segment: owned(),
                character,
            });
        }
        if segment.ends_with(['.', ' ']) {
            return Err(NameError::TrailingDotOrSpace { segment: owned() });
        }
        // `con.txt` is the console as well.
        let stem = segment.split('.').next().unwrap_or_default().trim_end();
        match is_device(stem) {
            true => Err(NameError::Reserved { segment: owned() }),
            false => Ok(()),
        }
    }

    /// Returns the path of a key below a base; on Windows in the long form where it must be.
    ///
    /// # Errors
    /// As [`Naming::check`].
    pub fn path(self, base: &str, key: &TreeKey) -> Result<String, NameError> {
        self.check(key)?;
        match self {
            Self::Posix => Ok(format!("{}/{key}", base.strip_suffix('/').unwrap_or(base))),
            Self::Windows => {
                let base = base.strip_suffix(['\\', '/']).unwrap_or(base);
                let path = format!("{base}\\{}", key.as_str().replace('/', "\\"));
                Ok(match path.encode_utf16().count() < WINDOWS_PATH {
                    true => path,
                    false => long_form(&path).unwrap_or(path),
                })
            }
        }
    }

    /// Returns the key of a path below a base.
    ///
    /// # Errors
    /// [`NameError::NotBelow`], or the rule that makes it no key.
    pub fn key(self, base: &str, path: &str) -> Result<TreeKey, NameError> {
        let not_below = || NameError::NotBelow {
            path: path.to_owned(),
            base: base.to_owned(),
        };
        let key = match self {
            Self::Posix => {
                let base = base.strip_suffix('/').unwrap_or(base);
                let rest = path.strip_prefix(base).and_then(|r| r.strip_prefix('/'));
                TreeKey::parse(rest.ok_or_else(not_below)?)?
            }
            Self::Windows => {
                let (base, path) = (short_form(base), short_form(path));
                let base = base.strip_suffix('/').unwrap_or(&base);
                let rest = path.strip_prefix(base).and_then(|r| r.strip_prefix('/'));
                TreeKey::parse(rest.ok_or_else(not_below)?)?
            }
        };
        self.check(&key)?;
        Ok(key)
    }
}

/// `\\?\` lifts the limit on the length of absolute paths.
fn long_form(path: &str) -> Option<String> {
    if path.starts_with(r"\\?\") {
        return None;
    }
    if let Some(share) = path.strip_prefix(r"\\") {
        return Some(format!(r"\\?\UNC\{share}"));
    }
    let bytes = path.as_bytes();
    let has_drive = bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && &bytes[1..3] == b":\\";
    // In the long form nothing is translated any more.
    has_drive.then(|| format!(r"\\?\{}", path.replace('/', "\\")))
}

/// The same without `\\?\`, and with slashes.
fn short_form(path: &str) -> String {
    let short = match path.strip_prefix(r"\\?\UNC\") {
        Some(share) => format!(r"\\{share}"),
        None => path.strip_prefix(r"\\?\").unwrap_or(path).to_owned(),
    };
    short.replace('\\', "/")
}

fn is_device(stem: &str) -> bool {
    let stem = stem.to_ascii_uppercase();
    if matches!(&*stem, "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$") {
        return true;
    }
    let number = stem.strip_prefix("COM").or(stem.strip_prefix("LPT"));
    matches!(
        number,
        Some("0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³")
    )
}
