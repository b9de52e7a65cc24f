//! The program `icefield`: versioned n-dimensional arrays from the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(icefield_cli::run(std::env::args_os()))
}
