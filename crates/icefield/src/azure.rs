//! `az://account/container/prefix` locations.

use std::sync::Arc;

use async_trait::async_trait;
use icefield_storage::remote::RemoteSettings;
use icefield_storage::{Prefix, Storage};
use icefield_storage_object_store::{AzureBuilder, AzureEnvironment};

use crate::bucket_url::BucketUrl;
use crate::{Connect, Error, Location};

/// The options that a URL may have after its `?`.
const OPTIONS: &[&str] = &["endpoint", "anonymous", "trust_conditions", "sort_lists"];

/// Opens containers of Azure Blob Storage: `az://account/container/prefix`. The identity comes from the environment
/// ([`AzureEnvironment::of`] says by which variables); `anonymous` in the URL uses none of them.
///
/// The options of a URL are `endpoint`, `anonymous`, `trust_conditions` and `sort_lists`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ConnectAzure {
    /// The retries, time-outs and number of requests in flight.
    pub settings: RemoteSettings,
    /// Ignores the environment, and uses no credentials.
    pub isolated: bool,
}

impl ConnectAzure {
    /// Returns the connection with these settings, and else the default ones.
    pub(crate) fn with(settings: &RemoteSettings) -> Self {
        Self {
            settings: settings.clone(),
            ..Self::default()
        }
    }

    /// Returns a connection for public containers, which sends no credentials and ignores the environment.
    pub fn anonymous() -> Self {
        Self {
            isolated: true,
            ..Self::default()
        }
    }
}

#[async_trait]
impl Connect for ConnectAzure {
    async fn connect(&self, location: &Location) -> Result<Arc<dyn Storage>, Error> {
        let url = BucketUrl::parse(location, OPTIONS)?;
        let (account, path) = (&url.bucket, url.prefix.as_str());
        let (container, prefix) = path.split_once('/').unwrap_or((path, ""));
        if container.is_empty() {
            return Err(url
                .wrong("names no container: write az://account/container/prefix")
                .into());
        }
        let prefix = Prefix::parse(prefix).map_err(|error| url.wrong(&error.to_string()))?;
        let settings = url.settings(self.settings.clone())?;
        let mut builder = AzureBuilder::new(account, container)
            .prefix(prefix)
            .settings(settings);
        if url.switch("anonymous")? != Some(true) && !self.isolated {
            builder = builder.environment(AzureEnvironment::read());
        }
        if let Some(endpoint) = url.option("endpoint") {
            builder = builder.endpoint(endpoint);
        }
        Ok(Arc::new(builder.open()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn connect(text: &str) -> Result<Arc<dyn Storage>, Error> {
        let location = Location::parse(text).expect("a location");
        ConnectAzure::default().connect(&location).await
    }

    #[tokio::test]
    async fn account_and_container_are_named() {
        let storage = connect("az://acc/box/a%20b?anonymous").await;
        let storage = storage.expect("connected");
        assert_eq!(storage.to_string(), "az://acc/box/a b");
        assert!(connect("az://acc?anonymous").await.is_err());
        assert!(connect("az://acc/?anonymous").await.is_err());
    }

    #[tokio::test]
    async fn secrets_are_no_part_of_a_url() {
        for text in ["az://acc/box?sig=SECRET", "az://acc/box?access_key=SECRET"] {
            let error = connect(text).await.expect_err("no such option");
            assert!(
                !format!("{error} {error:?}").contains("SECRET"),
                "{error:?}"
            );
        }
    }
}
