//! Places where repositories are kept, by their descriptions. A place connects when somebody asks it for something.

pub(crate) mod connect;
mod delayed;
pub(crate) mod description;
pub(crate) mod functions;

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use icefield::storage::{ListOptions, Prefix, StorageExt};
use icefield::{RepositoryConfig, micros_of_time};
use pyo3::prelude::*;
use tokio::sync::OnceCell;

use crate::document;
use crate::errors::Failure;
use crate::process::Own;
use crate::stream::{self, Stream};
use crate::task::{self, Task};
use delayed::{Delayed, Delays};
use description::{Description, Settings};
use functions::Function;

/// Objects of a list that are handed over at once.
const BATCH: usize = 1000;

/// A place, by its description. It connects at its first use, once.
#[pyclass(frozen, module = "icefield._native")]
pub(crate) struct Storage {
    place: Own<Place>,
    name: String,
}

/// A place that any task can hold.
#[derive(Clone)]
pub(crate) struct Place(Arc<Inner>);

struct Inner {
    source: Source,
    opened: OnceCell<Arc<dyn icefield::storage::Storage>>,
}

#[expect(
    clippy::large_enum_variant,
    reason = "one is made for each place, and nearly all are described"
)]
enum Source {
    Described {
        description: Description,
        function: Option<Function>,
    },
    Delayed {
        place: Place,
        delays: Arc<Delays>,
    },
}

impl Place {
    fn new(source: Source) -> Self {
        let opened = OnceCell::new();
        Self(Arc::new(Inner { source, opened }))
    }

    /// Returns the store, connected.
    pub(crate) async fn open(&self) -> Result<Arc<dyn icefield::storage::Storage>, Failure> {
        let opened = self.0.opened.get_or_try_init(|| self.connect());
        Ok(Arc::clone(opened.await?))
    }

    async fn connect(&self) -> Result<Arc<dyn icefield::storage::Storage>, Failure> {
        match &self.0.source {
            Source::Described {
                description,
                function,
            } => connect::connect(description, function.as_ref()).await,
            Source::Delayed { place, delays } => {
                let inner = Box::pin(place.open()).await?;
                let delays = Arc::clone(delays);
                Ok(Arc::new(Delayed { inner, delays }))
            }
        }
    }
}

impl Place {
    /// Returns the place as a repository's configuration wants it to be used, where that says more than was said before;
    /// `None` if it does not.
    pub(crate) fn as_configured(&self, config: &RepositoryConfig) -> Option<Self> {
        config.storage.as_ref()?;
        let document = document::config_to_json(config).ok()?;
        let document: serde_json::Value = serde_json::from_str(&document).ok()?;
        self.with_settings(&Settings::of_configuration(document.get("storage")?))
    }

    fn with_settings(&self, settings: &Settings) -> Option<Self> {
        Some(Self::new(match &self.0.source {
            Source::Described {
                description,
                function,
            } => Source::Described {
                description: description.with_settings(settings)?,
                function: function.clone(),
            },
            Source::Delayed { place, delays } => Source::Delayed {
                place: place.with_settings(settings)?,
                delays: Arc::clone(delays),
            },
        }))
    }
}

impl Storage {
    /// # Errors
    /// `forked`, if a parent of this process made it.
    pub(crate) fn place(&self) -> Result<Place, Failure> {
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
        let function = credentials.map(Function::new);
        let place = Place::new(Source::Described {
            description,
            function,
        });
        Ok(Self {
            place: Own::new(place),
            name,
        })
    }

    fn __str__(&self) -> &str {
        &self.name
    }

    fn __repr__(&self) -> String {
        format!("<Storage {}>", self.name)
    }

    /// Tells whether it takes no writes.
    fn read_only(&self, py: Python<'_>) -> PyResult<Task> {
        let place = self.place()?;
        task::begin_near(py, async move {
            Ok(!place.open().await?.capabilities().writable)
        })
    }

    /// Lists what lies below a prefix: key below it, size in bytes, microseconds since 1970. A name that is no key ends it
    /// with an error, unless it is a directory marker.
    fn list(&self, prefix: &str) -> PyResult<Stream> {
        let place = self.place()?;
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

    /// The same place, and the same memory, further away.
    fn delayed(&self, read_ms: u64, write_ms: u64) -> PyResult<Self> {
        let place = Place::new(Source::Delayed {
            place: self.place()?,
            delays: Arc::new(Delays::new(read_ms, write_ms)),
        });
        Ok(Self {
            place: Own::new(place),
            name: self.name.clone(),
        })
    }

    /// Sets how far away a delayed place is; requests that have begun are not concerned.
    fn set_delays(&self, read_ms: u64, write_ms: u64) -> PyResult<()> {
        if let Source::Delayed { delays, .. } = &self.place()?.0.source {
            delays.set(read_ms, write_ms);
        }
        Ok(())
    }
}
