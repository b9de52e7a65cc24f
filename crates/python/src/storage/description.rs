//! Descriptions of stores, which the Python code writes. A description with an unknown field is refused.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::errors::Failure;

/// The location of a store, and the identity of requests to it.
#[derive(Clone, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Description {
    Memory {},
    Local {
        path: PathBuf,
        #[serde(default)]
        locks: Locks,
    },
    S3(S3),
    Gcs(Gcs),
    Azure(Azure),
    Http(Http),
    Redirect {
        url: String,
    },
}

/// Whether the locks of a file system count as effective on other machines.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Locks {
    #[default]
    Detect,
    Trusted,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct S3 {
    pub(crate) bucket: String,
    #[serde(default)]
    pub(crate) prefix: String,
    pub(crate) region: Option<String>,
    pub(crate) endpoint: Option<String>,
    #[serde(default)]
    pub(crate) allow_http: bool,
    pub(crate) path_style: Option<bool>,
    pub(crate) preset: Option<Preset>,
    #[serde(default)]
    pub(crate) requester_pays: bool,
    pub(crate) checksum: Option<String>,
    /// In seconds; 0 for no limit.
    pub(crate) stall_timeout: Option<u64>,
    #[serde(default)]
    pub(crate) read_headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) write_headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) read_only: bool,
    pub(crate) credentials: S3Identity,
    #[serde(default)]
    pub(crate) settings: Settings,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Preset {
    R2,
    Tigris,
}

#[derive(Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum S3Identity {
    Anonymous,
    Environment,
    Static(S3Key),
    Function,
}

/// A key, which a credential function returns in the same form.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct S3Key {
    pub(crate) access_key_id: String,
    pub(crate) secret_access_key: String,
    pub(crate) session_token: Option<String>,
    /// In microseconds since 1970.
    pub(crate) expires_after: Option<u64>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gcs {
    pub(crate) bucket: String,
    #[serde(default)]
    pub(crate) prefix: String,
    pub(crate) endpoint: Option<String>,
    #[serde(default)]
    pub(crate) allow_http: bool,
    pub(crate) user_project: Option<String>,
    pub(crate) credentials: GcsIdentity,
    #[serde(default)]
    pub(crate) settings: Settings,
}

#[derive(Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum GcsIdentity {
    Anonymous,
    Environment,
    /// The path of a file with credentials.
    File {
        path: PathBuf,
    },
    /// The text of such a file.
    Key {
        json: String,
    },
    Static(GcsToken),
    Function,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GcsToken {
    pub(crate) bearer: String,
    /// In microseconds since 1970.
    pub(crate) expires_after: Option<u64>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Azure {
    pub(crate) account: String,
    pub(crate) container: String,
    #[serde(default)]
    pub(crate) prefix: String,
    pub(crate) endpoint: Option<String>,
    #[serde(default)]
    pub(crate) allow_http: bool,
    pub(crate) credentials: AzureIdentity,
    #[serde(default)]
    pub(crate) settings: Settings,
}

#[derive(Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum AzureIdentity {
    Anonymous,
    Environment,
    Static(AzureKey),
    Client {
        tenant: String,
        client: String,
        secret: String,
    },
    Function,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AzureKey {
    pub(crate) form: AzureForm,
    pub(crate) secret: String,
    /// In microseconds since 1970.
    pub(crate) expires_after: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AzureForm {
    AccessKey,
    SasToken,
    BearerToken,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Http {
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) settings: Settings,
}

/// Settings of a network store. The backend's default applies to absent ones.
#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    pub(crate) max_tries: Option<u32>,
    pub(crate) initial_backoff_ms: Option<u64>,
    pub(crate) max_backoff_ms: Option<u64>,
    pub(crate) connect_timeout_ms: Option<u64>,
    pub(crate) read_timeout_ms: Option<u64>,
    pub(crate) operation_timeout_ms: Option<u64>,
    pub(crate) operation_attempt_timeout_ms: Option<u64>,
    pub(crate) max_concurrent_requests_for_object: Option<usize>,
    pub(crate) ideal_concurrent_request_size: Option<u64>,
    pub(crate) minimum_size_for_multipart_upload: Option<u64>,
    pub(crate) metadata_storage_class: Option<String>,
    pub(crate) chunks_storage_class: Option<String>,
}

impl Settings {
    /// Returns the settings in the section `storage` of a configuration. A value of the wrong type counts as unset.
    pub(super) fn of_configuration(storage: &Value) -> Self {
        let part = |name: &str| storage.get(name).unwrap_or(&Value::Null);
        let number = |section: &str, name: &str| part(section).get(name).and_then(Value::as_u64);
        let text = |name: &str| part(name).as_str().map(str::to_owned);
        let class = text("storage_class");
        Self {
            max_tries: number("retries", "max_tries").and_then(|it| it.try_into().ok()),
            initial_backoff_ms: number("retries", "initial_backoff_ms"),
            max_backoff_ms: number("retries", "max_backoff_ms"),
            connect_timeout_ms: number("timeouts", "connect_timeout_ms"),
            read_timeout_ms: number("timeouts", "read_timeout_ms"),
            operation_timeout_ms: number("timeouts", "operation_timeout_ms"),
            operation_attempt_timeout_ms: number("timeouts", "operation_attempt_timeout_ms"),
            max_concurrent_requests_for_object: number(
                "concurrency",
                "max_concurrent_requests_for_object",
            )
            .and_then(|it| it.try_into().ok()),
            ideal_concurrent_request_size: number("concurrency", "ideal_concurrent_request_size"),
            minimum_size_for_multipart_upload: part("minimum_size_for_multipart_upload").as_u64(),
            metadata_storage_class: text("metadata_storage_class").or_else(|| class.clone()),
            chunks_storage_class: text("chunks_storage_class").or(class),
        }
    }

    /// Returns these settings, completed with the others.
    fn over(&self, others: &Self) -> Self {
        Self {
            max_tries: self.max_tries.or(others.max_tries),
            initial_backoff_ms: self.initial_backoff_ms.or(others.initial_backoff_ms),
            max_backoff_ms: self.max_backoff_ms.or(others.max_backoff_ms),
            connect_timeout_ms: self.connect_timeout_ms.or(others.connect_timeout_ms),
            read_timeout_ms: self.read_timeout_ms.or(others.read_timeout_ms),
            operation_timeout_ms: self.operation_timeout_ms.or(others.operation_timeout_ms),
            operation_attempt_timeout_ms: self
                .operation_attempt_timeout_ms
                .or(others.operation_attempt_timeout_ms),
            max_concurrent_requests_for_object: self
                .max_concurrent_requests_for_object
                .or(others.max_concurrent_requests_for_object),
            ideal_concurrent_request_size: self
                .ideal_concurrent_request_size
                .or(others.ideal_concurrent_request_size),
            minimum_size_for_multipart_upload: self
                .minimum_size_for_multipart_upload
                .or(others.minimum_size_for_multipart_upload),
            metadata_storage_class: self
                .metadata_storage_class
                .clone()
                .or_else(|| others.metadata_storage_class.clone()),
            chunks_storage_class: self
                .chunks_storage_class
                .clone()
                .or_else(|| others.chunks_storage_class.clone()),
        }
    }
}

impl Description {
    /// Returns the description completed with settings; `None` if that changes nothing.
    pub(super) fn with_settings(&self, settings: &Settings) -> Option<Self> {
        let mut changed = self.clone();
        let own = match &mut changed {
            Self::S3(it) => &mut it.settings,
            Self::Gcs(it) => &mut it.settings,
            Self::Azure(it) => &mut it.settings,
            Self::Http(it) => &mut it.settings,
            Self::Memory {} | Self::Local { .. } | Self::Redirect { .. } => return None,
        };
        let both = own.over(settings);
        if both == *own {
            return None;
        }
        *own = both;
        Some(changed)
    }

    /// # Errors
    /// If the text is not a description. The error does not quote the text, which may hold secrets.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        parse(text, "the description of a storage")
    }

    pub(super) fn needs_function(&self) -> bool {
        match self {
            Self::S3(it) => matches!(it.credentials, S3Identity::Function),
            Self::Gcs(it) => matches!(it.credentials, GcsIdentity::Function),
            Self::Azure(it) => matches!(it.credentials, AzureIdentity::Function),
            _ => false,
        }
    }

    /// Returns the name of the storage, without parts that may be secret.
    pub(super) fn name(&self) -> String {
        let below = |place: String, prefix: &str| match prefix {
            "" => place,
            prefix => format!("{place}/{prefix}"),
        };
        match self {
            Self::Memory {} => "memory:".to_owned(),
            Self::Local { path, .. } => path.display().to_string(),
            Self::S3(it) => below(format!("s3://{}", it.bucket), &it.prefix),
            Self::Gcs(it) => below(format!("gs://{}", it.bucket), &it.prefix),
            Self::Azure(it) => below(format!("az://{}/{}", it.account, it.container), &it.prefix),
            Self::Http(Http { url, .. }) => shown(url),
            Self::Redirect { url } => format!("redirect+{}", shown(url)),
        }
    }
}

/// Parses a document that the Python code wrote.
///
/// # Errors
/// If the document is invalid. The error does not quote the text, which may hold secrets.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let place = (error.line(), error.column());
        let problem = match error.classify() {
            serde_json::error::Category::Data => "a field is unknown or missing",
            _ => "it is not JSON",
        };
        Failure::new(
            "storage-config",
            format!("{what} cannot be read: {problem} (at {place:?})"),
        )
    })
}

/// Returns a URL without the parts that may be secret: user, query, fragment.
pub(crate) fn shown(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else {
        return "…".to_owned();
    };
    let (host, path) = match rest.split_once('/') {
        Some((host, path)) => (host, format!("/{path}")),
        None => (rest, String::new()),
    };
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}
