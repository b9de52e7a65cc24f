//! The identity of requests: none, a key, or a key that is renewed.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, future};
use icefield_storage::BoxError;
use icefield_storage::remote::{Renewed, Secret, SecretSource};

/// A key that signs requests, and optionally the time until which it is valid. `Debug` shows no secret.
#[derive(Clone)]
pub struct Credentials {
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
    pub(crate) session_token: Option<String>,
    pub(crate) expires: Option<SystemTime>,
}

impl Credentials {
    /// Returns a key that does not expire.
    pub fn new(access_key: impl Into<String>, secret_key: impl Into<String>) -> Self {
        Self {
            access_key: access_key.into(),
            secret_key: secret_key.into(),
            session_token: None,
            expires: None,
        }
    }

    /// Adds the token of a temporary session, which the store expects with keys from its identity service.
    #[must_use]
    pub fn with_session_token(mut self, token: impl Into<String>) -> Self {
        self.session_token = Some(token.into());
        self
    }

    /// Sets the time until which the key is valid. A [source](CredentialSource) is asked for another key before that
    /// time; a key that was given without a source stays in use until the store refuses it.
    #[must_use]
    pub fn with_expiry(mut self, expires: SystemTime) -> Self {
        self.expires = Some(expires);
        self
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("access_key", &self.access_key)
            .field("secret_key", &"…")
            .field("session_token", &self.session_token.as_ref().map(|_| "…"))
            .field("expires", &self.expires)
            .finish()
    }
}

/// A source of keys that expire: a vault, an identity service, a function of the user.
#[async_trait]
pub trait CredentialSource: fmt::Debug + Send + Sync + 'static {
    /// Returns a fresh key.
    ///
    /// # Errors
    /// Any error. Its text is shown to users, so it must hold no secret.
    async fn fetch(&self) -> Result<Credentials, BoxError>;

    /// Returns whether another call may give another key.
    fn is_renewable(&self) -> bool {
        true
    }
}

impl Secret for Credentials {
    fn expires(&self) -> Option<SystemTime> {
        self.expires
    }

    fn is_same(&self, _: &Self) -> bool {
        // A store says that a key has expired when its own clock is wrong, too: the same one is tried again, with pauses.
        false
    }
}

/// A source as the layer for all networks asks it.
#[derive(Debug)]
pub(crate) struct Asked(pub(crate) Arc<dyn CredentialSource>);

#[async_trait]
impl SecretSource<Credentials> for Asked {
    async fn fetch(&self) -> Result<Credentials, BoxError> {
        self.0.fetch().await
    }
}

/// The form in which the SDK asks.
#[derive(Clone, Debug)]
pub(crate) struct Provider(pub(crate) Arc<Renewed<Credentials>>);

impl ProvideCredentials for Provider {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async {
            match self.0.get().await {
                Ok(held) => Ok(aws_credential_types::Credentials::new(
                    held.access_key,
                    held.secret_key,
                    held.session_token,
                    // Whether it is renewed is decided here.
                    None,
                    "icefield",
                )),
                Err(error) => Err(CredentialsError::provider_error(error)),
            }
        })
    }
}

/// A key that never changes.
#[derive(Debug)]
pub(crate) struct Fixed(pub(crate) Credentials);

#[async_trait]
impl CredentialSource for Fixed {
    async fn fetch(&self) -> Result<Credentials, BoxError> {
        Ok(self.0.clone())
    }

    fn is_renewable(&self) -> bool {
        false
    }
}
