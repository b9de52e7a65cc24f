//! What is merged into a session: forks, and what forks of other processes sent.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::errors::Failure;
use crate::session::Session;

/// As Python hands it over.
#[derive(FromPyObject)]
pub(crate) enum Given {
    Fork(Py<Session>),
    Sent(PyBackedBytes),
}

/// As it can go to another thread.
pub(crate) enum Held {
    Fork(icefield::Session),
    Sent(PyBackedBytes),
}

impl Given {
    /// # Errors
    /// If it is a session that is no fork, or one that a parent of this process opened.
    pub(crate) fn held(self) -> Result<Held, Failure> {
        let fork = match self {
            Self::Sent(bytes) => return Ok(Held::Sent(bytes)),
            Self::Fork(session) => session.get().handle()?,
        };
        if !fork.is_fork() {
            return Err(Failure::new(
                "merge-not-allowed",
                "one of the sessions to merge is no fork: only forks of this session are merged into it",
            ));
        }
        Ok(Held::Fork(fork))
    }
}

impl<'a> From<&'a Held> for icefield::Returned<'a> {
    fn from(held: &'a Held) -> Self {
        match held {
            Held::Fork(fork) => Self::Fork(fork),
            Held::Sent(bytes) => Self::Sent(bytes),
        }
    }
}
