//! The URLs by which netCDF-C and its tools name a dataset: where it lies, and how it is spelt there.
//!
//! ```text
//! file:///data/sea.zarr#mode=nczarr,file
//! s3://bucket/sea.zarr#mode=zarr,s3&aws.region=eu-west-1
//! scheme "://" [host] path [ "?" query ] [ "#" key [ "=" value ] ( "&" key [ "=" value ] )* ]
//! ```
//!
//! | words of `mode` | meaning |
//! |---|---|
//! | `nczarr` | NCZarr |
//! | `zarr` | plain Zarr; brings `nczarr`, which it outweighs |
//! | `xarray` | as `zarr` |
//! | `noxarray` | as `zarr`, and no names of dimensions are read or written; outweighs `xarray` |
//! | `bytes` | one file of another format, read in ranges; outweighs `nczarr` and `zarr` |
//! | `file`, `zip`, `s3`, `gs3` | what holds the dataset; a directory unless said or seen otherwise |
//! | `consolidated` | all metadata in one document |
//! | `v2`, `v3` | the format of Zarr |
//!
//! A key without a value can stand for some words: `zarr` for `mode=nczarr,zarr`, `xarray` for `mode=zarr`, `noxarray` for
//! `mode=nczarr,noxarray`, `s3` for `mode=s3,nczarr`, `gs3` for `mode=gs3,nczarr`, `bytes` for `mode=bytes`.
//!
//! ```
//! use icefield_nczarr::url::{DatasetUrl, Format, DatasetLocation, Store};
//!
//! let url = DatasetUrl::parse("file:///data/sea.zarr#mode=zarr,file")?;
//! assert_eq!(url.place, DatasetLocation::File("/data/sea.zarr".to_owned()));
//! assert_eq!((url.format, url.store), (Some(Format::Zarr), Store::File));
//! # Ok::<(), icefield_nczarr::url::UrlError>(())
//! ```
//!
//! # Where this is not what others do
//! - **Percent signs mean nothing**: `%20` in a path is three characters, and a blank is a blank. So it is in netCDF-C,
//!   against RFC 8089: the `file:` URI of a directory tree must be decoded before it is written as such a URL.
//! - `file://name` is the relative path `name`, not the root of a host.
//! - These are the rules of netCDF-C 4.9.3 and later. In 4.9.0 `noxarray` brought `nczarr` only, so that `nczarr,noxarray`
//!   was NCZarr; 4.8.1 did not write the names of dimensions without the word `xarray`, nor 4.8.0 at all.
//! - netCDF-C 4.10.1 keeps only the first word that `#zarr`, `#noxarray` and `#s3` stand for: to it, the first two are
//!   NCZarr, and the last one is no dataset. A written `mode=` means the same to all.
//! - netCDF-C ignores words that it does not know, and storages that contradict each other; here they are errors.
//! - A text without `://` is a path, whatever it has in it, and says nothing about the format.

mod error;
mod format;
mod fragment;
mod location;

use std::fmt;
use std::str::FromStr;

pub use error::UrlError;
pub use format::{Format, Store, ZarrVersion};
pub use location::{DatasetLocation, Provider, S3Place};

use fragment::cut;

/// The parts of a URL by which netCDF-C names a dataset. Its `Display` is a URL with the same meaning, though perhaps
/// with another spelling.
///
/// ```
/// use icefield_nczarr::url::{DatasetUrl, Store};
///
/// # fn main() -> Result<(), icefield_nczarr::url::UrlError> {
/// let url = DatasetUrl::parse("file:///data/sea.zarr#mode=nczarr,zip")?;
/// assert_eq!(url.store, Store::Zip);
/// assert!(url.format.is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetUrl {
    /// The location of the dataset.
    pub place: DatasetLocation,
    /// The kind of store that holds it there.
    pub store: Store,
    /// The spelling of the dataset; `None` if the URL does not name one, which netCDF-C does not take for Zarr.
    pub format: Option<Format>,
    /// Whether names of dimensions are read from, and written to, `_ARRAY_DIMENSIONS`.
    pub xarray: bool,
    /// Whether the metadata of all arrays and groups is in one document.
    pub consolidated: bool,
    /// The format of Zarr, if the URL names one.
    pub version: Option<ZarrVersion>,
    /// The text that followed `?`. It is no part of the path, and has no meaning for a directory.
    pub query: Option<String>,
    /// The other keys after `#`, in order: `log`, `show=fetch` and those that are unknown here.
    pub keys: Vec<(String, Option<String>)>,
}

impl DatasetUrl {
    /// Parses a URL, or the path of a file.
    ///
    /// # Errors
    /// The [`UrlError`] that names the part without a meaning.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return Self::plain(text);
        };
        if !is_scheme(scheme) {
            return Self::plain(text);
        }
        let (rest, fragment) = cut(rest, '#');
        let (rest, query) = cut(rest, '?');
        let fragment = fragment::read(fragment.unwrap_or_default())?;
        let location::FoundLocation { place, store, keys } =
            location::find(scheme, rest, &fragment)?;
        Ok(Self {
            place,
            store,
            format: fragment.format(),
            xarray: fragment.xarray(),
            consolidated: fragment.consolidated(),
            version: fragment.version(),
            query: query.map(str::to_owned),
            keys,
        })
    }

    /// Returns the URL of a directory or zip file.
    ///
    /// # Errors
    /// [`UrlError::NoPath`]; [`UrlError::Unwritable`] for a path with `#` or `?`, for which there is no URL.
    pub fn file(path: &str, format: Format, zipped: bool) -> Result<Self, UrlError> {
        if path.is_empty() {
            return Err(UrlError::NoPath);
        }
        if let Some(character) = path.chars().find(|c| matches!(c, '#' | '?')) {
            return Err(UrlError::Unwritable {
                path: path.to_owned(),
                character,
            });
        }
        let store = match zipped {
            true => Store::Zip,
            false => Store::File,
        };
        Ok(Self {
            store,
            format: Some(format),
            ..Self::unknown(path)
        })
    }

    fn plain(text: &str) -> Result<Self, UrlError> {
        if text.is_empty() {
            return Err(UrlError::NoPath);
        }
        match text.strip_prefix("file:") {
            Some(rest) => Err(UrlError::NoSlashes {
                rest: rest.to_owned(),
            }),
            None => Ok(Self::unknown(text)),
        }
    }

    fn unknown(path: &str) -> Self {
        Self {
            place: DatasetLocation::File(path.to_owned()),
            store: Store::File,
            format: None,
            xarray: true,
            consolidated: false,
            version: None,
            query: None,
            keys: Vec::new(),
        }
    }

    /// The words of `mode` that say what the fields say.
    fn mode(&self) -> Vec<&'static str> {
        let mut words = Vec::new();
        words.extend(match self.format {
            Some(Format::NcZarr) => Some("nczarr"),
            Some(Format::Zarr) => Some("zarr"),
            Some(Format::Bytes) => Some("bytes"),
            None => None,
        });
        if !self.xarray {
            words.push("noxarray");
        }
        words.extend(match (&self.place, self.store) {
            (_, Store::Zip) => Some("zip"),
            (DatasetLocation::S3(place), _) => Some(place.provider.word()),
            // The meaning of a URL without any word.
            (DatasetLocation::File(_), _) if self.format.is_some() => Some("file"),
            _ => None,
        });
        if self.consolidated {
            words.push("consolidated");
        }
        words.extend(self.version.map(|version| match version {
            ZarrVersion::V2 => "v2",
            ZarrVersion::V3 => "v3",
        }));
        words
    }
}

impl FromStr for DatasetUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        Self::parse(text)
    }
}

impl fmt::Display for DatasetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pairs = Vec::new();
        let mode = self.mode();
        if !mode.is_empty() {
            pairs.push(format!("mode={}", mode.join(",")));
        }
        pairs.extend(self.place.keys());
        pairs.extend(self.keys.iter().map(|(key, value)| match value {
            Some(value) => format!("{key}={value}"),
            None => key.clone(),
        }));
        if let (DatasetLocation::File(path), true, None) =
            (&self.place, pairs.is_empty(), &self.query)
            && Self::plain(path).is_ok()
            && Self::parse(path).as_ref() == Ok(self)
        {
            return f.write_str(path);
        }
        write!(f, "{}", self.place)?;
        if let Some(query) = &self.query {
            write!(f, "?{query}")?;
        }
        match pairs.is_empty() {
            true => Ok(()),
            false => write!(f, "#{}", pairs.join("&")),
        }
    }
}

/// Whether a text is a scheme as RFC 3986 has it; if not, `://` is part of a path.
fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

#[cfg(test)]
mod tests;
