//! Waiting for running work, and giving it up.

use std::sync::Arc;
use std::time::Duration;

use pyo3::intern;
use pyo3::prelude::*;

use super::on_cancel::OnCancel;
use super::progress::Progress;
use crate::errors::Failure;
use crate::process::OwnerProcess;

/// The time between two checks for signals such as Ctrl-C.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// The state that a task shares with the coroutines that await it.
pub(super) struct Waiting {
    pub(super) owner: OwnerProcess,
    pub(super) progress: Arc<Progress>,
    on_cancel: OnCancel,
}

impl Waiting {
    pub(super) fn new(progress: Arc<Progress>, on_cancel: OnCancel) -> Self {
        Self {
            owner: OwnerProcess::current(),
            progress,
            on_cancel,
        }
    }

    /// Blocks until the work is done and returns its value.
    ///
    /// # Errors
    /// The failure of the work; `forked`, if a parent of this process began it; `not-allowed` on a thread of the runtime;
    /// the exception of a signal, which also gives up the work.
    pub(super) fn wait(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.owner.check()?;
        if tokio::runtime::Handle::try_current().is_ok()
            && !py.detach(|| self.progress.wait(Duration::ZERO))
        {
            return Err(Failure::new(
                "not-allowed",
                "a function that the package calls while it works cannot wait for other work of the package: note what \
                 it was told, and do the call from a thread of your own",
            )
            .into());
        }
        loop {
            match py.detach(|| self.progress.wait(SIGNAL_INTERVAL)) {
                true => return self.progress.value(py),
                false => py.check_signals().inspect_err(|error| {
                    self.give_up();
                    self.note_on(error.value(py).as_any());
                })?,
            }
        }
    }

    /// Gives the work up on behalf of a caller that stops waiting.
    pub(super) fn give_up(&self) {
        match &self.on_cancel {
            OnCancel::Drop => self.progress.cancel(),
            OnCancel::Interrupt { interrupt, .. } => interrupt.raise(),
            OnCancel::Continue | OnCancel::ContinueWithNote { .. } => {}
        }
    }

    /// Notes the fate of the work on the exception that ends the wait.
    pub(super) fn note_on(&self, exception: &Bound<'_, PyAny>) {
        if let Some(note) = self.on_cancel.note().filter(|_| !self.progress.is_ended()) {
            // A thrown object need not be an exception.
            let _ = exception.call_method1(intern!(exception.py(), "add_note"), (note,));
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.owner.is_current() {
            // A thread that this process does not have may hold the locks of the progress.
            std::mem::forget(Arc::clone(&self.progress));
        }
    }
}
