//! The command line of icefield, as a library: the program `icefield` and the command of the Python package call it.
//!
//! `args` says what can be asked, `commands` does it through the facade, `output` prints it, `failure` turns what went
//! wrong into one or two lines and an exit code.

mod args;
mod commands;
mod failure;
mod interrupt;
mod logging;
mod output;
mod pages;
mod progress;

use std::ffi::OsString;
use std::io::Write as _;

use clap::Parser;

use args::Args;
use failure::Failure;

/// Threads that may wait for a disk at once: enough to keep it busy, few enough to keep their memory small.
const BLOCKING_THREADS: usize = 4;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Does what a command line says, and returns the exit code. The first argument is the name of the program.
///
/// It prints to the standard streams of the process, and some commands listen to Ctrl-C; the others leave a signal to
/// what the process has set for it. After a second Ctrl-C it ends the process. It starts a runtime of its own, and so
/// must not be called within one.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let args = match Args::try_parse_from(args::as_written(arguments.into_iter())) {
        Ok(args) => args,
        Err(error) => {
            // Help goes to standard output and is no failure. A closed pipe is none either.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    logging::start(args.verbose);
    let (done, flushed) = (perform(args), flushed());
    match done.and(flushed) {
        Ok(()) => 0,
        Err(failure) => failure.report(),
    }
}

fn perform(args: Args) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()?;
    // Dropped at the end, the runtime waits for file operations that are under way.
    runtime.block_on(commands::run(args))
}

/// A program flushes its standard output when it ends; a library in another one must do it itself.
fn flushed() -> Result<(), Failure> {
    Ok(std::io::stdout().flush()?)
}
