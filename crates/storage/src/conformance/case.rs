//! One case of the suite.

use futures::future::BoxFuture;

use super::trial::Trial;

/// One case: a promise by name, and the function that panics if a store does not keep it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The promise.
    pub name: &'static str,
    /// Tries it on an empty store.
    pub run: fn(Trial) -> BoxFuture<'static, ()>,
}
