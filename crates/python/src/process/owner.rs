//! The process that owns a native object.

use pyo3::prelude::*;

use super::generation;
use crate::errors::Failure;

/// The process that made an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnerProcess(usize);

impl OwnerProcess {
    /// Returns this process.
    pub(crate) fn current() -> Self {
        Self(generation::forks())
    }

    /// Returns whether this process made the object.
    pub(crate) fn is_current(self) -> bool {
        self == Self::current()
    }

    /// # Errors
    /// `forked`, if a parent of this process made the object.
    pub(crate) fn check(self) -> PyResult<()> {
        Ok(self.checked()?)
    }

    /// The same as [`OwnerProcess::check`], for callers that do not hold the GIL.
    ///
    /// # Errors
    /// `forked`, if a parent of this process made the object.
    pub(crate) fn checked(self) -> Result<(), Failure> {
        match self.is_current() {
            true => Ok(()),
            false => Err(Failure::new(
                "forked",
                "this object was made before the process was forked, and its connections and threads belong to \
                 the parent: open the repository again in this process, send the object as a pickle, or start \
                 processes with `spawn` or `forkserver`",
            )),
        }
    }
}

/// A value that only the process that made it touches. A forked child does not even drop it: the drop could wait for a
/// lock of a thread that the child does not have.
#[derive(Debug)]
pub(crate) struct ProcessOwned<T> {
    owner: OwnerProcess,
    value: Option<T>,
}

impl<T> ProcessOwned<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            owner: OwnerProcess::current(),
            value: Some(value),
        }
    }

    /// # Errors
    /// `forked`, if a parent of this process made the value.
    pub(crate) fn get(&self) -> Result<&T, Failure> {
        self.owner.checked()?;
        // Only the drop of this object takes the value.
        self.value
            .as_ref()
            .ok_or_else(|| Failure::new("unknown", "a value was used after its end: this is a bug"))
    }
}

impl<T> Drop for ProcessOwned<T> {
    fn drop(&mut self) {
        if !self.owner.is_current() {
            std::mem::forget(self.value.take());
        }
    }
}
