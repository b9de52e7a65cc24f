//! Streams of items, which Python fetches in batches.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::BoxStream;
use pyo3::prelude::*;
use pyo3::types::PyList;
use tokio::sync::Mutex;

use crate::errors::Failure;
use crate::process::ProcessOwned;
use crate::task::{self, Outcome, Task};

type StreamItem = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// A stream in batches. Each batch has the items that are available without waiting: at least one, and at most a given number.
#[pyclass(frozen, module = "icefield._native")]
pub(crate) struct Stream {
    items: ProcessOwned<Arc<Mutex<PendingItems>>>,
    batch: usize,
}

struct PendingItems {
    items: Option<BoxStream<'static, Result<StreamItem, Failure>>>,
    /// A failure behind items that the last batch returned first.
    failure: Option<Failure>,
}

/// Returns a stream in batches of at most `batch` items.
pub(crate) fn stream<S, T>(items: S, batch: usize) -> Stream
where
    S: futures::Stream<Item = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    let items = items.map(|item| {
        item.map(|value| Box::new(move |py: Python<'_>| value.into_object(py)) as StreamItem)
    });
    Stream {
        items: ProcessOwned::new(Arc::new(Mutex::new(PendingItems {
            items: Some(items.boxed()),
            failure: None,
        }))),
        batch: batch.max(1),
    }
}

/// A batch that becomes a list.
struct Batch(Vec<StreamItem>);

impl<'py> IntoPyObject<'py> for Batch {
    type Target = PyList;
    type Output = Bound<'py, PyList>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        let list = PyList::empty(py);
        for item in self.0 {
            list.append(item(py)?)?;
        }
        Ok(list)
    }
}

impl PendingItems {
    async fn next(&mut self, batch: usize) -> Result<Option<Batch>, Failure> {
        if let Some(failure) = self.failure.take() {
            self.items = None;
            return Err(failure);
        }
        let Some(items) = &mut self.items else {
            return Ok(None);
        };
        let Some(first) = items.next().await else {
            self.items = None;
            return Ok(None);
        };
        let mut found = vec![first?];
        while found.len() < batch {
            match futures::poll!(items.next()) {
                std::task::Poll::Ready(Some(Ok(item))) => found.push(item),
                std::task::Poll::Ready(Some(Err(failure))) => {
                    self.failure = Some(failure);
                    break;
                }
                // This call returns the items; the next call reports the end.
                std::task::Poll::Ready(None) => {
                    self.items = None;
                    break;
                }
                std::task::Poll::Pending => break,
            }
        }
        Ok(Some(Batch(found)))
    }
}

#[pymethods]
impl Stream {
    /// Begins to fetch the next batch.
    fn next(&self, py: Python<'_>) -> PyResult<Task> {
        let items = Arc::clone(self.items.get()?);
        let batch = self.batch;
        task::begin_near_to_the_end(py, async move { items.lock().await.next(batch).await })
    }

    /// Drops the source of the items.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let items = Arc::clone(self.items.get()?);
        py.detach(|| {
            if let Ok(mut items) = items.try_lock() {
                items.items = None;
            }
        });
        Ok(())
    }
}
