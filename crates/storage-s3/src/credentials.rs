//! Who asks: nobody, a key, or a key that is renewed.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, future};
use icefield_storage::{BoxError, Clock};
use tokio::sync::Mutex;

/// Credentials are renewed so long before they expire.
const EARLY: Duration = Duration::from_secs(300);

/// A key, and perhaps until when it is good. `Debug` shows no secret.
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

    /// Returns the key with the token of a temporary session.
    #[must_use]
    pub fn with_session_token(mut self, token: impl Into<String>) -> Self {
        self.session_token = Some(token.into());
        self
    }

    /// Returns the key with the time when it ceases to be good.
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

/// Something that hands out keys that expire: a vault, an identity service, a function of the user.
#[async_trait]
pub trait CredentialSource: fmt::Debug + Send + Sync + 'static {
    /// Returns a fresh key.
    ///
    /// # Errors
    /// Whatever went wrong. Its text is shown to users: no secret belongs there.
    async fn fetch(&self) -> Result<Credentials, BoxError>;

    /// Returns whether another call may give another key.
    fn is_renewable(&self) -> bool {
        true
    }
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
#[error("the credentials could not be renewed: {0}")]
pub struct CredentialError(String);

/// A key in use.
struct Held {
    credentials: Credentials,
    /// From then on a new one is asked for.
    renew_at: Option<SystemTime>,
    /// Its name.
    generation: u64,
}

/// A key that is renewed before it expires, by one task however many ask.
pub(crate) struct Renewed {
    source: Arc<dyn CredentialSource>,
    clock: Arc<dyn Clock>,
    held: Mutex<Option<Held>>,
    /// Counts the keys that the store did not take any more.
    stale: AtomicU64,
}

impl Renewed {
    pub(crate) fn new(source: Arc<dyn CredentialSource>, clock: Arc<dyn Clock>) -> Self {
        Self {
            source,
            clock,
            held: Mutex::new(None),
            stale: AtomicU64::new(0),
        }
    }

    /// Whether asking again may give another key.
    pub(crate) fn can_be_renewed(&self) -> bool {
        self.source.is_renewable()
    }

    /// Names the key that is in use now.
    pub(crate) fn generation(&self) -> u64 {
        self.stale.load(Ordering::SeqCst)
    }

    /// Says that the store did not take the key of that name: the next request fetches another, once.
    pub(crate) fn refused(&self, generation: u64) {
        let next = generation + 1;
        let _ = self
            .stale
            .compare_exchange(generation, next, Ordering::SeqCst, Ordering::SeqCst);
    }

    async fn get(&self) -> Result<Credentials, CredentialError> {
        let mut held = self.held.lock().await;
        let (generation, now) = (self.generation(), self.clock.now());
        let current = held.as_ref().filter(|held| held.generation == generation);
        if let Some(held) = current
            && held.renew_at.is_none_or(|renew| now < renew)
        {
            return Ok(held.credentials.clone());
        }
        match self.source.fetch().await {
            Ok(credentials) => {
                let renew_at = credentials.expires.map(|expires| renewal(now, expires));
                *held = Some(Held {
                    credentials: credentials.clone(),
                    renew_at,
                    generation,
                });
                Ok(credentials)
            }
            Err(error) => match current {
                // Not needed yet: the next request tries again.
                Some(held) if held.credentials.expires.is_none_or(|expires| now < expires) => {
                    tracing::warn!(%error, "credentials that expire soon could not be renewed");
                    Ok(held.credentials.clone())
                }
                _ => Err(CredentialError(error.to_string())),
            },
        }
    }
}

/// When a key is renewed: some minutes before its end, or half-way there if it is short-lived.
fn renewal(now: SystemTime, expires: SystemTime) -> SystemTime {
    let life = expires.duration_since(now).unwrap_or(Duration::ZERO);
    now + life.saturating_sub(EARLY).max(life / 2)
}

impl fmt::Debug for Renewed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Renewed").field(&self.source).finish()
    }
}

/// The form in which the SDK asks.
#[derive(Clone, Debug)]
pub(crate) struct Provider(pub(crate) Arc<Renewed>);

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
