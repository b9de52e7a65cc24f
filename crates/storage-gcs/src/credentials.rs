//! The identity of requests: none, a token, a token that is renewed, or that of this machine.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use google_cloud_auth::credentials::{
    CacheableResource, Credentials, CredentialsProvider, EntityTag,
};
use google_cloud_auth::errors::CredentialsError;
use http::header::{AUTHORIZATION, HeaderValue};
use http::{Extensions, HeaderMap};
use icefield_storage::BoxError;
use icefield_storage::remote::{Renewed, Secret, SecretSource};

/// A bearer token, and optionally the time until which it is valid. `Debug` does not show it.
#[derive(Clone)]
pub struct Token {
    secret: String,
    expires: Option<SystemTime>,
}

impl Token {
    /// Returns a token that does not expire.
    pub fn new(secret: impl Into<String>) -> Self {
        let (secret, expires) = (secret.into(), None);
        Self { secret, expires }
    }

    /// Sets the time until which the token is valid. A [source](TokenSource) is asked for another token before that
    /// time; a token that was given without a source stays in use until the store refuses it.
    #[must_use]
    pub fn with_expiry(mut self, expires: SystemTime) -> Self {
        self.expires = Some(expires);
        self
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("secret", &"…")
            .field("expires", &self.expires)
            .finish()
    }
}

/// A source of tokens that expire: a vault, an identity service, a function of the user.
#[async_trait]
pub trait TokenSource: fmt::Debug + Send + Sync + 'static {
    /// Returns a fresh token.
    ///
    /// # Errors
    /// Any error. Its text is shown to users, so it must hold no secret.
    async fn fetch(&self) -> Result<Token, BoxError>;
}

/// A token that never changes.
#[derive(Debug)]
pub(crate) struct Fixed(pub(crate) Token);

#[async_trait]
impl TokenSource for Fixed {
    async fn fetch(&self) -> Result<Token, BoxError> {
        Ok(self.0.clone())
    }
}

/// A token as it is sent.
#[derive(Clone)]
pub(crate) struct Sent {
    headers: HeaderMap,
    tag: EntityTag,
    expires: Option<SystemTime>,
}

impl Sent {
    fn of(token: &Token) -> Result<Self, BoxError> {
        let value = HeaderValue::from_str(&format!("Bearer {}", token.secret));
        // The cause would show the token.
        let mut value = value.map_err(|_| "the token has characters that cannot be sent")?;
        value.set_sensitive(true);
        Ok(Self {
            headers: HeaderMap::from_iter([(AUTHORIZATION, value)]),
            tag: EntityTag::new(),
            expires: token.expires,
        })
    }
}

impl Secret for Sent {
    fn expires(&self) -> Option<SystemTime> {
        self.expires
    }

    fn is_same(&self, other: &Self) -> bool {
        self.headers == other.headers
    }
}

/// A source as the layer for all networks asks it.
#[derive(Debug)]
pub(crate) struct Asked(pub(crate) Arc<dyn TokenSource>);

#[async_trait]
impl SecretSource<Sent> for Asked {
    async fn fetch(&self) -> Result<Sent, BoxError> {
        Sent::of(&self.0.fetch().await?)
    }
}

/// The form in which the client asks.
#[derive(Clone, Debug)]
pub(crate) struct Provider(pub(crate) Arc<Renewed<Sent>>);

impl CredentialsProvider for Provider {
    async fn headers(
        &self,
        extensions: Extensions,
    ) -> Result<CacheableResource<HeaderMap>, CredentialsError> {
        let held = self.0.get().await;
        let held = held.map_err(|error| CredentialsError::from_msg(false, error.to_string()))?;
        if extensions.get::<EntityTag>() == Some(&held.tag) {
            return Ok(CacheableResource::NotModified);
        }
        Ok(CacheableResource::New {
            entity_tag: held.tag,
            data: held.headers,
        })
    }

    async fn universe_domain(&self) -> Option<String> {
        None
    }
}

/// Returns anonymous credentials.
pub(crate) fn anonymous() -> Credentials {
    google_cloud_auth::credentials::anonymous::Builder::new().build()
}

/// Tokens that are renewed.
pub(crate) type Tokens = Arc<Renewed<Sent>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tokens_are_not_shown() {
        let renewed = |secret| {
            let clock = Arc::new(icefield_storage::SystemClock);
            Arc::new(Renewed::new(
                Asked(Arc::new(Fixed(Token::new(secret)))),
                clock,
            ))
        };
        let good = renewed("SECRET");
        let sent = good.get().await.expect("a token");
        assert_eq!(sent.headers[AUTHORIZATION], "Bearer SECRET");
        let shown = format!("{good:?} {:?} {:?}", sent.headers, Token::new("SECRET"));
        assert!(!shown.contains("SECRET"), "{shown}");
        let provider = Provider(renewed("SECRET\n"));
        let error = match provider.headers(Extensions::new()).await {
            Ok(_) => panic!("this cannot be sent"),
            Err(error) => error,
        };
        assert!(!error.is_transient());
        assert!(!format!("{error} {error:?}").contains("SECRET"));
    }
}
