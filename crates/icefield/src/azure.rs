//! `az://account/container/prefix` locations.

use std::sync::Arc;

use async_trait::async_trait;
use icefield_storage::remote::RemoteSettings;
use icefield_storage::{Prefix, Storage};
use icefield_storage_object_store::AzureBuilder;

use crate::bucket_url::BucketUrl;
use crate::{Connect, Error, Location};

/// What a URL may say after its `?`.
const OPTIONS: &[&str] = &["endpoint", "anonymous", "trust_conditions"];

/// Opens containers of Azure Blob Storage: `az://account/container/prefix`. The key comes from
/// `AZURE_STORAGE_KEY` or `AZURE_STORAGE_ACCOUNT_KEY`, or a signature from `AZURE_STORAGE_SAS_TOKEN`;
/// `anonymous` in the URL uses none.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ConnectAzure {
    /// How requests are tried again, and how many at a time.
    pub settings: RemoteSettings,
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
        let mut settings = self.settings.clone();
        if url.switch("trust_conditions")? == Some(true) {
            settings = settings.trusting_conditions();
        }
        let mut builder = AzureBuilder::new(account, container)
            .prefix(prefix)
            .settings(settings);
        let variable = |name: &str| std::env::var(name).ok().filter(|it| !it.is_empty());
        let key = variable("AZURE_STORAGE_KEY").or_else(|| variable("AZURE_STORAGE_ACCOUNT_KEY"));
        builder = match (
            url.switch("anonymous")?,
            key,
            variable("AZURE_STORAGE_SAS_TOKEN"),
        ) {
            (Some(true), ..) | (_, None, None) => builder.anonymous(),
            (_, Some(key), _) => builder.access_key(key),
            (_, None, Some(token)) => builder.sas_token(token),
        };
        if let Some(endpoint) = url.option("endpoint") {
            builder = builder.endpoint(endpoint);
        }
        Ok(Arc::new(builder.open()?))
    }
}
