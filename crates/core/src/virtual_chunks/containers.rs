//! The containers of a configuration, ready to be asked.

use std::sync::Arc;

use icefield_format::config::VirtualChunkContainer;
use icefield_format::{RepositoryConfig, VirtualLocation, container_prefixes};

/// Containers by their prefixes, the longest first. One whose prefix is none contains nothing.
#[derive(Debug, Default)]
pub(crate) struct Containers(Vec<(VirtualLocation, Arc<VirtualChunkContainer>)>);

impl Containers {
    pub(crate) fn of(config: &RepositoryConfig) -> Self {
        let mut all = Vec::new();
        for container in config.containers() {
            let shared = Arc::new(container.clone());
            let prefixes = container_prefixes(&container.url_prefix).into_iter();
            all.extend(prefixes.map(|prefix| (prefix, Arc::clone(&shared))));
        }
        all.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.depth()));
        Self(all)
    }

    /// Returns the container that a location lies in: of several, that with the longest prefix.
    pub(crate) fn find(&self, location: &VirtualLocation) -> Option<&Arc<VirtualChunkContainer>> {
        let mut all = self.0.iter();
        let found = all.find(|(prefix, _)| location.below(prefix).is_some());
        found.map(|(_, container)| container)
    }
}
