//! The builder that opens a bucket.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{
    BehaviorVersion, IdentityCache, Region, RequestChecksumCalculation, ResponseChecksumValidation,
    SharedHttpClient, StalledStreamProtectionConfig,
};
use aws_smithy_http_client::tls::{self, rustls_provider::CryptoMode};
use icefield_storage::remote::{RemoteSettings, RemoteStorage, Renewed};
use icefield_storage::{
    Clock, Entropy, ObjectClass, Prefix, StorageError, SystemClock, SystemEntropy,
};

use crate::bucket::{Bucket, Labels};

pub use crate::bucket::Checksum;
use crate::credentials::{Asked, CredentialSource, Credentials, Fixed, Provider};
use crate::environment::Environment;

/// A kind of server that speaks S3 and differs from Amazon's in its defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preset {
    /// Amazon S3 itself.
    #[default]
    Aws,
    /// Cloudflare R2: region `auto`, path style.
    R2,
    /// Tigris: region `auto`, host style.
    Tigris,
    /// MinIO: path style.
    Minio,
    /// Ceph's object gateway: path style.
    Ceph,
}

/// Where the keys come from.
#[derive(Clone, Default)]
enum Identity {
    #[default]
    Anonymous,
    Source(Arc<dyn CredentialSource>),
}

/// The settings with which a bucket is opened.
#[derive(Clone)]
#[must_use = "nothing is opened before `open`"]
pub struct S3Builder {
    bucket: String,
    prefix: Prefix,
    preset: Preset,
    region: Option<String>,
    endpoint: Option<String>,
    path_style: Option<bool>,
    identity: Identity,
    requester_pays: bool,
    metadata: Labels,
    chunks: Labels,
    checksum: Option<Checksum>,
    read_headers: BTreeMap<String, String>,
    write_headers: BTreeMap<String, String>,
    connect_timeout: Duration,
    settings: RemoteSettings,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl S3Builder {
    /// Returns the settings of a bucket: anonymous, in `us-east-1`, with all its keys.
    pub fn new(bucket: impl Into<String>) -> Self {
        Self {
            bucket: bucket.into(),
            prefix: Prefix::all(),
            preset: Preset::default(),
            region: None,
            endpoint: None,
            path_style: None,
            identity: Identity::default(),
            requester_pays: false,
            metadata: Labels::default(),
            chunks: Labels::default(),
            checksum: None,
            read_headers: BTreeMap::new(),
            write_headers: BTreeMap::new(),
            connect_timeout: Duration::from_secs(5),
            settings: RemoteSettings::default(),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
        }
    }

    /// Limits the store to keys below a prefix, and hides the prefix.
    pub fn prefix(mut self, prefix: Prefix) -> Self {
        self.prefix = prefix;
        self
    }

    /// Sets the defaults of a kind of server.
    pub fn preset(mut self, preset: Preset) -> Self {
        self.preset = preset;
        self
    }

    /// Sets the region of the bucket. Default: `us-east-1`, or that of the preset.
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// Sets the URL of the server, `http://…` or `https://…`. Default: Amazon's server for the region.
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// Sets whether URLs have the bucket in their path instead of their host. Default: only with an endpoint.
    pub fn path_style(mut self, path_style: bool) -> Self {
        self.path_style = Some(path_style);
        self
    }

    /// Signs no request: for public buckets. The default.
    pub fn anonymous(mut self) -> Self {
        self.identity = Identity::Anonymous;
        self
    }

    /// Signs requests with a key, which is never renewed: once the store refuses it, requests fail. For temporary keys,
    /// give a [source](Self::credential_source).
    pub fn credentials(self, credentials: Credentials) -> Self {
        self.credential_source(Arc::new(Fixed(credentials)))
    }

    /// Signs requests with keys from a source. A key is renewed five minutes before it expires, or half-way there if it
    /// is valid for less than ten minutes. If the renewal fails, requests use the old key until it expires.
    pub fn credential_source(mut self, source: Arc<dyn CredentialSource>) -> Self {
        self.identity = Identity::Source(source);
        self
    }

    /// Takes credentials, region and endpoint from the environment, each only if it is not set yet.
    pub fn environment(mut self, environment: Environment) -> Self {
        if let (Identity::Anonymous, Some(credentials)) = (&self.identity, environment.credentials)
        {
            self = self.credentials(credentials);
        }
        self.region = self.region.or(environment.region);
        self.endpoint = self.endpoint.or(environment.endpoint);
        self
    }

    /// Agrees to pay for requests to a bucket of another owner. Such a bucket refuses requests without this agreement.
    pub fn requester_pays(mut self) -> Self {
        self.requester_pays = true;
        self
    }

    /// Sets the storage class of new objects of one kind, such as `STANDARD_IA`. Default: the bucket's.
    pub fn storage_class(mut self, class: ObjectClass, storage_class: impl Into<String>) -> Self {
        self.labels(class).storage_class = Some(storage_class.into());
        self
    }

    /// Sets a tag of new objects of one kind. Life-cycle rules of a bucket may act on tags: make sure that none deletes
    /// objects with this tag; [`Storage::advice`](icefield_storage::Storage::advice) looks for such rules.
    pub fn tag(
        mut self,
        class: ObjectClass,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        self.labels(class).tags.insert(name.into(), value.into());
        self
    }

    fn labels(&mut self, class: ObjectClass) -> &mut Labels {
        match class {
            ObjectClass::Metadata => &mut self.metadata,
            ObjectClass::Chunk => &mut self.chunks,
        }
    }

    /// Lets the store verify uploads by a digest, and verifies downloads of whole objects where the store kept one:
    /// these are then read in one request, not in parts. Default: none; servers other than Amazon's may not support it.
    pub fn checksum(mut self, checksum: Checksum) -> Self {
        self.checksum = Some(checksum);
        self
    }

    /// Sends a header with each request, reads and writes alike. A second value of one name replaces the first.
    /// [`open`](Self::open) refuses names and values that HTTP does not allow.
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let (name, value) = (name.into(), value.into());
        self.read_header(name.clone(), value.clone())
            .write_header(name, value)
    }

    /// Sends a header with each request that reads: of objects, and of lists.
    pub fn read_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.read_headers.insert(name.into(), value.into());
        self
    }

    /// Sends a header with each request that writes, such as one that chooses a key for encryption.
    pub fn write_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.write_headers.insert(name.into(), value.into());
        self
    }

    /// Sets the longest time that making a connection may take. Default 5 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the retries, time-outs, sizes of parts and number of requests in flight.
    pub fn settings(mut self, settings: RemoteSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the clock that waits between retries, and that tells when credentials expire. Default: [`SystemClock`].
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the source of randomness for pauses between retries and for write ids. Default: [`SystemEntropy`].
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// Opens the bucket. Sends no request: a wrong name or key shows with the first one.
    ///
    /// # Errors
    /// [`StorageError::Misconfigured`] for an empty bucket name, an invalid endpoint or an invalid header.
    pub fn open(self) -> Result<RemoteStorage, StorageError> {
        let store = self.name();
        let wrong = |setting, problem: &str| {
            Err(StorageError::Misconfigured {
                target: store.clone(),
                setting,
                problem: problem.to_owned(),
            })
        };
        if self.bucket.is_empty() || self.bucket.contains(['/', '?', '#', ' ']) {
            return wrong("bucket", "this is no name of a bucket");
        }
        let plain = match &self.endpoint {
            Some(url) if url.starts_with("http://") => true,
            Some(url) if !url.starts_with("https://") => {
                return wrong("endpoint", "it does not begin with http:// or https://");
            }
            Some(_) => false,
            None if self.preset == Preset::Aws => false,
            None => {
                return wrong(
                    "endpoint",
                    "a server that is not Amazon's has one of its own",
                );
            }
        };
        let authority = self
            .endpoint
            .as_deref()
            .and_then(|url| url.split('/').nth(2));
        if authority.is_some_and(|authority| authority.contains('@')) {
            return wrong(
                "endpoint",
                "it has a user in it, where there is no place for one",
            );
        }
        for (name, value) in self.read_headers.iter().chain(&self.write_headers) {
            if !is_header(name, value) {
                return wrong("headers", "one of them cannot be sent");
            }
        }
        let region = self.region.clone().unwrap_or_else(|| match self.preset {
            Preset::R2 | Preset::Tigris => "auto".to_owned(),
            _ => "us-east-1".to_owned(),
        });
        let path_style = self.path_style.unwrap_or(match self.preset {
            Preset::Aws => self.endpoint.is_some(),
            Preset::Tigris => false,
            Preset::R2 | Preset::Minio | Preset::Ceph => true,
        });
        let http = match plain {
            true => aws_smithy_http_client::Builder::new().build_http(),
            false => https(),
        };
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(self.connect_timeout)
            .build();
        let mut config = aws_sdk_s3::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(http)
            .region(Region::new(region))
            .force_path_style(path_style)
            // Trying again, and what stalls, is the business of one layer above.
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts)
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .request_checksum_calculation(match self.checksum {
                Some(_) => RequestChecksumCalculation::WhenSupported,
                None => RequestChecksumCalculation::WhenRequired,
            })
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
            .identity_cache(IdentityCache::no_cache());
        if let Some(endpoint) = &self.endpoint {
            config = config.endpoint_url(endpoint);
        }
        let renewed = match &self.identity {
            Identity::Anonymous => {
                config = config.allow_no_auth();
                None
            }
            Identity::Source(source) => {
                let clock = Arc::clone(&self.clock);
                let renewed = Arc::new(Renewed::new(Asked(Arc::clone(source)), clock));
                config = config.credentials_provider(Provider(Arc::clone(&renewed)));
                source.is_renewable().then_some(renewed)
            }
        };
        let bucket = Bucket {
            client: aws_sdk_s3::Client::from_conf(config.build()),
            name: store,
            place: format!(
                "s3:{}:{}/{}",
                self.endpoint.as_deref().unwrap_or("amazon"),
                self.bucket,
                self.prefix
            ),
            is_amazon: self.endpoint.is_none() && self.preset == Preset::Aws,
            bucket: self.bucket,
            prefix: self.prefix,
            credentials: renewed,
            requester_pays: self.requester_pays,
            metadata: self.metadata,
            chunks: self.chunks,
            checksum: self.checksum,
            read_headers: self.read_headers,
            write_headers: self.write_headers,
        };
        Ok(RemoteStorage::with_sources(
            bucket,
            self.settings,
            self.clock,
            self.entropy,
        ))
    }

    fn name(&self) -> String {
        match self.prefix.is_all() {
            true => format!("s3://{}", self.bucket),
            false => format!("s3://{}/{}", self.bucket, self.prefix),
        }
    }
}

/// A client for all but plain HTTP.
pub(crate) fn https() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new()
        .tls_provider(tls::Provider::Rustls(CryptoMode::Ring))
        .build_https()
}

fn is_header(name: &str, value: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty()
        && name.bytes().all(token)
        && value
            .bytes()
            .all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte))
}

impl fmt::Debug for S3Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Builder")
            .field("store", &self.name())
            .field("region", &self.region)
            .field("endpoint", &self.endpoint)
            .field("read_headers", &self.read_headers.keys())
            .field("write_headers", &self.write_headers.keys())
            .finish_non_exhaustive()
    }
}
