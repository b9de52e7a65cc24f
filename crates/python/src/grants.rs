//! Access to virtual chunks, as a user grants it: a prefix of locations, and the credentials for what lies below it.
//!
//! Where a bucket is (its region, its endpoint, its account) is what the configuration of the repository says of the
//! container. Credentials that a user names for a prefix go there; those of the environment, which nobody named, go to
//! no endpoint that only the repository knows.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use icefield::format::VirtualLocation;
use icefield::format::config::{HttpOptions, S3Options, VirtualChunkContainer, VirtualStore};
use icefield::storage::{BoxError, Storage};
use icefield::{LocalStorage, OpenContainer, VirtualAccess};
use pyo3::prelude::*;
use serde::Deserialize;
use url::{Host, Url};

use crate::errors::Failure;
use crate::storage::connect;
use crate::storage::description::{
    Azure, AzureIdentity, Gcs, GcsIdentity, Http, Preset, S3, S3Identity, Settings, parse,
    prefix_of,
};
use crate::storage::functions::Function;

/// Who asks for what lies below a prefix.
#[derive(Clone, Deserialize)]
#[serde(tag = "service", rename_all = "snake_case", deny_unknown_fields)]
enum Grant {
    /// Nobody said: the environment, or nobody.
    Any {},
    S3 {
        identity: S3Identity,
    },
    Gcs {
        identity: GcsIdentity,
    },
    Azure {
        identity: AzureIdentity,
    },
    Local {},
    Http {},
}

impl Grant {
    fn service(&self) -> &'static str {
        match self {
            Self::Any {} => "any",
            Self::S3 { .. } => "s3",
            Self::Gcs { .. } => "gs",
            Self::Azure { .. } => "az",
            Self::Local {} => "file",
            Self::Http {} => "http",
        }
    }

    fn needs_function(&self) -> bool {
        matches!(
            self,
            Self::S3 {
                identity: S3Identity::Function
            } | Self::Gcs {
                identity: GcsIdentity::Function
            } | Self::Azure {
                identity: AzureIdentity::Function
            }
        )
    }
}

/// Returns the access of grants: prefix, credentials as JSON, and a function that gives new ones.
///
/// # Errors
/// A prefix that is none, and credentials that are none, or not of the service of the prefix.
pub(crate) fn access(
    grants: Vec<(String, String, Option<Py<PyAny>>)>,
) -> Result<VirtualAccess, Failure> {
    let mut access = VirtualAccess::none();
    for (prefix, credentials, function) in grants {
        let wrong = |problem: String| Failure::new("invalid-virtual-ref", problem);
        let location = VirtualLocation::parse_prefix(&prefix).map_err(|rule| {
            wrong(format!(
                "access to a prefix of virtual chunks cannot be granted: {rule}"
            ))
        })?;
        let grant: Grant = parse(&credentials, "the credentials for virtual chunks")?;
        let (service, asked) = (location.service(), grant.service());
        let fits = asked == "any" || asked == service || (asked == "http" && service == "https");
        if !fits {
            return Err(Failure::new(
                "invalid-credentials",
                format!("the credentials for {location} are of another service ({asked})"),
            ));
        }
        if grant.needs_function() != function.is_some() {
            return Err(Failure::new(
                "invalid-credentials",
                format!("the credentials for {location} lack their function, or have one in vain"),
            ));
        }
        let place = Place {
            location,
            grant,
            function: function.map(Function::new),
        };
        access = access
            .grant(&prefix, Arc::new(place))
            .map_err(|rule| wrong(format!("access to {prefix} cannot be granted: {rule}")))?;
    }
    Ok(access)
}

/// A prefix and who asks for what lies below it.
#[derive(Clone)]
struct Place {
    location: VirtualLocation,
    grant: Grant,
    function: Option<Function>,
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("location", &self.location.as_str())
            .field("service", &self.grant.service())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl OpenContainer for Place {
    async fn open(&self, container: &VirtualChunkContainer) -> Result<Arc<dyn Storage>, BoxError> {
        let function = self.function.as_ref();
        let opened = match self.location.service() {
            "file" => self.local(),
            "s3" => connect::s3(&self.s3(&container.store)?, function, false).await,
            "gs" => connect::gcs(&self.gcs(&container.store)?, function).await,
            "az" => connect::azure(&self.azure(&container.store)?, function),
            _ => connect::http(&self.http(&container.store)?),
        };
        Ok(opened?)
    }
}

impl Place {
    fn local(&self) -> Result<Arc<dyn Storage>, Failure> {
        let root = format!("/{}", self.location.decoded_path());
        let storage = LocalStorage::builder(root)
            .read_only(true)
            .create_root(false);
        Ok(Arc::new(storage.open()?))
    }

    fn s3(&self, store: &VirtualStore) -> Result<S3, Failure> {
        let nothing = S3Options::default();
        let options = match store {
            VirtualStore::S3(options)
            | VirtualStore::S3Compatible(options)
            | VirtualStore::Tigris(options) => options,
            _ => &nothing,
        };
        let tigris = matches!(store, VirtualStore::Tigris(_)) || self.location.scheme() == "tigris";
        let endpoint = options.endpoint_url.clone();
        let credentials = match &self.grant {
            Grant::S3 { identity } => identity.clone(),
            _ if options.anonymous == Some(true) || endpoint.is_some() || tigris => {
                S3Identity::Anonymous
            }
            _ => S3Identity::Environment,
        };
        if let Some(region) = &options.region
            && !is_label(region)
        {
            return Err(self.wrong("region", "it is no name of one"));
        }
        Ok(S3 {
            bucket: self.location.host().to_owned(),
            prefix: prefix_of(&self.location),
            region: options.region.clone(),
            endpoint,
            allow_http: options.allow_http == Some(true),
            path_style: options.force_path_style.filter(|it| *it),
            preset: tigris.then_some(Preset::Tigris),
            requester_pays: options.requester_pays == Some(true),
            // Nothing is written, and no upload has a digest.
            checksum: None,
            stall_timeout: options.network_stream_timeout_seconds.map(u64::from),
            read_headers: BTreeMap::new(),
            write_headers: BTreeMap::new(),
            read_only: true,
            credentials,
            settings: Settings::default(),
        })
    }

    fn gcs(&self, store: &VirtualStore) -> Result<Gcs, Failure> {
        let nothing = BTreeMap::new();
        let options = match store {
            VirtualStore::Gcs(options) => options,
            _ => &nothing,
        };
        let mut gcs = Gcs {
            bucket: self.location.host().to_owned(),
            prefix: prefix_of(&self.location),
            endpoint: None,
            allow_http: false,
            user_project: None,
            credentials: GcsIdentity::Anonymous,
            settings: Settings::default(),
        };
        let mut anonymous = false;
        for (name, value) in options {
            match plain_name(name, "google_").as_str() {
                "base_url" | "endpoint" => gcs.endpoint = Some(value.clone()),
                "allow_http" => gcs.allow_http = is_true(value),
                "user_project" => gcs.user_project = Some(value.clone()),
                "skip_signature" => anonymous = is_true(value),
                "bucket" | "bucket_name" if *value == gcs.bucket => {}
                _ => return Err(self.unknown(name)),
            }
        }
        gcs.credentials = match &self.grant {
            Grant::Gcs { identity } => {
                let asked = !matches!(identity, GcsIdentity::Anonymous);
                let is_environment = matches!(identity, GcsIdentity::Environment);
                self.check_endpoint(gcs.endpoint.as_deref(), asked, is_environment)?;
                identity.clone()
            }
            _ if anonymous || gcs.endpoint.is_some() || !has_google_credentials() => {
                GcsIdentity::Anonymous
            }
            _ => GcsIdentity::Environment,
        };
        Ok(gcs)
    }

    fn azure(&self, store: &VirtualStore) -> Result<Azure, Failure> {
        let nothing = BTreeMap::new();
        let options = match store {
            VirtualStore::Azure(options) => options,
            _ => &nothing,
        };
        let mut azure = Azure {
            account: String::new(),
            container: self.location.host().to_owned(),
            prefix: prefix_of(&self.location),
            endpoint: None,
            allow_http: false,
            credentials: AzureIdentity::Anonymous,
            settings: Settings::default(),
        };
        let mut anonymous = false;
        for (name, value) in options {
            match plain_name(name, "azure_").trim_start_matches("storage_") {
                "account" | "account_name" => azure.account.clone_from(value),
                "endpoint" => azure.endpoint = Some(value.clone()),
                "allow_http" => azure.allow_http = is_true(value),
                "skip_signature" => anonymous = is_true(value),
                "container" | "container_name" if *value == azure.container => {}
                _ => return Err(self.unknown(name)),
            }
        }
        if !is_label(&azure.account) {
            let problem = "there is none: make the container with azure_store(account=…)";
            return Err(self.wrong("account", problem));
        }
        azure.credentials = match &self.grant {
            Grant::Azure { identity } => {
                let asked = !matches!(identity, AzureIdentity::Anonymous);
                let is_environment = matches!(identity, AzureIdentity::Environment);
                self.check_endpoint(azure.endpoint.as_deref(), asked, is_environment)?;
                identity.clone()
            }
            _ if anonymous || azure.endpoint.is_some() => AzureIdentity::Anonymous,
            _ => AzureIdentity::Environment,
        };
        Ok(azure)
    }

    fn http(&self, store: &VirtualStore) -> Result<Http, Failure> {
        let nothing = HttpOptions::default();
        let options = match store {
            VirtualStore::Http(options) => options,
            _ => &nothing,
        };
        let mut http = Http {
            url: self.location.to_string(),
            headers: options.headers.clone(),
            settings: Settings::default(),
        };
        for (name, value) in &options.options {
            let time = || {
                millis(value).ok_or_else(|| self.wrong(name, "it is no time such as 5s or 300ms"))
            };
            match name.as_str() {
                "timeout" => http.settings.operation_attempt_timeout_ms = Some(time()?),
                "connect_timeout" => http.settings.connect_timeout_ms = Some(time()?),
                "read_timeout" => http.settings.read_timeout_ms = Some(time()?),
                "user_agent" => {
                    http.headers.insert("user-agent".to_owned(), value.clone());
                }
                "allow_http" if is_true(value) || self.location.scheme() == "https" => {}
                "allow_http" => {
                    let problem = "it is http://, which allow_http must allow: set it to true";
                    return Err(self.wrong(name, problem));
                }
                _ => return Err(self.unknown(name)),
            }
        }
        Ok(http)
    }

    /// Tokens can be used by whoever sees them. So they go to an endpoint that the repository names only if they were
    /// named for it, and never in clear text through a network.
    fn check_endpoint(
        &self,
        endpoint: Option<&str>,
        asked: bool,
        is_environment: bool,
    ) -> Result<(), Failure> {
        let Some(endpoint) = endpoint.filter(|_| asked) else {
            return Ok(());
        };
        if is_environment {
            let problem = "only the repository knows it, and credentials of the environment do not go there: give the \
                           credentials for it by value, or anonymous ones";
            return Err(self.wrong("endpoint", problem));
        }
        if is_in_clear_text(endpoint) {
            let problem = "it is http://, and credentials do not go through a network in clear text: use https://";
            return Err(self.wrong("endpoint", problem));
        }
        Ok(())
    }

    fn unknown(&self, option: &str) -> Failure {
        self.wrong(
            option,
            "it is not supported: take it out of the options of the virtual chunk container",
        )
    }

    fn wrong(&self, option: &str, problem: &str) -> Failure {
        let option = option.escape_debug();
        Failure::new(
            "storage-config",
            format!(
                "the virtual chunk container {}: {option}: {problem}",
                self.location
            ),
        )
    }
}

/// Whether others see what is sent to a URL: neither encrypted nor for this machine alone.
fn is_in_clear_text(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else {
        return false;
    };
    let stays_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "http" && !stays_here
}

/// The name of an option without what it may begin with.
fn plain_name(name: &str, beginning: &str) -> String {
    let name = name.to_ascii_lowercase();
    name.strip_prefix(beginning).unwrap_or(&name).to_owned()
}

fn is_true(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "true" | "1" | "yes" | "on" | "y"
    )
}

/// A name that can be a part of the name of a server.
fn is_label(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !text.is_empty() && text.bytes().all(plain)
}

/// Whether somebody has set up credentials of Google on this machine, in a file.
fn has_google_credentials() -> bool {
    if std::env::var_os("GOOGLE_APPLICATION_CREDENTIALS").is_some_and(|it| !it.is_empty()) {
        return true;
    }
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from);
    home.is_some_and(|home| {
        home.join(".config/gcloud/application_default_credentials.json")
            .exists()
    })
}

/// The milliseconds of a time such as `5s`, `1m 30s`, `300 ms`.
fn millis(text: &str) -> Option<u64> {
    let mut total = 0_u64;
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|it: char| !it.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest
            .find(|it: char| !it.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" | "msec" | "millis" => 1,
            "s" | "sec" | "secs" | "second" | "seconds" => 1000,
            "m" | "min" | "mins" | "minute" | "minutes" => 60_000,
            "h" | "hr" | "hour" | "hours" => 3_600_000,
            _ => return None,
        };
        total = total.checked_add(number.checked_mul(unit)?)?;
        rest = rest[letters..].trim_start();
    }
    Some(total)
}
