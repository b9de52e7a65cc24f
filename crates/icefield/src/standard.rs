//! The schemes that this crate brings.

#[cfg(any(
    feature = "local",
    feature = "memory",
    feature = "s3",
    feature = "gcs",
    feature = "azure",
    feature = "http"
))]
use std::sync::Arc;

#[cfg(any(feature = "local", feature = "memory"))]
use async_trait::async_trait;
#[cfg(any(feature = "local", feature = "memory"))]
use icefield_storage::Storage;
use icefield_storage::remote::RemoteSettings;

#[cfg(feature = "local")]
use crate::LocationError;
use crate::Schemes;
#[cfg(any(feature = "local", feature = "memory"))]
use crate::{Connect, Error, Location};

impl Schemes {
    /// Returns the schemes that this crate was built with, with default settings: `file` and `memory` by default, and
    /// `s3`, `gs`, `az`, `http`, `https`, `redirect+http` and `redirect+https` with the features that bring them.
    /// Credentials come from the environment, except for redirects, which use none.
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

    /// Registers the network backends that this crate was built with, with these settings, in place of those registered
    /// for their schemes. Redirects keep their settings.
    ///
    /// ```
    /// use std::time::Duration;
    /// use icefield::Schemes;
    /// use icefield::storage::remote::{RemoteSettings, RetrySettings};
    ///
    /// // An interactive program gives up after 20 seconds instead of 180.
    /// let retry = RetrySettings::default().with_deadline(Duration::from_secs(20));
    /// let schemes = Schemes::standard().with_remote(&RemoteSettings::default().with_retry(retry));
    /// # let _ = schemes;
    /// ```
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
}

/// Opens directories of the local disk, for paths and `file:` URLs.
#[cfg(feature = "local")]
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectLocal {
    /// The moments at which writes are made to survive a loss of power.
    pub fsync: icefield_storage_local::Fsync,
    /// Refuses all writes if set. Reading never writes, so a directory without write permission needs no such setting.
    pub read_only: bool,
    /// Whether locks of the file system are believed to reach other machines, on which safe commits from several
    /// machines depend. A location may say that they do (`?locks=trusted`).
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

/// Opens a new, empty store in memory each time. Its content is gone when the last handle to it is dropped.
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
}
