//! Keys as Amazon's own programs find them: a role of the machine, the container or the cluster, single sign-on, a
//! program named in a profile.

use std::error::Error;
use std::fmt;

use async_trait::async_trait;
use aws_config::default_provider::credentials::DefaultCredentialsChain;
use aws_config::provider_config::ProviderConfig;
use aws_credential_types::provider::ProvideCredentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_s3::config::Region;
use icefield_storage::BoxError;

use crate::builder::https;
use crate::credentials::{CredentialSource, Credentials};

/// Keys from the places where Amazon's programs look, in the same order. Keys are renewed before they expire.
///
/// The last place is the metadata service of a machine in Amazon's cloud; elsewhere no server answers there, and
/// finding that out takes a few seconds. `AWS_EC2_METADATA_DISABLED=true` leaves it out.
pub struct Ambient(DefaultCredentialsChain);

impl Ambient {
    /// Returns the chain of places. Sends no request. `region` is that of the services that hand out keys.
    pub async fn new(region: Option<String>) -> Self {
        let config = ProviderConfig::without_region().with_http_client(https());
        let chain = DefaultCredentialsChain::builder().configure(config);
        let chain = match region {
            Some(region) => chain.region(Region::new(region)),
            None => chain,
        };
        Self(chain.build().await)
    }

    /// Returns the chain of places if one of them has a key, `None` if none was ever set up.
    ///
    /// # Errors
    /// The error of a place that is set up: a session that has ended, or a service that refuses.
    pub async fn find(region: Option<String>) -> Result<Option<Self>, BoxError> {
        let chain = Self::new(region).await;
        match chain.0.provide_credentials().await {
            Ok(_) => Ok(Some(chain)),
            Err(CredentialsError::CredentialsNotLoaded(_)) => Ok(None),
            Err(error) => Err(answer_of(&error)),
        }
    }
}

#[async_trait]
impl CredentialSource for Ambient {
    async fn fetch(&self) -> Result<Credentials, BoxError> {
        let found = self.0.provide_credentials().await;
        let found = found.map_err(|error| answer_of(&error))?;
        let mut credentials = Credentials::new(found.access_key_id(), found.secret_access_key());
        if let Some(token) = found.session_token() {
            credentials = credentials.with_session_token(token);
        }
        if let Some(expires) = found.expiry() {
            credentials = credentials.with_expiry(expires);
        }
        Ok(credentials)
    }
}

/// All that is said of an error, in one line.
fn answer_of(error: &CredentialsError) -> BoxError {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text.into()
}

impl fmt::Debug for Ambient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ambient")
    }
}
