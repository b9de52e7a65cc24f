//! The conversion of errors to Python exceptions: a code, in most cases one of the reference implementation, a message with all
//! causes, and details for the attributes of the exception.

mod chunks;
mod layers;
mod maintenance;
mod outcomes;
mod session;
mod storage;

use std::any::Any;
use std::error::Error;

use pyo3::intern;
use pyo3::prelude::*;
use serde_json::{Map, Value};

/// The failure of work, in the form in which Python gets it.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    kind: &'static str,
    message: String,
    details: Value,
}

impl Failure {
    /// Returns a failure. `kind` is a code of the reference implementation, or one of this package: `outcome-unknown`, `forked`,
    /// `cancelled`.
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            details: Value::Null,
        }
    }

    /// Adds a detail, which becomes an attribute of the exception.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        if !self.details.is_object() {
            self.details = Value::Object(Map::new());
        }
        if let Value::Object(details) = &mut self.details {
            details.insert(name.to_owned(), value.into());
        }
        self
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    /// Puts the name of the object before the message.
    #[must_use]
    pub(crate) fn prefixed(mut self, what: &str) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// Returns the failure of an error with the given code.
    pub(crate) fn of(kind: &'static str, error: &(dyn Error + 'static)) -> Self {
        Self::new(kind, chain(error))
    }

    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let said = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned());
        Self::new(
            "unknown",
            format!(
                "{} (this is a bug of icefield: please report it)",
                said.as_deref().unwrap_or("the native code panicked")
            ),
        )
    }

    /// Returns the failure for an exception of a Python function, for callers that cannot pass the exception on. `kind` is the code
    /// of the failure, and `what` names the function.
    pub(crate) fn of_python(py: Python<'_>, kind: &'static str, what: &str, error: &PyErr) -> Self {
        let raised = error.value(py);
        let class = error
            .get_type(py)
            .name()
            .map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
        Self::new(kind, format!("{what} raised {class}: {raised}"))
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| match raised(py, &failure) {
            Ok(error) => error,
            // This happens only while the interpreter or the package is torn down.
            Err(error) => error,
        })
    }
}

fn raised(py: Python<'_>, failure: &Failure) -> PyResult<PyErr> {
    let details = match &failure.details {
        Value::Null => None,
        details => Some(details.to_string()),
    };
    let exceptions = py.import(intern!(py, "icefield._exceptions"))?;
    let exception = exceptions.call_method1(
        intern!(py, "from_native"),
        (failure.kind, failure.message.as_str(), details),
    )?;
    Ok(PyErr::from_value(exception))
}

/// Returns the message of an error with the messages of its causes, each once.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    text
}

/// An error of a layer that has a code.
trait Coded: Error + Sized + 'static {
    fn code(&self) -> &'static str;

    /// Adds the details of the error to the failure.
    fn detailed(&self, failure: Failure) -> Failure {
        failure
    }
}

/// Implements the conversion to failures for errors that have codes.
macro_rules! failures_from {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for $crate::errors::Failure {
            fn from(error: $error) -> Self {
                use $crate::errors::Coded;
                error.detailed(Self::of(error.code(), &error))
            }
        })*
    };
}

use failures_from;
