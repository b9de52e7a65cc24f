//! `gs://bucket/prefix` locations.

use std::sync::Arc;

use async_trait::async_trait;
use icefield_storage::Storage;
use icefield_storage::remote::RemoteSettings;
use icefield_storage_gcs::GcsBuilder;

use crate::bucket_url::BucketUrl;
use crate::{Connect, Error, Location};

/// The options that a URL may have after its `?`.
const OPTIONS: &[&str] = &[
    "endpoint",
    "anonymous",
    "user_project",
    "trust_conditions",
    "sort_lists",
];

/// Opens buckets of Google Cloud Storage: `gs://bucket/prefix?user_project=…`, with the credentials that
/// Google's programs find in the environment (`GOOGLE_APPLICATION_CREDENTIALS` and so on; `STORAGE_EMULATOR_HOST` for
/// an emulator); `anonymous` in the URL uses none.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ConnectGcs {
    /// The retries, time-outs and number of requests in flight.
    pub settings: RemoteSettings,
    /// Ignores the environment, and uses no credentials.
    pub isolated: bool,
}

impl ConnectGcs {
    /// Returns the connection with these settings, and else the default ones.
    pub(crate) fn with(settings: &RemoteSettings) -> Self {
        Self {
            settings: settings.clone(),
            ..Self::default()
        }
    }

    /// Returns a connection for public buckets, which sends no credentials and ignores the environment.
    pub fn anonymous() -> Self {
        Self {
            isolated: true,
            ..Self::default()
        }
    }
}

#[async_trait]
impl Connect for ConnectGcs {
    async fn connect(&self, location: &Location) -> Result<Arc<dyn Storage>, Error> {
        let url = BucketUrl::parse(location, OPTIONS)?;
        let settings = url.settings(self.settings.clone())?;
        let mut builder = GcsBuilder::new(&url.bucket)
            .prefix(url.prefix.clone())
            .settings(settings);
        if let Some(endpoint) = url.option("endpoint") {
            builder = builder.endpoint(endpoint);
        }
        builder = match url.switch("anonymous")? == Some(true) || self.isolated {
            true => builder.anonymous(),
            false => builder.environment(),
        };
        if let Some(project) = url.option("user_project") {
            builder = builder.user_project(project);
        }
        Ok(Arc::new(builder.open().await?))
    }
}
