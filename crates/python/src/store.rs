//! The Zarr store of a session.

mod nearness;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use icefield::{ByteRange, ZarrStore, ZarrStoreError};
use pyo3::prelude::*;
use pyo3_bytes::PyBytes;

use crate::convert::{ByteRangeArg, ValueBytes};
use crate::errors::Failure;
use crate::process::ProcessOwned;
use crate::session::Session;
use crate::stream::{self as streams, Stream};
use crate::task::{self, Attempt, Begun, Task};
use nearness::Nearness;

/// The number of keys in one batch.
const KEYS_BATCH: usize = 1000;

/// The length in bytes up to which a value probably becomes an inline chunk, which needs no store and so no other thread.
const INLINE: usize = 4 << 10;

/// The values of a session by Zarr key. All methods but those that end in `now` begin a [`Task`].
#[pyclass(frozen, module = "icefield._native")]
pub(crate) struct Store {
    session: Py<Session>,
    inner: ProcessOwned<(ZarrStore, Nearness)>,
}

impl Store {
    fn get_ref(&self) -> Result<&ZarrStore, Failure> {
        Ok(&self.inner.get()?.0)
    }

    fn handle(&self) -> Result<ZarrStore, Failure> {
        self.get_ref().cloned()
    }
}

/// Returns a prefix in the form of the engine: empty, or a path that ends in a slash.
fn prefix(text: &str) -> String {
    match text.trim_matches('/') {
        "" => String::new(),
        path => format!("{path}/"),
    }
}

async fn read(
    store: &ZarrStore,
    key: &str,
    range: ByteRange,
) -> Result<Option<PyBytes>, ZarrStoreError> {
    Ok(store.get_range(key, range).await?.map(PyBytes::new))
}

async fn set(store: ZarrStore, key: String, value: Bytes) -> Result<(), Failure> {
    Ok(store.set(&key, value).await?)
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (session, concurrency=None))]
    fn new(py: Python<'_>, session: Py<Session>, concurrency: Option<usize>) -> PyResult<Self> {
        let opened = session.get();
        let mut store = ZarrStore::new(opened.handle()?);
        if let Some(values) = concurrency {
            store = store.with_concurrency(values);
        }
        let repository = opened.repository()?;
        let nearness = py.detach(|| Nearness::of(repository.storage()));
        Ok(Self {
            session,
            inner: ProcessOwned::new((store, nearness)),
        })
    }

    #[getter]
    fn session(&self, py: Python<'_>) -> Py<Session> {
        self.session.clone_ref(py)
    }

    /// Reads the value of a key, or a byte range of it; `None` if the key is absent.
    #[pyo3(signature = (key, range=None))]
    fn get(&self, py: Python<'_>, key: String, range: Option<ByteRangeArg>) -> PyResult<Task> {
        let store = self.handle()?;
        let range = range.map_or(ByteRange::All, |range| range.0);
        task::begin_near(py, async move { Ok(read(&store, &key, range).await?) })
    }

    /// The same as `get`, but returns the value itself instead of a task if it is available at once.
    #[pyo3(signature = (key, range=None))]
    fn get_now(
        &self,
        py: Python<'_>,
        key: String,
        range: Option<ByteRangeArg>,
    ) -> PyResult<Py<PyAny>> {
        let (store, nearness) = self.inner.get()?;
        let range = range.map_or(ByteRange::All, |range| range.0);
        if nearness.is_short(range) {
            let found = py.detach(|| store.try_get_range(&key, range));
            if let Some(found) = found {
                let value = found.map_err(Failure::from)?;
                if let Some(value) = &value {
                    nearness.record_length(range, value.len());
                }
                return task::Outcome::into_object(value.map(PyBytes::new), py);
            }
        }
        let (near, near_key, nearness) = (store.clone(), key.clone(), nearness.clone());
        let store = store.clone();
        let work = async move { Ok(read(&store, &key, range).await?) };
        let task = if !nearness.is_on_disk() {
            task::begin(py, work)?
        } else {
            let attempt = move || match near.try_get_range(&near_key, range) {
                None => task::unattempted(work),
                Some(Err(error)) => Attempt::Done(Err(error.into())),
                Some(Ok(value)) => {
                    if let Some(value) = &value {
                        nearness.record_length(range, value.len());
                    }
                    Attempt::Done(Ok(value.map(PyBytes::new)))
                }
            };
            task::begin_on_disk(py, false, attempt)?
        };
        task::Outcome::into_object(task, py)
    }

    /// Reads values or byte ranges of several keys; `None` for absent keys.
    fn get_partial_values(
        &self,
        py: Python<'_>,
        requests: Vec<(String, Option<ByteRangeArg>)>,
    ) -> PyResult<Task> {
        let store = self.handle()?;
        let requests: Vec<_> = requests
            .into_iter()
            .map(|(key, range)| (key, range.map_or(ByteRange::All, |range| range.0)))
            .collect();
        task::begin_near(py, async move {
            let values = store.get_partial_values(&requests).await?;
            let values = values.into_iter().map(|value| value.map(PyBytes::new));
            Ok(values.collect::<Vec<_>>())
        })
    }

    /// Reads several byte ranges of one value; `None` if the key is absent.
    fn get_ranges(
        &self,
        py: Python<'_>,
        key: String,
        ranges: Vec<Option<ByteRangeArg>>,
    ) -> PyResult<Task> {
        let store = self.handle()?;
        let ranges: Vec<_> = ranges
            .into_iter()
            .map(|range| range.map_or(ByteRange::All, |range| range.0))
            .collect();
        task::begin_near(py, async move {
            let values = store.get_ranges(&key, &ranges).await?;
            Ok(values.map(|values| values.into_iter().map(PyBytes::new).collect::<Vec<_>>()))
        })
    }

    fn exists(&self, py: Python<'_>, key: String) -> PyResult<Task> {
        let store = self.handle()?;
        task::begin_near(py, async move { Ok(store.exists(&key).await?) })
    }

    fn set(&self, py: Python<'_>, key: String, value: ValueBytes) -> PyResult<Task> {
        let store = self.handle()?;
        task::begin_near_to_the_end(py, async move { Ok(store.set(&key, value.0).await?) })
    }

    /// The same as `set`, but returns `None` instead of a task if the write is done at once.
    fn set_now(&self, py: Python<'_>, key: String, value: ValueBytes) -> PyResult<Option<Task>> {
        let (store, nearness) = self.inner.get()?;
        let value = value.0;
        let length = value.len();
        // A thread outside of the runtime does not retry. The runtime does: a file descriptor may be available again by then.
        let again = set(store.clone(), key.clone(), value.clone());
        let work = set(store.clone(), key, value);
        let begun = if nearness.is_short_to_write(length) {
            task::begin_here(py, work)?
        } else if length <= INLINE {
            task::begin_tried(py, work)?
        } else if nearness.is_on_disk() {
            let attempt = move || match task::attempt_now(work) {
                Attempt::Done(Err(failure)) if failure.kind() == "io" => task::unattempted(again),
                tried => tried,
            };
            return task::begin_on_disk(py, true, attempt).map(Some);
        } else {
            return task::begin_to_the_end(py, work).map(Some);
        };
        match begun {
            Begun::Done(Ok(())) => Ok(None),
            Begun::Going(task) => Ok(Some(task)),
            Begun::Done(Err(failure)) if failure.kind() == "io" => {
                task::begin_to_the_end(py, again).map(Some)
            }
            Begun::Done(Err(failure)) => Err(failure.into()),
        }
    }

    /// Stores a value unless the key has one; returns whether it stored.
    fn set_if_not_exists(&self, py: Python<'_>, key: String, value: ValueBytes) -> PyResult<Task> {
        let store = self.handle()?;
        task::begin_near_to_the_end(py, async move {
            Ok(store.set_if_not_exists(&key, value.0).await?)
        })
    }

    fn delete(&self, py: Python<'_>, key: String) -> PyResult<Task> {
        let store = self.handle()?;
        task::begin_near_to_the_end(py, async move { Ok(store.delete(&key).await?) })
    }

    fn delete_dir(&self, py: Python<'_>, prefix: String) -> PyResult<Task> {
        let store = self.handle()?;
        let directory = self::prefix(&prefix);
        task::begin_near_to_the_end(py, async move { Ok(store.erase_prefix(&directory).await?) })
    }

    fn is_empty(&self, py: Python<'_>, prefix: String) -> PyResult<Task> {
        let store = self.handle()?;
        let directory = self::prefix(&prefix);
        task::begin_near(py, async move { Ok(store.is_empty(&directory).await?) })
    }

    /// Returns the length of a value in bytes; `None` if the key is absent.
    fn size(&self, py: Python<'_>, key: String) -> PyResult<Task> {
        let store = self.handle()?;
        task::begin_near(py, async move { Ok(store.size(&key).await?) })
    }

    /// Returns the total bytes of all values below a prefix.
    fn size_prefix(&self, py: Python<'_>, prefix: String) -> PyResult<Task> {
        let store = self.handle()?;
        let directory = self::prefix(&prefix);
        task::begin_near(py, async move { Ok(store.size_prefix(&directory).await?) })
    }

    /// Lists the keys below a prefix.
    fn list_prefix(&self, py: Python<'_>, prefix: &str) -> PyResult<Stream> {
        let (store, directory) = (self.get_ref()?, self::prefix(prefix));
        // The call sorts pending edits before it returns.
        let keys = py.detach(|| store.list_prefix(&directory));
        Ok(streams::stream(keys.map_err(Failure::from), KEYS_BATCH))
    }

    /// Lists the names directly below a prefix.
    fn list_dir(&self, prefix: &str) -> PyResult<Stream> {
        let store = self.handle()?;
        let directory = self::prefix(prefix);
        let names = stream::once(async move {
            let found = store.list_dir(&directory).await?;
            let all = found.keys.into_iter().chain(found.prefixes);
            let names = all.map(move |key| {
                let name = key.strip_prefix(&directory).unwrap_or(&key);
                name.trim_end_matches('/').to_owned()
            });
            Ok::<_, Failure>(stream::iter(names).map(Ok))
        });
        Ok(streams::stream(names.try_flatten(), KEYS_BATCH))
    }
}
