//! Streams on their way up: given up when the store stalls, not when their source takes its time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::future::{Either, select};
use futures::stream::{self, BoxStream, StreamExt};

use super::request::{Answer, Fault};
use super::retry::{Retries, silent};
use crate::StorageError;

type Parts = BoxStream<'static, Result<Bytes, StorageError>>;

/// Since when the store has been waited for; `None` while it is the source's turn.
#[derive(Clone, Debug)]
pub(super) struct Turn(Arc<Mutex<Option<Duration>>>);

impl Turn {
    fn set(&self, since: Option<Duration>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    fn since(&self) -> Option<Duration> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the stream, and whose turn it is while it is read.
pub(super) fn watched(retries: &Retries, parts: Parts) -> (Parts, Turn) {
    let clock = Arc::clone(retries.clock());
    let turn = Turn(Arc::new(Mutex::new(Some(clock.monotonic()))));
    let seen = turn.clone();
    let parts = stream::unfold(parts, move |mut parts| {
        let (seen, clock) = (seen.clone(), Arc::clone(&clock));
        async move {
            seen.set(None);
            let next = parts.next().await;
            seen.set(Some(clock.monotonic()));
            next.map(|part| (part, parts))
        }
    });
    (parts.boxed(), turn)
}

/// Waits for an answer while the store takes parts, or the source has none for it; each silence of the store is
/// bounded.
pub(super) async fn while_it_moves(
    retries: &Retries,
    turn: &Turn,
    limit: Duration,
    target: &str,
    work: impl Future<Output = Result<Answer, Fault>>,
) -> Result<Answer, Fault> {
    let mut work = std::pin::pin!(work);
    loop {
        let now = retries.clock().monotonic();
        let waited = turn
            .since()
            .map_or(Duration::ZERO, |since| now.saturating_sub(since));
        if waited >= limit {
            return Err(silent("write", target, limit));
        }
        match select(work, retries.clock().sleep(limit - waited)).await {
            Either::Left((result, _)) => return result,
            Either::Right(((), rest)) => work = rest,
        }
    }
}
