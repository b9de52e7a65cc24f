//! A cache as people write it down: `PATH,SIZE`.

use std::env::VarError;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::CacheError;

/// The size in bytes of a cache if the text names none: 10 GiB.
pub const DEFAULT_BYTES: u64 = 10 << 30;

/// Where a cache is and how large it may become, as the command line, the environment and Python say it: `PATH` or
/// `PATH,SIZE`, with sizes such as `500MB`, `20GiB` or a number of bytes. Without one it is [`DEFAULT_BYTES`].
///
/// ```
/// use icefield_storage_cache::CacheSpec;
///
/// let spec: CacheSpec = "/var/cache/ocean,20GiB".parse()?;
/// assert_eq!(spec.path, std::path::Path::new("/var/cache/ocean"));
/// assert_eq!(spec.bytes, 20 << 30);
/// # Ok::<(), icefield_storage_cache::CacheError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSpec {
    /// The directory of the cache.
    pub path: PathBuf,
    /// The largest number of bytes of all entries.
    pub bytes: u64,
}

/// The variable that names a cache where nothing else does.
const VARIABLE: &str = "ICEFIELD_CACHE";

impl CacheSpec {
    /// Returns the cache that the environment names, in `ICEFIELD_CACHE`; `None` if it names none.
    ///
    /// # Errors
    /// [`CacheError::Spelling`]
    pub fn from_environment() -> Result<Option<Self>, CacheError> {
        match std::env::var(VARIABLE) {
            Ok(text) if !text.is_empty() => text.parse().map(Some),
            Ok(_) | Err(VarError::NotPresent) => Ok(None),
            Err(VarError::NotUnicode(text)) => Err(CacheError::Spelling {
                text: text.to_string_lossy().into_owned(),
                problem: "it is not UTF-8",
            }),
        }
    }
}

impl FromStr for CacheSpec {
    type Err = CacheError;

    fn from_str(text: &str) -> Result<Self, CacheError> {
        let refused = |problem| CacheError::Spelling {
            text: text.to_owned(),
            problem,
        };
        let (path, bytes) = match text.rsplit_once(',') {
            None => (text, DEFAULT_BYTES),
            Some((path, size)) => {
                let bytes = parse_size(size).ok_or_else(|| {
                    refused("what comes after the last comma is no size in bytes")
                })?;
                (path, bytes)
            }
        };
        if path.is_empty() {
            return Err(refused("it names no directory"));
        }
        Ok(Self {
            path: path.into(),
            bytes,
        })
    }
}

/// Reads a number of bytes: digits, then nothing, `B`, or a unit of 1000 (`kB`, `MB`, …) or of 1024 (`KiB`, `MiB`, …).
fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1000,
        "mb" => 1000_u64.pow(2),
        "gb" => 1000_u64.pow(3),
        "tb" => 1000_u64.pow(4),
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_a_path_and_a_size() {
        let read = |text: &str| text.parse::<CacheSpec>().expect(text);
        let spec = |path: &str, bytes| CacheSpec {
            path: path.into(),
            bytes,
        };
        assert_eq!(read("/c"), spec("/c", DEFAULT_BYTES));
        assert_eq!(read("c,1048576"), spec("c", 1 << 20));
        assert_eq!(read("/a,b,2 GiB"), spec("/a,b", 2 << 30));
        assert_eq!(read("/c,500MB"), spec("/c", 500_000_000));
        assert_eq!(read("/c,3g"), spec("/c", 3 << 30));
        for bad in [
            "",
            ",1G",
            "/c,",
            "/c,x",
            "/c,1Q",
            "/c,-1",
            "/a,b",
            "/c,99999999999T",
        ] {
            assert!(
                matches!(bad.parse::<CacheSpec>(), Err(CacheError::Spelling { .. })),
                "{bad:?}"
            );
        }
    }
}
