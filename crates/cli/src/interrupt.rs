//! Ctrl-C, for commands that change what others see, or that would leave something half done.

use std::pin::pin;

use futures::FutureExt;
use icefield::Interrupt;

use crate::failure::Exit;

/// Returns what the first Ctrl-C from now on raises, so that the command ends where that does no harm. The second one ends
/// the program wherever it is.
pub(crate) fn on_ctrl_c() -> Interrupt {
    let interrupt = Interrupt::new();
    let wish = interrupt.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_err() {
            // There is no way to be told: Ctrl-C does what it always does.
            return;
        }
        // It listens before anybody is told that there may be a second one.
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
