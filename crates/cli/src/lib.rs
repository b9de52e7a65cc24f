//! The command line of icefield, as a library: the program `icefield` and the command of the Python package call it.
//!
//! `args` defines the arguments, `commands` runs a command through the facade, `output` prints its result, and `failure` turns
//! an error into one or two lines and an exit code.

mod args;
mod commands;
mod failure;
mod interrupt;
mod logging;
mod output;
mod pages;
#[cfg(feature = "plot")]
mod plot;
mod progress;

use std::ffi::OsString;
use std::io::Write as _;

use clap::Parser;

use args::Args;
use failure::Failure;

/// The number of threads for blocking file operations: enough to keep a disk busy, few enough to need little memory.
const BLOCKING_THREADS: usize = 4;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Runs a command line and returns the exit code. The first argument is the name of the program.
///
/// It prints to the standard streams of the process. Long commands that write handle Ctrl-C: the first ends the command early,
/// the second ends the process. Other commands leave signals to the handlers of the process.
///
/// # Panics
/// If a Tokio runtime runs on this thread: the function starts a runtime of its own.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let args = match Args::try_parse_from(args::with_ncdump_variables(arguments.into_iter())) {
        Ok(args) => args,
        Err(error) => {
            // Help goes to standard output and is not a failure. Neither is a closed pipe.
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
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.enable_all();
    // A server answers many requests at once, each of which may wait for a disk.
    if !args.command.is_server() {
        builder.max_blocking_threads(BLOCKING_THREADS);
    }
    let runtime = builder.build()?;
    // The drop of the runtime waits for running file operations.
    runtime.block_on(commands::run(args))
}

/// Flushes standard output. A program does so at its end; a library in another program must do it itself.
fn flushed() -> Result<(), Failure> {
    Ok(std::io::stdout().flush()?)
}
