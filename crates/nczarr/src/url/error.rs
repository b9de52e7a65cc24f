//! Errors of URLs that mean no dataset.

/// The reason why a text names no dataset. None of the messages repeats the URL, which may contain a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// Nothing is named.
    #[error(
        "the URL names no path: write file:///absolute/path or file://relative/path before the `#`"
    )]
    NoPath,
    /// `file:name`.
    #[error("`file:{rest}` lacks its two slashes: write file://{rest}")]
    NoSlashes {
        /// The text after the colon.
        rest: String,
    },
    /// A scheme that nothing here reads.
    #[error(
        "the scheme `{scheme}` is not known: use file, https, http, s3 or gs3, in small letters"
    )]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// A word of `mode` that means nothing.
    #[error(
        "mode has the unknown word {word:?}: the words, in small letters and without blanks, are nczarr, zarr, xarray, \
         noxarray, bytes, file, zip, s3, gs3, consolidated, v2 and v3"
    )]
    UnknownMode {
        /// The word.
        word: String,
    },
    /// `mode` or `mode=`.
    #[error("mode has no words: write mode=nczarr,file or leave it out")]
    EmptyMode,
    /// A word, or several, where a key belongs.
    #[error("`{key}` is no key: write mode={key}")]
    NotAKey {
        /// The word, or the words.
        key: String,
    },
    /// A second `#`.
    #[error(
        "the key {key:?} has a `#`: a path cannot have one in a URL, so give it as a path alone, or rename it"
    )]
    SecondHash {
        /// The key.
        key: String,
    },
    /// A path that no URL can name.
    #[error(
        "the path {path:?} has a `{character}`, which a URL cannot hold: rename it, or give the path alone"
    )]
    Unwritable {
        /// The path.
        path: String,
        /// The character.
        character: char,
    },
    /// Two things that cannot both hold.
    #[error("{one} and {other} contradict each other: leave one of them out")]
    Contradiction {
        /// One, as written.
        one: String,
        /// The other, as written.
        other: String,
    },
    /// The keys of a dataset behind a web server, which cannot be listed.
    #[error(
        "{host} is no host of S3 that is known, and a Zarr dataset cannot be listed over plain HTTP: add `s3` to mode if \
         the host speaks S3, or write mode=bytes for a single file"
    )]
    NotListed {
        /// The host.
        host: String,
    },
    /// No bucket.
    #[error("the URL names no bucket: write s3://bucket/key or https://host/bucket/key")]
    NoBucket,
    /// No host.
    #[error("the URL names no host: write {scheme}://host/path")]
    NoHost {
        /// The scheme.
        scheme: String,
    },
    /// A host of Amazon that is not one of S3.
    #[error(
        "{host} is not a host of S3: write s3://bucket/key, or https://s3.REGION.amazonaws.com/bucket/key"
    )]
    NotAnS3Host {
        /// The host.
        host: String,
    },
    /// A name or password before the host.
    #[error(
        "credentials in the URL of a bucket are not used: remove them, and name a profile with aws.profile=NAME"
    )]
    Credentials,
}
