//! The builder that opens a bucket.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use futures::future::BoxFuture;
use google_cloud_auth::credentials::Credentials;
use google_cloud_gax::retry_policy::NeverRetry;
use google_cloud_storage::client::{Storage as Data, StorageControl};
use google_cloud_storage::read_resume_policy::NeverResume;
use icefield_storage::remote::{RemoteSettings, RemoteStorage, Renewed};
use icefield_storage::{
    Clock, Entropy, ObjectClass, Prefix, StorageError, SystemClock, SystemEntropy,
};

use crate::bucket::Bucket;
use crate::credentials::{Asked, Fixed, Provider, Token, TokenSource, Tokens, anonymous};

/// The unit of which the parts of an upload are multiples.
const QUANTUM: u64 = 256 << 10;

/// The identity that requests have.
#[derive(Clone, Default)]
enum Identity {
    #[default]
    Anonymous,
    Machine,
    Tokens(Arc<dyn TokenSource>),
    /// The contents of a file of credentials.
    File(String),
}

/// The settings with which a bucket is opened.
#[derive(Clone)]
#[must_use = "nothing is opened before `open`"]
pub struct GcsBuilder {
    bucket: String,
    prefix: Prefix,
    endpoint: Option<String>,
    identity: Identity,
    user_project: Option<String>,
    metadata_class: Option<String>,
    chunk_class: Option<String>,
    settings: RemoteSettings,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl GcsBuilder {
    /// Returns the settings of a bucket: anonymous, with all its keys.
    pub fn new(bucket: impl Into<String>) -> Self {
        Self {
            bucket: bucket.into(),
            prefix: Prefix::all(),
            endpoint: None,
            identity: Identity::default(),
            user_project: None,
            metadata_class: None,
            chunk_class: None,
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

    /// Sets the URL of the server, `http://…` or `https://…`, for both interfaces of the service. Default: Google's.
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// Sends no credentials: for public buckets. The default.
    pub fn anonymous(mut self) -> Self {
        self.identity = Identity::Anonymous;
        self
    }

    /// Uses the identity of this machine: the application default credentials of Google, from the file that
    /// `GOOGLE_APPLICATION_CREDENTIALS` names, the files of `gcloud`, or the metadata server. If
    /// `STORAGE_EMULATOR_HOST` names an emulator and no endpoint is set yet, requests go to the emulator, anonymously.
    pub fn environment(self) -> Self {
        let emulator = std::env::var("STORAGE_EMULATOR_HOST").ok();
        self.environment_with(emulator)
    }

    fn environment_with(mut self, emulator: Option<String>) -> Self {
        let emulator = emulator.filter(|host| !host.is_empty() && self.endpoint.is_none());
        let Some(host) = emulator else {
            self.identity = Identity::Machine;
            return self;
        };
        let host = host.trim_end_matches('/');
        self.endpoint = Some(match host.contains("://") {
            true => host.to_owned(),
            false => format!("http://{host}"),
        });
        self.anonymous()
    }

    /// Sends a bearer token. It is not renewed: once the store refuses it, requests fail. Tokens of Google expire after
    /// an hour; for longer work, give a [source](Self::token_source) or a [file](Self::credentials_file).
    pub fn token(self, token: impl Into<String>) -> Self {
        self.token_source(Arc::new(Fixed(Token::new(token))))
    }

    /// Sends tokens from a source. A token is renewed five minutes before it expires, or half-way there if it is
    /// valid for less than ten minutes. If the renewal fails, requests use the old token until it expires.
    pub fn token_source(mut self, source: Arc<dyn TokenSource>) -> Self {
        self.identity = Identity::Tokens(source);
        self
    }

    /// Uses the identity in a file of credentials: `json` is its text, such as the key of a service account that
    /// Google's console hands out, or what `gcloud auth application-default login` keeps. Tokens are renewed.
    pub fn credentials_file(mut self, json: impl Into<String>) -> Self {
        self.identity = Identity::File(json.into());
        self
    }

    /// Sets the project that pays for the requests, for buckets whose owner does not pay.
    pub fn user_project(mut self, project: impl Into<String>) -> Self {
        self.user_project = Some(project.into());
        self
    }

    /// Sets the storage class of new objects of one kind, such as `NEARLINE`. Default: the bucket's.
    pub fn storage_class(mut self, class: ObjectClass, storage_class: impl Into<String>) -> Self {
        match class {
            ObjectClass::Metadata => self.metadata_class = Some(storage_class.into()),
            ObjectClass::Chunk => self.chunk_class = Some(storage_class.into()),
        }
        self
    }

    /// Sets the retries, time-outs, sizes of parts and number of requests in flight.
    pub fn settings(mut self, settings: RemoteSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the clock that waits between retries, and that tells when tokens expire. Default: [`SystemClock`].
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the source of randomness for pauses between retries and for write ids. Default: [`SystemEntropy`].
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// Opens the bucket. Sends no request. It must be called on the runtime that is to serve its connections.
    ///
    /// # Errors
    /// [`StorageError::Misconfigured`] for an invalid bucket name, an invalid endpoint, or credentials that the
    /// environment does not have.
    pub fn open(self) -> BoxFuture<'static, Result<RemoteStorage, StorageError>> {
        // Boxed here: each crate that awaited the future itself would compile the client of Google once more.
        Box::pin(self.connect())
    }

    async fn connect(self) -> Result<RemoteStorage, StorageError> {
        let store = self.name();
        let wrong = |setting, problem: &str| StorageError::Misconfigured {
            target: store.clone(),
            setting,
            problem: problem.to_owned(),
        };
        if self.bucket.is_empty() || self.bucket.contains(['/', '?', '#', ' ']) {
            return Err(wrong("bucket", "this is no name of a bucket"));
        }
        let schemes = ["http://", "https://"];
        if let Some(url) = &self.endpoint
            && !schemes.iter().any(|scheme| url.starts_with(scheme))
        {
            let problem = "it does not begin with http:// or https://";
            return Err(wrong("endpoint", problem));
        }
        if let Some(url) = &self.endpoint {
            let authority = url.split(['/', '\\', '?', '#']).nth(2);
            if authority.unwrap_or_default().contains('@') {
                return Err(wrong("endpoint", "it has a user in it"));
            }
            if matches!(self.identity, Identity::Machine | Identity::File(_)) && is_open(url) {
                let problem = "it is http://, and the token of this machine would go there in clear text: \
                               make it https://, or ask as `anonymous`";
                return Err(wrong("endpoint", problem));
            }
        }
        if let Some(project) = &self.user_project
            && http::HeaderValue::from_str(project).is_err()
        {
            return Err(wrong("user_project", "this is no name of a project"));
        }
        // The client panics where no implementation of TLS is chosen. One that was chosen before stays.
        let _chosen_before = rustls::crypto::ring::default_provider().install_default();
        let (credentials, renewed) = self
            .credentials()
            .map_err(|problem| wrong("credentials", &problem))?;
        // Trying again, and taking up what broke off, is the business of one layer above.
        let mut data = Data::builder()
            .with_credentials(credentials.clone())
            .with_retry_policy(NeverRetry)
            .with_read_resume_policy(NeverResume);
        let mut control = StorageControl::builder()
            .with_credentials(credentials)
            .with_retry_policy(NeverRetry);
        if let Some(endpoint) = &self.endpoint {
            data = data.with_endpoint(endpoint);
            control = control.with_endpoint(endpoint);
        }
        let no_client = |error: google_cloud_gax::client_builder::Error| {
            let problem = format!("no client can be made for it: {error}");
            wrong("endpoint", &problem)
        };
        let data = data.build().await.map_err(no_client)?;
        let control = control.build().await.map_err(no_client)?;
        let part = self.settings.part_bytes.max(QUANTUM) / QUANTUM * QUANTUM;
        let bucket = Bucket {
            data,
            control,
            place: format!(
                "gcs:{}:{}/{}",
                self.endpoint.as_deref().unwrap_or("google"),
                self.bucket,
                self.prefix
            ),
            resource: format!("projects/_/buckets/{}", self.bucket),
            name: store,
            prefix: self.prefix,
            is_google: self.endpoint.is_none(),
            credentials: renewed,
            user_project: self.user_project,
            metadata_class: self.metadata_class,
            chunk_class: self.chunk_class,
            buffer: usize::try_from(part).unwrap_or(QUANTUM as usize),
        };
        Ok(RemoteStorage::with_sources(
            bucket,
            self.settings,
            self.clock,
            self.entropy,
        ))
    }

    fn credentials(&self) -> Result<(Credentials, Option<Tokens>), String> {
        Ok(match &self.identity {
            Identity::Anonymous => (anonymous(), None),
            Identity::Machine => {
                let found = google_cloud_auth::credentials::Builder::default().build();
                let found = found.map_err(|error| format!("this machine has none: {error}"))?;
                (found, None)
            }
            Identity::File(json) => (of_file(json)?, None),
            Identity::Tokens(source) => {
                let clock = Arc::clone(&self.clock);
                let renewed = Arc::new(Renewed::new(Asked(Arc::clone(source)), clock));
                let provider = Provider(Arc::clone(&renewed));
                (Credentials::from(provider), Some(renewed))
            }
        })
    }

    fn name(&self) -> String {
        match self.prefix.is_all() {
            true => format!("gs://{}", self.bucket),
            false => format!("gs://{}/{}", self.bucket, self.prefix),
        }
    }
}

/// Returns the credentials that the text of a file holds. Errors do not quote it.
fn of_file(json: &str) -> Result<Credentials, String> {
    use google_cloud_auth::credentials::{
        external_account, impersonated, service_account, user_account,
    };

    let value: serde_json::Value =
        serde_json::from_str(json).map_err(|_| "the file of credentials is no JSON".to_owned())?;
    let kind = value.get("type").and_then(serde_json::Value::as_str);
    let built = match kind {
        Some("service_account") => service_account::Builder::new(value).build(),
        Some("authorized_user") => user_account::Builder::new(value).build(),
        Some("impersonated_service_account") => impersonated::Builder::new(value).build(),
        Some("external_account") => external_account::Builder::new(value).build(),
        _ => {
            return Err(
                "the file of credentials has no `type` that is known: service_account, authorized_user, \
                 impersonated_service_account, external_account"
                    .to_owned(),
            );
        }
    };
    built.map_err(|_| "the file of credentials is incomplete, or its key is none".to_owned())
}

/// Returns whether others may read along: no TLS, and not this machine itself.
fn is_open(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else {
        return false;
    };
    let authority = rest.split(['/', '\\', '?', '#']).next();
    let authority = authority.unwrap_or_default();
    let host = match authority
        .strip_prefix('[')
        .and_then(|it| it.split_once(']'))
    {
        Some((host, _)) => host,
        None => authority.split(':').next().unwrap_or_default(),
    };
    let address = host.parse::<IpAddr>();
    !host.eq_ignore_ascii_case("localhost") && !address.is_ok_and(|it| it.is_loopback())
}

/// Returns a URL without what may be secret: a user and a password.
fn shown(url: &str) -> &str {
    match url.contains('@') {
        true => "…",
        false => url,
    }
}

impl fmt::Debug for GcsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GcsBuilder")
            .field("store", &self.name())
            .field("endpoint", &self.endpoint.as_deref().map(shown))
            .field("user_project", &self.user_project)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tokens_are_not_shown() {
        let builder = GcsBuilder::new("ocean").token("SECRET");
        assert!(!format!("{builder:?}").contains("SECRET"));
        let storage = builder.open().await.expect("opened");
        assert!(!format!("{storage:?}{storage}").contains("SECRET"));
        assert_eq!(storage.to_string(), "gs://ocean");
    }

    #[tokio::test]
    async fn files_of_credentials_are_read_and_not_shown() {
        let user = r#"{"type": "authorized_user", "client_id": "c", "client_secret": "SECRET",
            "refresh_token": "SECRET"}"#;
        let builder = GcsBuilder::new("ocean").credentials_file(user);
        assert!(!format!("{builder:?}").contains("SECRET"));
        let storage = builder.open().await.expect("opened");
        assert!(!format!("{storage:?}{storage}").contains("SECRET"));
        for wrong in [
            "SECRET",
            r#"{"private_key": "SECRET"}"#,
            r#"{"type": "service_account", "private_key": "SECRET"}"#,
        ] {
            let error = GcsBuilder::new("ocean")
                .credentials_file(wrong)
                .open()
                .await;
            let error = format!("{:?}", error.expect_err("no credentials"));
            assert!(
                error.contains("credentials") && !error.contains("SECRET"),
                "{error}"
            );
        }
        let open = GcsBuilder::new("ocean")
            .endpoint("http://host.org")
            .credentials_file(user);
        assert!(open.open().await.is_err());
    }

    #[test]
    fn an_emulator_is_asked_by_nobody() {
        let with = |builder: GcsBuilder, host: &str| {
            let builder = builder.environment_with(Some(host.to_owned()));
            let is_anonymous = matches!(builder.identity, Identity::Anonymous);
            (builder.endpoint, is_anonymous)
        };
        let at = |url: &str| Some(url.to_owned());
        let plain = || GcsBuilder::new("ocean");
        assert_eq!(with(plain(), ""), (None, false));
        assert_eq!(
            with(plain(), "localhost:9023"),
            (at("http://localhost:9023"), true)
        );
        assert_eq!(with(plain(), "https://gcs/"), (at("https://gcs"), true));
        // Where an endpoint is named already, the variable is about something else.
        let elsewhere = plain().endpoint("http://there");
        assert_eq!(
            with(elsewhere, "localhost:9023"),
            (at("http://there"), false)
        );
    }

    #[tokio::test]
    async fn wrong_settings_are_named() {
        for (builder, wanted) in [
            (GcsBuilder::new(""), "bucket"),
            (GcsBuilder::new("a/b"), "bucket"),
            (GcsBuilder::new("a").endpoint("ftp://x"), "endpoint"),
            (
                GcsBuilder::new("a").endpoint("https://me:SECRET@host"),
                "endpoint",
            ),
            (
                GcsBuilder::new("a")
                    .endpoint("http://host.org:80/")
                    .environment_with(None),
                "endpoint",
            ),
            (GcsBuilder::new("a").user_project("x\n"), "user_project"),
        ] {
            assert!(!format!("{builder:?}").contains("SECRET"));
            match builder.open().await {
                Err(StorageError::Misconfigured {
                    setting, problem, ..
                }) => {
                    assert_eq!(setting, wanted);
                    assert!(!problem.contains("SECRET"), "{problem}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn only_this_machine_is_asked_in_clear_text() {
        for url in [
            "https://host.org",
            "http://localhost:9023",
            "http://127.0.0.1/x",
            "http://[::1]:80",
        ] {
            assert!(!is_open(url), "{url}");
        }
        for url in [
            "http://host.org",
            "http://10.0.0.1:80",
            "http://localhost.host.org",
            "http://[fd00::1]",
            "http://127.1",
        ] {
            assert!(is_open(url), "{url}");
        }
    }
}
