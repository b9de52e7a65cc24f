//! Keys that expire: renewed before they do, by one task however many ask.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use tokio::sync::Mutex;

use crate::{BoxError, Clock};

/// A key is renewed so long before it expires.
const EARLY: Duration = Duration::from_secs(300);

/// A credential that may expire.
pub trait Secret: Clone + Send + Sync + 'static {
    /// Returns the time at which the store stops accepting the credential; `None` if it does not expire.
    fn expires(&self) -> Option<SystemTime>;

    /// Returns whether the credential equals `other`, which the store has just refused: a request with it would be refused,
    /// too.
    fn is_same(&self, other: &Self) -> bool;
}

/// A source of credentials, such as the environment, a file or a metadata service.
#[async_trait]
pub trait SecretSource<S>: fmt::Debug + Send + Sync + 'static {
    /// Returns a fresh key.
    ///
    /// # Errors
    /// Any error. Its text is shown to users, so it must hold no secret.
    async fn fetch(&self) -> Result<S, BoxError>;
}

/// The reason why there is no credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoSecret(String);

/// A key in use.
struct Held<S> {
    secret: S,
    /// From then on a new one is asked for.
    renew_at: Option<SystemTime>,
    /// Its name: 1 for the first key, one more for each that came after it.
    number: u64,
}

/// A credential that is renewed before it expires. Requests that run at the same time share one renewal.
pub struct Renewed<S> {
    source: Box<dyn SecretSource<S>>,
    clock: Arc<dyn Clock>,
    held: Mutex<Option<Held<S>>>,
    /// The name of the key in use; 0 before the first.
    current: AtomicU64,
    /// The name of the last key that the store did not take; 0 for none.
    refused: AtomicU64,
}

impl<S: Secret> Renewed<S> {
    /// Returns the credentials of a source; `clock` tells when they expire.
    pub fn new(source: impl SecretSource<S>, clock: Arc<dyn Clock>) -> Self {
        Self {
            source: Box::new(source),
            clock,
            held: Mutex::new(None),
            current: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// Returns the number of the credential in use, which grows with each renewal.
    pub fn generation(&self) -> u64 {
        self.current.load(Ordering::SeqCst)
    }

    /// Reports that the store refused the credential of that number: the next request fetches another, once. A report
    /// about a credential that has been replaced meanwhile changes nothing.
    pub fn refused(&self, generation: u64) {
        // A request that was sent before there was any key was sent with the first.
        let generation = generation.max(1);
        if self.generation() == generation {
            self.refused.store(generation, Ordering::SeqCst);
        }
    }

    /// Returns a credential that is valid, as far as this process knows.
    ///
    /// # Errors
    /// The source fails, or has only the credential that the store has refused. This call sets no time-out: a caller
    /// that drops the future lets the next one ask.
    pub async fn get(&self) -> Result<S, NoSecret> {
        let mut held = self.held.lock().await;
        let now = self.clock.now();
        let refused = self.refused.load(Ordering::SeqCst);
        let current = held.as_ref().filter(|held| held.number != refused);
        if let Some(held) = current
            && held.renew_at.is_none_or(|renew| now < renew)
        {
            return Ok(held.secret.clone());
        }
        let fetched = self.source.fetch().await;
        match (fetched.map_err(|error| error.to_string()), held.as_ref()) {
            (Ok(fresh), Some(old)) if old.number == refused && old.secret.is_same(&fresh) => {
                // The store may have been wrong, once: the next request tries it again.
                self.refused.store(0, Ordering::SeqCst);
                let problem = "the store does not accept the key, and there is no other";
                Err(NoSecret(problem.to_owned()))
            }
            (Ok(secret), _) => {
                let renew_at = secret.expires().map(|expires| renewal(now, expires));
                let number = self.generation() + 1;
                let fresh = secret.clone();
                *held = Some(Held {
                    secret,
                    renew_at,
                    number,
                });
                self.current.store(number, Ordering::SeqCst);
                Ok(fresh)
            }
            // Not needed yet: the next request tries again.
            (Err(error), Some(held))
                if held.number != refused
                    && held.secret.expires().is_none_or(|expires| now < expires) =>
            {
                tracing::warn!(error, "a key that expires soon could not be renewed");
                Ok(held.secret.clone())
            }
            (Err(error), _) => Err(NoSecret(error)),
        }
    }
}

/// When a key is renewed: some minutes before its end, or half-way there if it is short-lived.
fn renewal(now: SystemTime, expires: SystemTime) -> SystemTime {
    let life = expires.duration_since(now).unwrap_or_default();
    now + life.saturating_sub(EARLY).max(life / 2)
}

impl<S> fmt::Debug for Renewed<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Renewed").field(&self.source).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::time::UNIX_EPOCH;

    use super::*;
    use crate::ManualClock;

    #[derive(Clone)]
    struct Password(String, SystemTime);

    impl Secret for Password {
        fn expires(&self) -> Option<SystemTime> {
            Some(self.1)
        }

        fn is_same(&self, other: &Self) -> bool {
            self.0 == other.0
        }
    }

    /// Hands out keys that are good for an hour, until it is told to fail.
    #[derive(Debug)]
    struct Counting {
        clock: ManualClock,
        fetched: Arc<AtomicU32>,
        good: Arc<AtomicU32>,
        /// Gives no answer.
        hangs: bool,
    }

    #[async_trait]
    impl SecretSource<Password> for Counting {
        async fn fetch(&self) -> Result<Password, BoxError> {
            let number = self.fetched.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            if self.hangs {
                futures::future::pending::<()>().await;
            }
            if number >= self.good.load(Ordering::SeqCst) {
                return Err("the vault is closed".into());
            }
            let expires = self.clock.now() + Duration::from_secs(3600);
            Ok(Password(format!("SECRET-{number}"), expires))
        }
    }

    struct Vault {
        keys: Arc<Renewed<Password>>,
        clock: ManualClock,
        fetched: Arc<AtomicU32>,
        good: Arc<AtomicU32>,
    }

    fn vault(hangs: bool) -> Vault {
        let clock = ManualClock::new(UNIX_EPOCH + Duration::from_secs(1_000_000));
        let (fetched, good) = (Arc::default(), Arc::new(AtomicU32::new(u32::MAX)));
        let source = Counting {
            clock: clock.clone(),
            fetched: Arc::clone(&fetched),
            good: Arc::clone(&good),
            hangs,
        };
        Vault {
            keys: Arc::new(Renewed::new(source, Arc::new(clock.clone()))),
            clock,
            fetched,
            good,
        }
    }

    async fn shown(keys: &Renewed<Password>) -> String {
        keys.get().await.map_or_else(|error| error.0, |key| key.0)
    }

    #[tokio::test]
    async fn one_task_renews_however_many_ask() {
        let Vault {
            keys,
            clock,
            fetched,
            ..
        } = vault(false);
        let all = futures::future::join_all((0..20).map(|_| shown(&keys))).await;
        assert!(all.iter().all(|key| key == "SECRET-0"));
        clock.advance(Duration::from_secs(3300));
        let all = futures::future::join_all((0..20).map(|_| shown(&keys))).await;
        assert!(all.iter().all(|key| key == "SECRET-1"));
        assert_eq!(fetched.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_refused_key_is_replaced_once() {
        let Vault { keys, fetched, .. } = vault(false);
        shown(&keys).await;
        let generation = keys.generation();
        keys.refused(generation);
        assert_eq!(shown(&keys).await, "SECRET-1");
        // Another request was sent with the first key, too.
        keys.refused(generation);
        assert_eq!(shown(&keys).await, "SECRET-1");
        assert_eq!(fetched.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn the_same_key_again_is_not_worth_a_request() {
        let Vault { keys, fetched, .. } = vault(false);
        shown(&keys).await;
        keys.refused(keys.generation());
        fetched.store(0, Ordering::SeqCst);
        let problem = "the store does not accept the key, and there is no other";
        assert_eq!(shown(&keys).await, problem);
        assert_eq!(shown(&keys).await, "SECRET-0", "it is tried once more");
        keys.refused(keys.generation());
        assert_eq!(shown(&keys).await, "SECRET-1", "by now there is another");
    }

    #[tokio::test]
    async fn a_late_refusal_says_nothing_of_the_key_that_came_since() {
        let Vault {
            keys,
            clock,
            fetched,
            ..
        } = vault(false);
        shown(&keys).await;
        let old = keys.generation();
        clock.advance(Duration::from_secs(3300));
        assert_eq!(shown(&keys).await, "SECRET-1");
        keys.refused(old);
        // The source of keys would give the same one again.
        fetched.store(1, Ordering::SeqCst);
        assert_eq!(shown(&keys).await, "SECRET-1");
        assert_eq!(fetched.load(Ordering::SeqCst), 1, "no request was sent");
    }

    #[tokio::test]
    async fn a_refusal_while_a_key_is_renewed_is_of_the_old_one() {
        let Vault {
            keys,
            clock,
            fetched,
            ..
        } = vault(false);
        shown(&keys).await;
        clock.advance(Duration::from_secs(3300));
        let (renewed, ()) = tokio::join!(shown(&keys), async { keys.refused(1) });
        assert_eq!(renewed, "SECRET-1");
        fetched.store(1, Ordering::SeqCst);
        assert_eq!(shown(&keys).await, "SECRET-1");
    }

    #[tokio::test]
    async fn a_key_that_is_still_good_outlives_a_closed_vault() {
        let Vault {
            keys, clock, good, ..
        } = vault(false);
        shown(&keys).await;
        good.store(0, Ordering::SeqCst);
        clock.advance(Duration::from_secs(3400));
        assert_eq!(shown(&keys).await, "SECRET-0");
        clock.advance(Duration::from_secs(300));
        assert_eq!(shown(&keys).await, "the vault is closed");
    }

    #[tokio::test]
    async fn f87_a_vault_that_hangs_holds_up_nobody_but_who_asked() {
        let Vault { keys, fetched, .. } = vault(true);
        for asked in 1..=3 {
            let given_up = futures::poll!(std::pin::pin!(keys.get()));
            assert!(given_up.is_pending());
            assert_eq!(fetched.load(Ordering::SeqCst), asked);
        }
    }

    #[test]
    fn keys_are_not_shown() {
        let shown = format!("{:?}", vault(false).keys);
        assert!(!shown.contains("SECRET"), "{shown}");
    }
}
