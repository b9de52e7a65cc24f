//! Access to virtual chunks that a user grants: a prefix of locations, and the credentials for objects below it.
//!
//! The facade decides where requests go and which parts of the repository's configuration apply, as for the command line. This
//! file supplies only the identities.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use icefield::format::VirtualLocation;
use icefield::storage::{BoxError, Storage};
use icefield::{GrantedBucket, Identity, VirtualAccess, grant_as};
use pyo3::prelude::*;
use serde::Deserialize;

use crate::errors::Failure;
use crate::storage::connect;
use crate::storage::description::{
    Azure, AzureIdentity, Gcs, GcsIdentity, Preset, S3, S3Identity, Settings, parse,
};
use crate::storage::functions::CredentialFunction;

/// The credentials with which objects below a prefix are read.
#[derive(Clone, Deserialize)]
#[serde(tag = "service", rename_all = "snake_case", deny_unknown_fields)]
enum Grant {
    /// Not specified: the credentials of the environment, or none.
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

/// Returns the access of grants. Each has a prefix with options as on the command line, credentials as JSON, and a function that
/// returns new credentials.
///
/// # Errors
/// If a prefix is invalid, or credentials are invalid or belong to another service than the prefix.
pub(crate) fn access(
    grants: Vec<(String, String, Option<Py<PyAny>>)>,
) -> Result<VirtualAccess, Failure> {
    let mut access = VirtualAccess::none();
    for (text, credentials, function) in grants {
        let prefix = text.split('?').next().unwrap_or_default();
        let location = VirtualLocation::parse_prefix(prefix).map_err(|rule| {
            Failure::new(
                "invalid-virtual-ref",
                format!("access to a prefix of virtual chunks cannot be granted: {rule}"),
            )
        })?;
        let credentials: Grant = parse(&credentials, "the credentials for virtual chunks")?;
        let (service, asked) = (location.service(), credentials.service());
        let fits = asked == "any" || asked == service || (asked == "http" && service == "https");
        if !fits {
            return Err(Failure::new(
                "invalid-credentials",
                format!("the credentials for {location} are of another service ({asked})"),
            ));
        }
        if credentials.needs_function() != function.is_some() {
            return Err(Failure::new(
                "invalid-credentials",
                format!("the credentials for {location} lack their function, or have one in vain"),
            ));
        }
        let identity = BucketIdentity {
            credentials,
            function: function.map(CredentialFunction::new),
        };
        access = grant_as(access, &text, Arc::new(identity))?;
    }
    Ok(access)
}

/// The identity of requests to a bucket.
#[derive(Clone)]
struct BucketIdentity {
    credentials: Grant,
    function: Option<CredentialFunction>,
}

impl fmt::Debug for BucketIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketIdentity")
            .field("service", &self.credentials.service())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Identity for BucketIdentity {
    fn signs(&self, bucket: &GrantedBucket) -> bool {
        match bucket.service {
            "s3" => !matches!(self.of_s3(bucket), S3Identity::Anonymous),
            "gs" => !matches!(self.of_gcs(bucket), GcsIdentity::Anonymous),
            _ => !matches!(self.of_azure(bucket), AzureIdentity::Anonymous),
        }
    }

    async fn open(&self, bucket: &GrantedBucket) -> Result<Arc<dyn Storage>, BoxError> {
        let function = self.function.as_ref();
        Ok(match bucket.service {
            "s3" => connect::s3(&self.s3(bucket)?, function, false).await?,
            "gs" => connect::gcs(&self.gcs(bucket), function).await?,
            _ => connect::azure(&self.azure(bucket), function)?,
        })
    }
}

impl BucketIdentity {
    /// Returns whether credentials of the environment may be used. Without an explicit choice of the caller, they go only to the
    /// default server, and to no public bucket.
    fn may_use_environment(bucket: &GrantedBucket) -> bool {
        bucket.endpoint.is_none() && bucket.preset.is_none() && !bucket.is_public
    }

    fn of_s3(&self, bucket: &GrantedBucket) -> S3Identity {
        match &self.credentials {
            Grant::S3 { identity } => identity.clone(),
            _ if Self::may_use_environment(bucket) => S3Identity::Environment,
            _ => S3Identity::Anonymous,
        }
    }

    fn of_gcs(&self, bucket: &GrantedBucket) -> GcsIdentity {
        match &self.credentials {
            Grant::Gcs { identity } => identity.clone(),
            _ if Self::may_use_environment(bucket) && has_google_credentials() => {
                GcsIdentity::Environment
            }
            _ => GcsIdentity::Anonymous,
        }
    }

    fn of_azure(&self, bucket: &GrantedBucket) -> AzureIdentity {
        match &self.credentials {
            Grant::Azure { identity } => identity.clone(),
            _ if Self::may_use_environment(bucket) && bucket.is_account_granted => {
                AzureIdentity::Environment
            }
            _ => AzureIdentity::Anonymous,
        }
    }

    fn s3(&self, bucket: &GrantedBucket) -> Result<S3, Failure> {
        let preset = match bucket.preset.as_deref() {
            None | Some("aws") => None,
            Some("r2") => Some(Preset::R2),
            Some("tigris") => Some(Preset::Tigris),
            // Each setting of these services is given explicitly.
            Some("minio" | "ceph") => None,
            Some(other) => {
                return Err(Failure::new(
                    "storage-config",
                    format!("there is no preset {other:?}; there are aws, r2, tigris, minio, ceph"),
                ));
            }
        };
        let by_path = matches!(bucket.preset.as_deref(), Some("minio" | "ceph"));
        Ok(S3 {
            bucket: bucket.name.clone(),
            prefix: bucket.prefix.clone(),
            region: bucket.region.clone(),
            endpoint: bucket.endpoint.clone(),
            // The reader has named the endpoint.
            allow_http: true,
            path_style: bucket.path_style.or(by_path.then_some(true)),
            preset,
            requester_pays: bucket.requester_pays,
            // Virtual chunks are only read, so no upload needs a digest.
            checksum: None,
            stall_timeout: bucket.stall_timeout.map(|time| time.as_secs()),
            read_headers: BTreeMap::new(),
            write_headers: BTreeMap::new(),
            read_only: true,
            credentials: self.of_s3(bucket),
            settings: Settings::default(),
        })
    }

    fn gcs(&self, bucket: &GrantedBucket) -> Gcs {
        Gcs {
            bucket: bucket.name.clone(),
            prefix: bucket.prefix.clone(),
            endpoint: bucket.endpoint.clone(),
            allow_http: true,
            user_project: bucket.user_project.clone(),
            credentials: self.of_gcs(bucket),
            settings: Settings::default(),
        }
    }

    fn azure(&self, bucket: &GrantedBucket) -> Azure {
        Azure {
            account: bucket.account.clone().unwrap_or_default(),
            container: bucket.name.clone(),
            prefix: bucket.prefix.clone(),
            endpoint: bucket.endpoint.clone(),
            allow_http: true,
            credentials: self.of_azure(bucket),
            settings: Settings::default(),
        }
    }
}

/// Returns whether this machine has a file with Google credentials.
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
