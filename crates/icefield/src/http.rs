//! `https://` and `http://` locations, for reading.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use icefield_storage::Storage;
use icefield_storage::remote::RemoteSettings;
use icefield_storage_object_store::HttpBuilder;

use crate::{Connect, Error, Location, LocationError};

/// Opens directories of web servers, read-only, without credentials. A web server cannot list, so only operations that
/// know the keys they read work: sessions do, a collection does not.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ConnectHttp {
    /// The retries, time-outs and number of requests in flight.
    pub settings: RemoteSettings,
    /// Refuses to send requests to this machine and to private networks, also if the name of a public server resolves
    /// to such an address.
    pub public_only: bool,
    /// Headers that are sent with each request. They may contain secrets: `Debug` shows only their names.
    pub headers: Vec<(String, String)>,
    /// The longest time that making a connection may take; `None` for the default of the store.
    pub connect_timeout: Option<Duration>,
}

impl fmt::Debug for ConnectHttp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("ConnectHttp")
            .field("settings", &self.settings)
            .field("public_only", &self.public_only)
            .field("headers", &names)
            .field("connect_timeout", &self.connect_timeout)
            .finish()
    }
}

impl ConnectHttp {
    /// Returns the connection with these settings, and else the default ones.
    pub(crate) fn with(settings: &RemoteSettings) -> Self {
        Self {
            settings: settings.clone(),
            ..Self::default()
        }
    }
}

impl ConnectHttp {
    fn builder(&self, location: &Location) -> Result<HttpBuilder, Error> {
        let url = location.as_str();
        let host = url.split_once("://").map(|(_, rest)| rest);
        let host = host.and_then(|rest| rest.split(['/', '?', '#']).next());
        if host.is_some_and(|host| host.contains('@')) {
            return Err(LocationError::Rule {
                url: format!("{}://…", location.scheme()),
                problem: "has a user in it: a web server is read without credentials".to_owned(),
            }
            .into());
        }
        let mut storage = HttpBuilder::new(url).settings(self.settings.clone());
        if self.public_only {
            storage = storage.public_only();
        }
        for (name, value) in &self.headers {
            storage = storage.header(name, value);
        }
        if let Some(timeout) = self.connect_timeout {
            storage = storage.connect_timeout(timeout);
        }
        Ok(storage)
    }
}

#[async_trait]
impl Connect for ConnectHttp {
    async fn connect(&self, location: &Location) -> Result<Arc<dyn Storage>, Error> {
        Ok(Arc::new(self.builder(location)?.open()?))
    }

    async fn directory_page(&self, location: &Location) -> Result<Option<Vec<String>>, Error> {
        let entries = self.builder(location)?.index().await?.into_iter();
        let names = entries.map(|entry| match entry.is_directory {
            true => format!("{}/", entry.name),
            false => entry.name,
        });
        Ok(Some(names.collect()))
    }
}
