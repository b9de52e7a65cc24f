//! The stores of foreign objects, each opened once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use icefield_format::config::VirtualChunkContainer;
use icefield_format::{RepositoryConfig, VirtualLocation};
use icefield_storage::{Key, Storage};
use tokio::sync::OnceCell;

use super::{VirtualAccess, VirtualChunkError};

/// Where the bytes of a virtual chunk are fetched from.
#[derive(Clone, Debug)]
pub(crate) struct VirtualTarget {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) key: Key,
}

/// Of one grant and one container.
type Opened = Arc<OnceCell<Arc<dyn Storage>>>;

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
        config: &RepositoryConfig,
        location: &str,
    ) -> Result<VirtualTarget, VirtualChunkError> {
        let location = VirtualLocation::parse(location).map_err(VirtualChunkError::Location)?;
        let container = container_of(config, &location).ok_or(VirtualChunkError::NoContainer)?;
        let Some((grant, granted, path)) = self.access.find(&location) else {
            return Err(VirtualChunkError::NotGranted {
                container: container.url_prefix.clone(),
            });
        };
        let key = Key::parse(&path).map_err(VirtualChunkError::Key)?;
        let opened = self.opened(grant, &container.url_prefix);
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

    fn opened(&self, grant: usize, container: &str) -> Opened {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(opened.entry((grant, container.to_owned())).or_default())
    }
}

/// Returns the container that a location lies in: of several, that with the longest prefix.
pub(super) fn container_of<'a>(
    config: &'a RepositoryConfig,
    location: &VirtualLocation,
) -> Option<&'a VirtualChunkContainer> {
    let covering = config.containers().filter_map(|container| {
        let prefix = VirtualLocation::parse_prefix(&container.url_prefix).ok()?;
        location.below(&prefix)?;
        Some((prefix.depth(), container))
    });
    let longest = covering.max_by_key(|(depth, _)| *depth);
    longest.map(|(_, container)| container)
}
