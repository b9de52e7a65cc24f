//! The configuration in force: what the caller set over what is stored, worked out once for each change.

use std::sync::{Arc, PoisonError, RwLock};

use icefield_format::{RepositoryConfig, SpecVersion};
use icefield_refs::StoredConfig;

use crate::session::PreloadRules;
use crate::splits::SplitRules;
use crate::virtual_chunks::Containers;

/// A configuration, and what of it every chunk asks for.
#[derive(Debug)]
pub(crate) struct InForce {
    pub(crate) config: RepositoryConfig,
    pub(crate) containers: Containers,
    pub(crate) splits: SplitRules,
    /// None if the configuration does not say what to fetch early.
    pub(crate) preload: Option<PreloadRules>,
}

impl InForce {
    fn new(
        own: &RepositoryConfig,
        stored: Option<&StoredConfig>,
        version: SpecVersion,
    ) -> Arc<Self> {
        let config = match stored {
            Some(stored) => own.merged_over(&stored.config),
            None => own.clone(),
        };
        let containers = Containers::of(&config, version);
        let splits = SplitRules::of(&config);
        let preload = PreloadRules::of(&config);
        Arc::new(Self {
            config,
            containers,
            splits,
            preload,
        })
    }
}

/// The configurations of one open repository.
#[derive(Debug)]
pub(crate) struct Configs {
    /// The settings of the caller, which go before the stored ones.
    own: RepositoryConfig,
    version: SpecVersion,
    state: RwLock<(Option<StoredConfig>, Arc<InForce>)>,
}

impl Configs {
    pub(crate) fn new(
        own: RepositoryConfig,
        stored: Option<StoredConfig>,
        version: SpecVersion,
    ) -> Self {
        let in_force = InForce::new(&own, stored.as_ref(), version);
        let state = RwLock::new((stored, in_force));
        Self {
            own,
            version,
            state,
        }
    }

    pub(crate) fn in_force(&self) -> Arc<InForce> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&state.1)
    }

    pub(crate) fn stored(&self) -> Option<StoredConfig> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.0.clone()
    }

    pub(crate) fn store(&self, stored: Option<StoredConfig>) {
        let in_force = InForce::new(&self.own, stored.as_ref(), self.version);
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        *state = (stored, in_force);
    }
}
