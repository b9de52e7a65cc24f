//! The compression of chunks.

use serde_json::{Value, json};

use super::LayoutError;

/// The compressors inside of blosc.
const BLOSC: [&str; 6] = ["lz4", "lz4hc", "blosclz", "zstd", "zlib", "snappy"];

/// The compression of the bytes of elements: the codecs of an array after the one that makes bytes.
///
/// ```
/// use icefield_ingest::Compression;
///
/// assert_eq!(Compression::parse("zstd").unwrap(), Compression::Zstd(3));
/// assert_eq!(Compression::parse("blosc:lz4:9").unwrap(), Compression::Blosc("lz4", 9));
/// assert!(Compression::parse("gzip:10").is_err(), "levels are 0 to 9");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// The codecs stay as they are.
    #[default]
    Kept,
    /// No compression.
    None,
    /// Zstandard, of a level from -131072 to 22.
    Zstd(i32),
    /// Gzip, of a level from 0 to 9.
    Gzip(u8),
    /// Blosc with a compressor inside, of a level from 0 to 9; bytes are shuffled if an element has more than one.
    Blosc(&'static str, u8),
}

impl Compression {
    /// Reads `keep`, `none`, `zstd`, `zstd:LEVEL`, `gzip`, `gzip:LEVEL`, `blosc`, `blosc:NAME` or `blosc:NAME:LEVEL`.
    /// The default levels are 3, 5 and 5; the default name is `zstd`.
    ///
    /// # Errors
    /// [`LayoutError::Compression`].
    pub fn parse(text: &str) -> Result<Self, LayoutError> {
        let refused = || LayoutError::Compression {
            text: text.to_owned(),
        };
        let mut words = text.split(':');
        let name = words.next().unwrap_or_default();
        let mut level = |usual: i32, most: i32, least: i32| match words.next() {
            None => Ok(usual),
            Some(level) => level
                .parse::<i32>()
                .ok()
                .filter(|level| (least..=most).contains(level))
                .ok_or_else(refused),
        };
        let read = match name {
            "keep" => Self::Kept,
            "none" => Self::None,
            "zstd" => Self::Zstd(level(3, 22, -131_072)?),
            "gzip" => Self::Gzip(level(5, 9, 0)? as u8),
            "blosc" => {
                let inside = words.next().unwrap_or("zstd");
                let inside = BLOSC.into_iter().find(|name| *name == inside);
                let level = match words.next() {
                    None => 5,
                    Some(level) => level
                        .parse::<u8>()
                        .ok()
                        .filter(|it| *it <= 9)
                        .ok_or_else(refused)?,
                };
                Self::Blosc(inside.ok_or_else(refused)?, level)
            }
            _ => return Err(refused()),
        };
        match words.next() {
            None => Ok(read),
            Some(_) => Err(refused()),
        }
    }

    /// Returns the codecs of arrays whose elements have so many bytes (`None` for texts); nothing if those that are there stay.
    pub(super) fn codecs(&self, element: Option<usize>) -> Option<Vec<Value>> {
        Some(match self {
            Self::Kept => return None,
            Self::None => Vec::new(),
            Self::Zstd(level) => {
                vec![json!({
                    "name": "zstd", "configuration": { "level": level, "checksum": false }
                })]
            }
            Self::Gzip(level) => {
                vec![json!({ "name": "gzip", "configuration": { "level": level } })]
            }
            Self::Blosc(inside, level) => {
                let mut configuration = json!({ "cname": inside, "clevel": level });
                match element {
                    Some(element) if (2..=255).contains(&element) => {
                        configuration["shuffle"] = "shuffle".into();
                        configuration["typesize"] = element.into();
                    }
                    _ => {
                        configuration["shuffle"] = "noshuffle".into();
                        configuration["typesize"] = 1.into();
                    }
                }
                configuration["blocksize"] = 0.into();
                vec![json!({ "name": "blosc", "configuration": configuration })]
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read() {
        for (text, expected) in [
            ("keep", Compression::Kept),
            ("none", Compression::None),
            ("zstd", Compression::Zstd(3)),
            ("zstd:-5", Compression::Zstd(-5)),
            ("gzip:9", Compression::Gzip(9)),
            ("blosc", Compression::Blosc("zstd", 5)),
            ("blosc:lz4", Compression::Blosc("lz4", 5)),
            ("blosc:zlib:1", Compression::Blosc("zlib", 1)),
        ] {
            assert_eq!(Compression::parse(text).expect(text), expected);
        }
        for wrong in [
            "",
            "zst",
            "zstd:",
            "zstd:23",
            "gzip:10",
            "gzip:-1",
            "blosc:xz",
            "blosc:zstd:10",
            "none:1",
            "zstd:3:3",
        ] {
            let error = Compression::parse(wrong).expect_err(wrong);
            assert!(matches!(error, LayoutError::Compression { .. }), "{error}");
        }
    }
}
