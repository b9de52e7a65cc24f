//! The program `icefield`: versioned n-dimensional arrays from the command line.
//!
//! `args` says what can be asked, `commands` does it through the facade, `output` prints it, `failure` turns what went
//! wrong into one or two lines and an exit code.

mod args;
mod commands;
mod failure;
mod interrupt;
mod logging;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser;

use args::Args;
use failure::Failure;

/// Threads that may wait for a disk at once: enough to keep it busy, few enough to keep their memory small.
const BLOCKING_THREADS: usize = 4;

fn main() -> ExitCode {
    let args = match Args::try_parse_from(args::as_written(std::env::args_os())) {
        Ok(args) => args,
        Err(error) => {
            // Help goes to standard output and is no failure. A closed pipe is none either.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    logging::start(args.verbose);
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(args: Args) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()?;
    // Dropped at the end, the runtime waits for file operations that are under way.
    runtime.block_on(commands::run(args))
}
