//! The fragment after `#`: keys with values, and among them the words of `mode`.

use super::error::UrlError;
use super::format::{Format, Store, ZarrVersion};

/// Keys that stand for words of `mode`, when they have no value.
const SHORT: [(&str, &[&str]); 6] = [
    ("zarr", &["nczarr", "zarr"]),
    ("xarray", &["zarr"]),
    ("noxarray", &["nczarr", "noxarray"]),
    ("s3", &["s3", "nczarr"]),
    ("gs3", &["gs3", "nczarr"]),
    ("bytes", &["bytes"]),
];

/// Every word of `mode`.
const WORDS: [&str; 12] = [
    "nczarr",
    "zarr",
    "xarray",
    "noxarray",
    "bytes",
    "file",
    "zip",
    "s3",
    "gs3",
    "consolidated",
    "v2",
    "v3",
];

/// Words of which one at most can hold.
const EITHER: [&[&str]; 3] = [
    &["file", "zip", "s3", "gs3"],
    &["bytes", "zip"],
    &["v2", "v3"],
];

/// The keys of a URL.
pub(super) struct Fragment {
    words: Vec<&'static str>,
    /// All keys but `mode` and those that stand for it.
    pub(super) keys: Vec<(String, Option<String>)>,
}

/// Reads what follows `#`.
pub(super) fn read(text: &str) -> Result<Fragment, UrlError> {
    let mut words = Vec::new();
    let mut keys = Vec::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = cut(pair, '=');
        if pair.contains('#') {
            return Err(UrlError::SecondHash {
                key: pair.to_owned(),
            });
        }
        let short = SHORT.iter().find(|(short, _)| *short == key);
        match (key, value, short) {
            ("mode", None | Some(""), _) => return Err(UrlError::EmptyMode),
            ("mode", Some(listed), _) => {
                for word in listed.split(',') {
                    words.push(known(word)?);
                }
            }
            (_, None, Some((_, meant))) => words.extend(*meant),
            (_, None, None) if key.split(',').any(|part| WORDS.contains(&part)) => {
                return Err(UrlError::NotAKey {
                    key: key.to_owned(),
                });
            }
            _ => keys.push((key.to_owned(), value.map(str::to_owned))),
        }
    }
    for group in EITHER {
        let given: Vec<_> = group.iter().filter(|word| words.contains(word)).collect();
        if let [one, other, ..] = given[..] {
            return Err(UrlError::Contradiction {
                one: format!("`{one}` in mode"),
                other: format!("`{other}`"),
            });
        }
    }
    Ok(Fragment { words, keys })
}

fn known(word: &str) -> Result<&'static str, UrlError> {
    let known = WORDS.iter().find(|known| **known == word);
    known.copied().ok_or_else(|| UrlError::UnknownMode {
        word: word.to_owned(),
    })
}

impl Fragment {
    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    /// `noxarray` outweighs `xarray`.
    pub(super) fn xarray(&self) -> bool {
        !self.has("noxarray")
    }

    /// `xarray` and `noxarray` bring `zarr`, that brings `nczarr`, and `bytes` takes both away.
    pub(super) fn format(&self) -> Option<Format> {
        let zarr = ["zarr", "xarray", "noxarray"].iter().any(|it| self.has(it));
        match (self.has("bytes"), zarr, self.has("nczarr")) {
            (true, _, _) => Some(Format::Bytes),
            (false, true, _) => Some(Format::Zarr),
            (false, false, true) => Some(Format::NcZarr),
            (false, false, false) => None,
        }
    }

    pub(super) fn consolidated(&self) -> bool {
        self.has("consolidated")
    }

    pub(super) fn version(&self) -> Option<ZarrVersion> {
        match (self.has("v2"), self.has("v3")) {
            (true, _) => Some(ZarrVersion::V2),
            (false, true) => Some(ZarrVersion::V3),
            (false, false) => None,
        }
    }

    /// The storage that the words name, with the word.
    pub(super) fn store(&self) -> Option<(Store, &'static str)> {
        let stores = [
            (Store::File, "file"),
            (Store::Zip, "zip"),
            (Store::S3, "s3"),
            (Store::S3, "gs3"),
        ];
        stores.into_iter().find(|(_, word)| self.has(word))
    }
}

pub(super) fn cut(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}
