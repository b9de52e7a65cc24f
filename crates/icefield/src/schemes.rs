//! The kinds of locations: a scheme and the function that opens its stores.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use icefield_storage::Storage;

use crate::location::without_options;
use crate::{Error, Location, LocationError};

/// Schemes that this crate brings, and the feature that each needs.
const OURS: [(&str, &str); 9] = [
    ("file", "local"),
    ("memory", "memory"),
    ("s3", "s3"),
    ("gs", "gcs"),
    ("az", "azure"),
    ("http", "http"),
    ("https", "http"),
    ("redirect+http", "http"),
    ("redirect+https", "http"),
];

/// Opens the stores of one scheme. Implement it to open repositories in a backend of your own; register it with
/// [`Schemes::with`].
///
/// ```
/// use std::sync::Arc;
/// use icefield::storage::Storage;
/// use icefield::{Connect, Error, Location, MemoryStorage, Repository, Schemes};
///
/// /// `scratch:NAME` locations.
/// #[derive(Debug)]
/// struct Scratch(MemoryStorage);
///
/// #[async_trait::async_trait]
/// impl Connect for Scratch {
///     async fn connect(&self, location: &Location) -> Result<Arc<dyn Storage>, Error> {
///         assert_eq!(location.scheme(), "scratch");
///         Ok(Arc::new(self.0.clone()))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Error> {
/// let schemes = Schemes::standard().with("scratch", Arc::new(Scratch(MemoryStorage::new())));
/// let storage = schemes.storage(&Location::parse("scratch:x")?).await?;
/// Repository::create(storage).await?;
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait Connect: fmt::Debug + Send + Sync + 'static {
    /// Opens the store at a location whose scheme this was registered for. The store need not be reached here: a
    /// failure may come with the first request.
    ///
    /// # Errors
    /// An option of the location is wrong, or the store cannot be opened. [`Error::new`] makes an error of any other.
    async fn connect(&self, location: &Location) -> Result<Arc<dyn Storage>, Error>;

    /// Returns the names in a directory of a store that cannot list but shows its directories in another way, as web
    /// servers do on pages. Names of directories end in a slash. The default is `None`: the store has no such pages.
    ///
    /// # Errors
    /// The page could not be read. [`Error::new`] makes an error of any other.
    async fn directory_page(&self, location: &Location) -> Result<Option<Vec<String>>, Error> {
        let _ = location;
        Ok(None)
    }
}

/// The schemes that locations may have, and the connections that open them. A value, without global state: a program
/// makes one and passes it to where locations are opened.
///
/// ```
/// use icefield::{Location, Schemes};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), icefield::Error> {
/// let error = Schemes::none().storage(&Location::parse("s3://bucket/ocean")?).await.unwrap_err();
/// assert_eq!(error.kind(), icefield::ErrorKind::Invalid);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Schemes(BTreeMap<String, Arc<dyn Connect>>);

impl Schemes {
    /// Returns an empty set of schemes, to which [`Schemes::with`] adds those that a program allows.
    pub fn none() -> Self {
        Self::default()
    }

    /// Registers the connection that opens the locations of a scheme, in place of a former one. Case does not matter.
    /// The scheme of a plain path is `file`.
    #[must_use]
    pub fn with(mut self, scheme: &str, connect: Arc<dyn Connect>) -> Self {
        self.0.insert(scheme.to_ascii_lowercase(), connect);
        self
    }

    /// Returns the names of the schemes in lower case, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Opens the store at a location.
    ///
    /// # Errors
    /// [`LocationError::UnknownScheme`] if no connection is registered for the scheme, and the errors of the
    /// connection.
    pub async fn storage(&self, location: &Location) -> Result<Arc<dyn Storage>, Error> {
        self.connection(location)?.connect(location).await
    }

    /// Returns the connection that opens a location.
    pub(crate) fn connection(&self, location: &Location) -> Result<&dyn Connect, Error> {
        match self.0.get(location.scheme()) {
            Some(connect) => Ok(&**connect),
            None => Err(self.unknown(location).into()),
        }
    }

    fn unknown(&self, location: &Location) -> LocationError {
        let scheme = location.scheme();
        let hint = match OURS.iter().find(|(ours, _)| *ours == scheme) {
            Some((_, feature)) => format!("build with the feature `{feature}`"),
            None => {
                let known: Vec<&str> = self.names().collect();
                format!("this program opens {}", known.join(", "))
            }
        };
        LocationError::UnknownScheme {
            scheme: scheme.to_owned(),
            url: without_options(location.as_str()).to_owned(),
            hint,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_unknown_scheme_shows_no_secret() {
        for text in ["ftp://host/x?key=SECRET", "ftp://me:SECRET@host/x"] {
            let location = Location::parse(text).expect("a location");
            let error = Schemes::none().storage(&location).await;
            let error = error.expect_err("no scheme");
            let text = format!("{error} {error:?}");
            assert!(text.contains("ftp") && !text.contains("SECRET"), "{text}");
        }
    }
}
