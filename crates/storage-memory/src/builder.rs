//! How a memory store is set up.

use std::sync::{Arc, Mutex};

use icefield_storage::{Clock, KeyForm, SystemClock};

use crate::state::StoreState;
use crate::storage::{MemoryStorage, Shared};

impl MemoryStorage {
    /// Returns an empty store on the clock of the operating system.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Returns a builder, to choose the clock or the form of the keys.
    pub fn builder() -> MemoryStorageBuilder {
        MemoryStorageBuilder::default()
    }
}

impl Default for MemoryStorage {
    fn default() -> Self {
        Self::new()
    }
}

/// Chooses the clock and the form of the keys of a [`MemoryStorage`], and what it reports of its dates.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct MemoryStorageBuilder {
    clock: Arc<dyn Clock>,
    key_form: KeyForm,
    host_dates: bool,
    remote: bool,
}

impl Default for MemoryStorageBuilder {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            key_form: KeyForm::ObjectStorePath,
            host_dates: false,
            remote: false,
        }
    }
}

impl MemoryStorageBuilder {
    /// Takes the times of modification from `clock`; default: the operating system's.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Reports `key_form` as the form of the keys; default: [`KeyForm::ObjectStorePath`].
    pub fn key_form(mut self, key_form: KeyForm) -> Self {
        self.key_form = key_form;
        self
    }

    /// Reports that the clock of the machine dates the objects, as on a local disk; default: a clock of the store's own
    /// does, as in a bucket.
    pub fn host_dates(mut self) -> Self {
        self.host_dates = true;
        self
    }

    /// Reports that requests cross a network, as those to a bucket do; default: they do not.
    pub fn remote(mut self) -> Self {
        self.remote = true;
        self
    }

    /// Returns an empty store.
    pub fn build(self) -> MemoryStorage {
        MemoryStorage(Arc::new(Shared {
            state: Mutex::new(StoreState::default()),
            clock: self.clock,
            key_form: self.key_form,
            host_dates: self.host_dates,
            remote: self.remote,
        }))
    }
}
