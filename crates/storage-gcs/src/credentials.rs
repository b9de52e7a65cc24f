//! Who asks: nobody, a token, a token that is renewed, or whoever this machine is.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use google_cloud_auth::credentials::{
    CacheableResource, Credentials, CredentialsProvider, EntityTag,
};
use google_cloud_auth::errors::CredentialsError;
use http::header::{AUTHORIZATION, HeaderValue};
use http::{Extensions, HeaderMap};
use icefield_storage::{BoxError, Clock};
use tokio::sync::Mutex;

/// A token is renewed so long before it expires.
const EARLY: Duration = Duration::from_secs(300);

/// A bearer token, and perhaps until when it is good. `Debug` does not show it.
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

    /// Returns the token with the time when it ceases to be good.
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

/// Something that hands out tokens that expire: a vault, an identity service, a function of the user.
#[async_trait]
pub trait TokenSource: fmt::Debug + Send + Sync + 'static {
    /// Returns a fresh token.
    ///
    /// # Errors
    /// Whatever went wrong. Its text is shown to users: no secret belongs there.
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

/// A token in use, as it is sent.
#[derive(Clone)]
struct Held {
    headers: HeaderMap,
    tag: EntityTag,
    expires: Option<SystemTime>,
    /// From then on a new one is asked for.
    renew_at: Option<SystemTime>,
}

/// A token that is renewed before it expires, by one task however many ask.
pub(crate) struct Renewed {
    source: Arc<dyn TokenSource>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    held: Option<Held>,
    /// What the store did not take: the same once more is not worth a request.
    refused: Option<HeaderMap>,
}

impl Renewed {
    pub(crate) fn new(source: Arc<dyn TokenSource>, clock: Arc<dyn Clock>) -> Self {
        Self {
            source,
            clock,
            state: Mutex::new(State::default()),
        }
    }

    /// Names the token that a request will be sent with; `None` if there is none.
    pub(crate) async fn in_use(&self) -> Option<EntityTag> {
        self.get().await.ok().map(|held| held.tag)
    }

    /// Says that the store did not take the token of that name: the next request fetches another. Those that were
    /// sent with it meanwhile change nothing any more.
    pub(crate) async fn refused(&self, tag: Option<&EntityTag>) {
        let mut state = self.state.lock().await;
        if state.held.as_ref().map(|held| &held.tag) == tag
            && let Some(held) = state.held.take()
        {
            state.refused = Some(held.headers);
        }
    }

    async fn get(&self) -> Result<Held, CredentialsError> {
        let mut state = self.state.lock().await;
        let now = self.clock.now();
        if let Some(held) = &state.held
            && held.renew_at.is_none_or(|renew| now < renew)
        {
            return Ok(held.clone());
        }
        let fetched = match self.source.fetch().await {
            Ok(token) => sendable(&token, now),
            Err(error) => Err(error.to_string()),
        };
        match (fetched, &state.held) {
            (Ok(fresh), _) if state.refused.as_ref() == Some(&fresh.headers) => {
                let problem = "the store does not accept the token, and there is no other";
                Err(CredentialsError::from_msg(false, problem))
            }
            (Ok(fresh), _) => {
                state.held = Some(fresh.clone());
                Ok(fresh)
            }
            // Not needed yet: the next request tries again.
            (Err(error), Some(held)) if held.expires.is_none_or(|expires| now < expires) => {
                tracing::warn!(error, "a token that expires soon could not be renewed");
                Ok(held.clone())
            }
            (Err(error), _) => Err(CredentialsError::from_msg(false, error)),
        }
    }
}

fn sendable(token: &Token, now: SystemTime) -> Result<Held, String> {
    let value = HeaderValue::from_str(&format!("Bearer {}", token.secret));
    // The cause would show the token.
    let mut value = value.map_err(|_| "the token has characters that cannot be sent".to_owned())?;
    value.set_sensitive(true);
    Ok(Held {
        headers: HeaderMap::from_iter([(AUTHORIZATION, value)]),
        tag: EntityTag::new(),
        expires: token.expires,
        renew_at: token.expires.map(|expires| renewal(now, expires)),
    })
}

/// When a token is renewed: some minutes before its end, or half-way there if it is short-lived.
fn renewal(now: SystemTime, expires: SystemTime) -> SystemTime {
    let life = expires.duration_since(now).unwrap_or_default();
    now + life.saturating_sub(EARLY).max(life / 2)
}

impl fmt::Debug for Renewed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Renewed").field(&self.source).finish()
    }
}

/// The form in which the client asks.
#[derive(Clone, Debug)]
pub(crate) struct Provider(pub(crate) Arc<Renewed>);

impl CredentialsProvider for Provider {
    async fn headers(
        &self,
        extensions: Extensions,
    ) -> Result<CacheableResource<HeaderMap>, CredentialsError> {
        let held = self.0.get().await?;
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

/// Returns the credentials of nobody.
pub(crate) fn nobody() -> Credentials {
    google_cloud_auth::credentials::anonymous::Builder::new().build()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::UNIX_EPOCH;

    use icefield_storage::ManualClock;

    use super::*;

    /// Hands out tokens that are good for an hour, until it is told to fail.
    #[derive(Debug)]
    struct Counting {
        clock: ManualClock,
        fetched: AtomicU32,
        good: AtomicU32,
    }

    #[async_trait]
    impl TokenSource for Counting {
        async fn fetch(&self) -> Result<Token, BoxError> {
            tokio::task::yield_now().await;
            let number = self.fetched.fetch_add(1, Ordering::SeqCst);
            if number >= self.good.load(Ordering::SeqCst) {
                return Err("the vault is closed".into());
            }
            let expires = self.clock.now() + Duration::from_secs(3600);
            Ok(Token::new(format!("SECRET-{number}")).with_expiry(expires))
        }
    }

    fn renewed() -> (Arc<Counting>, Arc<Renewed>, ManualClock) {
        let clock = ManualClock::new(UNIX_EPOCH + Duration::from_secs(1_000_000));
        let source = Arc::new(Counting {
            clock: clock.clone(),
            fetched: AtomicU32::new(0),
            good: AtomicU32::new(u32::MAX),
        });
        let shared: Arc<dyn TokenSource> = Arc::<Counting>::clone(&source);
        let renewed = Arc::new(Renewed::new(shared, Arc::new(clock.clone())));
        (source, renewed, clock)
    }

    async fn sent(renewed: &Renewed) -> String {
        let held = renewed.get().await.expect("a token");
        let value = held.headers[AUTHORIZATION].to_str().expect("text");
        value.to_owned()
    }

    #[tokio::test]
    async fn one_task_renews_however_many_ask() {
        let (source, renewed, clock) = renewed();
        let all = futures::future::join_all((0..20).map(|_| sent(&renewed))).await;
        assert!(all.iter().all(|token| token == "Bearer SECRET-0"));
        clock.advance(Duration::from_secs(3300));
        let all = futures::future::join_all((0..20).map(|_| sent(&renewed))).await;
        assert!(all.iter().all(|token| token == "Bearer SECRET-1"));
        assert_eq!(source.fetched.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_refused_token_is_replaced_once() {
        let (source, renewed, _) = renewed();
        sent(&renewed).await;
        let tag = renewed.in_use().await;
        renewed.refused(tag.as_ref()).await;
        assert_eq!(sent(&renewed).await, "Bearer SECRET-1");
        // Another request was sent with the first token, too.
        renewed.refused(tag.as_ref()).await;
        assert_eq!(sent(&renewed).await, "Bearer SECRET-1");
        assert_eq!(source.fetched.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_token_that_is_still_good_outlives_a_closed_vault() {
        let (source, renewed, clock) = renewed();
        sent(&renewed).await;
        source.good.store(0, Ordering::SeqCst);
        clock.advance(Duration::from_secs(3400));
        assert_eq!(sent(&renewed).await, "Bearer SECRET-0");
        clock.advance(Duration::from_secs(300));
        let error = match renewed.get().await {
            Ok(_) => panic!("the token has expired"),
            Err(error) => error,
        };
        assert!(!error.is_transient());
        assert!(error.to_string().contains("the vault is closed"), "{error}");
    }

    #[tokio::test]
    async fn tokens_are_not_shown() {
        let (_, renewed, _) = renewed();
        let held = renewed.get().await.expect("a token");
        let shown = format!("{renewed:?} {:?} {:?}", held.headers, Token::new("SECRET"));
        assert!(!shown.contains("SECRET"), "{shown}");
        let source = Arc::new(Fixed(Token::new("SECRET\n")));
        let renewed = Renewed::new(source, Arc::new(icefield_storage::SystemClock));
        let error = match renewed.get().await {
            Ok(_) => panic!("this cannot be sent"),
            Err(error) => error,
        };
        assert!(!format!("{error} {error:?}").contains("SECRET"));
    }
}
