//! Ctrl-C, for commands that change what others see, or that would leave something half done.

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
        wish.raise();
        eprintln!("ending where that does no harm; Ctrl-C once more ends at once");
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(Exit::Interrupted as i32);
        }
    });
    interrupt
}
