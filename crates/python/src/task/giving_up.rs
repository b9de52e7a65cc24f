//! What becomes of work when nobody waits for it any more.

use icefield::Interrupt;

use crate::process;

/// What becomes of work when who waits for it gives up.
pub(super) enum GivingUp {
    /// It is dropped where it is.
    Drops,
    /// It goes on.
    Nothing,
    /// It goes on, and others see what it does: who gives up is told what it is, and how to find out whether it succeeded.
    Tells {
        what: &'static str,
        look: &'static str,
    },
    /// It ends early, where that does no harm; who gives up is told what is there then.
    Interrupts {
        interrupt: Interrupt,
        left: &'static str,
    },
}

impl GivingUp {
    /// What is noted on the exception of who gives up.
    pub(super) fn note(&self) -> Option<String> {
        let waits = format!(
            "The process waits for that before it ends, for at most {} seconds.",
            process::LONGEST.as_secs()
        );
        match self {
            Self::Drops | Self::Nothing => None,
            Self::Tells { what, look } => Some(format!(
                "{what} was begun and goes on to its end. {waits} Whether it succeeded: {look}."
            )),
            Self::Interrupts { left, .. } => Some(format!(
                "The work was asked to end, and does so soon, where that does no harm: {left}. {waits}"
            )),
        }
    }
}
