//! Ctrl-C in commands whose changes are visible to others, or that would leave partial results.

use std::pin::pin;

use futures::FutureExt;
use icefield::Interrupt;

use crate::failure::Exit;

/// Returns the interrupt that the next Ctrl-C raises, so that the command ends where that does no harm. The second Ctrl-C ends
/// the program at once.
pub(crate) fn on_ctrl_c() -> Interrupt {
    let interrupt = Interrupt::new();
    let wish = interrupt.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_err() {
            // Without a handler, Ctrl-C has its default effect.
            return;
        }
        // The handler is installed before the message invites a second Ctrl-C.
        let mut second = pin!(tokio::signal::ctrl_c());
        let at_once = second.as_mut().now_or_never();
        wish.raise();
        eprintln!("ending where that does no harm; Ctrl-C once more ends at once");
        let again = match at_once {
            Some(again) => again,
            None => second.await,
        };
        if again.is_ok() {
            std::process::exit(Exit::Interrupted as i32);
        }
    });
    interrupt
}
