//! The kinds of locations: a scheme and the function that opens its stores.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use icefield_storage::Storage;
use icefield_storage::remote::RemoteSettings;

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

/// Opens the stores of one scheme. Implement it to open repositories in a backend of your own.
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
    /// Opens the store at a location whose scheme this was registered for.
    ///
    /// # Errors
    /// [`Error::new`] makes one of any error.
    async fn connect(&self, location: &Location) -> Result<Arc<dyn Storage>, Error>;

    /// Returns the names in a directory of a store that cannot list, but shows its directories in another way, as web servers
    /// do on pages; those of directories have a slash at their end. By default, no store does.
    ///
    /// # Errors
    /// [`Error::new`] makes one of any error.
    async fn index(&self, location: &Location) -> Result<Option<Vec<String>>, Error> {
        let _ = location;
        Ok(None)
    }
}

/// The schemes that locations may have, and who opens them. Plain data: pass it where it is needed.
#[derive(Clone, Debug, Default)]
pub struct Schemes(BTreeMap<String, Arc<dyn Connect>>);

impl Schemes {
    /// Returns no scheme at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the schemes that this crate was built with, with default settings.
    pub fn standard() -> Self {
        let schemes = Self::none();
        #[cfg(feature = "local")]
        let schemes = schemes.with("file", Arc::new(ConnectLocal::default()));
        #[cfg(feature = "memory")]
        let schemes = schemes.with("memory", Arc::new(ConnectMemory));
        let schemes = schemes.with_remote(&RemoteSettings::default());
        #[cfg(feature = "http")]
        let schemes = schemes
            .with(
                "redirect+http",
                Arc::new(crate::ConnectRedirect::anonymous()),
            )
            .with(
                "redirect+https",
                Arc::new(crate::ConnectRedirect::anonymous()),
            );
        schemes
    }

    /// Registers the network backends that this crate was built with, with these settings, in place of what opened their
    /// schemes. Redirects are left as they are.
    #[must_use]
    pub fn with_remote(self, settings: &RemoteSettings) -> Self {
        let schemes = self;
        #[cfg(feature = "s3")]
        let schemes = schemes.with("s3", Arc::new(crate::ConnectS3::with(settings)));
        #[cfg(feature = "gcs")]
        let schemes = schemes.with("gs", Arc::new(crate::ConnectGcs::with(settings)));
        #[cfg(feature = "azure")]
        let schemes = schemes.with("az", Arc::new(crate::ConnectAzure::with(settings)));
        #[cfg(feature = "http")]
        let schemes = schemes
            .with("http", Arc::new(crate::ConnectHttp::with(settings)))
            .with("https", Arc::new(crate::ConnectHttp::with(settings)));
        let _ = settings;
        schemes
    }

    /// Registers who opens the locations of a scheme, in place of anybody else. The scheme of a plain path is
    /// `file`.
    #[must_use]
    pub fn with(mut self, scheme: &str, connect: Arc<dyn Connect>) -> Self {
        self.0.insert(scheme.to_ascii_lowercase(), connect);
        self
    }

    /// Returns the names of the schemes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Opens the store at a location.
    ///
    /// # Errors
    /// [`LocationError::UnknownScheme`], and what the backend says.
    pub async fn storage(&self, location: &Location) -> Result<Arc<dyn Storage>, Error> {
        self.connection(location)?.connect(location).await
    }

    /// Returns who opens a location.
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

/// Opens directories of the local disk.
#[cfg(feature = "local")]
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectLocal {
    /// When writes are made to survive a loss of power.
    pub fsync: icefield_storage_local::Fsync,
    /// Whether all writes are refused.
    pub read_only: bool,
    /// Whether locks of the file system are believed to reach other machines. A location may say that they do
    /// (`?locks=trusted`).
    pub locks: icefield_storage_local::Locks,
}

#[cfg(feature = "local")]
#[async_trait]
impl Connect for ConnectLocal {
    async fn connect(&self, location: &Location) -> Result<Arc<dyn Storage>, Error> {
        let path = location.path().ok_or_else(|| LocationError::NotAbsolute {
            url: location.as_str().to_owned(),
        })?;
        // Whatever else is wrong with the path, the store says itself.
        if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_dir()) {
            let path = path.to_owned();
            return Err(LocationError::NotADirectory { path }.into());
        }
        let storage = icefield_storage_local::LocalStorage::builder(path)
            .fsync(self.fsync)
            .read_only(self.read_only)
            .locks(match location.trusts_locks() {
                true => icefield_storage_local::Locks::Trusted,
                false => self.locks,
            })
            .open()?;
        Ok(Arc::new(storage))
    }
}

/// Opens a new, empty store in memory each time.
#[cfg(feature = "memory")]
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectMemory;

#[cfg(feature = "memory")]
#[async_trait]
impl Connect for ConnectMemory {
    async fn connect(&self, _: &Location) -> Result<Arc<dyn Storage>, Error> {
        Ok(Arc::new(icefield_storage_memory::MemoryStorage::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `/proc` is no place for a repository, and the one file system of unknown locks that every Linux has.
    #[cfg(all(feature = "local", target_os = "linux"))]
    #[tokio::test]
    async fn a_location_can_vouch_for_locks() {
        let open = async |connect: ConnectLocal, text: &str| {
            let schemes = Schemes::none().with("file", Arc::new(connect));
            let location = Location::parse(text).expect("a location");
            let storage = schemes.storage(&location).await.expect("opened");
            storage.capabilities().safe_commits()
        };
        let trusting = ConnectLocal {
            locks: icefield_storage_local::Locks::Trusted,
            ..ConnectLocal::default()
        };
        let plain = ConnectLocal::default();
        assert!(!open(plain, "/proc/none").await);
        assert!(!open(plain, "file:///proc/none?locks=detect").await);
        assert!(open(plain, "file:///proc/none?locks=trusted").await);
        assert!(open(trusting, "file:///proc/none").await);
        assert!(open(plain, &std::env::temp_dir().to_string_lossy()).await);
    }

    #[tokio::test]
    async fn an_unknown_scheme_shows_no_secret() {
        for text in ["ftp://host/x?key=SECRET", "ftp://me:SECRET@host/x"] {
            let location = Location::parse(text).expect("a location");
            let error = Schemes::none().storage(&location).await;
            let error = error.expect_err("nobody's");
            let text = format!("{error} {error:?}");
            assert!(text.contains("ftp") && !text.contains("SECRET"), "{text}");
        }
    }
}
