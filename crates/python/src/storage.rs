//! Storages of repositories, by their descriptions. A storage connects at its first use.

pub(crate) mod connect;
pub(crate) mod description;
pub(crate) mod functions;

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use icefield::storage::wrap::{Latency, LatencyStorage};
use icefield::storage::{ListOptions, Prefix, StorageExt};
use icefield::{RepositoryConfig, micros_of_time};
use pyo3::prelude::*;
use tokio::sync::OnceCell;

use crate::document;
use crate::errors::Failure;
use crate::process::ProcessOwned;
use crate::stream::{self, Stream};
use crate::task::{self, Task};
use description::{Description, Settings};
use functions::CredentialFunction;

/// The number of listed objects in one batch.
const BATCH: usize = 1000;

/// A storage, by its description. It connects once, at its first use.
#[pyclass(frozen, module = "icefield._native")]
pub(crate) struct Storage {
    place: ProcessOwned<StorageHandle>,
    name: String,
}

/// A handle of a storage that any task can hold.
#[derive(Clone)]
pub(crate) struct StorageHandle(Arc<ConnectedStorage>);

struct ConnectedStorage {
    source: StorageSource,
    opened: OnceCell<Arc<dyn icefield::storage::Storage>>,
}

#[expect(
    clippy::large_enum_variant,
    reason = "there is one per storage, and nearly all are described"
)]
enum StorageSource {
    Described {
        description: Description,
        function: Option<CredentialFunction>,
    },
    Delayed {
        place: StorageHandle,
        delays: Arc<Latency>,
    },
}

impl StorageHandle {
    fn new(source: StorageSource) -> Self {
        let opened = OnceCell::new();
        Self(Arc::new(ConnectedStorage { source, opened }))
    }

    /// Returns the connected store.
    pub(crate) async fn open(&self) -> Result<Arc<dyn icefield::storage::Storage>, Failure> {
        let opened = self.0.opened.get_or_try_init(|| self.connect());
        Ok(Arc::clone(opened.await?))
    }

    async fn connect(&self) -> Result<Arc<dyn icefield::storage::Storage>, Failure> {
        match &self.0.source {
            StorageSource::Described {
                description,
                function,
            } => connect::connect(description, function.as_ref()).await,
            StorageSource::Delayed { place, delays } => {
                let inner = Box::pin(place.open()).await?;
                Ok(Arc::new(LatencyStorage::with(inner, Arc::clone(delays))))
            }
        }
    }
}

impl StorageHandle {
    /// Returns the storage with the settings of a repository's configuration; `None` if the configuration adds no settings.
    pub(crate) fn as_configured(&self, config: &RepositoryConfig) -> Option<Self> {
        config.storage.as_ref()?;
        let document = document::config_to_json(config).ok()?;
        let document: serde_json::Value = serde_json::from_str(&document).ok()?;
        self.with_settings(&Settings::of_configuration(document.get("storage")?))
    }

    fn with_settings(&self, settings: &Settings) -> Option<Self> {
        Some(Self::new(match &self.0.source {
            StorageSource::Described {
                description,
                function,
            } => StorageSource::Described {
                description: description.with_settings(settings)?,
                function: function.clone(),
            },
            StorageSource::Delayed { place, delays } => StorageSource::Delayed {
                place: place.with_settings(settings)?,
                delays: Arc::clone(delays),
            },
        }))
    }
}

impl Storage {
    /// # Errors
    /// `forked`, if a parent of this process made the storage.
    pub(crate) fn storage_handle(&self) -> Result<StorageHandle, Failure> {
        self.place.get().cloned()
    }
}

#[pymethods]
impl Storage {
    #[new]
    #[pyo3(signature = (description, credentials=None))]
    fn new(description: &str, credentials: Option<Py<PyAny>>) -> PyResult<Self> {
        let description = Description::parse(description)?;
        if description.needs_function() != credentials.is_some() {
            return Err(Failure::new(
                "invalid-credentials",
                "a function of credentials goes with a description that says so, and only with it",
            )
            .into());
        }
        let name = description.name();
        let function = credentials.map(CredentialFunction::new);
        let place = StorageHandle::new(StorageSource::Described {
            description,
            function,
        });
        Ok(Self {
            place: ProcessOwned::new(place),
            name,
        })
    }

    fn __str__(&self) -> &str {
        &self.name
    }

    fn __repr__(&self) -> String {
        format!("<Storage {}>", self.name)
    }

    /// Returns whether the storage refuses writes.
    fn read_only(&self, py: Python<'_>) -> PyResult<Task> {
        let place = self.storage_handle()?;
        task::begin_near(py, async move {
            Ok(!place.open().await?.capabilities().writable)
        })
    }

    /// Lists the objects below a prefix: the key relative to it, the size in bytes, and the time in microseconds since 1970. A
    /// name that is no key ends the list with an error, unless it is a directory marker.
    fn list(&self, prefix: &str) -> PyResult<Stream> {
        let place = self.storage_handle()?;
        let trimmed = prefix.trim_matches('/');
        let prefix = match trimmed.is_empty() {
            true => Prefix::all(),
            false => Prefix::parse(trimmed).map_err(Failure::from)?,
        };
        let listed = async move {
            let storage = place.open().await?;
            let objects = storage.list_strict(ListOptions::prefix(prefix.clone()));
            Ok::<_, Failure>(objects.map_err(Failure::from).map_ok(move |it| {
                let key = it.key.below(&prefix).unwrap_or(it.key.as_str()).to_owned();
                (key, it.size, it.last_modified.map_or(0, micros_of_time))
            }))
        };
        let objects = futures::stream::once(listed).try_flatten().boxed();
        Ok(stream::stream(objects, BATCH))
    }

    /// Returns the same storage with a delay before each request.
    fn delayed(&self, read_ms: u64, write_ms: u64) -> PyResult<Self> {
        let place = StorageHandle::new(StorageSource::Delayed {
            place: self.storage_handle()?,
            delays: Arc::new(Latency::new(
                Duration::from_millis(read_ms),
                Duration::from_millis(write_ms),
            )),
        });
        Ok(Self {
            place: ProcessOwned::new(place),
            name: self.name.clone(),
        })
    }

    /// Sets the delays of a delayed storage, for later requests.
    fn set_delays(&self, read_ms: u64, write_ms: u64) -> PyResult<()> {
        if let StorageSource::Delayed { delays, .. } = &self.storage_handle()?.0.source {
            delays.set(
                Duration::from_millis(read_ms),
                Duration::from_millis(write_ms),
            );
        }
        Ok(())
    }
}
