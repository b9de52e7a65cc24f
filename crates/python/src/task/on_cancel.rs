//! The fate of work whose caller stops waiting for it.

use icefield::Interrupt;

use crate::process;

/// The fate of work whose caller stops waiting for it.
pub(super) enum OnCancel {
    /// The work is dropped where it is.
    Drop,
    /// The work goes on.
    Continue,
    /// The work goes on, and its effects are visible to others: a note tells the caller what the work is, and how to find
    /// out whether it succeeded.
    ContinueWithNote {
        what: &'static str,
        look: &'static str,
    },
    /// The work ends early, where that does no harm; a note tells the caller what is left then.
    Interrupt {
        interrupt: Interrupt,
        left: &'static str,
    },
}

impl OnCancel {
    /// Returns the note for the exception that ends the wait.
    pub(super) fn note(&self) -> Option<String> {
        let waits = format!(
            "The process waits for that before it ends, for at most {} seconds.",
            process::LONGEST_WAIT.as_secs()
        );
        match self {
            Self::Drop | Self::Continue => None,
            Self::ContinueWithNote { what, look } => Some(format!(
                "{what} was begun and goes on to its end. {waits} Whether it succeeded: {look}."
            )),
            Self::Interrupt { left, .. } => Some(format!(
                "The work was asked to end, and does so soon, where that does no harm: {left}. {waits}"
            )),
        }
    }
}
