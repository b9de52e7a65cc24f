//! `s3://bucket/prefix` locations.

use std::sync::Arc;

use async_trait::async_trait;
use icefield_storage::Storage;
use icefield_storage::remote::RemoteSettings;
use icefield_storage_s3::{Credentials, Environment, Preset, S3Builder};

use crate::bucket_url::BucketUrl;
use crate::{Connect, Error, Location};

/// The options that a URL may have after its `?`.
const OPTIONS: &[&str] = &[
    "region",
    "endpoint",
    "path_style",
    "anonymous",
    "requester_pays",
    "preset",
    "trust_conditions",
    "sort_lists",
];

/// Opens buckets of S3 and compatible services: `s3://bucket/prefix?region=…&endpoint=…`.
///
/// The options of a URL are `region`, `endpoint`, `path_style`, `preset` (`aws`, `r2`, `tigris`, `minio`, `ceph`),
/// `anonymous`, `requester_pays`, `trust_conditions` and `sort_lists`. An option without a value is `true`. Keys and
/// secrets are never part of a URL.
///
/// Values that neither the URL nor this sets come from the usual variables and profiles of the environment; keys also,
/// with the feature `s3-aws-config`, from wherever Amazon's own programs find them: single sign-on, roles, the metadata
/// service of the machine. `anonymous` in the URL leaves credentials alone.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ConnectS3 {
    /// The key that signs requests, in place of one from the environment.
    pub credentials: Option<Credentials>,
    /// The retries, time-outs and number of requests in flight.
    pub settings: RemoteSettings,
    /// Ignores the environment: no variables, no profiles, no metadata service.
    pub isolated: bool,
}

impl ConnectS3 {
    /// Returns the connection with these settings, and else the default ones.
    pub(crate) fn with(settings: &RemoteSettings) -> Self {
        Self {
            settings: settings.clone(),
            ..Self::default()
        }
    }

    /// Returns a connection for public buckets, which signs no request and ignores the environment.
    pub fn anonymous() -> Self {
        Self {
            isolated: true,
            ..Self::default()
        }
    }

    /// Returns a connection that signs with this key and ignores the environment.
    pub fn with_credentials(credentials: Credentials) -> Self {
        Self {
            credentials: Some(credentials),
            isolated: true,
            ..Self::default()
        }
    }
}

#[async_trait]
impl Connect for ConnectS3 {
    async fn connect(&self, location: &Location) -> Result<Arc<dyn Storage>, Error> {
        let url = BucketUrl::parse(location, OPTIONS)?;
        let settings = url.settings(self.settings.clone())?;
        let mut builder = S3Builder::new(&url.bucket)
            .prefix(url.prefix.clone())
            .settings(settings);
        if let Some(preset) = url.option("preset") {
            builder = builder.preset(match preset {
                "aws" => Preset::Aws,
                "r2" => Preset::R2,
                "tigris" => Preset::Tigris,
                "minio" => Preset::Minio,
                "ceph" => Preset::Ceph,
                _ => {
                    let problem =
                        "names a preset that is none; there are aws, r2, tigris, minio, ceph";
                    return Err(url.wrong(problem).into());
                }
            });
        }
        if let Some(region) = url.option("region") {
            builder = builder.region(region);
        }
        if let Some(endpoint) = url.option("endpoint") {
            builder = builder.endpoint(endpoint);
        }
        if let Some(path_style) = url.switch("path_style")? {
            builder = builder.path_style(path_style);
        }
        if url.switch("requester_pays")? == Some(true) {
            builder = builder.requester_pays();
        }
        if let Some(credentials) = &self.credentials {
            builder = builder.credentials(credentials.clone());
        }
        let anonymous = url.switch("anonymous")? == Some(true);
        if !self.isolated {
            let environment = Environment::read();
            if !anonymous && self.credentials.is_none() && environment.credentials.is_none() {
                let region = url.option("region").map(str::to_owned);
                let region = region.or_else(|| environment.region.clone());
                builder = with_machine_keys(builder, region, &url).await?;
            }
            builder = builder.environment(environment);
        }
        if anonymous {
            builder = builder.anonymous();
        }
        Ok(Arc::new(builder.open()?))
    }
}

/// Signs with the keys that the machine hands out, if it does.
#[cfg(feature = "s3-aws-config")]
async fn with_machine_keys(
    builder: S3Builder,
    region: Option<String>,
    url: &BucketUrl,
) -> Result<S3Builder, Error> {
    use icefield_storage::StorageError;
    use icefield_storage_s3::Ambient;

    match Ambient::find(region).await {
        Ok(Some(source)) => Ok(builder.credential_source(Arc::new(source))),
        Ok(None) => Ok(builder),
        Err(problem) => Err(StorageError::Misconfigured {
            target: format!("s3://{}", url.bucket),
            setting: "credentials",
            problem: problem.to_string(),
        }
        .into()),
    }
}

#[cfg(not(feature = "s3-aws-config"))]
async fn with_machine_keys(
    builder: S3Builder,
    _: Option<String>,
    _: &BucketUrl,
) -> Result<S3Builder, Error> {
    Ok(builder)
}
