//! Connecting the stores of descriptions.

use std::sync::Arc;
use std::time::Duration;

use icefield::storage::remote::RemoteSettings;
use icefield::storage::wrap::ReadOnlyStorage;
use icefield::storage::{ObjectClass, Prefix, Storage};
use icefield::{LocalStorage, Location, MemoryStorage, Schemes};
use icefield_storage_gcs::GcsBuilder;
use icefield_storage_object_store::{AzureBuilder, AzureEnvironment, HttpBuilder};
use icefield_storage_s3::{Ambient, Checksum, Environment, S3Builder};

use super::description::{
    Azure, AzureForm, AzureIdentity, Description, Gcs, GcsIdentity, Http, Locks, Preset, S3,
    S3Identity, Settings, shown,
};
use super::functions::{self, CredentialFunction};
use crate::errors::Failure;

/// The default endpoint of Tigris.
const TIGRIS: &str = "https://t3.storage.dev";
/// The smallest part of a multipart upload in bytes, except the last.
const LEAST_PART: u64 = 5 << 20;
/// The timeout that stands for no limit.
const FOR_EVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

pub(super) async fn connect(
    description: &Description,
    function: Option<&CredentialFunction>,
) -> Result<Arc<dyn Storage>, Failure> {
    match description {
        Description::Memory {} => Ok(Arc::new(MemoryStorage::new())),
        Description::Local { path, locks } => {
            let locks = match locks {
                Locks::Detect => icefield::Locks::Detect,
                Locks::Trusted => icefield::Locks::Trusted,
            };
            Ok(Arc::new(LocalStorage::builder(path).locks(locks).open()?))
        }
        Description::S3(it) => s3(it, function, true).await,
        Description::Gcs(it) => gcs(it, function).await,
        Description::Azure(it) => azure(it, function),
        Description::Http(it) => http(it),
        Description::Redirect { url } => {
            let location = Location::parse(&format!("redirect+{url}"))?;
            Ok(Schemes::standard().storage(&location).await?)
        }
    }
}

/// With `surroundings`, the environment may name the endpoint and the region of the bucket.
pub(crate) async fn s3(
    it: &S3,
    function: Option<&CredentialFunction>,
    surroundings: bool,
) -> Result<Arc<dyn Storage>, Failure> {
    check_endpoint(it.endpoint.as_deref(), it.allow_http)?;
    let mut settings = remote(&it.settings);
    if let Some(seconds) = it.stall_timeout {
        settings.stall_timeout = match seconds {
            0 => FOR_EVER,
            seconds => Duration::from_secs(seconds),
        };
    }
    // A setting of the configuration takes precedence over an option.
    if let Some(millis) = it.settings.read_timeout_ms {
        settings.stall_timeout = Duration::from_millis(millis);
    }
    let mut builder = S3Builder::new(&it.bucket)
        .prefix(prefix(&it.prefix)?)
        .settings(settings);
    if let Some(millis) = it.settings.connect_timeout_ms {
        builder = builder.connect_timeout(Duration::from_millis(millis));
    }
    match it.preset {
        Some(Preset::R2) => builder = builder.preset(icefield_storage_s3::Preset::R2),
        Some(Preset::Tigris) => {
            builder = builder.preset(icefield_storage_s3::Preset::Tigris);
            if it.endpoint.is_none() {
                builder = builder.endpoint(TIGRIS);
            }
        }
        None => {}
    }
    if let Some(region) = &it.region {
        builder = builder.region(region);
    }
    if let Some(endpoint) = &it.endpoint {
        builder = builder.endpoint(endpoint);
    }
    if let Some(path_style) = it.path_style {
        builder = builder.path_style(path_style);
    }
    if it.requester_pays {
        builder = builder.requester_pays();
    }
    if let Some(checksum) = &it.checksum {
        builder = builder.checksum(match checksum.as_str() {
            "crc32" => Checksum::Crc32,
            "crc32c" => Checksum::Crc32c,
            "crc64_nvme" => Checksum::Crc64Nvme,
            "sha256" => Checksum::Sha256,
            other => {
                return Err(Failure::new(
                    "storage-config",
                    format!(
                        "checksum_algorithm cannot be {other:?}; there are Crc32, Crc32c, Crc64Nvme and Sha256"
                    ),
                ));
            }
        });
    }
    for (name, value) in &it.read_headers {
        builder = builder.read_header(name, value);
    }
    for (name, value) in &it.write_headers {
        builder = builder.write_header(name, value);
    }
    if let Some(class) = &it.settings.metadata_storage_class {
        builder = builder.storage_class(ObjectClass::Metadata, class);
    }
    if let Some(class) = &it.settings.chunks_storage_class {
        builder = builder.storage_class(ObjectClass::Chunk, class);
    }
    let environment = match surroundings || matches!(it.credentials, S3Identity::Environment) {
        true => Environment::read(),
        false => Environment::default(),
    };
    let place = Environment {
        credentials: None,
        endpoint: environment
            .endpoint
            .filter(|_| surroundings && it.preset.is_none()),
        region: environment.region.filter(|_| it.preset.is_none()),
    };
    builder = match &it.credentials {
        S3Identity::Anonymous => builder.anonymous(),
        S3Identity::Static(key) => builder.credentials(functions::s3_key(key.clone())),
        S3Identity::Function => builder.credential_source(Arc::new(required_function(function)?)),
        S3Identity::Environment => match environment.credentials {
            Some(credentials) => builder.credentials(credentials),
            None => {
                let region = it.region.clone().or_else(|| place.region.clone());
                match Ambient::find(region).await {
                    Ok(Some(found)) => builder.credential_source(Arc::new(found)),
                    Ok(None) => builder,
                    Err(problem) => {
                        return Err(Failure::new(
                            "storage-config",
                            format!(
                                "the environment has no credentials for s3://{}: {problem}",
                                it.bucket
                            ),
                        ));
                    }
                }
            }
        },
    };
    let storage: Arc<dyn Storage> = Arc::new(builder.environment(place).open()?);
    Ok(match it.read_only {
        true => Arc::new(ReadOnlyStorage::new(storage)),
        false => storage,
    })
}

pub(crate) async fn gcs(
    it: &Gcs,
    function: Option<&CredentialFunction>,
) -> Result<Arc<dyn Storage>, Failure> {
    check_endpoint(it.endpoint.as_deref(), it.allow_http)?;
    let mut builder = GcsBuilder::new(&it.bucket)
        .prefix(prefix(&it.prefix)?)
        .settings(remote(&it.settings));
    if let Some(endpoint) = &it.endpoint {
        builder = builder.endpoint(endpoint);
    }
    if let Some(project) = &it.user_project {
        builder = builder.user_project(project);
    }
    if let Some(class) = &it.settings.metadata_storage_class {
        builder = builder.storage_class(ObjectClass::Metadata, class);
    }
    if let Some(class) = &it.settings.chunks_storage_class {
        builder = builder.storage_class(ObjectClass::Chunk, class);
    }
    builder = match &it.credentials {
        GcsIdentity::Anonymous => builder.anonymous(),
        GcsIdentity::Environment => builder.environment(),
        GcsIdentity::Key { json } => builder.credentials_file(json),
        GcsIdentity::File { path } => {
            let json = tokio::fs::read_to_string(path).await.map_err(|error| {
                Failure::new(
                    "storage-config",
                    format!(
                        "the file of credentials {} cannot be read: {error}",
                        path.display()
                    ),
                )
            })?;
            builder.credentials_file(json)
        }
        GcsIdentity::Static(token) => {
            builder.token_source(Arc::new(FixedToken(functions::gcs_token(token.clone()))))
        }
        GcsIdentity::Function => builder.token_source(Arc::new(required_function(function)?)),
    };
    Ok(Arc::new(builder.open().await?))
}

/// A token that may expire and is never renewed.
#[derive(Debug)]
struct FixedToken(icefield_storage_gcs::Token);

#[async_trait::async_trait]
impl icefield_storage_gcs::TokenSource for FixedToken {
    async fn fetch(&self) -> Result<icefield_storage_gcs::Token, icefield::storage::BoxError> {
        Ok(self.0.clone())
    }
}

pub(crate) fn azure(
    it: &Azure,
    function: Option<&CredentialFunction>,
) -> Result<Arc<dyn Storage>, Failure> {
    check_endpoint(it.endpoint.as_deref(), it.allow_http)?;
    let mut builder = AzureBuilder::new(&it.account, &it.container)
        .prefix(prefix(&it.prefix)?)
        .settings(remote(&it.settings));
    if let Some(endpoint) = &it.endpoint {
        builder = builder.endpoint(endpoint);
    }
    if let Some(tier) = &it.settings.metadata_storage_class {
        builder = builder.access_tier(ObjectClass::Metadata, tier);
    }
    if let Some(tier) = &it.settings.chunks_storage_class {
        builder = builder.access_tier(ObjectClass::Chunk, tier);
    }
    builder = match &it.credentials {
        AzureIdentity::Anonymous => builder.anonymous(),
        AzureIdentity::Environment => builder.environment(AzureEnvironment::read()),
        AzureIdentity::Client {
            tenant,
            client,
            secret,
        } => builder.client_secret(tenant, client, secret),
        AzureIdentity::Static(key) => match key.form {
            AzureForm::AccessKey => builder.access_key(&key.secret),
            AzureForm::SasToken => builder.sas_token(&key.secret),
            AzureForm::BearerToken => builder.bearer_token(&key.secret),
        },
        AzureIdentity::Function => {
            builder.credentials(functions::azure_provider(required_function(function)?))
        }
    };
    Ok(Arc::new(builder.open()?))
}

pub(crate) fn http(it: &Http) -> Result<Arc<dyn Storage>, Failure> {
    let mut builder = HttpBuilder::new(&it.url).settings(remote(&it.settings));
    for (name, value) in &it.headers {
        builder = builder.header(name, value);
    }
    if let Some(millis) = it.settings.connect_timeout_ms {
        builder = builder.connect_timeout(Duration::from_millis(millis));
    }
    Ok(Arc::new(builder.open()?))
}

fn required_function(function: Option<&CredentialFunction>) -> Result<CredentialFunction, Failure> {
    function.cloned().ok_or_else(|| {
        Failure::new(
            "invalid-credentials",
            "the credentials come from a function, and there is none",
        )
    })
}

/// # Errors
/// If the endpoint has no TLS and `allow_http` is not set.
fn check_endpoint(endpoint: Option<&str>, allow_http: bool) -> Result<(), Failure> {
    match endpoint {
        Some(url) if !allow_http && url.to_ascii_lowercase().starts_with("http://") => {
            Err(Failure::new(
                "storage-config",
                format!(
                    "the endpoint {} has no TLS: make it https://, or pass allow_http=True if others on the network may \
                     see everything",
                    shown(url)
                ),
            ))
        }
        _ => Ok(()),
    }
}

fn prefix(text: &str) -> Result<Prefix, Failure> {
    match text.is_empty() {
        true => Ok(Prefix::all()),
        false => Ok(Prefix::parse(text)?),
    }
}

fn remote(it: &Settings) -> RemoteSettings {
    let mut settings = RemoteSettings::default();
    let retry = &mut settings.retry;
    if let Some(tries) = it.max_tries {
        retry.attempts = tries.max(1);
        retry.contact_attempts = retry.contact_attempts.min(retry.attempts);
    }
    if let Some(millis) = it.initial_backoff_ms {
        retry.first_pause = Duration::from_millis(millis);
    }
    if let Some(millis) = it.max_backoff_ms {
        retry.longest_pause = Duration::from_millis(millis);
    }
    if let Some(millis) = it.operation_timeout_ms {
        retry.deadline = Duration::from_millis(millis);
    }
    if let Some(millis) = it.operation_attempt_timeout_ms {
        settings.attempt_timeout = Duration::from_millis(millis);
    }
    if let Some(millis) = it.read_timeout_ms {
        settings.stall_timeout = Duration::from_millis(millis);
    }
    if let Some(requests) = it.max_concurrent_requests_for_object {
        settings.parts_in_flight = requests.max(1);
    }
    if let Some(bytes) = it.ideal_concurrent_request_size {
        settings.part_bytes = bytes.max(LEAST_PART);
        settings.parallel_read_threshold = bytes.max(LEAST_PART);
    }
    if let Some(bytes) = it.minimum_size_for_multipart_upload {
        settings.multipart_threshold = bytes.max(LEAST_PART);
    }
    settings
}
