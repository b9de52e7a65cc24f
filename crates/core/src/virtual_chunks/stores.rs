//! The stores of foreign objects, each opened once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use icefield_format::config::VirtualChunkContainer;
use icefield_storage::{Key, Storage};
use tokio::sync::OnceCell;

use super::{Containers, VirtualAccess, VirtualChunkError};

/// Where the bytes of a virtual chunk are fetched from.
#[derive(Clone, Debug)]
pub(crate) struct VirtualTarget {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) key: Key,
}

/// Of one grant and one container, as the configuration had it then.
type Opened = (Arc<VirtualChunkContainer>, Arc<OnceCell<Arc<dyn Storage>>>);

/// The stores that this process has opened for virtual chunks.
#[derive(Debug, Default)]
pub(crate) struct VirtualStores {
    access: VirtualAccess,
    opened: Mutex<HashMap<(usize, String), Opened>>,
}

impl VirtualStores {
    pub(crate) fn new(access: VirtualAccess) -> Self {
        Self {
            access,
            opened: Mutex::default(),
        }
    }

    pub(crate) fn access(&self) -> &VirtualAccess {
        &self.access
    }

    /// Finds the object that a location names, if a container and a grant cover it.
    pub(crate) async fn find(
        &self,
        containers: &Containers,
        location: &str,
    ) -> Result<VirtualTarget, VirtualChunkError> {
        let location = containers.resolve(location)?;
        let container = containers
            .find(&location)
            .ok_or(VirtualChunkError::NoContainer)?;
        let Some((grant, granted, path)) = self.access.find(&location) else {
            return Err(VirtualChunkError::NotGranted {
                container: container.url_prefix.clone(),
            });
        };
        let key = Key::parse(&path).map_err(VirtualChunkError::Key)?;
        let opened = self.opened(grant, container);
        let storage = opened.get_or_try_init(|| granted.opener.open(container));
        let storage = storage.await.map_err(|source| VirtualChunkError::Open {
            container: container.url_prefix.clone(),
            source,
        })?;
        Ok(VirtualTarget {
            storage: Arc::clone(storage),
            key,
        })
    }

    /// A container that has been edited is opened anew.
    fn opened(
        &self,
        grant: usize,
        container: &Arc<VirtualChunkContainer>,
    ) -> Arc<OnceCell<Arc<dyn Storage>>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = opened
            .entry((grant, container.url_prefix.clone()))
            .or_insert_with(|| (Arc::clone(container), Arc::default()));
        if !Arc::ptr_eq(&entry.0, container) && entry.0 != *container {
            *entry = (Arc::clone(container), Arc::default());
        }
        Arc::clone(&entry.1)
    }
}
