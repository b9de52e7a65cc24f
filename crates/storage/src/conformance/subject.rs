//! A store with a way to put into it what its own interface cannot write.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::Storage;

type Plant = dyn Fn(Vec<u8>) -> BoxFuture<'static, bool> + Send + Sync;

/// A store to be tried. An `Arc<dyn Storage>` is one into which nothing can be planted.
#[derive(Clone)]
pub struct Subject {
    pub(super) store: Arc<dyn Storage>,
    pub(super) plant: Option<Arc<Plant>>,
}

impl Subject {
    /// Returns the store with its way to plant something that a list has to yield as
    /// [`StorageError::UnreadableKey`](crate::StorageError::UnreadableKey).
    ///
    /// `plant` gets a name relative to the root of the store. If it is no key, it puts an empty object there; if it is one,
    /// something that is no object, such as a symbolic link. It returns whether the store can hold that.
    pub fn with_plant<F: Future<Output = bool> + Send + 'static>(
        store: Arc<dyn Storage>,
        plant: impl Fn(Vec<u8>) -> F + Send + Sync + 'static,
    ) -> Self {
        Self {
            store,
            plant: Some(Arc::new(move |name| Box::pin(plant(name)))),
        }
    }
}

impl From<Arc<dyn Storage>> for Subject {
    fn from(store: Arc<dyn Storage>) -> Self {
        Self { store, plant: None }
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject")
            .field("store", &self.store)
            .field("plants", &self.plant.is_some())
            .finish()
    }
}
