//! How long work is ended early: where that does no harm, and not in the middle of a write whose outcome matters.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use futures::future::{self, Either};
use tokio::sync::watch;

/// A request that long work ends early, shared by the caller and the work. Once raised, it stays raised. Clones share
/// their state.
///
/// The work calls [`Interrupt::check`] between one step and the next, or wraps a future that may be dropped at any time
/// in [`Interrupt::unless`]. It then returns the error of its own type that [`Interrupted`] converts into: everything
/// done until then stays, and is sound.
///
/// ```
/// # use icefield_core::Interrupt;
/// let interrupt = Interrupt::new();
/// let handle = interrupt.clone();
/// assert!(interrupt.check().is_ok());
/// handle.raise();
/// assert!(interrupt.check().is_err());
/// ```
#[derive(Clone)]
pub struct Interrupt(Arc<watch::Sender<bool>>);

/// The work was interrupted on request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("interrupted, as asked")]
pub struct Interrupted;

impl Interrupt {
    /// Returns an interrupt that is not raised.
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Asks the work to end at the next place where that is safe. Returns at once.
    pub fn raise(&self) {
        self.0.send_replace(true);
    }

    /// Returns whether the interrupt is raised.
    pub fn is_raised(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns `Ok` unless the interrupt is raised.
    ///
    /// # Errors
    /// [`Interrupted`], which converts into the error of the work.
    pub fn check(&self) -> Result<(), Interrupted> {
        match self.is_raised() {
            true => Err(Interrupted),
            false => Ok(()),
        }
    }

    /// Runs a future until it ends or the interrupt is raised, whichever comes first. The future is dropped in the
    /// second case, so it must be one that may be dropped at any time.
    ///
    /// # Errors
    /// [`Interrupted`].
    pub async fn unless<T>(&self, work: impl Future<Output = T>) -> Result<T, Interrupted> {
        self.check()?;
        let mut asked = self.0.subscribe();
        // The sender lives as long as this, so that the wait ends with the wish alone.
        let asked = pin!(asked.wait_for(|raised| *raised));
        match future::select(pin!(work), asked).await {
            Either::Left((done, _)) => Ok(done),
            Either::Right(_) => Err(Interrupted),
        }
    }
}

impl Default for Interrupt {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interrupt").field(&self.is_raised()).finish()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn work_goes_on_until_somebody_asks() {
        let interrupt = Interrupt::new();
        let other = interrupt.clone();
        assert_eq!(interrupt.unless(async { 1 }).now_or_never(), Some(Ok(1)));
        let mut waiting = Box::pin(interrupt.unless(future::pending::<()>()));
        assert_eq!(waiting.as_mut().now_or_never(), None);
        other.raise();
        assert_eq!(waiting.now_or_never(), Some(Err(Interrupted)));
        assert_eq!(interrupt.check(), Err(Interrupted));
    }

    #[test]
    fn what_was_asked_before_does_not_begin() {
        let interrupt = Interrupt::new();
        interrupt.raise();
        let begun = interrupt.unless(async { unreachable!("it was asked before") });
        assert_eq!(begun.now_or_never(), Some(Err::<(), _>(Interrupted)));
    }
}
