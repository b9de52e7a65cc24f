//! The builder of a memory store.

use std::sync::{Arc, Mutex};

use icefield_storage::{Clock, KeyForm, SystemClock};

use crate::state::StoreState;
use crate::storage::{MemoryStorage, Shared};

impl MemoryStorage {
    /// Returns an empty store on the clock of the operating system.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Returns a builder with the default settings.
    pub fn builder() -> MemoryStorageBuilder {
        MemoryStorageBuilder::default()
    }
}

impl Default for MemoryStorage {
    fn default() -> Self {
        Self::new()
    }
}

/// The settings of a [`MemoryStorage`]: its clock, and the guarantees that it reports.
///
/// ```
/// use std::sync::Arc;
/// use std::time::SystemTime;
/// use icefield_storage::{ManualClock, PutMode, Key, Storage};
/// use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let clock = Arc::new(ManualClock::new(SystemTime::UNIX_EPOCH));
/// let storage = MemoryStorage::builder().clock(clock).build();
/// let key = Key::parse("a")?;
/// let _ = storage.put(&key, "1".into(), PutMode::Create.into()).await?;
/// assert_eq!(storage.head(&key).await?.last_modified, Some(SystemTime::UNIX_EPOCH));
/// # Ok(())
/// # }
/// ```
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
    /// Sets the clock that dates objects; the operating system's unless set.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the form of the keys that the store reports; [`KeyForm::ObjectStorePath`] unless set.
    pub fn key_form(mut self, key_form: KeyForm) -> Self {
        self.key_form = key_form;
        self
    }

    /// Reports that the clock of the machine dates the objects, as on a local disk. Unless set, the store reports a
    /// clock of its own, as a bucket has.
    pub fn host_dates(mut self) -> Self {
        self.host_dates = true;
        self
    }

    /// Reports that requests cross a network, as those to a bucket do. Off unless set.
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
