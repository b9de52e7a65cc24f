//! How the HTTP clients of `object_store` are set up: no retries, no time-outs of their own, no redirects.

use std::time::Duration;

use crate::public::PublicOnly;
#[cfg(feature = "http")]
use crate::public::is_public;
use icefield_storage::StorageError;
use object_store::client::{HttpClient, HttpConnector};
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, RetryConfig};

/// How long making a connection may take.
pub(crate) const CONNECT: Duration = Duration::from_secs(5);

/// Each request is tried once: trying again is the business of the layer above.
pub(crate) fn tried_once() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: 0,
        retry_timeout: Duration::ZERO,
    }
}

/// Returns the options of a client; `plain`: without TLS.
pub(crate) fn options(plain: bool) -> ClientOptions {
    choose_tls();
    ClientOptions::new()
        .with_allow_http(plain)
        .with_connect_timeout(CONNECT)
        // Its time-out would cut long bodies; what stalls is found out above.
        .with_timeout_disabled()
}

/// Makes the clients. Those that `object_store` makes go where a redirect leads, and tell the server there, in
/// `Referer`, the query of the URL that led there: a signature, or a token.
#[derive(Clone, Debug, Default)]
pub(crate) struct Straight {
    /// Names that lead into this machine, or the network around it, lead nowhere.
    pub(crate) public_only: bool,
    /// Sent with each request, in the place of those that the client has itself.
    pub(crate) headers: reqwest::header::HeaderMap,
    /// The longest time that making a connection may take. Default: [`CONNECT`].
    pub(crate) connect_timeout: Option<Duration>,
}

impl Straight {
    /// Makes the client; `plain`: also without TLS.
    pub(crate) fn client(&self, plain: bool) -> reqwest::Result<reqwest::Client> {
        let mut client = reqwest::Client::builder();
        if self.public_only {
            // A proxy would look the names up.
            client = client.dns_resolver(PublicOnly).no_proxy();
        }
        client
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .user_agent(concat!("icefield/", env!("CARGO_PKG_VERSION")))
            .https_only(!plain)
            .default_headers(self.headers.clone())
            .connect_timeout(self.connect_timeout.unwrap_or(CONNECT))
            // An answer that is compressed on the way does not say how large the object is.
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .build()
    }
}

impl HttpConnector for Straight {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let plain = options.get_config_value(&ClientConfigKey::AllowHttp);
        let client = self.client(plain.as_deref() == Some("true"));
        let client = client.map_err(|error| object_store::Error::Generic {
            store: "HTTP client",
            source: Box::new(error),
        })?;
        Ok(HttpClient::new(client))
    }
}

/// The client panics where no implementation of TLS is chosen. One that was chosen before stays.
pub(crate) fn choose_tls() {
    let _chosen_before = rustls::crypto::ring::default_provider().install_default();
}

/// Returns whether a URL is one without TLS.
///
/// # Errors
/// [`StorageError::Misconfigured`] if it is neither `http://` nor `https://`.
pub(crate) fn is_plain(
    url: &str,
    target: &str,
    setting: &'static str,
) -> Result<bool, StorageError> {
    match url {
        url if url.starts_with("http://") => Ok(true),
        url if url.starts_with("https://") => Ok(false),
        _ => Err(StorageError::Misconfigured {
            target: target.to_owned(),
            setting,
            problem: "it does not begin with http:// or https://".to_owned(),
        }),
    }
}

/// Refuses a URL with a user in it, which errors and logs would show.
///
/// # Errors
/// [`StorageError::Misconfigured`], without the URL.
pub(crate) fn check_no_user(
    url: &str,
    target: &str,
    setting: &'static str,
) -> Result<(), StorageError> {
    match authority(url).contains('@') {
        true => Err(StorageError::Misconfigured {
            target: target.to_owned(),
            setting,
            problem: "it has a user in it".to_owned(),
        }),
        false => Ok(()),
    }
}

/// Returns whether a URL leads into this machine or the network around it, or has a user, as the client reads it: there
/// are many spellings of one address.
#[cfg(feature = "http")]
pub(crate) fn leads_inside(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else {
        return true;
    };
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let inside = match host.parse() {
        Ok(address) => !is_public(address),
        Err(_) => matches!(host.trim_end_matches('.'), "" | "localhost"),
    };
    inside || !url.username().is_empty() || url.password().is_some()
}

/// Returns the host of a URL, without its port and without brackets.
#[cfg(feature = "azure")]
fn host(url: &str) -> &str {
    let authority = authority(url);
    let inner = authority
        .strip_prefix('[')
        .and_then(|it| it.split_once(']'));
    match inner {
        Some((host, _)) => host,
        None => authority.split(':').next().unwrap_or_default(),
    }
}

fn authority(url: &str) -> &str {
    let parts = url.split(['/', '\\', '?', '#']).nth(2);
    parts.unwrap_or_default()
}

/// Returns whether others may read along: no TLS, and not this machine itself.
#[cfg(feature = "azure")]
pub(crate) fn is_open(url: &str) -> bool {
    let host = host(url);
    let address = host.parse::<std::net::IpAddr>();
    let here = host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|it| it.is_loopback());
    url.starts_with("http://") && !here
}

/// Returns the error of a client that could not be made. Its text may quote what it was given: no cause.
pub(crate) fn not_made(target: &str, setting: &'static str) -> StorageError {
    StorageError::Misconfigured {
        target: target.to_owned(),
        setting,
        problem: "no client can be made of it".to_owned(),
    }
}

/// Returns a URL without what may be secret: a query, or a user and a password.
pub(crate) fn shown(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (host, path) = match rest.split_once('/') {
        Some((host, path)) => (host, format!("/{path}")),
        None => (rest, String::new()),
    };
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}
