//! A bucket that a grant leads to.

use std::time::Duration;

use icefield_storage::remote::RemoteSettings;

use crate::{Location, LocationError};

/// A connection may be silent for so long where the repository sets no limit.
const NO_LIMIT: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// A bucket that a grant leads to, and the prefix in it. The endpoint and the fields that cost money come from the
/// reader's grant only; region, style of paths and time-outs may come from the repository's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrantedBucket {
    /// The scheme of the service: `s3`, `gs` or `az`.
    pub service: &'static str,
    /// The storage account, of Azure only.
    pub account: Option<String>,
    /// Whether the reader named the account. Credentials go to no other one.
    pub is_account_granted: bool,
    /// The bucket, or the container of Azure.
    pub name: String,
    /// The granted path in the bucket, decoded, without slashes at its ends; empty for all of it.
    pub prefix: String,
    /// The URL of the service, if it is not the default one of the provider.
    pub endpoint: Option<String>,
    /// The region of the bucket, as `eu-west-1`; of S3 only.
    pub region: Option<String>,
    /// Whether requests name the bucket in the path instead of the name of the server.
    pub path_style: Option<bool>,
    /// The kind of server: `aws`, `r2`, `tigris`, `minio`, `ceph`.
    pub preset: Option<String>,
    /// Whether the reader pays for requests, of S3.
    pub requester_pays: bool,
    /// The project that pays for requests, of Google Cloud Storage.
    pub user_project: Option<String>,
    /// Whether the repository's configuration says that requests need no signature.
    pub is_public: bool,
    /// The longest time without a byte after which a body is given up; zero for no limit.
    pub stall_timeout: Option<Duration>,
    /// The prefix as URLs have it.
    pub(super) path: String,
}

impl GrantedBucket {
    /// The settings of its connections: defaults, but for what the repository says of time.
    pub(super) fn settings(&self) -> RemoteSettings {
        let mut settings = RemoteSettings::default();
        match self.stall_timeout {
            None => {}
            Some(Duration::ZERO) => settings.stall_timeout = NO_LIMIT,
            Some(time) => settings.stall_timeout = time,
        }
        settings
    }

    /// The location of the bucket, as this crate opens it.
    pub(super) fn location(&self) -> Result<Location, LocationError> {
        let (service, name, path) = (self.service, &self.name, &self.path);
        let place = match &self.account {
            Some(account) => format!("{service}://{account}/{name}/{path}"),
            None => format!("{service}://{name}/{path}"),
        };
        let on = |is_on: bool| is_on.then(|| "true".to_owned());
        let options = [
            ("endpoint", self.endpoint.clone()),
            ("region", self.region.clone()),
            ("path_style", self.path_style.map(|it| it.to_string())),
            ("preset", self.preset.clone()),
            ("requester_pays", on(self.requester_pays)),
            ("user_project", self.user_project.clone()),
        ];
        let options: Vec<String> = options
            .iter()
            .filter_map(|(name, value)| Some(format!("{name}={}", encoded(value.as_ref()?))))
            .collect();
        Location::parse(&match options.is_empty() {
            true => place,
            false => format!("{place}?{}", options.join("&")),
        })
    }
}

pub(super) fn is_true(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    matches!(value.as_str(), "true" | "1" | "yes" | "on" | "y")
}

fn encoded(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~:/".contains(&byte);
    let mut text = String::new();
    for byte in value.bytes() {
        match plain(byte) {
            true => text.push(char::from(byte)),
            false => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}
